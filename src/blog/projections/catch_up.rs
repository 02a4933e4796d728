//! Names in posts, comments and likes that were written while their author's rename ran.
//!
//! A command may write the name that it read just before the rename. Whichever of the two was written first, one of the
//! projections sees the other: the pass of `usernames` over the items begins after the rename was written, and this one
//! reads the user after the item was written.

use super::USERNAMES_CATCH_UP;
use super::names::{AuthorFields, rename, username_of};
use crate::blog::containers::{POSTS, USERS};
use crate::blog::items::types;
use onehop_change_feed::{IntendedWrite, Projection, ProjectionError, ReadRequest, Step, StepInput};
use onehop_store::{Change, ContainerName, PartitionKey};

/// Compares the name in each item of `posts` with its author's.
#[derive(Debug, Clone, Copy)]
pub struct UsernamesCatchUp;

impl Projection for UsernamesCatchUp {
    fn name(&self) -> &'static str {
        USERNAMES_CATCH_UP
    }

    fn source(&self) -> ContainerName {
        POSTS
    }

    fn types(&self) -> Option<&'static [&'static str]> {
        Some(&[types::POST, types::COMMENT, types::LIKE])
    }

    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        let written: AuthorFields<'_> = serde_json::from_slice(&change.item.body)?;
        if written.deleted {
            return Ok(Step::done());
        }
        if input.is_first() {
            let user = ReadRequest::shared_item(USERS, PartitionKey::from(written.user_id), written.user_id);
            return Ok(Step::ask(vec![user]));
        }
        match username_of(input.item(0)?)? {
            Some(name) if name != written.user_username => {
                let operation = rename(&change.item, written.item_type, &name)?;
                let write = IntendedWrite::one(POSTS, change.partition_key.clone(), operation);
                // Whoever changes the item meanwhile makes a change that comes here again.
                Ok(Step::done().after_writing(vec![write]).yield_to_newer_changes())
            }
            _ => Ok(Step::done()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{ABSENT, answer, change, comment, first, found, post, user};
    use super::*;
    use crate::blog::items::CommentItem;
    use onehop_store::WriteOp;

    fn change_of_comment(comment: &CommentItem) -> Change {
        change(comment.post_id.partition_key(), comment.id.to_string(), comment)
    }

    #[test]
    fn an_item_with_its_authors_name_is_left_alone() {
        let ada = user(1, "ada", 1);
        let change = change_of_comment(&comment(3, &post(2, &ada), &ada));
        let step = answer(&UsernamesCatchUp, &change, &first(&UsernamesCatchUp, &change), &[found(1, &ada)]);
        assert!(step.is_done() && step.writes().is_empty());
    }

    #[test]
    fn an_item_with_an_old_name_is_replaced_if_it_has_not_changed() {
        let (old, new) = (user(1, "ada", 1), user(1, "grace", 2));
        let change = change_of_comment(&comment(3, &post(2, &old), &old));
        let step = answer(&UsernamesCatchUp, &change, &first(&UsernamesCatchUp, &change), &[found(1, &new)]);
        let [write] = step.writes() else { panic!("one write: {:?}", step.writes()) };
        let [WriteOp::Replace { item, if_match }] = &write.operations[..] else { panic!("a replace") };
        let renamed: CommentItem = serde_json::from_slice(&item.body).expect("a comment");
        assert_eq!((renamed.user_username.as_str(), renamed.version), ("grace", 2));
        assert_eq!(if_match.as_ref(), Some(&change.item.etag));
    }

    #[test]
    fn an_item_of_nobody_and_a_deleted_one_are_left_alone() {
        let ada = user(1, "ada", 1);
        let mut written = comment(3, &post(2, &ada), &ada);
        let change = change_of_comment(&written);
        let step = answer(&UsernamesCatchUp, &change, &first(&UsernamesCatchUp, &change), &[ABSENT]);
        assert!(step.is_done() && step.writes().is_empty());
        written.deleted = true;
        assert!(first(&UsernamesCatchUp, &change_of_comment(&written)).is_done());
    }
}
