//! Verdict on data models: the winner by its provisioned bill, with all uncertain inputs varied together.
//! Pure.
//!
//! Plans meet the same traffic, so they are compared under the same popularity, peak, index share and layout
//! of physical partitions. Within such a case each plan has an interval, from the low to the high end of the
//! errors of its charges. A plan wins where its interval is below the others' in every case, by 1 % or more;
//! else there is no difference.

use serde::Serialize;

use super::assumed::{Assumed, ChargeEnd, JointCase, TrafficFactors};
use super::bills::provisioned_bill;
use super::input::ProvisioningInput;
use super::plan::PlanModel;
use crate::bounds::Bounds;

/// The verdict on the plans of a study.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    pub unit: ProvisionedUnit,
    /// The data model with the smallest bill under all assumptions, with or without a data loader; `None`
    /// where there is no difference, or no plan is feasible.
    pub winner: Option<String>,
    /// The feasible plans that no other plan beats under all assumptions: several, where there is no
    /// difference between them.
    pub unbeaten: Vec<String>,
    pub plans: Vec<PlanInterval>,
    /// Combinations of uncertain inputs under which the plans were compared.
    pub cases: usize,
}

/// The unit of the compared bills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ProvisionedUnit {
    /// Manual throughput and storage a month, in the currency of the prices.
    Month,
    /// Without a price: RU/s to provision.
    RequestUnitsPerSecond,
}

/// The provisioned bill of a plan over all assumptions.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanInterval {
    pub model: String,
    /// At the planned traffic.
    pub feasible: bool,
    /// `None` where the plan is infeasible. Its high end is infinite where it is infeasible under some
    /// assumptions.
    pub bill: Option<Bounds>,
}

/// The intervals of a plan, by case; `None` where it is infeasible as planned.
type CaseBills = Option<Vec<Bounds>>;

impl Verdict {
    /// On plans with the same input.
    #[must_use]
    pub fn of(plans: &[PlanModel], input: &ProvisioningInput) -> Self {
        let cases = JointCase::all(input);
        let bills: Vec<CaseBills> = plans.iter().map(|plan| plan.bills(&cases)).collect();
        let is_unbeaten = |number: &usize| {
            bills[*number].as_ref().is_some_and(|own| !bills.iter().flatten().any(|other| beats(other, own)))
        };
        let unbeaten: Vec<&PlanModel> =
            (0..plans.len()).filter(is_unbeaten).map(|number| &plans[number]).collect();
        let interval = |(plan, bills): (&PlanModel, &CaseBills)| PlanInterval {
            model: plan.model.clone(),
            feasible: bills.is_some(),
            bill: bills
                .as_ref()
                .and_then(|bills| Bounds::hull(bills.iter().flat_map(|bounds| [bounds.low, bounds.high]))),
        };
        Self {
            unit: match input.prices.manual {
                Some(_) => ProvisionedUnit::Month,
                None => ProvisionedUnit::RequestUnitsPerSecond,
            },
            winner: winner(&unbeaten),
            unbeaten: unbeaten.into_iter().map(|plan| plan.model.clone()).collect(),
            plans: plans.iter().zip(&bills).map(interval).collect(),
            cases: cases.len(),
        }
    }
}

/// The data model of all plans that no other beats.
fn winner(unbeaten: &[&PlanModel]) -> Option<String> {
    let first = unbeaten.first()?;
    unbeaten.iter().all(|plan| plan.data_model == first.data_model).then(|| first.data_model.clone())
}

/// The smallest difference of two bills, as a share of the higher one. Plans at the same floors differ by the
/// storage of some bytes.
const SMALLEST_DIFFERENCE: f64 = 0.01;

/// Whether a plan's bill is below another's in every case.
fn beats(one: &[Bounds], other: &[Bounds]) -> bool {
    let least = |bounds: &Bounds| Bounds { low: bounds.low * (1.0 - SMALLEST_DIFFERENCE), ..*bounds };
    one.iter().zip(other).all(|(one, other)| one.is_below(&least(other)))
}

impl PlanModel {
    fn bills(&self, cases: &[JointCase]) -> CaseBills {
        self.is_feasible().then(|| cases.iter().map(|case| self.bill(*case)).collect())
    }

    /// Between the ends of the errors of its charges.
    fn bill(&self, case: JointCase) -> Bounds {
        let at = |charges| {
            let need = self.need(&Assumed { case, charges, traffic: TrafficFactors::GIVEN });
            need.map_or(f64::INFINITY, |need| provisioned_bill(&need, &self.input))
        };
        let bills = [ChargeEnd::Low, ChargeEnd::AsEstimated, ChargeEnd::High].map(at);
        Bounds::hull(bills).unwrap_or(Bounds::certain(f64::INFINITY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bills(ends: &[(f64, f64)]) -> Vec<Bounds> {
        ends.iter().map(|(low, high)| Bounds { low: *low, high: *high }).collect()
    }

    #[test]
    fn a_plan_beats_another_that_is_dearer_in_every_case() {
        let cheap = bills(&[(1.0, 2.0), (5.0, 6.0)]);
        assert!(beats(&cheap, &bills(&[(3.0, 4.0), (7.0, 9.0)])), "though 6 is more than 3");
        assert!(!beats(&cheap, &bills(&[(2.0, 4.0), (7.0, 9.0)])), "the first intervals overlap");
        assert!(!beats(&cheap, &bills(&[(3.0, 4.0), (1.0, 2.0)])), "dearer in the second case");
        assert!(beats(&cheap, &bills(&[(3.0, f64::INFINITY), (f64::INFINITY, f64::INFINITY)])));
        let floor = bills(&[(100.0, 100.0)]);
        assert!(!beats(&floor, &bills(&[(100.001, 100.001)])), "some bytes of storage");
        assert!(beats(&floor, &bills(&[(102.0, 102.0)])));
    }
}
