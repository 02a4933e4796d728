//! Read models of a model: containers, item types and rules that follow from a file in the model language.
//!
//! The language says more than the rules can. A part that they cannot express is an error with the field and
//! the directive, so that no part of a model is left out in silence.

mod back_references;
mod conditions;
mod containers;
mod copies;
mod counts;
mod entry_fields;
mod item_types;
mod lists;
mod model_error;
mod projection_names;
mod related;
mod relations;

use onehop_model::Model;

pub use self::conditions::list_conditions;
pub use self::containers::container_specs;
pub use self::counts::tombstone_of_owned;
pub use self::lists::shown_of_all;
pub use self::model_error::ModelError;
pub use self::projection_names::ProjectionNames;
pub use self::related::list_order;

use self::item_types::ItemTypes;
use crate::declaration::ReadModels;

impl ReadModels {
    /// The read models of a model, with the default names of projections.
    ///
    /// # Errors
    /// Every part of the model that the rules cannot express, and every mistake of the rules together.
    pub fn from_model(model: &Model) -> Result<Self, Vec<ModelError>> {
        Self::from_model_with(model, &ProjectionNames::default())
    }

    /// The same, with other names for some projections.
    ///
    /// # Errors
    /// As [`from_model`](Self::from_model).
    pub fn from_model_with(model: &Model, names: &ProjectionNames) -> Result<Self, Vec<ModelError>> {
        let specs = container_specs(model)?;
        let types = ItemTypes::of(model)?;
        let mut errors = Vec::new();
        let (following, frozen) = collected(copies::rules(model, &types, names), &mut errors)
            .into_iter()
            .partition(copies::follows);
        let mut rules: Vec<_> = following;
        rules.extend(collected(lists::rules(model, &types), &mut errors));
        rules.extend(collected(back_references::rules(model, &types), &mut errors));
        rules.extend(collected(counts::rules(model, &types), &mut errors));
        rules.extend(collected(counts::owners(model, &types, names), &mut errors));
        let frozen: Vec<_> = frozen;
        rules.extend(frozen);
        if !errors.is_empty() {
            return Err(errors);
        }
        Self::new(&specs, rules).map_err(|errors| errors.into_iter().map(ModelError::from).collect())
    }
}

/// The sound ones; the errors are kept.
fn collected<T>(results: Vec<Result<T, ModelError>>, errors: &mut Vec<ModelError>) -> Vec<T> {
    let mut sound = Vec::with_capacity(results.len());
    for result in results {
        match result {
            Ok(value) => sound.push(value),
            Err(error) => errors.push(error),
        }
    }
    sound
}
