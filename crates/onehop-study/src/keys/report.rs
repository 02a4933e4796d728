//! Report on keys: the graded candidates of each type, the price of another key, and further candidates.

use serde::Serialize;

use onehop_model::{FieldKind, Kept, RelatedSource};

use super::candidates::candidates;
use super::finds::{Find, FindKind, finds};
use super::grade::{GradedKey, Grader, KeyGrade};
use crate::azure_limits::{BYTES_A_GB, LOGICAL_PARTITION_BYTES_MAX, LOGICAL_PARTITION_THROUGHPUT_MAX};
use crate::design_study::DesignStudy;
use crate::designs::DesignData;
use crate::figure::{figure, percent};
use crate::render::Table;
use crate::render::TableColumn;

/// The keys of all types.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyReport {
    /// Types with data, by name.
    pub types: Vec<TypeKeys>,
}

/// The keys of one type.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TypeKeys {
    /// The item type.
    pub item_type: String,
    /// The keys, the best first.
    pub keys: Vec<GradedKey>,
    /// The prices of another key, and designs beyond a key.
    pub notes: Vec<String>,
}

impl KeyReport {
    /// Grades all candidates. The survey has their groupings.
    #[must_use]
    pub fn of(study: &DesignStudy<'_>) -> Self {
        let designs = study.designs();
        let Some(first) = designs.first() else { return Self { types: Vec::new() } };
        let (finds, candidates) = (finds(study.directory), candidates(study.directory));
        let settings = &study.directory.settings;
        let of_type = |item_type: &String| {
            let has_type = |data: &&DesignData<'_>| data.design.model.item(item_type).is_some();
            let grader = Grader {
                planner: study.planner(designs.iter().find(has_type).unwrap_or(first), false),
                finds: finds.iter().filter(|find| find.item_type == *item_type).collect(),
                peak_to_mean: settings.peak_to_mean.high,
                index_share: settings.index_share.high,
            };
            let own = candidates.iter().filter(|candidate| candidate.item_type == *item_type);
            let mut keys: Vec<GradedKey> = own.map(|candidate| grader.grade(candidate)).collect();
            keys.sort_by(|one, other| {
                rank(one).partial_cmp(&rank(other)).unwrap_or(std::cmp::Ordering::Equal)
            });
            let mut notes = batches(study, item_type);
            notes.extend(further(&grader, item_type, &keys));
            TypeKeys { item_type: item_type.clone(), keys, notes }
        };
        Self { types: settings.data.keys().map(of_type).collect() }
    }
}

/// Better grades first, then keys that serve more requests, then short keys.
fn rank(key: &GradedKey) -> (KeyGrade, f64, usize, f64) {
    (key.grade, -key.in_one_partition.unwrap_or(0.0), key.fields.len(), key.largest_share)
}

/// Counts that a command keeps in one batch with the items, which another key would separate.
fn batches(study: &DesignStudy<'_>, item_type: &str) -> Vec<String> {
    let mut notes = Vec::new();
    for design in &study.directory.designs {
        for owner in design.model.items() {
            for field in &owner.fields {
                let FieldKind::Count(count) = &field.kind else { continue };
                let Some(FieldKind::Related(related)) = owner.field(&count.of).map(|field| &field.kind)
                else {
                    continue;
                };
                let RelatedSource::Partition { by } = &related.source else { continue };
                if *related.item_type == *item_type && matches!(count.kept, Kept::Batch { .. }) {
                    let by: Vec<&str> = by.iter().map(|field| &**field).collect();
                    let note = format!(
                        "With any key but {}, {item_type} and {}.{} no longer share a batch ({}).",
                        by.join(" and "),
                        owner.name,
                        field.name,
                        design.name
                    );
                    notes.push(note);
                }
            }
        }
    }
    notes.dedup();
    notes
}

/// Read models, write sharding, page items, copies in each process, and further parts of a key.
fn further(grader: &Grader<'_>, item_type: &str, keys: &[GradedKey]) -> Vec<String> {
    let mut notes = Vec::new();
    let Some(best) = keys.first() else { return notes };
    for find in grader.finds.iter().filter(|find| find.kind == FindKind::Several) {
        let is_served = best.fields.first().is_some_and(|first| find.by.contains(first));
        if !is_served {
            let by = if find.by.is_empty() {
                "one logical partition for all".to_owned()
            } else {
                find.by.join(" and ")
            };
            notes.push(format!(
                "{}: a list (@list) by {by} serves it beside the key {}; a global secondary index does so without code, at its own throughput.",
                find.request,
                best.fields.join(", ")
            ));
        }
    }
    notes.extend(sharding(grader, keys));
    notes.extend(page_item(grader, keys));
    notes.extend(local_copies(grader, item_type));
    if best.largest_gb * BYTES_A_GB > LOGICAL_PARTITION_BYTES_MAX && best.fields.len() == 1 {
        notes.push(format!(
            "{}: a second part of the key, such as the id or a span of time, takes its largest value below 20 GB; a batch then covers one value of both.",
            best.fields.join(", ")
        ));
    }
    if let [first, rest @ ..] = best.fields.as_slice()
        && !rest.is_empty()
        && best.in_one_partition == Some(1.0)
        && grader.all_give(&best.fields)
    {
        notes.push(format!(
            "Each request gives {} too: one property with both values (a synthetic key) serves the same requests, without a common physical partition of each {first}.",
            rest.join(" and ")
        ));
    }
    notes
}

/// Write sharding of keys by which requests find items, where one value takes too much.
fn sharding(grader: &Grader<'_>, keys: &[GradedKey]) -> Vec<String> {
    let is_asked = |field: &String| {
        grader.finds.iter().any(|find| find.by.contains(field) && *field != "id")
            || keys.iter().any(|key| key.fields == ["id"] && field == "id")
    };
    let is_hot = |key: &&GradedKey| {
        key.busiest_throughput > LOGICAL_PARTITION_THROUGHPUT_MAX && key.fields.iter().all(is_asked)
    };
    let note = |key: &GradedKey| {
        let shards = (key.busiest_throughput / LOGICAL_PARTITION_THROUGHPUT_MAX * 2.0).ceil();
        let fields = key.fields.join(", ");
        if key.fields == ["id"] {
            format!(
                "The busiest item needs {} RU/s: {shards} parts of it under keys of their own (write sharding) share its writes; a read asks all parts, or an item with their sum that is written once a second.",
                figure(key.busiest_throughput)
            )
        } else {
            format!(
                "{fields}: a suffix from 1 to {shards} (write sharding) leaves each logical partition half of its limit; a read by {fields} asks all {shards}."
            )
        }
    };
    keys.iter().filter(|key| key.fields.len() == 1).filter(is_hot).map(note).collect()
}

/// An item with a whole page, for the busiest list that one logical partition serves.
fn page_item(grader: &Grader<'_>, keys: &[GradedKey]) -> Option<String> {
    /// RU/s of one list from which on its page is worth an item of its own.
    const BUSY_LIST: f64 = 1_000.0;
    let lists = grader.finds.iter().filter(|find| find.kind == FindKind::Several);
    let serves =
        |find: &Find, key: &GradedKey| key.fields.first().is_some_and(|first| find.by.contains(first));
    let served = lists.filter_map(|find| Some((find, keys.iter().find(|key| serves(find, key))?)));
    let loads = served.map(|(find, key)| (find, key, grader.read_throughput(find, key)));
    let (find, key, load) = loads.max_by(|one, other| one.2.total_cmp(&other.2))?;
    let of_query = grader.query_charge(find, key);
    let of_page = grader.page_charge(find, key);
    (load > BUSY_LIST && of_page < of_query).then(|| {
        format!(
            "{}: its busiest list needs {} RU/s. An item with the page, written at most once a second, is a point read of {} RU and not a query of {}; copies of it under several keys share the reads.",
            find.request,
            figure(load),
            figure(of_page),
            figure(of_query)
        )
    })
}

/// A small type that is read much more often than written.
fn local_copies(grader: &Grader<'_>, item_type: &str) -> Option<String> {
    const BYTES_MAX: f64 = 16.0 * 1024.0 * 1024.0;
    const READS_PER_WRITE: f64 = 100.0;
    let bytes = grader.bytes(item_type);
    let reads = grader.rate(FindKind::Item) + grader.rate(FindKind::Several);
    let writes = grader.rate(FindKind::Create) + grader.rate(FindKind::Change);
    (bytes <= BYTES_MAX && reads >= 1.0 && reads >= READS_PER_WRITE * writes).then(|| {
        format!(
            "All items have {} and are read {} times a second: a container with place MIRROR keeps them in each process, which reads them at 0 RU.",
            size(bytes),
            figure(reads)
        )
    })
}

/// Bytes with a unit: `12.3 MB`.
fn size(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    let unit = (bytes.max(1.0).log(1024.0) as usize).min(UNITS.len() - 1);
    format!("{} {}", figure(bytes / 1024_f64.powi(unit as i32)), UNITS[unit])
}

/// The report as a text for a terminal.
#[must_use]
pub fn key_table(report: &KeyReport) -> String {
    let mut text = String::new();
    for TypeKeys { item_type, keys, notes } in &report.types {
        let columns = vec![
            TableColumn::text(item_type),
            TableColumn::text("grade"),
            TableColumn::figure("values"),
            TableColumn::figure("largest"),
            TableColumn::figure("size"),
            TableColumn::figure("RU/s"),
            TableColumn::figure("one partition"),
            TableColumn::text("reasons"),
        ];
        let line = |key: &GradedKey| {
            vec![
                key.fields.join(", "),
                key.grade.name().to_owned(),
                key.values.to_string(),
                percent(key.largest_share),
                size(key.largest_gb * BYTES_A_GB),
                format!("{:.1}", key.busiest_throughput),
                key.in_one_partition.map(percent).unwrap_or_default(),
                key.reasons.join("; "),
            ]
        };
        let table = Table { columns, lines: keys.iter().map(line).collect() };
        text.push_str(&table.aligned());
        notes.iter().for_each(|note| text.push_str(&format!("- {note}\n")));
        text.push('\n');
    }
    text
}
