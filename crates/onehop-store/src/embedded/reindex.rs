//! Reindexing: the keys and index entries of a container's items, made anew where the container has other
//! orders, equality paths or newest types than before.
//!
//! Each commit moves some items as a whole, and the id entry of an item says where it is. So a process that
//! ends in the middle leaves every item with one place, and the next opening begins again. Bodies, sequence
//! numbers and the change feed stay as they are.

use std::collections::HashMap;

use super::edits::value_at;
use super::engine::Engine;
use super::header::{Header, ItemLocation, VALUE_PREFIX_BYTES};
use super::item_entries::entries;
use super::key_space::KeySpace;
use super::keys::{self, ContainerId, prefix_end};
use crate::document::{is_indexable, read_document};
use crate::{ContainerSpec, Fault, FaultKind};

/// The items of one commit.
const ITEMS_MAX: usize = 500;
/// The bytes of their values, after which a commit has no further item.
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// A container whose items get other keys.
#[derive(Clone, Copy)]
pub(super) struct Reindexing<'a> {
    pub(super) engine: &'a Engine,
    pub(super) container: ContainerId,
    pub(super) partitions: u16,
    /// The new specification.
    pub(super) spec: &'a ContainerSpec,
}

/// An item with its keys of before and of now.
struct MovedItem {
    partition_key: String,
    id: String,
    before: Header,
    after: Header,
    value: Vec<u8>,
}

impl Reindexing<'_> {
    /// Whether the new indexes can hold the values of all items. Nothing is written.
    pub(super) fn fits(&self) -> Result<bool, Fault> {
        let mut fits = true;
        let mut from = vec![self.container];
        while let Some(end) = self.visit(&from, |item| {
            let properties = &item.after.properties;
            let orders = [&properties.order_value].into_iter().chain(&properties.further_orders);
            fits &= orders.chain(&properties.equality).all(|text| is_indexable(text));
        })? {
            from = end;
        }
        Ok(fits)
    }

    /// Makes the keys anew.
    pub(super) fn run(&self) -> Result<(), Fault> {
        let mut from = vec![self.container];
        loop {
            let mut changes = HashMap::new();
            let end = self.visit(&from, |item| self.move_item(item, &mut changes))?;
            if !changes.is_empty() {
                let changes = changes.into_iter().map(|((space, key), value)| (space, key, value));
                self.engine.commit(changes.collect())?;
            }
            match end {
                Some(end) => from = end,
                None => return Ok(()),
            }
        }
    }

    /// Visits some items from a key of `ids` on, and returns the key behind them; `None` at the end.
    fn visit(&self, from: &[u8], mut visit: impl FnMut(MovedItem)) -> Result<Option<Vec<u8>>, Fault> {
        let view = self.engine.view()?;
        let mut bytes = 0;
        let entries = view.range(KeySpace::Ids, from, &prefix_end(&[self.container]));
        for (number, entry) in entries.enumerate() {
            let (key, header) = entry.pair()?;
            if number == ITEMS_MAX || bytes > BYTES_MAX {
                return Ok(Some(key.to_vec()));
            }
            let corrupt = || Fault::new(FaultKind::Corrupt, "an item cannot be read for its new indexes");
            let (_, partition_key, id) = keys::parse_id_key(&key).ok_or_else(corrupt)?;
            let before = Header::decode(&header).ok_or_else(corrupt)?;
            let place = ItemLocation::of(&before.properties);
            let item_key = keys::item_key(self.container, &partition_key, place, &id);
            let value = value_at(&view, &item_key, before.edited)?.ok_or_else(corrupt)?;
            let body = value.get(VALUE_PREFIX_BYTES..).unwrap_or_default();
            let document = read_document(self.spec, body).map_err(|_| corrupt())?;
            let after = Header { edited: false, properties: document.properties, ..before.clone() };
            bytes += value.len();
            visit(MovedItem { partition_key, id, before, after, value: value.to_vec() });
        }
        Ok(None)
    }

    fn move_item(&self, item: MovedItem, changes: &mut HashMap<(KeySpace, Vec<u8>), Option<Vec<u8>>>) {
        let MovedItem { partition_key, id, before, after, value } = item;
        let physical = keys::physical_partition(&partition_key, self.partitions);
        let entries_of = |newest_types: &[&str], header: &Header, value: Option<&Vec<u8>>| {
            entries(newest_types, self.container, physical, &partition_key, &id, header, value)
        };
        // The item may have an entry among the newest of its type, or not.
        let removed = entries_of(&[&before.properties.item_type], &before, None);
        let made = entries_of(self.spec.newest_types, &after, Some(&value));
        let place = ItemLocation::of(&before.properties);
        let base = keys::item_key(self.container, &partition_key, place, &id);
        changes.insert((KeySpace::Items, base), None);
        for (space, key, value) in removed.into_iter().chain(made) {
            changes.insert((space, key), value);
        }
        let id_key = keys::id_key(self.container, &partition_key, &id);
        changes.insert((KeySpace::Ids, id_key), Some(after.encode()));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use onehop_runtime::clock::ManualClock;
    use serde_json::{Value, json};

    use super::super::directory::Directory;
    use super::super::high_water;
    use super::super::open::{EmbeddedConfig, META_CONTAINERS, open_engine, stored_containers};
    use super::super::store::EmbeddedStore;
    use super::super::stored_container::StoredContainer;
    use super::*;
    use crate::{Direction, Ledger, NewItem, Query, Store, WriteOp};

    const BY_NAME: ContainerSpec = ContainerSpec::new("things", "home").ordered_by("name");
    const BY_RANK: ContainerSpec =
        ContainerSpec::new("things", "home").ordered_by("rank").with_newest(&["thing"]);

    async fn in_order(store: &EmbeddedStore) -> Vec<Value> {
        let home = "h".into();
        let query = Query::Partition {
            container: BY_NAME.name,
            partition_key: &home,
            item_type: "thing",
            order_by: None,
            direction: Direction::OldestFirst,
            after: None,
            limit: 10,
        };
        let page = store.query(&query, &Ledger::new()).await.expect("a page");
        page.items.iter().map(|item| item.decode::<Value>().expect("JSON")["id"].clone()).collect()
    }

    /// Moves the first item alone, as a process that ends then has done.
    fn begin(config: &EmbeddedConfig) {
        let directory = Directory::open(&config.path).expect("the directory opens");
        let (mark, _) = high_water::look(&config.path).expect("a mark");
        high_water::mark_open(&config.path, mark).expect("marked");
        let engine = open_engine(&directory, config).expect("the engine opens");
        let mut stored = stored_containers(&engine, config).expect("containers");
        stored[0] = StoredContainer { is_reindexed: true, ..StoredContainer::from(&BY_RANK) };
        let bytes = serde_json::to_vec(&stored).expect("JSON");
        engine.commit(vec![(KeySpace::Meta, META_CONTAINERS.to_vec(), Some(bytes))]).expect("committed");
        let reindexing = Reindexing { engine: &engine, container: 0, partitions: 4, spec: &BY_RANK };
        let (mut changes, mut number) = (HashMap::new(), 0);
        let visited = reindexing.visit(&[0], |item| {
            number += 1;
            if number == 1 {
                reindexing.move_item(item, &mut changes);
            }
        });
        assert_eq!((visited.expect("visited"), number), (None, 3));
        let changes = changes.into_iter().map(|((space, key), value)| (space, key, value));
        engine.commit(changes.collect()).expect("committed");
    }

    #[tokio::test]
    async fn an_interrupted_reindexing_is_completed() {
        for (spec, expected) in [(BY_RANK, ["c", "b", "a"]), (BY_NAME, ["a", "b", "c"])] {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let config = EmbeddedConfig {
                cache_bytes: 1 << 20,
                edits_from_bytes: 1,
                ..EmbeddedConfig::new(directory.path())
            };
            let open = |spec: ContainerSpec| {
                EmbeddedStore::open_with(&config, &[spec], Arc::new(ManualClock::new(0))).expect("it opens")
            };
            let store = open(BY_NAME);
            for (id, rank) in [("a", 3), ("b", 2), ("c", 1)] {
                // The last write is an edit of the one before.
                for number in [7, 8] {
                    let body = json!({
                        "id": id, "home": "h", "type": "thing", "name": id, "rank": rank,
                        "number": number, "text": "a text that stays as it is",
                    });
                    let write = WriteOp::Upsert(NewItem::encode(id, &body));
                    store.write(BY_NAME.name, &"h".into(), write, &Ledger::new()).await.expect("written");
                }
            }
            drop(store);
            begin(&config);
            let store = open(spec);
            assert_eq!(in_order(&store).await, expected);
            let checked = store.check(&mut |_| true).expect("open").expect("not stopped");
            assert_eq!((checked.items, checked.problems), (3, Vec::new()));
        }
    }
}
