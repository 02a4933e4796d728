//! Queries of plans as trials: the items that they find, their tests and their order.

use onehop_model::{
    ContainerName, Deletion, FieldKind, ItemType, Name, OrderBy, PropertyPath, RelatedField, RelatedSource,
};
use serde_json::{Value, json};

use super::planner::Planner;
use super::row::Row;
use super::trial::TRIAL_ITEMS_MAX;
use super::trial_shape::{PropertyTest, TrialShape, condition_test, same_value, type_tests};
use crate::data::key_text;
use crate::designs::IndexedPaths;

impl Planner<'_> {
    /// The shape of a trial, where trials are wanted.
    pub(super) fn shape(&self, shape: impl FnOnce() -> Option<TrialShape>) -> Option<TrialShape> {
        self.trials.and_then(|_| shape())
    }

    /// The shape of a query for related items, with the items that it found.
    pub(super) fn related_shape(
        &self,
        item: &ItemType,
        related: &RelatedField,
        rows: &[Row],
        number: f64,
    ) -> Option<TrialShape> {
        let list = match &related.source {
            RelatedSource::List(list) => Some(list),
            RelatedSource::Find { through: Some(_), .. } => return None,
            RelatedSource::Find { .. } | RelatedSource::Partition { .. } => None,
        };
        let stored = |visible: &Value| match list {
            Some(list) => self.writer().entry((item, list), visible),
            None => self.writer().item(item, visible),
        };
        let items: Vec<Value> = distinct(rows, number).iter().map(stored).collect();
        let (container, type_value) = match list {
            Some(list) => (&list.container, &list.entry_type),
            None => (&item.container, &item.type_value),
        };
        let mut tests = type_tests(item, type_value);
        if let (None, Deletion::Soft { path, is, .. }) = (list, &item.deletion) {
            tests.push((path.properties().to_vec(), PropertyTest::IsNot(json!(is))));
        }
        if let RelatedSource::Find { by: Some(by), .. } = &related.source {
            let path = item.field(by)?.property()?.properties();
            tests.push(same_value(path, items.first()?)?);
        }
        if list.is_none() {
            let test = |condition| condition_test(self.model(), item, condition);
            tests.extend(related.conditions.iter().filter_map(test));
        }
        let order = self.order(item, related, container);
        Some(TrialShape { items, tests, order })
    }

    /// The order of a query with a composite index; the first property of one without.
    fn order(
        &self,
        item: &ItemType,
        related: &RelatedField,
        container: &ContainerName,
    ) -> Vec<(Vec<String>, bool)> {
        let path = |order: &OrderBy| item.field(&order.field)?.property();
        let properties: Vec<&PropertyPath> = related.order.iter().filter_map(path).collect();
        let indexed = IndexedPaths::of(self.model(), container);
        let descending = related.order.first().is_some_and(|order| order.descending);
        let slashed: Vec<String> = properties.iter().map(|path| path.slashed()).collect();
        let with_type = [vec!["/type".to_owned()], slashed, vec!["/id".to_owned()]].concat();
        let within = |path: &PropertyPath| (path.properties().to_vec(), descending);
        let order: Vec<_> = properties.iter().map(|path| within(path)).collect();
        if !order.is_empty() && indexed.composites.contains(&with_type) {
            let [first, last] = ["type", "id"].map(|property| vec![(vec![property.to_owned()], descending)]);
            return [first, order, last].concat();
        }
        let is_excluded = |path: &&PropertyPath| indexed.excluded.contains(&format!("{}/*", path.slashed()));
        let first = properties.first().filter(|path| !is_excluded(path));
        first.map(|path| within(path)).into_iter().collect()
    }

    /// The query for the item of a caller.
    pub(super) fn caller_shape(&self, item: &ItemType, related: &RelatedField) -> Option<TrialShape> {
        let stored = self.writer().item(item, &self.sampled(item)?);
        let caller = item
            .fields
            .iter()
            .find(|field| matches!(&field.kind, FieldKind::Reference(reference) if reference.caller));
        let by = match &related.source {
            RelatedSource::Find { by: Some(by), .. } => item.field(by),
            RelatedSource::Partition { by } => item.field(by.first()?),
            RelatedSource::List(_) | RelatedSource::Find { by: None, .. } => None,
        };
        let mut tests = type_tests(item, &item.type_value);
        for field in [by?, caller?] {
            tests.push(same_value(field.property()?.properties(), &stored)?);
        }
        Some(TrialShape { items: vec![stored], tests, order: Vec::new() })
    }

    /// The shape of a query for the links of an item.
    pub(super) fn link_shape(
        &self,
        item: &ItemType,
        by: Option<&Name>,
        rows: &[Row],
        number: f64,
    ) -> Option<TrialShape> {
        let items = distinct(rows, number);
        let items: Vec<Value> = items.iter().map(|visible| self.writer().item(item, visible)).collect();
        let mut tests = type_tests(item, &item.type_value);
        let path = item.field(by?)?.property()?.properties();
        tests.push(same_value(path, items.first()?)?);
        Some(TrialShape { items, tests, order: Vec::new() })
    }

    /// The query for the targets of a copy; `None` for a reference within embedded objects.
    pub(super) fn copies_shape(&self, item: &ItemType, reference: &str, stored: Value) -> Option<TrialShape> {
        let path = item.field(reference)?.property()?.properties();
        let mut tests = type_tests(item, &item.type_value);
        tests.push(same_value(path, &stored)?);
        Some(TrialShape { items: vec![stored], tests, order: Vec::new() })
    }
}

/// Distinct items, at most those of a trial: copies of the rows with other ids, where the rows are fewer.
fn distinct(rows: &[Row], items: f64) -> Vec<Value> {
    let known = rows.len().max(1);
    let wanted = (items.round() as usize).min(TRIAL_ITEMS_MAX);
    let copy = |(place, row): (usize, &Row)| {
        let mut visible = row.value.clone();
        let number = place / known;
        if let Some(id) = visible.get("id").and_then(key_text).filter(|_| number > 0) {
            visible["id"] = json!(format!("{id}-{number}"));
        }
        visible
    };
    rows.iter().cycle().take(if rows.is_empty() { 0 } else { wanted }).enumerate().map(copy).collect()
}
