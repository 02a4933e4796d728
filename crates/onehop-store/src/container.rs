//! Container specification: name, partition key, and the paths that its indexes serve.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::charges::IndexingPolicy;
use crate::interned::{InternError, interned};
use crate::order_value::{OrderProperty, properties_of_order};
use crate::property_path::{index_path, is_nested, root_of_property};
use crate::{Fault, FaultKind};

/// A container's name. It lives as long as the program: a constant, or [interned](crate::interned).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContainerName(pub &'static str);

impl ContainerName {
    /// The container of a name that is read at run time.
    ///
    /// # Errors
    /// As [`interned`].
    pub fn named(name: &str) -> Result<Self, InternError> {
        interned(name).map(Self)
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for ContainerName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

impl Serialize for ContainerName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}

/// A container as an adapter has to provide it. Paths are top-level property names without the slash.
#[derive(Debug, Clone, Copy)]
pub struct ContainerSpec {
    pub name: ContainerName,
    /// The property that holds the partition key. Of a hierarchical key the two or three properties, with
    /// slashes between them; its value has [`KEY_SEPARATOR`] between the values.
    pub partition_key: &'static str,
    /// The property by which queries order items, texts or numbers, or several properties:
    /// [`joined_order`](crate::joined_order). Items without it sort first.
    pub order_by: Option<&'static str>,
    /// Orders of single types, in place of `order_by`. The first order of a type is its main one; each
    /// further one costs its own index.
    pub orders: &'static [TypeOrder],
    /// Properties on which a query across partitions may ask for equality.
    pub equality: &'static [&'static str],
    /// Types of which a query across partitions may ask for the newest.
    pub newest_types: &'static [&'static str],
    /// The time to live of items without one of their own, in seconds since their last write; `None` for
    /// ever.
    pub ttl_s: Option<u32>,
    /// Whether items may be soft-deleted (`"deleted": true`). Where they may not, queries need no filter for
    /// them and no index, and a soft-deleted item is refused.
    pub soft_deletes: bool,
}

/// An order of the items of one type in a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TypeOrder {
    /// The value of `type`.
    pub item_type: &'static str,
    /// The property by which queries order the items, or several: [`joined_order`](crate::joined_order).
    pub property: &'static str,
}

/// The properties of an item that a container indexes. Queries find the same either way; each indexed
/// property makes a write dearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Indexing {
    /// Every one, as is Azure Cosmos DB's default, of the containers that queries look into.
    All,
    /// The properties that query shapes filter or sort by.
    #[default]
    Needed,
}

/// The index that serves an order of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderIndex {
    /// The items themselves, which are in their main order.
    Main,
    /// The index of a further order, by its place among them.
    Further(usize),
}

/// Separates the properties of a hierarchical partition key.
const KEY_PROPERTY_SEPARATOR: char = '/';
/// Separates the values of a hierarchical partition key. No value has control characters.
pub const KEY_SEPARATOR: char = '\u{1f}';

/// The partition key of these values: one, or up to three of a hierarchical key.
#[must_use]
pub fn joined_key<'a>(values: impl IntoIterator<Item = &'a str>) -> String {
    values.into_iter().collect::<Vec<_>>().join(&KEY_SEPARATOR.to_string())
}

/// The property by which every query filters.
const TYPE: &str = "type";
/// The property by which queries of a container with soft-deleted items filter.
const DELETED: &str = "deleted";

impl ContainerSpec {
    /// A container of items that queries find by type within a logical partition, that do not expire, and
    /// that may be soft-deleted.
    #[must_use]
    pub const fn new(name: &'static str, partition_key: &'static str) -> Self {
        Self {
            name: ContainerName(name),
            partition_key,
            order_by: None,
            orders: &[],
            equality: &[],
            newest_types: &[],
            ttl_s: None,
            soft_deletes: true,
        }
    }

    /// The same whose queries order items by a property.
    #[must_use]
    pub const fn ordered_by(self, property: &'static str) -> Self {
        Self { order_by: Some(property), ..self }
    }

    /// The same with properties on which a query across partitions may ask for equality.
    #[must_use]
    pub const fn with_equality(self, properties: &'static [&'static str]) -> Self {
        Self { equality: properties, ..self }
    }

    /// The same with types of which a query across partitions may ask for the newest.
    #[must_use]
    pub const fn with_newest(self, types: &'static [&'static str]) -> Self {
        Self { newest_types: types, ..self }
    }

    /// The same whose items end this many seconds after their last write, unless they have a time to live of
    /// their own.
    #[must_use]
    pub const fn expiring_after_s(self, ttl_s: u32) -> Self {
        Self { ttl_s: Some(ttl_s), ..self }
    }

    /// The same without soft deletion.
    #[must_use]
    pub const fn without_soft_deletes(self) -> Self {
        Self { soft_deletes: false, ..self }
    }

    /// Whether a top-level property of an item is indexed. `id` always is.
    #[must_use]
    pub fn indexes(&self, indexing: Indexing, property: &str) -> bool {
        let everything = indexing == Indexing::All && !self.is_found_by_id_alone();
        everything || property == "id" || self.needed_properties().contains(&property)
    }

    /// Whether items are found by their id alone: each is in a logical partition of its own, and no query
    /// looks for it.
    #[must_use]
    pub fn is_found_by_id_alone(&self) -> bool {
        self.partition_key == "id"
            && self.order_by.is_none()
            && self.orders.is_empty()
            && self.equality.is_empty()
            && self.newest_types.is_empty()
    }

    /// The indexing policy of the container, with its composite index.
    #[must_use]
    pub fn indexing_policy(&self, indexing: Indexing) -> IndexingPolicy {
        let policy = if indexing == Indexing::All && !self.is_found_by_id_alone() {
            IndexingPolicy::everything()
        } else {
            let paths: Vec<String> =
                self.needed_properties().into_iter().map(|property| index_path(property) + "/?").collect();
            let included: Vec<&str> = paths.iter().map(String::as_str).collect();
            IndexingPolicy::of(&included, &["/*"]).expect("a property's name is a path")
        };
        self.order_properties().into_iter().fold(policy, |policy, order| {
            let properties = properties_of_order(order).map(|property| index_path(property.name));
            let paths: Vec<String> =
                ["/type".to_owned()].into_iter().chain(properties).chain(["/id".to_owned()]).collect();
            policy.with_composite(&paths.iter().map(String::as_str).collect::<Vec<_>>())
        })
    }

    /// The properties of the partition key: one, or up to three of a hierarchical key.
    pub fn key_properties(&self) -> impl Iterator<Item = &'static str> {
        self.partition_key.split(KEY_PROPERTY_SEPARATOR)
    }

    /// Whether a property is part of the partition key.
    pub(crate) fn is_key(&self, property: &str) -> bool {
        self.partition_key == property || self.place_in_key(property).is_some()
    }

    /// The place of a property in a hierarchical partition key.
    pub(crate) fn place_in_key(&self, property: &str) -> Option<usize> {
        if !self.is_hierarchical() {
            return None;
        }
        self.key_properties().position(|own| own == property)
    }

    /// Whether the partition key has several properties.
    #[must_use]
    pub fn is_hierarchical(&self) -> bool {
        self.partition_key.contains(KEY_PROPERTY_SEPARATOR)
    }

    /// The name of a property, if an order has it.
    pub(crate) fn ordered(&self, property: &str) -> Option<&'static str> {
        let mut orders = self.orders.iter().map(|order| order.property).chain(self.order_by);
        orders.find_map(|order| {
            let mut properties = properties_of_order(order).map(|ordered| ordered.name);
            if order == property { Some(order) } else { properties.find(|name| *name == property) }
        })
    }

    /// The properties of orders below the object with this name, each once.
    pub(crate) fn ordered_below(&self, root: &str) -> Vec<&'static str> {
        let mut below = Vec::new();
        let orders = self.orders.iter().map(|order| order.property).chain(self.order_by);
        let nested = orders.filter(|order| order.contains('/'));
        for OrderProperty { name, .. } in nested.flat_map(properties_of_order) {
            if is_nested(name) && root_of_property(name) == root && !below.contains(&name) {
                below.push(name);
            }
        }
        below
    }

    /// All orders of queries, each once.
    #[must_use]
    pub fn order_properties(&self) -> Vec<&'static str> {
        let mut properties: Vec<_> = self.order_by.into_iter().collect();
        for order in self.orders {
            if !properties.contains(&order.property) {
                properties.push(order.property);
            }
        }
        properties
    }

    /// The orders of a type that the container declares for it alone.
    fn orders_of(&self, item_type: &str) -> impl Iterator<Item = &'static str> {
        self.orders.iter().filter(move |order| order.item_type == item_type).map(|order| order.property)
    }

    /// The property by which queries order the items of a type, unless they name another.
    #[must_use]
    pub fn order_of(&self, item_type: &str) -> Option<&'static str> {
        self.orders_of(item_type).next().or(self.order_by)
    }

    /// The further orders of a type: each has an index of its own.
    pub fn further_orders(&self, item_type: &str) -> impl Iterator<Item = &'static str> {
        self.orders_of(item_type).skip(1)
    }

    /// The index of an order of a type.
    ///
    /// # Errors
    /// The container has no such order.
    pub fn order_index(&self, item_type: &str, order_by: Option<&str>) -> Result<OrderIndex, Fault> {
        let Some(property) = order_by.filter(|property| self.order_of(item_type) != Some(*property)) else {
            return Ok(OrderIndex::Main);
        };
        let place = self.further_orders(item_type).position(|further| further == property);
        place.map(OrderIndex::Further).ok_or_else(|| {
            let message = format!("{} has no index on the order of {item_type} by {property}", self.name);
            Fault::new(FaultKind::Internal, message)
        })
    }

    /// The properties that query shapes filter or sort by, each once, as [`Indexing::Needed`] includes them.
    /// `id` is not among them, since it is always indexed.
    #[must_use]
    pub fn needed_properties(&self) -> Vec<&'static str> {
        if self.is_found_by_id_alone() {
            return Vec::new();
        }
        let mut properties = vec![TYPE];
        properties.extend(self.soft_deletes.then_some(DELETED));
        let orders = self.order_properties().into_iter();
        let ordered = orders.flat_map(properties_of_order).map(|property| property.name);
        let more = ordered.chain(self.equality.iter().copied()).chain(self.key_properties());
        for property in more.filter(|property| *property != "id") {
            if !properties.contains(&property) {
                properties.push(property);
            }
        }
        properties
    }
}
