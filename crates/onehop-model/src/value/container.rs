//! Containers of a model.

use super::keyword::Place;
use super::names::{ContainerName, PropertyPath};

/// A container: items with one partition key.
#[derive(Debug, Clone, PartialEq)]
pub struct Container {
    /// Its name.
    pub name: ContainerName,
    /// The paths of the partition key, one to three.
    pub key: Vec<PropertyPath>,
    /// Its place.
    pub place: Place,
    /// Whether another application writes it. Onehop never writes it.
    pub followed: bool,
    /// The time to live of its items, in seconds.
    pub ttl_seconds: Option<u32>,
    /// The paths without an index. All other paths are indexed.
    pub exclude: Vec<PropertyPath>,
    /// The composite indexes; `None` where they are derived from orders: type, order, id.
    pub composite: Option<Vec<Vec<PropertyPath>>>,
}
