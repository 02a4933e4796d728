//! Request charge of a catch-up: the source of each copy is read. A correction replaces the item, which is a
//! change by itself.

use std::collections::BTreeSet;

use onehop_change_feed::Cause;
use onehop_store::OperationKind::{PointRead, Replace};

use super::CatchUp;
use crate::cost::{
    Charged, DataProfile, FieldEdit, Operations, PredictedChange, RuleProjection, SampleChange, SampleEdit,
    StoredType,
};
use crate::field_path::FieldPath;
use crate::item_type::ItemType;

impl RuleProjection for CatchUp {
    fn predict(&self, data: &DataProfile) -> Vec<PredictedChange> {
        let mut names = BTreeSet::new();
        let types = self.copies.iter().map(|copy| &copy.item_type).filter(|of| names.insert(of.name));
        types.flat_map(|item_type| self.of_type(item_type, data)).collect()
    }
}

impl CatchUp {
    fn of_type(&self, item_type: &ItemType, data: &DataProfile) -> Vec<PredictedChange> {
        let stored = StoredType::from(item_type);
        let Some(item) = data.typical_item(&stored, |_| true) else { return Vec::new() };
        let reads = self.compare(item_type, data);
        let copies: Vec<_> = self.copies.iter().filter(|copy| copy.item_type == *item_type).collect();
        let Some(first) = copies.first().map(|copy| copy.path) else { return Vec::new() };
        let corrected = data.replace_charge(&stored, &[first, Cause::FIELD.into()]);
        let edit = match first {
            FieldPath::Field(field) => FieldEdit::Alter(field),
            path => FieldEdit::AlterCopy { path, by: copies[0].by },
        };
        let name = item_type.name;
        let predicted = |change, operations, edits| PredictedChange {
            charged: Charged::Projection(self.name),
            change,
            fan_out: copies.len(),
            operations,
            sample: SampleChange {
                item_type: item_type.clone(),
                item: item.key.clone(),
                edit: SampleEdit::Create(edits),
            },
        };
        let old = reads.clone().and(Replace, 1, corrected).then(reads.clone());
        vec![
            predicted(format!("a new {name}"), reads, Vec::new()),
            predicted(format!("a new {name} with an old `{}`", first.root()), old, vec![edit]),
        ]
    }

    /// Copies with one source share its read.
    fn compare(&self, item_type: &ItemType, data: &DataProfile) -> Operations {
        let copies = self.copies.iter().filter(|copy| copy.item_type == *item_type);
        let sources: BTreeSet<_> =
            copies.map(|copy| (StoredType::from(&copy.rule.source), copy.by.root())).collect();
        sources.iter().fold(Operations::default(), |operations, (source, _)| {
            operations.and(PointRead, 1, data.read_charge(source))
        })
    }
}
