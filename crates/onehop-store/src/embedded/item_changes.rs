//! Item changes: converts a write of the port into an operation of the writer.

use super::write_requests::{ItemChange, Precondition, WriteOperation};
use crate::charges::{
    Calibration, ChargeParts, IndexTerms, IndexingPolicy, RefusedWrite, Replacement, TermCollector,
};
use crate::document::check_write;
use crate::{ContainerSpec, ETag, OperationKind, Rejection, WriteOp, json_text};

/// The rules by which the charge of a write to a container is estimated.
#[derive(Debug, Clone, Copy)]
pub(super) struct WriteChargeRules<'a> {
    pub calibration: &'a Calibration,
    pub policy: &'a IndexingPolicy,
}

/// The version of an item that a write replaces or deletes.
#[derive(Debug, Clone, Copy)]
pub(super) struct FormerVersion<'a> {
    pub body: &'a [u8],
    /// Whether an earlier operation of the same batch wrote it.
    pub is_of_batch: bool,
}

/// An operation of the writer, with its estimated charge.
pub(super) struct PreparedWrite {
    pub operation: WriteOperation,
    pub charge: ChargeParts,
    /// The charge where the service refuses it because the item exists.
    pub conflict: ChargeParts,
}

/// The id of an item that may be there already, so that the charge depends on it. Nothing for a create.
pub(super) fn written_before(operation: &WriteOp) -> Option<&str> {
    match operation {
        WriteOp::Create(_) => None,
        WriteOp::Upsert(item) | WriteOp::Replace { item, .. } => Some(&item.id),
        WriteOp::Delete { id, .. } => Some(id),
    }
}

/// Turns an operation of the port into one of the writer, with its estimated charge. `former` is the version
/// of the item that it replaces or deletes.
pub(super) fn prepare(
    spec: &ContainerSpec,
    rules: WriteChargeRules<'_>,
    partition_key: &str,
    operation: WriteOp,
    former: Option<FormerVersion<'_>>,
) -> Result<PreparedWrite, Rejection> {
    let WriteChargeRules { calibration, policy } = rules;
    let mut collector = TermCollector::new(policy);
    let properties = check_write(spec, partition_key, &operation, Some(&mut collector))?;
    let former_terms = former.map(|former| {
        json_text(former.body).map_or_else(|_| IndexTerms::default(), |body| IndexTerms::of(policy, body))
    });
    let number = |if_match: Option<ETag>| if_match.map(|etag| etag.number().unwrap_or(0));
    let (item, precondition) = match operation {
        WriteOp::Create(item) => (item, Precondition::MustNotExist),
        WriteOp::Upsert(item) => (item, Precondition::Any),
        WriteOp::Replace { item, if_match } => (item, Precondition::MustExist { if_match: number(if_match) }),
        WriteOp::Delete { id, if_match } => {
            let change = ItemChange::Delete { if_match: number(if_match) };
            let terms = former_terms.unwrap_or_default().count(policy);
            let charge = calibration.delete(former.map_or(0, |former| former.body.len()), terms);
            let conflict = ChargeParts::default();
            return Ok(PreparedWrite { operation: WriteOperation { id, change }, charge, conflict });
        }
    };
    let properties_of_item = collector.properties();
    let terms = collector.finish();
    let charge = match (former, former_terms) {
        (Some(former), Some(former_terms)) => calibration.replace(Replacement {
            bytes_before: former.body.len(),
            bytes_after: item.body.len(),
            changed: former_terms.changed(&terms, policy),
            is_rewritten: former.is_of_batch,
        }),
        _ => {
            calibration.create(item.body.len(), terms.count(policy))
                + calibration.unique_keys(policy.unique_keys())
        }
    };
    let conflict = calibration.refused(RefusedWrite::Conflict { properties: properties_of_item });
    let properties = properties.unwrap_or_default();
    let change = ItemChange::Put { precondition, properties, body: item.body, edit: None };
    Ok(PreparedWrite { operation: WriteOperation { id: item.id, change }, charge, conflict })
}

/// The kind of an operation in the ledger.
pub(super) fn kind_of(operation: &WriteOp) -> OperationKind {
    match operation {
        WriteOp::Create(_) => OperationKind::Create,
        WriteOp::Upsert(_) => OperationKind::Upsert,
        WriteOp::Replace { .. } => OperationKind::Replace,
        WriteOp::Delete { .. } => OperationKind::Delete,
    }
}
