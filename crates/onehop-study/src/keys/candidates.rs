//! Candidates: the fields that may be a partition key, alone and in pairs.

use std::collections::BTreeSet;

use onehop_model::{FieldKind, ItemType, KeySource};

use super::finds::{Find, finds};
use crate::data::SurveySpec;
use crate::directory::StudyDirectory;

/// Single fields of a type that are tried.
const FIELDS_MAX: usize = 8;

/// A partition key of a type's container.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyCandidate {
    /// The item type.
    pub item_type: String,
    /// One field, or the fields of a hierarchical key.
    pub fields: Vec<String>,
}

/// The candidates of all types with data.
pub(super) fn candidates(study: &StudyDirectory) -> Vec<KeyCandidate> {
    let finds = finds(study);
    let mut all = Vec::new();
    for item_type in study.settings.data.keys() {
        let fields = fields(study, item_type, &finds);
        let candidate = |fields: Vec<String>| KeyCandidate { item_type: item_type.clone(), fields };
        all.extend(fields.iter().map(|field| candidate(vec![field.clone()])));
        for first in fields.iter().filter(|field| *field != "id") {
            for second in fields.iter().filter(|second| *second != first) {
                all.push(candidate(vec![first.clone(), second.clone()]));
            }
        }
    }
    all
}

/// Adds the groupings that the candidates need.
pub fn add_candidates(study: &StudyDirectory, spec: &mut SurveySpec) {
    for candidate in candidates(study) {
        // Pairs with the id are as fine as the id.
        if !candidate.fields.contains(&"id".to_owned()) {
            spec.add(&candidate.item_type, sorted(&candidate.fields), false);
        }
    }
}

/// The fields in an order that does not depend on the key's.
pub(super) fn sorted(fields: &[String]) -> Vec<String> {
    let mut fields = fields.to_vec();
    fields.sort();
    fields
}

/// The id, the fields by which requests find items, the keys of the designs, and references.
fn fields(study: &StudyDirectory, item_type: &str, finds: &[Find]) -> Vec<String> {
    let mut found: Vec<String> = vec!["id".to_owned()];
    let mut seen: BTreeSet<String> = found.iter().cloned().collect();
    let mut add = |field: &str, found: &mut Vec<String>| {
        if seen.insert(field.to_owned()) {
            found.push(field.to_owned());
        }
    };
    for find in finds.iter().filter(|find| find.item_type == item_type) {
        find.by.iter().for_each(|field| add(field, &mut found));
    }
    for item in study.designs.iter().filter_map(|design| design.model.item(item_type)) {
        for source in &item.key {
            if let KeySource::Field(field) = source {
                add(field, &mut found);
            }
        }
        references(item).for_each(|field| add(field, &mut found));
    }
    let has = |name: &String| {
        let mut items = study.designs.iter().filter_map(|design| design.model.item(item_type));
        items.any(|item| item.field(name).is_some_and(|field| field.ty.list.is_none()))
    };
    found.retain(has);
    found.truncate(FIELDS_MAX);
    found
}

fn references(item: &ItemType) -> impl Iterator<Item = &str> {
    item.fields.iter().filter(|field| matches!(field.kind, FieldKind::Reference(_))).map(|field| &*field.name)
}
