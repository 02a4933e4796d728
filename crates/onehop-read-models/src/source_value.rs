//! The present value of a copy rule's source.

use std::sync::Arc;

use onehop_change_feed::ProjectionError;
use onehop_store::{Item, PartitionKey};
use serde_json::Value;

use crate::body::Body;
use crate::item_type::{ItemPartition, ItemType};
use crate::rule::CopyRule;

/// The value of the source's field; `None` when there is no such source, or it lacks a field that it has to
/// have.
pub(crate) fn source_value(
    rule: &CopyRule,
    source: Option<&Arc<Item>>,
) -> Result<Option<Value>, ProjectionError> {
    let Some(source) = source else { return Ok(None) };
    let source = Body::selected(source, &[rule.field])?;
    let is_source = source.item_type() == rule.source.name;
    Ok(is_source.then(|| copied_value(rule, &source)).flatten())
}

/// The value that copies of a source have.
pub(crate) fn copied_value(rule: &CopyRule, source: &Body) -> Option<Value> {
    source.get(rule.field).cloned().or_else(|| rule.absent.clone())
}

/// The partition key of a source with this id.
pub(crate) fn source_key(source: &ItemType, id: &str) -> PartitionKey {
    match source.partition {
        ItemPartition::Constant(key) => PartitionKey::from(key),
        ItemPartition::Id | ItemPartition::Field(_) => PartitionKey::from(id),
    }
}
