//! Item changes: converts a write of the port into an operation of the writer.

use super::write_requests::{ItemChange, Precondition, WriteOperation};
use super::{charges, properties};
use crate::document::check_write;
use crate::{
    ChargeBasis, ContainerSpec, ETag, Indexing, OperationKind, Rejection, ReplaceCost, RequestCharge, WriteOp,
};

/// The rules by which the charge of a write is estimated.
#[derive(Debug, Clone, Copy)]
pub(super) struct WriteChargeRules {
    pub indexing: Indexing,
    pub replace_cost: ReplaceCost,
}

/// An operation of the writer, with its estimated charge and what that was made from.
pub(super) struct PreparedWrite {
    pub operation: WriteOperation,
    pub charge: RequestCharge,
    pub basis: ChargeBasis,
}

/// The id of an item that may be there already, so that the charge depends on it. Nothing for a create.
pub(super) fn written_before(operation: &WriteOp) -> Option<&str> {
    match operation {
        WriteOp::Create(_) => None,
        WriteOp::Upsert(item) | WriteOp::Replace { item, .. } => Some(&item.id),
        WriteOp::Delete { id, .. } => Some(id),
    }
}

/// Turns an operation of the port into one of the writer, with its estimated charge. `before` is the body of the
/// item that it replaces or deletes.
pub(super) fn prepare(
    spec: &ContainerSpec,
    rules: WriteChargeRules,
    partition_key: &str,
    operation: WriteOp,
    before: Option<&[u8]>,
) -> Result<PreparedWrite, Rejection> {
    let WriteChargeRules { indexing, replace_cost } = rules;
    let properties = check_write(spec, partition_key, &operation)?;
    let number = |if_match: Option<ETag>| if_match.map(|etag| etag.number().unwrap_or(0));
    let (item, precondition) = match operation {
        WriteOp::Create(item) => (item, Precondition::MustNotExist),
        WriteOp::Upsert(item) => (item, Precondition::Any),
        WriteOp::Replace { item, if_match } => (item, Precondition::MustExist { if_match: number(if_match) }),
        WriteOp::Delete { id, if_match } => {
            let change = ItemChange::Delete { if_match: number(if_match) };
            let indexed = properties::touched(spec, indexing, before, None);
            let charge = charges::write(before.map_or(0, <[u8]>::len), indexed.changed);
            let basis = ChargeBasis::default();
            return Ok(PreparedWrite { operation: WriteOperation { id, change }, charge, basis });
        }
    };
    let indexed = properties::touched(spec, indexing, before, Some(&item.body));
    let changes = charges::write(item.body.len(), indexed.changed);
    let basis = match before {
        Some(_) => ChargeBasis {
            changes: changes.0,
            insertions: charges::write(item.body.len(), indexed.indexed).0,
            ..ChargeBasis::default()
        },
        None => ChargeBasis::default(),
    };
    let charge = if before.is_some() { replace_cost.charge(&basis) } else { changes };
    let change =
        ItemChange::Put { precondition, properties: properties.unwrap_or_default(), body: item.body };
    Ok(PreparedWrite { operation: WriteOperation { id: item.id, change }, charge, basis })
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
