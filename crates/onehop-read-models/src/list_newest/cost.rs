//! Request charge of a bounded list that is full. The listing is cached from the change before, as it is in a
//! process that is alone with its store. The listing after a new item follows from the write; another write
//! that changes it makes it be read once more.

use std::collections::BTreeSet;

use onehop_store::OperationKind::{Create, Delete, PointRead, Query, Replace};
use onehop_store::{order_value, value_in_order};
use serde_json::Value;

use super::BoundedList;
use crate::cost::{
    Charged, DataProfile, FieldEdit, ItemKey, Operations, PredictedChange, RuleProjection, SampleChange,
    SampleEdit, StoredType, a,
};

impl RuleProjection for BoundedList {
    fn predict(&self, data: &DataProfile) -> Vec<PredictedChange> {
        let (source, entry) = (StoredType::from(&self.rule.source), StoredType::entry_of(&self.rule));
        let entries = data.items(&entry);
        let listed_ids: BTreeSet<&str> = entries.iter().map(|entry| entry.key.id.as_str()).collect();
        let listed = data.typical_item(&source, |item| listed_ids.contains(item.key.id.as_str()));
        let unlisted = data.typical_item(&source, |item| !listed_ids.contains(item.key.id.as_str()));
        let first = entries.iter().map(|entry| entry.order_value.as_str()).max();
        let (Some(listed), Some(unlisted), Some(first)) = (listed, unlisted, first) else {
            return Vec::new();
        };
        if entries.len() < self.items_max {
            return Vec::new();
        }
        match self.is_ranking() {
            true => self.ranking(data, &listed.key, &unlisted.key, first),
            false => self.newest(data, &listed.key, &unlisted.key, first),
        }
    }
}

/// An order value below this one.
fn lowest(highest: &str) -> String {
    match value_in_order(highest) {
        Value::String(text) => "0".repeat(text.len()),
        _ => order_value(&Value::from(i32::MIN)).unwrap_or_default(),
    }
}

impl BoundedList {
    fn newest(
        &self,
        data: &DataProfile,
        listed: &ItemKey,
        unlisted: &ItemKey,
        newest: &str,
    ) -> Vec<PredictedChange> {
        let Some(field) = data.plain_field(&self.rule) else { return Vec::new() };
        let name = self.rule.source.name;
        let alter = || SampleEdit::Change(vec![FieldEdit::Alter(field)]);
        vec![
            self.predicted(
                format!("a new {name}"),
                self.add_first(data),
                listed,
                SampleEdit::Create(vec![self.place_at(newest)]),
            ),
            self.predicted(
                format!("`{field}` of a listed {name} changes"),
                self.read_entry(data).and(Replace, 1, data.replace_charge(&self.entry(), &[field])),
                listed,
                alter(),
            ),
            self.predicted(
                format!("`{field}` of an older {name} changes"),
                Operations::default(),
                unlisted,
                alter(),
            ),
            self.predicted(
                format!("a listed {name} is deleted"),
                self.delete_listed(data),
                listed,
                SampleEdit::Delete,
            ),
        ]
    }

    fn ranking(
        &self,
        data: &DataProfile,
        listed: &ItemKey,
        unlisted: &ItemKey,
        highest: &str,
    ) -> Vec<PredictedChange> {
        let (name, lowest) = (self.rule.source.name, lowest(highest));
        let moved = |value: &str| SampleEdit::Change(vec![self.place_at(value)]);
        let move_up = self
            .read_entry(data)
            .and(Replace, 1, data.replace_charge(&self.entry(), &[self.order_by]))
            .and(Query, 1, self.listing_charge(data, self.items_max));
        let alter = |field| SampleEdit::Change(vec![FieldEdit::Alter(field)]);
        let mut changes = vec![
            self.predicted(format!("a listed {name} moves up"), move_up, listed, moved(highest)),
            self.predicted(format!("a listed {name} leaves"), self.leave(data), listed, moved(&lowest)),
        ];
        if let Some(field) = data.plain_field(&self.rule) {
            let change = format!("`{field}` of a lower {name} changes");
            changes.push(self.predicted(change, Operations::default(), unlisted, alter(field)));
        }
        changes.push(self.predicted(
            format!("{} enters", a(name)),
            self.enter(data),
            unlisted,
            moved(highest),
        ));
        changes
    }

    fn predicted(
        &self,
        change: String,
        operations: Operations,
        item: &ItemKey,
        edit: SampleEdit,
    ) -> PredictedChange {
        PredictedChange {
            charged: Charged::Projection(self.rule.name),
            change,
            fan_out: 1,
            operations,
            sample: SampleChange { item_type: self.rule.source.clone(), item: item.clone(), edit },
        }
    }

    fn place_at(&self, value: &str) -> FieldEdit {
        FieldEdit::Set(self.order_by, value_in_order(value))
    }

    fn entry(&self) -> StoredType {
        StoredType::entry_of(&self.rule)
    }

    fn read_entry(&self, data: &DataProfile) -> Operations {
        Operations::default().and(PointRead, 1, data.read_charge(&self.entry()))
    }

    fn listing_charge(&self, data: &DataProfile, entries: usize) -> onehop_store::RequestCharge {
        data.partition_query_charge(&self.entry(), entries)
    }

    /// A new item comes before all others: its entry is created without a look, and the last one deleted.
    fn add_first(&self, data: &DataProfile) -> Operations {
        Operations::default().and(Create, 1, data.create_charge(&self.entry())).and(
            Delete,
            1,
            data.delete_charge(&self.entry()),
        )
    }

    /// An item enters: its entry is created and the last one deleted. Then the listing is read, and the item
    /// is compared with its entry.
    fn enter(&self, data: &DataProfile) -> Operations {
        Operations::default()
            .and(PointRead, 1, data.absent_charge())
            .and(Create, 1, data.create_charge(&self.entry()))
            .and(Delete, 1, data.delete_charge(&self.entry()))
            .and(Query, 1, self.listing_charge(data, self.items_max))
            .and(PointRead, 1, data.read_charge(&StoredType::from(&self.rule.source)))
    }

    /// The next item is added beside the last entry, which is written unchanged. Then the listing is read,
    /// and the item is compared with its entry.
    fn add_next(&self, data: &DataProfile, entries: usize) -> Operations {
        Operations::default()
            .and(Replace, 1, data.rewrite_unchanged_charge(&self.entry()))
            .and(Create, 1, data.create_charge(&self.entry()))
            .and(Query, 1, self.listing_charge(data, entries))
            .and(PointRead, 1, data.read_charge(&StoredType::from(&self.rule.source)))
    }

    /// The entry is replaced by a soft-deleted one, beside the last entry, which is written unchanged. The
    /// listing lacks an item, and the next older one follows.
    fn delete_listed(&self, data: &DataProfile) -> Operations {
        let source = StoredType::from(&self.rule.source);
        let older = data.items(&source).len() - self.items_max;
        self.read_entry(data)
            .and(Replace, 1, data.soft_delete_charge(&self.entry()))
            .and(Replace, 1, data.rewrite_unchanged_charge(&self.entry()))
            .and(Query, 1, self.listing_charge(data, self.items_max - 1))
            .and(Query, 1, data.query_charge(&source, older, 1, 0))
            .then(self.add_next(data, self.items_max))
    }

    /// The entry is deleted beside the last one, which is written unchanged. The highest items are read
    /// beside the listing, and the item that is not listed is added.
    fn leave(&self, data: &DataProfile) -> Operations {
        let source = StoredType::from(&self.rule.source);
        let highest = data.query_charge(&source, data.items(&source).len(), self.items_max, 0);
        self.read_entry(data)
            .and(Replace, 1, data.rewrite_unchanged_charge(&self.entry()))
            .and(Delete, 1, data.delete_charge(&self.entry()))
            .and(Query, 1, self.listing_charge(data, self.items_max - 1))
            .and(Query, 1, highest)
            .then(self.add_next(data, self.items_max))
    }
}
