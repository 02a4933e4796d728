//! Tests of a salvage: its readers against the engine, and its end at each step.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use onehop_runtime::clock::ManualClock;
use serde_json::json;

use super::salvaged_entries::{KeptParts, SalvagedEntries, journal_entries};
use super::{SalvageStep, examine};
use crate::embedded::check_directory;
use crate::embedded::database::{EngineDatabase, EngineSizes};
use crate::embedded::durability::Durability;
use crate::embedded::high_water_mark::MARK_FILE;
use crate::embedded::journal_files::journals;
use crate::embedded::layout::engine_path;
use crate::embedded::open::EmbeddedConfig;
use crate::embedded::recover::{RecoveryScope, recover_in_steps};
use crate::embedded::store::EmbeddedStore;
use crate::embedded::{keys, read_lost_items};
use crate::{ContainerName, ContainerSpec, Ledger, NewItem, Store, WriteOp};

pub(super) const SPEC: ContainerSpec = ContainerSpec {
    name: ContainerName("things"),
    partition_key: "home",
    order_by: Some("date"),
    orders: &[],
    ttl_s: None,
    equality: &["owner"],
    newest_types: &["thing"],
    soft_deletes: true,
};
const SIZES: EngineSizes = EngineSizes { cache_bytes: 1 << 20, memtable_bytes: 16 << 10 };
/// Items of the stores, of which each fifth is deleted and each third is written again.
const ITEMS: u64 = 400;

pub(super) fn config(path: &Path) -> EmbeddedConfig {
    EmbeddedConfig {
        cache_bytes: 1 << 20,
        memtable_bytes: 16 << 10,
        disk_reserve_bytes: 0,
        edits_from_bytes: 100,
        durability: Durability::Relaxed,
        ..EmbeddedConfig::new(path)
    }
}

pub(super) fn open(path: &Path) -> EmbeddedStore {
    EmbeddedStore::open_with(&config(path), &[SPEC], Arc::new(ManualClock::new(0))).expect("it opens")
}

fn thing(number: u64, version: u64) -> NewItem {
    let id = format!("a{number}");
    let noise: String = (0..40_u64).map(|place| format!("{:x}", (place + number) * place % 65_521)).collect();
    let body = json!({
        "id": id, "home": "h", "type": "thing", "date": format!("{number:05}"), "owner": format!("o{}", number % 7),
        "version": version, "noise": noise,
    });
    NewItem::encode(id, &body)
}

/// Fills a store that writes many small tables.
async fn fill(store: &EmbeddedStore) {
    let ledger = Ledger::new();
    for number in 0..ITEMS {
        let create = WriteOp::Create(thing(number, 1));
        store.write(SPEC.name, &"h".into(), create, &ledger).await.expect("created");
        let earlier = number / 2;
        let write = match earlier % 15 {
            0 | 5 | 10 => WriteOp::Delete { id: format!("a{earlier}"), if_match: None },
            3 | 6 | 9 | 12 => WriteOp::Upsert(thing(earlier, number)),
            _ => continue,
        };
        if number % 2 == 0 {
            store.write(SPEC.name, &"h".into(), write, &ledger).await.expect("written");
        }
    }
}

pub(super) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.metadata().expect("metadata").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("copied");
        }
    }
}

pub(super) fn contents(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(path).expect("a directory") {
        let file = entry.expect("an entry").path();
        if file.is_dir() {
            for (name, bytes) in contents(&file) {
                found.insert(Path::new(file.file_name().expect("a name")).join(name), bytes);
            }
        } else {
            found.insert(file.file_name().expect("a name").into(), fs::read(&file).expect("read"));
        }
    }
    found
}

/// Brings everything into tables, and leaves the journals empty, as a store that goes on writing does in
/// time.
pub(super) fn move_into_tables(data: &Path) {
    let engine = engine_path(data);
    let database = EngineDatabase::open(&engine, SIZES).expect("the engine opens");
    for space in database.spaces() {
        space.rotate_memtable_and_wait().expect("written out");
    }
    drop(database);
    for journal in journals(&engine).expect("journals").into_values() {
        fs::File::options().write(true).open(journal).expect("a journal").set_len(0).expect("empty");
    }
    fs::remove_file(data.join(MARK_FILE)).expect("removed");
    drop(open(data));
}

/// The largest table of the items.
fn items_table(data: &Path) -> PathBuf {
    let files = examine(&engine_path(data), &mut |_| {}).expect("examined");
    let tables = &files.spaces[1].tables;
    let length = |path: &PathBuf| path.metadata().expect("a file").len();
    tables.iter().map(|table| table.path.clone()).max_by_key(length).expect("a table")
}

/// Overwrites bytes in the middle of a file.
fn damage(file: &Path) {
    let handle = fs::File::options().read(true).write(true).open(file).expect("a file");
    let middle = handle.metadata().expect("metadata").len() / 2;
    handle.write_all_at(&[0xa5; 64], middle).expect("written");
}

#[tokio::test]
async fn the_entries_of_files_are_those_of_the_engine() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = open(directory.path());
    fill(&store).await;
    // Everything is in files that do not change: nothing is written any more.
    let files = examine(&engine_path(directory.path()), &mut |_| {}).expect("examined");
    assert_eq!(files.damage, [] as [String; 0]);
    assert!(!files.spaces[1].tables.is_empty(), "there are tables of items: {files:?}");
    let mut journal = journal_entries(&files, |_| KeptParts::Values).expect("journals");
    let view = store.engine.view().expect("open");
    let mut counted = 0;
    for space in &files.spaces {
        let entries = journal.remove(&space.number).unwrap_or_default();
        let mut salvaged = SalvagedEntries::open(space, entries).expect("opened");
        for entry in view.range(space.space, &[], keys::BEHIND_ALL) {
            let (key, value) = entry.pair().expect("read");
            assert_eq!(salvaged.next(), Some((key.to_vec(), value.to_vec())), "{:?}", space.space);
            counted += 1;
        }
        assert_eq!(salvaged.next(), None);
        assert!(salvaged.gaps(space.is_incomplete).hidden.is_empty());
    }
    assert!(counted > 4 * ITEMS / 2, "{counted}");
}

#[tokio::test]
async fn a_salvage_that_ends_at_any_step_is_done_again() {
    let origin = tempfile::tempdir().expect("a temporary directory");
    let store = open(origin.path());
    fill(&store).await;
    drop(store);
    move_into_tables(origin.path());
    damage(&items_table(origin.path()));
    let damaged = contents(&engine_path(origin.path()));
    for (last, repeats) in [
        (SalvageStep::Copied, 1),
        (SalvageStep::Copied, 4),
        (SalvageStep::Fitted, 1),
        (SalvageStep::Complete, 1),
        (SalvageStep::Named, 1),
        (SalvageStep::Moved, 1),
    ] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        copy(origin.path(), directory.path());
        let recover = |last: Option<(SalvageStep, u32)>| {
            let mut seen = 0;
            let mut step = |step| {
                if last.is_some_and(|(last, _)| last == step) {
                    seen += 1;
                    assert!(last.is_none_or(|(_, repeats)| seen < repeats), "the process ends");
                }
            };
            let config = config(directory.path());
            recover_in_steps(&config, &[SPEC], RecoveryScope::Damaged, &mut step, &mut |_| {})
        };
        let ended = catch_unwind(AssertUnwindSafe(|| recover(Some((last, repeats)))));
        assert!(ended.is_err(), "{last:?}");
        let kept = directory.path().join("engine.damaged");
        let engine = engine_path(directory.path());
        if last == SalvageStep::Moved {
            assert!(!engine.exists());
            assert_eq!(contents(&kept), damaged);
        } else {
            assert_eq!(contents(&engine), damaged, "{last:?}");
        }
        let recovery = recover(None).expect("recovered");
        assert_eq!(recovery.is_empty(), last == SalvageStep::Moved, "{last:?}: {recovery:?}");
        assert_eq!(contents(&kept), damaged, "{last:?}");
        let lost = read_lost_items(directory.path()).expect("read").expect("a list");
        assert!(!lost.is_empty() && lost.len() < 100, "{lost:?}");
        let report = check_directory(&config(directory.path()), &[SPEC], &mut |_| true);
        let report = report.expect("found out").expect("not stopped");
        assert_eq!(report.problems, [] as [String; 0], "{last:?}");
        for rest in ["engine.unfinished", "engine.recovered"] {
            assert!(!directory.path().join(rest).exists(), "{last:?}: {rest}");
        }
        drop(open(directory.path()));
    }
}
