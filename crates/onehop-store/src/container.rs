//! Container specification: name, partition key, and the paths that its indexes serve.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::charges::IndexingPolicy;
use crate::interned::{InternError, interned};

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
    /// The property that holds the partition key.
    pub partition_key: &'static str,
    /// The property by which queries order items; its values sort as text. Items without it sort first.
    pub order_by: Option<&'static str>,
    /// Properties on which a query across partitions may ask for equality.
    pub equality: &'static [&'static str],
    /// Types of which a query across partitions may ask for the newest.
    pub newest_types: &'static [&'static str],
    /// Whether items may be soft-deleted (`"deleted": true`). Where they may not, queries need no filter for
    /// them and no index, and a soft-deleted item is refused.
    pub soft_deletes: bool,
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

/// The property by which every query filters.
const TYPE: &str = "type";
/// The property by which queries of a container with soft-deleted items filter.
const DELETED: &str = "deleted";

impl ContainerSpec {
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
                self.needed_properties().into_iter().map(|property| format!("/{property}/?")).collect();
            let included: Vec<&str> = paths.iter().map(String::as_str).collect();
            IndexingPolicy::of(&included, &["/*"]).expect("a property's name is a path")
        };
        match self.order_by {
            Some(order_by) => policy.with_composite(&["/type", &format!("/{order_by}"), "/id"]),
            None => policy,
        }
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
        let more = self.order_by.iter().chain(self.equality).chain([&self.partition_key]);
        for property in more.filter(|property| **property != "id") {
            if !properties.contains(property) {
                properties.push(property);
            }
        }
        properties
    }
}
