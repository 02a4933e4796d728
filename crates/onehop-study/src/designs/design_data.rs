//! Design data: a design with the survey of the data, its indexing policies, and mean sizes of its items.

use std::collections::BTreeMap;

use onehop_model::{
    ContainerName, FieldKind, ItemType, KeySource, ListSource, Model, OrderBy, QueryKind, RelatedField,
    RelatedSource,
};
use onehop_store::charges::{IndexTerms, IndexingPolicy, TermCount};
use serde_json::Value;

use crate::data::{DataSurvey, FoundGroup};
use crate::directory::Design;

/// A design over the data of a study.
#[derive(Debug)]
pub struct DesignData<'a> {
    /// The design.
    pub design: &'a Design,
    /// The data.
    pub survey: &'a DataSurvey,
    pub(super) policies: BTreeMap<ContainerName, IndexingPolicy>,
    /// Mean bytes of a stored item by type.
    pub(super) item_bytes: BTreeMap<String, f64>,
    /// Mean bytes of an entry by projection.
    pub(super) entry_bytes: BTreeMap<String, f64>,
}

/// A list of a design with its owner.
#[derive(Debug, Clone, Copy)]
pub struct DesignList<'a> {
    /// The type with the field; `None` under `Query`.
    pub owner: Option<&'a ItemType>,
    /// The related field.
    pub related: &'a RelatedField,
    /// The read model.
    pub list: &'a ListSource,
}

impl<'a> DesignData<'a> {
    /// All lists of the design.
    #[must_use]
    pub fn lists(&self) -> Vec<DesignList<'a>> {
        lists_of(&self.design.model)
    }

    /// The indexing policy of a container. Containers that are none of the model's are read by ids alone.
    #[must_use]
    pub fn policy(&self, container: &str) -> IndexingPolicy {
        let found = self.policies.iter().find(|(name, _)| ***name == *container);
        found.map_or_else(|| IndexedPaths::none().policy(), |(_, policy)| policy.clone())
    }

    /// Bytes of a stored item in the mean.
    #[must_use]
    pub fn item_bytes(&self, ty: &str) -> f64 {
        self.item_bytes.get(ty).copied().unwrap_or(0.0)
    }

    /// Bytes of an entry in the mean.
    #[must_use]
    pub fn entry_bytes(&self, projection: &str) -> f64 {
        self.entry_bytes.get(projection).copied().unwrap_or(0.0)
    }

    /// The index terms of a stored item.
    #[must_use]
    pub fn terms(&self, container: &str, stored: &Value) -> TermCount {
        let policy = self.policy(container);
        IndexTerms::of(&policy, &stored.to_string()).count(&policy)
    }

    /// Items of a type in the data.
    #[must_use]
    pub fn items(&self, ty: &str) -> u64 {
        self.survey.of(ty).map_or(0, |found| found.items)
    }

    /// The sampled item of an id; another one of the type where it is not sampled.
    #[must_use]
    pub fn target(&self, ty: &str, id: &Value) -> Option<&'a Value> {
        let sample = &self.survey.of(ty)?.sample;
        let key = crate::data::key_text(id)?;
        let exact = sample.iter().find(|(known, _)| *known == key);
        let other = || sample.get(crate::data::sample_hash(&key) as usize % sample.len().max(1));
        exact.or_else(other).map(|(_, value)| value)
    }

    /// The number of items of a related field of an item.
    #[must_use]
    pub fn count_of(&self, item: &ItemType, related: &str, visible: &Value) -> f64 {
        let Some(FieldKind::Related(related)) = item.field(related).map(|field| &field.kind) else {
            return 0.0;
        };
        let by = match &related.source {
            RelatedSource::Partition { by } => by.as_slice(),
            RelatedSource::Find { by, .. } => by.as_slice(),
            RelatedSource::List(list) => list.by.as_slice(),
        };
        let Some(groups) = self.survey.of(&related.item_type).and_then(|found| found.grouped(by)) else {
            return 0.0;
        };
        match groups.group(&parent_key(item, by, visible)) {
            FoundGroup::Known(group) => group.items as f64,
            FoundGroup::Empty => 0.0,
            FoundGroup::Unknown => groups.items_mean(),
        }
    }
}

/// The key of the group of a parent's children: its id for the reference, its own values for further fields.
pub(crate) fn parent_key(parent: &ItemType, by: &[onehop_model::Name], visible: &Value) -> String {
    let text = |field: &onehop_model::Name| {
        let own = parent.field(field).and_then(|_| visible.get(&**field));
        own.or_else(|| visible.get("id")).and_then(crate::data::key_text).unwrap_or_default()
    };
    by.iter().map(text).collect::<Vec<_>>().join("\n")
}

pub(super) fn lists_of(model: &Model) -> Vec<DesignList<'_>> {
    fn of<'a>(owner: Option<&'a ItemType>, related: &'a RelatedField) -> Option<DesignList<'a>> {
        match &related.source {
            RelatedSource::List(list) => Some(DesignList { owner, related, list }),
            _ => None,
        }
    }
    let of_types = model.items().iter().flat_map(|item| {
        item.fields.iter().filter_map(move |field| match &field.kind {
            FieldKind::Related(related) => of(Some(item), related),
            _ => None,
        })
    });
    let of_queries = model.queries().iter().filter_map(|query| match &query.kind {
        QueryKind::Related(related) => of(None, related),
        _ => None,
    });
    of_types.chain(of_queries).collect()
}

/// Every path.
const EVERYTHING: &str = "/*";

/// The paths of an indexing policy that includes `/*`, unless it excludes that.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct IndexedPaths {
    /// Paths without an index, such as `/text/*`.
    pub excluded: Vec<String>,
    /// The paths of each composite index, such as `/type`.
    pub composites: Vec<Vec<String>>,
}

impl IndexedPaths {
    /// All paths but the excluded ones, and a composite index for each order.
    pub fn of(model: &Model, name: &ContainerName) -> Self {
        let Some(container) = model.container(name) else { return Self::none() };
        let composites = match &container.composite {
            Some(composites) => {
                composites.iter().map(|paths| paths.iter().map(|path| path.slashed()).collect()).collect()
            }
            None => derived_composites(model, name),
        };
        let excluded = container.exclude.iter().map(|path| format!("{}/*", path.slashed()));
        Self { excluded: excluded.collect(), composites }
    }

    /// No path: items are read by their ids alone.
    pub fn none() -> Self {
        Self { excluded: vec![EVERYTHING.to_owned()], composites: Vec::new() }
    }

    pub(super) fn policy(&self) -> IndexingPolicy {
        let excluded: Vec<&str> = self.excluded.iter().map(String::as_str).collect();
        let included: &[&str] = if excluded.contains(&EVERYTHING) { &[] } else { &[EVERYTHING] };
        let policy = IndexingPolicy::of(included, &excluded).unwrap_or_else(|_| IndexingPolicy::everything());
        self.composites.iter().fold(policy, |policy, paths| {
            policy.with_composite(&paths.iter().map(String::as_str).collect::<Vec<_>>())
        })
    }
}

/// Type, order and id of each ordered field whose items or entries are in the container.
fn derived_composites(model: &Model, name: &ContainerName) -> Vec<Vec<String>> {
    let mut composites: Vec<Vec<String>> = Vec::new();
    let of_types =
        model.items().iter().flat_map(|item| item.fields.iter()).filter_map(|field| match &field.kind {
            FieldKind::Related(related) => Some(related),
            _ => None,
        });
    let of_queries = model.queries().iter().filter_map(|query| match &query.kind {
        QueryKind::Related(related) => Some(related),
        _ => None,
    });
    for related in of_types.chain(of_queries) {
        let Some(item) = model.item(&related.item_type) else { continue };
        let container = match &related.source {
            RelatedSource::List(list) => &list.container,
            _ => &item.container,
        };
        let path = |order: &OrderBy| Some(item.field(&order.field)?.property()?.slashed());
        let order: Vec<String> = related.order.iter().filter_map(path).collect();
        let paths = [vec!["/type".to_owned()], order.clone(), vec!["/id".to_owned()]].concat();
        if container == name && !order.is_empty() && !composites.contains(&paths) {
            composites.push(paths);
        }
    }
    composites
}

/// Whether the items of a type are in one logical partition.
pub(crate) fn is_single(item: &ItemType) -> bool {
    item.key.iter().all(|source| *source == KeySource::Type)
}
