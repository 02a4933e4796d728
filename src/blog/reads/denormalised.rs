//! V2 and V3: usernames and counts are in the items, so each question is one operation. In V2, a user's posts
//! and the feed still ask every physical partition, because posts are partitioned by themselves. In V3, these
//! lists come from short copies that are kept where they are read, in one logical partition.

use std::sync::Arc;

use async_trait::async_trait;

use super::{CommentView, LikeView, Page, PageRequest, PostView, Reads, Session, UserView, points, queries};
use crate::blog::containers::{FEED, FEED_PARTITION, USERS};
use crate::blog::ids::{CommentId, LikeId, PostId, UserId};
use onehop_store::{Fault, PartitionKey, Store};

/// Reads of denormalised items.
pub struct DenormalisedReads {
    store: Arc<dyn Store>,
    lists: PostLists,
}

/// The source of lists of posts.
enum PostLists {
    /// The posts themselves, across all partitions.
    AcrossPartitions,
    /// Copies in the logical partition of the list.
    Copies,
}

impl DenormalisedReads {
    /// Reads of V2 from this store.
    #[must_use]
    pub fn v2(store: Arc<dyn Store>) -> Self {
        Self { store, lists: PostLists::AcrossPartitions }
    }

    /// Reads of V3 from this store.
    #[must_use]
    pub fn v3(store: Arc<dyn Store>) -> Self {
        Self { store, lists: PostLists::Copies }
    }
}

#[async_trait]
impl Reads for DenormalisedReads {
    async fn user(&self, id: UserId, session: &Session) -> Result<Option<UserView>, Fault> {
        points::user(self.store.as_ref(), id, session).await
    }

    async fn user_by_username(&self, normalised: &str, session: &Session) -> Result<Option<UserView>, Fault> {
        match points::holder(self.store.as_ref(), normalised, session).await? {
            Some(id) => {
                let user = self.user(id, session).await?;
                Ok(user.filter(|user| points::goes_by(user, normalised)))
            }
            None => Ok(None),
        }
    }

    async fn post(&self, id: PostId, session: &Session) -> Result<Option<PostView>, Fault> {
        points::post(self.store.as_ref(), id, session).await
    }

    async fn posts_of_user(
        &self,
        user: UserId,
        page: &PageRequest,
        session: &Session,
    ) -> Result<Page<PostView>, Fault> {
        let store = self.store.as_ref();
        match self.lists {
            PostLists::AcrossPartitions => queries::posts_by_fan_out(store, user, page, session).await,
            PostLists::Copies => {
                queries::post_copies(store, USERS, &user.partition_key(), page, session).await
            }
        }
    }

    async fn comments(
        &self,
        post: PostId,
        page: &PageRequest,
        session: &Session,
    ) -> Result<Page<CommentView>, Fault> {
        queries::comments(self.store.as_ref(), post, page, session).await
    }

    async fn likes(
        &self,
        post: PostId,
        page: &PageRequest,
        session: &Session,
    ) -> Result<Page<LikeView>, Fault> {
        queries::likes(self.store.as_ref(), post, page, session).await
    }

    async fn feed(&self, page: &PageRequest, session: &Session) -> Result<Page<PostView>, Fault> {
        let (store, key) = (self.store.as_ref(), PartitionKey::from(FEED_PARTITION));
        match self.lists {
            PostLists::AcrossPartitions => queries::newest_by_fan_out(store, page, session).await,
            PostLists::Copies => queries::post_copies(store, FEED, &key, page, session).await,
        }
    }

    async fn contents(&self, posts: &[PostId], session: &Session) -> Result<Vec<Option<String>>, Fault> {
        points::contents(self.store.as_ref(), posts, session).await
    }

    async fn liked(&self, posts: &[PostId], user: UserId, session: &Session) -> Result<Vec<bool>, Fault> {
        points::liked(self.store.as_ref(), posts, user, session).await
    }

    async fn comment(
        &self,
        post: PostId,
        id: CommentId,
        session: &Session,
    ) -> Result<Option<(CommentView, PostView)>, Fault> {
        points::comment(self.store.as_ref(), post, id, session).await
    }

    async fn like(
        &self,
        post: PostId,
        id: LikeId,
        session: &Session,
    ) -> Result<Option<(LikeView, PostView)>, Fault> {
        points::like(self.store.as_ref(), post, id, session).await
    }
}
