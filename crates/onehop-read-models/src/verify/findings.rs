//! Findings of the scan: the results of one pass over each container for every rule, and the suspect items.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use onehop_change_feed::ProjectionError;
use onehop_store::{Change, ContainerName, Fault, FaultKind, PartitionKey, Store};
use serde_json::Value;

use super::feed_scan::for_each_result;
use super::invariant::{Invariant, VerifyProgress};
use super::report::{ItemCount, VerificationReport};
use crate::body::{Body, KeyedCopy, is_copy};
use crate::declaration::ReadModels;
use crate::entry::Entry;
use crate::item_type::ItemPartition;
use crate::rule::{Keep, ListRule};
use crate::source_value::copied_value;
use crate::stored_count::StoredCount;

/// Changes between two reports of progress.
const PROGRESS_CHANGES: u64 = 1000;

/// An item that may differ from its rule and has to be compared exactly. Numbers are places of rules among
/// the rules of their kind.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum DriftSubject {
    Count {
        rule: usize,
        partition_key: PartitionKey,
        id: String,
    },
    Copy {
        copy: usize,
        partition_key: PartitionKey,
        id: String,
    },
    /// The key of the item is known where it is not its id and the item was seen.
    Entry {
        list: usize,
        partition_key: PartitionKey,
        id: String,
        source_key: Option<PartitionKey>,
    },
    Owned {
        rule: usize,
        partition_key: PartitionKey,
        id: String,
    },
    Bounded {
        list: usize,
    },
    Invariant {
        place: usize,
        partition_key: PartitionKey,
        id: String,
    },
}

/// The state of the scan.
pub(super) struct Findings<'a> {
    declared: &'a ReadModels,
    invariants: &'a [Box<dyn Invariant>],
    items: BTreeMap<(ContainerName, String), u64>,
    /// The value of each source: rule, partition key and id.
    values: HashMap<(usize, Box<str>, Box<str>), Value>,
    /// Targets whose copy differs from the source as far as it was seen.
    copies: Vec<DriftSubject>,
    entries: HashMap<(usize, Box<str>, Box<str>), EntryHashes>,
    /// The counts by rule, partition key and id of the parent.
    counts: HashMap<(usize, Box<str>, Box<str>), Tally>,
    /// The owners by rule, partition key and id.
    owners: HashMap<(usize, Box<str>, Box<str>), Owner>,
    of_invariants: Vec<DriftSubject>,
}

/// Hashes of an entry's expected and stored state.
#[derive(Default)]
struct EntryHashes {
    expected: Option<u64>,
    stored: Option<u64>,
    /// The partition key of the item, where that is not its id.
    source_key: Option<PartitionKey>,
}

/// A count as a parent stores it, and the number of items that were seen.
#[derive(Default)]
struct Tally {
    stored: Option<StoredCount>,
    counted: u64,
}

/// Whether an owner exists, and until it is seen the items that it would own.
#[derive(Default)]
struct Owner {
    is_present: bool,
    owned: Vec<String>,
}

impl<'a> Findings<'a> {
    /// Scans the containers: containers of sources before containers of their copies.
    pub(super) async fn scan(
        declared: &'a ReadModels,
        invariants: &'a [Box<dyn Invariant>],
        store: &dyn Store,
        report: &mut VerificationReport,
        progress: &mut (dyn FnMut(VerifyProgress) + Send),
    ) -> Result<Self, Fault> {
        let mut findings = Self::new(declared, invariants);
        let mut done = 0;
        for container in scan_order(declared, invariants) {
            for_each_result(store, container, |change| {
                done += 1;
                if done % PROGRESS_CHANGES == 0 {
                    progress(VerifyProgress { done });
                }
                let visited = change.and_then(|change| findings.visit(container, change));
                visited.or_else(|fault| report.record_unreadable(container, fault))
            })
            .await?;
            progress(VerifyProgress { done });
        }
        report.items = findings.item_counts();
        Ok(findings)
    }

    fn new(declared: &'a ReadModels, invariants: &'a [Box<dyn Invariant>]) -> Self {
        Self {
            declared,
            invariants,
            items: BTreeMap::new(),
            values: HashMap::new(),
            copies: Vec::new(),
            entries: HashMap::new(),
            counts: HashMap::new(),
            owners: HashMap::new(),
            of_invariants: Vec::new(),
        }
    }

    fn item_counts(&self) -> Vec<ItemCount> {
        let count = |((container, item_type), items): (&(ContainerName, String), &u64)| ItemCount {
            container: container.to_string(),
            item_type: item_type.clone(),
            items: *items,
        };
        self.items.iter().map(count).collect()
    }

    fn visit(&mut self, container: ContainerName, change: &Change) -> Result<(), Fault> {
        let visited = Body::of(&change.item).and_then(|body| self.visit_item(container, change, &body));
        let named = |fault: Fault| fault.of_item(container, change.partition_key.as_str(), &change.id);
        visited.map_err(unexpected_shape).map_err(named)
    }

    fn visit_item(
        &mut self,
        container: ContainerName,
        change: &Change,
        body: &Body,
    ) -> Result<(), ProjectionError> {
        if body.is_deleted() {
            return Ok(());
        }
        let item_type = body.item_type();
        *self.items.entry((container, item_type.to_owned())).or_default() += 1;
        let (declared, id) = (self.declared, change.id.as_str());
        for (place, rule) in declared.following().enumerate() {
            if rule.source.container == container && rule.source.name == item_type {
                let value = copied_value(rule, body).unwrap_or(Value::Null);
                self.values.insert((place, change.partition_key.as_str().into(), id.into()), value);
            }
        }
        self.visit_copies(container, change, body);
        // First: their repair may mend an item that a list cannot read.
        for (place, invariant) in self.invariants.iter().enumerate() {
            let of = invariant.item_type();
            if of.container == container && of.name == item_type && invariant.may_be_violated(&change.item) {
                let (partition_key, id) = (change.partition_key.clone(), id.to_owned());
                self.of_invariants.push(DriftSubject::Invariant { place, partition_key, id });
            }
        }
        self.visit_lists(container, change, body)?;
        self.visit_family(container, change, body)?;
        Ok(())
    }

    /// Compares the copies in an item with their sources seen so far.
    fn visit_copies(&mut self, container: ContainerName, change: &Change, body: &Body) {
        let following: Vec<_> = self.declared.following().collect();
        for (place, copy) in self.declared.target_copies().enumerate() {
            if copy.item_type.container != container || copy.item_type.name != body.item_type() {
                continue;
            }
            let rule = following.iter().position(|rule| Arc::ptr_eq(rule, &copy.rule)).unwrap_or_default();
            let is_current = |keyed: KeyedCopy<'_>| {
                let Ok(key) = copy.source_key(&keyed) else { return false };
                let value = self.values.get(&(rule, key.as_str().into(), keyed.id.into()));
                value.is_some_and(|value| is_copy(keyed.stored, value))
            };
            if !body.keyed(copy.path, copy.by).into_iter().all(is_current) {
                let (partition_key, id) = (change.partition_key.clone(), change.id.clone());
                self.copies.push(DriftSubject::Copy { copy: place, partition_key, id });
            }
        }
    }

    /// Records the expected entries of an item, or that it is an entry.
    fn visit_lists(
        &mut self,
        container: ContainerName,
        change: &Change,
        body: &Body,
    ) -> Result<(), ProjectionError> {
        for (place, rule) in self.declared.lists().enumerate() {
            if is_bounded(rule) {
                continue;
            }
            if rule.source.container == container && rule.source.name == body.item_type() {
                let is_id = rule.source.partition == ItemPartition::Id;
                for key in rule.partitions(body) {
                    let expected = hash_of(&Entry::of_element(rule, body, &key)?);
                    let entry = self.entry(place, &key, &change.id);
                    entry.expected = Some(expected);
                    entry.source_key = (!is_id).then(|| change.partition_key.clone());
                }
            }
            if rule.container == container && rule.entry_type == body.item_type() {
                self.entry(place, change.partition_key.as_str(), &change.id).stored = Some(hash_of(&body.0));
            }
        }
        Ok(())
    }

    fn entry(&mut self, list: usize, partition_key: &str, id: &str) -> &mut EntryHashes {
        self.entries.entry((list, partition_key.into(), id.into())).or_default()
    }

    /// Records parents with their counts and counted items, owners and owned items.
    fn visit_family(
        &mut self,
        container: ContainerName,
        change: &Change,
        body: &Body,
    ) -> Result<(), ProjectionError> {
        let (item_type, id) = (body.item_type(), change.id.as_str());
        for (place, rule) in self.declared.counts().enumerate() {
            if rule.parent.container == container && rule.parent.name == item_type {
                self.tally(place, &change.partition_key, id).stored = Some(StoredCount::of(rule, body));
            }
            if rule.counted.container == container && rule.counted.name == item_type {
                let parent = body.text(rule.by)?;
                let key = rule.parent_key(body, &change.partition_key)?;
                self.tally(place, &key, parent).counted += 1;
            }
        }
        for (place, rule) in self.declared.owners().enumerate() {
            if rule.owner.container != container {
                continue;
            }
            let is_owner = rule.owner.name == item_type;
            let owned = rule.owned.iter().find(|owned| owned.item_type.name == item_type);
            let id = match owned {
                _ if is_owner => change.id.as_str(),
                Some(owned) => body.text(owned.by)?,
                None => continue,
            };
            let key = (place, change.partition_key.as_str().into(), id.into());
            let owner = self.owners.entry(key).or_default();
            if is_owner {
                *owner = Owner { is_present: true, owned: Vec::new() };
            } else if !owner.is_present {
                owner.owned.push(change.id.clone());
            }
        }
        Ok(())
    }

    fn tally(&mut self, rule: usize, key: &PartitionKey, parent: &str) -> &mut Tally {
        self.counts.entry((rule, key.as_str().into(), parent.into())).or_default()
    }

    /// Everything that has to be compared exactly.
    pub(super) fn subjects(self) -> BTreeSet<DriftSubject> {
        let mut subjects: BTreeSet<DriftSubject> =
            self.copies.into_iter().chain(self.of_invariants).collect();
        for ((rule, partition_key, id), tally) in self.counts {
            let declared = self.declared.counts().nth(rule);
            let drift =
                declared.zip(tally.stored).and_then(|(rule, stored)| stored.drift(rule, tally.counted));
            if drift.is_some() {
                let partition_key = PartitionKey::from(&*partition_key);
                subjects.insert(DriftSubject::Count { rule, partition_key, id: id.into() });
            }
        }
        for ((list, partition_key, id), EntryHashes { expected, stored, source_key }) in self.entries {
            if expected != stored {
                let (partition_key, id) = (PartitionKey::from(&*partition_key), id.into());
                subjects.insert(DriftSubject::Entry { list, partition_key, id, source_key });
            }
        }
        for ((rule, partition_key, _), owner) in self.owners {
            let partition_key = PartitionKey::from(&*partition_key);
            let owned = owner.owned.into_iter().filter(|_| !owner.is_present);
            subjects.extend(owned.map(|id| DriftSubject::Owned {
                rule,
                partition_key: partition_key.clone(),
                id,
            }));
        }
        let bounded = self.declared.lists().enumerate().filter(|(_, rule)| is_bounded(rule));
        subjects.extend(bounded.map(|(list, _)| DriftSubject::Bounded { list }));
        subjects
    }
}

pub(super) fn is_bounded(rule: &ListRule) -> bool {
    rule.keep != Keep::All
}

/// An item's body that a rule cannot read.
pub(super) fn unexpected_shape(error: ProjectionError) -> Fault {
    Fault::new(FaultKind::Corrupt, "an item's body has an unexpected shape").with_source(error)
}

/// The containers of all rules, except rules of bounded lists, which are compared as a whole, and of the
/// invariants: sources before copies.
fn scan_order(declared: &ReadModels, invariants: &[Box<dyn Invariant>]) -> Vec<ContainerName> {
    let sources = declared.following().map(|rule| rule.source.container);
    let targets = declared.target_copies().map(|copy| copy.item_type.container);
    let lists = declared.lists().flat_map(|rule| {
        let entries = (!is_bounded(rule)).then_some(rule.container);
        std::iter::once(rule.source.container).chain(entries)
    });
    let parents = declared.counts().flat_map(|rule| [rule.parent.container, rule.counted.container]);
    let owners = declared.owners().map(|rule| rule.owner.container);
    let of_invariants = invariants.iter().map(|invariant| invariant.item_type().container);
    let mut order: Vec<ContainerName> = Vec::new();
    for container in sources.chain(targets).chain(lists).chain(parents).chain(owners).chain(of_invariants) {
        if !order.contains(&container) {
            order.push(container);
        }
    }
    order
}

/// A hash of a JSON object, independent of the order of its fields.
fn hash_of<T: serde::Serialize>(object: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    match serde_json::to_value(object) {
        Ok(value) => value.to_string().hash(&mut hasher),
        Err(error) => error.to_string().hash(&mut hasher),
    }
    hasher.finish()
}
