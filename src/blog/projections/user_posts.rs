//! Short copies of posts in their author's logical partition of `users`.

use super::{USER_POSTS, copies};
use crate::blog::containers::{POSTS, USERS};
use crate::blog::items::{PostCopyItem, PostItem, types};
use crate::changefeed::{IntendedWrite, Projection, ProjectionError, ReadRequest, Step, Turn};
use crate::store::{Change, ContainerName};

/// Copies each post to its author. A deleted post leaves a soft-deleted copy, so that a late change does not bring it
/// back.
#[derive(Debug, Clone, Copy)]
pub struct UserPosts;

impl Projection for UserPosts {
    fn name(&self) -> &'static str {
        USER_POSTS
    }

    fn source(&self) -> ContainerName {
        POSTS
    }

    fn types(&self) -> Option<&'static [&'static str]> {
        Some(&[types::POST])
    }

    fn step(&self, change: &Change, turn: Turn<'_>) -> Result<Step, ProjectionError> {
        let post: PostItem = change.item.decode()?;
        let author = post.user_id.partition_key();
        if turn.is_first() {
            return Ok(Step::ask(vec![ReadRequest::item(USERS, author, post.id.to_string())]));
        }
        let write = copies::update(&PostCopyItem::of(&post), turn.item(0)?)?
            .map(|operation| IntendedWrite::one(USERS, author, operation));
        Ok(Step::done().after_writing(write.into_iter().collect()))
    }
}
