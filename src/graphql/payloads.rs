//! The payloads of mutations: the writes of a command.

use std::sync::Arc;

use async_graphql::{ID, SimpleObject};

use super::comment::Comment;
use super::date_time::DateTime;
use super::like::Like;
use super::post::Post;
use super::resolution::One;
use super::user::User;

/// The result of signing up.
#[derive(SimpleObject)]
pub struct CreateUserPayload {
    /// The new user.
    pub(super) user: One<User>,
    /// To be sent as `Authorization: Bearer`. It expires within the hour, unless the server is set otherwise.
    pub(super) access_token: String,
    /// When the access token expires.
    pub(super) expires_at: DateTime,
    /// Renews the access token until the session ends, by `renewSession`. To be kept secret. Null where the
    /// session cookie holds it.
    pub(super) refresh_token: Option<String>,
}

/// The refresh token of the session.
#[derive(SimpleObject)]
pub struct SignInPayload {
    /// The user who signed in.
    pub(super) user: One<User>,
    /// To be sent as `Authorization: Bearer`. It expires within the hour, unless the server is set otherwise.
    pub(super) access_token: String,
    /// When the access token expires.
    pub(super) expires_at: DateTime,
    /// Renews the access token until the session ends, by `renewSession`. To be kept secret. Null where the
    /// session cookie holds it.
    pub(super) refresh_token: Option<String>,
}

/// The result of renewing a session.
#[derive(SimpleObject)]
pub struct RenewSessionPayload {
    /// The user of the session.
    pub(super) user: One<User>,
    /// To be sent as `Authorization: Bearer`.
    pub(super) access_token: String,
    /// When the access token expires.
    pub(super) expires_at: DateTime,
    /// Takes the place of the refresh token that was sent. To be kept secret. Null where the session cookie
    /// holds it.
    pub(super) refresh_token: Option<String>,
}

/// The result of signing out.
#[derive(SimpleObject)]
pub struct SignOutPayload {
    /// The id of the user who signed out.
    pub(super) user_id: ID,
}

/// The result of changing a password: a new session. All others have ended.
#[derive(SimpleObject)]
pub struct ChangePasswordPayload {
    /// The user whose password it is.
    pub(super) user: One<User>,
    /// To be sent as `Authorization: Bearer`.
    pub(super) access_token: String,
    /// When the access token expires.
    pub(super) expires_at: DateTime,
    /// Renews the access token until the session ends, by `renewSession`. To be kept secret. Null where the
    /// session cookie holds it.
    pub(super) refresh_token: Option<String>,
}

/// The result of a rename.
#[derive(SimpleObject)]
pub struct UpdateUserPayload {
    /// The user with the new name.
    pub(super) user: One<User>,
}

/// The result of creating a post.
#[derive(SimpleObject)]
pub struct CreatePostPayload {
    /// The new post.
    pub(super) post: One<Post>,
}

/// The result of updating a post.
#[derive(SimpleObject)]
pub struct UpdatePostPayload {
    /// The post as it is now.
    pub(super) post: One<Post>,
}

/// The result of deleting a post.
#[derive(SimpleObject)]
pub struct DeletePostPayload {
    /// The id of the post that is gone.
    pub(super) deleted_post_id: ID,
}

/// The result of commenting.
#[derive(SimpleObject)]
pub struct CreateCommentPayload {
    /// The new comment.
    pub(super) comment: One<Comment>,
    /// The post, with the comment counted.
    pub(super) post: One<Arc<Post>>,
}

/// The result of changing a comment.
#[derive(SimpleObject)]
pub struct UpdateCommentPayload {
    /// The comment after the change.
    pub(super) comment: One<Comment>,
}

/// The result of deleting a comment.
#[derive(SimpleObject)]
pub struct DeleteCommentPayload {
    /// The id of the comment that is gone.
    pub(super) deleted_comment_id: ID,
    /// The post, with the comment no longer counted.
    pub(super) post: One<Post>,
}

/// The result of liking a post.
#[derive(SimpleObject)]
pub struct LikePostPayload {
    /// The new like.
    pub(super) like: One<Like>,
    /// The post, with the like counted.
    pub(super) post: One<Arc<Post>>,
}

/// The result of taking a like back.
#[derive(SimpleObject)]
pub struct UnlikePostPayload {
    /// The post, with the like no longer counted.
    pub(super) post: One<Post>,
}
