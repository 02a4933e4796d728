//! Measurement of a design: mean sizes of the items and entries that it makes of the sample.

use std::collections::BTreeMap;

use serde_json::Value;

use super::design_data::{DesignData, DesignList, IndexedPaths, lists_of};
use super::stored_item::ItemWriter;
use crate::data::DataSurvey;
use crate::directory::Design;

/// Items by which a mean size is measured.
const SIZED_ITEMS_MAX: usize = 200;

impl<'a> DesignData<'a> {
    /// Derives items and entries of the sample, and measures them.
    #[must_use]
    pub fn new(design: &'a Design, survey: &'a DataSurvey) -> Self {
        let containers = design.model.containers().iter();
        let policies = containers.map(|container| {
            (container.name.clone(), IndexedPaths::of(&design.model, &container.name).policy())
        });
        let mut data = Self {
            design,
            survey,
            policies: policies.collect(),
            item_bytes: BTreeMap::new(),
            entry_bytes: BTreeMap::new(),
        };
        let writer = ItemWriter { data: &data };
        let mean = |ty: &str, write: &dyn Fn(&Value) -> Value| {
            let sample = data.survey.of(ty).map(|found| found.sample.as_slice()).unwrap_or_default();
            let sized = sample.iter().take(SIZED_ITEMS_MAX);
            let bytes: usize = sized.map(|(_, visible)| write(visible).to_string().len()).sum();
            bytes as f64 / sample.len().clamp(1, SIZED_ITEMS_MAX) as f64
        };
        let items = design.model.items().iter();
        let item_bytes = items
            .map(|item| (item.name.to_string(), mean(&item.name, &|visible| writer.item(item, visible))));
        let item_bytes: BTreeMap<String, f64> = item_bytes.collect();
        let entry = |found: DesignList<'_>| {
            let item = design.model.item(&found.related.item_type)?;
            let bytes = mean(&item.name, &|visible| writer.entry((item, found.list), visible));
            Some((found.list.projection.clone(), bytes))
        };
        let entry_bytes = lists_of(&design.model).into_iter().filter_map(entry).collect();
        (data.item_bytes, data.entry_bytes) = (item_bytes, entry_bytes);
        data
    }
}
