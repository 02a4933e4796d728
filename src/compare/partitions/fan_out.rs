//! Queries across logical partitions: every physical partition takes part in each of them, so no number of them
//! relieves it. Pure.

use serde::Serialize;

use super::{PHYSICAL_PARTITION_THROUGHPUT_MAX, ratio};
use crate::compare::article::ArticleRequest;
use crate::compare::plan::ReadPlan;
use crate::compare::report::{Row, plan_name};
use crate::compare::traffic::Rate;

/// What the fan-outs of a data model's requests make each physical partition serve.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FanOut {
    pub model: &'static str,
    /// Those that fan out.
    pub requests: Vec<ArticleRequest>,
    /// At most.
    pub physical_partitions: u32,
    /// RU/s of each physical partition, without the look-ups that follow.
    pub throughput_of_each: f64,
    /// At this many times the traffic each of them serves 10,000 RU/s of fan-outs alone; `None` if that is never.
    pub traffic_multiple_max: Option<f64>,
}

/// Of each data model, from the operations of its rows. The data loader changes look-ups, not these.
#[must_use]
pub fn fan_outs(rows: &[Row], rates: &[Rate]) -> Vec<FanOut> {
    let plans = ReadPlan::ALL.into_iter().filter(|plan| !plan.batched);
    plans.map(|plan| fan_out(rows, rates, plan)).collect()
}

fn fan_out(rows: &[Row], rates: &[Rate], plan: ReadPlan) -> FanOut {
    let mut found = FanOut {
        model: plan_name(plan),
        requests: Vec::new(),
        physical_partitions: 1,
        throughput_of_each: 0.0,
        traffic_multiple_max: None,
    };
    for row in rows.iter().filter(|row| row.model == plan.model && row.batched == plan.batched) {
        let across = row.operations.iter().filter(|operation| operation.physical_partitions > 1);
        let charge_of_each: f64 = across
            .map(|operation| {
                found.physical_partitions = found.physical_partitions.max(operation.physical_partitions);
                operation.request_charge.0 / f64::from(operation.physical_partitions)
            })
            .sum();
        if charge_of_each > 0.0 {
            let rates = rates.iter().filter(|rate| rate.request == row.request);
            found.requests.push(row.request);
            found.throughput_of_each += charge_of_each * rates.map(|rate| rate.per_second).sum::<f64>();
        }
    }
    found.traffic_multiple_max = ratio(PHYSICAL_PARTITION_THROUGHPUT_MAX, found.throughput_of_each);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blog::containers::POSTS;
    use crate::blog::reads::DataModel;
    use crate::compare::report::Quantiles;
    use onehop_store::{FoldedOperation, OperationKind, RequestCharge};

    fn row(request: ArticleRequest, model: DataModel, operations: &[(u32, f64)]) -> Row {
        let operation = |(physical_partitions, charge): &(u32, f64)| FoldedOperation {
            container: POSTS,
            kind: OperationKind::Query,
            times: 1,
            items: 1,
            physical_partitions: *physical_partitions,
            request_charge: RequestCharge(*charge),
        };
        Row {
            request,
            model,
            batched: false,
            request_charge: 1.0,
            request_charge_p99: 1.0,
            estimated_request_charge: None,
            estimate_error: None,
            projection_charge: 0.0,
            article_request_charge: None,
            deviation: None,
            latency_ms: Quantiles { median: 1.0, p99: 1.0 },
            operations: operations.iter().map(operation).collect(),
        }
    }

    #[test]
    fn each_physical_partition_serves_its_part_of_every_query_across_partitions() {
        let rows = [
            row(ArticleRequest::Q3, DataModel::V2, &[(10, 30.0)]),
            row(ArticleRequest::Q6, DataModel::V2, &[(10, 50.0), (1, 100.0)]),
            row(ArticleRequest::Q4, DataModel::V2, &[(1, 8.0)]),
            row(ArticleRequest::Q3, DataModel::V3, &[(1, 7.0)]),
        ];
        let rate = |request, per_second| Rate { request, per_second };
        let rates =
            [rate(ArticleRequest::Q3, 20.0), rate(ArticleRequest::Q6, 8.0), rate(ArticleRequest::Q4, 5.0)];
        let found = fan_outs(&rows, &rates);
        let [_, v2, v3] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(v2.requests, [ArticleRequest::Q3, ArticleRequest::Q6]);
        assert_eq!((v2.physical_partitions, v2.throughput_of_each), (10, 100.0));
        assert_eq!(v2.traffic_multiple_max, Some(100.0));
        assert_eq!((v3.requests.len(), v3.throughput_of_each, v3.traffic_multiple_max), (0, 0.0, None));
    }
}
