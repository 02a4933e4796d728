//! The declaration, and the reactions of its projections to changes made by hand.

mod catch_up;
mod deletions;
mod feed;
mod propagation;
mod user_posts;

use std::sync::Arc;

use onehop_change_feed::Projection;

use super::{projections, read_models};

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
