//! Charges of the account, by the model of request charges, and the records of the ledger.

use onehop_store::charges::{
    Calibration, IndexTerms, IndexingPolicy, QueryWork, ReadConsistency, RefusedWrite,
};
use onehop_store::{
    ChargeBasis, ChargeSource, ContainerName, OperationKind, OperationRecord, RequestCharge, WriteOp,
    json_text,
};

use super::read_view::ModelConsistency;

/// An operation for the ledger. The account states its charges, so they are measured.
pub(super) fn record(
    container: ContainerName,
    kind: OperationKind,
    (items, physical_partitions): (usize, u32),
    charge: RequestCharge,
) -> OperationRecord {
    OperationRecord {
        container,
        kind,
        items: u32::try_from(items).unwrap_or(u32::MAX),
        physical_partitions,
        charge,
        source: ChargeSource::Measured,
        basis: ChargeBasis::default(),
    }
}

/// The consistency of a read, as far as it changes the charge.
pub(super) fn charged_as(consistency: ModelConsistency) -> ReadConsistency {
    match consistency {
        ModelConsistency::Latest | ModelConsistency::Bounded { .. } => ReadConsistency::Quorum,
        ModelConsistency::Session | ModelConsistency::Eventual => ReadConsistency::OneReplica,
    }
}

/// The charge of writes. A new version of an item is charged as a create: the earlier one is not looked at.
pub(super) fn charge_of_writes<'a>(
    calibration: &Calibration,
    policy: &IndexingPolicy,
    operations: impl Iterator<Item = &'a WriteOp>,
) -> RequestCharge {
    operations.fold(RequestCharge::default(), |total, operation| {
        let body = operation.item().map_or(&[][..], |item| &item.body);
        let terms =
            json_text(body).map_or_else(|_| IndexTerms::default(), |body| IndexTerms::of(policy, body));
        total + calibration.create(body.len(), terms.count(policy)).total()
    })
}

/// The charge of a refused write.
pub(super) fn charge_of_refusal(calibration: &Calibration) -> RequestCharge {
    calibration.refused(RefusedWrite::Precondition).total()
}

/// The charge of a query that returns this many items and bytes.
pub(super) fn charge_of_query(
    calibration: &Calibration,
    (physical_partitions, items, bytes): (u32, usize, usize),
    consistency: ModelConsistency,
) -> RequestCharge {
    let work = QueryWork {
        physical_partitions,
        conditions: 1,
        is_ordered: true,
        items,
        bytes,
        ..QueryWork::default()
    };
    calibration.query(&work, charged_as(consistency)).total()
}
