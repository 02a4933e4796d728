//! Item type: where items of a type are stored, and the fields that rules may name.

use std::sync::Arc;

use onehop_store::ContainerName;

/// The fields that every item has.
pub(crate) const COMMON_FIELDS: [&str; 3] = [ID, TYPE, VERSION];
/// The fields that a soft-deleted item has.
pub(crate) const DELETION_FIELDS: [&str; 2] = [DELETED, TTL];

pub(crate) const ID: &str = "id";
pub(crate) const TYPE: &str = "type";
/// Grows with each change of an item.
pub(crate) const VERSION: &str = "version";
/// The version of an item that was not changed since it was created.
pub(crate) const VERSION_FIRST: u64 = 1;
pub(crate) const DELETED: &str = "deleted";
pub(crate) const TTL: &str = "ttl";

/// A type of item. Beside its own fields every item has `id`, `type` and `version`, which grows with each
/// change, and where it is soft-deleted `deleted` and `ttl` (seconds).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ItemType {
    /// The container.
    pub container: ContainerName,
    /// The value of the field `type`.
    pub name: &'static str,
    /// The derivation of the partition key from the item.
    pub partition: ItemPartition,
    /// Its other fields; `array[].field` for fields of elements.
    pub fields: Arc<[&'static str]>,
}

/// The derivation of an item's partition key from the item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemPartition {
    /// It is the id.
    Id,
    /// It is the value of a field. Of a hierarchical key the two or three fields, with slashes between them.
    Field(&'static str),
    /// It is the same for all items of the type.
    Constant(&'static str),
}

impl ItemPartition {
    /// The fields of the item that are its partition key.
    pub(crate) fn fields(self) -> impl Iterator<Item = &'static str> {
        let fields = match self {
            Self::Field(fields) => Some(fields.split('/')),
            Self::Id | Self::Constant(_) => None,
        };
        fields.into_iter().flatten()
    }

    /// The fields of an entry that lead to its item, beside the fields that every entry has.
    pub(crate) fn fields_of_entries(self) -> impl Iterator<Item = &'static str> {
        self.fields().filter(|field| !COMMON_FIELDS.contains(field))
    }
}

impl ItemType {
    /// Items of a type in a container, whose partition key is their id.
    #[must_use]
    pub fn new(container: ContainerName, name: &'static str, fields: &[&'static str]) -> Self {
        Self { container, name, partition: ItemPartition::Id, fields: fields.into() }
    }

    /// The same, with the partition key in a field.
    #[must_use]
    pub fn partitioned_by(mut self, field: &'static str) -> Self {
        self.partition = ItemPartition::Field(field);
        self
    }

    /// The same, all in one logical partition.
    #[must_use]
    pub fn in_partition(mut self, partition_key: &'static str) -> Self {
        self.partition = ItemPartition::Constant(partition_key);
        self
    }

    /// The same, with these fields as well.
    pub(crate) fn with_fields(mut self, fields: impl Iterator<Item = &'static str>) -> Self {
        let further: Vec<_> = fields.filter(|field| !self.has_field(field)).collect();
        if !further.is_empty() {
            self.fields = self.fields.iter().copied().chain(further).collect();
        }
        self
    }

    /// Whether items of this type may have a field.
    #[must_use]
    pub fn has_field(&self, field: &str) -> bool {
        COMMON_FIELDS.contains(&field) || DELETION_FIELDS.contains(&field) || self.fields.contains(&field)
    }
}
