//! C2: create a post. One Create in a logical partition of its own.

use std::sync::Arc;

use crate::blog::containers::POSTS;
use crate::blog::ids::{PostId, UserId};
use crate::blog::items::{PostItem, TEXT_VERSION_FIRST, types};
use onehop_store::{Ledger, NewItem, WriteOp};

use super::idempotency::IdempotencyKeyUse;
use super::names::WriteAttempt;
use super::tags::Tags;
use super::text::{PostContent, Title};
use super::{CommandError, Commands, Refusal};
use crate::domain::digest::sha256_hex;
use crate::domain::error::{InvalidFields, contended};
use crate::domain::text::IdempotencyKey;

/// Attempts of a Create whose answer was lost.
const ATTEMPTS_MAX: u32 = 4;

/// A new post of the signed-in user, as typed.
#[derive(Clone)]
pub struct CreatePost {
    pub user_id: UserId,
    pub title: String,
    pub content: String,
    pub tags: Vec<String>,
    pub idempotency_key: Option<String>,
}

impl Commands {
    /// Creates a post; with an idempotency key used before, returns the post made then.
    ///
    /// # Errors
    /// `BAD_USER_INPUT` on `title`, `content`, `tags` or `idempotencyKey`; `CONFLICT` on `idempotencyKey`;
    /// `NOT_FOUND` when the post that the key made was deleted; `UNAUTHENTICATED` when the user does not
    /// exist.
    pub async fn create_post(
        &self,
        input: CreatePost,
        ledger: &Ledger,
    ) -> Result<Arc<PostItem>, CommandError> {
        let mut invalid = InvalidFields::default();
        let title = invalid.check(Title::parse(input.title));
        let content = invalid.check(PostContent::parse(input.content));
        let tags = invalid.check(Tags::parse(input.tags));
        let key = invalid.check(input.idempotency_key.map(IdempotencyKey::parse).transpose());
        let (Some(title), Some(content), Some(tags), Some(key)) = (title, content, tags, key) else {
            return Err(invalid.refusal().into());
        };
        let user_username = self.username(input.user_id, ledger).await?;

        let mut post_id = PostId(self.new_id());
        if let Some(key) = &key {
            let mut texts = vec![title.as_str(), content.as_str()];
            texts.extend(tags.as_slice().iter().map(String::as_str));
            let content_hash = sha256_hex(&texts);
            let (user, result_id) = (input.user_id, post_id.0);
            let key_use =
                IdempotencyKeyUse { user, command: "createPost", key, content_hash, post_id, result_id };
            let recorded = self.record_key(key_use, ledger).await?;
            post_id = recorded.post_id;
            if recorded.repeated
                && let Some(post) = self.read_in_post::<PostItem>(post_id, post_id.0, ledger).await?
            {
                return first_outcome(post);
            }
        }
        let post = PostItem {
            id: post_id,
            item_type: types::POST.to_owned(),
            post_id,
            user_id: input.user_id,
            user_username,
            title: title.into(),
            content: content.into(),
            tags: tags.into(),
            comment_count: 0,
            like_count: 0,
            creation_date: self.timestamp(),
            version: 1,
            text_version: TEXT_VERSION_FIRST,
            update_date: None,
            deleted: false,
            ttl: None,
        };
        self.write_post(post, ledger).await
    }

    /// Writes the post. An existing post under this new id is this one, or was made by the same key.
    async fn write_post(&self, post: PostItem, ledger: &Ledger) -> Result<Arc<PostItem>, CommandError> {
        let item = NewItem::encode(post.id.to_string(), &post);
        let partition_key = post.id.partition_key();
        for _ in 0..ATTEMPTS_MAX {
            if self.names.deleted_users().contains(post.user_id) {
                return Err(Refusal::no_such_user().into());
            }
            let create = WriteOp::Create(item.clone());
            if self.names.attempt(POSTS, &partition_key, create, ledger).await? == WriteAttempt::Written {
                return Ok(Arc::new(post));
            }
            if let Some(stored) = self.read_in_post::<PostItem>(post.id, post.id.0, ledger).await? {
                return first_outcome(stored);
            }
        }
        Err(contended("a new post").into())
    }
}

fn first_outcome(post: PostItem) -> Result<Arc<PostItem>, CommandError> {
    if post.deleted {
        let message = "the post created with this idempotencyKey was deleted";
        return Err(Refusal::not_found("idempotencyKey", message).into());
    }
    Ok(Arc::new(post))
}
