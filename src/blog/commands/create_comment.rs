//! C3: comment on a post. The comment and the post's count are written in one batch.

use std::sync::Arc;

use crate::blog::ids::{CommentId, PostId, UserId};
use crate::blog::items::{CommentItem, PostItem, TEXT_VERSION_FIRST, types};
use onehop_store::Ledger;

use super::idempotency::IdempotencyKeyUse;
use super::post_queue::{PostChange, QueuedCommand};
use super::text::CommentContent;
use super::{CommandError, Commands, Refusal};
use crate::domain::digest::sha256_hex;
use crate::domain::error::{InvalidField, InvalidFields};
use crate::domain::text::IdempotencyKey;

/// A new comment of the signed-in user, as typed.
#[derive(Clone)]
pub struct CreateComment {
    pub user_id: UserId,
    pub post_id: PostId,
    pub content: String,
    pub idempotency_key: Option<String>,
}

/// The comment, and its post after it.
#[derive(Debug, Clone)]
pub struct CommentCreated {
    pub comment: CommentItem,
    pub post: Arc<PostItem>,
}

impl CreateComment {
    /// The invalid fields, for an input that is refused for another one anyway.
    #[must_use]
    pub fn invalid_fields(self) -> Vec<InvalidField> {
        let mut invalid = InvalidFields::default();
        invalid.check(CommentContent::parse(self.content));
        invalid.check(self.idempotency_key.map(IdempotencyKey::parse).transpose());
        invalid.into_vec()
    }
}

impl Commands {
    /// Comments on a post; with an idempotency key used before, returns the comment made then.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on `content` or `idempotencyKey`; `NOT_FOUND` on `postId`, or on `idempotencyKey`
    /// when the comment it made was deleted; `CONFLICT` on `idempotencyKey`; `UNAUTHENTICATED` when the user
    /// does not exist.
    pub async fn create_comment(
        &self,
        input: CreateComment,
        ledger: &Ledger,
    ) -> Result<CommentCreated, CommandError> {
        let mut invalid = InvalidFields::default();
        let content = invalid.check(CommentContent::parse(input.content));
        let key = invalid.check(input.idempotency_key.map(IdempotencyKey::parse).transpose());
        let (Some(content), Some(key)) = (content, key) else { return Err(invalid.refusal().into()) };
        let user_username = self.username(input.user_id, ledger).await?;

        let (user, post_id) = (input.user_id, input.post_id);
        let mut id = CommentId(self.new_id());
        if let Some(key) = &key {
            let content_hash = sha256_hex(&[&post_id.to_string(), content.as_str()]);
            let key_use = IdempotencyKeyUse {
                user,
                command: "createComment",
                key,
                content_hash,
                post_id,
                result_id: id.0,
            };
            let recorded = self.record_key(key_use, ledger).await?;
            id = CommentId(recorded.result_id);
            if recorded.repeated
                && let Some(comment) = self.read_in_post::<CommentItem>(post_id, id.0, ledger).await?
            {
                return self.first_comment(comment, ledger).await;
            }
        }
        let comment = CommentItem {
            id,
            item_type: types::COMMENT.to_owned(),
            post_id,
            user_id: user,
            user_username,
            content: content.into(),
            creation_date: self.timestamp(),
            version: 1,
            text_version: TEXT_VERSION_FIRST,
            update_date: None,
            deleted: false,
            ttl: None,
        };
        let change = PostChange::Comment(comment.clone());
        let intent = QueuedCommand::new(self.new_id(), post_id, user, change);
        let settled = self.posts.run(intent, ledger).await?;
        Ok(CommentCreated { comment: settled.comment.unwrap_or(comment), post: settled.post })
    }

    async fn first_comment(
        &self,
        comment: CommentItem,
        ledger: &Ledger,
    ) -> Result<CommentCreated, CommandError> {
        if comment.deleted {
            return Err(Refusal::created_comment_was_deleted().into());
        }
        match self.read_in_post::<PostItem>(comment.post_id, comment.post_id.0, ledger).await? {
            Some(post) if !post.deleted => Ok(CommentCreated { comment, post: Arc::new(post) }),
            _ => Err(Refusal::post_not_found().into()),
        }
    }
}
