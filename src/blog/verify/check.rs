//! Verification: finds suspects, and confirms as drifts those that are the same after the read models have caught up.
//!
//! A suspect carries the ETags of the items that were compared. A difference is a drift only if it is seen twice with
//! the same ETags and a settling in between: then source and copy were unchanged while the read models caught up. What
//! is written all the time is never confirmed, whatever one look at it shows.

use std::collections::HashSet;
use std::sync::Arc;

use uuid::Uuid;

use super::scan::{self, Findings};
use super::{Drift, Report, Settle, VerifyProgress};
use crate::accounts::username::{NameKey, Username};
use crate::blog::containers::{ACCOUNTS, FEED, FEED_PARTITION, FEED_POSTS_MAX, POSTS, USERS};
use crate::blog::ids::{PostId, UserId};
use crate::blog::items::{AccountItem, PostCopyItem, PostItem, UserItem, types};
use crate::blog::summary::is_summary;
use onehop_store::{ContainerName, Direction, ETag, Fault, Item, Ledger, PartitionKey, Query, Store};

/// How often a suspect is looked at; one that was never the same twice is no drift.
const LOOKS_MAX: u32 = 4;

/// A difference that may be a change under way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Suspect {
    drift: Drift,
    /// Of the items that were compared, source first; `None` where there was no item.
    seen: Vec<Option<ETag>>,
}

impl Suspect {
    fn new<const N: usize>(drift: Drift, seen: [Option<&Item>; N]) -> Self {
        Self { drift, seen: seen.iter().map(|item| item.map(|item| item.etag.clone())).collect() }
    }

    /// Whether it is a drift, if these were seen before the read models caught up. Counts move together with the items
    /// that they count: one look is enough.
    fn is_confirmed(&self, earlier: &HashSet<Suspect>) -> bool {
        matches!(self.drift, Drift::Counts { .. }) || earlier.contains(self)
    }
}

/// What was found at one look, and what could not be read.
struct Looks<'a> {
    found: Vec<Suspect>,
    report: &'a mut Report,
}

impl Looks<'_> {
    fn add(
        &mut self,
        container: ContainerName,
        suspects: Result<impl IntoIterator<Item = Suspect>, Fault>,
    ) -> Result<(), Fault> {
        match suspects {
            Ok(suspects) => self.found.extend(suspects),
            Err(fault) => self.report.note_unreadable(container, fault)?,
        }
        Ok(())
    }
}

/// Verifies, and repairs, the blog in a store.
pub struct Verifier {
    pub(super) store: Arc<dyn Store>,
    pub(super) settle: Arc<dyn Settle>,
}

impl Verifier {
    /// Looks at everything and reports what is wrong.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn verify(&self, mut progress: impl FnMut(VerifyProgress) + Send) -> Result<Report, Fault> {
        self.settle.settle().await?;
        let mut report = Report::default();
        let findings = scan::scan(&*self.store, &mut report, &mut progress).await?;
        let mut suspects = self.suspects(&findings, &mut report).await?;
        for _ in 1..LOOKS_MAX {
            if suspects.is_empty() {
                break;
            }
            self.settle.settle().await?;
            let seen_again = self.look_again(&suspects, &mut report).await?;
            let earlier: HashSet<Suspect> = suspects.into_iter().collect();
            let (confirmed, unsure): (Vec<_>, Vec<_>) =
                seen_again.into_iter().partition(|suspect| suspect.is_confirmed(&earlier));
            report.drifts.extend(confirmed.into_iter().map(|suspect| suspect.drift));
            suspects = unsure;
        }
        Ok(report)
    }

    /// Everything that looked wrong at the first look.
    async fn suspects(&self, findings: &Findings, report: &mut Report) -> Result<Vec<Suspect>, Fault> {
        let mut found = Looks { found: Vec::new(), report };
        for (post_id, tally) in &findings.posts {
            let post_id = PostId(*post_id);
            if tally.present {
                if tally.comment_count != tally.comments || tally.like_count != tally.likes {
                    found.add(POSTS, self.count_drift(post_id).await)?;
                }
                found.add(USERS, self.copy_drift(post_id).await)?;
            }
        }
        for (post_id, ids) in &findings.reactions_of_absent {
            for id in ids {
                found.add(POSTS, self.orphaned_reaction(PostId(*post_id), id).await)?;
            }
        }
        for (post_id, id) in &findings.stale_names {
            found.add(POSTS, self.name_drift(PostId(*post_id), id).await)?;
        }
        for (post_id, user_id) in &findings.copies {
            let owned =
                findings.posts.get(post_id).is_some_and(|post| post.present && post.user_id == *user_id);
            if !owned {
                found.add(
                    USERS,
                    self.orphaned_copy(USERS, PostId(*post_id), UserId(*user_id).partition_key()).await,
                )?;
            }
        }
        for user_id in findings.usernames.keys() {
            found.add(ACCOUNTS, self.reservation_drift(UserId(*user_id)).await)?;
        }
        found.add(FEED, self.feed_drifts().await)?;
        Ok(found.found)
    }

    async fn look_again(&self, suspects: &[Suspect], report: &mut Report) -> Result<Vec<Suspect>, Fault> {
        let mut found = Looks { found: Vec::new(), report };
        let mut feed = HashSet::new();
        for suspect in suspects {
            match &suspect.drift {
                Drift::Counts { post_id, .. } => found.add(POSTS, self.count_drift(post(post_id)).await)?,
                Drift::Username { post_id, id, .. } => {
                    found.add(POSTS, self.name_drift(post(post_id), id).await)?
                }
                Drift::Copy { post_id, .. } => found.add(USERS, self.copy_drift(post(post_id)).await)?,
                Drift::OrphanedCopy { container, post_id, partition_key } => {
                    let container = if container == FEED.as_str() { FEED } else { USERS };
                    let key = PartitionKey::from(partition_key.as_str());
                    found.add(container, self.orphaned_copy(container, post(post_id), key).await)?;
                }
                Drift::OrphanedReaction { post_id, id } => {
                    found.add(POSTS, self.orphaned_reaction(post(post_id), id).await)?;
                }
                Drift::Reservation { user_id, .. } => {
                    found.add(ACCOUNTS, self.reservation_drift(UserId(uuid(user_id))).await)?;
                }
                Drift::Feed { post_id, .. } => drop(feed.insert(post_id.as_str())),
            }
        }
        if !feed.is_empty() {
            let in_feed = |suspect: &Suspect| matches!(&suspect.drift, Drift::Feed { post_id, .. } if feed.contains(post_id.as_str()));
            let drifts = self.feed_drifts().await;
            found.add(FEED, drifts.map(|drifts| drifts.into_iter().filter(in_feed).collect::<Vec<_>>()))?;
        }
        Ok(found.found)
    }

    pub(super) async fn read_item(
        &self,
        container: ContainerName,
        key: &PartitionKey,
        id: &str,
    ) -> Result<Option<Item>, Fault> {
        self.store.read(container, key, id, &Ledger::new()).await
    }

    /// The stored post, also a deleted one.
    pub(super) async fn post_item(&self, id: PostId) -> Result<Option<(PostItem, Item)>, Fault> {
        let item = self.read_item(POSTS, &id.partition_key(), &id.to_string()).await?;
        item.map(|item| Ok((item.decode()?, item))).transpose()
    }

    /// The post, unless it is missing or deleted.
    pub(super) async fn live_post(&self, id: PostId) -> Result<Option<(PostItem, Item)>, Fault> {
        Ok(self.post_item(id).await?.filter(|(post, _)| !post.deleted))
    }

    async fn count_drift(&self, id: PostId) -> Result<Option<Suspect>, Fault> {
        for _ in 0..LOOKS_MAX {
            let Some((before, item)) = self.live_post(id).await? else { return Ok(None) };
            let key = id.partition_key();
            let comments = self.store.count(POSTS, &key, types::COMMENT, &Ledger::new()).await?;
            let likes = self.store.count(POSTS, &key, types::LIKE, &Ledger::new()).await?;
            if u64::from(before.comment_count) == comments && u64::from(before.like_count) == likes {
                return Ok(None);
            }
            let Some((_, after)) = self.live_post(id).await? else { return Ok(None) };
            if after.etag == item.etag {
                let drift = Drift::Counts {
                    post_id: id.to_string(),
                    comment_count: before.comment_count,
                    comments,
                    like_count: before.like_count,
                    likes,
                };
                return Ok(Some(Suspect::new(drift, [Some(&item)])));
            }
        }
        Ok(None)
    }

    async fn name_drift(&self, post_id: PostId, id: &str) -> Result<Option<Suspect>, Fault> {
        #[derive(serde::Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Named {
            user_id: UserId,
            user_username: String,
            #[serde(default)]
            deleted: bool,
        }
        let Some(item) = self.read_item(POSTS, &post_id.partition_key(), id).await? else { return Ok(None) };
        let named: Named = item.decode()?;
        if named.deleted {
            return Ok(None);
        }
        let user = self.user(named.user_id).await?;
        let (current, user) = match user {
            Some((user, item)) => (user.username, Some(item)),
            None => ("(no such user)".to_owned(), None),
        };
        let drift = Drift::Username {
            post_id: post_id.to_string(),
            id: id.to_owned(),
            stored: named.user_username.clone(),
            current: current.clone(),
        };
        let differs = current != named.user_username;
        Ok(differs.then(|| Suspect::new(drift, [user.as_ref(), Some(&item)])))
    }

    pub(super) async fn user(&self, id: UserId) -> Result<Option<(UserItem, Item)>, Fault> {
        let item = self.read_item(USERS, &id.partition_key(), &id.to_string()).await?;
        item.map(|item| Ok((item.decode()?, item))).transpose()
    }

    async fn copy_drift(&self, id: PostId) -> Result<Option<Suspect>, Fault> {
        let Some((post, source)) = self.live_post(id).await? else { return Ok(None) };
        let item = self.read_item(USERS, &post.user_id.partition_key(), &id.to_string()).await?;
        let copy = item.as_ref().map(Item::decode::<PostCopyItem>).transpose()?;
        let Some(problem) = copy_problem(copy.as_ref(), &post) else { return Ok(None) };
        let drift = Drift::Copy {
            container: USERS.to_string(),
            post_id: id.to_string(),
            user_id: post.user_id.to_string(),
            problem,
        };
        Ok(Some(Suspect::new(drift, [Some(&source), item.as_ref()])))
    }

    async fn orphaned_copy(
        &self,
        container: ContainerName,
        post_id: PostId,
        key: PartitionKey,
    ) -> Result<Option<Suspect>, Fault> {
        let Some(item) = self.read_item(container, &key, &post_id.to_string()).await? else {
            return Ok(None);
        };
        let copy: PostCopyItem = item.decode()?;
        let post = self.post_item(post_id).await?;
        let owns = |post: &PostItem| !post.deleted && post.user_id == copy.user_id;
        let owned = post.as_ref().is_some_and(|(post, _)| owns(post));
        let drift = Drift::OrphanedCopy {
            container: container.to_string(),
            post_id: post_id.to_string(),
            partition_key: key.to_string(),
        };
        let source = post.as_ref().map(|(_, item)| item);
        Ok((!owned && !copy.deleted).then(|| Suspect::new(drift, [source, Some(&item)])))
    }

    async fn orphaned_reaction(&self, post_id: PostId, id: &str) -> Result<Option<Suspect>, Fault> {
        let reaction = self.read_item(POSTS, &post_id.partition_key(), id).await?;
        let Some(reaction) = reaction else { return Ok(None) };
        let post = self.post_item(post_id).await?;
        if post.as_ref().is_some_and(|(post, _)| !post.deleted) {
            return Ok(None);
        }
        let drift = Drift::OrphanedReaction { post_id: post_id.to_string(), id: id.to_owned() };
        Ok(Some(Suspect::new(drift, [post.as_ref().map(|(_, item)| item), Some(&reaction)])))
    }

    async fn reservation_drift(&self, id: UserId) -> Result<Option<Suspect>, Fault> {
        let Some((user, source)) = self.user(id).await? else { return Ok(None) };
        let suspect = |problem: &str, reservation: Option<&Item>| {
            let drift = Drift::Reservation {
                user_id: id.to_string(),
                username: user.username.clone(),
                problem: problem.to_owned(),
            };
            Some(Suspect::new(drift, [Some(&source), reservation]))
        };
        let Ok(username) = Username::parse(&user.username) else {
            return Ok(suspect("the name does not keep the rules", None));
        };
        for (index, key) in username.keys().iter().enumerate() {
            let item = self.read_item(ACCOUNTS, &PartitionKey::from(key.as_str()), key.as_str()).await?;
            let holder = item.as_ref().map(|item| item.decode::<AccountItem>()).transpose()?;
            let problem = match holder.map(|account| account.user_id) {
                Some(holder) if holder == id => continue,
                // Two names from before there were skeletons may look alike.
                Some(holder) if index > 0 && self.has_key(holder, key).await? => continue,
                Some(_) if index > 0 => "a name that looks like it is reserved for another user",
                Some(_) => "the name is reserved for another user",
                None if index > 0 => "the name is not reserved against names that look like it",
                None => "the name is not reserved",
            };
            return Ok(suspect(problem, item.as_ref()));
        }
        Ok(None)
    }

    /// Whether the user has a name with this key.
    async fn has_key(&self, id: UserId, key: &NameKey) -> Result<bool, Fault> {
        let user = self.user(id).await?;
        let username = user.and_then(|(user, _)| Username::parse(&user.username).ok());
        Ok(username.is_some_and(|username| username.keys().contains(key)))
    }

    /// Compares the feed with the newest posts.
    async fn feed_drifts(&self) -> Result<Vec<Suspect>, Fault> {
        let ledger = Ledger::new();
        let newest =
            Query::Newest { container: POSTS, item_type: types::POST, after: None, limit: FEED_POSTS_MAX };
        let newest = self.store.query(&newest, &ledger).await?.items;
        let key = PartitionKey::from(FEED_PARTITION);
        let feed = Query::Partition {
            container: FEED,
            partition_key: &key,
            item_type: types::POST,
            direction: Direction::NewestFirst,
            after: None,
            limit: FEED_POSTS_MAX * 2,
        };
        let feed = self.store.query(&feed, &ledger).await?.items;
        let copies = feed.iter().map(|item| Ok((item.decode()?, item)));
        let copies = copies.collect::<Result<Vec<(PostCopyItem, &Item)>, Fault>>()?;
        let suspect = |post_id: PostId, problem: String, seen| {
            Suspect::new(Drift::Feed { post_id: post_id.to_string(), problem }, seen)
        };
        let mut suspects = Vec::new();
        let mut expected = HashSet::new();
        for source in &newest {
            let post: PostItem = source.decode()?;
            expected.insert(post.id);
            let listed = copies.iter().find(|(copy, _)| copy.id == post.id);
            if let Some(problem) = copy_problem(listed.map(|(copy, _)| copy), &post) {
                suspects.push(suspect(post.id, problem, [Some(source), listed.map(|(_, item)| *item)]));
            }
        }
        for (copy, item) in copies.iter().filter(|(copy, _)| !expected.contains(&copy.id)) {
            let problem = "it is not among the newest posts".to_owned();
            suspects.push(suspect(copy.id, problem, [None, Some(item)]));
        }
        Ok(suspects)
    }
}

/// How a copy differs from what it should be.
fn copy_problem(copy: Option<&PostCopyItem>, post: &PostItem) -> Option<String> {
    let Some(copy) = copy else { return Some("the copy is missing".to_owned()) };
    let mut expected = PostCopyItem::of(post);
    if is_summary(&copy.summary, &expected.summary) {
        expected.summary.clone_from(&copy.summary);
    }
    if *copy == expected {
        return None;
    }
    let mut fields = Vec::new();
    for (name, same) in [
        ("version", copy.version == expected.version),
        ("userUsername", copy.user_username == expected.user_username),
        ("title", copy.title == expected.title),
        ("summary", copy.summary == expected.summary),
        ("commentCount", copy.comment_count == expected.comment_count),
        ("likeCount", copy.like_count == expected.like_count),
        ("creationDate", copy.creation_date == expected.creation_date),
        ("textVersion", copy.text_version == expected.text_version),
        ("updateDate", copy.update_date == expected.update_date),
        ("deleted", copy.deleted == expected.deleted),
    ] {
        if !same {
            fields.push(name);
        }
    }
    Some(format!("the copy differs in {}", fields.join(", ")))
}

fn uuid(text: &str) -> Uuid {
    Uuid::parse_str(text).unwrap_or_default()
}

pub(super) fn post(text: &str) -> PostId {
    PostId(uuid(text))
}
