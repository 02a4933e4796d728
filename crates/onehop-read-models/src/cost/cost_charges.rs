//! Assumptions of predicted request charges.

use std::sync::Arc;

use onehop_store::Indexing;
use onehop_store::charges::Calibration;

/// The assumptions of predicted charges. They belong to the store that the measurement runs on.
#[derive(Debug, Clone)]
pub struct CostCharges {
    /// The properties that writes index.
    pub indexing: Indexing,
    /// The constants of the request charges.
    pub calibration: Arc<Calibration>,
}
