//! Stored reads: the one-hop questions of V3, answered with the stored items.
//!
//! [`V3`](super::V3) decodes the results of the same operations, so that both ways to an answer ask the store
//! the same and are charged the same. Nothing here looks into an item: whether it is deleted, the reader of
//! the item finds out.

use std::sync::Arc;

use super::{PageRequest, Session, points, queries};
use crate::blog::containers::{FEED, FEED_PARTITION, USERS};
use crate::blog::ids::{CommentId, LikeId, PostId, UserId};
use onehop_store::{Fault, Item, PartitionKey, QueryPage, Store};

/// Reads of stored items, each one operation on one logical partition.
#[derive(Clone)]
pub struct StoredReads {
    store: Arc<dyn Store>,
}

impl StoredReads {
    /// Reads from this store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }

    /// Q1: the item of a user.
    ///
    /// # Errors
    /// The store does not answer; so it is of all of these.
    pub async fn user(&self, id: UserId, session: &Session) -> Result<Option<Item>, Fault> {
        points::user_item(&*self.store, id, session).await
    }

    /// Q2: the item of a post, which may be deleted.
    ///
    /// # Errors
    /// As [`user`](Self::user).
    pub async fn post(&self, id: PostId, session: &Session) -> Result<Option<Item>, Fault> {
        points::post_item(&*self.store, id, session).await
    }

    /// The items of a comment and of its post, which may be deleted.
    ///
    /// # Errors
    /// As [`user`](Self::user).
    pub async fn comment(
        &self,
        post: PostId,
        id: CommentId,
        session: &Session,
    ) -> Result<(Option<Item>, Option<Item>), Fault> {
        points::items_with_post(&*self.store, post, id.to_string(), session).await
    }

    /// The items of a like and of its post, which may be deleted.
    ///
    /// # Errors
    /// As [`user`](Self::user).
    pub async fn like(
        &self,
        post: PostId,
        id: LikeId,
        session: &Session,
    ) -> Result<(Option<Item>, Option<Item>), Fault> {
        points::items_with_post(&*self.store, post, id.to_string(), session).await
    }

    /// The items of posts, in the order of the ids. They may be deleted.
    ///
    /// # Errors
    /// As [`user`](Self::user).
    pub async fn posts(&self, posts: &[PostId], session: &Session) -> Result<Vec<Option<Item>>, Fault> {
        points::post_items(&*self.store, posts, session).await
    }

    /// Whether a user likes each of these posts.
    ///
    /// # Errors
    /// As [`user`](Self::user).
    pub async fn liked(&self, posts: &[PostId], user: UserId, session: &Session) -> Result<Vec<bool>, Fault> {
        points::liked(&*self.store, posts, user, session).await
    }

    /// Q3: short copies of a user's posts, newest first.
    ///
    /// # Errors
    /// As [`user`](Self::user).
    pub async fn posts_of_user(
        &self,
        user: UserId,
        page: &PageRequest,
        session: &Session,
    ) -> Result<QueryPage, Fault> {
        let list = queries::post_copies_in(USERS);
        queries::partition_page(&*self.store, list, &user.partition_key(), page, session).await
    }

    /// Q4: a post's comments, oldest first.
    ///
    /// # Errors
    /// As [`user`](Self::user).
    pub async fn comments(
        &self,
        post: PostId,
        page: &PageRequest,
        session: &Session,
    ) -> Result<QueryPage, Fault> {
        let list = queries::COMMENTS_OF_POST;
        queries::partition_page(&*self.store, list, &post.partition_key(), page, session).await
    }

    /// Q5: a post's likes, newest first.
    ///
    /// # Errors
    /// As [`user`](Self::user).
    pub async fn likes(
        &self,
        post: PostId,
        page: &PageRequest,
        session: &Session,
    ) -> Result<QueryPage, Fault> {
        let list = queries::LIKES_OF_POST;
        queries::partition_page(&*self.store, list, &post.partition_key(), page, session).await
    }

    /// Q6: short copies of the most recent posts of all users, newest first.
    ///
    /// # Errors
    /// As [`user`](Self::user).
    pub async fn feed(&self, page: &PageRequest, session: &Session) -> Result<QueryPage, Fault> {
        let (list, key) = (queries::post_copies_in(FEED), PartitionKey::from(FEED_PARTITION));
        queries::partition_page(&*self.store, list, &key, page, session).await
    }
}

impl std::fmt::Debug for StoredReads {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("StoredReads").finish_non_exhaustive()
    }
}
