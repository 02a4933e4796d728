//! Request charge of owned items: pages of each type are listed, and each item is deleted.

use onehop_store::OperationKind::{Delete, Query, Replace};
use onehop_store::limits;

use super::OwnedItems;
use crate::cost::{
    Charged, DataProfile, Operations, PredictedChange, RuleProjection, SampleChange, SampleEdit, StoredType,
    a,
};

impl RuleProjection for OwnedItems {
    fn predict(&self, data: &DataProfile) -> Vec<PredictedChange> {
        let Some((item, counts)) = data.typical_source(self.rule.name) else { return Vec::new() };
        let mut operations = Operations::default();
        for (owned, number) in self.rule.owned.iter().zip(&counts) {
            let stored = StoredType::from(&owned.item_type);
            let pages = number.div_ceil(limits::BATCH_OPERATIONS_MAX).max(1);
            for page in 0..pages {
                let items = (number - page * limits::BATCH_OPERATIONS_MAX).min(limits::BATCH_OPERATIONS_MAX);
                operations = operations.and(Query, 1, data.partition_query_charge(&stored, items));
            }
            operations = match owned.tombstone_ttl_s {
                None => operations.and(Delete, *number, data.delete_charge(&stored)),
                Some(_) => operations.and(Replace, *number, data.soft_delete_charge(&stored)),
            };
        }
        let owner = &self.rule.owner;
        vec![PredictedChange {
            charged: Charged::Projection(self.rule.name),
            change: format!("{} is deleted", a(owner.name)),
            fan_out: counts.iter().sum(),
            operations,
            sample: SampleChange { item_type: owner.clone(), item, edit: SampleEdit::Delete },
        }]
    }
}
