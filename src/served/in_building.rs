//! Fields whose read models are being built, after a change of the model over data. They are answered when
//! they are complete.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::RwLock;

/// The fields of a served model whose read models are not complete. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct FieldsInBuilding(Arc<RwLock<BTreeSet<String>>>);

impl FieldsInBuilding {
    /// These fields, as `Type.field`.
    #[must_use]
    pub fn new(fields: BTreeSet<String>) -> Self {
        Self(Arc::new(RwLock::new(fields)))
    }

    /// Whether nothing is being built.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.read().is_empty()
    }

    /// Whether the read model of a field is not complete.
    #[must_use]
    pub fn has(&self, type_name: &str, field: &str) -> bool {
        let is_it = |name: &String| name.split_once('.') == Some((type_name, field));
        self.0.read().iter().any(is_it)
    }

    /// All fields, as `Type.field`.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.0.read().iter().cloned().collect()
    }

    /// All read models are complete.
    pub fn clear(&self) {
        self.0.write().clear();
    }
}
