//! Conditional writes: one write whose refusal is an answer, by optimistic concurrency.

use onehop_store::{
    ContainerName, Fault, FaultKind, Ledger, NewItem, PartitionKey, Rejection, Store, WriteError, WriteOp,
};

use super::error::{contended, unexpected};

/// The outcome of a conditional write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteAttempt {
    Written,
    /// It was refused, or it is not known whether it was written: the items have to be read again.
    LookAgain,
}

/// One conditional write. A refusal by precondition, by a conflict or by absence is an answer.
pub(crate) async fn attempt(
    store: &dyn Store,
    container: ContainerName,
    partition_key: &PartitionKey,
    operation: WriteOp,
    ledger: &Ledger,
) -> Result<WriteAttempt, Fault> {
    let outcome = store.write(container, partition_key, operation, ledger).await;
    Ok(match judge(outcome)? {
        Some(_) => WriteAttempt::Written,
        None => WriteAttempt::LookAgain,
    })
}

/// The result of a conditional write or batch; `None` where the items have to be read again.
pub(crate) fn judge<T>(outcome: Result<T, WriteError>) -> Result<Option<T>, Fault> {
    match outcome {
        Ok(written) => Ok(Some(written)),
        Err(WriteError::Fault(fault)) if fault.kind == FaultKind::Ambiguous => Ok(None),
        Err(WriteError::Fault(fault)) => Err(fault),
        Err(WriteError::Rejected { reason, .. }) => match reason {
            Rejection::Conflict | Rejection::NotFound | Rejection::PreconditionFailed => Ok(None),
            other => Err(unexpected(other)),
        },
    }
}

/// Whether it is not known if a write happened.
pub(crate) fn is_ambiguous<T>(outcome: &Result<T, WriteError>) -> bool {
    matches!(outcome, Err(WriteError::Fault(fault)) if fault.kind == FaultKind::Ambiguous)
}

/// Attempts of a write whose answer was lost, or that lost a race.
pub(crate) const ATTEMPTS_MAX: u32 = 16;

/// Creates an item whose id is new: an existing one was created by an attempt whose answer was lost.
pub(crate) async fn create_new(
    store: &dyn Store,
    container: ContainerName,
    partition_key: &PartitionKey,
    item: &NewItem,
    ledger: &Ledger,
) -> Result<(), Fault> {
    for _ in 0..ATTEMPTS_MAX {
        let create = WriteOp::Create(item.clone());
        if attempt(store, container, partition_key, create, ledger).await? == WriteAttempt::Written
            || store.read(container, partition_key, &item.id, ledger).await?.is_some()
        {
            return Ok(());
        }
    }
    Err(contended("a new item"))
}
