//! Short copies of posts in their author's logical partition of `users`.

use super::{USER_POSTS, copies};
use crate::blog::containers::{POSTS, USERS};
use crate::blog::items::{PostCopyItem, PostItem, types};
use onehop_change_feed::{IntendedWrite, Projection, ProjectionError, ReadRequest, Step, StepInput};
use onehop_store::{Change, ContainerName};

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

    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        let post: PostItem = change.item.decode()?;
        let author = post.user_id.partition_key();
        if input.is_first() {
            return Ok(Step::ask(vec![ReadRequest::item(USERS, author, post.id.to_string())]));
        }
        let write = copies::update(&PostCopyItem::of(&post), input.item(0)?.map(|item| &**item))?
            .map(|operation| IntendedWrite::one(USERS, author, operation));
        Ok(Step::done().after_writing(write.into_iter().collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ABSENT, answer, change_of, first, found, post, user};
    use super::*;
    use onehop_store::WriteOp;

    fn write(post: &PostItem, existing: Option<&PostCopyItem>) -> Option<WriteOp> {
        let change = change_of(post);
        let answers = [existing.map_or(ABSENT, |copy| found(7, copy))];
        let step = answer(&UserPosts, &change, &first(&UserPosts, &change), &answers);
        assert!(step.is_done());
        step.writes().first().map(|write| write.operations[0].clone())
    }

    #[test]
    fn a_copy_is_created_replaced_by_a_newer_one_and_never_by_an_older_one() {
        let mut written = post(2, &user(1, "ada", 1));
        written.version = 5;
        let copy = PostCopyItem::of(&written);
        let with_version = |version| PostCopyItem { version, ..copy.clone() };
        assert!(matches!(write(&written, None), Some(WriteOp::Create(_))));
        assert!(matches!(
            write(&written, Some(&with_version(4))),
            Some(WriteOp::Replace { if_match: Some(_), .. })
        ));
        assert!(write(&written, Some(&with_version(5))).is_none());
        assert!(write(&written, Some(&with_version(6))).is_none());
    }

    #[test]
    fn a_damaged_copy_of_the_same_version_is_mended() {
        let written = post(2, &user(1, "ada", 1));
        let damaged = PostCopyItem { title: "Wrong".to_owned(), ..PostCopyItem::of(&written) };
        assert!(matches!(write(&written, Some(&damaged)), Some(WriteOp::Replace { .. })));
    }
}
