//! Names in posts, comments and likes that were written while a rename ran.

use super::projection;
use crate::blog::items::CommentItem;
use crate::blog::read_models::USERNAMES_CATCH_UP;
use crate::blog::read_models::testing::{ABSENT, answer, change, comment, first, found, post, user};
use onehop_store::Change;
use onehop_store::WriteOp;

fn change_of_comment(comment: &CommentItem) -> Change {
    change(comment.post_id.partition_key(), comment.id.to_string(), comment)
}

#[test]
fn an_item_with_its_authors_name_is_left_alone() {
    let ada = user(1, "ada", 1);
    let change = change_of_comment(&comment(3, &post(2, &ada), &ada));
    let step = answer(
        &*projection(USERNAMES_CATCH_UP),
        &change,
        &first(&*projection(USERNAMES_CATCH_UP), &change),
        &[found(1, &ada)],
    );
    assert!(step.is_done() && step.writes().is_empty());
}

#[test]
fn an_item_with_an_old_name_is_replaced_if_it_has_not_changed() {
    let (old, new) = (user(1, "ada", 1), user(1, "grace", 2));
    let change = change_of_comment(&comment(3, &post(2, &old), &old));
    let step = answer(
        &*projection(USERNAMES_CATCH_UP),
        &change,
        &first(&*projection(USERNAMES_CATCH_UP), &change),
        &[found(1, &new)],
    );
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
    let step = answer(
        &*projection(USERNAMES_CATCH_UP),
        &change,
        &first(&*projection(USERNAMES_CATCH_UP), &change),
        &[ABSENT],
    );
    assert!(step.is_done() && step.writes().is_empty());
    written.deleted = true;
    assert!(first(&*projection(USERNAMES_CATCH_UP), &change_of_comment(&written)).is_done());
}
