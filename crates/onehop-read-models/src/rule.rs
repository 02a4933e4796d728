//! Rules of a declaration: copy, list, count and owns. Names are interned, so the hot paths of projections
//! copy them freely.

use std::fmt;
use std::sync::Arc;

use onehop_change_feed::ProjectionError;
use onehop_runtime::planted;
use onehop_store::{ContainerName, KEY_SEPARATOR, PartitionKey, joined_key};
use serde_json::Value;

use crate::body::Body;
use crate::computation::{Computation, Padding};
use crate::condition::Condition;
use crate::item_type::{ItemPartition, ItemType};

/// A rule about stored items, from which projections, verification and repair follow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rule {
    /// A field that is copied along a foreign key.
    Copy(Arc<CopyRule>),
    /// Short copies of items in another container.
    List(Arc<ListRule>),
    /// A stored number of items.
    Count(Arc<CountRule>),
    /// Items that are deleted with another.
    Owns(Arc<OwnsRule>),
}

/// Copy of a field of an item into other items that name the item by a foreign key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyRule {
    /// The name of its projection. It is stored and never changes.
    pub name: &'static str,
    /// The type of item whose field is copied.
    pub source: ItemType,
    /// The field of the source.
    pub field: &'static str,
    /// Where the copies are.
    pub targets: Vec<CopyTarget>,
    /// Whether the copies follow changes of the source.
    pub mode: CopyMode,
    /// The copied value where a source has no such field, null for none; `None` where each source has it, so
    /// that a source without it is damaged and changes no copy.
    pub absent: Option<Value>,
    /// Whether sources are deleted: their copies stay as they were, and are no drift.
    pub deletes_sources: bool,
}

/// The place of a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyTarget {
    /// The type of item that carries the copy.
    pub item_type: ItemType,
    /// The field of the copy; `array[].field` for one in each element of an array.
    pub field: &'static str,
    /// The foreign key: the field of the target that holds the id of the source; `array[].field` for a copy
    /// in elements. Empty for a frozen copy whose source the command finds without one.
    pub by: &'static str,
    /// The fields of the target, and of the element as `[].id`, that hold the partition key of the source,
    /// with slashes between them; `None` where the key is the source's id or constant.
    pub source_key: Option<&'static str>,
    /// Whether targets may lack the foreign key, and then have no copy.
    pub is_optional: bool,
    /// For a copy in elements of an array: the list that has an entry of the target in the logical partition
    /// of each element.
    pub through: Option<&'static str>,
    /// The name of the projection that compares the copies in new and changed targets. It is stored and never
    /// changes; each container of targets has one. Empty for frozen copies.
    pub catch_up: &'static str,
}

/// The fate of copies when their source changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyMode {
    /// They follow the source.
    Follows,
    /// They stay as they were written, such as a price in an order.
    Frozen,
}

/// A list: a short copy (an entry) of each item of a type in a logical partition of another container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRule {
    /// The name of its projection. It is stored and never changes.
    pub name: &'static str,
    /// The type of item that is listed.
    pub source: ItemType,
    /// The container of the entries.
    pub container: ContainerName,
    /// The property `type` of the entries.
    pub entry_type: &'static str,
    /// The property by which queries order the entries; `None` for the order of their container.
    pub order_by: Option<&'static str>,
    /// The logical partition of an entry.
    pub partition: ListPartition,
    /// The fields that every entry has.
    pub fields: Vec<&'static str>,
    /// The fields that an entry has only where they are not 0.
    pub unless_zero: Vec<&'static str>,
    /// The fields that an entry has where its source has them.
    pub optional: Vec<&'static str>,
    /// The fields that are computed from a field of the source.
    pub computed: Vec<ComputedField>,
    /// The values of fields that an item may lack, although the order or the partition of its entry asks for
    /// them: an item that is older than the field.
    pub defaults: Vec<(&'static str, Value)>,
    /// The fields that name the element and the item, in a list by elements.
    pub element: Option<ElementFields>,
    /// The field of an entry that holds its partition key, where none of `fields` does; of a hierarchical key
    /// all of its fields, with slashes between them.
    pub key_field: Option<&'static str>,
    /// Whether no writer ever changes the field that names the logical partition, so that no entry is looked
    /// for elsewhere.
    pub immutable_partition: bool,
    /// The field that counts the changes of the fields that decide whether and where an item has entries:
    /// 1, or absent, before the first. An item without entries then never had any, and its changes cost no
    /// operation.
    pub entry_changes: Option<&'static str>,
    /// The conditions on listed items. All hold; an item for which one does not hold any more loses its
    /// entry.
    pub conditions: Vec<Condition>,
    /// The items that the list keeps.
    pub keep: Keep,
    /// Whether a projection counts the entries, so that it has to see each of them end.
    pub is_counted: bool,
}

/// The fields of an entry in a list by elements that its item does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElementFields {
    /// The partition key of the list's container: the key of the element.
    pub partition_key: &'static str,
    /// The id of the item, by which a query finds all its entries.
    pub id: &'static str,
}

/// The logical partition of a list's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListPartition {
    /// The value of this field of the source. Where it changes, the entry moves. An entry elsewhere is found
    /// by `id`, which is among the `equality` paths of the list's container; see
    /// [`ListRule::immutable_partition`]. For a hierarchical key the two or three fields, with slashes
    /// between them.
    Field(&'static str),
    /// One logical partition for all entries.
    Constant(&'static str),
    /// One entry for each element of an array: the value of this field of the element, as `array[].field`, or
    /// the element itself, as `array[]`.
    Element(&'static str),
}

/// The items that a list keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Every item that is not deleted.
    All,
    /// The newest of them, by the property that orders both containers. Its value never changes.
    Newest(usize),
    /// The last of them in the order of the property that orders both containers, whose value may change: a
    /// ranking.
    Highest(usize),
}

impl fmt::Display for Keep {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::All => "all",
            Self::Newest(_) => "newest",
            Self::Highest(_) => "highest",
        })
    }
}

impl Keep {
    /// The number of items that a bounded list keeps.
    #[must_use]
    pub fn items_max(self) -> Option<usize> {
        match self {
            Self::All => None,
            Self::Newest(items_max) | Self::Highest(items_max) => Some(planted::size(items_max, 3)),
        }
    }
}

/// A field of an entry that is computed from a text field of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComputedField {
    /// The field of the entry.
    pub field: &'static str,
    /// The text field of the source.
    pub from: &'static str,
    /// The computation.
    pub computation: Computation,
    /// The value of a source without the text.
    pub absent: AbsentText,
}

/// A computed value of an item without the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbsentText {
    /// The item does not fit its type.
    Refused,
    /// The entry has no value.
    NoValue,
    /// It is computed from this text.
    Default(&'static str),
}

/// A count. The command keeps it in the batch that writes the counted item, or a projection keeps it behind
/// the items. It is verified and repaired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountRule {
    /// The type of item that is counted, in the logical partition of the parent.
    pub counted: ItemType,
    /// The type of item that stores the count.
    pub parent: ItemType,
    /// The field of the count.
    pub field: &'static str,
    /// The field of the counted item that holds the parent's id.
    pub by: &'static str,
    /// The fields of the counted item that hold the partition key of the parent, with slashes between them;
    /// `None` where that key is the parent's id, constant, or the partition key of the counted item.
    pub parent_key_fields: Option<&'static str>,
    /// The field of the parent that holds the count as a text, by which queries order parents.
    pub text: Option<CountText>,
    /// The name of the projection that keeps the count; `None` where commands keep it.
    pub projection: Option<&'static str>,
}

/// A text field that follows from a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountText {
    /// The field.
    pub field: &'static str,
    /// The digits of the text.
    pub padding: Padding,
}

/// Items that are deleted with their owner, in whose logical partition they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnsRule {
    /// The name of its projection. It is stored and never changes.
    pub name: &'static str,
    /// The type of item whose soft deletion deletes the others.
    pub owner: ItemType,
    /// The types of items that are deleted, in this order.
    pub owned: Vec<OwnedType>,
}

/// A type of items that are deleted with their owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnedType {
    /// The type.
    pub item_type: ItemType,
    /// The field with the id of the owner.
    pub by: &'static str,
    /// The time to live of a soft-deleted item, in seconds, where other rules have to see the deletion;
    /// `None` where items are removed at once.
    pub tombstone_ttl_s: Option<u32>,
}

impl ListPartition {
    /// The fields of the source whose values are the partition key.
    pub(crate) fn fields(self) -> impl Iterator<Item = &'static str> {
        let fields = match self {
            Self::Field(fields) => Some(fields.split('/')),
            Self::Constant(_) | Self::Element(_) => None,
        };
        fields.into_iter().flatten()
    }
}

impl OwnsRule {
    /// The owned type of a name.
    pub(crate) fn owned_type(&self, item_type: &str) -> Option<&OwnedType> {
        self.owned.iter().find(|owned| owned.item_type.name == item_type)
    }
}

impl OwnedType {
    /// Items in the logical partition that their owner's id names, removed at once.
    #[must_use]
    pub fn of(item_type: &ItemType) -> Self {
        let by = match item_type.partition {
            ItemPartition::Field(field) => field,
            ItemPartition::Id | ItemPartition::Constant(_) => "",
        };
        Self { item_type: item_type.clone(), by, tombstone_ttl_s: None }
    }
}

impl CountRule {
    /// The partition key of the parent of an item that has this partition key.
    pub(crate) fn parent_key(
        &self,
        counted: &Body,
        key: &PartitionKey,
    ) -> Result<PartitionKey, ProjectionError> {
        Ok(match (self.parent.partition, self.parent_key_fields) {
            (ItemPartition::Id, _) => PartitionKey::from(counted.text(self.by)?),
            (ItemPartition::Constant(key), _) => PartitionKey::from(key),
            (ItemPartition::Field(_), Some(fields)) => counted.key_of(fields)?,
            (ItemPartition::Field(_), None) => key.clone(),
        })
    }

    /// The partition key of the items that the parent with this key and id counts.
    pub(crate) fn counted_key(&self, parent: &PartitionKey, id: &str) -> PartitionKey {
        let (fields, of_parent) = match (self.counted.partition, self.parent_key_fields) {
            (ItemPartition::Field(fields), Some(of_parent)) => (fields, of_parent),
            _ if matches!(self.parent.partition, ItemPartition::Field(_)) => return parent.clone(),
            _ => return PartitionKey::from(id),
        };
        let values: Vec<&str> = parent.as_str().split(KEY_SEPARATOR).collect();
        let of_parent: Vec<&str> = of_parent.split('/').collect();
        let value = |field| {
            let place = of_parent.iter().position(|known| *known == field);
            place.and_then(|place| values.get(place)).filter(|_| field != self.by).copied().unwrap_or(id)
        };
        PartitionKey::new(joined_key(fields.split('/').map(value)))
    }

    /// Whether the partition key of the counted items follows from the id and the partition key of their
    /// parent.
    pub(crate) fn is_key_known(&self) -> bool {
        match (self.parent.partition, self.counted.partition) {
            (ItemPartition::Field(_), ItemPartition::Field(fields)) => {
                self.parent_key_fields.is_none_or(|of_parent| {
                    let is_known =
                        |field| field == self.by || of_parent.split('/').any(|known| known == field);
                    fields.split('/').any(|field| field == self.by) && fields.split('/').all(is_known)
                })
            }
            _ => self.counted.partition == ItemPartition::Field(self.by),
        }
    }

    /// The fields of a counted item that lead to its parent.
    pub(crate) fn leading_fields(&self) -> impl Iterator<Item = &'static str> {
        let of_key = self.parent_key_fields.into_iter().flat_map(|fields| fields.split('/'));
        std::iter::once(self.by).chain(of_key)
    }
}

impl Rule {
    /// The name of the rule's projection; `None` for a count that commands keep.
    #[must_use]
    pub fn name(&self) -> Option<&'static str> {
        match self {
            Self::Copy(rule) => Some(rule.name),
            Self::List(rule) => Some(rule.name),
            Self::Owns(rule) => Some(rule.name),
            Self::Count(rule) => rule.projection,
        }
    }
}

impl Rule {
    /// The types of items that the rule names.
    pub(crate) fn item_types(&self) -> Vec<&ItemType> {
        match self {
            Self::Copy(rule) => {
                let targets = rule.targets.iter().map(|target| &target.item_type);
                [&rule.source].into_iter().chain(targets).collect()
            }
            Self::List(rule) => vec![&rule.source],
            Self::Count(rule) => vec![&rule.counted, &rule.parent],
            Self::Owns(rule) => {
                let owned = rule.owned.iter().map(|owned| &owned.item_type);
                [&rule.owner].into_iter().chain(owned).collect()
            }
        }
    }
}

impl CopyTarget {
    /// A field of a type of item, whose items name the source in their field `by`.
    #[must_use]
    pub fn new(item_type: &ItemType, field: &'static str, by: &'static str) -> Self {
        let item_type = item_type.clone();
        Self { item_type, field, by, source_key: None, is_optional: false, through: None, catch_up: "" }
    }

    /// For a copy in elements of an array: the list with an entry of each target in the logical partition of
    /// each element.
    #[must_use]
    pub fn through(mut self, list: &'static str) -> Self {
        self.through = Some(list);
        self
    }
}
