//! Reads about accounts: the comments and likes of a user, for the user's export, by queries across
//! partitions; the moderation log, from its one logical partition; and whether an account is suspended.

use std::sync::Arc;

use super::views::{CommentView, LikeView, ModerationEntryView, live};
use super::{Page, PageRequest, Session, points};
use crate::blog::containers::{MODERATION, MODERATION_PARTITION, POSTS};
use crate::blog::ids::UserId;
use crate::blog::items::{UserItem, is_user, types};
use onehop_store::{Direction, Fault, PartitionKey, Query, QueryPage, Store};

/// Reads about accounts.
#[derive(Clone)]
pub struct AccountReads(Arc<dyn Store>);

impl AccountReads {
    #[must_use]
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self(store)
    }

    /// The comments of a user, newest first.
    ///
    /// # Errors
    /// The store does not answer, or an item is damaged; so it is of all of these.
    pub async fn comments(
        &self,
        user: UserId,
        page: &PageRequest,
        session: &Session,
    ) -> Result<Page<CommentView>, Fault> {
        let found = self.across_partitions(user, types::COMMENT, page, session).await?;
        Page::decode(&found, live(CommentView::decode))
    }

    /// The likes of a user, newest first.
    ///
    /// # Errors
    /// As [`comments`](Self::comments).
    pub async fn likes(
        &self,
        user: UserId,
        page: &PageRequest,
        session: &Session,
    ) -> Result<Page<LikeView>, Fault> {
        let found = self.across_partitions(user, types::LIKE, page, session).await?;
        Page::decode(&found, live(LikeView::decode))
    }

    /// The moderation log, newest first.
    ///
    /// # Errors
    /// As [`comments`](Self::comments).
    pub async fn moderation_log(
        &self,
        page: &PageRequest,
        session: &Session,
    ) -> Result<Page<ModerationEntryView>, Fault> {
        let partition_key = PartitionKey::from(MODERATION_PARTITION);
        let query = Query::Partition {
            container: MODERATION,
            partition_key: &partition_key,
            item_type: types::MODERATION_ENTRY,
            direction: Direction::NewestFirst,
            after: page.after(),
            limit: page.first(),
            order_by: None,
        };
        Page::decode(&self.0.query(&query, session.ledger()).await?, ModerationEntryView::decode)
    }

    /// Whether an account is suspended; `None` without such a user.
    ///
    /// # Errors
    /// As [`comments`](Self::comments).
    pub async fn is_suspended(&self, user: UserId, session: &Session) -> Result<Option<bool>, Fault> {
        let Some(item) = points::user_item(&*self.0, user, session).await? else { return Ok(None) };
        Ok(if is_user(&item)? { Some(item.decode::<UserItem>()?.suspended) } else { None })
    }

    async fn across_partitions(
        &self,
        user: UserId,
        item_type: &'static str,
        page: &PageRequest,
        session: &Session,
    ) -> Result<QueryPage, Fault> {
        let query = Query::Equality {
            container: POSTS,
            path: "userId",
            value: &user.to_string(),
            item_type,
            direction: Direction::NewestFirst,
            after: page.after(),
            limit: page.first(),
            order_by: None,
        };
        self.0.query(&query, session.ledger()).await
    }
}

impl std::fmt::Debug for AccountReads {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("AccountReads").finish_non_exhaustive()
    }
}
