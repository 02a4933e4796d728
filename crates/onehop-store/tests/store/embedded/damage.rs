//! Damaged files: readable data is whole, and unreadable data is a clear error and never a panic.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use onehop_runtime::clock::ManualClock;
use onehop_store::embedded::{EmbeddedConfig, EmbeddedStore};
use onehop_store::{Fault, FaultKind, Ledger, NewItem, Store, WriteError, WriteOp};
use serde_json::json;

use crate::embedded::harness::{SPEC, THINGS, config, create_batch, open, open_with};

const ITEMS_PER_BATCH: u64 = 4;
/// The file with the high-water mark.
pub const MARK: &str = "high-water.json";

/// Files under a path with this extension (or all, where it is empty), with their lengths.
pub fn files(path: &Path, extension: &str) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).expect("a directory") {
        let entry = entry.expect("an entry");
        // The engine may have deleted it since.
        let Ok(metadata) = entry.metadata() else { continue };
        if metadata.is_dir() {
            found.extend(files(&entry.path(), extension));
        } else if extension.is_empty() || entry.path().extension().is_some_and(|found| found == extension) {
            found.push((entry.path(), metadata.len()));
        }
    }
    found.sort();
    found
}

/// Copies a directory as of a moment, also while an engine writes to it: again, until no file comes or goes
/// meanwhile.
pub fn copy(from: &Path, to: &Path) {
    const ATTEMPTS_MAX: usize = 100;
    let names = || files(from, "").into_iter().map(|(path, _)| path).collect::<Vec<_>>();
    for _ in 0..ATTEMPTS_MAX {
        let before = names();
        match copy_once(from, to) {
            Ok(()) if names() == before => return,
            Err(error) if error.kind() != ErrorKind::NotFound => panic!("{}: {error}", from.display()),
            _ => fs::remove_dir_all(to).expect("removed"),
        }
    }
    panic!("{} changes all the time", from.display());
}

fn copy_once(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.metadata()?.is_dir() {
            copy_once(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// Cuts the room that the engine sets aside off its journals, so that copies are small.
pub fn trim_journals(path: &Path) {
    const BLOCK: usize = 64 * 1024;
    for (journal, length) in files(path, "jnl") {
        let file = fs::File::options().read(true).write(true).open(journal).expect("a journal");
        let (mut block, mut end) = (vec![0; BLOCK], length);
        while end >= BLOCK as u64 {
            file.read_exact_at(&mut block, end - BLOCK as u64).expect("a block");
            if block != [0; BLOCK] {
                break;
            }
            end -= BLOCK as u64;
        }
        let last = block.iter().rposition(|byte| *byte != 0).map_or(0, |place| place + 1);
        file.set_len(end.saturating_sub(BLOCK as u64) + last as u64).expect("trimmed");
    }
}

async fn count(store: &EmbeddedStore) -> u64 {
    store.count(THINGS, &"h1".into(), "thing", &Ledger::new()).await.expect("a count")
}

#[tokio::test]
async fn a_journal_that_was_cut_short_leaves_whole_batches() {
    let origin = tempfile::tempdir().expect("a temporary directory");
    {
        let store = open(origin.path());
        for batch in 0..20 {
            create_batch(&store, "h1", batch, ITEMS_PER_BATCH).await.expect("written");
        }
    }
    trim_journals(origin.path());
    // As after the loss of power: the cut part was never marked as on the disk.
    fs::remove_file(origin.path().join(MARK)).expect("removed");
    let journals = files(origin.path(), "jnl");
    let (journal, end) = journals.last().expect("a journal");
    let mut fewest = u64::MAX;
    for cut in 1..=12 {
        let directory = tempfile::tempdir().expect("a temporary directory");
        copy(origin.path(), directory.path());
        let journal = directory.path().join(journal.strip_prefix(origin.path()).expect("inside"));
        let kept = end - cut * end / 16;
        fs::File::options().write(true).open(&journal).expect("a journal").set_len(kept).expect("cut");
        let store = open(directory.path());
        let items = count(&store).await;
        assert_eq!(items % ITEMS_PER_BATCH, 0, "half a batch came back");
        fewest = fewest.min(items);
        create_batch(&store, "h1", 1000, ITEMS_PER_BATCH).await.expect("it can be written to");
        drop(store);
        assert_eq!(count(&open(directory.path())).await, items + ITEMS_PER_BATCH);
    }
    assert!(fewest < 20 * ITEMS_PER_BATCH, "the cuts did reach the data");
}

#[tokio::test]
async fn damage_within_a_journal_leaves_whole_batches_or_is_an_error() {
    let origin = tempfile::tempdir().expect("a temporary directory");
    {
        let store = open(origin.path());
        for batch in 0..20 {
            create_batch(&store, "h1", batch, ITEMS_PER_BATCH).await.expect("written");
        }
    }
    trim_journals(origin.path());
    let (journal, _) = files(origin.path(), "jnl").pop().expect("a journal");
    for place in 1..16 {
        let directory = tempfile::tempdir().expect("a temporary directory");
        copy(origin.path(), directory.path());
        damage(&directory.path().join(journal.strip_prefix(origin.path()).expect("inside")), &[place]);
        if let Ok(store) = open_with(&config(directory.path())) {
            let items = count(&store).await;
            assert_eq!(items % ITEMS_PER_BATCH, 0, "half a batch came back");
        }
    }
}

const TABLE_BYTES: u64 = 1024 * 1024;
const LARGE_ITEMS_MAX: usize = 200;

/// Writes large items until the engine has written a table of them; returns their bodies.
pub async fn store_with_tables(path: &Path) -> Vec<Bytes> {
    let store = open(path);
    // Numbers, so that compression does not make it small.
    let noise: String = (0..300_000_u64).map(|place| format!("{:x} ", place * place % 65_521)).collect();
    let mut bodies = Vec::new();
    for number in 0..LARGE_ITEMS_MAX {
        if files(&path.join("engine"), "")
            .iter()
            .any(|(file, length)| is_table(file) && *length > TABLE_BYTES)
        {
            drop(store);
            trim_journals(path);
            return bodies;
        }
        let id = format!("a{number}");
        let body = json!({"id": id, "home": "h1", "type": "thing", "noise": noise});
        let item = NewItem::encode(id, &body);
        bodies.push(item.body.clone());
        let create = WriteOp::Create(item);
        store.write(THINGS, &"h1".into(), create, &Ledger::new()).await.expect("created");
    }
    panic!("the engine wrote no table for {LARGE_ITEMS_MAX} large items");
}

fn is_table(file: &Path) -> bool {
    file.parent().is_some_and(|parent| parent.ends_with("tables"))
}

/// Turns over one byte at each of the places, given in sixteenths of the file.
pub fn damage(file: &Path, places: &[u64]) {
    let handle = fs::File::options().read(true).write(true).open(file).expect("a file");
    let length = handle.metadata().expect("its metadata").len();
    for place in places {
        let offset = place * length / 16;
        let mut byte = [0];
        handle.read_exact_at(&mut byte, offset).expect("a byte");
        handle.write_all_at(&[!byte[0]], offset).expect("written");
    }
}

/// Of the files of each kind (named alike, but for their numbers) the largest.
pub fn largest_of_each_kind(path: &Path) -> Vec<PathBuf> {
    let mut largest: BTreeMap<String, (u64, PathBuf)> = BTreeMap::new();
    for (file, length) in files(path, "") {
        let name = file.strip_prefix(path).expect("inside").to_string_lossy().into_owned();
        let kind = name.replace(|character: char| character.is_ascii_digit(), "");
        if file.extension().is_none() && length > largest.get(&kind).map_or(0, |known| known.0) {
            largest.insert(kind, (length, file));
        }
    }
    largest.into_values().map(|(_, file)| file).collect()
}

/// Reads every large item: each is whole, or a fault of kind `Corrupt`. Returns how many are corrupt.
async fn corrupt_items(store: &EmbeddedStore, bodies: &[Bytes]) -> usize {
    let mut corrupt = 0;
    for (number, body) in bodies.iter().enumerate() {
        match store.read(THINGS, &"h1".into(), &format!("a{number}"), &Ledger::new()).await {
            Ok(Some(item)) => assert!(item.body == *body, "item {number} has another body"),
            Ok(None) => panic!("item {number} is silently gone"),
            Err(fault) => {
                assert_eq!(fault.kind, FaultKind::Corrupt, "{fault}");
                corrupt += 1;
            }
        }
    }
    corrupt
}

#[tokio::test]
async fn damage_in_a_file_of_the_engine_is_an_error_and_not_a_panic() {
    let origin = tempfile::tempdir().expect("a temporary directory");
    let bodies = store_with_tables(origin.path()).await;
    let (mut refused_to_open, mut corrupt_reads) = (0, 0);
    for file in largest_of_each_kind(&origin.path().join("engine")) {
        for places in [&[8][..], &[0, 3, 6, 9, 12, 15]] {
            let directory = tempfile::tempdir().expect("a temporary directory");
            copy(origin.path(), directory.path());
            let file = file.strip_prefix(origin.path()).expect("inside");
            damage(&directory.path().join(file), places);
            match open_with(&config(directory.path())) {
                Err(error) => {
                    assert!(error.to_string().contains("engine"), "{}: {error}", file.display());
                    refused_to_open += 1;
                }
                Ok(store) => corrupt_reads += corrupt_items(&store, &bodies).await,
            }
        }
    }
    assert!(refused_to_open > 0, "no damaged file kept the store from opening");
    assert!(corrupt_reads > 0, "no damaged file was noticed by a read");
}

/// Small memtables, so that the engine writes tables and compacts them all the time.
fn compacting(path: &Path) -> EmbeddedConfig {
    EmbeddedConfig { memtable_bytes: 1024 * 1024, ..config(path) }
}

/// Writes large items until a write fails; returns that fault. Their ids lie between the ids of the stored
/// items, so that each compaction reads these, too. A lost commit does not count, nor does a refusal by an
/// engine that has just failed, which may be quick and come many times.
async fn write_until_refused(store: &EmbeddedStore, first: u64) -> Fault {
    let mut taken = 0;
    for number in first.. {
        let noise: String = (0..16_384_u64).map(|place| format!("{:x} ", place * number % 65_521)).collect();
        let id = format!("a{}-{number}", number % 10);
        let body = json!({"id": id, "home": "h1", "type": "thing", "noise": noise});
        let create = WriteOp::Create(NewItem::encode(id, &body));
        match store.write(THINGS, &"h1".into(), create, &Ledger::new()).await {
            Ok(_) => taken += 1,
            Err(WriteError::Fault(fault)) if fault.kind == FaultKind::Ambiguous => {}
            Err(WriteError::Fault(fault)) if fault.to_string().contains("cannot write any more") => {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Err(WriteError::Fault(fault)) => return fault,
            Err(refused) => panic!("{refused}"),
        }
        assert!(taken < WRITES_MAX, "{taken} writes were taken beside a damaged table");
    }
    unreachable!("there is no last number")
}

/// Reopenings of a damaged engine, of which one takes a write.
const REOPENINGS_TRIED: usize = 20;
/// Several times the writes of a compaction.
const WRITES_MAX: u64 = 1_000;
/// Beyond all numbers that were tried before.
const OTHER_NUMBERS: u64 = 1 << 32;

#[tokio::test]
async fn an_engine_that_fails_again_and_again_refuses_writes() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let bodies = store_with_tables(directory.path()).await;
    let table = files(&directory.path().join("engine"), "").into_iter().filter(|(file, _)| is_table(file));
    let (table, _) = table.max_by_key(|(_, length)| *length).expect("a table");
    damage(&table, &[3, 6, 9, 12]);
    let clock = Arc::new(ManualClock::new(1_750_000_000_000));
    let store =
        EmbeddedStore::open_with(&compacting(directory.path()), &[SPEC], clock.clone()).expect("it opens");
    let fault = write_until_refused(&store, 0).await;
    assert_eq!(fault.kind, FaultKind::Full, "{fault}");
    assert!(fault.to_string().contains("3 times within 60 s"), "{fault}");
    assert!(corrupt_items(&store, &bodies).await < bodies.len(), "reads go on");
    // After a while it is tried again, as often. Its compaction may fail once more before the write comes.
    let mut is_written = false;
    for _ in 0..REOPENINGS_TRIED {
        clock.advance_ms(60_000);
        let item = NewItem::encode("d", &json!({"id": "d", "home": "h1", "type": "thing"}));
        let written = store.write(THINGS, &"h1".into(), WriteOp::Upsert(item), &Ledger::new()).await;
        is_written |= written.is_ok();
    }
    assert!(is_written, "it was opened again");
    assert_eq!(write_until_refused(&store, OTHER_NUMBERS).await.kind, FaultKind::Full);
}
