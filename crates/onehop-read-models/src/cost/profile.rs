//! Data profile: sizes of items and fan-out of rules, measured on the data by one scan of the change feeds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use onehop_change_feed::ProjectionError;
use onehop_store::charges::{Calibration, IndexTerms, IndexingPolicy, TermCount};
use onehop_store::{
    ContainerName, Fault, FaultKind, RequestCharge, Store, json_text, order_value_of, properties_of_order,
};
use serde_json::Value;

use super::cost_charges::CostCharges;
use super::sample::ItemKey;
use crate::body::{Body, KeyedCopy};
use crate::declaration::ReadModels;
use crate::field_path::FieldPath;
use crate::item_type::ItemType;
use crate::rule::{ListPartition, ListRule, OwnedType};
use crate::source_value::source_key;
use crate::verify::for_each_change;

/// A type of item in a container.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StoredType {
    container: ContainerName,
    name: String,
}

/// A live item.
#[derive(Debug, Clone)]
pub(crate) struct ProfiledItem {
    pub(crate) key: ItemKey,
    pub(crate) order_value: String,
    bytes: usize,
}

/// The live items of a type.
#[derive(Debug, Default)]
struct TypeProfile {
    items: Vec<ProfiledItem>,
    bytes: usize,
    /// The request charge of creating each of them, RU.
    creation: f64,
}

/// A source with the number of items that each target, owned type or element list has for it.
type FanOuts = BTreeMap<ItemKey, Vec<usize>>;

/// The profile of a domain's data.
pub(crate) struct DataProfile {
    declared: ReadModels,
    calibration: Arc<Calibration>,
    policies: BTreeMap<ContainerName, IndexingPolicy>,
    physical_partitions: u32,
    types: BTreeMap<StoredType, TypeProfile>,
    /// By the name of the rule.
    fan_outs: BTreeMap<&'static str, FanOuts>,
}

impl From<&ItemType> for StoredType {
    fn from(item_type: &ItemType) -> Self {
        Self { container: item_type.container, name: item_type.name.to_owned() }
    }
}

impl StoredType {
    /// The entries of a list.
    pub(crate) fn entry_of(rule: &ListRule) -> Self {
        Self { container: rule.container, name: rule.entry_type.to_owned() }
    }
}

impl DataProfile {
    /// Reads the containers of the rules.
    ///
    /// # Errors
    /// A fault of the store, or an item that is no JSON object.
    pub(crate) async fn read(
        declared: ReadModels,
        store: &dyn Store,
        charges: &CostCharges,
    ) -> Result<Self, Fault> {
        let containers: BTreeSet<_> = declared.profiled_containers().collect();
        let physical_partitions =
            containers.iter().map(|container| store.physical_partitions(*container)).max().unwrap_or(1);
        let policy = |container: &ContainerName| {
            let spec = declared.container(*container)?;
            Some((*container, spec.indexing_policy(charges.indexing)))
        };
        let mut profile = Self {
            policies: containers.iter().filter_map(policy).collect(),
            declared,
            calibration: Arc::clone(&charges.calibration),
            physical_partitions,
            types: BTreeMap::new(),
            fan_outs: BTreeMap::new(),
        };
        for container in containers {
            for_each_change(store, container, |change| {
                let key = ItemKey { partition_key: change.partition_key.clone(), id: change.id.clone() };
                let add = |body: Body| profile.add(container, key, &change.item.body, &body);
                Body::of(&change.item).and_then(add).map_err(unexpected_shape)
            })
            .await?;
        }
        Ok(profile)
    }

    fn add(
        &mut self,
        container: ContainerName,
        key: ItemKey,
        text: &[u8],
        body: &Body,
    ) -> Result<(), ProjectionError> {
        if body.is_deleted() {
            return Ok(());
        }
        let name = body.item_type().to_owned();
        self.add_targets(container, &name, body);
        self.add_owned(container, &name, &key, body)?;
        self.add_elements(container, &name, &key, body);
        let order_by = self.declared.order_by(container, &name);
        let order_value = order_by.map(|order| order_value_of(order, |field| body.get(field)));
        let order_value = order_value.unwrap_or_default();
        let bytes = text.len();
        let terms = self.terms(container, text);
        let creation = self.calibration.create(bytes, terms).total().0;
        let of_type = self.types.entry(StoredType { container, name }).or_default();
        of_type.bytes += bytes;
        of_type.creation += creation;
        of_type.items.push(ProfiledItem { key, order_value, bytes });
        Ok(())
    }

    fn terms(&self, container: ContainerName, text: &[u8]) -> TermCount {
        let (Some(policy), Ok(text)) = (self.policies.get(&container), json_text(text)) else {
            return TermCount::default();
        };
        IndexTerms::of(policy, text).count(policy)
    }

    fn add_targets(&mut self, container: ContainerName, name: &str, body: &Body) {
        let declared = self.declared.clone();
        for rule in declared.following() {
            for (place, target) in rule.targets.iter().enumerate() {
                if target.item_type.container != container || target.item_type.name != name {
                    continue;
                }
                let (path, by) = (FieldPath::parse(target.field), FieldPath::parse(target.by));
                let key_of = |copy: KeyedCopy<'_>| {
                    let partition_key = match target.source_key {
                        Some(fields) => copy.source_key(fields)?.into(),
                        None => source_key(&rule.source, copy.id),
                    };
                    Some(ItemKey { partition_key, id: copy.id.to_owned() })
                };
                let sources: BTreeSet<ItemKey> =
                    body.keyed(path, by).into_iter().filter_map(key_of).collect();
                for key in sources {
                    self.count(rule.name, key, place, rule.targets.len());
                }
            }
        }
    }

    fn add_owned(
        &mut self,
        container: ContainerName,
        name: &str,
        key: &ItemKey,
        body: &Body,
    ) -> Result<(), ProjectionError> {
        let declared = self.declared.clone();
        for rule in declared.owners() {
            let is_owned =
                |owned: &OwnedType| owned.item_type.container == container && owned.item_type.name == name;
            if let Some(place) = rule.owned.iter().position(is_owned) {
                let partition_key = key.partition_key.clone();
                let id = body.text(rule.owned[place].by)?.to_owned();
                let owner = ItemKey { id, partition_key };
                self.count(rule.name, owner, place, rule.owned.len());
            }
        }
        Ok(())
    }

    fn add_elements(&mut self, container: ContainerName, name: &str, key: &ItemKey, body: &Body) {
        let declared = self.declared.clone();
        for rule in declared.lists() {
            if rule.source.container != container || rule.source.name != name || !rule.is_reconciled() {
                continue;
            }
            let elements: BTreeSet<_> = rule.partitions(body).into_iter().collect();
            for _ in elements {
                self.count(rule.name, key.clone(), 0, 1);
            }
        }
    }

    fn count(&mut self, rule: &'static str, key: ItemKey, place: usize, places: usize) {
        let counts = self.fan_outs.entry(rule).or_default().entry(key);
        counts.or_insert_with(|| vec![0; places])[place] += 1;
    }

    /// The source with the median fan-out of a rule, and its fan-out by target, owned type or list.
    pub(crate) fn typical_source(&self, rule: &str) -> Option<(ItemKey, Vec<usize>)> {
        let mut sources: Vec<_> = self.fan_outs.get(rule)?.iter().collect();
        sources.sort_by_key(|(_, counts)| counts.iter().sum::<usize>());
        let (key, counts) = sources.get(sources.len() / 2)?;
        Some(((*key).clone(), (*counts).clone()))
    }

    /// The item of median size among the wanted items of a type.
    pub(crate) fn typical_item(
        &self,
        stored: &StoredType,
        is_wanted: impl Fn(&ProfiledItem) -> bool,
    ) -> Option<&ProfiledItem> {
        let mut items: Vec<_> = self.items(stored).iter().filter(|item| is_wanted(item)).collect();
        items.sort_by(|one, other| (one.bytes, &one.key).cmp(&(other.bytes, &other.key)));
        items.get(items.len() / 2).copied()
    }

    /// The live items of a type.
    pub(crate) fn items(&self, stored: &StoredType) -> &[ProfiledItem] {
        self.types.get(stored).map_or(&[], |of_type| &of_type.items)
    }

    /// The first field of a list's entries that is neither a key, nor orders anything, nor is a copy.
    pub(crate) fn plain_field(&self, rule: &ListRule) -> Option<&'static str> {
        let of_source = self.declared.order_by(rule.source.container, rule.source.name);
        let order = [of_source, self.declared.order_of(rule)].into_iter().flatten();
        let order = order.flat_map(properties_of_order).map(|property| property.name);
        let key = self.declared.container(rule.source.container).map(|spec| spec.partition_key);
        let key = key.into_iter().flat_map(|fields| fields.split('/'));
        let copies = self.declared.target_copies().flat_map(|copy| [copy.path.root(), copy.by.root()]);
        let of_elements = self.declared.lists().filter_map(|list| match list.partition {
            ListPartition::Element(by) => Some(FieldPath::parse(by).root()),
            ListPartition::Field(_) | ListPartition::Constant(_) => None,
        });
        let keys = key.chain(rule.partition.fields()).chain(of_elements);
        let taken: BTreeSet<_> = order.chain(keys).chain(copies).collect();
        rule.fields.iter().copied().find(|field| !taken.contains(field))
    }

    pub(super) fn physical_partitions(&self) -> u32 {
        self.physical_partitions
    }

    /// The constants of the request charges.
    pub(super) fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// The index terms that differ where these fields change.
    pub(super) fn changed_terms(&self, stored: &StoredType, paths: &[FieldPath]) -> TermCount {
        let Some(policy) = self.policies.get(&stored.container) else { return TermCount::default() };
        let terms = |value: u8| {
            let values = paths.iter().map(|path| (path.root().to_owned(), path.with(Value::from(value))));
            IndexTerms::of(policy, &Value::Object(values.collect()).to_string())
        };
        terms(0).changed(&terms(1), policy)
    }

    pub(super) fn mean_bytes(&self, stored: &StoredType) -> usize {
        self.types.get(stored).map_or(0, |of_type| mean(of_type.bytes, of_type.items.len()))
    }

    /// Whether the container of a type has soft-deleted items, which its queries leave out.
    pub(super) fn has_soft_deletes(&self, stored: &StoredType) -> bool {
        self.declared.container(stored.container).is_some_and(|spec| spec.soft_deletes)
    }

    /// The mean request charge of creating an item of a type.
    pub(super) fn mean_creation(&self, stored: &StoredType) -> RequestCharge {
        RequestCharge(
            self.types
                .get(stored)
                .map_or(0.0, |of_type| of_type.creation / of_type.items.len().max(1) as f64),
        )
    }
}

impl ReadModels {
    /// The containers that rules read or write.
    fn profiled_containers(&self) -> impl Iterator<Item = ContainerName> {
        let copies = self.copies().flat_map(|rule| {
            rule.targets.iter().map(|target| target.item_type.container).chain([rule.source.container])
        });
        let lists = self.lists().flat_map(|rule| [rule.source.container, rule.container]);
        let counts = self.counts().flat_map(|rule| [rule.parent.container, rule.counted.container]);
        copies.chain(lists).chain(counts).chain(self.owners().map(|rule| rule.owner.container))
    }
}

/// The mean, rounded.
fn mean(sum: usize, number: usize) -> usize {
    (sum + number / 2) / number.max(1)
}

fn unexpected_shape(error: ProjectionError) -> Fault {
    Fault::new(FaultKind::Corrupt, error.to_string())
}
