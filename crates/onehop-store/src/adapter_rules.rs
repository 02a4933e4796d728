//! Adapter rules: the checks of the port that every adapter makes before it does anything, for adapters
//! outside of this crate.

use crate::document;
use crate::{ContainerSpec, Fault, Keyset, PartitionKey, Rejection, WriteOp, limits};

pub use crate::document::KeyProperties;

/// Checks a write to a logical partition, and returns the key properties of the item; `None` for a delete.
///
/// # Errors
/// A passed limit, a body whose id or partition key differs from the write's, or a soft-deleted item in a
/// container without soft deletion.
pub fn check_write(
    spec: &ContainerSpec,
    partition_key: &PartitionKey,
    operation: &WriteOp,
) -> Result<Option<KeyProperties>, Rejection> {
    document::check_text(partition_key.as_str(), limits::PARTITION_KEY_BYTES_MAX)?;
    document::check_write(spec, partition_key.as_str(), operation, None)
}

/// Refuses a keyset that no item of a store can have.
///
/// # Errors
/// A fault of the kind [`InvalidContinuation`](crate::FaultKind::InvalidContinuation).
pub fn check_keyset(after: Option<&Keyset>) -> Result<(), Fault> {
    document::check_keyset(after)
}

/// Whether an item could have been written under these keys.
#[must_use]
pub fn can_exist(partition_key: &str, id: &str) -> bool {
    document::can_exist(partition_key, id)
}

/// Whether an index can hold a text.
#[must_use]
pub fn is_indexable(text: &str) -> bool {
    document::is_indexable(text)
}
