//! Backups: made while the store is written to, whole commits up to one moment; and directories that are no
//! backup.

use std::fs;
use std::path::Path;

use onehop_store::embedded::{BackupError, EmbeddedConfig, EmbeddedStore, OpenError, restore};
use onehop_store::{Ledger, Store};

use crate::embedded::harness::{THINGS, config, create_batch, open, open_with};

const ITEMS_PER_BATCH: u64 = 5;

async fn count(store: &EmbeddedStore) -> u64 {
    store.count(THINGS, &"h1".into(), "thing", &Ledger::new()).await.expect("a count")
}

fn sound(store: &EmbeddedStore) -> u64 {
    let found = store.check(&mut |_| true).expect("the engine is open").expect("it was not stopped");
    assert_eq!(found.problems, [] as [String; 0]);
    found.items
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_beside_writes_has_acknowledged_whole_batches() {
    let (data, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (backup, restored) = (copies.path().join("backup"), copies.path().join("restored"));
    let store = std::sync::Arc::new(open(data.path()));
    for batch in 0..400 {
        create_batch(&store, "h1", batch, ITEMS_PER_BATCH).await.expect("written");
    }
    let copying = tokio::task::spawn_blocking({
        let (store, backup) = (std::sync::Arc::clone(&store), backup.clone());
        move || store.backup(&backup, None, &mut |_| true).expect("a backup")
    });
    let mut next = 400;
    while !copying.is_finished() {
        create_batch(&store, "h1", next, ITEMS_PER_BATCH).await.expect("written");
        next += 1;
    }
    let note = copying.await.expect("no panic");
    assert!(next > 401, "it was written to meanwhile");

    let restored_note = restore(&backup, &restored, None, &mut |_| true).expect("restored");
    assert_eq!(restored_note.backup, note);
    for copy in [&restored, &backup] {
        let store = open(copy);
        let items = count(&store).await;
        assert_eq!((items, sound(&store)), (note.items, note.items));
        assert_eq!(items % ITEMS_PER_BATCH, 0, "half a batch");
        let batches = items / ITEMS_PER_BATCH;
        assert!((400..=next).contains(&batches), "{batches} of {next}");
        for batch in [0, 399, batches - 1] {
            let id = format!("b{batch:06}-0");
            let found = store.read(THINGS, &"h1".into(), &id, &Ledger::new()).await.expect("a read");
            assert!(found.is_some(), "batch {batch} of {batches} is missing");
        }
        create_batch(&store, "h1", 1_000_000, ITEMS_PER_BATCH).await.expect("it can be written to");
        drop(store);
        let store = open(copy);
        assert_eq!((count(&store).await, sound(&store)), (items + ITEMS_PER_BATCH, items + ITEMS_PER_BATCH));
    }
    let error =
        restore(&backup, &copies.path().join("again"), None, &mut |_| true).expect_err("no backup any more");
    assert!(matches!(error, BackupError::NotFinished(_)), "a backup that was served is none: {error}");
}

#[tokio::test]
async fn a_backup_that_was_stopped_is_taken_for_none() {
    let (data, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let backup = copies.path().join("backup");
    let store = open(data.path());
    for batch in 0..400 {
        create_batch(&store, "h1", batch, ITEMS_PER_BATCH).await.expect("written");
    }
    let error = store.backup(&backup, None, &mut |_| false).expect_err("stopped");
    assert!(matches!(error, BackupError::Stopped(_)), "{error}");
    let error = open_with(&config(&backup)).err().expect("refused");
    assert!(matches!(error, OpenError::Unfinished { .. }), "{error}");
    let error = restore(&backup, &copies.path().join("restored"), None, &mut |_| true).expect_err("refused");
    assert!(matches!(error, BackupError::NotFinished(_)), "{error}");
    let error = store.backup(&backup, None, &mut |_| true).expect_err("refused");
    assert!(matches!(error, BackupError::NotEmpty(_)), "{error}");
}

#[tokio::test]
async fn a_restoring_that_was_stopped_leaves_no_data_directory() {
    let (data, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (backup, restored) = (copies.path().join("backup"), copies.path().join("restored"));
    let store = open(data.path());
    create_batch(&store, "h1", 1, ITEMS_PER_BATCH).await.expect("written");
    store.backup(&backup, None, &mut |_| true).expect("a backup");
    restore(&backup, &restored, None, &mut |_| false).expect_err("stopped");
    let error = open_with(&config(&restored)).err().expect("refused");
    assert!(matches!(error, OpenError::Unfinished { .. }), "{error}");
}

#[test]
fn a_backup_goes_over_nothing_and_not_into_the_data_directory() {
    let data = tempfile::tempdir().unwrap();
    let store = open(data.path());
    let refused = |target: &Path| store.backup(target, None, &mut |_| true).expect_err("refused");
    assert!(matches!(refused(data.path()), BackupError::NotEmpty(_)));
    assert!(matches!(refused(&data.path().join("backup")), BackupError::Inside(_)));
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("letter"), "to keep").unwrap();
    assert!(matches!(refused(other.path()), BackupError::NotEmpty(_)));
    let backup = other.path().join("backup");
    store.backup(&backup, None, &mut |_| true).expect("a backup");
    let error = restore(&backup, other.path(), None, &mut |_| true).expect_err("refused");
    assert!(matches!(error, BackupError::NotEmpty(_)), "{error}");
}

#[tokio::test]
async fn a_backup_of_a_later_format_is_refused_for_that() {
    let (data, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let backup = copies.path().join("backup");
    let store = open(data.path());
    create_batch(&store, "h1", 1, ITEMS_PER_BATCH).await.expect("written");
    store.backup(&backup, None, &mut |_| true).expect("a backup");
    fs::write(backup.join("format"), "9\n").unwrap();
    let error = restore(&backup, &copies.path().join("restored"), None, &mut |_| true).expect_err("refused");
    assert!(matches!(error, BackupError::Open(_)) && error.to_string().contains('9'), "{error}");
}

#[tokio::test]
async fn a_failed_attempt_to_open_a_backup_leaves_it_one() {
    let (data, copies) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (backup, restored) = (copies.path().join("backup"), copies.path().join("restored"));
    let store = open(data.path());
    create_batch(&store, "h1", 1, ITEMS_PER_BATCH).await.expect("written");
    store.backup(&backup, None, &mut |_| true).expect("a backup");
    let other_partitions = EmbeddedConfig { physical_partitions: Some(7), ..config(&backup) };
    let error = open_with(&other_partitions).err().expect("refused");
    assert!(matches!(error, OpenError::PhysicalPartitions { .. }), "{error}");
    restore(&backup, &restored, None, &mut |_| true).expect("it is a backup still");
    assert_eq!(count(&open(&restored)).await, ITEMS_PER_BATCH);
    drop(open(&backup));
    let error =
        restore(&backup, &copies.path().join("again"), None, &mut |_| true).expect_err("it was opened");
    assert!(matches!(error, BackupError::NotFinished(_)), "{error}");
}
