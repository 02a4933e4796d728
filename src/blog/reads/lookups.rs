//! The lookups that complete normalised items: a username by point read, the counts of a post by two COUNT
//! queries.
//!
//! Batched, they go through the data loaders of one request: a username is read once however many items name
//! its user, the counts of a post once however often it is listed. Unbatched, each item has its own lookups.

use std::collections::HashMap;
use std::future::Future;
use std::hash::Hash;
use std::sync::Arc;

use dataloader::BatchFn;
use dataloader::cached::Loader;
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::views::UserView;
use crate::blog::containers::{POSTS, USERS};
use crate::blog::ids::{PostId, UserId};
use crate::blog::items::types;
use onehop_store::{Fault, FaultKind, Item, Ledger, Store};

/// Concurrency limit of lookups of one list.
const LOOKUPS_AT_ONCE_MAX: usize = 16;
/// The number of times that a loader lets other tasks of the request go first, so that they may add to its
/// batch.
const LOADER_YIELDS: usize = 1;

/// The name of a user whose account is deleted, until the items of the account are removed, too.
const DELETED_USERNAME: &str = "deleted";

/// The numbers of a post's comments and likes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ReactionCounts {
    pub(super) comments: u32,
    pub(super) likes: u32,
}

/// The lookups of one request.
pub(super) struct Lookups {
    source: LookupSource,
    loaders: Option<BatchLoaders>,
}

struct BatchLoaders {
    usernames: Loader<UserId, LookupResult<String>, LookupSource>,
    counts: Loader<PostId, LookupResult<ReactionCounts>, LookupSource>,
}

/// The value that a loader keeps for a key. Faults are shared, because several items may wait for the same
/// key.
type LookupResult<T> = Result<T, Arc<Fault>>;

/// Where lookups read.
#[derive(Clone)]
struct LookupSource {
    store: Arc<dyn Store>,
    ledger: Arc<Ledger>,
}

impl Lookups {
    pub(super) fn new(store: Arc<dyn Store>, ledger: Arc<Ledger>, batched: bool) -> Self {
        let source = LookupSource { store, ledger };
        let loaders = batched.then(|| BatchLoaders {
            usernames: Loader::new(source.clone()).with_yield_count(LOADER_YIELDS),
            counts: Loader::new(source.clone()).with_yield_count(LOADER_YIELDS),
        });
        Self { source, loaders }
    }

    /// Keeps the name of a user who was read anyway.
    pub(super) async fn remember(&self, user: &UserView) {
        if let Some(loaders) = &self.loaders {
            loaders.usernames.prime(user.id, Ok(user.username.clone())).await;
        }
    }

    /// The usernames of these users, in order.
    pub(super) async fn usernames(&self, users: &[UserId]) -> Result<Vec<String>, Fault> {
        match &self.loaders {
            Some(loaders) => load(&loaders.usernames, users).await,
            None => each(users, |user| self.source.username(user)).await,
        }
    }

    /// The counts of these posts, in order.
    pub(super) async fn counts(&self, posts: &[PostId]) -> Result<Vec<ReactionCounts>, Fault> {
        match &self.loaders {
            Some(loaders) => load(&loaders.counts, posts).await,
            None => each(posts, |post| self.source.counts(post)).await,
        }
    }
}

impl LookupSource {
    async fn username(&self, user: UserId) -> Result<String, Fault> {
        let key = user.partition_key();
        let item = self.store.read(USERS, &key, key.as_str(), &self.ledger).await?;
        username_in(item.as_ref())
    }

    async fn counts(&self, post: PostId) -> Result<ReactionCounts, Fault> {
        let key = post.partition_key();
        let comments = self.store.count(POSTS, &key, types::COMMENT, &self.ledger).await?;
        let likes = self.store.count(POSTS, &key, types::LIKE, &self.ledger).await?;
        let narrow = |count| u32::try_from(count).unwrap_or(u32::MAX);
        Ok(ReactionCounts { comments: narrow(comments), likes: narrow(likes) })
    }

    async fn usernames(&self, users: &[UserId]) -> Result<Vec<String>, Fault> {
        let keys: Vec<_> = users.iter().map(|user| (user.partition_key(), user.to_string())).collect();
        let items = self.store.read_many(USERS, &keys, &self.ledger).await?;
        items.iter().map(|item| username_in(item.as_ref())).collect()
    }
}

impl BatchFn<UserId, LookupResult<String>> for LookupSource {
    async fn load(&mut self, users: &[UserId]) -> HashMap<UserId, LookupResult<String>> {
        match self.usernames(users).await {
            Ok(usernames) => users.iter().copied().zip(usernames.into_iter().map(Ok)).collect(),
            Err(fault) => failed(users, fault),
        }
    }
}

impl BatchFn<PostId, LookupResult<ReactionCounts>> for LookupSource {
    async fn load(&mut self, posts: &[PostId]) -> HashMap<PostId, LookupResult<ReactionCounts>> {
        match each(posts, |post| self.counts(post)).await {
            Ok(counts) => posts.iter().copied().zip(counts.into_iter().map(Ok)).collect(),
            Err(fault) => failed(posts, fault),
        }
    }
}

/// Asks a loader for all keys at once; the answers are in the order of the keys.
async fn load<K, V>(loader: &Loader<K, LookupResult<V>, LookupSource>, keys: &[K]) -> Result<Vec<V>, Fault>
where
    K: Copy + Eq + Hash + std::fmt::Debug,
    V: Clone,
    LookupSource: BatchFn<K, LookupResult<V>>,
{
    let found = loader.try_load_many(keys.to_vec()).await.map_err(|error| {
        Fault::new(FaultKind::Internal, "a data loader has no answer for a key").with_source(error)
    })?;
    keys.iter().map(|key| found[key].clone().map_err(|fault| shared(&fault))).collect()
}

/// Looks up each item on its own, some at once; the answers are in the order of the keys.
async fn each<K, V, F>(keys: &[K], look_up: impl Fn(K) -> F) -> Result<Vec<V>, Fault>
where
    K: Copy,
    F: Future<Output = Result<V, Fault>>,
{
    stream::iter(keys.iter().copied().map(look_up)).buffered(LOOKUPS_AT_ONCE_MAX).try_collect().await
}

fn username_in(item: Option<&Item>) -> Result<String, Fault> {
    let Some(item) = item else {
        return Err(Fault::new(FaultKind::Corrupt, "an item refers to a user who is not there"));
    };
    // The items of a deleted account are on their way out.
    Ok(UserView::decode(item)?.map_or_else(|| DELETED_USERNAME.to_owned(), |user| user.username))
}

fn failed<K: Copy + Eq + Hash, V>(keys: &[K], fault: Fault) -> HashMap<K, LookupResult<V>> {
    let fault = Arc::new(fault);
    keys.iter().map(|key| (*key, Err(Arc::clone(&fault)))).collect()
}

/// A fault of the same kind, for one of several who wait for it.
fn shared(fault: &Arc<Fault>) -> Fault {
    let copy = Fault::new(fault.kind, "a shared lookup failed").with_source(Arc::clone(fault));
    match fault.retry_after {
        Some(delay) => copy.with_retry_after(delay),
        None => copy,
    }
}
