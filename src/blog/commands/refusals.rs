//! Refusals of the blog's commands.

use crate::accounts::username::UsernameError;
use crate::domain::error::{InputStep, InvalidField, Refusal};

impl Refusal {
    /// A token outlived its user.
    pub(super) fn no_such_user() -> Self {
        Self::unauthenticated("the signed-in user does not exist")
    }

    pub(super) fn post_not_found() -> Self {
        Self::not_found("postId", "there is no such post")
    }

    /// The comment of this id was created before, and deleted since.
    pub(super) fn created_comment_was_deleted() -> Self {
        Self::not_found("idempotencyKey", "the comment created with this idempotencyKey was deleted")
    }

    /// The user does not like the post, or there is no such post.
    pub(super) fn like_not_found() -> Self {
        Self::not_found("postId", "you do not like this post, or there is no such post")
    }

    pub(super) fn comment_not_found() -> Self {
        Self::not_found("commentId", "there is no such comment")
    }

    /// The post was changed since the version that an edit is of.
    pub(super) fn post_changed(current_version: u32) -> Self {
        let message = format!("the post has been changed since: its version is {current_version}");
        Self { current_version: Some(current_version), ..Self::conflict("ifVersion", &message) }
    }

    /// The comment was changed since the version that an edit is of.
    pub(super) fn comment_changed(current_version: u32) -> Self {
        let message = format!("the comment has been changed since: its version is {current_version}");
        Self { current_version: Some(current_version), ..Self::conflict("ifVersion", &message) }
    }

    /// The name breaks a rule, which the message says as a sentence.
    pub(super) fn invalid_username(rule: UsernameError) -> Self {
        let path = vec![InputStep::Field("username")];
        Self::invalid(vec![InvalidField { field: "username", path, message: rule.to_string() }])
    }

    pub(super) fn username_taken() -> Self {
        Self::conflict("username", "this username, or one that looks like it, is taken")
    }
}
