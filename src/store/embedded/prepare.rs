//! Turns an operation of the port into what the writer is asked.

use super::charges;
use super::writer::{Condition, Intent, Operation};
use crate::store::document::check_write;
use crate::store::{ContainerSpec, ETag, OperationKind, Rejection, RequestCharge, WriteOp};

/// Turns an operation of the port into one of the writer, with its estimated charge.
pub(super) fn prepare(
    spec: &ContainerSpec,
    partition_key: &str,
    operation: WriteOp,
) -> Result<(Operation, RequestCharge), Rejection> {
    let facts = check_write(spec, partition_key, &operation)?;
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
    let indexed = 2 + spec.equality.len() + usize::from(spec.order_by.is_some());
    let intent = Intent::Put { condition, facts: facts.unwrap_or_default(), body: item.body };
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
