//! Operations of a model: root fields, named mutations and subscriptions.

use super::authorization::Grants;
use super::field::FieldType;
use super::keyword::{Action, Event};
use super::names::Name;
use super::related::{Condition, RelatedField};

/// A field of `Query`.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// Its name.
    pub name: Name,
    /// Its description.
    pub description: Option<String>,
    /// Its type in the API.
    pub ty: FieldType,
    /// The item type of its result.
    pub item_type: Name,
    /// Its kind.
    pub kind: QueryKind,
    /// The callers of the field; `None` as for its items.
    pub authorization: Option<Grants>,
}

/// The kind of a root field.
#[derive(Debug, Clone, PartialEq)]
pub enum QueryKind {
    /// An item by its id.
    ById,
    /// An item by a unique field, which is the argument.
    ByUnique(Name),
    /// The item of the caller.
    Caller,
    /// A list.
    Related(RelatedField),
}

/// A mutation of another name, of some fields, or with Rust.
#[derive(Debug, Clone, PartialEq)]
pub struct Mutation {
    /// Its name.
    pub name: Name,
    /// Its description.
    pub description: Option<String>,
    /// The item type that it writes.
    pub item_type: Name,
    /// The write.
    pub action: Action,
    /// The fields that it writes; empty for all writable fields.
    pub fields: Vec<Name>,
    /// Whether typed Rust runs in place of the generated command.
    pub rust: bool,
    /// Conditions on the item. Where one does not hold, the mutation fails with `CONFLICT`.
    pub conditions: Vec<Condition>,
    /// The callers; `None` as for the action on its items.
    pub authorization: Option<Grants>,
}

/// A subscription to an item or a list.
#[derive(Debug, Clone, PartialEq)]
pub struct Subscription {
    /// Its name.
    pub name: Name,
    /// Its description.
    pub description: Option<String>,
    /// The item type of its events.
    pub item_type: Name,
    /// The item or list.
    pub source: LiveSource,
    /// The events, in the order of [`Event`].
    pub on: Vec<Event>,
    /// The callers; `None` as for the items.
    pub authorization: Option<Grants>,
}

/// The source of a subscription's events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveSource {
    /// One item, by the argument `id`.
    Item,
    /// A field of `Query`.
    Query(Name),
    /// A related field of an item, which an argument names by its id.
    Field {
        /// The item type.
        item_type: Name,
        /// Its related field.
        field: Name,
        /// The argument, such as `postId`.
        argument: Name,
    },
}
