//! Types of a model: item types, embedded types and enums.

use super::authorization::Authorization;
use super::field::{Field, FieldKind};
use super::keyword::Action;
use super::literal::Literal;
use super::names::{ContainerName, Name, PropertyPath};

/// A type of stored items.
#[derive(Debug, Clone, PartialEq)]
pub struct ItemType {
    /// Its name.
    pub name: Name,
    /// Its description.
    pub description: Option<String>,
    /// The container of its items.
    pub container: ContainerName,
    /// The source of each path of the container's key.
    pub key: Vec<KeySource>,
    /// The value of the property `type` in its items and entries.
    pub type_value: String,
    /// Conditions that distinguish its items from others in place of the property `type`. All hold; empty
    /// where `type` does.
    pub recognised_by: Vec<PathCondition>,
    /// The version of its items.
    pub version: ItemVersion,
    /// The fields from which the id is derived; empty where ids are generated.
    pub id_from: Vec<Name>,
    /// The generated mutations, in the order of [`Action`].
    pub writes: Vec<Action>,
    /// The way in which deletions show.
    pub deletion: Deletion,
    /// The reference to the owner, after which items are deleted.
    pub owned_by: Option<Name>,
    /// The field by which callers sign in as this type.
    pub login: Option<Name>,
    /// The callers of each action.
    pub authorization: Authorization,
    /// Whether the type is stored and not served.
    pub hidden: bool,
    /// Its fields, in the order of the file.
    pub fields: Vec<Field>,
}

impl ItemType {
    /// The field of a name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| &*field.name == name)
    }

    /// Whether an item always lies in the logical partition of the item that a reference of it names.
    pub(crate) fn shares_partition(&self, reference: &str, parent: &ItemType) -> bool {
        self.container == parent.container && self.has_key_of(reference, parent)
    }

    /// Whether an item always has the partition key of the item that a reference of it names, maybe in
    /// another container.
    pub(crate) fn has_key_of(&self, reference: &str, parent: &ItemType) -> bool {
        let Some(FieldKind::Reference(held)) = self.field(reference).map(|field| &field.kind) else {
            return false;
        };
        let mut held_fields = held.partition.iter();
        let is_whole = held.partition.len() == parent.key.len();
        let mut pairs = self.key.iter().zip(&parent.key);
        self.key.len() == parent.key.len()
            && pairs.all(|(own, parent)| match parent {
                KeySource::Id => {
                    // A reference may name a field for each path of the key.
                    if is_whole {
                        held_fields.next();
                    }
                    *own == KeySource::Field(Name::new(reference))
                }
                // A constant is the type, which differs between two types.
                KeySource::Type => false,
                KeySource::Field(_) => {
                    held_fields.next().is_some_and(|field| *own == KeySource::Field(field.clone()))
                }
            })
    }

    /// Whether the partition key of an item follows from the id and the partition key of the item that a
    /// reference of it names: each value of it is one of the two.
    pub(crate) fn has_key_below(&self, reference: &str, parent: &ItemType) -> bool {
        let Some(FieldKind::Reference(held)) = self.field(reference).map(|field| &field.kind) else {
            return false;
        };
        let is_whole = held.partition.len() == parent.key.len();
        let fields = parent.key.iter().filter(|part| is_whole || matches!(part, KeySource::Field(_)));
        let of_parent = |name: &Name| {
            let mut pairs = fields.clone().zip(&held.partition);
            pairs.any(|(part, held)| matches!(part, KeySource::Field(_)) && held == name)
        };
        let is_known = |part: &KeySource| match part {
            KeySource::Field(name) => **name == *reference || of_parent(name),
            KeySource::Id | KeySource::Type => false,
        };
        self.key.contains(&KeySource::Field(Name::new(reference))) && self.key.iter().all(is_known)
    }

    /// Whether clients can read an item by its id, which makes the type a `Node`. A reference of the name
    /// `id` is no id of the item.
    pub fn is_node(&self) -> bool {
        let is_id = |field: &Field| !field.hidden && matches!(field.kind, FieldKind::Stored(_));
        !self.hidden && self.field("id").is_some_and(is_id)
    }

    /// Whether the partition key has fields: the id of an item alone does not address it then.
    pub fn has_field_in_key(&self) -> bool {
        self.key.iter().any(|source| matches!(source, KeySource::Field(_)))
    }
}

/// The source of one path of a partition key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeySource {
    /// The id of the item.
    Id,
    /// The property `type`, which is constant.
    Type,
    /// A field: a reference's id, or a value.
    Field(Name),
}

/// A condition on a stored property.
#[derive(Debug, Clone, PartialEq)]
pub struct PathCondition {
    /// The property.
    pub path: PropertyPath,
    /// The test of its value.
    pub test: PathTest,
}

/// A test of a stored value.
#[derive(Debug, Clone, PartialEq)]
pub enum PathTest {
    /// Equality.
    Is(Literal),
    /// Equality with one of these.
    In(Vec<Literal>),
    /// A text that starts with this.
    Prefix(String),
    /// Presence, or absence.
    Exists(bool),
}

/// The version of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ItemVersion {
    /// A property that each write increases.
    Property(PropertyPath),
    /// `_lsn`, which is comparable within a logical partition.
    LogSequenceNumber,
}

/// The way in which the deletion of an item shows.
#[derive(Debug, Clone, PartialEq)]
pub enum Deletion {
    /// A property marks the item until it expires.
    Soft {
        /// The property.
        path: PropertyPath,
        /// Its value in deleted items.
        is: Literal,
        /// The time until a deleted item expires, in seconds.
        ttl_seconds: u32,
    },
    /// Items expire, and their entries with them.
    Ttl,
    /// The change feed of all versions shows deletions.
    AllVersions,
    /// Items are removed, and no change feed shows it.
    Hard,
}

/// An object or array element within an item.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddedType {
    /// Its name.
    pub name: Name,
    /// Its description.
    pub description: Option<String>,
    /// Whether the type is stored and not served.
    pub hidden: bool,
    /// Its fields, in the order of the file.
    pub fields: Vec<Field>,
}

impl EmbeddedType {
    /// The field of a name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| &*field.name == name)
    }
}

/// An enum.
#[derive(Debug, Clone, PartialEq)]
pub struct EnumType {
    /// Its name.
    pub name: Name,
    /// Its description.
    pub description: Option<String>,
    /// Its values, in the order of the file.
    pub values: Vec<EnumValue>,
}

/// A value of an enum.
#[derive(Debug, Clone, PartialEq)]
pub struct EnumValue {
    /// Its name.
    pub name: Name,
    /// Its description.
    pub description: Option<String>,
    /// The stored text.
    pub stored: String,
    /// Older stored texts, which are read and never written.
    pub former: Vec<String>,
}
