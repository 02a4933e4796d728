//! The web store's read models, as the article draws its final design. Projections, verification, repair and
//! the diagram in docs/read-models.md follow from the model.
//!
//! Source: "Data modeling and partitioning for relational workloads", its final design.

use std::sync::LazyLock;

use onehop_read_models::{ProjectionNames, ReadModels};

use super::model::MODEL;

pub const CATEGORY_NAMES: &str = "category-names";
pub const TAG_NAMES: &str = "tag-names";
pub const PRODUCT_CATCH_UP: &str = "product-catch-up";
pub const PRODUCTS_BY_TAG: &str = "products-by-tag";
pub const RANKED_CUSTOMERS: &str = "ranking";

static READ_MODELS: LazyLock<ReadModels> = LazyLock::new(|| {
    let names = ProjectionNames::default()
        .copy("ProductCategory.name", CATEGORY_NAMES)
        .copy("ProductTag.name", TAG_NAMES)
        .catch_up("product", PRODUCT_CATCH_UP);
    ReadModels::from_model_with(&MODEL, &names)
        .unwrap_or_else(|errors| panic!("the web store's read models: {errors:?}"))
});

/// The read models of the model.
///
/// # Panics
/// A mistake in the model, which a test finds.
#[must_use]
pub fn read_models() -> &'static ReadModels {
    &READ_MODELS
}

#[cfg(test)]
mod tests {
    use onehop_read_models::{Padding, Rule};

    use super::*;
    use crate::webstore::items::RANK_KEY;

    #[test]
    fn the_projections_keep_their_names() {
        let names: Vec<_> = read_models().projections().iter().map(|projection| projection.name()).collect();
        assert_eq!(names, [CATEGORY_NAMES, TAG_NAMES, PRODUCT_CATCH_UP, PRODUCTS_BY_TAG, RANKED_CUSTOMERS]);
    }

    #[test]
    fn commands_pad_rank_keys_as_the_model_says() {
        let of_orders = |rule: &Rule| match rule {
            Rule::Count(count) => count.text.map(|text| (text.field, text.padding)),
            _ => None,
        };
        let texts: Vec<(&str, Padding)> = read_models().rules().iter().filter_map(of_orders).collect();
        assert_eq!(texts, [("sortKey", RANK_KEY)]);
    }
}
