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
/// The comments of a user.
pub const COMMENTS_OF_USER: ListKind = ListKind::by_date(11);
/// The likes of a user.
pub const LIKES_OF_USER: ListKind = ListKind::by_date(12);
/// The posts with a tag.
pub const POSTS_BY_TAG: ListKind = ListKind::by_date(14);
/// The posts that a search finds.
pub const FOUND_POSTS: ListKind = ListKind::by_date(15);
/// The moderation log.
pub const MODERATION_LOG: ListKind = ListKind::by_date(13);
