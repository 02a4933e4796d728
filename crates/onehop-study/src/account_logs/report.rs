//! Report on an account's logs: the load of each container, its sizes, hours and skew, and lines for a study.

use std::fmt::Write as _;

use serde::Serialize;
use time::OffsetDateTime;

use super::columns::shown_time;
use super::observed::{AccountLog, ObservedContainer, ObservedOperation};
use crate::figure::{figure, percent};
use crate::render::{Table, TableColumn};

/// Heavy keys of a container that are shown.
const KEYS_SHOWN: usize = 10;

/// The load of an account.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AccountReport {
    /// Rows that count.
    pub rows: u64,
    /// Rows without a container, of other resources, or beyond a limit.
    pub skipped: u64,
    /// The first row's time, in UTC.
    pub from: String,
    /// The last row's time, in UTC.
    pub to: String,
    /// Hours with rows.
    pub hours: usize,
    /// RU of each hour of a day, in the mean of the days; `None` where hours lack.
    pub hourly: Option<[f64; 24]>,
    /// The busiest hour as a multiple of the mean, without the first and the last hour.
    pub peak_to_mean: Option<f64>,
    /// The containers.
    pub containers: Vec<ContainerLoad>,
}

/// The load of one container.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContainerLoad {
    /// The database.
    pub database: String,
    /// The container.
    pub container: String,
    /// Its operations, the dearest together first.
    pub operations: Vec<OperationLoad>,
    /// Its partitions; `None` without rows of `CDBPartitionKeyRUConsumption`.
    pub partitions: Option<PartitionLoad>,
}

/// One operation on a container.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OperationLoad {
    /// The name in the log.
    pub operation: String,
    /// Requests.
    pub requests: u64,
    /// Requests a second, between the first and the last row of the log.
    pub per_second: f64,
    /// Requests that were throttled (429).
    pub throttled: u64,
    /// Requests with other status codes from 400 on.
    pub failed: u64,
    /// RU of all.
    pub request_units: f64,
    /// RU in the mean.
    pub charge_mean: f64,
    /// RU, the median within 2 %.
    pub charge_median: f64,
    /// RU, the 99th percentile within 2 %.
    pub charge_p99: f64,
    /// Bytes of a request, the median.
    pub request_bytes_median: f64,
    /// Bytes of a response, the median.
    pub response_bytes_median: f64,
    /// Bytes of a response, the 99th percentile.
    pub response_bytes_p99: f64,
}

/// The partitions of a container.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartitionLoad {
    /// Physical partitions with requests.
    pub physical_partitions: usize,
    /// The share of the busiest physical partition.
    pub physical_largest_share: f64,
    /// Logical partitions with requests; estimated from some thousand on.
    pub logical_partitions: u64,
    /// The heaviest keys.
    pub heaviest: Vec<HeavyKey>,
    /// The nearer of `UNIFORM` and `ZIPF`, by the share of the heaviest key; `None` for one key.
    pub skew: Option<&'static str>,
}

/// A logical partition with many request units.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeavyKey {
    /// Its partition key, shortened.
    pub key: String,
    /// Its share of the container's request units, at least.
    pub share: f64,
}

impl AccountReport {
    /// The report on all rows.
    #[must_use]
    pub fn of(log: &AccountLog) -> Self {
        let time = log.time();
        let shown = |time: Option<OffsetDateTime>| time.map(shown_time).unwrap_or_default();
        let seconds = log.requests.seconds();
        Self {
            rows: log.rows,
            skipped: log.skipped,
            from: shown(time.first),
            to: shown(time.last),
            hours: time.hours(),
            hourly: time.hourly(),
            peak_to_mean: time.peak_to_mean(),
            containers: log
                .containers
                .iter()
                .map(|((database, container), observed)| ContainerLoad {
                    database: database.clone(),
                    container: container.clone(),
                    operations: operations(observed, seconds),
                    partitions: partitions(observed),
                })
                .collect(),
        }
    }
}

fn operations(observed: &ObservedContainer, seconds: f64) -> Vec<OperationLoad> {
    let load = |(name, found): (&String, &ObservedOperation)| OperationLoad {
        operation: name.clone(),
        requests: found.charges.values,
        per_second: found.charges.values as f64 / seconds,
        throttled: found.throttled,
        failed: found.failed,
        request_units: found.charges.sum,
        charge_mean: found.charges.mean(),
        charge_median: found.charges.quantile(0.5),
        charge_p99: found.charges.quantile(0.99),
        request_bytes_median: found.request_bytes.quantile(0.5),
        response_bytes_median: found.response_bytes.quantile(0.5),
        response_bytes_p99: found.response_bytes.quantile(0.99),
    };
    let mut operations: Vec<OperationLoad> = observed.operations.iter().map(load).collect();
    operations.sort_by(|one, other| other.request_units.total_cmp(&one.request_units));
    operations
}

fn partitions(observed: &ObservedContainer) -> Option<PartitionLoad> {
    let busiest = observed.ranges.values().copied().fold(0.0, f64::max);
    let heaviest = observed.keys.heaviest(KEYS_SHOWN);
    let first = heaviest.first()?.1;
    let keys = observed.keys.keys();
    Some(PartitionLoad {
        physical_partitions: observed.ranges.len(),
        physical_largest_share: if observed.keys.total > 0.0 { busiest / observed.keys.total } else { 0.0 },
        logical_partitions: keys,
        heaviest: heaviest.into_iter().map(|(key, share)| HeavyKey { key, share }).collect(),
        skew: skew(first, keys),
    })
}

/// The first of n keys has the share 1/n, or 1/H(n) by Zipf's law. The nearer by ratio.
fn skew(first: f64, keys: u64) -> Option<&'static str> {
    if keys < 2 || first <= 0.0 {
        return None;
    }
    let even = 1.0 / keys as f64;
    // The harmonic number.
    let zipf = 1.0 / ((keys as f64).ln() + 0.577);
    let is_zipf = (first / zipf).ln().abs() < (first / even).ln().abs();
    Some(if is_zipf { "ZIPF" } else { "UNIFORM" })
}

/// The report as a text for a terminal, with the lines of a study.
#[must_use]
pub fn account_text(report: &AccountReport) -> String {
    let AccountReport { rows, skipped, from, to, hours, .. } = report;
    let mut text = format!("{rows} rows from {from} to {to}, {hours} hours; {skipped} rows skipped\n\n");
    let columns =
        ["requests", "a second", "RU", "p99", "request bytes", "response bytes", "p99", "429", "failed"];
    let names = ["container", "operation"].map(TableColumn::text).into_iter();
    let columns = names.chain(columns.map(TableColumn::figure)).collect();
    let line = |container: &ContainerLoad, found: &OperationLoad| {
        vec![
            format!("{}/{}", container.database, container.container),
            found.operation.clone(),
            found.requests.to_string(),
            figure(found.per_second),
            figure(found.charge_median),
            figure(found.charge_p99),
            figure(found.request_bytes_median),
            figure(found.response_bytes_median),
            figure(found.response_bytes_p99),
            found.throttled.to_string(),
            found.failed.to_string(),
        ]
    };
    let lines = report
        .containers
        .iter()
        .flat_map(|container| container.operations.iter().map(move |found| line(container, found)));
    text += &Table { columns, lines: lines.collect() }.aligned();
    for container in &report.containers {
        let Some(found) = &container.partitions else { continue };
        let skew = found.skew.unwrap_or("one key");
        let _ = writeln!(
            text,
            "\n{}/{}: {} logical partitions in {} physical ones, of which the busiest has {}; {skew}",
            container.database,
            container.container,
            found.logical_partitions,
            found.physical_partitions,
            percent(found.physical_largest_share),
        );
        for heavy in &found.heaviest {
            let _ = writeln!(text, "  {} {}", percent(heavy.share), heavy.key);
        }
    }
    text += &study_lines(report);
    text
}

/// Lines for study.toml.
fn study_lines(report: &AccountReport) -> String {
    let mut text = String::from("\nLines for study.toml:\n");
    match (report.hourly, report.peak_to_mean) {
        (Some(hours), _) => {
            let hours = hours.map(figure).join(", ");
            let _ = writeln!(text, "[traffic]\nhourly = [{hours}]");
        }
        (None, Some(peak)) => {
            let _ = writeln!(text, "[traffic]\npeak_to_mean = {}", figure(peak.max(1.0)));
        }
        (None, None) => {}
    }
    let known = report.containers.iter().filter_map(|container| {
        Some((&container.container, container.partitions.as_ref()?.physical_partitions))
    });
    // Containers of several databases may have one name.
    let known: std::collections::BTreeMap<_, _> = known.collect();
    if !known.is_empty() {
        text.push_str("[partitions]\n");
    }
    for (container, partitions) in known {
        let _ = writeln!(text, "{container:?} = {partitions}");
    }
    text
}
