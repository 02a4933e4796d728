//! Difference of two models: the effects of a change on stored data, read models and the API, each with a
//! severity.

mod access;
mod effects;
mod fields;
mod operations;
mod read_models;
mod rewritten;
mod types;

use self::effects::Effects;
use crate::value::Model;

pub use self::effects::{Diff, Effect, Severity};

impl Model {
    /// The effects of replacing this model by a newer one over stored data.
    pub fn diff(&self, newer: &Model) -> Diff {
        let mut effects = Effects::default();
        if self.name() != newer.name() {
            let sentence = format!("The model `{}` is another domain.", newer.name());
            effects.add(Severity::Refused, self.name(), sentence);
        }
        types::compare_containers(&mut effects, self, newer);
        types::compare_types(&mut effects, self, newer);
        operations::compare_operations(&mut effects, self, newer);
        rewritten::compare_rewritten(&mut effects, self, newer);
        effects.into_diff()
    }
}
