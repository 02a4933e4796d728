//! Exact comparison of a suspect: the items as they are now, with their ETags.

use std::collections::HashSet;

use onehop_store::{ContainerName, Direction, Fault, Item, Ledger, PartitionKey, Query};
use serde_json::Value;

use super::findings::{DriftSubject, is_bounded, unexpected_shape};
use super::report::Drift;
use super::verifier::{Suspect, Verifier};
use crate::body::{Body, is_copy};
use crate::entry::Entry;
use crate::item_type::{ItemPartition, ItemType};
use crate::rule::{CountRule, ListPartition, ListRule, OwnsRule};
use crate::source_value::copied_value;
use crate::stored_count::StoredCount;
use crate::target_copy::TargetCopy;

/// The comparisons of a count with a parent that keeps changing.
const COMPARISONS_MAX: u32 = 4;

/// An item with its body.
pub(super) struct Stored {
    pub(super) body: Body,
    pub(super) item: Item,
}

impl Verifier {
    pub(super) fn count_rule(&self, place: usize) -> &CountRule {
        self.declared.counts().nth(place).expect("places come from the same declaration")
    }

    pub(super) fn target_copy(&self, place: usize) -> &TargetCopy {
        self.declared.target_copies().nth(place).expect("places come from the same declaration")
    }

    pub(super) fn list_rule(&self, place: usize) -> &ListRule {
        self.declared.lists().nth(place).expect("places come from the same declaration")
    }

    pub(super) fn owns_rule(&self, place: usize) -> &OwnsRule {
        self.declared.owners().nth(place).expect("places come from the same declaration")
    }

    /// The differences between the items of a subject and its rule.
    pub(super) async fn compare(&self, subject: &DriftSubject) -> Result<Vec<Suspect>, Fault> {
        let suspect = match subject {
            DriftSubject::Count { rule, partition_key, id } => {
                self.compare_count(self.count_rule(*rule), partition_key, id).await?
            }
            DriftSubject::Copy { copy, partition_key, id } => {
                self.compare_copy(self.target_copy(*copy), partition_key, id).await?
            }
            DriftSubject::Entry { list, partition_key, id, source_key } => {
                self.compare_entry(self.list_rule(*list), partition_key, id, source_key.as_ref()).await?
            }
            DriftSubject::Owned { rule, partition_key, id } => {
                self.compare_owned(self.owns_rule(*rule), partition_key, id).await?
            }
            DriftSubject::Bounded { list } => return self.compare_bounded(*list).await,
            DriftSubject::Invariant { place, partition_key, id } => {
                let invariant = &self.invariants[*place];
                let violation = invariant.violation(partition_key, id).await?;
                violation.map(|violation| {
                    let (invariant, id) = (invariant.name().to_owned(), id.clone());
                    (Drift::Invariant { invariant, id, problem: violation.problem }, violation.seen)
                })
            }
        };
        let suspect = suspect.map(|(drift, seen)| Suspect { subject: subject.clone(), drift, seen });
        Ok(suspect.into_iter().collect())
    }

    pub(super) async fn read(
        &self,
        container: ContainerName,
        key: &PartitionKey,
        id: &str,
    ) -> Result<Option<Stored>, Fault> {
        let item = self.store.read(container, key, id, &Ledger::new()).await?;
        let stored = |item: Item| {
            let named = |fault: Fault| fault.of_item(container, key.as_str(), id);
            let body = Body::of(&item).map_err(unexpected_shape).map_err(named)?;
            Ok(Stored { body, item })
        };
        item.map(stored).transpose()
    }

    /// An item of a type, unless it is missing, deleted or of another type.
    pub(super) async fn read_live(
        &self,
        item_type: &ItemType,
        key: &PartitionKey,
        id: &str,
    ) -> Result<Option<Stored>, Fault> {
        let stored = self.read(item_type.container, key, id).await?;
        let is_live =
            |stored: &Stored| stored.body.item_type() == item_type.name && !stored.body.is_deleted();
        Ok(stored.filter(is_live))
    }

    /// The parent with this id, and how many live items there are while it does not change.
    pub(super) async fn counted(
        &self,
        rule: &CountRule,
        key: &PartitionKey,
        id: &str,
    ) -> Result<Option<(Stored, u64)>, Fault> {
        for _ in 0..COMPARISONS_MAX {
            let Some(before) = self.read_live(&rule.parent, key, id).await? else { return Ok(None) };
            let container = rule.counted.container;
            let of_items = rule.counted_key(key, id);
            let counted = self.store.count(container, &of_items, rule.counted.name, &Ledger::new()).await?;
            let Some(after) = self.read_live(&rule.parent, key, id).await? else { return Ok(None) };
            if after.item.etag == before.item.etag {
                return Ok(Some((before, counted)));
            }
        }
        Ok(None)
    }

    async fn compare_count(&self, rule: &CountRule, key: &PartitionKey, id: &str) -> Result<Found, Fault> {
        let Some((parent, counted)) = self.counted(rule, key, id).await? else { return Ok(None) };
        let drift = StoredCount::of(rule, &parent.body).drift(rule, counted);
        Ok(drift.map(|(field, stored)| {
            let drift = Drift::Count {
                container: rule.parent.container.to_string(),
                partition_key: key.to_string(),
                id: id.to_owned(),
                field: field.to_owned(),
                stored,
                counted,
            };
            (drift, vec![Some(parent.item.etag)])
        }))
    }

    async fn compare_copy(&self, copy: &TargetCopy, key: &PartitionKey, id: &str) -> Result<Found, Fault> {
        let Some(target) = self.read_live(&copy.item_type, key, id).await? else { return Ok(None) };
        for keyed in target.body.keyed(copy.path, copy.by) {
            let source_key = copy.source_key(&keyed).map_err(unexpected_shape)?;
            let (read, stored) =
                (self.read_live(&copy.rule.source, &source_key, keyed.id).await?, keyed.stored);
            let current = read.as_ref().and_then(|source| copied_value(&copy.rule, &source.body));
            let is_left_alone = read.is_none() && copy.rule.deletes_sources;
            if is_left_alone || current.as_ref().is_some_and(|current| is_copy(stored, current)) {
                continue;
            }
            let drift = Drift::Copy {
                rule: copy.rule.name.to_owned(),
                container: copy.item_type.container.to_string(),
                partition_key: key.to_string(),
                id: id.to_owned(),
                field: copy.path.to_string(),
                stored: stored.unwrap_or(&Value::Null).to_string(),
                current: current.map(|current| current.to_string()),
            };
            let seen = vec![read.map(|source| source.item.etag), Some(target.item.etag.clone())];
            return Ok(Some((drift, seen)));
        }
        Ok(None)
    }

    /// The item of an entry, in any state. Where its partition key is a field, the entry has to have the
    /// field, or the key has to be known.
    pub(super) async fn source_of(
        &self,
        rule: &ListRule,
        id: &str,
        entry: Option<&Stored>,
        known: Option<&PartitionKey>,
    ) -> Result<Option<Stored>, Fault> {
        let key = match rule.source.partition {
            ItemPartition::Id => PartitionKey::from(id),
            ItemPartition::Constant(key) => PartitionKey::from(key),
            ItemPartition::Field(_) => {
                let of_entry = entry.and_then(|entry| entry.body.partition_key(&rule.source).ok());
                match known.cloned().or(of_entry) {
                    Some(key) => key,
                    None => return Ok(None),
                }
            }
        };
        let stored = self.read(rule.source.container, &key, id).await?;
        Ok(stored.filter(|stored| stored.body.item_type() == rule.source.name))
    }

    async fn compare_entry(
        &self,
        rule: &ListRule,
        key: &PartitionKey,
        id: &str,
        source_key: Option<&PartitionKey>,
    ) -> Result<Found, Fault> {
        let entry = self.read(rule.container, key, id).await?;
        let source = self.source_of(rule, id, entry.as_ref(), source_key).await?;
        let problem = entry_problem(rule, key, source.as_ref(), entry.as_ref())?;
        let seen = || vec![source.as_ref().map(etag), entry.as_ref().map(etag)];
        Ok(problem.map(|problem| (entry_drift(rule, key, id, problem), seen())))
    }

    async fn compare_owned(&self, rule: &OwnsRule, key: &PartitionKey, id: &str) -> Result<Found, Fault> {
        let Some(owned) = self.read(rule.owner.container, key, id).await? else { return Ok(None) };
        let Some(by) = rule.owned_type(owned.body.item_type()).map(|owned| owned.by) else { return Ok(None) };
        let owner_id = owned.body.text(by).map_err(unexpected_shape)?;
        let owner = self.read(rule.owner.container, key, owner_id).await?;
        let is_owner = |owner: &Stored| owner.body.item_type() == rule.owner.name && !owner.body.is_deleted();
        if owned.body.is_deleted() || owner.as_ref().is_some_and(is_owner) {
            return Ok(None);
        }
        let drift = Drift::Owned {
            rule: rule.name.to_owned(),
            container: rule.owner.container.to_string(),
            partition_key: key.to_string(),
            id: id.to_owned(),
        };
        Ok(Some((drift, vec![owner.as_ref().map(etag), Some(etag(&owned))])))
    }

    /// Compares a bounded list with the newest of its items.
    async fn compare_bounded(&self, place: usize) -> Result<Vec<Suspect>, Fault> {
        let rule = self.list_rule(place);
        let (Some(items_max), ListPartition::Constant(key)) = (rule.keep.items_max(), rule.partition) else {
            return Ok(Vec::new());
        };
        let (source, key, ledger) = (&rule.source, PartitionKey::from(key), Ledger::new());
        let newest = Query::Newest {
            container: source.container,
            item_type: source.name,
            after: None,
            limit: items_max,
            order_by: rule.order_by,
            direction: Direction::NewestFirst,
        };
        let newest = self.store.query(&newest, &ledger).await?.items;
        let listed = Query::Partition {
            container: rule.container,
            partition_key: &key,
            item_type: rule.entry_type,
            direction: Direction::NewestFirst,
            after: None,
            limit: items_max * 2,
            order_by: rule.order_by,
        };
        let entries = stored_items(&self.store.query(&listed, &ledger).await?.items)?;
        let mut suspects = Vec::new();
        let mut add = |id: &str, problem: String, seen| {
            let subject = DriftSubject::Bounded { list: place };
            suspects.push(Suspect { subject, drift: entry_drift(rule, &key, id, problem), seen });
        };
        let mut expected = HashSet::new();
        for item in stored_items(&newest)? {
            let id = item.body.id().map_err(unexpected_shape)?.to_owned();
            let entry = entries.iter().find(|entry| entry.body.id().is_ok_and(|listed| listed == id));
            let named = |fault: Fault| fault.of_item(source.container, &id, &id);
            if let Some(problem) = entry_problem(rule, &key, Some(&item), entry).map_err(named)? {
                add(&id, problem, vec![Some(etag(&item)), entry.map(etag)]);
            }
            expected.insert(id);
        }
        for entry in &entries {
            let id = entry.body.id().map_err(unexpected_shape)?;
            if !expected.contains(id) {
                let problem = format!("it is not among the {} {items_max}", rule.keep);
                add(id, problem, vec![None, Some(etag(entry))]);
            }
        }
        Ok(suspects)
    }
}

/// A difference with the ETags of the items that were compared.
type Found = Option<(Drift, Vec<Option<onehop_store::ETag>>)>;

fn etag(stored: &Stored) -> onehop_store::ETag {
    stored.item.etag.clone()
}

fn stored_items(items: &[Item]) -> Result<Vec<Stored>, Fault> {
    let stored =
        |item: &Item| Ok(Stored { body: Body::of(item).map_err(unexpected_shape)?, item: item.clone() });
    items.iter().map(stored).collect()
}

fn entry_drift(rule: &ListRule, key: &PartitionKey, id: &str, problem: String) -> Drift {
    Drift::Entry {
        rule: rule.name.to_owned(),
        container: rule.container.to_string(),
        partition_key: key.to_string(),
        id: id.to_owned(),
        problem,
    }
}

/// Whether an item has an entry in a logical partition of a list.
pub(super) fn is_listed(rule: &ListRule, key: &PartitionKey, source: &Body) -> bool {
    let is_in = || rule.partitions(source).iter().any(|listed| listed == key.as_str());
    !source.is_deleted() && (is_bounded(rule) || is_in())
}

/// The difference between an entry and its expected state.
fn entry_problem(
    rule: &ListRule,
    key: &PartitionKey,
    source: Option<&Stored>,
    entry: Option<&Stored>,
) -> Result<Option<String>, Fault> {
    let source = source.filter(|source| is_listed(rule, key, &source.body));
    let entry = entry.filter(|entry| !entry.body.is_deleted());
    let (source, entry) = match (source, entry) {
        (None, None) => return Ok(None),
        (None, Some(_)) => return Ok(Some("its item is not there".to_owned())),
        (Some(_), None) => return Ok(Some("the entry is missing".to_owned())),
        (Some(source), Some(entry)) => (source, entry),
    };
    let expected = Entry::of_element(rule, &source.body, key.as_str()).map_err(unexpected_shape)?;
    let fields = expected.differing_fields(rule, &entry.body);
    Ok((!fields.is_empty()).then(|| format!("the entry differs in {}", fields.join(", "))))
}
