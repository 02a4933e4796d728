//! Model: the owned, checked value of a file. It is only made by reading, so its parts agree with each other.

mod authorization;
mod container;
mod expiring_lists;
mod field;
mod frozen_amounts;
mod keyword;
mod literal;
mod names;
mod operation;
mod queried_counts;
mod related;
mod reserved;
mod serving;
mod stored_places;
mod types;

pub use authorization::{Authorization, Claim, FieldAuthorization, Grants};
pub use container::Container;
pub(crate) use field::stem;
pub use field::{
    Checks, Computed, CopiedField, CopyOrigin, CopySource, CountField, CurrencyProperty, DefaultValue, Field,
    FieldKind, FieldType, Kept, ListElements, ReferenceField, Scalar, StoredField, TypeOf, ValueSource,
};
pub use keyword::{Action, Event, Format, Function, Keyword, Normalize, Place};
pub(crate) use keyword::{CountMode, DeletionMode, Who};
pub use literal::Literal;
pub(crate) use literal::quoted;
pub use names::{ContainerName, FieldPath, Name, PropertyPath};
pub use operation::{LiveSource, Mutation, Query, QueryKind, Subscription};
pub use related::{Condition, FieldTest, Link, ListSource, OrderBy, Page, RelatedField, RelatedSource};
pub(crate) use reserved::reserved_properties;
pub use stored_places::StoredPlace;
pub use types::{
    Deletion, EmbeddedType, EnumType, EnumValue, ItemType, ItemVersion, KeySource, PathCondition, PathTest,
};

/// A domain and one design of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Model {
    pub(crate) parts: ModelParts,
}

/// The parts of a model while it is read.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ModelParts {
    pub name: String,
    pub design: Option<String>,
    pub version: u32,
    pub description: Option<String>,
    pub containers: Vec<Container>,
    pub items: Vec<ItemType>,
    pub embedded: Vec<EmbeddedType>,
    pub enums: Vec<EnumType>,
    pub queries: Vec<Query>,
    pub mutations: Vec<Mutation>,
    pub subscriptions: Vec<Subscription>,
}

impl Model {
    /// The name of the domain.
    pub fn name(&self) -> &str {
        &self.parts.name
    }

    /// The name of the design, such as `V3`.
    pub fn design(&self) -> Option<&str> {
        self.parts.design.as_deref()
    }

    /// The version of the model, from 1.
    pub fn version(&self) -> u32 {
        self.parts.version
    }

    /// The description of the design.
    pub fn description(&self) -> Option<&str> {
        self.parts.description.as_deref()
    }

    /// The containers, in the order of the file.
    pub fn containers(&self) -> &[Container] {
        &self.parts.containers
    }

    /// The container of a name.
    pub fn container(&self, name: &str) -> Option<&Container> {
        self.parts.containers.iter().find(|container| &*container.name == name)
    }

    /// The item types, in the order of the file.
    pub fn items(&self) -> &[ItemType] {
        &self.parts.items
    }

    /// The item type of a name.
    pub fn item(&self, name: &str) -> Option<&ItemType> {
        self.parts.item(name)
    }

    /// Whether items of a type may end without a write: by the time to live of their container, or by their
    /// own.
    pub fn expires(&self, item: &ItemType) -> bool {
        let container = self.container(&item.container);
        item.deletion == Deletion::Ttl || container.is_some_and(|container| container.ttl_seconds.is_some())
    }

    /// Whether no change shows the end of an item: it is deleted without a mark, or expires.
    pub fn ends_unseen(&self, item: &ItemType) -> bool {
        item.deletion == Deletion::Hard || self.expires(item)
    }

    /// Whether a mutation deletes items of a type, a generated one or one of the model.
    pub fn deletes(&self, item: &ItemType) -> bool {
        let deletes =
            |mutation: &Mutation| mutation.item_type == item.name && mutation.action == Action::Delete;
        item.writes.contains(&Action::Delete) || self.mutations().iter().any(deletes)
    }

    /// Whether items of a type do not store a field that has its default: it is `sparse`, and neither an id,
    /// nor a partition key, nor the order of a list asks for it.
    pub fn leaves_out_default(&self, item: &ItemType, field: &Field) -> bool {
        let FieldKind::Stored(StoredField { default: Some(DefaultValue { sparse: true, .. }), .. }) =
            &field.kind
        else {
            return false;
        };
        let is_key = |source: &KeySource| matches!(source, KeySource::Field(name) if *name == field.name);
        let is_asked_for = |related: &RelatedField| {
            let by = match &related.source {
                RelatedSource::List(list) => list.by.as_slice(),
                RelatedSource::Partition { by } => by.as_slice(),
                RelatedSource::Find { by, .. } => by.as_slice(),
            };
            related.item_type == item.name
                && (by.contains(&field.name) || related.order.iter().any(|order| order.field == field.name))
        };
        let of_items =
            self.items().iter().flat_map(|item| &item.fields).filter_map(|field| match &field.kind {
                FieldKind::Related(related) => Some(related),
                _ => None,
            });
        let of_query = self.queries().iter().filter_map(|query| match &query.kind {
            QueryKind::Related(related) => Some(related),
            _ => None,
        });
        !item.key.iter().any(is_key)
            && !item.id_from.contains(&field.name)
            && !of_items.chain(of_query).any(is_asked_for)
    }

    /// The embedded types, in the order of the file.
    pub fn embedded(&self) -> &[EmbeddedType] {
        &self.parts.embedded
    }

    /// The embedded type of a name.
    pub fn embedded_type(&self, name: &str) -> Option<&EmbeddedType> {
        self.parts.embedded.iter().find(|embedded| &*embedded.name == name)
    }

    /// The enums, in the order of the file.
    pub fn enums(&self) -> &[EnumType] {
        &self.parts.enums
    }

    /// The enum of a name.
    pub fn enum_type(&self, name: &str) -> Option<&EnumType> {
        self.parts.enums.iter().find(|it| &*it.name == name)
    }

    /// The fields of `Query`; those that follow from the item types where the file has no `Query`.
    pub fn queries(&self) -> &[Query] {
        &self.parts.queries
    }

    /// The mutations that the file names. The generated ones are the `writes` of each item type.
    pub fn mutations(&self) -> &[Mutation] {
        &self.parts.mutations
    }

    /// The subscriptions.
    pub fn subscriptions(&self) -> &[Subscription] {
        &self.parts.subscriptions
    }
}

impl ModelParts {
    pub(crate) fn item(&self, name: &str) -> Option<&ItemType> {
        self.items.iter().find(|item| &*item.name == name)
    }

    /// The fields of an item type or embedded type.
    pub(crate) fn fields(&self, type_name: &str) -> Option<&[Field]> {
        let embedded = || self.embedded.iter().find(|embedded| &*embedded.name == type_name);
        let item = self.item(type_name).map(|item| item.fields.as_slice());
        item.or_else(|| embedded().map(|embedded| embedded.fields.as_slice()))
    }

    pub(crate) fn field(&self, type_name: &str, field: &str) -> Option<&Field> {
        self.fields(type_name)?.iter().find(|known| &*known.name == field)
    }
}
