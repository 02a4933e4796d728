//! Topics: the subjects of events to which one listens.

use crate::blog::ids::PostId;

/// The topic of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LiveTopic {
    /// Posts that enter the feed, change in it, or leave it.
    Feed,
    /// A post, until it is deleted.
    Post(PostId),
    /// The comments that are added to a post and deleted from it, until the post is deleted.
    Comments(PostId),
}
