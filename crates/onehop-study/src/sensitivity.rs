//! Sensitivity of a comparison: the throughput of a traffic under other assumptions than those that were measured with,
//! worked out from what each estimated charge was made from. Pure.
//!
//! Two assumptions decide: how many physical partitions a query visits, and for how many items the client asks each of them. A charge that an account measured has no basis; of those only the number of
//! physical partitions can be varied, in proportion.

use std::sync::Arc;

use serde::Serialize;

use super::measurement::{MeasurementRow, Measurements, ModelVariant};
use super::traffic::RequestRate;
use onehop_store::FoldedOperation;
use onehop_store::charges::{Calibration, OrderedPageClient, QueryWork, ReadConsistency};

/// Physical partitions at which a traffic is worked out, beside the number that was measured with.
const PHYSICAL_PARTITIONS: [u32; 4] = [1, 4, 10, 70];

/// The throughput of a traffic under each assumption.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sensitivity {
    pub physical_partitions: Vec<AssumedThroughput>,
    pub clients: Vec<AssumedThroughput>,
}

/// The throughput under one assumption.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AssumedThroughput {
    /// Its name.
    pub assumption: String,
    /// Whether the figures were measured with it.
    pub is_measured: bool,
    /// RU/s of each data model without a data loader.
    pub models: Vec<(String, f64)>,
    /// The data model that takes the least.
    pub least: String,
}

/// What the rows were measured with.
#[derive(Debug, Clone)]
pub struct MeasuredWith {
    pub calibration: Arc<Calibration>,
    pub physical_partitions: u32,
}

impl Sensitivity {
    /// Of a traffic.
    #[must_use]
    pub fn of(measurements: &Measurements, rates: &[RequestRate], with: &MeasuredWith) -> Self {
        let study = SensitivityStudy { measurements, rates };
        let measured_client = with.calibration.ordered_pages();
        let mut partitions = PHYSICAL_PARTITIONS.to_vec();
        partitions.push(with.physical_partitions);
        partitions.sort_unstable();
        partitions.dedup();
        let has_fan_out = measurements.rows.iter().any(has_fan_out);
        let clients = [OrderedPageClient::Sdk2019, OrderedPageClient::Adapter];
        let assumed = |name: &str, partitions, client, is_measured: bool| {
            let fan_out = FanOut { calibration: &with.calibration, client, physical_partitions: partitions };
            study.throughput(name, is_measured, |row| if is_measured { 0.0 } else { fan_out.change(row) })
        };
        Self {
            physical_partitions: partitions
                .into_iter()
                .map(|partitions| {
                    let is_measured = partitions == with.physical_partitions;
                    assumed(&partitions.to_string(), partitions, measured_client, is_measured)
                })
                .collect(),
            clients: clients
                .into_iter()
                .filter(|_| has_fan_out)
                .map(|client| {
                    let is_measured = client == measured_client;
                    assumed(client_name(client), with.physical_partitions, client, is_measured)
                })
                .collect(),
        }
    }
}

/// The name of a client for people.
fn client_name(client: OrderedPageClient) -> &'static str {
    match client {
        OrderedPageClient::Sdk2019 => "clients of 2019",
        OrderedPageClient::Adapter => "this adapter",
    }
}

struct SensitivityStudy<'a> {
    measurements: &'a Measurements,
    rates: &'a [RequestRate],
}

impl SensitivityStudy<'_> {
    fn throughput(
        &self,
        assumption: &str,
        is_measured: bool,
        change: impl Fn(&MeasurementRow) -> f64,
    ) -> AssumedThroughput {
        let plans = self.measurements.plans.iter().filter(|plan| !plan.batched);
        let models: Vec<(String, f64)> =
            plans.map(|plan| (plan.to_string(), self.throughput_of(plan, &change))).collect();
        let least = models.iter().min_by(|one, other| one.1.total_cmp(&other.1));
        let least = least.map(|(model, _)| model.clone()).unwrap_or_default();
        AssumedThroughput { assumption: assumption.to_owned(), is_measured, models, least }
    }

    fn throughput_of(&self, plan: &ModelVariant, change: impl Fn(&MeasurementRow) -> f64) -> f64 {
        let charge = |rate: &RequestRate| {
            let row = self.measurements.row(&rate.request, plan)?;
            Some(rate.per_second * (row.request_charge + row.projection_charge + change(row)))
        };
        self.rates.iter().filter_map(charge).fold(0.0, |total, throughput| total + throughput)
    }
}

fn has_fan_out(row: &MeasurementRow) -> bool {
    row.operations.iter().any(|operation| operation.basis.returned > 0)
}

/// Queries across another number of physical partitions, or by another client.
struct FanOut<'a> {
    calibration: &'a Calibration,
    client: OrderedPageClient,
    physical_partitions: u32,
}

fn is_fan_out(operation: &FoldedOperation) -> bool {
    operation.basis.returned > 0 || operation.physical_partitions > 1
}

impl FanOut<'_> {
    /// How much more a request is charged.
    fn change(&self, row: &MeasurementRow) -> f64 {
        let change = |operation: &FoldedOperation| self.charge(operation) - operation.request_charge.0;
        let fan_outs = row.operations.iter().filter(|operation| is_fan_out(operation));
        fan_outs.map(change).fold(0.0, |total, change| total + change)
    }

    /// The charge of queries across another number of physical partitions: each partition's charge for being asked, and the
    /// items that it returns, at the measured charge of an item. A charge that an account measured is taken in proportion.
    fn charge(&self, operation: &FoldedOperation) -> f64 {
        let (charge, times) = (operation.request_charge.0, f64::from(operation.times.max(1)));
        let (returned, measured_with) = (f64::from(operation.basis.returned), operation.physical_partitions);
        if returned == 0.0 {
            return charge * f64::from(self.physical_partitions) / f64::from(measured_with.max(1));
        }
        let visits = |partitions| times * self.visit(partitions);
        let of_an_item = (charge - visits(measured_with)).max(0.0) / returned;
        let page_items = (operation.items / operation.times.max(1)) as usize;
        let from_each = self.client.items_per_partition(self.physical_partitions, page_items) as f64;
        let items = if operation.basis.has_more {
            (times * f64::from(self.physical_partitions) * from_each).min(self.held(operation, page_items))
        } else {
            returned
        };
        visits(self.physical_partitions) + items * of_an_item
    }

    fn visit(&self, physical_partitions: u32) -> f64 {
        let work = QueryWork { physical_partitions, conditions: 1, ..QueryWork::default() };
        self.calibration.query(&work, ReadConsistency::OneReplica).total().0
    }

    /// How many items the physical partitions hold for queries: those that they returned where that is fewer than were asked for.
    fn held(&self, operation: &FoldedOperation, page_items: usize) -> f64 {
        let FoldedOperation { times, physical_partitions, basis, .. } = operation;
        let measured = self.calibration.ordered_pages();
        let from_each = measured.items_per_partition(*physical_partitions, page_items) as f64;
        let asked = f64::from(*times) * f64::from(*physical_partitions) * from_each;
        let returned = f64::from(basis.returned);
        if returned < asked { returned } else { f64::INFINITY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use onehop_store::{ChargeBasis, ContainerName, OperationKind, RequestCharge};

    /// 100 of more posts from 70 physical partitions, ten of each, at 0.5 RU an item.
    fn feed_query() -> FoldedOperation {
        FoldedOperation {
            container: ContainerName("posts"),
            kind: OperationKind::Query,
            times: 1,
            items: 100,
            physical_partitions: 70,
            request_charge: RequestCharge(70.0 * 2.7 + 700.0 * 0.5),
            basis: ChargeBasis { returned: 700, has_more: true },
        }
    }

    fn fan_out(calibration: &Calibration, physical_partitions: u32, client: OrderedPageClient) -> FanOut<'_> {
        FanOut { calibration, client, physical_partitions }
    }

    fn charge(partitions: u32, client: OrderedPageClient) -> f64 {
        let calibration = Calibration::article_2019();
        (fan_out(&calibration, partitions, client).charge(&feed_query()) * 100.0).round() / 100.0
    }

    #[test]
    fn a_query_is_charged_for_its_partitions_and_items() {
        assert_eq!(charge(70, OrderedPageClient::Sdk2019), 539.0);
        assert_eq!(charge(1, OrderedPageClient::Sdk2019), 52.7);
        assert_eq!(charge(10, OrderedPageClient::Sdk2019), 27.0 + 500.0 * 0.5);
        assert_eq!(charge(4, OrderedPageClient::Adapter), 4.0 * 2.7 + 404.0 * 0.5);
        let measured = FoldedOperation { basis: ChargeBasis::default(), ..feed_query() };
        let calibration = Calibration::article_2019();
        assert_eq!(fan_out(&calibration, 7, OrderedPageClient::Sdk2019).charge(&measured).round(), 54.0);
    }
}
