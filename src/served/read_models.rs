//! Read models of a served model: the rules that follow from it.

use onehop_read_models::{DeclarationError, ReadModels};

use super::model::ServedModel;

impl ServedModel {
    /// The read models.
    ///
    /// # Errors
    /// The rules contradict each other.
    pub fn read_models(&self) -> Result<ReadModels, Vec<DeclarationError>> {
        ReadModels::new(self.containers(), Vec::new())
    }
}
