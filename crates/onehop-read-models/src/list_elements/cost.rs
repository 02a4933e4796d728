//! Request charge of a list by elements: the present item is compared with its entries until both agree, and
//! then the copies in its elements with their sources.

use onehop_change_feed::Cause;
use onehop_store::OperationKind::{Create, Delete, PointRead, Query, Replace};
use onehop_store::limits;

use super::ElementList;
use crate::cost::{
    Charged, DataProfile, FieldEdit, Operations, PredictedChange, RuleProjection, SampleChange, SampleEdit,
    StoredType, a,
};
use crate::field_path::FieldPath;

impl RuleProjection for ElementList {
    fn predict(&self, data: &DataProfile) -> Vec<PredictedChange> {
        let Some((item, counts)) = data.typical_source(self.rule.name) else { return Vec::new() };
        let elements = counts.iter().sum();
        let (source, entry) = (StoredType::from(&self.rule.source), StoredType::entry_of(&self.rule));
        let (name, rule) = (self.rule.source.name, &self.rule);
        let is_free = elements == 0 && rule.entry_changes.is_some() && self.copies.is_empty();
        let predicted = |change, operations, edit| PredictedChange {
            charged: Charged::Projection(rule.name),
            change,
            fan_out: elements,
            operations,
            sample: SampleChange { item_type: rule.source.clone(), item: item.clone(), edit },
        };
        let replaced = |field: FieldPath| {
            if is_free {
                return Operations::default();
            }
            self.comparison(elements, data)
                .and(Replace, elements, data.replace_charge(&entry, &[field]))
                .then(self.comparison(elements, data))
                .then(self.copies_comparison(elements, data))
        };
        let new = self
            .absence(elements, data)
            .and(Create, elements, data.create_charge(&entry))
            .then(self.comparison(elements, data))
            .then(self.copies_comparison(elements, data));
        let deleted = self
            .comparison(elements, data)
            .and(Delete, elements, data.delete_charge(&entry))
            .then(self.comparison(0, data));
        let new = if is_free { Operations::default() } else { new };
        let mut changes =
            vec![predicted(format!("a new {name}"), new.clone(), SampleEdit::Create(Vec::new()))];
        changes.extend(data.plain_field(rule).map(|field| {
            let alter = SampleEdit::Change(vec![FieldEdit::Alter(field)]);
            predicted(format!("`{field}` of {} changes", a(name)), replaced(field.into()), alter)
        }));
        changes.push(predicted(format!("{} is deleted", a(name)), deleted, SampleEdit::Delete));
        if let Some(copy) = self.copies.first() {
            // The corrected item is a change by itself.
            let replace = data.replace_charge(&source, &[copy.path, Cause::FIELD.into()]);
            let corrected = new.and(Replace, 1, replace).then(replaced(copy.path));
            let edit = SampleEdit::Create(vec![FieldEdit::AlterCopy { path: copy.path, by: copy.by }]);
            changes
                .insert(1, predicted(format!("a new {name} with an old `{}`", copy.path), corrected, edit));
        }
        changes
    }
}

impl ElementList {
    /// Reads the item and its entries.
    fn comparison(&self, entries: usize, data: &DataProfile) -> Operations {
        let (source, entry) = (StoredType::from(&self.rule.source), StoredType::entry_of(&self.rule));
        Operations::default().and(PointRead, 1, data.read_charge(&source)).and(
            Query,
            1,
            data.query_charge(&entry, entries, limits::PAGE_ITEMS_MAX, 1),
        )
    }

    /// Finds entries missing, and reads their marks where a projection counts them.
    fn absence(&self, missing: usize, data: &DataProfile) -> Operations {
        let found = self.comparison(0, data);
        if !self.rule.is_counted || missing == 0 {
            return found;
        }
        let mark = data.read_charge(&StoredType::entry_of(&self.rule));
        found.then(self.comparison(0, data)).and(PointRead, missing, mark)
    }

    /// Reads the item and the source of each copy in its elements.
    fn copies_comparison(&self, elements: usize, data: &DataProfile) -> Operations {
        if self.copies.is_empty() || elements == 0 {
            return Operations::default();
        }
        let item = data.read_charge(&StoredType::from(&self.rule.source));
        let operations = Operations::default().and(PointRead, 1, item);
        self.copies.iter().fold(operations, |operations, copy| {
            operations.and(PointRead, elements, data.read_charge(&StoredType::from(&copy.rule.source)))
        })
    }
}
