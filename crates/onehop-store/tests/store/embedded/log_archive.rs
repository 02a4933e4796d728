//! Incremental backups, and restoring to a moment by an archive of the log.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use onehop_runtime::clock::{Clock, ManualClock};
use onehop_store::embedded::{
    BackupError, EmbeddedConfig, EmbeddedStore, LogArchiveConfig, RestoreLog, Restored, check_directory,
    recover, restore,
};
use onehop_store::{Direction, Ledger, NewItem, Query, Store, WriteOp};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use serde_json::{Value, json};

use crate::embedded::damage::{copy, files};
use crate::embedded::harness::{SPEC, THINGS, config};

const BEGIN_MS: i64 = 1_750_000_000_000;

/// The bodies of all items by id.
type Items = BTreeMap<String, Value>;

/// A store with an archive, and the states of its items after each commit.
struct Scene {
    root: tempfile::TempDir,
    clock: Arc<ManualClock>,
    random: ChaCha8Rng,
    items: Items,
    /// The time of each commit with the items after it.
    history: Vec<(i64, Items)>,
}

impl Scene {
    fn new() -> Self {
        Self {
            root: tempfile::tempdir().expect("a temporary directory"),
            clock: Arc::new(ManualClock::new(BEGIN_MS)),
            random: ChaCha8Rng::seed_from_u64(11),
            items: Items::new(),
            history: Vec::new(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn config_of(&self, data: &Path, archive: &Path) -> EmbeddedConfig {
        let log_archive = LogArchiveConfig { segment_bytes: 20_000, ..LogArchiveConfig::new(archive) };
        EmbeddedConfig {
            memtable_bytes: 16 << 10,
            edits_from_bytes: 100,
            disk_reserve_bytes: 0,
            log_archive: Some(log_archive),
            ..config(data)
        }
    }

    fn config(&self) -> EmbeddedConfig {
        self.config_of(&self.path("data"), &self.path("archive"))
    }

    fn open_with(&self, config: &EmbeddedConfig) -> EmbeddedStore {
        EmbeddedStore::open_with(config, &[SPEC], Arc::clone(&self.clock) as _).expect("it opens")
    }

    fn open(&self) -> EmbeddedStore {
        self.open_with(&self.config())
    }

    /// Writes or deletes an item, a second after the commit before.
    async fn write(&mut self, store: &EmbeddedStore) {
        self.clock.advance_ms(1_000);
        let id = format!("a{}", self.random.next_u64() % 60);
        let is_deleted = self.items.contains_key(&id) && self.random.next_u64().is_multiple_of(4);
        let write = if is_deleted {
            self.items.remove(&id);
            WriteOp::Delete { id, if_match: None }
        } else {
            let number = self.history.len();
            let noise: String = (0..70).map(|place| format!("{:x}", place * number % 65_521)).collect();
            let body = json!({
                "id": id, "home": "h", "type": "thing", "date": "2027", "owner": "ada", "number": number, "noise": noise,
            });
            self.items.insert(id.clone(), body.clone());
            WriteOp::Upsert(NewItem::encode(&id, &body))
        };
        store.write(THINGS, &"h".into(), write, &Ledger::new()).await.expect("written");
        self.history.push((self.clock.now_ms(), self.items.clone()));
    }

    /// The items after the last commit at a time.
    fn items_at(&self, at_ms: i64) -> Items {
        let commits = self.history.iter().take_while(|(time_ms, _)| *time_ms <= at_ms);
        commits.last().map(|(_, items)| items.clone()).unwrap_or_default()
    }

    fn restore_at(&self, backup: &str, name: &str, at_ms: Option<i64>) -> Result<Restored, BackupError> {
        let log = RestoreLog { archive: self.path("archive"), at_ms };
        restore(&self.path(backup), &self.path(name), Some(&log), &mut |_| true)
    }

    /// The items of a restored directory, which is sound.
    async fn restored_items(&self, name: &str) -> Items {
        let data = self.path(name);
        let report = check_directory(&config(&data), &[SPEC], &mut |_| true).expect("found out");
        assert_eq!(report.expect("not stopped").problems, [] as [String; 0], "{name}");
        let store = self.open_with(&EmbeddedConfig { disk_reserve_bytes: 0, ..config(&data) });
        items_of(&store).await
    }
}

async fn items_of(store: &EmbeddedStore) -> Items {
    let query = Query::Partition {
        container: THINGS,
        partition_key: &"h".into(),
        item_type: "thing",
        order_by: None,
        direction: Direction::OldestFirst,
        after: None,
        limit: 1000,
    };
    let page = store.query(&query, &Ledger::new()).await.expect("a page");
    let named = |item: &onehop_store::Item| -> (String, Value) {
        let body: Value = item.decode().expect("JSON");
        (body["id"].as_str().expect("an id").to_owned(), body)
    };
    page.items.iter().map(named).collect()
}

fn tables(data: &Path) -> Vec<PathBuf> {
    let is_table = |file: &PathBuf| file.parent().is_some_and(|parent| parent.ends_with("tables"));
    files(&data.join("engine/keyspaces"), "").into_iter().map(|(file, _)| file).filter(is_table).collect()
}

#[tokio::test]
async fn a_backup_is_rolled_forward_to_any_moment() {
    let mut scene = Scene::new();
    let store = scene.open();
    for number in 0..500 {
        scene.write(&store).await;
        if number == 120 {
            store.backup(&scene.path("backup"), None, &mut |_| true).expect("a backup");
        }
        // The archive is behind by some commits, and journals come and go.
        if number % 7 == 0 {
            store.archive_log().expect("archived");
        }
    }
    store.archive_log().expect("archived");
    assert_eq!(store.unarchived_commits(), Some(0));
    assert!(fs::read_dir(scene.path("archive")).expect("a directory").count() == 1, "one lineage");
    assert!(files(&scene.path("archive"), "log").len() > 3, "several segments");
    let taken_ms = scene.history[120].0;
    for (number, after) in [0, 1, 17, 200, 378, 379].into_iter().enumerate() {
        // Between two commits, and at the moment of one.
        for offset_ms in [0, 999] {
            let (name, at_ms) =
                (format!("restored-{number}-{offset_ms}"), taken_ms + after * 1_000 + offset_ms);
            let at_ms = at_ms.min(scene.clock.now_ms());
            let restored = scene.restore_at("backup", &name, Some(at_ms)).expect("restored");
            assert_eq!(restored.commits, u64::try_from(after).expect("few"), "{name}");
            assert_eq!(scene.restored_items(&name).await, scene.items_at(at_ms), "{name}");
        }
    }
    let restored = scene.restore_at("backup", "whole", None).expect("restored");
    assert_eq!(restored.commits, 379);
    assert_eq!(scene.restored_items("whole").await, scene.items);
    let plain = restore(&scene.path("backup"), &scene.path("plain"), None, &mut |_| true).expect("restored");
    assert_eq!(plain.commits, 0);
    assert_eq!(scene.restored_items("plain").await, scene.items_at(taken_ms));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn archives_and_backups_beside_writes_have_whole_commits() {
    let mut scene = Scene::new();
    let store = Arc::new(scene.open());
    let (archive, backups) = (Arc::clone(&store), scene.path("backups"));
    let working = tokio::task::spawn_blocking(move || {
        fs::create_dir(&backups).expect("a directory");
        for number in 0..6 {
            let earlier = (number > 0).then(|| backups.join(format!("{}", number - 1)));
            let target = backups.join(number.to_string());
            archive.backup(&target, earlier.as_deref(), &mut |_| true).expect("a backup");
            archive.archive_log().expect("archived");
        }
    });
    while !working.is_finished() || scene.history.len() < 200 {
        scene.write(&store).await;
    }
    working.await.expect("no panic");
    store.archive_log().expect("archived");
    let last_ms = scene.clock.now_ms();
    for number in 0..6 {
        let backup = format!("backups/{number}");
        let plain = format!("plain-{number}");
        restore(&scene.path(&backup), &scene.path(&plain), None, &mut |_| true).expect("restored");
        let found = scene.restored_items(&plain).await;
        let states = [Items::new()].into_iter().chain(scene.history.iter().map(|(_, items)| items.clone()));
        assert!(states.into_iter().any(|items| items == found), "the state after a commit");
        let rolled = format!("rolled-{number}");
        scene.restore_at(&backup, &rolled, Some(last_ms)).expect("restored");
        assert_eq!(scene.restored_items(&rolled).await, scene.items);
    }
}

#[tokio::test]
async fn an_incremental_backup_links_the_tables_of_the_earlier_one() {
    let mut scene = Scene::new();
    let store = scene.open();
    for _ in 0..200 {
        scene.write(&store).await;
    }
    let first = store.backup(&scene.path("first"), None, &mut |_| true).expect("a backup");
    assert_eq!(first.bytes_linked, 0);
    for _ in 0..40 {
        scene.write(&store).await;
    }
    let again = store.backup(&scene.path("second"), Some(&scene.path("first")), &mut |_| true);
    let second = again.expect("a backup");
    let inodes = |name: &str| -> BTreeMap<u64, PathBuf> {
        let inode = |path: PathBuf| (path.metadata().expect("a file").ino(), path);
        tables(&scene.path(name)).into_iter().map(inode).collect()
    };
    let (of_first, of_second) = (inodes("first"), inodes("second"));
    let shared: Vec<_> = of_second.keys().filter(|inode| of_first.contains_key(inode)).collect();
    assert_eq!(second.bytes_linked > 0, !shared.is_empty(), "{second:?}");
    // A table that the earlier backup does not have as it was written is copied.
    let damaged = &tables(&scene.path("first"))[0];
    let handle = fs::File::options().write(true).open(damaged).expect("a file");
    handle.write_all_at(b"x", 0).expect("written");
    let third = store.backup(&scene.path("third"), Some(&scene.path("first")), &mut |_| true);
    third.expect("a backup");
    fs::remove_dir_all(scene.path("first")).expect("removed");
    for name in ["third"] {
        let restored = format!("restored-{name}");
        restore(&scene.path(name), &scene.path(&restored), None, &mut |_| true).expect("restored");
        assert_eq!(scene.restored_items(&restored).await, scene.items, "{name}");
    }
    let refused = store.backup(&scene.path("fourth"), Some(&scene.path("first")), &mut |_| true);
    assert!(matches!(refused, Err(BackupError::NotFinished(_))), "{refused:?}");
}

#[tokio::test]
async fn a_damaged_table_is_in_no_backup() {
    let mut scene = Scene::new();
    let store = scene.open();
    for _ in 0..200 {
        scene.write(&store).await;
    }
    drop(store);
    let length = |table: &PathBuf| fs::metadata(table).expect("a table").len();
    // The store reads small ones when it opens.
    let table = tables(&scene.path("data")).into_iter().max_by_key(length).expect("a table");
    let handle = fs::File::options().write(true).open(&table).expect("a file");
    handle.write_all_at(&[0x5a; 3], 40).expect("written");
    let store = scene.open();
    let refused = store.backup(&scene.path("backup"), None, &mut |_| true).expect_err("refused");
    assert!(matches!(&refused, BackupError::Damaged(file) if *file == table), "{refused}");
    assert!(refused.to_string().contains("onehop recover"), "{refused}");
}

#[tokio::test]
async fn a_journal_with_a_damaged_batch_is_in_no_backup() {
    let mut scene = Scene::new();
    let store = scene.open();
    for _ in 0..40 {
        scene.write(&store).await;
    }
    let (journal, _) = files(&scene.path("data/engine"), "jnl").pop().expect("a journal");
    let handle = fs::File::options().write(true).open(&journal).expect("a journal");
    handle.write_all_at(&[0x5a; 4], 3_000).expect("written");
    let refused = store.backup(&scene.path("backup"), None, &mut |_| true).expect_err("refused");
    assert!(matches!(&refused, BackupError::Damaged(file) if *file == journal), "{refused}");
}

#[tokio::test]
async fn an_archive_goes_on_after_the_end_of_the_process() {
    let mut scene = Scene::new();
    let store = scene.open();
    for _ in 0..50 {
        scene.write(&store).await;
    }
    store.backup(&scene.path("backup"), None, &mut |_| true).expect("a backup");
    store.archive_log().expect("archived");
    for _ in 0..60 {
        scene.write(&store).await;
    }
    // As a kill leaves it: nothing was archived since, and a part of a commit is in the archive.
    copy(&scene.path("data"), &scene.path("killed"));
    copy(&scene.path("archive"), &scene.path("killed-archive"));
    let (segment, length) = files(&scene.path("killed-archive"), "log").pop().expect("a segment");
    let handle = fs::File::options().write(true).open(segment).expect("a segment");
    handle.write_all_at(b"\x01\x00\x00", length).expect("written");
    drop(store);
    fs::remove_dir_all(scene.path("archive")).expect("removed");
    fs::rename(scene.path("killed-archive"), scene.path("archive")).expect("moved");
    let store = scene.open_with(&scene.config_of(&scene.path("killed"), &scene.path("archive")));
    for _ in 0..30 {
        scene.write(&store).await;
    }
    store.archive_log().expect("archived");
    for after in [70, 109, 110, 139] {
        let (at_ms, items) = scene.history[after].clone();
        let name = format!("restored-{after}");
        scene.restore_at("backup", &name, Some(at_ms)).expect("restored");
        assert_eq!(scene.restored_items(&name).await, items, "{name}");
    }
}

#[tokio::test]
async fn commits_that_were_lost_with_the_power_leave_the_archive() {
    let mut scene = Scene::new();
    let store = scene.open();
    for _ in 0..40 {
        scene.write(&store).await;
    }
    store.backup(&scene.path("backup"), None, &mut |_| true).expect("a backup");
    store.archive_log().expect("archived");
    copy(&scene.path("data"), &scene.path("earlier"));
    let (history, items) = (scene.history.clone(), scene.items.clone());
    for _ in 0..20 {
        scene.write(&store).await;
    }
    store.archive_log().expect("archived");
    drop(store);
    // The disk has the earlier state, and other commits get the numbers of the lost ones.
    (scene.history, scene.items) = (history, items);
    let store = scene.open_with(&scene.config_of(&scene.path("earlier"), &scene.path("archive")));
    for _ in 0..10 {
        scene.write(&store).await;
    }
    store.archive_log().expect("archived");
    let restored = scene.restore_at("backup", "restored", None).expect("restored");
    assert_eq!(restored.commits, 10);
    assert_eq!(scene.restored_items("restored").await, scene.items);
}

#[tokio::test]
async fn a_moment_outside_of_the_archive_is_refused() {
    let mut scene = Scene::new();
    let store = scene.open();
    for _ in 0..100 {
        scene.write(&store).await;
    }
    store.backup(&scene.path("backup"), None, &mut |_| true).expect("a backup");
    let taken_ms = scene.clock.now_ms();
    for _ in 0..300 {
        scene.write(&store).await;
    }
    store.archive_log().expect("archived");
    let refused = |at_ms: Option<i64>| {
        let refused = scene.restore_at("backup", "refused", at_ms).expect_err("refused");
        fs::remove_dir_all(scene.path("refused")).expect("removed");
        refused
    };
    let late = refused(Some(scene.clock.now_ms() + 1));
    assert!(late.to_string().contains("the archive reaches to 2025-06-15T15:"), "{late}");
    let early = refused(Some(taken_ms - 1));
    assert!(matches!(early, BackupError::LaterThan(_)), "{early}");

    let segments = files(&scene.path("archive"), "log");
    assert!(segments.len() > 4, "{segments:?}");
    let (missing, _) = &segments[segments.len() - 2];
    let away = scene.path("away");
    fs::rename(missing, &away).expect("moved");
    let gap = refused(None);
    assert!(matches!(gap, BackupError::Gap { .. }), "{gap}");
    assert!(gap.to_string().contains("the latest time that can be restored is 2025-06-15T15:"), "{gap}");
    scene.restore_at("backup", "before-the-gap", Some(taken_ms + 1_000)).expect("restored");
    fs::rename(&away, missing).expect("moved back");
    scene.restore_at("backup", "whole", None).expect("restored");

    // A recovered directory has another history.
    drop(store);
    fs::remove_file(&tables(&scene.path("data"))[0]).expect("removed");
    recover(&scene.config(), &[SPEC], &mut |_| {}).expect("recovered");
    let store = scene.open();
    store.backup(&scene.path("other"), None, &mut |_| true).expect("a backup");
    fs::remove_dir_all(scene.path("archive")).expect("removed");
    fs::create_dir(scene.path("archive")).expect("a directory");
    let other = scene.restore_at("other", "other-restored", None).expect_err("refused");
    assert!(matches!(other, BackupError::OtherLineage { .. }), "{other}");
}

#[tokio::test]
async fn the_log_is_kept_for_its_time() {
    let mut scene = Scene::new();
    let mut config = scene.config();
    if let Some(archive) = &mut config.log_archive {
        archive.kept = Duration::from_secs(120);
    }
    let store = scene.open_with(&config);
    for number in 0..600 {
        scene.write(&store).await;
        if number == 500 {
            store.backup(&scene.path("backup"), None, &mut |_| true).expect("a backup");
        }
        store.archive_log().expect("archived");
    }
    let kept = files(&scene.path("archive"), "log").len();
    assert!((2..12).contains(&kept), "{kept} segments of 600 seconds, of which 120 are kept");
    let (at_ms, items) = scene.history[540].clone();
    scene.restore_at("backup", "restored", Some(at_ms)).expect("within the kept time");
    assert_eq!(scene.restored_items("restored").await, items);
}
