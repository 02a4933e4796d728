//! Report on keys: the graded candidates of each type, the price of another key, and further candidates.

use serde::Serialize;

use onehop_model::{FieldKind, Kept, RelatedSource};

use super::candidates::candidates;
use super::finds::{FindKind, finds};
use super::grade::{GradedKey, Grader, KeyGrade};
use crate::azure_limits::{BYTES_A_GB, LOGICAL_PARTITION_THROUGHPUT_MAX};
use crate::design_study::DesignStudy;
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
        let Some(data) = designs.first() else { return Self { types: Vec::new() } };
        let (finds, candidates) = (finds(study.directory), candidates(study.directory));
        let settings = &study.directory.settings;
        let of_type = |item_type: &String| {
            let grader = Grader {
                planner: study.planner(data, false),
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
            notes.extend(further(&grader, &keys));
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

/// Read models and write sharding.
fn further(grader: &Grader<'_>, keys: &[GradedKey]) -> Vec<String> {
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
    for key in keys.iter().filter(|key| key.busiest_throughput > LOGICAL_PARTITION_THROUGHPUT_MAX) {
        let shards = (key.busiest_throughput / LOGICAL_PARTITION_THROUGHPUT_MAX * 2.0).ceil();
        notes.push(format!(
            "{}: write sharding over {shards} suffixes halves the load of each below its limit; reads ask them all.",
            key.fields.join(", ")
        ));
    }
    notes
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
