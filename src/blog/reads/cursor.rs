//! The kinds of the blog's lists, all ordered by creation date. Their cursors are the same in all data models.

use crate::domain::cursor::ListKind;

/// Lists of posts.
pub const POSTS: ListKind = ListKind::by_date(1);
/// Lists of comments.
pub const COMMENTS: ListKind = ListKind::by_date(2);
/// Lists of likes.
pub const LIKES: ListKind = ListKind::by_date(3);
