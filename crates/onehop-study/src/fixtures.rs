//! Values for the tests of this crate.

use std::sync::Arc;
use std::time::Duration;

use super::discards::DiscardedChanges;
use super::measurement::{MeasurementRow, ModelVariant, Quantiles, Sample, StudyRequest};
use onehop_store::{
    ChargeBasis, ChargeSource, ContainerName, Ledger, OperationKind, OperationRecord, RequestCharge,
};

pub(crate) fn request(name: &str, is_write: bool) -> StudyRequest {
    StudyRequest { name: name.to_owned(), title: format!("Title of {name}"), is_write }
}

pub(crate) fn row(
    request: &str,
    plan: &ModelVariant,
    request_charge: f64,
    projection_charge: f64,
) -> MeasurementRow {
    MeasurementRow {
        request: request.to_owned(),
        plan: plan.clone(),
        request_charge,
        request_charge_p99: request_charge,
        estimated_request_charge: None,
        estimate_error: None,
        projection_charge,
        discarded: DiscardedChanges::default(),
        reference_request_charge: None,
        deviation: None,
        latency_ms: Quantiles { median: 1.0, p99: 1.0 },
        operations: Vec::new(),
    }
}

/// One query of 100 items that took 2 ms.
pub(crate) fn sample(charge: f64) -> Sample {
    let ledger = Arc::new(Ledger::new());
    ledger.record(OperationRecord {
        container: ContainerName("feed"),
        kind: OperationKind::Query,
        items: 100,
        physical_partitions: 1,
        charge: RequestCharge(charge),
        source: ChargeSource::Measured,
        basis: ChargeBasis::default(),
    });
    Sample {
        ledger,
        duration: Duration::from_millis(2),
        projection_charge: 0.0,
        discarded: DiscardedChanges::default(),
    }
}
