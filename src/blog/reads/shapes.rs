//! The shapes of stored items, as [`StoredShape`] finds their members for the views.

use crate::domain::stored_json::{StoredMember, StoredShape};

/// A user. The item left by an abandoned sign-up has no `username`.
pub const USER: StoredShape = StoredShape::of(&[
    StoredMember::id("id"),
    StoredMember::unread("type"),
    StoredMember::unread("userId"),
    StoredMember::optional_text("username"),
    StoredMember::unread("version"),
]);

/// A post, or a short copy of one, which has `excerpt` in the place of `content`, and no counts of 0.
pub const POST: StoredShape = StoredShape::of(&[
    StoredMember::id("id"),
    StoredMember::unread("type"),
    StoredMember::unread("postId"),
    StoredMember::id("userId"),
    StoredMember::text("userUsername"),
    StoredMember::text("title"),
    StoredMember::optional_text("content"),
    StoredMember::optional_count("commentCount"),
    StoredMember::optional_count("likeCount"),
    StoredMember::text("creationDate"),
    StoredMember::optional_text("excerpt"),
    StoredMember::unread("version"),
    StoredMember::optional_count("textVersion"),
    StoredMember::optional_text("updateDate"),
    StoredMember::flag("deleted"),
]);

/// A comment.
pub const COMMENT: StoredShape = StoredShape::of(&[
    StoredMember::id("id"),
    StoredMember::text("type"),
    StoredMember::id("postId"),
    StoredMember::id("userId"),
    StoredMember::text("userUsername"),
    StoredMember::text("content"),
    StoredMember::text("creationDate"),
    StoredMember::unread("version"),
    StoredMember::optional_count("textVersion"),
    StoredMember::optional_text("updateDate"),
    StoredMember::flag("deleted"),
]);

/// A like.
pub const LIKE: StoredShape = StoredShape::of(&[
    StoredMember::id("id"),
    StoredMember::text("type"),
    StoredMember::id("postId"),
    StoredMember::id("userId"),
    StoredMember::text("userUsername"),
    StoredMember::text("creationDate"),
    StoredMember::unread("version"),
    StoredMember::flag("deleted"),
]);
