//! Index recovery: makes the entries of ids, indexes and the change log fit the items of an engine. Where the
//! files of the engine are damaged, these entries are witnesses: they tell whether an item is the newest
//! version, and name the items that are lost.

use std::collections::HashMap;

use bytes::Bytes;

use super::edits::whole;
use super::engine::Engine;
use super::header::{Header, ItemLocation, VALUE_PREFIX_BYTES, decode_value_prefix};
use super::item_entries::entries;
use super::key_space::KeySpace;
use super::keys::{self, BEHIND_ALL, ContainerId, base_key, edit_key, is_edit_key};
use super::salvage::{Currency, ItemFate, LostItem, Witnesses};
use super::tombstone_hints::META_LISTS;
use crate::document::read_document;
use crate::{ContainerSpec, Fault};

/// Changes in one commit of a recovery.
const CHANGES_MAX: usize = 2_000;
/// Entries between two reports of progress.
const PROGRESS_ENTRIES: u64 = 1_000;

/// The numbers of items and entries of a recovery.
#[derive(Debug, Default)]
pub(super) struct RecoveredEntries {
    pub items: u64,
    pub items_dropped: u64,
    pub entries_made: u64,
    pub entries_dropped: u64,
    /// The highest number of a write.
    pub last_write: u64,
}

/// Makes the other key spaces fit the items.
pub(super) struct IndexRecovery<'a> {
    pub(super) engine: &'a Engine,
    pub(super) containers: HashMap<ContainerId, ContainerSpec>,
    pub(super) partitions: u16,
    /// Changes that are not committed yet.
    pub(super) changes: HashMap<(KeySpace, Vec<u8>), Option<Vec<u8>>>,
    pub(super) recovery: RecoveredEntries,
    /// The damage of the files, where the items may not be the newest.
    pub(super) witnesses: Option<Witnesses>,
    pub(super) progress: &'a mut dyn FnMut(u64),
}

/// An item as its value has it.
struct ScannedItem {
    container: ContainerId,
    partition_key: String,
    id: String,
    header: Header,
}

impl ScannedItem {
    fn item_key(&self) -> Vec<u8> {
        keys::item_key(
            self.container,
            &self.partition_key,
            ItemLocation::of(&self.header.properties),
            &self.id,
        )
    }
}

impl IndexRecovery<'_> {
    pub(super) fn run(&mut self) -> Result<(), Fault> {
        if self.witnesses.is_some() {
            self.pass(KeySpace::Log, Self::look_for_lost_values)?;
        }
        self.pass(KeySpace::Items, Self::fit_item)?;
        self.pass(KeySpace::Ids, |fitting, key, value| {
            let is_kept = fitting.keep_if(KeySpace::Ids, key, |fitting| fitting.is_id_entry(key, value))?;
            if is_kept { Ok(()) } else { fitting.note_lost_id(key, value) }
        })?;
        self.pass(KeySpace::Log, |fitting, key, value| {
            let is_kept = fitting.keep_if(KeySpace::Log, key, |fitting| fitting.is_log_entry(key, value))?;
            if is_kept { Ok(()) } else { fitting.note_lost_log(key, value) }
        })?;
        self.pass(KeySpace::Index, |fitting, key, _| {
            let is_kept = fitting.keep_if(KeySpace::Index, key, |fitting| fitting.is_index_entry(key))?;
            if is_kept { Ok(()) } else { fitting.note_lost_index(key) }
        })?;
        // Hints about lists that may have been other ones.
        self.changes.insert((KeySpace::Meta, META_LISTS.to_vec()), None);
        self.commit()
    }

    /// Visits every entry of a key space as it was before the pass, and commits its changes.
    fn pass(
        &mut self,
        space: KeySpace,
        mut visit: impl FnMut(&mut Self, &[u8], &[u8]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let view = self.engine.view()?;
        for (number, entry) in (1_u64..).zip(view.range(space, &[], BEHIND_ALL)) {
            let (key, value) = entry.pair()?;
            visit(self, &key, &value)?;
            if self.changes.len() >= CHANGES_MAX {
                self.commit()?;
            }
            if number % PROGRESS_ENTRIES == 0 {
                (self.progress)(number);
            }
        }
        self.commit()
    }

    fn commit(&mut self) -> Result<(), Fault> {
        if self.changes.is_empty() {
            return Ok(());
        }
        let changes = self.changes.drain().map(|((space, key), value)| (space, key, value)).collect();
        self.engine.commit(changes)
    }

    /// The value of a key, including uncommitted changes.
    fn get(&self, space: KeySpace, key: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        match self.changes.get(&(space, key.to_vec())) {
            Some(value) => Ok(value.clone()),
            None => Ok(self.engine.get(space, key)?.map(|value| value.to_vec())),
        }
    }

    fn read(&self, key: &[u8], value: &[u8], edited: bool) -> Option<ScannedItem> {
        let container = *key.first()?;
        let spec = self.containers.get(&container)?;
        let (sequence, _, expires_at_ms) = decode_value_prefix(value)?;
        let document = read_document(spec, &value[VALUE_PREFIX_BYTES..]).ok()?;
        let header = Header { sequence, expires_at_ms, edited, properties: document.properties };
        Some(ScannedItem { container, partition_key: document.partition_key?, id: document.id?, header })
    }

    /// Makes the entries of an item that are missing, or drops the item where a newer version of it is
    /// elsewhere.
    fn fit_item(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        if self.changes.contains_key(&(KeySpace::Items, key.to_vec())) {
            return Ok(());
        }
        if let Some(base) = base_key(key) {
            let has_base = |fitting: &Self| Ok(Some(fitting.get(KeySpace::Items, &base)?.is_some()));
            return self.keep_if(KeySpace::Items, key, has_base).map(drop);
        }
        if key.first().is_none_or(|container| !self.containers.contains_key(container)) {
            return Ok(());
        }
        let edited = self.edited_value(key, value)?;
        let value = edited.as_deref().unwrap_or(value);
        let read = self.read(key, value, edited.is_some());
        let Some(found) = read.filter(|found| found.item_key() == key) else {
            if let Some((partition_key, id)) = keys::parse_item_key(&key[1..]) {
                let named = (partition_key, id, keys::item_type_of(key));
                self.note_named(key[0], named, ItemFate::Lost, None, None);
            }
            self.drop_item(key);
            return Ok(());
        };
        let id_key = keys::id_key(found.container, &found.partition_key, &found.id);
        let named = self.get(KeySpace::Ids, &id_key)?.and_then(|bytes| Header::decode(&bytes));
        if let Some(named) = named
            && let Some(other) = self.other_version(&found, &named)?
        {
            if named.sequence > found.header.sequence {
                self.drop_item(key);
                return Ok(());
            }
            self.drop_item(&other);
        }
        let named = self.get(KeySpace::Ids, &id_key)?.and_then(|bytes| Header::decode(&bytes));
        match self.currency(&found, &id_key, named.as_ref())? {
            Currency::Current => {}
            Currency::Gone => {
                self.drop_item(key);
                return Ok(());
            }
            Currency::Earlier { lost_write } => {
                self.note(&found, ItemFate::EarlierVersion, Some(lost_write), Some(found.header.sequence));
            }
            Currency::Unconfirmed => {
                self.note(&found, ItemFate::Unconfirmed, None, Some(found.header.sequence));
            }
        }
        self.recovery.last_write = self.recovery.last_write.max(found.header.sequence);
        self.recovery.items += 1;
        self.put(KeySpace::Ids, id_key, found.header.encode())?;
        let physical = keys::physical_partition(&found.partition_key, self.partitions);
        for (space, key, value) in self.entries_of(&found, physical) {
            if space != KeySpace::Items {
                self.put(space, key, value.unwrap_or_default())?;
            }
        }
        Ok(())
    }

    /// Where another version of an item lies that its id entry names.
    fn other_version(&self, found: &ScannedItem, named: &Header) -> Result<Option<Vec<u8>>, Fault> {
        let key = keys::item_key(
            found.container,
            &found.partition_key,
            ItemLocation::of(&named.properties),
            &found.id,
        );
        if key == found.item_key() {
            return Ok(None);
        }
        let value_key = if named.edited { edit_key(&key) } else { key.clone() };
        Ok(self.has_sequence(&value_key, named.sequence)?.then_some(key))
    }

    /// Whether the value under a key of `items` is the last of its item, and of a write.
    fn has_sequence(&self, value_key: &[u8], sequence: u64) -> Result<bool, Fault> {
        if !is_edit_key(value_key) && self.get(KeySpace::Items, &edit_key(value_key))?.is_some() {
            return Ok(false);
        }
        let value = self.get(KeySpace::Items, value_key)?;
        Ok(value.and_then(|value| decode_value_prefix(&value)).is_some_and(|(stored, ..)| stored == sequence))
    }

    /// The whole value of an item that has an edit. An edit that does not belong to it is dropped.
    fn edited_value(&mut self, key: &[u8], base: &[u8]) -> Result<Option<Bytes>, Fault> {
        let edit_key = edit_key(key);
        let Some(edit) = self.get(KeySpace::Items, &edit_key)? else { return Ok(None) };
        if let Ok(value) = whole(base, &edit) {
            return Ok(Some(value));
        }
        self.recovery.entries_dropped += 1;
        self.changes.insert((KeySpace::Items, edit_key), None);
        Ok(None)
    }

    fn entries_of(&self, found: &ScannedItem, physical: u16) -> Vec<(KeySpace, Vec<u8>, Option<Vec<u8>>)> {
        let newest_types = self.containers.get(&found.container).map_or(&[][..], |spec| spec.newest_types);
        let ScannedItem { container, partition_key, id, header } = found;
        entries(newest_types, *container, physical, partition_key, id, header, Some(&Vec::new()))
    }

    fn put(&mut self, space: KeySpace, key: Vec<u8>, value: Vec<u8>) -> Result<(), Fault> {
        if self.get(space, &key)?.as_ref() != Some(&value) {
            self.recovery.entries_made += 1;
            self.changes.insert((space, key), Some(value));
        }
        Ok(())
    }

    fn drop_item(&mut self, key: &[u8]) {
        self.recovery.items_dropped += 1;
        self.changes.insert((KeySpace::Items, key.to_vec()), None);
        self.changes.insert((KeySpace::Items, edit_key(key)), None);
    }

    /// Drops an entry that does not belong to an item. Returns whether it stays.
    fn keep_if(
        &mut self,
        space: KeySpace,
        key: &[u8],
        belongs: impl FnOnce(&Self) -> Result<Option<bool>, Fault>,
    ) -> Result<bool, Fault> {
        let is_kept = belongs(self)? == Some(true);
        if !is_kept {
            self.recovery.entries_dropped += 1;
            self.changes.insert((space, key.to_vec()), None);
        }
        Ok(is_kept)
    }

    fn is_id_entry(&self, key: &[u8], value: &[u8]) -> Result<Option<bool>, Fault> {
        let named = keys::parse_id_key(key).zip(Header::decode(value));
        let Some(((container, partition_key, id), header)) = named else { return Ok(None) };
        let item_key = keys::item_key(container, &partition_key, ItemLocation::of(&header.properties), &id);
        let value_key = if header.edited { edit_key(&item_key) } else { item_key };
        self.has_sequence(&value_key, header.sequence).map(Some)
    }

    fn is_log_entry(&self, key: &[u8], value: &[u8]) -> Result<Option<bool>, Fault> {
        let value_key = [&key[..1], value].concat();
        let named = keys::log_sequence(key).zip(keys::partition_key_of_item(&value_key));
        let Some((sequence, partition_key)) = named else { return Ok(None) };
        let physical = keys::physical_partition(&partition_key, self.partitions);
        let is_placed = keys::log_key(key[0], physical, sequence) == key;
        Ok(Some(is_placed && self.has_sequence(&value_key, sequence)?))
    }

    fn is_index_entry(&self, key: &[u8]) -> Result<Option<bool>, Fault> {
        let Some((container, partition_key, id)) = keys::parse_index_key(key) else { return Ok(None) };
        let header = self.get(KeySpace::Ids, &keys::id_key(container, &partition_key, &id))?;
        let Some(header) = header.and_then(|bytes| Header::decode(&bytes)) else { return Ok(None) };
        let physical = keys::physical_partition(&partition_key, self.partitions);
        let found = ScannedItem { container, partition_key, id, header };
        let belongs =
            |(space, of, _): &(KeySpace, Vec<u8>, Option<Vec<u8>>)| *space == KeySpace::Index && of == key;
        Ok(Some(self.entries_of(&found, physical).iter().any(belongs)))
    }
}

/// Statements about lost items, by the entries that name them.
impl IndexRecovery<'_> {
    /// Whether an item is the newest version, as far as other entries tell.
    fn currency(
        &self,
        found: &ScannedItem,
        id_key: &[u8],
        named: Option<&Header>,
    ) -> Result<Currency, Fault> {
        let Some(witnesses) = &self.witnesses else { return Ok(Currency::Current) };
        let (item_key, sequence) = (found.item_key(), found.header.sequence);
        if !witnesses.may_hide_value(&item_key) {
            return Ok(Currency::Current);
        }
        if witnesses.is_certain_of_ids(id_key) {
            match named.map(|named| named.sequence) {
                None => return Ok(Currency::Gone),
                Some(named) if named == sequence => return Ok(Currency::Current),
                Some(lost_write) if lost_write > sequence => return Ok(Currency::Earlier { lost_write }),
                Some(_) => {}
            }
        }
        // An entry at a hidden place proves nothing: its deletion, or a later one, may be hidden.
        let physical = keys::physical_partition(&found.partition_key, self.partitions);
        let log_key = |write| keys::log_key(found.container, physical, write);
        let is_certain_of = |write| witnesses.is_certain_of_log(&log_key(write));
        let value_key = if found.header.edited { edit_key(&item_key) } else { item_key };
        let newer = witnesses.lost_write(found.container, &found.partition_key, &found.id);
        Ok(match newer.filter(|newer| *newer > sequence) {
            Some(lost_write) if is_certain_of(lost_write) => Currency::Earlier { lost_write },
            None if is_certain_of(sequence) => {
                let place = self.get(KeySpace::Log, &log_key(sequence))?;
                let is_named = place.is_some_and(|place| place == value_key[1..]);
                if is_named { Currency::Current } else { Currency::Gone }
            }
            _ => Currency::Unconfirmed,
        })
    }

    /// Notes a write that the change log names and whose value is not there.
    fn look_for_lost_values(&mut self, key: &[u8], place: &[u8]) -> Result<(), Fault> {
        let Some((container, value_key, sequence)) = log_target(key, place) else { return Ok(()) };
        let may_hide = self.witnesses.as_ref().is_some_and(|witnesses| witnesses.may_hide_value(&value_key));
        if !may_hide || self.has_sequence(&value_key, sequence)? {
            return Ok(());
        }
        if let (Some(witnesses), Some((partition_key, id))) =
            (&mut self.witnesses, keys::parse_item_key(place))
        {
            witnesses.note_lost_write((container, partition_key, id), sequence);
        }
        Ok(())
    }

    /// Notes the lost item of a dropped entry of `ids`.
    fn note_lost_id(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        let Some(witnesses) = &self.witnesses else { return Ok(()) };
        let named = keys::parse_id_key(key).zip(Header::decode(value));
        let Some(((container, partition_key, id), header)) = named else { return Ok(()) };
        let item_key = keys::item_key(container, &partition_key, ItemLocation::of(&header.properties), &id);
        if !witnesses.may_hide_value(&item_key) {
            return Ok(());
        }
        let physical = keys::physical_partition(&partition_key, self.partitions);
        let log_key = keys::log_key(container, physical, header.sequence);
        let is_certain_of_log = witnesses.is_certain_of_log(&log_key);
        let fate = if witnesses.is_certain_of_ids(key) {
            ItemFate::Lost
        } else if !is_certain_of_log {
            ItemFate::PerhapsLost
        } else if self.get(KeySpace::Log, &log_key)?.is_some() {
            ItemFate::Lost
        } else {
            // The entry is an old one: the item was deleted or is elsewhere.
            return Ok(());
        };
        let sequence = header.sequence;
        let lost = ScannedItem { container, partition_key, id, header };
        self.note(&lost, fate, Some(sequence), None);
        Ok(())
    }

    /// Notes the lost item of a dropped entry of the change log.
    fn note_lost_log(&mut self, key: &[u8], place: &[u8]) -> Result<(), Fault> {
        let Some(witnesses) = &self.witnesses else { return Ok(()) };
        let Some((container, value_key, sequence)) = log_target(key, place) else { return Ok(()) };
        let Some((partition_key, id)) = keys::parse_item_key(place) else { return Ok(()) };
        let id_key = keys::id_key(container, &partition_key, &id);
        let is_known = self.is_noted(container, &partition_key, &id)
            || self.get(KeySpace::Ids, &id_key)?.is_some()
            || witnesses.is_certain_of_ids(&id_key);
        if is_known || !witnesses.may_hide_value(&value_key) {
            return Ok(());
        }
        let fate = if witnesses.is_certain_of_log(key) { ItemFate::Lost } else { ItemFate::PerhapsLost };
        let item_type = keys::item_type_of(&value_key);
        self.note_named(container, (partition_key, id, item_type), fate, Some(sequence), None);
        Ok(())
    }

    /// Notes the item of a dropped index entry that no other entry names.
    fn note_lost_index(&mut self, key: &[u8]) -> Result<(), Fault> {
        let Some(witnesses) = &self.witnesses else { return Ok(()) };
        let Some((container, partition_key, id)) = keys::parse_index_key(key) else { return Ok(()) };
        let id_key = keys::id_key(container, &partition_key, &id);
        let is_known = self.is_noted(container, &partition_key, &id)
            || self.get(KeySpace::Ids, &id_key)?.is_some()
            || witnesses.is_certain_of_ids(&id_key);
        if !is_known && witnesses.may_hide_any_value() && witnesses.may_hide_any_log() {
            self.note_named(container, (partition_key, id, None), ItemFate::PerhapsLost, None, None);
        }
        Ok(())
    }

    fn is_noted(&self, container: ContainerId, partition_key: &str, id: &str) -> bool {
        let name = self.containers.get(&container).map(|spec| spec.name.as_str());
        let lost = self.witnesses.as_ref().map(|witnesses| &witnesses.lost);
        name.zip(lost).is_some_and(|(name, lost)| lost.contains(name, partition_key, id))
    }

    fn note(&mut self, item: &ScannedItem, fate: ItemFate, lost: Option<u64>, kept: Option<u64>) {
        let item_type = Some(item.header.properties.item_type.clone());
        let named = (item.partition_key.clone(), item.id.clone(), item_type);
        self.note_named(item.container, named, fate, lost, kept);
    }

    fn note_named(
        &mut self,
        container: ContainerId,
        (partition_key, id, item_type): (String, String, Option<String>),
        fate: ItemFate,
        lost_write: Option<u64>,
        kept_write: Option<u64>,
    ) {
        let Some(spec) = self.containers.get(&container) else { return };
        let container = spec.name.as_str().to_owned();
        let item = LostItem { container, partition_key, id, fate, item_type, lost_write, kept_write };
        if let Some(witnesses) = &mut self.witnesses {
            witnesses.lost.note(item);
        }
    }
}

/// The container, the key of the value and the number that an entry of the change log names.
fn log_target(key: &[u8], place: &[u8]) -> Option<(ContainerId, Vec<u8>, u64)> {
    Some((*key.first()?, [&key[..1], place].concat(), keys::log_sequence(key)?))
}
