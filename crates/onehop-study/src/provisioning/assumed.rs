//! Assumptions under which a plan is provisioned: one value of each uncertain input, the charges at one end
//! of their errors, and how many times the traffic there is. Pure.

use serde::Serialize;

use super::input::ProvisioningInput;
use crate::charge_errors::relative_error;
use crate::partitions::{ChargeGroup, Popularity};
use onehop_store::charges::Calibration;
use onehop_store::{ChargeSource, OperationKind};

/// One value of each uncertain input that all plans have in common.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JointCase {
    pub popularity: Popularity,
    pub peak_to_mean: f64,
    pub index_share: f64,
    pub layout: PartitionLayout,
}

/// The fill level of a container's physical partitions, where their number is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum PartitionLayout {
    /// As few as possible: 10,000 RU/s and 50 GB each.
    Fewest,
    /// As a new container gets them for its throughput, 6,000 RU/s each, and as splits of full partitions
    /// leave them, 25 GB each.
    Most,
}

/// The end of their errors at which charges are assumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChargeEnd {
    Low,
    AsEstimated,
    High,
}

/// The factors of the given traffic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TrafficFactors {
    pub reads: f64,
    pub writes: f64,
}

/// All assumptions together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Assumed {
    pub case: JointCase,
    pub charges: ChargeEnd,
    pub traffic: TrafficFactors,
}

impl JointCase {
    /// All combinations of the ends of the uncertain inputs.
    #[must_use]
    pub fn all(input: &ProvisioningInput) -> Vec<Self> {
        let mut cases = Vec::new();
        for popularity in Popularity::ALL {
            for peak_to_mean in input.peak_to_mean.ends() {
                for index_share in input.index_share.ends() {
                    for layout in [PartitionLayout::Fewest, PartitionLayout::Most] {
                        cases.push(Self { popularity, peak_to_mean, index_share, layout });
                    }
                }
            }
        }
        cases
    }

    /// The case for which containers and bills are shown: the most demanding one, with as few physical
    /// partitions as possible.
    #[must_use]
    pub fn planned(input: &ProvisioningInput) -> Self {
        Self {
            popularity: Popularity::Zipf,
            peak_to_mean: input.peak_to_mean.high,
            index_share: input.index_share.high,
            layout: PartitionLayout::Fewest,
        }
    }
}

impl ChargeEnd {
    /// By which an estimated charge of this kind is multiplied.
    pub fn factor(self, calibration: &Calibration, kind: OperationKind, source: ChargeSource) -> f64 {
        let error = match source {
            ChargeSource::Measured => 0.0,
            ChargeSource::Estimated => relative_error(calibration, kind),
        };
        match self {
            Self::Low => 1.0 - error,
            Self::AsEstimated => 1.0,
            Self::High => 1.0 + error,
        }
    }
}

impl TrafficFactors {
    /// The traffic as it was given.
    pub const GIVEN: Self = Self { reads: 1.0, writes: 1.0 };

    /// This many times the traffic.
    pub fn times(multiple: f64) -> Self {
        Self { reads: multiple, writes: multiple }
    }
}

impl Assumed {
    /// By which the throughput of each group of charges is multiplied at the peak.
    pub fn factors(&self, groups: &[ChargeGroup], calibration: &Calibration) -> Vec<f64> {
        let TrafficFactors { reads, writes } = self.traffic;
        let factor = |group: &ChargeGroup| {
            let rate = if group.of_writes { writes } else { reads };
            let peak = group.peak.map_or(self.case.peak_to_mean, |peak| f64::from(peak) / 1_000.0);
            rate * peak * self.charges.factor(calibration, group.kind, group.source)
        };
        groups.iter().map(factor).collect()
    }

    /// The same in the mean of the traffic.
    pub fn mean_factors(&self, groups: &[ChargeGroup], calibration: &Calibration) -> Vec<f64> {
        let case = JointCase { peak_to_mean: 1.0, ..self.case };
        let groups: Vec<ChargeGroup> =
            groups.iter().map(|group| ChargeGroup { peak: None, ..*group }).collect();
        Self { case, ..*self }.factors(&groups, calibration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bounds::Bounds;

    #[test]
    fn cases_are_all_combinations_of_uncertain_inputs() {
        let certain = ProvisioningInput { index_share: Bounds::certain(0.2), ..ProvisioningInput::default() };
        assert_eq!(JointCase::all(&certain).len(), 4);
        let uncertain = ProvisioningInput {
            peak_to_mean: Bounds { low: 1.0, high: 3.0 },
            ..ProvisioningInput::default()
        };
        assert_eq!(JointCase::all(&uncertain).len(), 16);
    }

    #[test]
    fn only_estimated_charges_have_an_error() {
        let calibration = Calibration::current();
        let factor = |end: ChargeEnd, source| end.factor(&calibration, OperationKind::Batch, source);
        assert_eq!(factor(ChargeEnd::High, ChargeSource::Estimated), 1.0607);
        assert_eq!(factor(ChargeEnd::Low, ChargeSource::Estimated), 1.0 - 0.0607);
        assert_eq!(factor(ChargeEnd::High, ChargeSource::Measured), 1.0);
        assert_eq!(factor(ChargeEnd::AsEstimated, ChargeSource::Estimated), 1.0);
    }

    #[test]
    fn reads_and_writes_have_rates_of_their_own() {
        let group = |of_writes| ChargeGroup {
            of_writes,
            kind: OperationKind::PointRead,
            source: ChargeSource::Measured,
            peak: None,
        };
        let case = JointCase::planned(&ProvisioningInput {
            peak_to_mean: Bounds::certain(2.0),
            ..ProvisioningInput::default()
        });
        let traffic = TrafficFactors { reads: 3.0, writes: 5.0 };
        let assumed = Assumed { case, charges: ChargeEnd::High, traffic };
        assert_eq!(assumed.factors(&[group(false), group(true)], &Calibration::current()), [6.0, 10.0]);
    }
}
