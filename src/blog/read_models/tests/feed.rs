//! The newest posts.

use super::projection;
use crate::blog::items::{PostCopyItem, PostItem};
use crate::blog::read_models::FEED_POSTS;
use crate::blog::read_models::testing::{
    ABSENT, answer, asked, change_of, first, found, item, page, post, resume, user,
};
use onehop_change_feed::ReadResult;
use onehop_change_feed::Step;
use onehop_store::WriteOp;

/// A feed of the posts with these numbers, which are their ages.
fn feed(numbers: impl DoubleEndedIterator<Item = u128>) -> ReadResult {
    let ada = user(1, "ada", 1);
    let copy = |number: u128| {
        item(1000 + u64::try_from(number).expect("small"), &PostCopyItem::of(&post(number, &ada)))
    };
    page(numbers.rev().map(copy).collect(), false)
}

fn operations(step: &Step) -> Vec<String> {
    let name = |operation: &WriteOp| {
        let kind = match operation {
            WriteOp::Create(_) => "create",
            WriteOp::Upsert(_) => "upsert",
            WriteOp::Replace { .. } => "replace",
            WriteOp::Delete { .. } => "delete",
        };
        format!("{kind} {}", u128::from_str_radix(&operation.id().replace('-', ""), 16).expect("an id"))
    };
    step.writes().iter().flat_map(|write| &write.operations).map(name).collect()
}

#[test]
fn a_post_older_than_a_full_feed_ends_with_the_memo() {
    let change = change_of(&post(5, &user(1, "ada", 1)));
    let step = first(&*projection(FEED_POSTS), &change);
    assert_eq!(asked(&step), ["memo listing"]);
    assert!(answer(&*projection(FEED_POSTS), &change, &step, &[feed(10..110)]).is_done());
}

#[test]
fn a_new_post_makes_room_for_itself_in_the_same_batch() {
    let change = change_of(&post(200, &user(1, "ada", 1)));
    let step = answer(
        &*projection(FEED_POSTS),
        &change,
        &first(&*projection(FEED_POSTS), &change),
        &[feed(10..110)],
    );
    let step = answer(&*projection(FEED_POSTS), &change, &step, &[feed(10..110), ABSENT]);
    assert_eq!((operations(&step), step.writes().len()), (vec!["create 200".into(), "delete 10".into()], 1));
}

#[test]
fn a_new_post_in_a_short_feed_confirms_the_oldest() {
    let change = change_of(&post(200, &user(1, "ada", 1)));
    let step =
        answer(&*projection(FEED_POSTS), &change, &first(&*projection(FEED_POSTS), &change), &[feed(10..20)]);
    let step = answer(&*projection(FEED_POSTS), &change, &step, &[feed(10..20), ABSENT]);
    assert_eq!(operations(&step), ["create 200", "replace 10"]);
}

#[test]
fn a_deleted_post_leaves_a_tombstone_and_the_next_older_follows() {
    let ada = user(1, "ada", 1);
    let (live, older) = (post(50, &ada), post(7, &ada));
    let gone = PostItem { deleted: true, version: 2, ..live.clone() };
    let change = change_of(&gone);
    let step = answer(
        &*projection(FEED_POSTS),
        &change,
        &first(&*projection(FEED_POSTS), &change),
        &[feed(10..110)],
    );
    let copy = found(9, &PostCopyItem::of(&live));
    let step = answer(&*projection(FEED_POSTS), &change, &step, &[feed(10..110), copy]);
    assert_eq!(operations(&step), ["replace 50", "replace 10"]);
    let short = || feed((10..50).chain(51..110));
    let step = answer(&*projection(FEED_POSTS), &change, &step, &[short()]);
    assert_eq!(asked(&step), ["memo listing", "memo older"]);
    let step =
        answer(&*projection(FEED_POSTS), &change, &step, &[short(), page(vec![item(1, &older)], false)]);
    assert_eq!(operations(&step), ["replace 10", "create 7"]);
    let settled = feed((7..8).chain(10..50).chain(51..110));
    assert!(answer(&*projection(FEED_POSTS), &change, &step, &[settled, found(1, &older)]).is_done());
}

#[test]
fn a_refill_whose_feed_ends_elsewhere_by_now_looks_again() {
    let ada = user(1, "ada", 1);
    let change = change_of(&PostItem { deleted: true, ..post(5, &ada) });
    let step =
        answer(&*projection(FEED_POSTS), &change, &first(&*projection(FEED_POSTS), &change), &[feed(10..20)]);
    let step = answer(
        &*projection(FEED_POSTS),
        &change,
        &step,
        &[feed(12..20), page(vec![item(1, &post(4, &ada))], false)],
    );
    assert!(step.writes().is_empty());
    assert_eq!(asked(&step), ["memo listing"]);
}

#[test]
fn a_post_older_than_a_short_feed_that_moved_is_never_looked_for_in_a_memo() {
    let change = change_of(&post(5, &user(1, "ada", 1)));
    let fresh = asked(&answer(
        &*projection(FEED_POSTS),
        &change,
        &first(&*projection(FEED_POSTS), &change),
        &[feed(10..20)],
    ));
    assert!(!fresh[1].contains("memo"), "{fresh:?}");
    let step =
        answer(&*projection(FEED_POSTS), &change, &first(&*projection(FEED_POSTS), &change), &[feed(10..20)]);
    let step = answer(&*projection(FEED_POSTS), &change, &step, &[feed(12..20), page(Vec::new(), false)]);
    let step = answer(&*projection(FEED_POSTS), &change, &step, &[feed(12..20)]);
    assert_eq!(asked(&step), fresh);
}

#[test]
fn a_copy_whose_post_was_deleted_before_it_entered_is_taken_out_also_after_a_crash() {
    let ada = user(1, "ada", 1);
    let older = post(7, &ada);
    let change = change_of(&PostItem { deleted: true, ..post(5, &ada) });
    let step =
        answer(&*projection(FEED_POSTS), &change, &first(&*projection(FEED_POSTS), &change), &[feed(10..20)]);
    let step =
        answer(&*projection(FEED_POSTS), &change, &step, &[feed(10..20), page(vec![item(1, &older)], false)]);
    let step = resume(&*projection(FEED_POSTS), &change, step.state());
    let deleted = PostItem { deleted: true, version: 2, ..older };
    let step =
        answer(&*projection(FEED_POSTS), &change, &step, &[feed((7..8).chain(10..20)), found(2, &deleted)]);
    assert_eq!(operations(&step), ["replace 7"]);
}

#[test]
fn what_is_over_is_deleted() {
    let change = change_of(&post(109, &user(1, "ada", 1)));
    let step =
        answer(&*projection(FEED_POSTS), &change, &first(&*projection(FEED_POSTS), &change), &[feed(5..110)]);
    let step = answer(
        &*projection(FEED_POSTS),
        &change,
        &step,
        &[feed(5..110), found(1, &PostCopyItem::of(&post(109, &user(1, "ada", 1))))],
    );
    let step = answer(&*projection(FEED_POSTS), &change, &step, &[feed(5..110)]);
    assert_eq!(operations(&step), ["delete 9", "delete 8", "delete 7", "delete 6", "delete 5"]);
}

#[test]
fn a_page_is_worked_on_from_the_newest() {
    let ada = user(1, "ada", 1);
    let mut changes: Vec<_> = [3, 9, 5].iter().map(|number| change_of(&post(*number, &ada))).collect();
    projection(FEED_POSTS).arrange(&mut changes);
    let order: Vec<_> = changes.iter().map(|change| change.id.chars().last()).collect();
    assert_eq!(order, [Some('9'), Some('5'), Some('3')]);
}
