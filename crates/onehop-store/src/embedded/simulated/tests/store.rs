//! The embedded store on a simulated disk, on one thread: its interruption points, its end at each of them,
//! and its faults.

use std::sync::Arc;

use futures::FutureExt;
use futures::executor::LocalPool;
use futures::task::{LocalSpawnExt, SpawnExt};
use serde_json::json;

use super::super::engine::yield_once;
use super::super::{DiskFault, DiskPoint, NoFaults, SimulatedDisk, SimulatedParts};
use super::{Plan, disk};
use crate::embedded::{ConfirmedReads, Durability, EmbeddedConfig, EmbeddedStore, OpenError};
use crate::{
    Batch, ContainerName, ContainerSpec, FaultKind, Ledger, NewItem, PartitionKey, SignalScope, Store,
    WriteError, WriteOp,
};
use onehop_runtime::clock::ManualClock;

pub(super) const THINGS: ContainerName = ContainerName("things");
const SPEC: ContainerSpec = ContainerSpec {
    name: THINGS,
    partition_key: "home",
    order_by: Some("date"),
    orders: &[],
    ttl_s: None,
    equality: &["owner"],
    newest_types: &["thing"],
    soft_deletes: true,
};

/// A process on one thread, with a store open in it.
pub(super) struct Process {
    pub(super) pool: LocalPool,
    pub(super) clock: Arc<ManualClock>,
    store: Option<Arc<EmbeddedStore>>,
}

impl Process {
    pub(super) fn start(disk: &SimulatedDisk) -> Result<Self, OpenError> {
        let pool = LocalPool::new();
        let spawner = pool.spawner();
        let spawn = |writer| spawner.spawn(writer).expect("the pool runs");
        let parts = SimulatedParts { disk, spawn: &spawn };
        let config = EmbeddedConfig { durability: Durability::Sync, ..EmbeddedConfig::new("simulated") };
        let clock = Arc::new(ManualClock::new(0));
        let store = EmbeddedStore::open_simulated(&config, &[SPEC], clock.clone(), &parts)?;
        Ok(Self { pool, clock, store: Some(Arc::new(store)) })
    }

    pub(super) fn store(&self) -> Arc<EmbeddedStore> {
        Arc::clone(self.store.as_ref().expect("the store is open"))
    }

    pub(super) fn create(&mut self, ids: &[&str]) -> Result<(), WriteError> {
        let store = self.store();
        self.pool.run_until(async move { store.batch(batch(ids), &Ledger::new()).await.map(drop) })
    }

    /// Begins a batch, and takes this many steps of the tasks.
    pub(super) fn begin(&mut self, ids: &[&str], steps: usize) -> bool {
        let (store, batch) = (self.store(), batch(ids));
        let answered = Arc::new(std::sync::OnceLock::new());
        let answer = Arc::clone(&answered);
        let client = async move {
            let outcome = store.batch(batch, &Ledger::new()).await;
            let _ = answer.set(outcome.is_ok());
        };
        self.pool.spawner().spawn_local(client).expect("the pool runs");
        for _ in 0..steps {
            self.pool.run_until(yield_once());
        }
        answered.get().copied().unwrap_or(false)
    }

    /// The ids that are there by point reads, a query, a count and the change feed, which all agree.
    fn ids(&mut self) -> Vec<String> {
        let store = self.store();
        self.pool.run_until(async move {
            let report = store.check(&mut |_| true).expect("open").expect("not stopped");
            assert_eq!(report.problems, [] as [String; 0]);
            let mut found = Vec::new();
            for id in ["a", "b", "c", "d"] {
                let item = store.read(THINGS, &home(), id, &Ledger::new()).await.expect("a read");
                found.extend(item.map(|_| id.to_owned()));
            }
            let items = store.count(THINGS, &home(), "thing", &Ledger::new()).await.expect("a count");
            assert_eq!(items, found.len() as u64);
            found
        })
    }

    /// Stops as a process does that is asked to.
    fn stop(mut self) {
        self.store = None;
        self.pool.run();
    }
}

pub(super) fn home() -> PartitionKey {
    "h".into()
}

fn batch(ids: &[&str]) -> Batch {
    let create = |id: &&str| {
        let body = json!({"id": id, "home": "h", "type": "thing", "date": "2027", "owner": "ada"});
        WriteOp::Create(NewItem::encode(*id, &body))
    };
    Batch { operations: ids.iter().map(create).collect(), ..Batch::new(THINGS, home()) }
}

fn kind(outcome: Result<(), WriteError>) -> FaultKind {
    match outcome {
        Err(WriteError::Fault(fault)) => fault.kind,
        other => panic!("no fault: {other:?}"),
    }
}

fn with_two_items() -> (SimulatedDisk, Arc<Plan>, Process) {
    let (disk, plan) = disk();
    let mut process = Process::start(&disk).expect("the store opens");
    process.create(&["a", "b"]).expect("created");
    (disk, plan, process)
}

#[test]
fn a_stopped_store_is_whole_when_it_is_opened_again() {
    let (disk, _, process) = with_two_items();
    assert!(matches!(Process::start(&disk), Err(OpenError::InUse { .. })));
    process.stop();
    assert!(!disk.is_in_use());
    assert_eq!(disk.crash(|_| 0).lost, 0);
    assert_eq!(Process::start(&disk).expect("the store opens").ids(), ["a", "b"]);
}

#[test]
fn every_interruption_point_of_a_write_is_passed() {
    let (disk, ..) = with_two_items();
    let passed = disk.occurrences();
    for point in
        ["in a commit", "after the commit", "before the caches", "before the signals", "before an answer"]
    {
        assert!(passed.contains_key(format!("writer: {point}").as_str()), "{point}: {passed:?}");
    }
}

#[test]
fn a_crash_at_any_step_of_a_write_leaves_whole_batches() {
    let mut found = [0; 2];
    for steps in 0..24 {
        for choice in 0..3 {
            let (disk, _, mut process) = with_two_items();
            let is_acknowledged = process.begin(&["c", "d"], steps);
            // The handles of the process are dropped after the power is gone.
            disk.crash(|below| choice.min(below - 1));
            drop(process);
            let ids = Process::start(&disk).expect("the store opens").ids();
            let is_there = ids == ["a", "b", "c", "d"];
            assert!(is_there || ids == ["a", "b"], "{ids:?} after {steps} steps");
            assert!(is_there || !is_acknowledged, "an acknowledged batch was lost after {steps} steps");
            found[usize::from(is_there)] += 1;
        }
    }
    assert!(found.iter().all(|times| *times > 0), "both outcomes occur: {found:?}");
}

#[test]
fn a_failed_fsync_is_ambiguous_and_the_store_recovers() {
    let (disk, plan, mut process) = with_two_items();
    plan.add(DiskPoint::Fsync, DiskFault::Io(0));
    assert_eq!(kind(process.create(&["c"])), FaultKind::Ambiguous);
    process.create(&["d"]).expect("the engine was opened again");
    assert_eq!(process.ids(), ["a", "b", "c", "d"]);
    assert_eq!(disk.occurrences()["engine opened again"], 1);
    disk.crash(|_| 0);
    assert_eq!(Process::start(&disk).expect("the store opens").ids(), ["a", "b", "c", "d"]);
}

#[test]
fn what_a_crash_may_take_back_is_no_confirmed_read() {
    let (disk, plan, mut process) = with_two_items();
    plan.add(DiskPoint::Fsync, DiskFault::IoThatDropsPages(0));
    plan.add(DiskPoint::JournalCopy, DiskFault::Io(0));
    assert_eq!(kind(process.create(&["c"])), FaultKind::Ambiguous);
    assert_eq!(kind(process.create(&["d"])), FaultKind::Full, "the journal cannot be copied");
    assert_eq!(process.ids(), ["a", "b", "c"], "reads go on");
    let confirmed = ConfirmedReads::new(process.store(), process.store());
    let read = |process: &mut Process| {
        process
            .pool
            .run_until(confirmed.read(THINGS, &home(), "c", &Ledger::new()))
            .map(|item| item.is_some())
    };
    plan.add(DiskPoint::JournalCopy, DiskFault::Io(0));
    assert_eq!(read(&mut process).expect_err("the commit is not on the disk").kind, FaultKind::Full);
    assert!(read(&mut process).expect("the read has the journal copied"));
    disk.crash(|_| 0);
    assert_eq!(Process::start(&disk).expect("the store opens").ids(), ["a", "b", "c"]);
}

/// Ends a process that has a commit on dropped pages.
fn with_dropped_commit() -> (SimulatedDisk, Arc<Plan>) {
    let (disk, plan, mut process) = with_two_items();
    plan.add(DiskPoint::Fsync, DiskFault::IoThatDropsPages(0));
    assert_eq!(kind(process.create(&["c"])), FaultKind::Ambiguous);
    process.stop();
    (disk, plan)
}

#[test]
fn a_closed_directory_claims_no_commit_that_an_fsync_has_dropped() {
    let (disk, _) = with_dropped_commit();
    disk.crash(|_| 0);
    assert_eq!(Process::start(&disk).expect("the store opens").ids(), ["a", "b"]);
}

#[test]
fn the_mark_claims_no_commit_that_an_opening_found_and_could_not_sync() {
    let (disk, plan) = with_dropped_commit();
    plan.add(DiskPoint::JournalCopy, DiskFault::Io(0));
    let mut process = Process::start(&disk).expect("the store opens");
    assert_eq!(process.ids(), ["a", "b", "c"], "the operating system still has it");
    process.store().write_high_water().expect_err("the commit may not be on the disk");
    disk.crash(|_| 0);
    let mut process = Process::start(&disk).expect("the store opens");
    assert_eq!(process.ids(), ["a", "b"]);
    process.create(&["d"]).expect("written");
    process.store().write_high_water().expect("a new journal");
    disk.crash(|_| 0);
    assert_eq!(Process::start(&disk).expect("the store opens").ids(), ["a", "b", "d"]);
}

#[test]
fn a_full_disk_refuses_writes_and_loses_none() {
    let (disk, plan, mut process) = with_two_items();
    plan.add(DiskPoint::Write, DiskFault::Full);
    assert_eq!(kind(process.create(&["c"])), FaultKind::Full);
    disk.set_free_bytes(0);
    assert_eq!(kind(process.create(&["c"])), FaultKind::Full);
    assert_eq!(process.store().disk_free_bytes(), Some(0));
    assert_eq!(process.ids(), ["a", "b"]);
    disk.set_free_bytes(1 << 40);
    process.create(&["c"]).expect("there is room again");
    assert_eq!(process.ids(), ["a", "b", "c"]);
}

#[test]
fn a_damaged_item_is_a_fault_and_never_an_answer() {
    let (_, plan, process) = with_two_items();
    let (store, ledger) = (process.store(), Ledger::new());
    for _ in 0..2 {
        plan.add(DiskPoint::Read, DiskFault::BitFlip(9));
        let home = home();
        let mut read = store.read(THINGS, &home, "a", &ledger);
        let fault = loop {
            if let Some(outcome) = (&mut read).now_or_never() {
                break outcome.expect_err("it is damaged");
            }
        };
        assert_eq!(fault.kind, FaultKind::Corrupt);
    }
}

#[test]
fn equal_runs_leave_equal_disks() {
    let run = |ids: [&str; 4]| {
        let (disk, _, mut process) = with_two_items();
        let store = process.store();
        let ledger = Ledger::new();
        let writes = ids.map(|id| store.batch(batch(&[id, &format!("{id}-2")]), &ledger));
        for written in process.pool.run_until(futures::future::join_all(writes)) {
            written.expect("created");
        }
        (disk.fingerprint(), disk.occurrences())
    };
    let first = run(["c", "d", "e", "f"]);
    assert!((0..5).all(|_| run(["c", "d", "e", "f"]) == first));
    assert_ne!(run(["c", "d", "f", "e"]).0, first.0);
}

#[test]
fn a_copy_holds_the_moment_at_which_it_began() {
    let (disk, _, mut process) = with_two_items();
    let (backup, store) = (SimulatedDisk::new(Arc::new(NoFaults)), process.store());
    let (ledger, target) = (Ledger::new(), backup.clone());
    let (copied, written) = process
        .pool
        .run_until(futures::future::join(store.copy_to(&target), store.batch(batch(&["c"]), &ledger)));
    copied.expect("copied");
    written.expect("created");
    assert_eq!(Process::start(&backup).expect("the copy opens").ids(), ["a", "b"]);
    assert!(disk.copy(Arc::new(NoFaults)).is_none(), "it is in use");
    drop(store);
    process.stop();
    let copy = disk.copy(Arc::new(NoFaults)).expect("it is not in use");
    assert_eq!(copy.crash(|_| 0).lost, 0);
    assert_eq!(Process::start(&copy).expect("the copy opens").ids(), ["a", "b", "c"]);
}

/// Whether the change feed has a write when its signal comes.
fn has_change_when_signalled() -> bool {
    let (.., mut process) = with_two_items();
    let store = process.store();
    let mut signal = store.change_signal(&SignalScope::of(THINGS)).expect("the store has signals");
    signal.mark_unchanged();
    let before = store.local_feed_end(THINGS).expect("the feed ends");
    process.begin(&["c"], 0);
    while !signal.has_changed().expect("the writer runs") {
        process.pool.run_until(yield_once());
    }
    store.local_feed_end(THINGS).expect("the feed ends") != before
}

#[test]
fn a_reader_that_is_woken_by_a_write_finds_it() {
    assert!(has_change_when_signalled());
}

/// Whether an item is there that was written again while a purge found it expired.
fn has_rewrite_after_purge() -> bool {
    let (.., mut process) = with_two_items();
    let store = process.store();
    let body = |ttl: u64| json!({"id": "c", "home": "h", "type": "thing", "date": "2027", "ttl": ttl});
    let create = |ttl| WriteOp::Create(NewItem::encode("c", &body(ttl)));
    let (home, ledger) = (home(), Ledger::new());
    process.pool.run_until(store.write(THINGS, &home, create(1), &ledger)).expect("created");
    process.clock.advance_ms(1_000);
    let (written, purged) = process.pool.run_until(futures::future::join(
        store.write(THINGS, &home, create(60), &ledger),
        store.purge_expired(10),
    ));
    written.expect("the id is free");
    assert_eq!(purged.expect("purged"), 1);
    let read = process.pool.run_until(store.read(THINGS, &home, "c", &ledger));
    read.expect("a read").is_some()
}

#[test]
fn a_purge_leaves_an_item_that_was_written_again() {
    assert!(has_rewrite_after_purge());
}

/// Each planted bug of this store shows on a simulated disk.
#[cfg(planted)]
mod planted_bugs {
    use onehop_runtime::planted;

    use super::*;

    #[test]
    fn a_missing_fsync_loses_an_acknowledged_write() {
        planted::select(Some("missing-fsync"));
        let (disk, ..) = with_two_items();
        disk.crash(|_| 0);
        assert_eq!(Process::start(&disk).expect("the store opens").ids(), [] as [String; 0]);
        assert!(planted::reached() > 0);
    }

    #[test]
    fn a_torn_batch_is_there_in_part_after_a_crash() {
        planted::select(Some("torn-batch"));
        let has_damage = (0..24).any(|steps| {
            let (disk, _, mut process) = with_two_items();
            process.begin(&["c", "d"], steps);
            let mut answers = [2, 0].into_iter();
            disk.crash(|_| answers.next().unwrap_or(0));
            let store = Process::start(&disk).expect("the store opens").store();
            !store.check(&mut |_| true).expect("open").expect("not stopped").is_sound()
        });
        assert!(has_damage);
    }

    #[test]
    fn a_cache_entry_without_its_mark_is_stale() {
        planted::select(Some("cache-entry-without-mark"));
        let (.., mut process) = with_two_items();
        assert_eq!(process.ids(), ["a", "b"]);
        let store = process.store();
        let delete = WriteOp::Delete { id: "a".to_owned(), if_match: None };
        let home = home();
        process.pool.run_until(store.write(THINGS, &home, delete, &Ledger::new())).expect("deleted");
        let stale = process.pool.run_until(store.read(THINGS, &home, "a", &Ledger::new()));
        assert!(stale.expect("a read").is_some());
    }

    #[test]
    fn a_signal_before_its_commit_wakes_readers_too_early() {
        planted::select(Some("signal-before-commit"));
        assert!(!has_change_when_signalled());
    }

    #[test]
    fn a_purge_that_takes_a_rewrite_loses_it() {
        planted::select(Some("purge-takes-a-rewrite"));
        assert!(!has_rewrite_after_purge());
    }

    #[test]
    fn a_skipped_if_match_overwrites_another_version() {
        planted::select(Some("skipped-if-match"));
        let (.., mut process) = with_two_items();
        let store = process.store();
        let delete = WriteOp::Delete { id: "a".to_owned(), if_match: Some(crate::ETag::from_number(77)) };
        let home = home();
        process.pool.run_until(store.write(THINGS, &home, delete, &Ledger::new())).expect("deleted");
    }
}
