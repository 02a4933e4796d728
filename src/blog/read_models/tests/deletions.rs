//! Comments and likes of deleted posts.

use super::projection;
use crate::blog::read_models::DELETIONS;
use crate::blog::read_models::testing::{answer, asked, change_of, comment, first, item, page, post, user};

#[test]
fn a_live_post_costs_nothing() {
    assert!(first(&*projection(DELETIONS), &change_of(&post(2, &user(1, "ada", 1)))).is_done());
}

#[test]
fn comments_go_first_page_after_page_and_then_likes() {
    let ada = user(1, "ada", 1);
    let mut gone = post(2, &ada);
    let left: Vec<_> = (0..100).map(|number| item(1, &comment(number, &gone, &ada))).collect();
    gone.deleted = true;
    let change = change_of(&gone);
    let step = first(&*projection(DELETIONS), &change);
    assert_eq!(asked(&step), ["posts: comment"]);
    let step = answer(&*projection(DELETIONS), &change, &step, &[page(left.clone(), true)]);
    assert_eq!((step.writes()[0].operations.len(), asked(&step)), (100, vec!["posts: comment".to_owned()]));
    let step = answer(&*projection(DELETIONS), &change, &step, &[page(left[..3].to_vec(), false)]);
    assert_eq!((step.writes()[0].operations.len(), asked(&step)), (3, vec!["posts: like".to_owned()]));
    let step = answer(&*projection(DELETIONS), &change, &step, &[page(Vec::new(), false)]);
    assert!(step.is_done() && step.writes().is_empty());
}
