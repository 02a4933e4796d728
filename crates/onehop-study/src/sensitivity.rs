//! Sensitivity of a comparison: the throughput of a traffic under other assumptions than those that were measured with,
//! worked out from what each estimated charge was made from. Pure.
//!
//! Three assumptions decide: what a replace is charged, how many physical partitions a query visits, and for how many
//! items the client asks each of them. A charge that an account measured has no basis; of those only the number of
//! physical partitions can be varied, in proportion.

use serde::Serialize;

use super::measurement::{MeasurementRow, Measurements, ModelVariant};
use super::traffic::RequestRate;
use onehop_store::FoldedOperation;
use onehop_store::ReplaceCost;
use onehop_store::embedded::charges;

/// Physical partitions at which a traffic is worked out, beside the number that was measured with.
const PHYSICAL_PARTITIONS: [u32; 4] = [1, 4, 10, 70];

/// For how many items a client asks each physical partition of an ordered page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum OrderedPageClient {
    /// The clients for .NET and Java of 2019, with which the article measured: five times the even share.
    Sdk2019,
    /// The adapter of this program over the Rust client: the whole page and one more.
    Adapter,
}

/// The throughput of a traffic under each assumption.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sensitivity {
    pub replace_costs: Vec<AssumedThroughput>,
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
#[derive(Debug, Clone, Copy)]
pub struct MeasuredWith {
    pub replace_cost: ReplaceCost,
    pub physical_partitions: u32,
}

impl Sensitivity {
    /// Of a traffic.
    #[must_use]
    pub fn of(measurements: &Measurements, rates: &[RequestRate], with: MeasuredWith) -> Self {
        let study = SensitivityStudy { measurements, rates };
        let mut partitions = PHYSICAL_PARTITIONS.to_vec();
        partitions.push(with.physical_partitions);
        partitions.sort_unstable();
        partitions.dedup();
        let has_basis = measurements.rows.iter().any(|row| row.replaces.insertions > 0.0);
        let replace_costs = ReplaceCost::ALL.into_iter().filter(|_| has_basis);
        let has_fan_out = measurements.rows.iter().any(has_fan_out);
        let clients = [OrderedPageClient::Sdk2019, OrderedPageClient::Adapter];
        Self {
            replace_costs: replace_costs
                .map(|cost| {
                    study.throughput(cost.name(), cost == with.replace_cost, |row| {
                        cost.charge(&row.replaces).0 - with.replace_cost.charge(&row.replaces).0
                    })
                })
                .collect(),
            physical_partitions: partitions
                .into_iter()
                .map(|partitions| {
                    let is_measured = partitions == with.physical_partitions;
                    study.throughput(&partitions.to_string(), is_measured, |row| {
                        if is_measured {
                            0.0
                        } else {
                            fan_out_change(row, partitions, OrderedPageClient::Sdk2019)
                        }
                    })
                })
                .collect(),
            clients: clients
                .into_iter()
                .filter(|_| has_fan_out)
                .map(|client| {
                    let is_measured = client == OrderedPageClient::Sdk2019;
                    study.throughput(client.name(), is_measured, |row| {
                        if is_measured { 0.0 } else { fan_out_change(row, with.physical_partitions, client) }
                    })
                })
                .collect(),
        }
    }
}

impl OrderedPageClient {
    /// Its name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sdk2019 => "clients of 2019",
            Self::Adapter => "this adapter",
        }
    }

    /// Items of each physical partition, if it has them.
    fn items_per_partition(self, physical_partitions: u32, page_items: usize) -> usize {
        match self {
            Self::Sdk2019 => charges::ordered_items_per_partition(physical_partitions, page_items),
            Self::Adapter => page_items + 1,
        }
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

/// How much more a request is charged when its queries visit this many physical partitions.
fn fan_out_change(row: &MeasurementRow, physical_partitions: u32, client: OrderedPageClient) -> f64 {
    let change = |operation: &FoldedOperation| {
        fan_out_charge(operation, physical_partitions, client) - operation.request_charge.0
    };
    let fan_outs = row.operations.iter().filter(|operation| is_fan_out(operation));
    fan_outs.map(change).fold(0.0, |total, change| total + change)
}

fn is_fan_out(operation: &FoldedOperation) -> bool {
    operation.basis.returned > 0 || operation.physical_partitions > 1
}

/// The charge of queries across another number of physical partitions: each partition's charge for being asked, and the
/// items that it returns, at what an item was charged. What an account measured is taken in proportion.
fn fan_out_charge(operation: &FoldedOperation, physical_partitions: u32, client: OrderedPageClient) -> f64 {
    let (charge, times) = (operation.request_charge.0, f64::from(operation.times.max(1)));
    let (returned, measured_with) = (f64::from(operation.basis.returned), operation.physical_partitions);
    if returned == 0.0 {
        return charge * f64::from(physical_partitions) / f64::from(measured_with.max(1));
    }
    let visits = |partitions| times * charges::query(partitions, 0, 0).0;
    let of_an_item = (charge - visits(measured_with)).max(0.0) / returned;
    let page_items = (operation.items / operation.times.max(1)) as usize;
    let from_each = client.items_per_partition(physical_partitions, page_items) as f64;
    let items = if operation.basis.has_more {
        (times * f64::from(physical_partitions) * from_each).min(held(operation, page_items))
    } else {
        returned
    };
    visits(physical_partitions) + items * of_an_item
}

/// How many items the physical partitions hold for queries: those that they returned where that is fewer than were asked for.
fn held(operation: &FoldedOperation, page_items: usize) -> f64 {
    let FoldedOperation { times, physical_partitions, basis, .. } = operation;
    let from_each = OrderedPageClient::Sdk2019.items_per_partition(*physical_partitions, page_items) as f64;
    let asked = f64::from(*times) * f64::from(*physical_partitions) * from_each;
    let returned = f64::from(basis.returned);
    if returned < asked { returned } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{request, row};
    use onehop_store::{ChargeBasis, ContainerName, OperationKind, RequestCharge};

    const WITH: MeasuredWith = MeasuredWith { replace_cost: ReplaceCost::Article, physical_partitions: 70 };

    /// 100 of more posts from 70 physical partitions, ten of each, at 0.5 RU an item.
    fn feed_query() -> FoldedOperation {
        FoldedOperation {
            container: ContainerName("posts"),
            kind: OperationKind::Query,
            times: 1,
            items: 100,
            physical_partitions: 70,
            request_charge: RequestCharge(70.0 * 2.7 + 700.0 * 0.5),
            basis: ChargeBasis { returned: 700, has_more: true, ..ChargeBasis::default() },
        }
    }

    fn charge(partitions: u32, client: OrderedPageClient) -> f64 {
        (fan_out_charge(&feed_query(), partitions, client) * 100.0).round() / 100.0
    }

    #[test]
    fn a_query_is_charged_for_its_partitions_and_items() {
        assert_eq!(charge(70, OrderedPageClient::Sdk2019), 539.0);
        assert_eq!(charge(1, OrderedPageClient::Sdk2019), 52.7);
        assert_eq!(charge(10, OrderedPageClient::Sdk2019), 27.0 + 500.0 * 0.5);
        assert_eq!(charge(4, OrderedPageClient::Adapter), 4.0 * 2.7 + 404.0 * 0.5);
        let measured = FoldedOperation { basis: ChargeBasis::default(), ..feed_query() };
        assert_eq!(fan_out_charge(&measured, 7, OrderedPageClient::Sdk2019).round(), 54.0);
    }

    #[test]
    fn the_replace_cost_can_change_the_data_model_that_takes_the_least() {
        let [v1, v2] = ["V1", "V2"].map(ModelVariant::of_model);
        let mut batch = row("C3", &v2, 15.0, 0.0);
        batch.replaces = ChargeBasis { changes: 5.0, insertions: 10.0, ..ChargeBasis::default() };
        let rows = vec![row("C3", &v1, 16.0, 0.0), batch];
        let measurements = Measurements { requests: vec![request("C3", true)], plans: vec![v1, v2], rows };
        let rates = [RequestRate { request: "C3".to_owned(), per_second: 2.0 }];
        let found = Sensitivity::of(&measurements, &rates, WITH);
        let shown: Vec<(&str, f64, &str)> = found
            .replace_costs
            .iter()
            .map(|line| (&*line.assumption, line.models[1].1, &*line.least))
            .collect();
        assert_eq!(shown, [("article", 30.0, "V2"), ("emulator", 50.0, "V1"), ("documentation", 60.0, "V1")]);
        assert_eq!(found.physical_partitions.len(), 4);
        assert!(found.clients.is_empty(), "no query visits more than one physical partition");
    }
}
