//! The present value of a copy rule's source.

use std::sync::Arc;

use onehop_change_feed::ProjectionError;
use onehop_store::{Item, PartitionKey};
use serde_json::Value;

use crate::body::Body;
use crate::item_type::{ItemPartition, ItemType};
use crate::rule::CopyRule;

/// The value of the source's field; `None` when there is no such source, or it has no such field.
pub(crate) fn source_value(
    rule: &CopyRule,
    source: Option<&Arc<Item>>,
) -> Result<Option<Value>, ProjectionError> {
    let Some(source) = source else { return Ok(None) };
    let source = Body::selected(source, &[rule.field])?;
    let is_source = source.item_type() == rule.source.name;
    Ok(source.get(rule.field).filter(|_| is_source).cloned())
}

/// The partition key of a source with this id.
pub(crate) fn source_key(source: &ItemType, id: &str) -> PartitionKey {
    match source.partition {
        ItemPartition::Constant(key) => PartitionKey::from(key),
        ItemPartition::Id | ItemPartition::Field(_) => PartitionKey::from(id),
    }
}
