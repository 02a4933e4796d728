//! Short copies of posts under their author.

use super::projection;
use crate::blog::items::{PostCopyItem, PostItem};
use crate::blog::read_models::USER_POSTS;
use crate::blog::read_models::testing::{
    ABSENT, answer, asked, change_of, first, first_time, found, post, user,
};
use onehop_store::WriteOp;

fn write(post: &PostItem, existing: Option<&PostCopyItem>) -> Option<WriteOp> {
    let change = change_of(post);
    let answers = [existing.map_or(ABSENT, |copy| found(7, copy))];
    let step = answer(&*projection(USER_POSTS), &change, &first(&*projection(USER_POSTS), &change), &answers);
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
fn a_copy_of_a_new_post_is_created_without_a_look() {
    let new = post(2, &user(1, "ada", 1));
    let step = first_time(&*projection(USER_POSTS), &change_of(&new));
    assert!(step.is_done() && matches!(step.writes()[0].operations[0], WriteOp::Create(_)));
    let edited = PostItem { version: 2, ..new };
    assert_eq!(asked(&first_time(&*projection(USER_POSTS), &change_of(&edited))).len(), 1);
}

#[test]
fn a_damaged_copy_of_the_same_version_is_mended() {
    let written = post(2, &user(1, "ada", 1));
    let damaged = PostCopyItem { title: "Wrong".to_owned(), ..PostCopyItem::of(&written) };
    assert!(matches!(write(&written, Some(&damaged)), Some(WriteOp::Replace { .. })));
}
