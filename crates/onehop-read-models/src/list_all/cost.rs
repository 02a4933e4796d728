//! Request charge of a complete list: a new item's entry is created, the entry of another item is read and
//! replaced.

use onehop_store::OperationKind::{Create, PointRead, Replace};

use super::CompleteList;
use crate::cost::{
    Charged, DataProfile, FieldEdit, Operations, PredictedChange, RuleProjection, SampleChange, SampleEdit,
    StoredType, a,
};

impl RuleProjection for CompleteList {
    fn predict(&self, data: &DataProfile) -> Vec<PredictedChange> {
        let (source, entry) = (StoredType::from(&self.rule.source), StoredType::entry_of(&self.rule));
        let Some(item) = data.typical_item(&source, |_| true) else { return Vec::new() };
        let name = self.rule.source.name;
        let predicted = |change, operations, edit| PredictedChange {
            charged: Charged::Projection(self.rule.name),
            change,
            fan_out: 1,
            operations,
            sample: SampleChange { item_type: self.rule.source.clone(), item: item.key.clone(), edit },
        };
        let new = Operations::default().and(Create, 1, data.create_charge(&entry));
        let read = Operations::default().and(PointRead, 1, data.read_charge(&entry));
        let changed = data.plain_field(&self.rule).map(|field| {
            let operations = read.clone().and(Replace, 1, data.replace_charge(&entry, &[field]));
            let alter = SampleEdit::Change(vec![FieldEdit::Alter(field)]);
            predicted(format!("`{field}` of {} changes", a(name)), operations, alter)
        });
        let deleted = read.clone().and(Replace, 1, data.soft_delete_charge(&entry));
        let mut changes = vec![predicted(format!("a new {name}"), new, SampleEdit::Create(Vec::new()))];
        changes.extend(changed);
        changes.push(predicted(format!("{} is deleted", a(name)), deleted, SampleEdit::Delete));
        changes
    }
}
