//! Rows of a design study: the figures of each request under each plan, as a measurement has them.

use super::PlannedDesign;
use super::plan_mean::PlanCharges;
use crate::measurement::{MeasurementRow, Quantiles, thousandths};
use crate::plans::{PlannedOperation, PlannedScope, RequestPlan};
use onehop_store::charges::Calibration;
use onehop_store::{ChargeBasis, ContainerName, FoldedOperation, RequestCharge};

/// The rows of one plan.
pub(super) fn rows(
    planned: &PlannedDesign<'_>,
    calibration: &Calibration,
    partitions: &dyn Fn(ContainerName) -> u32,
) -> Vec<MeasurementRow> {
    let row = |(request, plans): &(&onehop_model::Request, Vec<RequestPlan>)| {
        let charges = PlanCharges::of(plans, calibration, partitions);
        let is_measured = plans.iter().flat_map(|plan| &plan.operations).any(|one| one.measured.is_some());
        let estimates = plans.iter().map(|plan| plan.estimate(calibration, partitions)).collect();
        let estimate = is_measured.then(|| hundredths(Quantiles::of(estimates).median));
        let operations = charges.typical.map(|plan| plan.operations.as_slice()).unwrap_or_default();
        MeasurementRow {
            request: request.name.to_string(),
            plan: planned.variant.clone(),
            request_charge: hundredths(charges.own.median),
            request_charge_p99: hundredths(charges.own.p99),
            estimated_request_charge: estimate,
            estimate_error: estimate
                .filter(|estimate| *estimate > 0.0 && charges.own.median > 0.0)
                .map(|estimate| thousandths(estimate / charges.own.median - 1.0)),
            projection_charge: hundredths(charges.behind_median),
            reference_request_charge: None,
            deviation: None,
            bytes: operations.iter().map(|operation| operation.bytes).sum::<f64>().round(),
            operations: operations
                .iter()
                .map(|operation| folded(operation, calibration, partitions))
                .collect(),
        }
    };
    planned.requests.iter().filter(|(_, plans)| !plans.is_empty()).map(row).collect()
}

fn folded(
    operation: &PlannedOperation,
    calibration: &Calibration,
    partitions: &dyn Fn(ContainerName) -> u32,
) -> FoldedOperation {
    let is_across = operation.scope == PlannedScope::AllPartitions;
    let physical_partitions = if is_across { partitions(operation.container) } else { 1 };
    let across = operation.across.unwrap_or_default();
    FoldedOperation {
        container: operation.container,
        kind: operation.kind,
        // A float to an integer saturates.
        times: operation.times.round() as u32,
        items: operation.items.round() as u32,
        physical_partitions,
        request_charge: RequestCharge(operation.charge_at(calibration, physical_partitions)),
        basis: ChargeBasis {
            is_across,
            returned: (across.returned * f64::from(physical_partitions)).round() as u32,
            has_more: across.has_more,
        },
    }
}

fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
