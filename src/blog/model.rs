//! The blog's models: the file `model.graphql`, which declares containers, item types and read models, and
//! two designs that read the same items in another way.

use std::sync::LazyLock;

use onehop_model::Model;

/// The model, which is the design V3.
///
/// # Panics
/// A mistake in the file, which a test finds.
pub static MODEL: LazyLock<Model> =
    LazyLock::new(|| read("src/blog/model.graphql", include_str!("model.graphql")));

/// The design V1: references only.
///
/// # Panics
/// As [`MODEL`].
pub static V1: LazyLock<Model> =
    LazyLock::new(|| read("src/blog/designs/v1.graphql", include_str!("designs/v1.graphql")));

/// The design V2: usernames are copied and counts are stored.
///
/// # Panics
/// As [`MODEL`].
pub static V2: LazyLock<Model> =
    LazyLock::new(|| read("src/blog/designs/v2.graphql", include_str!("designs/v2.graphql")));

fn read(path: &str, text: &str) -> Model {
    Model::read(path, text).unwrap_or_else(|errors| panic!("the blog's model: {errors}"))
}
