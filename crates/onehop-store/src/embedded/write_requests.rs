//! Requests to the writer: batches for one logical partition, with their preconditions.

use bytes::Bytes;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::edits::PreparedEdit;
use super::header::Header;
use super::keys::ContainerId;
use crate::document::KeyProperties;
use crate::{ETag, Rejection, WriteError};
use onehop_runtime::planted;

/// A change of one item, with its JSON already read.
#[derive(Debug)]
pub(super) enum ItemChange {
    Put {
        precondition: Precondition,
        properties: KeyProperties,
        body: Bytes,
        /// The difference from the stored item, where it is small.
        edit: Option<PreparedEdit>,
    },
    Delete {
        if_match: Option<u64>,
    },
    /// Deletes the item only where its time is over.
    Purge,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Precondition {
    MustNotExist,
    Any,
    MustExist { if_match: Option<u64> },
}

/// One operation on one item.
#[derive(Debug)]
pub(super) struct WriteOperation {
    pub id: String,
    pub change: ItemChange,
}

/// A batch for one logical partition.
#[derive(Debug)]
pub(super) struct WriteRequest {
    pub container: ContainerId,
    pub partition_key: String,
    pub physical: u16,
    pub operations: Vec<WriteOperation>,
    /// When it entered the writer's queue.
    pub queued_at: Instant,
    pub reply: oneshot::Sender<Result<Vec<Option<ETag>>, WriteError>>,
}

impl ItemChange {
    /// Checks the precondition against the live item.
    ///
    /// # Errors
    /// The precondition does not hold.
    pub(super) fn check(&self, live: Option<&Header>) -> Result<(), Rejection> {
        let must_match = |if_match: Option<u64>| match (live, if_match) {
            (None, _) => Err(Rejection::NotFound),
            (Some(header), Some(sequence))
                if header.sequence != sequence && !planted!("skipped-if-match") =>
            {
                Err(Rejection::PreconditionFailed)
            }
            (Some(_), _) => Ok(()),
        };
        match self {
            Self::Put { precondition: Precondition::MustNotExist, .. } if live.is_some() => {
                Err(Rejection::Conflict)
            }
            Self::Put { precondition: Precondition::MustExist { if_match }, .. } => must_match(*if_match),
            Self::Put { .. } | Self::Purge => Ok(()),
            Self::Delete { if_match } => must_match(*if_match),
        }
    }
}

impl WriteRequest {
    /// Bytes of the bodies that it writes.
    pub(super) fn body_bytes(&self) -> usize {
        let bytes = |operation: &WriteOperation| match &operation.change {
            ItemChange::Put { body, .. } => body.len(),
            ItemChange::Delete { .. } | ItemChange::Purge => 0,
        };
        self.operations.iter().map(bytes).sum()
    }

    /// The ids of the operations, each once, in order of first appearance: as the writer collects them.
    pub(super) fn unique_ids(&self) -> impl Iterator<Item = &str> {
        self.operations.iter().enumerate().filter_map(|(index, operation)| {
            let repeated = self.operations[..index].iter().any(|other| other.id == operation.id);
            (!repeated).then_some(operation.id.as_str())
        })
    }
}
