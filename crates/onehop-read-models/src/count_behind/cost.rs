//! Request charge of a count written behind: the parent is read and its items are counted, before and after
//! the parent is replaced.

use onehop_store::OperationKind::{Count, PointRead, Replace};

use super::CountBehind;
use crate::cost::{
    Charged, DataProfile, Operations, PredictedChange, RuleProjection, SampleChange, SampleEdit, StoredType,
};

impl RuleProjection for CountBehind {
    fn predict(&self, data: &DataProfile) -> Vec<PredictedChange> {
        let counted = StoredType::from(&self.rule.counted);
        let parent = StoredType::from(&self.rule.parent);
        let Some(item) = data.typical_item(&counted, |_| true) else { return Vec::new() };
        let parents = data.items(&parent).len().max(1);
        let items = data.items(&counted).len().div_ceil(parents) as u64;
        let comparison = || {
            Operations::default().and(PointRead, 1, data.read_charge(&parent)).and(
                Count,
                1,
                data.count_charge(items),
            )
        };
        let replace = data.replace_charge(&parent, &[self.rule.field]);
        vec![PredictedChange {
            charged: Charged::Projection(self.name),
            change: format!("a new {}", self.rule.counted.name),
            fan_out: 1,
            operations: comparison().and(Replace, 1, replace).then(comparison()),
            sample: SampleChange {
                item_type: self.rule.counted.clone(),
                item: item.key.clone(),
                edit: SampleEdit::Create(Vec::new()),
            },
        }]
    }
}
