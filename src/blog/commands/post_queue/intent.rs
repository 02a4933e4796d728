//! Intents: the changes of one post that commands request.

use std::sync::Arc;

use uuid::Uuid;

use crate::accounts::staff::StaffMember;
use crate::blog::ids::{LikeId, PostId, UserId};
use crate::blog::items::{CommentItem, LikeItem, PostItem};
use onehop_runtime::planted;
use onehop_store::ETag;

/// Intents in one batch: its operations, except one for the post.
pub(super) const INTENTS_MAX: usize = onehop_store::limits::BATCH_OPERATIONS_MAX - 1;

/// One change to one post.
#[derive(Debug, Clone)]
pub(in crate::blog::commands) enum PostChange {
    Like(LikeItem),
    Unlike(LikeId),
    Comment(CommentItem),
    /// The comment as it was read, live and its author's.
    DeleteComment {
        comment: CommentItem,
        etag: ETag,
    },
    Edit(PostEdit),
    Delete,
}

/// A change of a post's text or tags.
#[derive(Debug, Clone)]
pub(in crate::blog::commands) struct PostEdit {
    pub(in crate::blog::commands) title: Option<String>,
    pub(in crate::blog::commands) content: Option<String>,
    pub(in crate::blog::commands) tags: Option<Vec<String>>,
    /// The version of the text that it changes; any without one.
    pub(in crate::blog::commands) if_version: Option<i32>,
    /// RFC 3339 in UTC with milliseconds.
    pub(in crate::blog::commands) date: String,
}

impl PostEdit {
    /// Whether the post has this text already.
    pub(super) fn is_made(&self, post: &PostItem) -> bool {
        let has =
            |wanted: &Option<String>, text: &String| wanted.as_ref().is_none_or(|wanted| wanted == text);
        has(&self.title, &post.title)
            && has(&self.content, &post.content)
            && self.tags.as_ref().is_none_or(|wanted| *wanted == post.tags)
    }

    /// Whether it changes this version.
    pub(super) fn is_of(&self, version: u32) -> bool {
        self.if_version.is_none_or(|wanted| i64::from(wanted) == i64::from(version))
            || planted!("any-version-is-edited")
    }

    /// Makes the edit.
    pub(super) fn apply(&self, post: &mut PostItem) {
        if self.is_made(post) {
            return;
        }
        if let Some(title) = &self.title {
            post.title.clone_from(title);
        }
        if let Some(content) = &self.content {
            post.content.clone_from(content);
        }
        if let Some(tags) = &self.tags {
            post.tags.clone_from(tags);
        }
        if !planted!("edit-keeps-the-version") {
            post.text_version = post.text_version.saturating_add(1);
        }
        post.update_date = Some(self.date.clone());
    }
}

impl PostChange {
    /// The id of the item that is written beside the post.
    pub(super) fn item_id(&self) -> Option<Uuid> {
        match self {
            Self::Like(like) => Some(like.id.0),
            Self::Unlike(id) => Some(id.0),
            Self::Comment(comment) | Self::DeleteComment { comment, .. } => Some(comment.id.0),
            Self::Edit(_) | Self::Delete => None,
        }
    }
}

/// A command on its way into a batch.
#[derive(Debug, Clone)]
pub(in crate::blog::commands) struct QueuedCommand {
    /// The mark by which its writes are recognised.
    pub(super) command_id: Uuid,
    pub(super) post: PostId,
    /// The user who gave it.
    pub(super) user: UserId,
    /// Whether a member of staff gave it, who may delete the texts of others.
    pub(super) is_by_staff: bool,
    pub(super) change: PostChange,
    /// Whether a batch with it was sent before.
    pub(super) sent: bool,
    /// Whether its item has to be read before it is sent: a batch before may have changed it, or it is a like
    /// to be taken back, which may not be there and would have the batch of all others refused.
    pub(super) outdated: bool,
}

impl QueuedCommand {
    pub(in crate::blog::commands) fn new(
        command_id: Uuid,
        post: PostId,
        user: UserId,
        change: PostChange,
    ) -> Self {
        let outdated = matches!(change, PostChange::Unlike(_));
        Self { command_id, post, user, is_by_staff: false, change, sent: false, outdated }
    }

    /// The same, given by a member of staff.
    pub(in crate::blog::commands) fn by_staff(self, _by: &StaffMember) -> Self {
        Self { is_by_staff: true, ..self }
    }
}

/// A change that was made.
#[derive(Debug, Clone)]
pub(in crate::blog::commands) struct CommandResult {
    /// The post after the batch.
    pub(in crate::blog::commands) post: Arc<PostItem>,
    /// The comment as stored, where it turned out to have been created before.
    pub(in crate::blog::commands) comment: Option<CommentItem>,
}
