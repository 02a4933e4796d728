//! Fan-out: queries across logical partitions, in which every physical partition takes part, so that no number of them
//! relieves one. Pure.

use serde::Serialize;

use super::{PHYSICAL_PARTITION_THROUGHPUT_MAX, ratio};
use crate::measurement::{Measurements, ModelVariant};
use crate::traffic::RequestRate;

/// The throughput that the fan-outs of a data model's requests take of each physical partition.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FanOutThroughput {
    pub model: String,
    /// Those that fan out.
    pub requests: Vec<String>,
    /// At most.
    pub physical_partitions: u32,
    /// RU/s of each physical partition, without the look-ups that follow.
    pub throughput_of_each: f64,
    /// At this many times the traffic each of them serves 10,000 RU/s of fan-outs alone; `None` if that is never.
    pub traffic_multiple_max: Option<f64>,
}

/// Of each data model, from the operations of its rows. A data loader changes look-ups, not these.
#[must_use]
pub fn fan_outs(measurements: &Measurements, rates: &[RequestRate]) -> Vec<FanOutThroughput> {
    let plans = measurements.plans.iter().filter(|plan| !plan.batched);
    plans.map(|plan| fan_out(measurements, rates, plan)).collect()
}

fn fan_out(measurements: &Measurements, rates: &[RequestRate], plan: &ModelVariant) -> FanOutThroughput {
    let mut found = FanOutThroughput {
        model: plan.to_string(),
        requests: Vec::new(),
        physical_partitions: 1,
        throughput_of_each: 0.0,
        traffic_multiple_max: None,
    };
    for row in measurements.rows.iter().filter(|row| row.plan == *plan) {
        let across = row.operations.iter().filter(|operation| operation.physical_partitions > 1);
        let charge_of_each: f64 = across
            .map(|operation| {
                found.physical_partitions = found.physical_partitions.max(operation.physical_partitions);
                operation.request_charge.0 / f64::from(operation.physical_partitions)
            })
            .sum();
        if charge_of_each > 0.0 {
            let rates = rates.iter().filter(|rate| rate.request == row.request);
            found.requests.push(row.request.clone());
            found.throughput_of_each += charge_of_each * rates.map(|rate| rate.per_second).sum::<f64>();
        }
    }
    found.traffic_multiple_max = ratio(PHYSICAL_PARTITION_THROUGHPUT_MAX, found.throughput_of_each);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures;
    use crate::measurement::MeasurementRow;
    use onehop_store::{ChargeBasis, ContainerName, FoldedOperation, OperationKind, RequestCharge};

    fn row(request: &str, plan: &ModelVariant, operations: &[(u32, f64)]) -> MeasurementRow {
        let operation = |(physical_partitions, charge): &(u32, f64)| FoldedOperation {
            container: ContainerName("posts"),
            kind: OperationKind::Query,
            times: 1,
            items: 1,
            physical_partitions: *physical_partitions,
            request_charge: RequestCharge(*charge),
            basis: ChargeBasis::default(),
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
        let found = fan_outs(&measurements, &rates);
        let [_, v2, v3] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(v2.requests, ["Q3", "Q6"]);
        assert_eq!((v2.physical_partitions, v2.throughput_of_each), (10, 100.0));
        assert_eq!(v2.traffic_multiple_max, Some(100.0));
        assert_eq!((v3.requests.len(), v3.throughput_of_each, v3.traffic_multiple_max), (0, 0.0, None));
    }
}
