//! The items as they are stored: exactly the article's fields in camelCase, plus `version`, which grows with
//! each change of an item, and `deleted` with `ttl` (seconds) for soft deletes. A version that a projection
//! wrote has `causedBy`, which commands neither read nor keep (`onehop_change_feed::Cause`). A post or
//! comment whose text was changed has `textVersion` and `updateDate`, too; without them an item, and each
//! copy of it, stays as small as it was.
//!
//! Source: "Model and partition data on Azure Cosmos DB using a real-world example", its V2 and V3 items.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::ids::{CommentId, LikeId, ModerationEntryId, PostId, UserId};
use onehop_store::{Fault, Item};

/// The values of `type`.
pub mod types {
    pub const USER: &str = "user";
    pub const POST: &str = "post";
    pub const COMMENT: &str = "comment";
    pub const LIKE: &str = "like";
    pub const ACCOUNT: &str = "account";
    pub const SUBJECT: &str = "subject";
    pub const OUTCOME: &str = "outcome";
    /// The user of a staff name.
    pub const STAFF_NAME: &str = "staffName";
    /// The rest of an account that its user has deleted.
    pub const DELETED_USER: &str = "deletedUser";
    pub const MODERATION_ENTRY: &str = "moderationEntry";
    /// Stands in `users` where a sign-up was given up, so that its user is never created.
    pub const ABANDONED: &str = crate::domain::containers::ABANDONED;
}

/// Time to live of a soft-deleted item, in seconds: 30 days, within which every projection has to have seen
/// it.
pub const TOMBSTONE_TTL_S: u32 = 30 * 24 * 60 * 60;
/// Time to live of an entry of the moderation log, in seconds: two years.
pub const MODERATION_TTL_S: u32 = 2 * 365 * 24 * 60 * 60;
/// Time to live of the outcome of an idempotent command, in seconds.
pub const OUTCOME_TTL_S: u32 = 24 * 60 * 60;

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_zero_count(value: &u32) -> bool {
    *value == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// The version of a text that was never changed.
pub const TEXT_VERSION_FIRST: u32 = 1;

const fn text_version_first() -> u32 {
    TEXT_VERSION_FIRST
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if passes a reference")]
fn is_text_version_first(version: &u32) -> bool {
    *version == TEXT_VERSION_FIRST
}

/// A user, in `users` under its own id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserItem {
    pub id: UserId,
    #[serde(rename = "type")]
    pub item_type: String,
    pub user_id: UserId,
    pub username: String,
    pub version: u64,
    /// The name that a rename under way is about to take; each reader of it rolls the rename forward.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending_username: Option<String>,
    /// The normalised name held before the last rename, whose reservation has to be released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former_username: Option<String>,
    /// The other keys of that name, whose reservations have to be released, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former_keys: Vec<String>,
    /// Whether staff suspended the account. It is no part of any copy, so the version does not count it.
    #[serde(default, skip_serializing_if = "is_false")]
    pub suspended: bool,
}

impl UserItem {
    /// The ids of the reservations that the last rename left.
    pub fn former_reservations(&self) -> impl Iterator<Item = &str> {
        self.former_username.iter().chain(&self.former_keys).map(String::as_str)
    }
}

/// The rest of an account that its user has deleted, in `users` under the user's id. It has no name, so it is
/// no user; it keeps the id from being used again, and names the rest to remove.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletedUserItem {
    pub id: UserId,
    #[serde(rename = "type")]
    pub item_type: String,
    pub user_id: UserId,
    pub version: u64,
    /// The keys of the user's names, whose reservations have to be deleted; empty once all is removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
    /// Whether everything of the user is removed. Then the item expires.
    #[serde(default, skip_serializing_if = "is_false")]
    pub removed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u32>,
}

impl DeletedUserItem {
    /// The item after everything of the user was removed.
    #[must_use]
    pub fn into_removed(self) -> Self {
        let version = self.version + 1;
        Self { version, keys: Vec::new(), removed: true, ttl: Some(TOMBSTONE_TTL_S), ..self }
    }
}

/// Whether an item of `users` is a user, and not the rest of a deleted account or of an abandoned sign-up.
///
/// # Errors
/// The item has no type.
pub fn is_user(item: &Item) -> Result<bool, Fault> {
    #[derive(Deserialize)]
    struct Kind {
        #[serde(rename = "type")]
        item_type: String,
    }
    Ok(item.decode::<Kind>()?.item_type == types::USER)
}

/// The kinds of acts in the moderation log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ModerationAct {
    DeletePost,
    DeleteComment,
    SuspendUser,
    UnsuspendUser,
}

/// An entry of the moderation log, in `moderation` under its type. It has ids and no names, so that nothing
/// of a deleted account stays in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModerationEntryItem {
    pub id: ModerationEntryId,
    #[serde(rename = "type")]
    pub item_type: String,
    pub action: ModerationAct,
    /// The member of staff who acted.
    pub staff_id: UserId,
    /// The author of the deleted text, or the user of the account.
    pub user_id: UserId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_id: Option<PostId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment_id: Option<CommentId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// RFC 3339 in UTC with milliseconds.
    pub creation_date: String,
    pub version: u64,
    pub ttl: u32,
}

/// A post, in `posts` under its own id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PostItem {
    pub id: PostId,
    #[serde(rename = "type")]
    pub item_type: String,
    pub post_id: PostId,
    pub user_id: UserId,
    pub user_username: String,
    pub title: String,
    pub content: String,
    /// The subjects of the post, in lower case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    pub comment_count: u32,
    pub like_count: u32,
    /// RFC 3339 in UTC with milliseconds.
    pub creation_date: String,
    pub version: u64,
    /// Grows with each change of the title, the content or the tags.
    #[serde(default = "text_version_first", skip_serializing_if = "is_text_version_first")]
    pub text_version: u32,
    /// When the title, the content or the tags were last changed: RFC 3339 in UTC with milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_date: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub deleted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u32>,
}

/// A comment, in its post's logical partition of `posts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommentItem {
    pub id: CommentId,
    #[serde(rename = "type")]
    pub item_type: String,
    pub post_id: PostId,
    pub user_id: UserId,
    pub user_username: String,
    pub content: String,
    /// RFC 3339 in UTC with milliseconds.
    pub creation_date: String,
    pub version: u64,
    /// Grows with each change of the content.
    #[serde(default = "text_version_first", skip_serializing_if = "is_text_version_first")]
    pub text_version: u32,
    /// When the content was last changed: RFC 3339 in UTC with milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_date: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub deleted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u32>,
}

/// A like, in its post's logical partition of `posts`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LikeItem {
    pub id: LikeId,
    #[serde(rename = "type")]
    pub item_type: String,
    pub post_id: PostId,
    pub user_id: UserId,
    pub user_username: String,
    /// RFC 3339 in UTC with milliseconds.
    pub creation_date: String,
    pub version: u64,
}

/// A short copy of a post, in `users` under its author, in `feed`, and in `postsByTag` under each of its
/// tags. Its `version` is the post's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PostCopyItem {
    pub id: PostId,
    #[serde(rename = "type")]
    pub item_type: String,
    pub user_id: UserId,
    pub user_username: String,
    pub title: String,
    /// The start of the content as plain text.
    pub excerpt: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    #[serde(default, skip_serializing_if = "is_zero_count")]
    pub comment_count: u32,
    #[serde(default, skip_serializing_if = "is_zero_count")]
    pub like_count: u32,
    /// RFC 3339 in UTC with milliseconds.
    pub creation_date: String,
    pub version: u64,
    /// The version of the title and of the content from which the excerpt was made.
    #[serde(default = "text_version_first", skip_serializing_if = "is_text_version_first")]
    pub text_version: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_date: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub deleted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u32>,
}

impl PostCopyItem {
    /// The short copy of a post, as lists show it, with an excerpt instead of the content. A soft-deleted
    /// post gives a soft-deleted copy, which keeps late changes from bringing the copy back.
    #[must_use]
    pub fn of(post: &PostItem) -> Self {
        Self {
            id: post.id,
            item_type: types::POST.to_owned(),
            user_id: post.user_id,
            user_username: post.user_username.clone(),
            title: post.title.clone(),
            excerpt: super::summary::summarise(&post.content),
            tags: post.tags.clone(),
            comment_count: post.comment_count,
            like_count: post.like_count,
            creation_date: post.creation_date.clone(),
            version: post.version,
            text_version: post.text_version,
            update_date: post.update_date.clone(),
            deleted: post.deleted,
            ttl: post.ttl,
        }
    }
}

/// The reservation of a key of a username, in `accounts` under that key. The first key is the normalised
/// username; its reservation has the way to sign in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountItem {
    /// The key.
    pub id: String,
    #[serde(rename = "type")]
    pub item_type: String,
    pub user_id: UserId,
    /// A PHC string; `None` for users who cannot sign in with a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub password_hash: Option<String>,
    /// Grows with each change of the password: of two copies of the hash the one with the higher version is
    /// right.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub password_version: u64,
    /// A hash of the idempotency key of the sign-up that made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key_hash: Option<String>,
}

/// Blocks the user id of a sign-up that was given up, in `users` under that id. No user ever follows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AbandonedItem {
    pub id: UserId,
    #[serde(rename = "type")]
    pub item_type: String,
    pub user_id: UserId,
    pub ttl: u32,
}

/// The user behind a subject of an OpenID Connect provider, in `accounts` under a hash of issuer and subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubjectItem {
    pub id: String,
    #[serde(rename = "type")]
    pub item_type: String,
    pub user_id: UserId,
}

/// The future result of a command with an idempotency key, in `accounts` under a hash of user, command and
/// key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutcomeItem {
    pub id: String,
    #[serde(rename = "type")]
    pub item_type: String,
    /// A hash of the command's input: a repeat has the same.
    pub content_hash: String,
    /// The post in whose logical partition the result lies.
    pub post_id: PostId,
    /// The id of the post or comment, chosen before it is created.
    pub result_id: Uuid,
    pub ttl: u32,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_post_stored_without_a_text_version_stays_as_it_is() {
        let stored = json!({
            "id": Uuid::nil(), "type": "post", "postId": Uuid::nil(), "userId": Uuid::nil(), "userUsername": "ada",
            "title": "Engines", "content": "All about them.", "commentCount": 1, "likeCount": 2,
            "creationDate": "2026-11-20T09:20:00.125Z", "version": 7,
        });
        let post: PostItem = serde_json::from_value(stored.clone()).unwrap();
        assert_eq!((post.text_version, &post.update_date), (TEXT_VERSION_FIRST, &None));
        assert_eq!(serde_json::to_value(&post).unwrap(), stored);
        let copy = serde_json::to_value(PostCopyItem::of(&post)).unwrap();
        assert!(copy.get("textVersion").is_none() && copy.get("updateDate").is_none(), "{copy}");

        let edited = PostItem { text_version: 2, update_date: Some("2026-11-21".to_owned()), ..post };
        let copy = serde_json::to_value(PostCopyItem::of(&edited)).unwrap();
        assert_eq!((&copy["textVersion"], &copy["updateDate"]), (&json!(2), &json!("2026-11-21")));
    }
}
