//! Outlook: the multiples of the traffic at which another design wins, and whether the choice matters.

use serde::Serialize;

use crate::provisioning::{PlanModel, Provisioning, ProvisioningInput, Verdict};

/// The multiples of the traffic for which the verdict is worked out.
const MULTIPLES: [f64; 13] =
    [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0];
/// Below so much storage and throughput the choice of a key has little effect on the bill: the bounds that
/// Microsoft's partition key advisor names.
const SMALL_GB: f64 = 100.0;
const SMALL_THROUGHPUT: f64 = 30_000.0;

/// The verdict at other traffics.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Outlook {
    /// Ranges of the traffic with one verdict each, in their order.
    pub ranges: Vec<WinnerRange>,
    /// Whether all feasible plans need less than 100 GB and 30,000 RU/s.
    pub is_small: bool,
}

/// A range of the traffic with one verdict.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WinnerRange {
    /// Multiples of the given traffic.
    pub from: f64,
    /// The last multiple that was worked out.
    pub to: f64,
    /// The winner; `None` where there is no difference, or no feasible design.
    pub winner: Option<String>,
    /// The designs that no other beats.
    pub unbeaten: Vec<String>,
}

impl Outlook {
    /// Of plans with the same input.
    pub(super) fn of(plans: &[PlanModel], provisioning: &[Provisioning], input: &ProvisioningInput) -> Self {
        let mut ranges: Vec<WinnerRange> = Vec::new();
        for multiple in MULTIPLES {
            let scaled: Vec<PlanModel> = plans.iter().map(|plan| plan.times(multiple)).collect();
            let Verdict { winner, unbeaten, .. } = Verdict::of(&scaled, input);
            match ranges.last_mut() {
                Some(last) if last.winner == winner && last.unbeaten == unbeaten => last.to = multiple,
                _ => ranges.push(WinnerRange { from: multiple, to: multiple, winner, unbeaten }),
            }
        }
        let planned: Vec<_> = provisioning.iter().filter_map(|found| found.planned.as_ref()).collect();
        let is_small = |found: &&crate::provisioning::PlannedThroughput| {
            found.storage_gb < SMALL_GB && found.recommended < SMALL_THROUGHPUT
        };
        Self { ranges, is_small: !planned.is_empty() && planned.iter().all(is_small) }
    }
}
