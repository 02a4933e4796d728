//! Events: writes in the form for listeners.

use std::sync::Arc;

use super::changes::PostChanges;
use crate::blog::ids::{CommentId, PostId};
use crate::blog::reads::{CommentView, PostView};

/// Something that was written. All listeners share its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlogEvent {
    Post(PostEvent),
    /// A post was deleted, or left the feed.
    PostRemoved(PostId),
    /// A comment was added.
    Comment(Arc<CommentView>),
    /// The text of a comment was changed.
    CommentChanged(Arc<CommentView>),
    CommentDeleted(CommentId),
}

/// A post was written or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostEvent {
    /// The post, as V3 reads it where it changed.
    pub view: Arc<PostView>,
    /// The differences from the event before.
    pub changes: PostChanges,
    /// It entered the feed as a new post.
    pub is_new: bool,
}
