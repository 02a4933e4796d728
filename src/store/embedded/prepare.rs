//! What is checked before the writer or the engine is asked: limits, keys and the JSON of items. It knows neither.

use super::writer::{Condition, Intent, Operation};
use super::{charges, document};
use crate::store::batch::check_operation;
use crate::store::{
    ContainerSpec, ETag, Fault, FaultKind, Keyset, OperationKind, Rejection, RequestCharge, WriteOp, limits,
};

/// Turns an operation of the port into one of the writer, with its estimated charge.
pub(super) fn prepare(
    spec: &ContainerSpec,
    partition_key: &str,
    operation: WriteOp,
) -> Result<(Operation, RequestCharge), Rejection> {
    check_operation(&operation)?;
    let bytes = operation.body_bytes();
    let number = |if_match: Option<ETag>| if_match.map(|etag| etag.number().unwrap_or(0));
    let (item, condition) = match operation {
        WriteOp::Create(item) => (item, Condition::MustNotExist),
        WriteOp::Upsert(item) => (item, Condition::Any),
        WriteOp::Replace { item, if_match } => (item, Condition::MustExist { if_match: number(if_match) }),
        WriteOp::Delete { id, if_match } => {
            let intent = Intent::Delete { if_match: number(if_match) };
            return Ok((Operation { id, intent }, charges::write(bytes, 0)));
        }
    };
    let document = document::read_document(spec, &item.body).map_err(|_| Rejection::KeyMismatch)?;
    let same_id = document.id.as_deref() == Some(item.id.as_str());
    if !same_id || document.partition_key.as_deref() != Some(partition_key) {
        return Err(Rejection::KeyMismatch);
    }
    let facts = &document.facts;
    for text in [&facts.item_type, &facts.order_value].into_iter().chain(&facts.equality) {
        check_text(text, limits::INDEXED_TEXT_BYTES_MAX)?;
    }
    let indexed = 2 + spec.equality.len() + usize::from(spec.order_by.is_some());
    let intent = Intent::Put { condition, facts: document.facts, body: item.body };
    Ok((Operation { id: item.id, intent }, charges::write(bytes, indexed)))
}

/// What the ledger calls an operation.
pub(super) fn kind_of(operation: &WriteOp) -> OperationKind {
    match operation {
        WriteOp::Create(_) => OperationKind::Create,
        WriteOp::Upsert(_) => OperationKind::Upsert,
        WriteOp::Replace { .. } => OperationKind::Replace,
        WriteOp::Delete { .. } => OperationKind::Delete,
    }
}

/// Refuses a text that a key cannot hold.
pub(super) fn check_text(text: &str, limit_bytes: usize) -> Result<(), Rejection> {
    let actual_bytes = text.len();
    if actual_bytes > limit_bytes { Err(Rejection::TooLarge { limit_bytes, actual_bytes }) } else { Ok(()) }
}

/// Whether an item could have been written under these keys: the engine cannot even be asked for longer ones.
pub(super) fn can_exist(partition_key: &str, id: &str) -> bool {
    partition_key.len() <= limits::PARTITION_KEY_BYTES_MAX && id.len() <= limits::ID_BYTES_MAX
}

/// Whether an index can hold a text.
pub(super) fn is_indexable(text: &str) -> bool {
    text.len() <= limits::INDEXED_TEXT_BYTES_MAX
}

/// Refuses a keyset that no item of this store can have.
pub(super) fn check_keyset(after: Option<&Keyset>) -> Result<(), Fault> {
    let fits = |keyset: &Keyset| is_indexable(&keyset.order_value) && keyset.id.len() <= limits::ID_BYTES_MAX;
    if after.is_none_or(fits) {
        return Ok(());
    }
    Err(Fault::new(FaultKind::InvalidContinuation, "a keyset is longer than any of this store"))
}
