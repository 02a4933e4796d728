//! The kinds of the blog's lists, all ordered by creation date. Their cursors are the same in all data
//! models.

use crate::domain::cursor::ListKind;

/// The most recent posts.
pub const FEED: ListKind = ListKind::by_date(1);
/// The comments of a post.
pub const COMMENTS: ListKind = ListKind::by_date(2);
/// The likes of a post.
pub const LIKES: ListKind = ListKind::by_date(3);
/// The posts of a user.
pub const POSTS_OF_USER: ListKind = ListKind::by_date(7);
