//! Properties of an item that are no fields.

use std::collections::BTreeMap;

use super::container::Container;
use super::names::PropertyPath;
use super::types::{Deletion, ItemType, ItemVersion, KeySource};
use crate::defaults::TYPE_PROPERTY;

/// The properties of an item of a container that are no fields, with the words for them.
pub(crate) fn reserved_properties(
    item: &ItemType,
    container: Option<&Container>,
) -> BTreeMap<PropertyPath, &'static str> {
    let mut reserved = BTreeMap::new();
    // In a followed container the application's properties may be served.
    if container.is_some_and(|container| container.followed) {
        return reserved;
    }
    if item.recognised_by.is_empty() {
        reserved.insert(PropertyPath::property(TYPE_PROPERTY), "the type of the item");
    }
    if let ItemVersion::Property(path) = &item.version {
        reserved.insert(path.clone(), "the version of the item");
    }
    if let Deletion::Soft { path, .. } = &item.deletion {
        reserved.insert(path.clone(), "the mark of deleted items");
        reserved.insert(PropertyPath::property("ttl"), "the time to live");
    }
    let keys = container.map(|container| container.key.as_slice()).unwrap_or_default();
    for (path, source) in keys.iter().zip(&item.key) {
        let field = match source {
            KeySource::Id => item.field("id"),
            KeySource::Field(name) => item.field(name),
            KeySource::Type => continue,
        };
        let is_stored_there = field.is_some_and(|field| field.property() == Some(path));
        if !is_stored_there && path.properties() != ["id"] {
            reserved.insert(path.clone(), "the partition key");
        }
    }
    reserved
}
