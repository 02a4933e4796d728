//! Data directories that have lost a journal or a part of one: they are refused with an error that names the
//! losses, and recovered.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use onehop_store::embedded::{
    BackupError, Durability, EmbeddedConfig, EmbeddedStore, IntegrityReport, OpenError, Recovery,
    check_directory, recover, restore,
};
use onehop_store::{Ledger, Store, WriteOp};

use crate::embedded::damage::{MARK, copy, files, store_with_tables, trim_journals};
use crate::embedded::harness::{SPEC, THINGS, config, create, create_batch, open, open_with};

const BATCHES: u64 = 20;
const ITEMS_PER_BATCH: u64 = 4;

/// A directory with twenty batches, closed.
async fn filled() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = open(directory.path());
    for batch in 0..BATCHES {
        create_batch(&store, "h1", batch, ITEMS_PER_BATCH).await.expect("written");
    }
    drop(store);
    directory
}

fn copy_of(origin: &Path) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    copy(origin, directory.path());
    directory
}

fn journals(path: &Path) -> Vec<(PathBuf, u64)> {
    files(&path.join("engine"), "jnl")
}

fn contents(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let lock = path.join("lock");
    let files = files(path, "").into_iter().filter(|(file, _)| *file != lock);
    files.map(|(file, _)| (file.clone(), fs::read(file).expect("a file"))).collect()
}

/// Removes all but the first part of the last journal.
fn cut_last_journal(path: &Path, kept_of_sixteen: u64) {
    trim_journals(path);
    let (journal, bytes) = journals(path).pop().expect("a journal");
    let file = fs::File::options().write(true).open(journal).expect("a journal");
    file.set_len(bytes * kept_of_sixteen / 16).expect("cut");
}

fn lost(path: &Path) -> String {
    match open_with(&config(path)) {
        Err(error @ OpenError::Lost { .. }) => error.to_string(),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it opens"),
    }
}

fn check(path: &Path) -> IntegrityReport {
    check_directory(&config(path), &[SPEC], &mut |_| true).expect("found out").expect("not stopped")
}

fn recovered(path: &Path) -> Recovery {
    recover(&config(path), &[SPEC], &mut |_| {}).expect("recovered")
}

async fn count(store: &EmbeddedStore) -> u64 {
    store.count(THINGS, &"h1".into(), "thing", &Ledger::new()).await.expect("a count")
}

fn assert_sound(store: &EmbeddedStore) {
    let found = store.check(&mut |_| true).expect("open").expect("not stopped");
    assert_eq!(found.problems, [] as [String; 0]);
}

#[tokio::test]
async fn a_missing_journal_is_refused_and_nothing_is_changed() {
    let directory = filled().await;
    let (journal, _) = journals(directory.path()).pop().expect("a journal");
    let away = directory.path().join("away");
    fs::rename(&journal, &away).expect("moved");
    let before = contents(directory.path());
    for _ in 0..2 {
        let message = lost(directory.path());
        assert!(message.contains("engine/0.jnl is missing"), "{message}");
        assert!(message.contains("onehop recover --data"), "{message}");
        let found = check(directory.path());
        assert!(found.problems[0].contains("engine/0.jnl is missing"), "{:?}", found.problems);
    }
    assert_eq!(contents(directory.path()), before);
    fs::rename(&away, &journal).expect("moved back");
    assert!(check(directory.path()).is_sound());
    assert_eq!(count(&open(directory.path())).await, BATCHES * ITEMS_PER_BATCH);
}

#[tokio::test]
async fn a_shortened_journal_is_refused_until_it_is_recovered() {
    let origin = filled().await;
    for kept in [0, 3, 8, 15] {
        let directory = copy_of(origin.path());
        cut_last_journal(directory.path(), kept);
        let message = lost(directory.path());
        assert!(message.contains("bytes of"), "{message}");
        assert!(!check(directory.path()).is_sound());
        let recovery = recovered(directory.path());
        assert!(recovery.last_commit < recovery.expected_commit, "{recovery:?}");
        let store = open(directory.path());
        let items = count(&store).await;
        assert_eq!((items % ITEMS_PER_BATCH, items), (0, recovery.items));
        assert!(items < BATCHES * ITEMS_PER_BATCH);
        assert_sound(&store);
        let etag = create(&store, "h1", "new", 1000).await;
        assert!(etag.number().expect("a number") > BATCHES * ITEMS_PER_BATCH, "no number is given out twice");
        drop(store);
        assert!(check(directory.path()).is_sound());
        assert_eq!(recovered(directory.path()), Recovery::default(), "nothing is missing any more");
        assert_eq!(count(&open(directory.path())).await, items + 1);
    }
}

#[tokio::test]
async fn a_truncated_journal_is_below_the_high_water_mark() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let store = open(data.path());
    create_batch(&store, "h1", 0, ITEMS_PER_BATCH).await.expect("written");
    let unmarked = copy_of(data.path());
    cut_last_journal(unmarked.path(), 12);
    drop(open(unmarked.path()));
    for batch in 1..BATCHES {
        create_batch(&store, "h1", batch, ITEMS_PER_BATCH).await.expect("written");
    }
    store.write_high_water().expect("written");
    create_batch(&store, "h1", BATCHES, ITEMS_PER_BATCH).await.expect("written");
    let (whole, cut, gone) = (copy_of(data.path()), copy_of(data.path()), copy_of(data.path()));
    drop(store);
    assert_eq!(count(&open(whole.path())).await, (BATCHES + 1) * ITEMS_PER_BATCH);
    cut_last_journal(cut.path(), 8);
    let message = lost(cut.path());
    assert!(
        message.contains(&format!("commit {BATCHES} (write {}) was on the disk", BATCHES * 4)),
        "{message}"
    );
    fs::remove_file(&journals(gone.path()).pop().expect("a journal").0).expect("removed");
    assert!(lost(gone.path()).contains("engine/0.jnl is missing"));
}

#[tokio::test]
async fn lost_deletions_are_noticed_too() {
    let directory = filled().await;
    let store = open(directory.path());
    for batch in 0..BATCHES {
        let delete = WriteOp::Delete { id: format!("b{batch:06}-0"), if_match: None };
        store.write(THINGS, &"h1".into(), delete, &Ledger::new()).await.expect("deleted");
    }
    store.write_high_water().expect("written");
    let killed = copy_of(directory.path());
    drop(store);
    cut_last_journal(killed.path(), 15);
    assert!(lost(killed.path()).contains("was on the disk"));
    recovered(killed.path());
    assert_sound(&open(killed.path()));
}

#[tokio::test]
async fn tables_without_journals_are_recovered_from_items() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let bodies = store_with_tables(directory.path()).await;
    for has_mark in [true, false] {
        let directory = copy_of(directory.path());
        if !has_mark {
            fs::remove_file(directory.path().join(MARK)).expect("removed");
        }
        journals(directory.path()).iter().for_each(|(journal, _)| fs::remove_file(journal).expect("removed"));
        let message = lost(directory.path());
        assert!(message.contains(if has_mark { "is missing" } else { "there is no journal" }), "{message}");
        assert!(!check(directory.path()).is_sound());
        let recovery = recovered(directory.path());
        let store = open(directory.path());
        assert_sound(&store);
        let items = count(&store).await;
        assert_eq!(items, recovery.items);
        assert!((1..=bodies.len() as u64).contains(&items), "{items} of {}", bodies.len());
        for number in 0..items {
            let found = store.read(THINGS, &"h1".into(), &format!("a{number}"), &Ledger::new()).await;
            let found = found.expect("a read").expect("an item");
            assert!(found.body == bodies[usize::try_from(number).expect("few")], "item {number}");
        }
        let etag = create(&store, "h1", "new", 1000).await.number().expect("a number");
        assert!(etag > if has_mark { bodies.len() as u64 } else { items }, "{etag}");
        drop(store);
        assert_eq!(count(&open(directory.path())).await, items + 1, "what is written then stays");
    }
}

#[tokio::test]
async fn a_directory_without_a_mark_opens_and_gets_one() {
    let directory = filled().await;
    fs::remove_file(directory.path().join(MARK)).expect("removed");
    assert_eq!(count(&open(directory.path())).await, BATCHES * ITEMS_PER_BATCH);
    cut_last_journal(directory.path(), 8);
    lost(directory.path());
    fs::write(directory.path().join(MARK), "{").expect("written");
    assert!(lost(directory.path()).contains("high-water.json cannot be read"));
}

#[tokio::test]
async fn a_backup_that_is_not_whole_is_not_restored() {
    let data = filled().await;
    let copies = tempfile::tempdir().expect("a temporary directory");
    let backup = copies.path().join("backup");
    open(data.path()).backup(&backup, None, &mut |_| true).expect("a backup");
    assert!(check(&backup).is_sound());
    let refused = |name: &str| {
        let error = restore(&backup, &copies.path().join(name), None, &mut |_| true).expect_err("refused");
        assert!(matches!(error, BackupError::Lost { .. }), "{error}");
        error.to_string()
    };
    let mark = fs::read_to_string(backup.join(MARK)).expect("a mark");
    fs::write(backup.join(MARK), mark.replace("\"lastCommit\":20", "\"lastCommit\":21")).expect("written");
    let message = refused("fewer commits");
    assert!(message.contains("commit 21"), "{message}");
    fs::write(backup.join(MARK), mark).expect("written");
    let journal = journals(&backup).pop().expect("a journal").0;
    fs::rename(&journal, backup.join("away")).expect("moved");
    let message = refused("no journal");
    assert!(message.contains("is missing"), "{message}");
    assert!(!check(&backup).is_sound());
    fs::rename(backup.join("away"), &journal).expect("moved back");
    let restored = copies.path().join("whole");
    restore(&backup, &restored, None, &mut |_| true).expect("restored");
    assert!(check(&restored).is_sound());
    assert_eq!(count(&open(&restored)).await, BATCHES * ITEMS_PER_BATCH);
}

#[tokio::test]
async fn the_journal_of_a_process_that_closed_nothing_is_copied() {
    let (origin, directory) =
        (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("another"));
    let synced = |path| EmbeddedConfig { durability: Durability::Sync, ..config(path) };
    let store = open_with(&synced(origin.path())).expect("the store opens");
    create(&store, "h1", "a", 1).await;
    // As the process would leave it behind if it ended now.
    copy(origin.path(), directory.path());
    let last_journal = || {
        let journals = journals(directory.path());
        journals.last().expect("a journal").0.metadata().expect("a file").ino()
    };
    let left_behind = last_journal();
    let store = open_with(&synced(directory.path())).expect("the store opens");
    let copied = last_journal();
    assert_ne!(copied, left_behind);
    create(&store, "h1", "b", 2).await;
    drop(store);
    let store = open_with(&synced(directory.path())).expect("the store opens");
    assert_eq!(last_journal(), copied, "the process before closed its journal");
    assert_eq!(count(&store).await, 2);
}
