//! Request charge of a count: the replacement of the parent in the batch of the command that writes a counted
//! item.

use std::sync::Arc;

use onehop_store::OperationKind::Replace;

use super::operations::Operations;
use super::prediction::{Charged, PredictedChange};
use super::profile::{DataProfile, StoredType};
use super::sample::{SampleChange, SampleEdit};
use crate::rule::CountRule;

impl CountRule {
    /// The operations that one more counted item adds to its command's batch.
    pub(crate) fn predict(self: &Arc<Self>, data: &DataProfile) -> Option<PredictedChange> {
        let item = data.typical_item(&StoredType::from(&self.counted), |_| true)?;
        let replace = data.replace_charge(&StoredType::from(&self.parent), &[self.field]);
        Some(PredictedChange {
            charged: Charged::Command(Arc::clone(self)),
            change: format!("a new {}, in the command's batch", self.counted.name),
            fan_out: 1,
            operations: Operations::default().and(Replace, 1, replace),
            sample: SampleChange {
                item_type: self.counted.clone(),
                item: item.key.clone(),
                edit: SampleEdit::Create(Vec::new()),
            },
        })
    }
}
