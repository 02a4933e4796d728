//! The declaration, and the reactions of its projections to changes made by hand.

mod catch_up;
mod deletions;
mod feed;
mod propagation;
mod user_posts;

use std::sync::Arc;

use onehop_change_feed::Projection;

use onehop_read_models::{Computation, Keep, Rule};

use super::{projections, read_models};
use crate::blog::containers::FEED_POSTS_MAX;
use crate::blog::summary::SUMMARY_CHARACTERS_MAX;

fn projection(name: &str) -> Arc<dyn Projection> {
    read_models().projection(name).expect("a projection of the declaration")
}

#[test]
fn every_projection_has_its_own_name() {
    let mut names: Vec<_> = projections().iter().map(|projection| projection.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), projections().len());
}

#[test]
fn the_limits_of_commands_and_reads_are_the_models() {
    for rule in read_models().rules() {
        let Rule::List(list) = rule else { continue };
        let excerpt = Computation::Excerpt { characters_max: SUMMARY_CHARACTERS_MAX };
        assert_eq!(list.computed[0].computation, excerpt);
        assert!(matches!(list.keep, Keep::All | Keep::Newest(FEED_POSTS_MAX)), "{:?}", list.keep);
    }
}
