//! The blog's read models, as the article draws its data model V3. Projections, verification, repair and the
//! diagram in ARCHITECTURE.md follow from the model.
//!
//! Source: "Model and partition data on Azure Cosmos DB using a real-world example", its V2 and V3 items.

#[cfg(test)]
pub(in crate::blog) mod testing;
#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock};

use onehop_change_feed::Projection;
use onehop_read_models::{ProjectionNames, ReadModels};

use super::closures::Closures;
use super::model::MODEL;
use super::renames::Renames;

pub const USERNAMES: &str = "usernames";
pub const USERNAMES_CATCH_UP: &str = "usernames-catch-up";
pub const USER_POSTS: &str = "user-posts";
pub const FEED_POSTS: &str = "feed";
pub const TAGGED_POSTS: &str = "posts-by-tag";
pub const DELETIONS: &str = "deletions";

static READ_MODELS: LazyLock<ReadModels> = LazyLock::new(|| {
    let names = ProjectionNames::default()
        .copy("User.username", USERNAMES)
        .catch_up("posts", USERNAMES_CATCH_UP)
        .owned("Post", DELETIONS);
    ReadModels::from_model_with(&MODEL, &names)
        .unwrap_or_else(|errors| panic!("the blog's read models: {errors:?}"))
});

/// The read models of the model.
///
/// # Panics
/// A mistake in the model, which a test finds.
#[must_use]
pub fn read_models() -> &'static ReadModels {
    &READ_MODELS
}

/// The projections of the rules, and the projections that finish renames and closed accounts.
#[must_use]
pub fn projections() -> Vec<Arc<dyn Projection>> {
    let mut projections = read_models().projections();
    projections.push(Arc::new(Renames));
    projections.push(Arc::new(Closures));
    projections
}
