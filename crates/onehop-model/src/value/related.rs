//! Related items: a logical partition, a query across partitions, or a list that is a read model.

use super::literal::Literal;
use super::names::{ContainerName, FieldPath, Name};

/// A list of other items.
#[derive(Debug, Clone, PartialEq)]
pub struct RelatedField {
    /// The item type of the elements.
    pub item_type: Name,
    /// The place where the items are found.
    pub source: RelatedSource,
    /// Conditions on the items. All hold.
    pub conditions: Vec<Condition>,
    /// The order; the id follows, in the direction of the last field.
    pub order: Vec<OrderBy>,
    /// The pages.
    pub page: Page,
}

impl RelatedField {
    /// The arguments of a list under `Query` that name a logical partition.
    #[must_use]
    pub fn arguments(&self) -> &[Name] {
        match &self.source {
            RelatedSource::List(list) => &list.arguments,
            _ => &[],
        }
    }
}

/// The place where related items are found.
#[derive(Debug, Clone, PartialEq)]
pub enum RelatedSource {
    /// One query in one logical partition.
    Partition {
        /// The fields of the items that are the partition key; empty for a constant key.
        by: Vec<Name>,
    },
    /// A query across partitions.
    Find {
        /// The reference of the items, or of the link type, to this item; `None` for all items.
        by: Option<Name>,
        /// The link.
        through: Option<Link>,
    },
    /// A read model of short copies.
    List(ListSource),
}

/// An item type that links two others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The item type.
    pub item_type: Name,
    /// Its reference to the items that are found.
    pub to: Name,
}

/// A read model: an entry for each item, in a logical partition of another container.
#[derive(Debug, Clone, PartialEq)]
pub struct ListSource {
    /// The name of the projection.
    pub projection: String,
    /// The container of the entries.
    pub container: ContainerName,
    /// The fields of the items that are the partition key of their entries; empty for a constant key.
    pub by: Vec<Name>,
    /// The arguments of a field of `Query` that name a logical partition, one for each field of `by`; empty
    /// elsewhere.
    pub arguments: Box<[Name]>,
    /// The fields that entries have, the fields of the order included.
    pub fields: Vec<FieldPath>,
    /// The number of entries in a logical partition: the first of the order; `None` for all.
    pub keep: Option<u32>,
    /// The value of the property `type` in the entries.
    pub entry_type: String,
}

/// A condition on a field.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The field.
    pub field: FieldPath,
    /// The test of its value.
    pub test: FieldTest,
}

/// A test of a field's value.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldTest {
    /// Equality.
    Is(Literal),
    /// Equality with one of these.
    In(Vec<Literal>),
    /// Presence, or absence.
    Exists(bool),
    /// At least this value.
    AtLeast(Literal),
    /// Less than this value.
    Below(Literal),
}

/// A field by which items are ordered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderBy {
    /// The field.
    pub field: Name,
    /// Whether the largest value comes first.
    pub descending: bool,
}

/// The pages of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The items of a page where the request names no number.
    pub first: u32,
    /// The most items of a page.
    pub max: u32,
    /// Whether the field is a connection with cursors; a plain list otherwise.
    pub connection: bool,
}

impl Page {
    /// The items of a page where the request names no number: of a connection `first`, of a plain list, which
    /// has no argument, the most.
    pub fn default_items(&self) -> u32 {
        if self.connection { self.first } else { self.max }
    }
}

impl std::fmt::Display for Condition {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let field = &self.field;
        match &self.test {
            FieldTest::Is(value) => write!(formatter, "{field} is {value}"),
            FieldTest::In(values) => write!(formatter, "{field} is one of {}", Literal::List(values.clone())),
            FieldTest::Exists(true) => write!(formatter, "{field} exists"),
            FieldTest::Exists(false) => write!(formatter, "{field} is absent"),
            FieldTest::AtLeast(value) => write!(formatter, "{field} is at least {value}"),
            FieldTest::Below(value) => write!(formatter, "{field} is below {value}"),
        }
    }
}
