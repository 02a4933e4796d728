//! Recovery of a data directory that has lost writes: makes it consistent again, and reports the dropped
//! data.
//!
//! The engine writes each key space out by itself, so after the loss of a journal they are of different
//! moments. `items` holds everything that the other spaces are made of, and is of one moment: the recovery
//! keeps it, and makes `ids`, `index` and `log` fit. Numbers go on behind the high-water mark, so no number
//! is given out twice. Cut off, a recovery is begun again: the mark is reached with its last commit.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::directory::Directory;
use super::edits::whole;
use super::engine::Engine;
use super::header::{Header, ItemLocation, VALUE_PREFIX_BYTES, decode_value_prefix};
use super::high_water::{self, HighWaterTracker};
use super::high_water_mark::{CommitNumbers, HighWaterMark};
use super::item_entries::{commit_entries, entries};
use super::key_space::KeySpace;
use super::keys::{self, BEHIND_ALL, ContainerId, base_key, edit_key, is_edit_key};
use super::open::{
    EmbeddedConfig, META_CONTAINERS, META_PARTITIONS, high_water_of, io, losses_within, open_engine,
    partitions_of, stored_container_ids, stored_containers, stored_counts, stored_partitions,
};
use super::open_error::OpenError;
use super::tombstone_hints::META_LISTS;
use crate::document::read_document;
use crate::{ContainerSpec, Fault};

/// Changes in one commit of a recovery.
const CHANGES_MAX: usize = 2_000;
/// Entries between two reports of progress.
const PROGRESS_ENTRIES: u64 = 1_000;

/// The findings and the work of a recovery.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recovery {
    /// The missing writes; empty when there was nothing to recover.
    pub losses: Vec<String>,
    /// The last commit that is there, and the last that was once on the disk.
    pub last_commit: u64,
    pub expected_commit: u64,
    /// Items that are there.
    pub items: u64,
    /// Items that were older versions of others, or could not be read.
    pub items_dropped: u64,
    /// Entries of ids, indexes and the change log that were made from items.
    pub entries_made: u64,
    /// Entries that belonged to no item.
    pub entries_dropped: u64,
}

/// Makes a data directory that has lost writes sound, and lets it be opened again. Changes nothing where
/// nothing is missing.
///
/// # Errors
/// The directory cannot be opened or written, or its tables are damaged.
pub fn recover(
    config: &EmbeddedConfig,
    specs: &[ContainerSpec],
    progress: &mut dyn FnMut(u64),
) -> Result<Recovery, OpenError> {
    let directory = Directory::open(&config.path)?;
    let (mut mark, mut losses) = high_water::look(&config.path)?;
    if losses.is_empty() {
        mark = high_water::mark_open(&config.path, mark)?;
    }
    let engine_path = directory.engine_path();
    let made = high_water::ensure_journal(&engine_path);
    made.map_err(|source| OpenError::Io { path: engine_path, source })?;
    let engine = open_engine(&directory, config)?;
    let found = stored_counts(&engine, config)?;
    losses.extend(losses_within(&engine, mark.as_ref(), found, config)?);
    if losses.is_empty() {
        close(&directory, high_water_of(&engine, directory.files(), config, found, mark)?, &engine);
        return Ok(Recovery::default());
    }
    // The rest differs from the note of a backup.
    directory.end_backup()?;
    let expected = mark.as_ref().map_or(found, |mark| mark.numbers);
    restore_making(&engine, mark.as_ref(), config)?;
    let partitions = partitions_of(&engine, config)?;
    let ids = stored_container_ids(&engine, specs, config, partitions)?;
    let containers = ids.into_iter().zip(specs.iter().copied()).collect();
    let recovery = Recovery {
        losses,
        last_commit: found.last_commit,
        expected_commit: expected.last_commit,
        ..Recovery::default()
    };
    let mut fitting = IndexRecovery {
        engine: &engine,
        containers,
        partitions,
        changes: HashMap::new(),
        last_write: 0,
        recovery,
        progress,
    };
    fitting.run().map_err(io(config))?;
    let (last_write, recovery) = (fitting.last_write, fitting.recovery);
    let numbers = CommitNumbers {
        last_commit: found.last_commit.max(expected.last_commit) + 1,
        last_write: found.last_write.max(expected.last_write).max(last_write),
    };
    engine.commit(commit_entries(numbers).into()).map_err(io(config))?;
    close(&directory, high_water_of(&engine, directory.files(), config, numbers, mark)?, &engine);
    Ok(recovery)
}

/// Has the directory marked as closed when it is.
fn close(directory: &Directory, high_water: HighWaterTracker, engine: &Engine) {
    high_water.begin(engine);
    high_water.finish();
    directory.close_with(Arc::new(high_water));
}

/// Writes the settings of the directory's creation again, as the mark has them.
fn restore_making(
    engine: &Engine,
    mark: Option<&HighWaterMark>,
    config: &EmbeddedConfig,
) -> Result<(), OpenError> {
    let Some(mark) = mark else { return Ok(()) };
    let mut changes = Vec::new();
    if stored_partitions(engine, config)?.is_none() {
        let value = mark.physical_partitions.to_be_bytes().to_vec();
        changes.push((KeySpace::Meta, META_PARTITIONS.to_vec(), Some(value)));
    }
    if stored_containers(engine, config)?.is_empty() {
        let value = serde_json::to_vec(&mark.containers).expect("a plain struct with string keys serialises");
        changes.push((KeySpace::Meta, META_CONTAINERS.to_vec(), Some(value)));
    }
    if changes.is_empty() {
        return Ok(());
    }
    engine.commit(changes).map_err(io(config))
}

/// Makes the other key spaces fit the items.
struct IndexRecovery<'a> {
    engine: &'a Engine,
    containers: HashMap<ContainerId, ContainerSpec>,
    partitions: u16,
    /// Changes that are not committed yet.
    changes: HashMap<(KeySpace, Vec<u8>), Option<Vec<u8>>>,
    last_write: u64,
    recovery: Recovery,
    progress: &'a mut dyn FnMut(u64),
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
    fn run(&mut self) -> Result<(), Fault> {
        self.pass(KeySpace::Items, Self::fit_item)?;
        self.pass(KeySpace::Ids, |fitting, key, value| {
            fitting.drop_unless(KeySpace::Ids, key, |fitting| fitting.is_id_entry(key, value))
        })?;
        self.pass(KeySpace::Log, |fitting, key, value| {
            fitting.drop_unless(KeySpace::Log, key, |fitting| fitting.is_log_entry(key, value))
        })?;
        self.pass(KeySpace::Index, |fitting, key, _| {
            fitting.drop_unless(KeySpace::Index, key, |fitting| fitting.is_index_entry(key))
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
            return self.drop_unless(KeySpace::Items, key, |fitting| {
                Ok(Some(fitting.get(KeySpace::Items, &base)?.is_some()))
            });
        }
        if key.first().is_none_or(|container| !self.containers.contains_key(container)) {
            return Ok(());
        }
        let edited = self.edited_value(key, value)?;
        let value = edited.as_deref().unwrap_or(value);
        let read = self.read(key, value, edited.is_some());
        let Some(found) = read.filter(|found| found.item_key() == key) else {
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
        self.last_write = self.last_write.max(found.header.sequence);
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

    fn drop_unless(
        &mut self,
        space: KeySpace,
        key: &[u8],
        belongs: impl FnOnce(&Self) -> Result<Option<bool>, Fault>,
    ) -> Result<(), Fault> {
        if belongs(self)? != Some(true) {
            self.recovery.entries_dropped += 1;
            self.changes.insert((space, key.to_vec()), None);
        }
        Ok(())
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
