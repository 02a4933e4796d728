//! Seeder: writes a data set through the store port, also into a blog that is in use.
//!
//! A post is created in one transactional batch with the first of its comments and likes; each further batch
//! replaces the post with its new counts (If-Match), so counts are exact at any time. Existing items are
//! passed over, so an interrupted seeding is resumed by running it again with the same parameters. Nothing is
//! written to a deleted post.

use std::sync::Arc;

use futures::stream::{self, StreamExt};
use thiserror::Error;

use super::dataset::{Dataset, SeedPost, SeedUser};
use super::items;
use crate::accounts::username::Username;
use crate::blog::containers::{ACCOUNTS, POSTS, USERS};
use crate::blog::ids::{PostId, UserId};
use crate::blog::items::{AccountItem, PostItem, types};
use onehop_store::{
    Batch, ETag, Fault, Ledger, NewItem, PartitionKey, Rejection, Store, WriteError, WriteOp, limits,
};

/// Comments and likes in one batch, beside the post.
const REACTIONS_MAX: usize = limits::BATCH_OPERATIONS_MAX - 1;
/// Attempts at a post that others write at the same time.
const TRIES_MAX: u32 = 64;
/// Batches that are on the way to the store at once.
const BATCHES_IN_FLIGHT_MAX: usize = 128;

/// Users who can sign in.
pub const DEMO_USERS: u32 = 10;

/// Why a data set could not be written.
#[derive(Debug, Error)]
pub enum SeedError {
    #[error("an item of the data set was refused: {0}")]
    Refused(Rejection),
    #[error(transparent)]
    Store(#[from] Fault),
    #[error("the post {0} is written to without pause: seed again when it is quieter")]
    PostContended(PostId),
    #[error("the username {0} belongs to another user: seed an empty data directory")]
    UsernameTaken(String),
}

/// The progress of a seeding, in items of the write side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeedProgress {
    pub done: u64,
    pub total: u64,
}

/// Writes data sets.
pub struct Seeder {
    pub store: Arc<dyn Store>,
    pub dataset: Dataset,
    /// The password hash of the demo users, a PHC string.
    pub demo_password_hash: String,
}

impl Seeder {
    /// Writes the whole data set and reports after each batch how many items are done.
    ///
    /// # Errors
    /// See [`SeedError`]; items written before stay.
    pub async fn run(&self, mut progress: impl FnMut(SeedProgress)) -> Result<SeedProgress, SeedError> {
        let totals = self.dataset.totals();
        let total = totals.users + totals.posts + totals.comments + totals.likes;
        let mut done = 0;

        let users = (0..self.dataset.users()).map(|index| self.write_user(index));
        let mut users = stream::iter(users).buffer_unordered(BATCHES_IN_FLIGHT_MAX);
        while let Some(written) = users.next().await {
            written?;
            done += 1;
            progress(SeedProgress { done, total });
        }

        let posts = (0..self.dataset.users())
            .flat_map(|user| self.dataset.posts_of(user).map(move |post| (user, post)))
            .map(|(user, post)| self.write_post(user, post));
        let mut posts = stream::iter(posts).buffer_unordered(BATCHES_IN_FLIGHT_MAX);
        while let Some(written) = posts.next().await {
            done += written?;
            progress(SeedProgress { done, total });
        }
        Ok(SeedProgress { done, total })
    }

    async fn write_user(&self, index: u32) -> Result<(), SeedError> {
        let SeedUser { id, username, .. } = self.dataset.user(index);
        let user_id = UserId(id);
        let ledger = Ledger::new();
        let name = Username::parse(&username).map_err(|_| SeedError::UsernameTaken(username.clone()))?;
        for (place, key) in name.keys().iter().enumerate() {
            let has_password = place == 0 && index < DEMO_USERS;
            let account = AccountItem {
                id: key.as_str().to_owned(),
                item_type: types::ACCOUNT.to_owned(),
                user_id,
                password_hash: has_password.then(|| self.demo_password_hash.clone()),
                password_version: 0,
                idempotency_key_hash: None,
            };
            if !self.reserve(&account, &ledger).await? {
                return Err(SeedError::UsernameTaken(username));
            }
        }
        let item = NewItem::encode(user_id.to_string(), &items::user(&self.dataset, index));
        let created = self.store.write(USERS, &user_id.partition_key(), WriteOp::Create(item), &ledger).await;
        passed_over_if_there(created.map(|_| ()))
    }

    /// Writes a reservation; `false` when the key is reserved for another user.
    async fn reserve(&self, account: &AccountItem, ledger: &Ledger) -> Result<bool, SeedError> {
        let key = PartitionKey::from(account.id.as_str());
        let item = NewItem::encode(account.id.clone(), account);
        match self.store.write(ACCOUNTS, &key, WriteOp::Create(item), ledger).await {
            Err(WriteError::Rejected { reason: Rejection::Conflict, .. }) => {
                let existing = self.store.read(ACCOUNTS, &key, &account.id, ledger).await?;
                let existing = existing.map(|item| item.decode::<AccountItem>()).transpose()?;
                Ok(existing.is_some_and(|existing| existing.user_id == account.user_id))
            }
            outcome => outcome.map(|_| true).map_err(seed_error),
        }
    }

    /// Writes a post with its comments and likes; returns how many items that were.
    async fn write_post(&self, user: u32, seed: SeedPost) -> Result<u64, SeedError> {
        let mut post = items::post(&self.dataset, user, &seed);
        let reactions = self.reactions_of(&seed);
        let written = 1 + reactions.len() as u64;
        let (first, rest) = reactions.split_at(reactions.len().min(REACTIONS_MAX));
        count(&mut post, first);
        let create = |post: &PostItem| WriteOp::Create(NewItem::encode(post.id.to_string(), post));
        let Some(mut etag) = self.write_batch(&post, create, first).await? else {
            self.complete_post(post.id, &seed, &reactions).await?;
            return Ok(written);
        };
        for chunk in rest.chunks(REACTIONS_MAX) {
            match self.add_reactions(&mut post, &etag, chunk).await? {
                Some(newer) => etag = newer,
                None => {
                    self.complete_post(post.id, &seed, &reactions).await?;
                    break;
                }
            }
        }
        Ok(written)
    }

    /// Adds the missing comments and likes of the data set to an existing post.
    async fn complete_post(
        &self,
        id: PostId,
        seed: &SeedPost,
        reactions: &[Reaction],
    ) -> Result<(), SeedError> {
        let (key, ledger) = (id.partition_key(), Ledger::new());
        for _ in 0..TRIES_MAX {
            let item = self.store.read(POSTS, &key, &id.to_string(), &ledger).await?;
            let Some(item) = item else { return Err(SeedError::Refused(Rejection::Conflict)) };
            let mut post: PostItem = item.decode()?;
            let has_counts = (post.comment_count, post.like_count) == (seed.comment_count, seed.like_count);
            if post.deleted || has_counts {
                return Ok(());
            }
            let mut etag = item.etag;
            let missing = self.missing_of(&key, reactions).await?;
            let mut is_refused = false;
            for chunk in missing.chunks(REACTIONS_MAX) {
                match self.add_reactions(&mut post, &etag, chunk).await? {
                    Some(newer) => etag = newer,
                    None => {
                        is_refused = true;
                        break;
                    }
                }
            }
            if !is_refused {
                return Ok(());
            }
        }
        Err(SeedError::PostContended(id))
    }

    /// The missing items; a soft-deleted comment is there.
    async fn missing_of(
        &self,
        key: &PartitionKey,
        reactions: &[Reaction],
    ) -> Result<Vec<Reaction>, SeedError> {
        let keys: Vec<_> = reactions.iter().map(|reaction| (key.clone(), reaction.item.id.clone())).collect();
        let mut missing = Vec::new();
        for (keys, reactions) in keys.chunks(REACTIONS_MAX).zip(reactions.chunks(REACTIONS_MAX)) {
            let found = self.store.read_many(POSTS, keys, &Ledger::new()).await?;
            let absent = reactions.iter().zip(found).filter(|(_, found)| found.is_none());
            missing.extend(absent.map(|(reaction, _)| reaction.clone()));
        }
        Ok(missing)
    }

    /// Adds comments and likes to an unchanged post; `None` when something was there or the post has changed.
    async fn add_reactions(
        &self,
        post: &mut PostItem,
        etag: &ETag,
        reactions: &[Reaction],
    ) -> Result<Option<ETag>, SeedError> {
        count(post, reactions);
        post.version += 1;
        let replace = |post: &PostItem| WriteOp::Replace {
            item: NewItem::encode(post.id.to_string(), post),
            if_match: Some(etag.clone()),
        };
        self.write_batch(post, replace, reactions).await
    }

    /// Writes a post and its new items. The post's ETag, or `None` when the batch was refused.
    async fn write_batch(
        &self,
        post: &PostItem,
        write: impl Fn(&PostItem) -> WriteOp,
        reactions: &[Reaction],
    ) -> Result<Option<ETag>, SeedError> {
        let creates = reactions.iter().map(|reaction| WriteOp::Create(reaction.item.clone()));
        let operations = std::iter::once(write(post)).chain(creates).collect();
        let batch = Batch { container: POSTS, partition_key: post.id.partition_key(), operations };
        match self.store.batch(batch, &Ledger::new()).await {
            Ok(etags) => Ok(etags.into_iter().next().flatten()),
            Err(WriteError::Rejected {
                reason: Rejection::Conflict | Rejection::PreconditionFailed | Rejection::NotFound,
                ..
            }) => Ok(None),
            Err(error) => Err(seed_error(error)),
        }
    }

    /// The comments of a post, and then its likes.
    fn reactions_of(&self, post: &SeedPost) -> Vec<Reaction> {
        let comments = items::comments(&self.dataset, post)
            .map(|item| Reaction { is_like: false, item: NewItem::encode(item.id.to_string(), &item) });
        let likes = items::likes(&self.dataset, post)
            .map(|item| Reaction { is_like: true, item: NewItem::encode(item.id.to_string(), &item) });
        comments.chain(likes).collect()
    }
}

/// A comment or a like of the data set.
#[derive(Clone)]
struct Reaction {
    is_like: bool,
    item: NewItem,
}

/// Counts comments and likes that are new with a post.
fn count(post: &mut PostItem, reactions: &[Reaction]) {
    for reaction in reactions {
        if reaction.is_like {
            post.like_count += 1;
        } else {
            post.comment_count += 1;
        }
    }
}

fn passed_over_if_there(outcome: Result<(), WriteError>) -> Result<(), SeedError> {
    match outcome {
        Err(WriteError::Rejected { reason: Rejection::Conflict, .. }) => Ok(()),
        outcome => outcome.map_err(seed_error),
    }
}

fn seed_error(error: WriteError) -> SeedError {
    match error {
        WriteError::Rejected { reason, .. } => SeedError::Refused(reason),
        WriteError::Fault(fault) => SeedError::Store(fault),
    }
}

#[cfg(test)]
mod tests;
