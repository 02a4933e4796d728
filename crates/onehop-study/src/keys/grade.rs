//! Grades of keys: good, fair or bad, with reasons.

use serde::Serialize;

use super::candidates::{KeyCandidate, sorted};
use super::finds::{Find, FindKind};
use crate::azure_limits::{BYTES_A_GB, LOGICAL_PARTITION_BYTES_MAX, LOGICAL_PARTITION_THROUGHPUT_MAX};
use crate::designs::{KeyShare, is_time_key};
use crate::figure::{figure, percent};
use crate::plans::Planner;

/// With fewer values a key cannot spread load over the physical partitions of a large container.
const MANY_VALUES: u64 = 100;
/// A largest group of this share is a hot spot.
const HOT_SHARE: f64 = 0.1;
/// Items under each value from which on they belong together.
const SEVERAL_ITEMS: f64 = 1.5;
/// The share of a logical partition's throughput from which on it is nearly full.
const NEARLY_FULL: f64 = 0.5;
/// The share of finds of several items that ask all partitions, from which on a key does not serve them.
const MANY_FAN_OUTS: f64 = 0.5;

/// The grade of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum KeyGrade {
    /// Many values, no hot spot, and requests for several items ask one partition.
    Good,
    /// It serves point reads, or most requests.
    Fair,
    /// Too few values, a hot spot, or a limit that the data or the traffic exceeds.
    Bad,
}

/// A key with its grade.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GradedKey {
    /// The fields.
    pub fields: Vec<String>,
    /// The grade.
    pub grade: KeyGrade,
    /// The reasons, the decisive ones first.
    pub reasons: Vec<String>,
    /// Different values.
    pub values: u64,
    /// The largest value's share of the items.
    pub largest_share: f64,
    /// GB of the largest logical partition, with its index.
    pub largest_gb: f64,
    /// RU/s of the busiest logical partition at the peak, from items' own reads and writes.
    pub busiest_throughput: f64,
    /// The share of the requests for several items that ask one partition, or the prefix of a key.
    pub in_one_partition: Option<f64>,
}

impl KeyGrade {
    /// Its name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Fair => "fair",
            Self::Bad => "bad",
        }
    }
}

/// Grades keys of one type over the data.
pub(super) struct Grader<'a> {
    pub planner: Planner<'a>,
    /// Of the type.
    pub finds: Vec<&'a Find>,
    pub peak_to_mean: f64,
    pub index_share: f64,
}

impl Grader<'_> {
    pub fn grade(&self, candidate: &KeyCandidate) -> GradedKey {
        let ty = &candidate.item_type;
        let survey = self.planner.data.survey;
        let items = self.planner.data.items(ty);
        let share = self.planner.data.share_of(ty, &sorted(&candidate.fields));
        let growth = if share.grows { self.planner.scale } else { 1.0 };
        let bytes = items as f64 * self.planner.data.item_bytes(ty) * share.share * growth;
        let mut graded = GradedKey {
            fields: candidate.fields.clone(),
            grade: KeyGrade::Good,
            reasons: Vec::new(),
            values: share.values,
            largest_share: share.share,
            largest_gb: bytes * (1.0 + self.index_share) / BYTES_A_GB,
            busiest_throughput: self.busiest(ty, &share),
            in_one_partition: self.in_one_partition(&candidate.fields),
        };
        let begins_with_time = survey.of(ty).zip(candidate.fields.first());
        let begins_with_time = begins_with_time.is_some_and(|(found, first)| is_time_key(found, first));
        self.limits(&mut graded, &share);
        if begins_with_time && !share.is_time && self.rate(FindKind::Create) > 0.0 {
            let text =
                "new items share the newest value of the first part, so few physical partitions take them";
            graded.lower(KeyGrade::Bad, text.to_owned());
        }
        self.spread(&mut graded, &share, items);
        self.requests(&mut graded);
        if graded.reasons.is_empty() {
            let text = format!(
                "many values, no hot spot, {} items under each",
                figure(items as f64 / share.values.max(1) as f64)
            );
            graded.reasons.push(text);
        }
        graded
    }

    /// Limits that the data or the traffic exceeds.
    fn limits(&self, graded: &mut GradedKey, share: &KeyShare) {
        if graded.largest_gb * BYTES_A_GB > LOGICAL_PARTITION_BYTES_MAX {
            let text = format!(
                "the largest logical partition has {} GB, and 20 GB are the limit",
                figure(graded.largest_gb)
            );
            graded.lower(KeyGrade::Bad, text);
        }
        let full = graded.busiest_throughput / LOGICAL_PARTITION_THROUGHPUT_MAX;
        if full > 1.0 {
            let busiest = figure(graded.busiest_throughput);
            graded.lower(
                KeyGrade::Bad,
                format!("the busiest logical partition needs {busiest} RU/s, and 10,000 are the limit"),
            );
        } else if full > NEARLY_FULL {
            graded.lower(KeyGrade::Fair, format!("the busiest logical partition is {} full", percent(full)));
        }
        let writes = self.rate(FindKind::Create);
        if share.is_time && writes > 0.0 {
            let text =
                format!("all {} new items a second go to the newest value, a hot spot", figure(writes));
            graded.lower(KeyGrade::Bad, text);
        }
    }

    /// Values and items under each.
    fn spread(&self, graded: &mut GradedKey, share: &KeyShare, items: u64) {
        let single = share.values.max(1) as f64;
        if share.values < MANY_VALUES && share.values < items {
            let plural = if share.values == 1 { "value" } else { "values" };
            let text = format!(
                "{} {plural}, the largest ({}) would hold {} of the data",
                share.values,
                share.key.replace('\n', ", "),
                percent(share.share)
            );
            graded.lower(KeyGrade::Bad, text);
        } else if share.share > HOT_SHARE {
            let text = format!(
                "a hot spot: {} holds {} of the data",
                share.key.replace('\n', ", "),
                percent(share.share)
            );
            graded.lower(KeyGrade::Bad, text);
        } else if (items as f64 / single) < SEVERAL_ITEMS {
            graded.lower(
                KeyGrade::Fair,
                "one item under each value: fine for point reads, no queries in one logical partition"
                    .to_owned(),
            );
        }
    }

    /// Requests for several items that the key does not serve.
    fn requests(&self, graded: &mut GradedKey) {
        let across: Vec<&str> = self
            .several()
            .filter(|find| !is_served(&graded.fields, &find.by))
            .map(|find| find.request.as_str())
            .collect();
        if across.is_empty() {
            return;
        }
        let text = format!("{} would ask all physical partitions", joined(&across));
        match graded.in_one_partition {
            Some(share) if share < 1.0 - MANY_FAN_OUTS => graded.lower(KeyGrade::Fair, text),
            _ => graded.reasons.push(text),
        }
    }

    fn several(&self) -> impl Iterator<Item = &Find> {
        self.finds.iter().copied().filter(|find| find.kind == FindKind::Several)
    }

    fn in_one_partition(&self, fields: &[String]) -> Option<f64> {
        let all: f64 = self.several().map(|find| find.per_second).sum();
        let served = self.several().filter(|find| is_served(fields, &find.by));
        let served: f64 = served.map(|find| find.per_second).sum();
        (all > 0.0).then(|| served / all)
    }

    fn rate(&self, kind: FindKind) -> f64 {
        let rates = self.finds.iter().filter(|find| find.kind == kind);
        rates.map(|find| find.per_second).fold(0.0, |sum, rate| sum + rate)
    }

    /// RU/s of single reads and writes in the largest logical partition; creations in the newest of a time.
    fn busiest(&self, ty: &str, share: &KeyShare) -> f64 {
        let Some(item) = self.planner.data.design.model.item(ty) else { return 0.0 };
        let largest = if share.grows { share.share } else { share.share / self.planner.scale };
        let create = self.planner.create_charge(item);
        let bytes = self.planner.data.item_bytes(ty) as usize;
        let read = self.planner.calibration.point_read(bytes, self.planner.consistency).total().0;
        let of_new = if share.is_time { 1.0 } else { largest };
        let creates = self.rate(FindKind::Create) * create * of_new;
        // A replace costs about twice the base of a create.
        let changes = self.rate(FindKind::Change) * (read + 2.0 * create) * largest;
        let reads = self.rate(FindKind::Item) * read * largest;
        (creates + changes + reads) * self.peak_to_mean
    }
}

impl GradedKey {
    fn lower(&mut self, grade: KeyGrade, reason: String) {
        self.grade = self.grade.max(grade);
        self.reasons.push(reason);
    }
}

/// Whether a find with these given fields asks one logical partition, or the prefix of a hierarchical key.
fn is_served(key: &[String], given: &[String]) -> bool {
    key.first().is_some_and(|first| given.contains(first))
}

fn joined(names: &[&str]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        names => names.join(""),
    }
}
