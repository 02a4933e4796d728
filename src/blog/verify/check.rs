//! Looks at each suspect again and tells drifts from changes under way.

use std::collections::HashSet;
use std::sync::Arc;

use uuid::Uuid;

use super::scan::{self, Findings};
use super::{Drift, Report, Settle, VerifyProgress};
use crate::accounts::username::Username;
use crate::blog::containers::{ACCOUNTS, FEED, FEED_PARTITION, FEED_POSTS_MAX, POSTS, USERS};
use crate::blog::ids::{PostId, UserId};
use crate::blog::items::{AccountItem, PostCopyItem, PostItem, UserItem, types};
use crate::store::{ContainerName, Direction, Fault, Item, Ledger, PartitionKey, Query, Store};

/// How often a suspect is looked at before it counts as a drift.
const LOOKS_MAX: u32 = 4;

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
        let mut drifts = self.differences(&findings).await?;
        for _ in 1..LOOKS_MAX {
            if drifts.is_empty() {
                break;
            }
            self.settle.settle().await?;
            drifts = self.look_again(drifts).await?;
        }
        report.drifts = drifts;
        Ok(report)
    }

    /// Everything that looked wrong at the first look.
    async fn differences(&self, findings: &Findings) -> Result<Vec<Drift>, Fault> {
        let mut drifts = Vec::new();
        for (post_id, tally) in &findings.posts {
            let post_id = PostId(*post_id);
            if tally.present {
                if tally.comment_count != tally.comments || tally.like_count != tally.likes {
                    drifts.extend(self.count_drift(post_id).await?);
                }
                drifts.extend(self.copy_drift(post_id).await?);
            }
        }
        for (post_id, ids) in &findings.reactions_of_absent {
            for id in ids {
                drifts.extend(self.orphaned_reaction(PostId(*post_id), id).await?);
            }
        }
        for (post_id, id) in &findings.stale_names {
            drifts.extend(self.name_drift(PostId(*post_id), id).await?);
        }
        for (post_id, user_id) in &findings.copies {
            let owned =
                findings.posts.get(post_id).is_some_and(|post| post.present && post.user_id == *user_id);
            if !owned {
                drifts.extend(
                    self.orphaned_copy(USERS, PostId(*post_id), UserId(*user_id).partition_key()).await?,
                );
            }
        }
        for user_id in findings.usernames.keys() {
            drifts.extend(self.reservation_drift(UserId(*user_id)).await?);
        }
        drifts.extend(self.feed_drifts().await?);
        Ok(drifts)
    }

    async fn look_again(&self, suspects: Vec<Drift>) -> Result<Vec<Drift>, Fault> {
        let mut drifts = Vec::new();
        let mut feed = false;
        for suspect in suspects {
            match &suspect {
                Drift::Counts { post_id, .. } => drifts.extend(self.count_drift(post(post_id)).await?),
                Drift::Username { post_id, id, .. } => {
                    drifts.extend(self.name_drift(post(post_id), id).await?)
                }
                Drift::Copy { post_id, .. } => drifts.extend(self.copy_drift(post(post_id)).await?),
                Drift::OrphanedCopy { container, post_id, partition_key } => {
                    let container = if container == FEED.as_str() { FEED } else { USERS };
                    let key = PartitionKey::from(partition_key.as_str());
                    drifts.extend(self.orphaned_copy(container, post(post_id), key).await?);
                }
                Drift::OrphanedReaction { post_id, id } => {
                    drifts.extend(self.orphaned_reaction(post(post_id), id).await?);
                }
                Drift::Reservation { user_id, .. } => {
                    drifts.extend(self.reservation_drift(UserId(uuid(user_id))).await?);
                }
                Drift::Feed { .. } => feed = true,
            }
        }
        if feed {
            drifts.extend(self.feed_drifts().await?);
        }
        Ok(drifts)
    }

    pub(super) async fn read_item(
        &self,
        container: ContainerName,
        key: &PartitionKey,
        id: &str,
    ) -> Result<Option<Item>, Fault> {
        self.store.read(container, key, id, &Ledger::new()).await
    }

    /// The post, unless it is missing or deleted.
    pub(super) async fn live_post(&self, id: PostId) -> Result<Option<PostItem>, Fault> {
        let item = self.read_item(POSTS, &id.partition_key(), &id.to_string()).await?;
        let post = item.map(|item| item.decode::<PostItem>()).transpose()?;
        Ok(post.filter(|post| !post.deleted))
    }

    async fn count_drift(&self, id: PostId) -> Result<Option<Drift>, Fault> {
        for _ in 0..LOOKS_MAX {
            let Some(before) = self.live_post(id).await? else { return Ok(None) };
            let key = id.partition_key();
            let comments = self.store.count(POSTS, &key, types::COMMENT, &Ledger::new()).await?;
            let likes = self.store.count(POSTS, &key, types::LIKE, &Ledger::new()).await?;
            if u64::from(before.comment_count) == comments && u64::from(before.like_count) == likes {
                return Ok(None);
            }
            let Some(after) = self.live_post(id).await? else { return Ok(None) };
            if after.version == before.version {
                return Ok(Some(Drift::Counts {
                    post_id: id.to_string(),
                    comment_count: before.comment_count,
                    comments,
                    like_count: before.like_count,
                    likes,
                }));
            }
        }
        Ok(None)
    }

    async fn name_drift(&self, post_id: PostId, id: &str) -> Result<Option<Drift>, Fault> {
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
        let current = user.map_or_else(|| "(no such user)".to_owned(), |user| user.username);
        let drift = Drift::Username {
            post_id: post_id.to_string(),
            id: id.to_owned(),
            stored: named.user_username.clone(),
            current: current.clone(),
        };
        Ok((current != named.user_username).then_some(drift))
    }

    pub(super) async fn user(&self, id: UserId) -> Result<Option<UserItem>, Fault> {
        let item = self.read_item(USERS, &id.partition_key(), &id.to_string()).await?;
        item.map(|item| item.decode()).transpose()
    }

    async fn copy_drift(&self, id: PostId) -> Result<Option<Drift>, Fault> {
        let Some(post) = self.live_post(id).await? else { return Ok(None) };
        let copy = self.read_item(USERS, &post.user_id.partition_key(), &id.to_string()).await?;
        let copy = copy.map(|item| item.decode::<PostCopyItem>()).transpose()?;
        let problem = copy_problem(copy.as_ref(), &post);
        Ok(problem.map(|problem| Drift::Copy {
            container: USERS.to_string(),
            post_id: id.to_string(),
            user_id: post.user_id.to_string(),
            problem,
        }))
    }

    async fn orphaned_copy(
        &self,
        container: ContainerName,
        post_id: PostId,
        key: PartitionKey,
    ) -> Result<Option<Drift>, Fault> {
        let Some(item) = self.read_item(container, &key, &post_id.to_string()).await? else {
            return Ok(None);
        };
        let copy: PostCopyItem = item.decode()?;
        let owned = self.live_post(post_id).await?.is_some_and(|post| post.user_id == copy.user_id);
        let drift = Drift::OrphanedCopy {
            container: container.to_string(),
            post_id: post_id.to_string(),
            partition_key: key.to_string(),
        };
        Ok((!owned && !copy.deleted).then_some(drift))
    }

    async fn orphaned_reaction(&self, post_id: PostId, id: &str) -> Result<Option<Drift>, Fault> {
        let there = self.read_item(POSTS, &post_id.partition_key(), id).await?.is_some();
        let orphaned = there && self.live_post(post_id).await?.is_none();
        Ok(orphaned.then(|| Drift::OrphanedReaction { post_id: post_id.to_string(), id: id.to_owned() }))
    }

    async fn reservation_drift(&self, id: UserId) -> Result<Option<Drift>, Fault> {
        let Some(user) = self.user(id).await? else { return Ok(None) };
        let drift = |problem: &str| {
            Some(Drift::Reservation {
                user_id: id.to_string(),
                username: user.username.clone(),
                problem: problem.to_owned(),
            })
        };
        let Ok(username) = Username::parse(&user.username) else {
            return Ok(drift("the name does not keep the rules"));
        };
        let name = username.normalized().as_str().to_owned();
        let account = self.read_item(ACCOUNTS, &PartitionKey::from(name.as_str()), &name).await?;
        let Some(account) = account else { return Ok(drift("the name is not reserved")) };
        let account: AccountItem = account.decode()?;
        Ok(if account.user_id == id { None } else { drift("the name is reserved for another user") })
    }

    /// Compares the feed with the newest posts.
    async fn feed_drifts(&self) -> Result<Vec<Drift>, Fault> {
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
        let feed = feed.iter().map(|item| item.decode()).collect::<Result<Vec<PostCopyItem>, _>>()?;
        let mut drifts = Vec::new();
        let mut expected = HashSet::new();
        for item in &newest {
            let post: PostItem = item.decode()?;
            expected.insert(post.id);
            let copy = feed.iter().find(|copy| copy.id == post.id);
            if let Some(problem) = copy_problem(copy, &post) {
                drifts.push(Drift::Feed { post_id: post.id.to_string(), problem });
            }
        }
        for copy in feed.iter().filter(|copy| !expected.contains(&copy.id)) {
            let problem = "it is not among the newest posts".to_owned();
            drifts.push(Drift::Feed { post_id: copy.id.to_string(), problem });
        }
        Ok(drifts)
    }
}

/// How a copy differs from what it should be.
fn copy_problem(copy: Option<&PostCopyItem>, post: &PostItem) -> Option<String> {
    let Some(copy) = copy else { return Some("the copy is missing".to_owned()) };
    let expected = PostCopyItem::of(post);
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
