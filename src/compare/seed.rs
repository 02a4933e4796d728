//! Writes a data set through the store port: one transactional batch for a post and what belongs to it, many
//! batches on the way at once. What is already there is passed over, so an interrupted seeding is resumed by running
//! it again with the same parameters.

use std::sync::Arc;

use futures::stream::{self, StreamExt};
use thiserror::Error;

use super::dataset::{Dataset, SeedPost, SeedUser};
use crate::blog::containers::{ACCOUNTS, POSTS, USERS};
use crate::blog::ids::{CommentId, LikeId, PostId, UserId};
use crate::blog::items::{AccountItem, CommentItem, LikeItem, PostItem, UserItem, types};
use crate::store::{
    Batch, Fault, Ledger, NewItem, PartitionKey, Rejection, Store, WriteError, WriteOp, format_timestamp,
    limits,
};

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
    #[error("the username {0} belongs to somebody else: seed an empty data directory")]
    UsernameTaken(String),
}

/// How far a seeding has got, in items of the write side.
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
    /// See [`SeedError`]; what was written before stays.
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
        // The names of the data set are lower-case ASCII: they are their own normal form.
        let account = AccountItem {
            id: username.clone(),
            item_type: types::ACCOUNT.to_owned(),
            user_id,
            password_hash: (index < DEMO_USERS).then(|| self.demo_password_hash.clone()),
            idempotency_key_hash: None,
        };
        let key = PartitionKey::from(username.as_str());
        let item = NewItem::encode(username.clone(), &account);
        match self.store.write(ACCOUNTS, &key, WriteOp::Create(item), &ledger).await {
            Err(WriteError::Rejected { reason: Rejection::Conflict, .. }) => {
                let existing = self.store.read(ACCOUNTS, &key, &username, &ledger).await?;
                let existing = existing.map(|item| item.decode::<AccountItem>()).transpose()?;
                if existing.is_none_or(|existing| existing.user_id != user_id) {
                    return Err(SeedError::UsernameTaken(username));
                }
            }
            outcome => {
                outcome.map_err(seed_error)?;
            }
        }
        let user = UserItem {
            id: user_id,
            item_type: types::USER.to_owned(),
            user_id,
            username,
            version: 1,
            pending_username: None,
            former_username: None,
        };
        let item = NewItem::encode(user_id.to_string(), &user);
        let created = self.store.write(USERS, &user_id.partition_key(), WriteOp::Create(item), &ledger).await;
        passed_over_if_there(created.map(|_| ()))
    }

    /// Writes a post with its comments and likes; returns how many items that were.
    async fn write_post(&self, user: u32, post: SeedPost) -> Result<u64, SeedError> {
        let post_id = PostId(post.id);
        let mut username = String::new();
        self.dataset.write_username(user, &mut username);
        let item = PostItem {
            id: post_id,
            item_type: types::POST.to_owned(),
            post_id,
            user_id: UserId(self.dataset.user_id(user)),
            user_username: username,
            comment_count: post.comment_count,
            like_count: post.like_count,
            creation_date: format_timestamp(post.creation_ms),
            version: 1,
            title: post.title.clone(),
            content: post.content.clone(),
            deleted: false,
            ttl: None,
        };
        let mut operations = Vec::with_capacity(1 + post.comment_count as usize + post.like_count as usize);
        operations.push(WriteOp::Create(NewItem::encode(post_id.to_string(), &item)));
        operations.extend(self.dataset.comments_of(&post).map(|comment| {
            let id = CommentId(comment.id);
            let item = CommentItem {
                id,
                item_type: types::COMMENT.to_owned(),
                post_id,
                user_id: UserId(self.dataset.user_id(comment.author)),
                user_username: self.dataset.username(comment.author),
                content: comment.content,
                creation_date: format_timestamp(comment.creation_ms),
                version: 1,
                deleted: false,
                ttl: None,
            };
            WriteOp::Create(NewItem::encode(id.to_string(), &item))
        }));
        operations.extend(self.dataset.likes_of(&post).map(|like| {
            let user_id = UserId(self.dataset.user_id(like.user));
            let id = LikeId::derive(post_id, user_id);
            let item = LikeItem {
                id,
                item_type: types::LIKE.to_owned(),
                post_id,
                user_id,
                user_username: self.dataset.username(like.user),
                creation_date: format_timestamp(like.creation_ms),
                version: 1,
            };
            WriteOp::Create(NewItem::encode(id.to_string(), &item))
        }));
        let written = operations.len() as u64;
        let key = post_id.partition_key();
        while !operations.is_empty() {
            let rest = operations.split_off(operations.len().min(limits::BATCH_OPERATIONS_MAX));
            let batch = Batch { container: POSTS, partition_key: key.clone(), operations };
            passed_over_if_there(self.store.batch(batch, &Ledger::new()).await.map(|_| ()))?;
            operations = rest;
        }
        Ok(written)
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
