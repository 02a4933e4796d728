//! Writes: single operations, transactional batches, and their limits.

use super::{ContainerName, ETag, NewItem, PartitionKey, Rejection};

/// The limits of Azure Cosmos DB, kept by every adapter.
pub mod limits {
    /// Operations in a transactional batch.
    pub const BATCH_OPERATIONS_MAX: usize = 100;
    /// Bytes of an item's JSON.
    pub const ITEM_BYTES_MAX: usize = 2 * 1024 * 1024;
    /// Items and index entries of one logical partition in Azure Cosmos DB, in GB ("Service quotas",
    /// learn.microsoft.com). The embedded store has no such limit.
    pub const LOGICAL_PARTITION_GB_MAX: u64 = 20;
    /// Bytes of all items of a batch.
    pub const BATCH_BYTES_MAX: usize = 2 * 1024 * 1024;
    /// Bytes that a client leaves free in a batch for the envelope that an adapter adds around its
    /// operations. The service limits the whole request to [`BATCH_BYTES_MAX`].
    pub const BATCH_ENVELOPE_BYTES: usize = 64 * 1024;
    /// Bytes of an id.
    pub const ID_BYTES_MAX: usize = 1023;
    /// Bytes of a partition key's value.
    pub const PARTITION_KEY_BYTES_MAX: usize = 2048;
    /// Bytes of a text that an index holds: the type, the order value, the value of an equality path.
    pub const INDEXED_TEXT_BYTES_MAX: usize = 2048;
    /// Properties of an order: a composite index of Azure Cosmos DB has eight paths, with the type and the
    /// id.
    pub const ORDER_PROPERTIES_MAX: usize = 6;
    /// Items in a page of a query or of the change feed.
    pub const PAGE_ITEMS_MAX: usize = 1000;
}

/// One write of one item.
#[derive(Debug, Clone)]
pub enum WriteOp {
    /// Writes an item that must not exist (If-None-Match: *).
    Create(NewItem),
    /// Writes an item whether it exists or not.
    Upsert(NewItem),
    /// Writes an item that must exist, and unchanged where an ETag is given (If-Match).
    Replace { item: NewItem, if_match: Option<ETag> },
    /// Deletes an item that must exist, and unchanged where an ETag is given (If-Match).
    Delete { id: String, if_match: Option<ETag> },
}

impl WriteOp {
    /// The same operation on any version of the item.
    #[must_use]
    pub fn without_if_match(self) -> Self {
        match self {
            Self::Replace { item, .. } => Self::Replace { item, if_match: None },
            Self::Delete { id, .. } => Self::Delete { id, if_match: None },
            operation => operation,
        }
    }

    /// The id of the item that is written.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Create(item) | Self::Upsert(item) | Self::Replace { item, .. } => &item.id,
            Self::Delete { id, .. } => id,
        }
    }

    /// The item that is written; `None` for a delete.
    #[must_use]
    pub fn item(&self) -> Option<&NewItem> {
        match self {
            Self::Create(item) | Self::Upsert(item) | Self::Replace { item, .. } => Some(item),
            Self::Delete { .. } => None,
        }
    }

    /// The bytes of the item's JSON; 0 for a delete.
    #[must_use]
    pub fn body_bytes(&self) -> usize {
        match self {
            Self::Create(item) | Self::Upsert(item) | Self::Replace { item, .. } => item.body.len(),
            Self::Delete { .. } => 0,
        }
    }
}

/// Writes that happen together or not at all, in one logical partition.
#[derive(Debug, Clone)]
pub struct Batch {
    pub container: ContainerName,
    pub partition_key: PartitionKey,
    pub operations: Vec<WriteOp>,
}

impl Batch {
    /// An empty batch for one logical partition.
    #[must_use]
    pub fn new(container: ContainerName, partition_key: PartitionKey) -> Self {
        Self { container, partition_key, operations: Vec::new() }
    }

    /// Checks the limits that hold for every adapter; returns the operation that broke one and the limit.
    ///
    /// # Errors
    /// [`Rejection::TooManyOperations`], [`Rejection::TooLarge`].
    pub fn check_limits(&self) -> Result<(), (usize, Rejection)> {
        if self.operations.len() > limits::BATCH_OPERATIONS_MAX {
            let actual = self.operations.len();
            let rejection = Rejection::TooManyOperations { limit: limits::BATCH_OPERATIONS_MAX, actual };
            return Err((limits::BATCH_OPERATIONS_MAX, rejection));
        }
        let mut total = 0;
        for (index, operation) in self.operations.iter().enumerate() {
            check_operation(operation).map_err(|rejection| (index, rejection))?;
            total += operation.body_bytes();
            if total > limits::BATCH_BYTES_MAX {
                return Err((
                    index,
                    Rejection::TooLarge { limit_bytes: limits::BATCH_BYTES_MAX, actual_bytes: total },
                ));
            }
        }
        Ok(())
    }
}

/// Checks the limits of a single write.
///
/// # Errors
/// [`Rejection::TooLarge`], [`Rejection::InvalidId`].
pub(super) fn check_operation(operation: &WriteOp) -> Result<(), Rejection> {
    let actual_bytes = operation.body_bytes();
    if actual_bytes > limits::ITEM_BYTES_MAX {
        return Err(Rejection::TooLarge { limit_bytes: limits::ITEM_BYTES_MAX, actual_bytes });
    }
    let id = operation.id();
    if id.is_empty() || id.len() > limits::ID_BYTES_MAX || id.contains(['/', '\\', '?', '#', '\0']) {
        return Err(Rejection::InvalidId);
    }
    Ok(())
}
