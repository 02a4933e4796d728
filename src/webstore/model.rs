//! The web store's model: the file `model.graphql`, which declares containers, item types and read models.

use std::sync::LazyLock;

use onehop_model::Model;

/// The model.
///
/// # Panics
/// A mistake in the file, which a test finds.
pub static MODEL: LazyLock<Model> = LazyLock::new(|| {
    Model::read("src/webstore/model.graphql", include_str!("model.graphql"))
        .unwrap_or_else(|errors| panic!("the web store's model: {errors}"))
});
