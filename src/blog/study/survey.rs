//! Survey of a database: its content by logical partition, and the authors of its posts. Reads all of it
//! once.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

use serde::Deserialize;

use super::article::ArticleRequest;
use crate::blog::containers::{self, FEED, FEED_POSTS_MAX, MODERATION, POSTS, POSTS_BY_TAG, USERS};
use crate::blog::ids::PostId;
use crate::blog::reads::DataModel;
use onehop_read_models::verify::for_each_change;
use onehop_runtime::clock::parse_timestamp;
use onehop_store::{Change, Fault, FaultKind, PartitionKey, Store};
use onehop_study::partitions::{
    ContainerContents, EntityPartitions, EntityRole, Highlight, PartitionSize, Population, SinglePartition,
    Subset, contents_of,
};

/// The possible roles of a logical partition in a request, and the kinds of entities in requests.
pub(super) const USER: &str = "user";
pub(super) const POST: &str = "post";
/// The author of the post that a request is about.
pub(super) const AUTHOR: &str = "author";
/// The posts in the feed, their authors, and the posts of the user whom a request is about: groups of logical
/// partitions.
pub(super) const FEED_POSTS: &str = "posts in the feed";
pub(super) const FEED_AUTHORS: &str = "authors in the feed";
pub(super) const USER_POSTS: &str = "posts of the user";
/// The kind of which there is one, because all readers of the feed read the same.
const WHOLE_FEED: &str = "feed";

/// A blog's database: its containers by logical partition, and its users and posts in the order of their
/// popularity.
#[derive(Debug, Default)]
pub struct Survey {
    pub contents: Vec<ContainerContents>,
    /// Users with the newest posts first; users without a post at the end.
    pub users: Vec<PartitionKey>,
    /// Newest first, without deleted posts.
    pub posts: Vec<RankedPost>,
}

/// A post and its author.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankedPost {
    pub id: PostId,
    /// Position among the users.
    pub author: usize,
}

/// The author and the date of a post.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostFields<'a> {
    id: PostId,
    #[serde(borrow)]
    user_id: Cow<'a, str>,
    #[serde(borrow)]
    creation_date: Cow<'a, str>,
    #[serde(default)]
    deleted: bool,
}

/// A post before it has its rank.
struct UnrankedPost {
    created_ms: i64,
    id: PostId,
    author: PartitionKey,
}

impl Survey {
    /// Of the blog's containers that a data model uses.
    ///
    /// # Errors
    /// A fault of the store, or a post that is not one.
    pub async fn of(store: &dyn Store, model: DataModel) -> Result<Self, Fault> {
        let mut contents = Vec::with_capacity(containers::SPECS.len());
        let mut posts = Vec::new();
        // V1 and V2 have neither reservations of usernames nor a copied feed, and no request of the article
        // reads the moderation log.
        let is_used = |container| match model {
            DataModel::V3 => container != MODERATION,
            DataModel::V1 | DataModel::V2 => [USERS, POSTS].contains(&container),
        };
        for spec in containers::SPECS.iter().filter(|spec| is_used(spec.name)) {
            let mut sizes: HashMap<PartitionKey, PartitionSize> = HashMap::new();
            let mut item_bytes_max = 0;
            for_each_change(store, spec.name, |change| {
                let size = sizes.entry(change.partition_key.clone()).or_default();
                size.items += 1;
                let bytes = change.item.body.len() as u64;
                size.bytes += bytes;
                item_bytes_max = item_bytes_max.max(bytes);
                if spec.name == POSTS && change.id == change.partition_key.as_str() {
                    posts.extend(live_post(change)?);
                }
                Ok(())
            })
            .await?;
            // The article's posts have no tags.
            if spec.name == POSTS_BY_TAG && sizes.is_empty() {
                continue;
            }
            let (container, partition_key) = (spec.name, spec.partition_key);
            let single = (container == FEED).then(feed);
            contents.push(ContainerContents { container, partition_key, sizes, item_bytes_max, single });
        }
        let users = contents_of(&contents, USERS);
        let users = users.map(|users| users.sizes.keys().cloned().collect()).unwrap_or_default();
        let (users, posts) = ranked(users, posts);
        Ok(Self { contents, users, posts })
    }

    /// The number of posts in the feed.
    #[must_use]
    pub fn posts_in_feed(&self) -> usize {
        self.posts.len().min(FEED_POSTS_MAX)
    }

    /// The logical partition of the author of a post.
    #[must_use]
    pub fn author_of(&self, post: PostId) -> Option<PartitionKey> {
        let post = self.posts.iter().find(|known| known.id == post)?;
        self.users.get(post.author).cloned()
    }

    /// Users and posts as a study has them.
    #[must_use]
    pub fn population(&self) -> Population {
        let role = |name: &str, kind: &str, partitions| {
            (name.to_owned(), EntityRole { kind: kind.to_owned(), partitions })
        };
        let authors: Vec<usize> = self.posts.iter().map(|post| post.author).collect();
        let mut posts_of_users = vec![Vec::new(); self.users.len()];
        authors.iter().enumerate().for_each(|(post, author)| posts_of_users[*author].push(post));
        let in_feed = self.posts_in_feed();
        let groups = EntityPartitions::Groups;
        let highlight =
            |key: &str, text: &str, subset| Highlight { key: key.to_owned(), text: text.to_owned(), subset };
        Population {
            kinds: [(USER, self.users.len()), (POST, self.posts.len()), (WHOLE_FEED, 1)]
                .map(|(kind, number)| (kind.to_owned(), number))
                .into(),
            fixed_kinds: [WHOLE_FEED.to_owned()].into(),
            roles: [
                role(USER, USER, EntityPartitions::ByRank),
                role(POST, POST, EntityPartitions::ByRank),
                role(FEED_POSTS, WHOLE_FEED, groups(vec![(0..in_feed).collect()])),
                role(FEED_AUTHORS, WHOLE_FEED, groups(vec![authors[..in_feed].to_vec()])),
                role(USER_POSTS, USER, groups(posts_of_users)),
                role(AUTHOR, POST, EntityPartitions::Listed(authors)),
            ]
            .into(),
            ranking: "Posts are ranked by date, users by their newest posts.".to_owned(),
            highlights: vec![
                highlight("mostPopularPost", "of the requests about posts, one post gets up to", posts(0..1)),
                highlight("postsInFeed", "the posts in the feed together get", posts(0..in_feed)),
                highlight(
                    "mostPopularUser",
                    "of the requests about or by users, one user gets up to",
                    Subset { kind: USER.to_owned(), ranks: 0..1 },
                ),
            ],
        }
    }
}

/// Posts by their ranks.
pub(super) fn posts(ranks: Range<usize>) -> Subset {
    Subset { kind: POST.to_owned(), ranks }
}

/// Why the feed has one logical partition.
fn feed() -> SinglePartition {
    let rate = |(request, what): (ArticleRequest, &str)| (request.name(), what.to_owned());
    SinglePartition {
        consequence: format!(
            "it holds {FEED_POSTS_MAX} posts at most, but every read of the feed and every change of a post \
             in it shares \
             what one logical partition can serve"
        ),
        rates: [
            (ArticleRequest::Q6, "reads"),
            (ArticleRequest::C2, "new posts"),
            (ArticleRequest::C3, "comments on its posts"),
            (ArticleRequest::C4, "likes of its posts"),
        ]
        .map(rate)
        .into(),
        relief: "it takes a cache, or copies of the feed under several values of the key".to_owned(),
    }
}

fn live_post(change: &Change) -> Result<Option<UnrankedPost>, Fault> {
    let corrupt = || Fault::new(FaultKind::Corrupt, "a post has an unexpected shape");
    let post: PostFields<'_> =
        serde_json::from_slice(&change.item.body).map_err(|error| corrupt().with_source(error))?;
    let created_ms = parse_timestamp(&post.creation_date).ok_or_else(corrupt)?;
    let found = UnrankedPost { created_ms, id: post.id, author: PartitionKey::from(&*post.user_id) };
    Ok((!post.deleted).then_some(found))
}

/// Posts, the newest first, and users, ordered by their newest posts.
fn ranked(
    mut users: Vec<PartitionKey>,
    mut posts: Vec<UnrankedPost>,
) -> (Vec<PartitionKey>, Vec<RankedPost>) {
    posts.sort_unstable_by_key(|post| std::cmp::Reverse((post.created_ms, post.id)));
    let mut newest: HashMap<&PartitionKey, usize> = HashMap::new();
    for (rank, post) in posts.iter().enumerate() {
        newest.entry(&post.author).or_insert(rank);
    }
    users.sort_by_cached_key(|user| (newest.get(user).copied().unwrap_or(usize::MAX), user.clone()));
    let ranks: HashMap<&PartitionKey, usize> =
        users.iter().enumerate().map(|(rank, user)| (user, rank)).collect();
    let ranked = |post: &UnrankedPost| Some(RankedPost { id: post.id, author: *ranks.get(&post.author)? });
    let posts = posts.iter().filter_map(ranked).collect();
    (users, posts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    #[test]
    fn users_are_ranked_by_their_newest_post() {
        let key = |text: &str| PartitionKey::from(text);
        let post = |number: u128, created_ms, author| UnrankedPost {
            created_ms,
            id: PostId(Uuid::from_u128(number)),
            author: key(author),
        };
        let posts = vec![post(1, 30, "ada"), post(2, 10, "eve"), post(3, 50, "bob"), post(4, 40, "ada")];
        let (users, posts) = ranked(["eve", "dan", "ada", "bob"].map(key).into(), posts);
        assert_eq!(users, ["bob", "ada", "eve", "dan"].map(key));
        let posts: Vec<(u128, usize)> = posts.iter().map(|post| (post.id.0.as_u128(), post.author)).collect();
        assert_eq!(posts, [(3, 0), (4, 1), (1, 1), (2, 2)]);
    }
}
