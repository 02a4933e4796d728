//! Integrity check of the engine's content: every item decodes and has exactly the index and log entries that
//! belong to it, and there are no others. Reading everything verifies every checksum. It changes nothing.

use serde::{Deserialize, Serialize};

use super::edits::value_at;
use super::engine::View;
use super::header::{Header, ItemLocation, VALUE_PREFIX_BYTES, decode_value_prefix};
use super::item_entries::{META_SEQUENCE, entries};
use super::key_space::KeySpace;
use super::keys::{self, ContainerId};
use crate::document::{KeyProperties, read_document};
use crate::{ContainerSpec, Fault};

/// Problems that a report names; further ones are counted.
const PROBLEMS_NAMED_MAX: usize = 100;
/// Items between two reports of progress.
const PROGRESS_ITEMS: u64 = 1_000;

/// The report of an integrity check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IntegrityReport {
    pub items: u64,
    /// Entries of indexes and of the change log.
    pub entries: u64,
    /// The problems, the first hundred. Names ids and keys, never the content of an item.
    pub problems: Vec<String>,
    /// Problems beyond these.
    pub unnamed: u64,
}

impl IntegrityReport {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.problems.is_empty()
    }

    /// This, with the problems of another examination before its own.
    pub(super) fn behind(self, mut other: Self) -> Self {
        let (problems, unnamed) = (self.problems, self.unnamed);
        problems.into_iter().for_each(|problem| other.note(problem));
        Self { items: self.items, entries: self.entries, unnamed: other.unnamed + unnamed, ..other }
    }

    /// The same problems of the files below another path.
    pub(super) fn renamed(mut self, from: &str, to: &str) -> Self {
        self.problems.iter_mut().for_each(|problem| *problem = problem.replace(from, to));
        self
    }

    /// Notes a problem.
    pub(super) fn note(&mut self, problem: impl Into<String>) {
        if self.problems.len() < PROBLEMS_NAMED_MAX {
            self.problems.push(problem.into());
        } else {
            self.unnamed += 1;
        }
    }
}

/// An integrity check of one view.
pub(super) struct IntegrityCheck<'a> {
    pub view: &'a View,
    /// The containers by their numbers.
    pub containers: &'a [(ContainerId, ContainerSpec)],
    pub partitions: u16,
}

/// An item, as its id entry names it.
struct IndexedItem<'a> {
    container: ContainerId,
    spec: &'a ContainerSpec,
    partition_key: String,
    id: String,
    header: Header,
}

impl IndexedItem<'_> {
    fn describe(&self, what: &str) -> String {
        let Self { spec, partition_key, id, .. } = self;
        format!("{}, partition key {partition_key:?}, id {id:?}: {what}", spec.name)
    }
}

impl IntegrityCheck<'_> {
    /// Reads everything. `keep_going` receives the number of items checked. `None` when it returns `false`,
    /// or when the engine has to be opened again.
    pub(super) fn run(&self, keep_going: &mut dyn FnMut(u64) -> bool) -> Option<IntegrityReport> {
        let mut found = IntegrityReport::default();
        let whole: (&[u8], &[u8]) = (&[], keys::BEHIND_ALL);
        let (mut expected_index_entries, mut edits) = (0, 0);
        let last_sequence = self.last_sequence(&mut found);
        for entry in self.view.range(KeySpace::Ids, whole.0, whole.1) {
            let (key, value) = match entry.pair() {
                Ok(pair) => pair,
                Err(fault) => {
                    found.note(format!("ids: {fault}"));
                    break;
                }
            };
            found.items += 1;
            if found.items.is_multiple_of(PROGRESS_ITEMS)
                && !(keep_going(found.items) && self.view.can_write())
            {
                return None;
            }
            let Some(named) = self.named(&key, &value) else {
                found.note(format!("ids: an entry cannot be read: {key:02x?}"));
                continue;
            };
            edits += u64::from(named.header.edited);
            if named.header.sequence > last_sequence {
                found.note(named.describe("it has a number that was never given out"));
            }
            match self.item_problems(&named) {
                Ok((index_entries, problems)) => {
                    expected_index_entries += index_entries;
                    problems.into_iter().for_each(|what| found.note(named.describe(&what)));
                }
                Err(fault) => found.note(named.describe(&fault.to_string())),
            }
        }
        let items = found.items;
        for (space, name, expected) in [
            (KeySpace::Items, "items", items + edits),
            (KeySpace::Log, "the change log", items),
            (KeySpace::Index, "the indexes", expected_index_entries),
        ] {
            let mut counted = 0;
            for entry in self.view.range(space, whole.0, whole.1) {
                if let Err(fault) = entry.pair() {
                    found.note(format!("{name}: {fault}"));
                    break;
                }
                counted += 1;
                if counted % PROGRESS_ITEMS == 0 && !(keep_going(items) && self.view.can_write()) {
                    return None;
                }
            }
            // Every expected entry was looked up, so a number that differs means strays, or problems that
            // were noted already.
            if counted != expected {
                found.note(format!(
                    "{name}: {counted} entries, and {expected} belong to the items that there are"
                ));
            }
            if space != KeySpace::Items {
                found.entries += counted;
            }
        }
        keep_going(items);
        Some(found)
    }

    fn last_sequence(&self, found: &mut IntegrityReport) -> u64 {
        match self.view.get(KeySpace::Meta, META_SEQUENCE) {
            Ok(None) => 0,
            Ok(Some(bytes)) => match <[u8; 8]>::try_from(bytes.as_ref()) {
                Ok(bytes) => u64::from_be_bytes(bytes),
                Err(_) => {
                    found.note("the number of the last write cannot be read");
                    u64::MAX
                }
            },
            Err(fault) => {
                found.note(format!("the number of the last write: {fault}"));
                u64::MAX
            }
        }
    }

    fn named(&self, key: &[u8], value: &[u8]) -> Option<IndexedItem<'_>> {
        let (container, partition_key, id) = keys::parse_id_key(key)?;
        let (_, spec) = self.containers.iter().find(|(known, _)| *known == container)?;
        Some(IndexedItem { container, spec, partition_key, id, header: Header::decode(value)? })
    }

    /// The number of index entries that an item must have, and its problems.
    fn item_problems(&self, named: &IndexedItem<'_>) -> Result<(u64, Vec<String>), Fault> {
        let IndexedItem { container, spec, partition_key, id, header } = named;
        let mut problems = Vec::new();
        let item_key = keys::item_key(*container, partition_key, ItemLocation::of(&header.properties), id);
        let value_key = if header.edited { keys::edit_key(&item_key) } else { item_key.clone() };
        match value_at(self.view, &item_key, header.edited)? {
            None => problems.push("the item is not there".to_owned()),
            Some(value) => problems.extend(value_problem(named, spec, &value).map(str::to_owned)),
        }
        let physical = keys::physical_partition(partition_key, self.partitions);
        let mut index_entries = 0;
        for (space, key, _) in
            entries(spec.newest_types, *container, physical, partition_key, id, header, None)
        {
            match space {
                KeySpace::Log => match self.view.get(space, &key)? {
                    Some(place) if *place == value_key[1..] => {}
                    Some(_) => problems.push("its change log entry names another item".to_owned()),
                    None => problems.push("it has no change log entry".to_owned()),
                },
                KeySpace::Index => {
                    index_entries += 1;
                    if self.view.get(space, &key)?.is_none() {
                        problems.push("an index entry is missing".to_owned());
                    }
                }
                _ => {}
            }
        }
        Ok((index_entries, problems))
    }
}

/// The problem with an item's value.
fn value_problem(named: &IndexedItem<'_>, spec: &ContainerSpec, value: &[u8]) -> Option<&'static str> {
    let Header { sequence, expires_at_ms, properties, .. } = &named.header;
    let Some((stored_sequence, _, stored_expiry)) = decode_value_prefix(value) else {
        return Some("its value is too short");
    };
    if (stored_sequence, stored_expiry) != (*sequence, *expires_at_ms) {
        return Some("its id entry is of another write");
    }
    let Ok(document) = read_document(spec, &value[VALUE_PREFIX_BYTES..]) else {
        return Some("its body is not the JSON of an item");
    };
    if document.id.as_ref() != Some(&named.id)
        || document.partition_key.as_ref() != Some(&named.partition_key)
    {
        return Some("its body holds another id or partition key");
    }
    (!is_same(properties, &document.properties)).then_some("its id entry was made of other properties")
}

/// Whether an id entry was made of a body. Equality paths may have been added since, of which no item then
/// had a value.
fn is_same(stored: &KeyProperties, read: &KeyProperties) -> bool {
    let (known, added) = read.equality.split_at(stored.equality.len().min(read.equality.len()));
    stored.item_type == read.item_type
        && stored.order_value == read.order_value
        && stored.deleted == read.deleted
        && stored.further_orders == read.further_orders
        && stored.equality == known
        && added.iter().all(String::is_empty)
}
