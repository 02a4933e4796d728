//! Observed account: requests, request units, sizes, hours and partitions of each container.

use std::collections::BTreeMap;

use time::OffsetDateTime;

use super::case_samples::CaseSamples;
use super::columns::{Column, LogRow, LogTable};
use super::sketches::{KeySketch, RatioHistogram};
use super::{LOG_CONTAINERS_MAX, LOG_HOURS_MAX, LOG_OPERATIONS_MAX, LOG_RANGES_MAX};

const SECONDS_AN_HOUR: i64 = 3_600;
/// The status codes of throttling, and of the first failure.
const THROTTLED: f64 = 429.0;
const FAILED_FROM: f64 = 400.0;
/// Operations on other resources, such as stored procedures and offers, are not counted.
const ITEMS: &str = "Document";

/// Everything that the logs of an account show.
#[derive(Debug, Default)]
pub struct AccountLog {
    /// By database and container.
    pub(super) containers: BTreeMap<(String, String), ObservedContainer>,
    /// The time of the requests, and of the charges of partition keys.
    pub(super) requests: ObservedTime,
    pub(super) partitions: ObservedTime,
    /// Rows that count.
    pub rows: u64,
    /// Rows without a container, of other resources, or beyond a limit.
    pub skipped: u64,
}

/// One container.
#[derive(Debug, Default)]
pub(super) struct ObservedContainer {
    pub operations: BTreeMap<String, ObservedOperation>,
    pub samples: CaseSamples,
    pub keys: KeySketch,
    /// RU of each physical partition.
    pub ranges: BTreeMap<String, f64>,
}

/// One operation on a container.
#[derive(Debug, Default)]
pub(super) struct ObservedOperation {
    pub throttled: u64,
    /// Other status codes from 400 on.
    pub failed: u64,
    pub charges: RatioHistogram,
    pub request_bytes: RatioHistogram,
    pub response_bytes: RatioHistogram,
}

/// The request units of each hour.
#[derive(Debug, Default)]
pub(super) struct ObservedTime {
    /// RU by the hours since 1970.
    hours: BTreeMap<i64, f64>,
    pub first: Option<OffsetDateTime>,
    pub last: Option<OffsetDateTime>,
}

impl AccountLog {
    pub(super) fn add(&mut self, file: usize, row: &LogRow) -> Result<(), String> {
        let (time, charge) = (row.time()?, row.number(Column::RequestCharge)?);
        let table = LogTable::of(|column| row.values[column as usize].is_some());
        let name = (row.text(Column::DatabaseName).to_owned(), row.text(Column::CollectionName).to_owned());
        let of_items = row.get(Column::RequestResourceType).is_none_or(|kind| kind == ITEMS);
        let is_new = !self.containers.contains_key(&name);
        if name.1.is_empty() || !of_items || (is_new && self.containers.len() == LOG_CONTAINERS_MAX) {
            self.skipped += 1;
            return Ok(());
        }
        let container = self.containers.entry(name).or_default();
        let counted = match table {
            LogTable::DataPlaneRequests => container.add_request(file, row, charge)?,
            LogTable::PartitionKeyConsumption => container.add_partition(row, charge),
        };
        if !counted {
            self.skipped += 1;
            return Ok(());
        }
        self.rows += 1;
        let observed = match table {
            LogTable::DataPlaneRequests => &mut self.requests,
            LogTable::PartitionKeyConsumption => &mut self.partitions,
        };
        observed.add(time, charge)
    }

    /// The time of the requests, or of the partition keys where there are no requests.
    pub(super) fn time(&self) -> &ObservedTime {
        if self.requests.first.is_some() { &self.requests } else { &self.partitions }
    }
}

impl ObservedContainer {
    /// `false`: the row is beyond a limit.
    fn add_request(&mut self, file: usize, row: &LogRow, charge: f64) -> Result<bool, String> {
        let status = row.number(Column::StatusCode)?;
        let (sent, received) = (row.number(Column::RequestLength)?, row.number(Column::ResponseLength)?);
        let operation = row.text(Column::OperationName);
        if !self.operations.contains_key(operation) && self.operations.len() == LOG_OPERATIONS_MAX {
            return Ok(false);
        }
        let found = self.operations.entry(operation.to_owned()).or_default();
        if status == THROTTLED {
            found.throttled += 1;
        } else if status >= FAILED_FROM {
            found.failed += 1;
        }
        found.charges.add(charge);
        found.request_bytes.add(sent);
        found.response_bytes.add(received);
        if status < FAILED_FROM && charge > 0.0 {
            self.samples.add((file, row.line), operation, status, [sent, received], charge);
        }
        Ok(true)
    }

    fn add_partition(&mut self, row: &LogRow, charge: f64) -> bool {
        let range = row.text(Column::PartitionKeyRangeId);
        if !self.ranges.contains_key(range) && self.ranges.len() == LOG_RANGES_MAX {
            return false;
        }
        *self.ranges.entry(range.to_owned()).or_default() += charge;
        self.keys.add(row.text(Column::PartitionKey), charge);
        true
    }
}

impl ObservedTime {
    fn add(&mut self, time: OffsetDateTime, charge: f64) -> Result<(), String> {
        let hour = time.unix_timestamp().div_euclid(SECONDS_AN_HOUR);
        if !self.hours.contains_key(&hour) && self.hours.len() == LOG_HOURS_MAX {
            return Err(format!("the files have more than {LOG_HOURS_MAX} hours with requests"));
        }
        *self.hours.entry(hour).or_default() += charge;
        self.first = Some(self.first.map_or(time, |first| first.min(time)));
        self.last = Some(self.last.map_or(time, |last| last.max(time)));
        Ok(())
    }

    /// Seconds between the first and the last row, at least 1.
    pub fn seconds(&self) -> f64 {
        self.first.zip(self.last).map_or(1.0, |(first, last)| (last - first).as_seconds_f64().max(1.0))
    }

    /// RU of each hour of a day, in the mean of the days that have the hour; `None` where hours lack.
    pub fn hourly(&self) -> Option<[f64; 24]> {
        let (mut sums, mut days) = ([0.0; 24], [0_u32; 24]);
        for (hour, charge) in &self.hours {
            let of_day = usize::try_from(hour.rem_euclid(24)).ok()?;
            sums[of_day] += charge;
            days[of_day] += 1;
        }
        let mut hours = [0.0; 24];
        for ((hour, sum), days) in hours.iter_mut().zip(sums).zip(days) {
            *hour = (days > 0).then_some(sum / f64::from(days))?;
        }
        Some(hours)
    }

    /// The hour with most RU as a multiple of the mean of all hours between the first and the last; `None`
    /// for less than three hours, of which the first and the last are cut.
    pub fn peak_to_mean(&self) -> Option<f64> {
        let ((first, _), (last, _)) = (self.hours.first_key_value()?, self.hours.last_key_value()?);
        let whole = self.hours.iter().filter(|(hour, _)| *hour > first && *hour < last);
        let whole: Vec<f64> = whole.map(|(_, charge)| *charge).collect();
        // Without a whole hour the sum is 0.
        let mean = whole.iter().sum::<f64>() / (last - first - 1).max(1) as f64;
        let peak = whole.iter().copied().fold(0.0, f64::max);
        (mean > 0.0).then_some(peak / mean)
    }

    /// Hours with rows.
    pub fn hours(&self) -> usize {
        self.hours.len()
    }
}
