//! Items: a JSON body, an ETag and a time.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Fault, FaultKind, ShapeError, json_text};

/// The value of a container's partition key; items that share it share a logical partition.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PartitionKey(Arc<str>);

impl PartitionKey {
    /// A partition key with this value.
    #[must_use]
    pub fn new(value: impl Into<Arc<str>>) -> Self {
        Self(value.into())
    }

    /// The value as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for PartitionKey {
    fn from(value: &str) -> Self {
        Self::new(value)
    }
}

impl fmt::Display for PartitionKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// An item's ETag: it changes with every write of the item.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ETag(Repr);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Repr {
    Number(u64),
    Text(Arc<str>),
}

impl ETag {
    /// An ETag of a store that numbers its writes.
    #[must_use]
    pub fn from_number(number: u64) -> Self {
        Self(Repr::Number(number))
    }

    /// An ETag of a store that hands out opaque texts.
    #[must_use]
    pub fn from_text(text: impl Into<Arc<str>>) -> Self {
        Self(Repr::Text(text.into()))
    }

    /// The number, if this store numbers its writes.
    #[must_use]
    pub fn number(&self) -> Option<u64> {
        match self.0 {
            Repr::Number(number) => Some(number),
            Repr::Text(_) => None,
        }
    }
}

impl fmt::Display for ETag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Number(number) => write!(formatter, "{number:x}"),
            Repr::Text(text) => formatter.write_str(text),
        }
    }
}

/// An item as it was read.
#[derive(Debug, Clone)]
pub struct Item {
    /// The JSON body with the item's own properties, and no system properties.
    pub body: Bytes,
    pub etag: ETag,
    /// When the item was last written, in milliseconds since the Unix epoch (whole seconds in some stores).
    pub timestamp_ms: i64,
}

impl Item {
    /// Reads the body as `T`.
    ///
    /// # Errors
    /// A fault of kind [`FaultKind::Corrupt`] when the body is not a `T`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, Fault> {
        json_text(&self.body).and_then(serde_json::from_str).map_err(|error| {
            Fault::new(FaultKind::Corrupt, "an item's body has an unexpected shape")
                .with_source(ShapeError::from(error))
        })
    }
}

/// An item to be written: its id and its JSON body, which repeats the id and holds the partition key.
#[derive(Debug, Clone)]
pub struct NewItem {
    pub id: String,
    pub body: Bytes,
}

impl NewItem {
    /// Writes `value` as the body of an item with this id.
    ///
    /// # Panics
    /// Never for the stored shapes of this project: they are plain structs with string keys.
    #[must_use]
    pub fn encode<T: Serialize>(id: impl Into<String>, value: &T) -> Self {
        let body = serde_json::to_vec(value).expect("a plain struct with string keys serialises");
        Self { id: id.into(), body: Bytes::from(body) }
    }
}
