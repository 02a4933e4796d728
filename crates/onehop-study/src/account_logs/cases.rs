//! Calibration cases of a log: point reads by the length of the response, and creates by an item of the study
//! that has the length of the request. Other operations depend on more than a log shows, such as changed
//! paths and the number of results.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::case_samples::{CaseKind, CaseSample};
use super::columns::shown_time;
use super::observed::AccountLog;
use crate::designs::{DesignData, IndexedPaths, ItemWriter};

/// Bytes of the properties that the service adds to an item: `_rid`, `_self`, `_etag`, `_attachments`, `_ts`.
const SYSTEM_PROPERTIES_BYTES: f64 = 200.0;
/// An item of the study stands for a created one of about its length, within this share.
const LENGTH_SHARE_MAX: f64 = 0.02;

/// The items that a design of a study stores, by container and length.
#[derive(Debug, Default)]
pub struct StoredItems {
    containers: BTreeMap<String, ContainerItems>,
    consistency: Option<&'static str>,
}

#[derive(Debug)]
struct ContainerItems {
    /// Sorted by length.
    items: Vec<(usize, Value)>,
    indexing: Value,
}

impl StoredItems {
    /// The sampled items of all containers with one item type, distinguished by their lengths.
    #[must_use]
    pub fn of(data: &DesignData<'_>, consistency: &'static str) -> Self {
        let (model, writer) = (&data.design.model, ItemWriter { data });
        let mut containers = BTreeMap::new();
        for container in model.containers() {
            let types: Vec<_> =
                model.items().iter().filter(|item| item.container == container.name).collect();
            let has_lists = data.lists().iter().any(|found| found.list.container == container.name);
            let ([item], false) = (types.as_slice(), has_lists) else { continue };
            let Some(survey) = data.survey.of(&item.name) else { continue };
            let stored = survey.sample.iter().map(|(_, visible)| writer.item(item, visible));
            let mut items: Vec<(usize, Value)> = stored.map(|item| (item.to_string().len(), item)).collect();
            items.sort_by_key(|(bytes, _)| *bytes);
            let paths = IndexedPaths::of(model, &container.name);
            let path = |path: &String| json!({ "path": path });
            let composite = |paths: &Vec<String>| paths.iter().map(path).collect::<Vec<_>>();
            let indexing = json!({
                "includedPaths": [{ "path": "/*" }],
                "excludedPaths": paths.excluded.iter().map(path).collect::<Vec<_>>(),
                "compositeIndexes": paths.composites.iter().map(composite).collect::<Vec<_>>(),
            });
            containers.insert(container.name.to_string(), ContainerItems { items, indexing });
        }
        Self { containers, consistency: Some(consistency) }
    }
}

impl ContainerItems {
    /// The item whose length is nearest, if it is near.
    fn nearest(&self, bytes: f64) -> Option<&Value> {
        let distance = |item: &&(usize, Value)| (item.0 as f64 - bytes).abs();
        let place = self.items.partition_point(|(known, _)| (*known as f64) < bytes);
        let near = self.items[place.saturating_sub(1)..].iter().take(2);
        let nearest = near.min_by(|one, other| distance(one).total_cmp(&distance(other)))?;
        (distance(&nearest) <= bytes * LENGTH_SHARE_MAX).then_some(&nearest.1)
    }
}

impl AccountLog {
    /// Cases for `onehop charges calibrate`, one JSON object each.
    #[must_use]
    pub fn cases(&self, items: &StoredItems) -> Vec<Value> {
        let date = self.requests.first.map(shown_time);
        let mut cases = Vec::new();
        for ((database, container), observed) in &self.containers {
            for (kind, samples) in &observed.samples.samples {
                let of_container = items.containers.get(container);
                for (number, CaseSample { bytes, charge }) in samples.values().enumerate() {
                    let mut case = match kind {
                        CaseKind::Read => {
                            let bytes = (bytes - SYSTEM_PROPERTIES_BYTES).max(0.0);
                            json!({ "operation": "read", "itemBytes": bytes })
                        }
                        CaseKind::Create => {
                            let Some(found) = of_container else { continue };
                            let Some(item) = found.nearest(*bytes) else { continue };
                            json!({
                                "operation": "create",
                                "item": item,
                                "itemBytes": bytes,
                                "indexing": found.indexing,
                            })
                        }
                    };
                    let name = if *kind == CaseKind::Read { "read" } else { "create" };
                    case["id"] = format!("{database}/{container}/{name}-{}", number + 1).into();
                    case["charge"] = json!(charge);
                    case["date"] = json!(date);
                    case["source"] = "CDBDataPlaneRequests".into();
                    if let Some(level) = items.consistency {
                        case["consistency"] = level.into();
                    }
                    cases.push(case);
                }
            }
        }
        cases
    }
}
