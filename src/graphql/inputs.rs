//! The inputs of mutations. Their limits are the commands' own.

use async_graphql::{ID, InputObject, MaybeUndefined};

/// The change of an optional field: `None` where it is left out and stays, `Some(None)` where it is
/// null and is removed.
pub(super) fn change_of<T>(value: MaybeUndefined<T>) -> Option<Option<T>> {
    match value {
        MaybeUndefined::Undefined => None,
        MaybeUndefined::Null => Some(None),
        MaybeUndefined::Value(value) => Some(Some(value)),
    }
}

/// The user to sign up.
#[derive(InputObject)]
pub struct CreateUserInput {
    /// 3 to 30 letters, digits, `_`, `-` and `.` of one script; unique in any case, and unlike others.
    pub username: String,
    /// 10 to 200 characters; no common password.
    pub password: String,
    /// A repeat with the same key returns the first outcome; the same key with other input is a `CONFLICT`.
    pub idempotency_key: Option<String>,
}

/// The user to sign in.
#[derive(InputObject)]
pub struct SignInInput {
    /// The username, in any case.
    pub username: String,
    /// The password.
    pub password: String,
}

/// The session to renew.
#[derive(InputObject)]
pub struct RenewSessionInput {
    /// The refresh token of the session.
    pub refresh_token: String,
}

/// The passwords of the signed-in user.
#[derive(InputObject)]
pub struct ChangePasswordInput {
    /// The password until now.
    pub current_password: String,
    /// 10 to 200 characters.
    pub new_password: String,
}

/// The changes of the signed-in user.
#[derive(InputObject)]
pub struct UpdateUserInput {
    /// The new name: 3 to 30 letters, digits, `_`, `-` and `.` of one script; unique in any case.
    pub username: String,
}

/// A new post.
#[derive(InputObject)]
pub struct CreatePostInput {
    /// 1 to 200 characters.
    pub title: String,
    /// 1 to 100,000 characters.
    pub content: String,
    /// At most 5, each of 1 to 30 letters, digits and `+ # . -`; stored in lower case.
    pub tags: Option<Vec<String>>,
    /// A repeat with the same key returns the first outcome; the same key with other input is a `CONFLICT`.
    pub idempotency_key: Option<String>,
}

/// The changes of a post. With `ifVersion` it is a `CONFLICT` where the post has been changed since,
/// with the version that it has in `extensions.currentVersion`.
#[derive(InputObject)]
pub struct UpdatePostInput {
    /// The post's id.
    pub post_id: ID,
    /// 1 to 200 characters; left out, the title stays.
    pub title: Option<String>,
    /// 1 to 100,000 characters; left out, the content stays.
    pub content: Option<String>,
    /// All tags from now on, at most 5, each of 1 to 30 letters, digits and `+ # . -`; left out, they stay.
    pub tags: Option<Vec<String>>,
    /// The `version` of the post that was edited.
    pub if_version: Option<i32>,
}

/// The post to delete.
#[derive(InputObject)]
pub struct DeletePostInput {
    /// The post's id.
    pub post_id: ID,
    /// The reason, for the moderation log, where staff delete the post of another user: 1 to 500 characters.
    pub reason: Option<String>,
}

/// A new comment.
#[derive(InputObject)]
pub struct CreateCommentInput {
    /// The id of the post that the comment is about.
    pub post_id: ID,
    /// 1 to 10,000 characters.
    pub content: String,
    /// A repeat with the same key returns the first outcome; the same key with other input is a `CONFLICT`.
    pub idempotency_key: Option<String>,
}

/// The new text of a comment. With `ifVersion` it is a `CONFLICT` where the comment has been changed since,
/// with the version that it has in `extensions.currentVersion`.
#[derive(InputObject)]
pub struct UpdateCommentInput {
    /// The comment's id.
    pub comment_id: ID,
    /// 1 to 10,000 characters.
    pub content: String,
    /// The `version` of the comment that was edited.
    pub if_version: Option<i32>,
}

/// The comment to delete.
#[derive(InputObject)]
pub struct DeleteCommentInput {
    /// The comment's id.
    pub comment_id: ID,
    /// The reason, for the moderation log, where staff delete the comment of another user: 1 to 500
    /// characters.
    pub reason: Option<String>,
}

/// The post to like.
#[derive(InputObject)]
pub struct LikePostInput {
    /// The post's id.
    pub post_id: ID,
}

/// From which post a like is taken back.
#[derive(InputObject)]
pub struct UnlikePostInput {
    /// The post's id.
    pub post_id: ID,
}
