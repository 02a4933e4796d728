//! Mean plan: the operations of a request in the mean of its subjects, and the subject with the median
//! charge.

use crate::measurement::Quantiles;
use crate::plans::{PlannedOperation, RequestPlan};
use onehop_store::ContainerName;
use onehop_store::charges::Calibration;

/// The mean of the plans.
pub(super) fn mean_plan(plans: &[RequestPlan]) -> RequestPlan {
    RequestPlan { operations: mean(plans, |plan| &plan.operations), behind: mean(plans, |plan| &plan.behind) }
}

fn mean(plans: &[RequestPlan], of: impl Fn(&RequestPlan) -> &Vec<PlannedOperation>) -> Vec<PlannedOperation> {
    let mut sums: Vec<PlannedOperation> = Vec::new();
    for operation in plans.iter().flat_map(of) {
        match sums.iter_mut().find(|known| known.is_like(operation)) {
            Some(known) => known.merge(operation),
            None => sums.push(operation.clone()),
        }
    }
    let runs = plans.len().max(1) as f64;
    sums.into_iter().map(|sum| sum.repeated(1.0 / runs)).collect()
}

/// The charges of the plans, and the plan with the median charge.
pub(super) struct PlanCharges<'p> {
    pub own: Quantiles,
    pub behind_median: f64,
    pub typical: Option<&'p RequestPlan>,
}

impl<'p> PlanCharges<'p> {
    pub fn of(
        plans: &'p [RequestPlan],
        calibration: &Calibration,
        partitions: &dyn Fn(ContainerName) -> u32,
    ) -> Self {
        let charges: Vec<f64> = plans.iter().map(|plan| plan.charge(calibration, partitions)).collect();
        let own = Quantiles::of(charges.clone());
        let behind: Vec<f64> = plans.iter().map(|plan| plan.behind_charge(calibration, partitions)).collect();
        let totals: Vec<f64> = charges.iter().zip(&behind).map(|(own, behind)| own + behind).collect();
        let median = Quantiles::of(totals.clone()).median;
        let typical = plans.iter().zip(&totals).filter(|(_, total)| **total >= median);
        let typical = typical.min_by(|one, other| one.1.total_cmp(other.1)).map(|(plan, _)| plan);
        Self { own, behind_median: Quantiles::of(behind).median, typical }
    }
}
