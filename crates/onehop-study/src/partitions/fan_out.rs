//! Fan-out: queries across logical partitions, in which every physical partition takes part, so that no
//! number of them relieves one. Pure.

use serde::Serialize;

use super::ratio;
use crate::azure_limits::PHYSICAL_PARTITION_THROUGHPUT_MAX;
use crate::fan_out_charge::FanOutQueries;
use crate::measurement::{Measurements, ModelVariant};
use crate::rates::RequestRate;
use onehop_store::charges::Calibration;
use onehop_store::{ContainerName, FoldedOperation};

/// The throughput that the fan-outs of a data model's requests take of each physical partition.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FanOutThroughput {
    pub model: String,
    /// The requests that fan out.
    pub requests: Vec<String>,
    /// Of the container that is queried.
    pub physical_partitions: u32,
    /// RU/s of each physical partition, without the look-ups that follow.
    pub throughput_of_each: f64,
    /// At this many times the traffic each of them serves 10,000 RU/s of fan-outs alone; `None` if that is
    /// never.
    pub traffic_multiple_max: Option<f64>,
}

/// The input of the fan-outs.
pub(super) struct FanOutStudy<'a> {
    pub measurements: &'a Measurements,
    pub rates: &'a [RequestRate],
    /// Physical partitions of a container under a plan; `None`: as many as were measured with.
    pub physical_partitions: &'a dyn Fn(&str, ContainerName) -> Option<u32>,
    pub calibration: &'a Calibration,
}

/// Of each data model, from the operations of its rows. A data loader changes look-ups, not these.
pub(super) fn fan_outs(study: &FanOutStudy<'_>) -> Vec<FanOutThroughput> {
    let plans = study.measurements.plans.iter().filter(|plan| !plan.batched);
    plans.map(|plan| study.fan_out(plan)).collect()
}

impl FanOutStudy<'_> {
    fn fan_out(&self, plan: &ModelVariant) -> FanOutThroughput {
        let mut found = FanOutThroughput {
            model: plan.to_string(),
            requests: Vec::new(),
            physical_partitions: 1,
            throughput_of_each: 0.0,
            traffic_multiple_max: None,
        };
        for row in self.measurements.rows.iter().filter(|row| row.plan == *plan) {
            let (charge_of_each, partitions) = self.charge_of_each(&found.model, &row.operations);
            if charge_of_each > 0.0 {
                let rates = self.rates.iter().filter(|rate| rate.request == row.request);
                found.requests.push(row.request.clone());
                found.physical_partitions = found.physical_partitions.max(partitions);
                found.throughput_of_each += charge_of_each * rates.map(|rate| rate.per_second).sum::<f64>();
            }
        }
        found.traffic_multiple_max = ratio(PHYSICAL_PARTITION_THROUGHPUT_MAX, found.throughput_of_each);
        found
    }

    /// RU of each physical partition, and their number.
    fn charge_of_each(&self, model: &str, operations: &[FoldedOperation]) -> (f64, u32) {
        let across = operations.iter().filter_map(|operation| {
            let queries = FanOutQueries::of(operation)?;
            let known = (self.physical_partitions)(model, operation.container);
            Some((queries, known.unwrap_or(operation.physical_partitions).max(1)))
        });
        across.fold((0.0, 1), |(sum, most), (queries, partitions)| {
            let charge = queries.charge_at(self.calibration, partitions);
            (sum + charge / f64::from(partitions), most.max(partitions))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::measurement::MeasurementRow;
    use onehop_store::{ChargeBasis, OperationKind, RequestCharge};

    fn row(request: &str, plan: &ModelVariant, operations: &[(u32, f64)]) -> MeasurementRow {
        let operation = |(physical_partitions, charge): &(u32, f64)| FoldedOperation {
            container: ContainerName("posts"),
            kind: OperationKind::Query,
            times: 1,
            items: 1,
            physical_partitions: *physical_partitions,
            request_charge: RequestCharge(*charge),
            basis: ChargeBasis { is_across: *physical_partitions > 1, ..ChargeBasis::default() },
        };
        let operations = operations.iter().map(operation).collect();
        MeasurementRow { operations, ..fixtures::row(request, plan, 1.0, 0.0) }
    }

    #[test]
    fn each_physical_partition_serves_its_part_of_a_fan_out() {
        let [v1, v2, v3] = ["V1", "V2", "V3"].map(ModelVariant::of_model);
        let rows = vec![
            row("Q3", &v2, &[(10, 30.0)]),
            row("Q6", &v2, &[(10, 50.0), (1, 100.0)]),
            row("Q4", &v2, &[(1, 8.0)]),
            row("Q3", &v3, &[(1, 7.0)]),
        ];
        let measurements = Measurements { requests: Vec::new(), plans: vec![v1, v2, v3], rows };
        let rate = |request: &str, per_second| RequestRate { request: request.to_owned(), per_second };
        let rates = [rate("Q3", 20.0), rate("Q6", 8.0), rate("Q4", 5.0)];
        let calibration = Calibration::current();
        let study = |physical_partitions| FanOutStudy {
            measurements: &measurements,
            rates: &rates,
            physical_partitions,
            calibration: &calibration,
        };
        let found = fan_outs(&study(&|_, _| None));
        let [_, v2, v3] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(v2.requests, ["Q3", "Q6"]);
        assert_eq!((v2.physical_partitions, v2.throughput_of_each), (10, 100.0));
        assert_eq!(v2.traffic_multiple_max, Some(100.0));
        let twenty = &fan_outs(&study(&|_, _| Some(20)))[1];
        assert_eq!((twenty.physical_partitions, twenty.throughput_of_each), (20, 100.0));
        assert_eq!((v3.requests.len(), v3.throughput_of_each, v3.traffic_multiple_max), (0, 0.0, None));
    }
}
