//! The write limits of the blog: how many writes of each kind a user may make.

use crate::accounts::write_limits::{WriteLimit, WriteWindow};

/// New posts.
pub const POSTS: WriteLimit = per_minute("posts-per-user", "posts", 10);
/// Edits of posts and comments.
pub const EDITS: WriteLimit = per_minute("edits-per-user", "edits", 30);
/// New comments.
pub const COMMENTS: WriteLimit = per_minute("comments-per-user", "comments", 30);
/// Likes, given and taken back.
pub const LIKES: WriteLimit = per_minute("likes-per-user", "likes", 120);
/// Deletions of posts and comments.
pub const DELETIONS: WriteLimit = per_minute("deletions-per-user", "deletions", 60);
/// Suspensions of accounts by staff, and their ends.
pub const SUSPENSIONS: WriteLimit = per_minute("suspensions-per-user", "suspensions", 30);
/// Renames. Each makes the projections rewrite all items of the user.
pub const RENAMES: WriteLimit =
    WriteLimit { name: "renames-per-user", what: "renames", max: 5, window: WriteWindow::Hour };

/// All limits.
pub const ALL: &[WriteLimit] = &[POSTS, EDITS, COMMENTS, LIKES, DELETIONS, SUSPENSIONS, RENAMES];

const fn per_minute(name: &'static str, what: &'static str, max: u32) -> WriteLimit {
    WriteLimit { name, what, max, window: WriteWindow::Minute }
}
