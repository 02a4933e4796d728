//! A new username in all items of a user.

use super::projection;
use crate::blog::items::UserItem;
use crate::blog::read_models::USERNAMES;
use crate::blog::read_models::testing::{
    answer, asked, change, comment, first, found, item, page, post, resume, user,
};
use onehop_change_feed::ReadRequest;
use onehop_store::Change;
use onehop_store::WriteOp;

fn change_of(user: &UserItem) -> Change {
    change(user.id.partition_key(), user.id.to_string(), user)
}

#[test]
fn a_user_as_created_costs_nothing() {
    assert!(first(&*projection(USERNAMES), &change_of(&user(1, "ada", 1))).is_done());
}

#[test]
fn only_items_with_another_name_are_written_those_of_a_post_together() {
    let (old, new) = (user(1, "ada", 1), user(1, "grace", 2));
    let change = change_of(&new);
    let (one, two) = (post(2, &old), post(3, &old));
    let comments =
        [comment(10, &one, &old), comment(11, &two, &old), comment(12, &one, &old), comment(13, &one, &new)];
    let items = comments.iter().map(|comment| item(1, comment)).collect();
    let step = first(&*projection(USERNAMES), &change);
    let step = answer(&*projection(USERNAMES), &change, &step, &[found(1, &new), page(Vec::new(), false)]);
    let step = answer(&*projection(USERNAMES), &change, &step, &[found(1, &new), page(items, false)]);
    let sizes: Vec<_> = step.writes().iter().map(|write| write.operations.len()).collect();
    assert_eq!(sizes, [2, 1]);
}

#[test]
fn a_pass_is_resumed_at_the_page_that_was_saved() {
    let (old, new) = (user(1, "ada", 1), user(1, "grace", 2));
    let change = change_of(&new);
    let posts = vec![item(1, &post(3, &old)), item(1, &post(2, &old))];
    let step = answer(
        &*projection(USERNAMES),
        &change,
        &first(&*projection(USERNAMES), &change),
        &[found(1, &new), page(posts, true)],
    );
    let resumed = resume(&*projection(USERNAMES), &change, step.state());
    assert_eq!(resumed.reads(), step.reads());
    let ReadRequest::Equality { after: Some(after), .. } = &resumed.reads()[1] else { panic!("a keyset") };
    assert_eq!(after.id, post(2, &old).id.to_string());
}

#[test]
fn the_present_name_is_written_where_the_change_is_old() {
    let (old, changed, present) = (user(1, "ada", 1), user(1, "grace", 2), user(1, "hedy", 3));
    let change = change_of(&changed);
    let answers = [found(1, &present), page(vec![item(1, &post(2, &old))], false)];
    let step = answer(&*projection(USERNAMES), &change, &first(&*projection(USERNAMES), &change), &answers);
    let WriteOp::Replace { item, .. } = &step.writes()[0].operations[0] else { panic!("a replace") };
    assert!(String::from_utf8_lossy(&item.body).contains("hedy"));
}

#[test]
fn posts_come_first_then_comments_then_likes() {
    let grace = user(1, "grace", 2);
    let change = change_of(&grace);
    let mut step = first(&*projection(USERNAMES), &change);
    let mut order = Vec::new();
    while asked(&step).len() == 2 {
        order.push(asked(&step).remove(1));
        step = answer(&*projection(USERNAMES), &change, &step, &[found(1, &grace), page(Vec::new(), false)]);
    }
    assert_eq!(order, ["posts: post", "posts: comment", "posts: like"]);
    assert!(step.is_done());
}

#[test]
fn an_announced_rename_hides_no_earlier_one() {
    // The feed has the latest version alone: this one may stand in the place of the rename to grace.
    let announced = UserItem { pending_username: Some("hedy".to_owned()), ..user(1, "grace", 2) };
    let begun = first(&*projection(USERNAMES), &change_of(&announced));
    assert_eq!(begun.reads(), first(&*projection(USERNAMES), &change_of(&user(1, "grace", 2))).reads());
    assert!(!begun.is_done());
    let created = UserItem { pending_username: Some("hedy".to_owned()), ..user(1, "grace", 1) };
    assert!(first(&*projection(USERNAMES), &change_of(&created)).is_done());
}

#[test]
fn a_state_of_an_earlier_version_begins_the_pass_anew() {
    let grace = user(1, "grace", 2);
    let change = change_of(&grace);
    let saved = serde_json::json!({ "Propagate": { "named": 1, "after": null } });
    let begun = first(&*projection(USERNAMES), &change);
    assert_eq!(resume(&*projection(USERNAMES), &change, &saved).reads(), begun.reads());
}
