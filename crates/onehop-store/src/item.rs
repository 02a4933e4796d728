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

impl From<String> for PartitionKey {
    fn from(value: String) -> Self {
        Self::new(value)
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
    /// The version of the item, for `If-Match`.
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
    /// The id.
    pub id: String,
    /// The JSON body, with the id and the partition key in it.
    pub body: Bytes,
}

impl NewItem {
    /// Writes `value` as the body of an item with this id.
    ///
    /// # Errors
    /// `value` has no JSON: a map whose keys are no texts, or a `Serialize` of its own that fails.
    pub fn try_encode<T: Serialize>(id: impl Into<String>, value: &T) -> Result<Self, EncodeError> {
        let id = id.into();
        match serde_json::to_vec(value) {
            Ok(body) => Ok(Self { id, body: Bytes::from(body) }),
            Err(source) => Err(EncodeError { id, source }),
        }
    }

    /// The same for a value that has JSON by its type, as a struct of texts, numbers and lists has: a
    /// convenience.
    ///
    /// # Panics
    /// Where [`try_encode`](Self::try_encode) returns an error. That one is for values whose type does not
    /// rule it out.
    #[must_use]
    pub fn encode<T: Serialize>(id: impl Into<String>, value: &T) -> Self {
        Self::try_encode(id, value).expect("a plain struct with string keys serialises")
    }
}

/// A value that cannot be the body of an item.
#[derive(Debug, thiserror::Error)]
#[error("the item {id:?} cannot be written as JSON: {source}")]
pub struct EncodeError {
    id: String,
    source: serde_json::Error,
}

impl From<EncodeError> for Fault {
    fn from(error: EncodeError) -> Self {
        Self::new(FaultKind::Internal, "an item cannot be written").with_source(error)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_map_with_keys_that_are_no_texts_is_an_error_and_no_panic() {
        let value = BTreeMap::from([((1, 2), "a")]);
        let error = NewItem::try_encode("i1", &value).expect_err("it has no JSON").to_string();
        assert_eq!(error, "the item \"i1\" cannot be written as JSON: key must be a string");
        assert!(NewItem::try_encode("i1", &BTreeMap::from([("a", 1)])).is_ok());
    }
}
