//! Logical partitions of a list: where an item has its entries, and whether that changes with the item.

use std::borrow::Cow;

use onehop_store::{joined_key, key_text};
use serde_json::Value;

use crate::body::Body;
use crate::field_path::FieldPath;
use crate::rule::{Keep, ListPartition, ListRule};

impl ListRule {
    /// Whether entries come, go and move with fields of their items, so that an item is compared with all
    /// entries that it has. Otherwise an item has one entry, in a known logical partition, until it is
    /// deleted.
    pub(crate) fn is_reconciled(&self) -> bool {
        match self.partition {
            ListPartition::Element(_) => true,
            ListPartition::Field(_) => !self.immutable_partition || !self.conditions.is_empty(),
            ListPartition::Constant(_) => self.keep == Keep::All && !self.conditions.is_empty(),
        }
    }

    /// The fields that decide whether and where an item has entries.
    pub(crate) fn deciding_fields(&self) -> Vec<&'static str> {
        let conditions = self.conditions.iter().map(|condition| condition.field);
        match self.partition {
            ListPartition::Constant(_) => conditions.collect(),
            ListPartition::Field(fields) => conditions.chain(fields.split('/')).collect(),
            ListPartition::Element(path) => conditions.chain([FieldPath::parse(path).root()]).collect(),
        }
    }

    /// The value of a field of an item, or the default of an item that is older than the field.
    pub(crate) fn value<'a>(&'a self, source: &'a Body, field: &str) -> Option<&'a Value> {
        let default = || self.defaults.iter().find(|(name, _)| *name == field).map(|(_, value)| value);
        source.get(field).or_else(default)
    }

    /// The partition key of an item's entry by its fields.
    pub(crate) fn key_of(&self, source: &Body) -> Option<String> {
        let values: Option<Vec<_>> =
            self.partition.fields().map(|field| self.value(source, field).and_then(key_text)).collect();
        Some(joined_key(values?.iter().map(AsRef::as_ref)))
    }

    /// The logical partitions in which an item has an entry, for a list that is not bounded.
    pub(crate) fn partitions<'a>(&self, source: &'a Body) -> Vec<Cow<'a, str>> {
        match self.partition {
            _ if !self.conditions.iter().all(|condition| condition.holds(source)) => Vec::new(),
            ListPartition::Constant(key) => vec![key.into()],
            ListPartition::Field(_) => self.key_of(source).map(Cow::from).into_iter().collect(),
            ListPartition::Element(path) => source.keys(FieldPath::parse(path)),
        }
    }
}
