//! Target copy: one copy that is kept in items of one type.

use std::sync::Arc;

use onehop_change_feed::{ProjectionError, ReadRequest};
use onehop_store::PartitionKey;

use crate::body::{Body, KeyedCopy, SourcePlace, field_of_element};
use crate::field_path::FieldPath;
use crate::item_type::ItemType;
use crate::rule::CopyRule;
use crate::source_value::source_key;

/// A copy that is kept in items of one type.
#[derive(Debug, Clone)]
pub(crate) struct TargetCopy {
    pub(crate) rule: Arc<CopyRule>,
    pub(crate) item_type: ItemType,
    pub(crate) path: FieldPath,
    pub(crate) by: FieldPath,
    /// The fields of the items, and of the elements as `[].id`, with the partition key of the source.
    pub(crate) key_fields: Option<&'static str>,
    /// Whether items may lack the foreign key.
    pub(crate) is_optional: bool,
    /// The list by which the targets are found, for a copy in elements.
    pub(crate) through: Option<&'static str>,
    /// The name of the projection that compares the copies.
    pub(crate) catch_up: &'static str,
}

impl TargetCopy {
    /// The point read of the source of each copy in an item, in order.
    pub(crate) fn reads(&self, item: &Body) -> Result<Vec<ReadRequest>, ProjectionError> {
        let keyed = item.keyed(self.path, self.by);
        if keyed.is_empty() && self.by.array().is_none() && !self.is_optional {
            item.text(self.by.root())?;
        }
        let container = self.rule.source.container;
        let read =
            |copy: KeyedCopy<'_>| Ok(ReadRequest::shared_item(container, self.source_key(&copy)?, copy.id));
        keyed.into_iter().map(read).collect()
    }

    /// The partition key of the source of a copy.
    pub(crate) fn source_key(&self, copy: &KeyedCopy<'_>) -> Result<PartitionKey, ProjectionError> {
        let Some(fields) = self.key_fields else { return Ok(source_key(&self.rule.source, copy.id)) };
        let key = copy.source_key(fields).map(PartitionKey::new);
        key.ok_or_else(|| ProjectionError::text(format!("a reference lacks the fields `{fields}` beside it")))
    }

    /// The source of a copy, as targets name it.
    pub(crate) fn place<'a>(&self, id: &'a str, key: &'a PartitionKey) -> SourcePlace<'a> {
        SourcePlace { id, key: self.key_fields.map(|fields| (fields, key)) }
    }

    /// The fields of an item that a comparison of the copy needs.
    pub(crate) fn needed_fields(&self) -> impl Iterator<Item = &'static str> {
        let key = self.key_fields.into_iter().flat_map(|fields| fields.split('/'));
        let key = key.filter(|field| field_of_element(field).is_none());
        [self.path.root(), self.by.root()].into_iter().chain(key)
    }
}
