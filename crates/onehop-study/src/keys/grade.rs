//! Grades of keys: good, fair or bad, with reasons.

use serde::Serialize;

use super::candidates::{KeyCandidate, sorted};
use super::finds::{Find, FindKind};
use crate::azure_limits::{BYTES_A_GB, LOGICAL_PARTITION_BYTES_MAX, LOGICAL_PARTITION_THROUGHPUT_MAX};
use crate::designs::{KeyShare, is_time_key};
use crate::figure::{figure, percent};
use crate::plans::{Planner, zipf_first};
use onehop_model::Skew;
use onehop_store::charges::QueryWork;

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
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum KeyGrade {
    /// Many values, no hot spot, and requests for several items ask one partition.
    #[default]
    Good,
    /// It serves point reads, or most requests.
    Fair,
    /// Too few values, a hot spot, or a limit that the data or the traffic exceeds.
    Bad,
}

/// A key with its grade.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
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
    /// RU/s of the busiest logical partition at the peak: reads and writes of items, and lists that the key
    /// serves.
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
        let growth = self.growth(candidate, &share);
        let bytes = items as f64 * self.planner.data.item_bytes(ty) * share.share * growth;
        let mut graded = GradedKey {
            fields: candidate.fields.clone(),
            grade: KeyGrade::Good,
            reasons: Vec::new(),
            values: share.values,
            largest_share: share.share,
            largest_gb: bytes * (1.0 + self.index_share) / BYTES_A_GB,
            busiest_throughput: self.busiest(candidate, &share, growth),
            in_one_partition: self.in_one_partition(&candidate.fields),
        };
        let begins_with_time = survey.of(ty).zip(candidate.fields.first());
        let begins_with_time = begins_with_time.is_some_and(|(found, first)| is_time_key(found, first));
        self.changes(&mut graded);
        self.limits(&mut graded, &share);
        self.prefix(&mut graded, candidate);
        if begins_with_time && !share.is_time && self.rate(FindKind::Create) > 0.0 {
            let text =
                "new items share the newest value of the first part, so few physical partitions take them";
            graded.lower(KeyGrade::Bad, text.to_owned());
        }
        // The id spreads items by itself: few items are no few values.
        if !candidate.fields.contains(&"id".to_owned()) {
            self.spread(&mut graded, &share, items as f64 * self.planner.growth_of(ty).max(1.0).min(growth));
        }
        self.single_items(&mut graded, items as f64 * growth / share.values.max(1) as f64);
        self.requests(&mut graded);
        if graded.reasons.is_empty() {
            let text = format!(
                "many values, no hot spot, {} items under each",
                figure(items as f64 * growth / share.values.max(1) as f64)
            );
            graded.reasons.push(text);
        }
        graded
    }

    /// Requests that change a field of the key, whose value cannot change.
    fn changes(&self, graded: &mut GradedKey) {
        for field in graded.fields.clone().iter().filter(|field| *field != "id") {
            let changing = self.finds.iter().filter(|find| find.writes.contains(field));
            let changing: Vec<&str> = changing.map(|find| find.request.as_str()).collect();
            if !changing.is_empty() {
                let verb = if changing.len() == 1 { "changes" } else { "change" };
                let text = format!(
                    "{} {verb} {field}, and the value of a partition key cannot change: the item would be created anew and deleted",
                    joined(&changing)
                );
                graded.lower(KeyGrade::Bad, text);
            }
        }
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
    fn spread(&self, graded: &mut GradedKey, share: &KeyShare, items: f64) {
        if share.values < MANY_VALUES && (share.values as f64) < items {
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
        }
    }

    /// One item under each value: right for point reads, and for lists only as the last part of a key.
    fn single_items(&self, graded: &mut GradedKey, items_of_value: f64) {
        if items_of_value >= SEVERAL_ITEMS {
            return;
        }
        if self.several().next().is_none() {
            let text = "one item under each value: each request is a point read or a write of one item";
            graded.reasons.push(text.to_owned());
        } else if let [first, _, ..] = graded.fields.as_slice()
            && graded.in_one_partition.is_some_and(|share| share > 0.0)
        {
            let text = format!(
                "one item under each value: lists by {first} ask the physical partitions of that prefix, and a batch covers one item"
            );
            graded.reasons.push(text);
        } else {
            graded.lower(
                KeyGrade::Fair,
                "one item under each value: fine for point reads, no queries in one logical partition"
                    .to_owned(),
            );
        }
    }

    /// The first part of a hierarchical key: until its data is split, one physical partition takes its load.
    /// A first part below the limits of a logical partition needs no second one.
    fn prefix(&self, graded: &mut GradedKey, candidate: &KeyCandidate) {
        let [first, _, ..] = candidate.fields.as_slice() else { return };
        let prefix = KeyCandidate { item_type: candidate.item_type.clone(), fields: vec![first.clone()] };
        let share = self.planner.data.share_of(&prefix.item_type, &prefix.fields);
        let growth = self.growth(&prefix, &share);
        let busiest = self.busiest(&prefix, &share, growth);
        let bytes =
            self.bytes(&prefix.item_type) / self.planner.growth_of(&prefix.item_type) * share.share * growth;
        let gigabytes = bytes * (1.0 + self.index_share) / BYTES_A_GB;
        if busiest > LOGICAL_PARTITION_THROUGHPUT_MAX && !share.is_time {
            let text = format!(
                "the busiest {first} needs {} RU/s, which one physical partition of 10,000 takes until its data is split",
                figure(busiest)
            );
            graded.lower(KeyGrade::Fair, text);
        } else if busiest <= LOGICAL_PARTITION_THROUGHPUT_MAX
            && gigabytes * BYTES_A_GB <= LOGICAL_PARTITION_BYTES_MAX
            && graded.in_one_partition.unwrap_or(0.0) > 0.0
        {
            let text = format!("{first} alone stays below the limits: the second part only narrows batches");
            graded.reasons.push(text);
        }
    }

    /// The factor by which the largest group of a key grows with the data. Where each field of a key has a
    /// bounded number of values, their combinations are bounded, too, and grow once all of them exist.
    fn growth(&self, candidate: &KeyCandidate, share: &KeyShare) -> f64 {
        let (data, scale) = (&self.planner.data, self.planner.growth_of(&candidate.item_type));
        if share.grows {
            return scale;
        }
        let single = |field: &String| data.share_of(&candidate.item_type, std::slice::from_ref(field));
        let shares: Vec<KeyShare> = candidate.fields.iter().map(single).collect();
        if candidate.fields.len() < 2 || shares.iter().any(|single| !single.grows) {
            return 1.0;
        }
        let items = data.items(&candidate.item_type) as f64;
        let combinations: f64 = shares.iter().map(|single| single.values.max(1) as f64).product();
        let values = combinations.min(items * scale).max(1.0);
        (scale * share.values as f64 / values).clamp(1.0, scale.max(1.0))
    }

    /// Bytes of all items of a type.
    pub fn bytes(&self, ty: &str) -> f64 {
        self.planner.data.items(ty) as f64 * self.planner.data.item_bytes(ty) * self.planner.growth_of(ty)
    }

    /// Whether all requests for several items give all these fields.
    pub fn all_give(&self, fields: &[String]) -> bool {
        self.several().all(|find| fields.iter().all(|field| find.by.contains(field)))
    }

    /// The items of one page of a list under a key.
    fn page_items(&self, find: &Find, values: u64) -> f64 {
        let items = self.planner.data.items(&find.item_type) as f64;
        (items / values.max(1) as f64).clamp(1.0, f64::from(find.page.max(1)))
    }

    /// RU of one page of a list in one logical partition.
    pub fn query_charge(&self, find: &Find, key: &GradedKey) -> f64 {
        let items = self.page_items(find, key.values);
        let work = QueryWork {
            physical_partitions: 1,
            conditions: 1 + find.by.len() as u32,
            items: items.round() as usize,
            bytes: (items * self.planner.data.item_bytes(&find.item_type)) as usize,
            ..QueryWork::default()
        };
        self.planner.calibration.query(&work, self.planner.consistency).total().0
    }

    /// RU of the point read of an item with the same page.
    pub fn page_charge(&self, find: &Find, key: &GradedKey) -> f64 {
        let bytes = self.page_items(find, key.values) * self.planner.data.item_bytes(&find.item_type);
        self.planner.calibration.point_read(bytes as usize, self.planner.consistency).total().0
    }

    /// RU/s of a list in its busiest logical partition, at the peak; 0 where the key does not serve it.
    /// Unless the request states its skew, readers follow the data.
    pub fn read_throughput(&self, find: &Find, key: &GradedKey) -> f64 {
        if !is_served(&key.fields, &find.by) {
            return 0.0;
        }
        let share = popular_share(find.skew, key.values, key.largest_share);
        find.per_second * self.query_charge(find, key) * share * self.peak_to_mean
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

    /// Finds a second.
    pub fn rate(&self, kind: FindKind) -> f64 {
        let rates = self.finds.iter().filter(|find| find.kind == kind);
        rates.map(|find| find.per_second).fold(0.0, |sum, rate| sum + rate)
    }

    /// RU/s of single reads, writes and lists in the busiest logical partition; creations in the newest of a
    /// time.
    fn busiest(&self, candidate: &KeyCandidate, share: &KeyShare, growth: f64) -> f64 {
        let ty = &candidate.item_type;
        let Some(item) = self.planner.data.design.model.item(ty) else { return 0.0 };
        let scale = self.planner.growth_of(ty);
        let largest = (share.share * growth / scale).min(1.0);
        let values = (share.values as f64 * scale / growth) as u64;
        let create = self.planner.create_charge(item);
        let bytes = self.planner.data.item_bytes(ty) as usize;
        let read = self.planner.calibration.point_read(bytes, self.planner.consistency).total().0;
        // New ids make logical partitions of their own.
        let is_new = candidate.fields == ["id"] && share.values > 1;
        let load = |find: &&Find| match find.kind {
            FindKind::Create if share.is_time => create,
            FindKind::Create if is_new => 0.0,
            FindKind::Create => create * largest,
            // A replace costs about twice the base of a create.
            FindKind::Change => (read + 2.0 * create) * popular_share(find.skew, values, largest),
            FindKind::Item => read * popular_share(find.skew, values, largest),
            FindKind::Several if is_served(&candidate.fields, &find.by) => {
                let key = GradedKey { values: share.values, ..GradedKey::default() };
                self.query_charge(find, &key) * popular_share(find.skew, values, largest)
            }
            FindKind::Several => 0.0,
        };
        let loads = self.finds.iter().map(|find| find.per_second * load(find));
        loads.fold(0.0, |sum, load| sum + load) * self.peak_to_mean
    }
}

/// The share of requests for the most popular of so many values; `largest` where readers follow the data.
fn popular_share(skew: Option<Skew>, values: u64, largest: f64) -> f64 {
    match skew {
        Some(Skew::Uniform) => 1.0 / values.max(1) as f64,
        Some(Skew::Zipf) => zipf_first(values as f64).max(largest),
        None => largest,
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
