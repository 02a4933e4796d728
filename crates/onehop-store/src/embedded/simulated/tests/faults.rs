//! The engine's answer to each fault of the disk, and the content afterwards.

use super::super::{DiskFault, DiskPoint};
use super::{disk, kind_of, numbers, open, pair, try_open};
use crate::FaultKind;
use crate::embedded::durability::Durability;
use crate::embedded::open_error::OpenError;

#[test]
fn an_error_at_a_write_leaves_a_whole_commit_or_nothing() {
    for part in 0..4 {
        let (disk, plan) = disk();
        let engine = open(&disk, Durability::Sync);
        engine.commit(pair(0)).expect("a commit");
        let record_bytes = engine.memory_bytes();
        plan.add(DiskPoint::Write, DiskFault::Io(record_bytes * part / 4));
        assert_eq!(kind_of(engine.commit(pair(1))), FaultKind::Unavailable);
        assert_eq!(kind_of(engine.commit(pair(2))), FaultKind::Full, "the engine writes nothing more");
        assert!(!engine.can_write());
        engine.reopen().expect("the engine opens again");
        assert_eq!(numbers(&engine), [0], "{part} quarters were written");
        engine.commit(pair(3)).expect("a commit");
    }
}

#[test]
fn a_commit_that_was_written_before_the_error_is_there() {
    let (disk, plan) = disk();
    let engine = open(&disk, Durability::Sync);
    engine.commit(pair(0)).expect("a commit");
    let record_bytes = engine.memory_bytes();
    plan.add(DiskPoint::Write, DiskFault::Io(record_bytes));
    assert_eq!(kind_of(engine.commit(pair(1))), FaultKind::Unavailable);
    assert_eq!(numbers(&engine), [0], "no view shows it yet");
    engine.reopen().expect("the engine opens again");
    assert_eq!(numbers(&engine), [0, 1]);
}

#[test]
fn a_commit_without_its_fsync_is_lost_by_a_crash_alone() {
    for is_crash in [false, true] {
        let (disk, plan) = disk();
        let engine = open(&disk, Durability::Sync);
        engine.commit(pair(0)).expect("a commit");
        plan.add(DiskPoint::Fsync, DiskFault::Io(0));
        assert_eq!(kind_of(engine.commit(pair(1))), FaultKind::Unavailable);
        assert!(!engine.can_write());
        if is_crash {
            disk.crash(|_| 0);
            assert_eq!(numbers(&open(&disk, Durability::Sync)), [0]);
        } else {
            engine.reopen().expect("the engine opens again");
            engine.commit(pair(2)).expect("a commit, whose fsync writes the other one, too");
            disk.crash(|_| 0);
            assert_eq!(numbers(&open(&disk, Durability::Sync)), [0, 1, 2]);
        }
    }
}

#[test]
fn dropped_pages_are_read_until_a_crash_loses_them() {
    let (disk, plan) = disk();
    let engine = open(&disk, Durability::Relaxed);
    engine.commit(pair(0)).expect("a commit");
    plan.add(DiskPoint::Fsync, DiskFault::IoThatDropsPages(0));
    assert_eq!(kind_of(engine.persist()), FaultKind::Unavailable);
    engine.persist().expect("an fsync, which writes nothing");
    assert_eq!(numbers(&engine), [0]);
    assert_eq!(disk.crash(|_| 0).lost, 1);
    assert_eq!(numbers(&open(&disk, Durability::Sync)), [0; 0]);
}

#[test]
fn a_commit_behind_dropped_pages_outlives_a_crash() {
    let (disk, plan) = disk();
    let engine = open(&disk, Durability::Sync);
    engine.commit(pair(0)).expect("a commit");
    plan.add(DiskPoint::Fsync, DiskFault::IoThatDropsPages(0));
    assert_eq!(kind_of(engine.commit(pair(1))), FaultKind::Unavailable);
    plan.add(DiskPoint::JournalCopy, DiskFault::Full);
    assert_eq!(kind_of(engine.reopen()), FaultKind::Full);
    assert!(!engine.can_write());
    assert_eq!(numbers(&engine), [0, 1], "reads go on");
    engine.reopen().expect("the engine opens again");
    engine.commit(pair(2)).expect("a commit");
    disk.crash(|_| 0);
    assert_eq!(numbers(&open(&disk, Durability::Sync)), [0, 1, 2]);
}

#[test]
fn a_full_disk_takes_nothing_until_the_engine_is_reopened() {
    let (disk, plan) = disk();
    let engine = open(&disk, Durability::Sync);
    plan.add(DiskPoint::Write, DiskFault::Full);
    let refused = engine.commit(pair(0)).expect_err("the disk is full");
    assert_eq!(refused.kind, FaultKind::Full);
    assert!(refused.retry_after.is_some() && !engine.can_write());
    engine.reopen().expect("the engine opens again");
    assert_eq!(numbers(&engine), [0; 0]);
    engine.commit(pair(1)).expect("a commit");
}

#[test]
fn a_read_only_disk_is_not_opened_again() {
    let (disk, plan) = disk();
    let engine = open(&disk, Durability::Sync);
    engine.commit(pair(0)).expect("a commit");
    plan.add(DiskPoint::Write, DiskFault::ReadOnly);
    assert_eq!(kind_of(engine.commit(pair(1))), FaultKind::Unavailable);
    assert_eq!(numbers(&engine), [0], "reads go on");
    assert_eq!(kind_of(engine.reopen()), FaultKind::Full);
    assert_eq!(engine.view().err().map(|fault| fault.kind), Some(FaultKind::Unavailable));
    disk.set_read_only(false);
    engine.reopen().expect("the engine opens again");
    assert_eq!(numbers(&engine), [0]);
}

#[test]
fn an_error_at_writing_out_loses_nothing_and_ends_writes() {
    let (disk, plan) = disk();
    let engine = open(&disk, Durability::Sync);
    plan.add(DiskPoint::WriteOut, DiskFault::Full);
    let written = (0..100).take_while(|number| engine.commit(pair(*number)).is_ok()).count() as u64;
    assert!(written < 100 && !engine.can_write());
    disk.crash(|_| 0);
    assert_eq!(numbers(&open(&disk, Durability::Sync)), (0..written).collect::<Vec<_>>());
}

#[test]
fn a_wrong_bit_at_a_read_is_never_returned() {
    let (disk, plan) = disk();
    let engine = open(&disk, Durability::Sync);
    engine.commit(pair(7)).expect("a commit");
    let (space, key, value) = pair(7).remove(1);
    for flip in 0..u64::from(u8::MAX) {
        plan.add(DiskPoint::Read, DiskFault::BitFlip(flip));
        let damaged = engine.get(space, &key).expect_err("the bit is noticed");
        assert_eq!(damaged.kind, FaultKind::Corrupt);
        assert!(damaged.damage().is_some_and(|damage| !damage.files.is_empty()));
    }
    plan.add(DiskPoint::Read, DiskFault::Io(0));
    assert_eq!(engine.get(space, &key).expect_err("an I/O error").kind, FaultKind::Unavailable);
    assert_eq!(engine.get(space, &key).expect("a read").as_deref(), value.as_deref());
}

#[test]
fn a_wrong_bit_in_a_table_stays_until_it_is_mended() {
    let (disk, _) = disk();
    let engine = open(&disk, Durability::Sync);
    assert!(!disk.damage(|_| 0), "there are no tables");
    (0..40).for_each(|number| engine.commit(pair(number)).expect("a commit"));
    assert!(disk.damage(|_| 0));
    let (space, key, value) = pair(0).remove(0);
    for _ in 0..2 {
        assert_eq!(engine.get(space, &key).expect_err("it is damaged").kind, FaultKind::Corrupt);
    }
    disk.mend();
    assert_eq!(engine.get(space, &key).expect("a read").as_deref(), value.as_deref());
    assert!(disk.damage(|_| 0));
    engine.commit(vec![(space, key.clone(), Some(b"new".to_vec()))]).expect("a commit");
    assert_eq!(engine.get(space, &key).expect("a read").as_deref(), Some(&b"new"[..]));
}

#[test]
fn a_wrong_bit_in_the_journal_keeps_the_engine_closed() {
    let (disk, plan) = disk();
    let engine = open(&disk, Durability::Sync);
    plan.add(DiskPoint::Write, DiskFault::BitFlip(77));
    (0..3).for_each(|number| engine.commit(pair(number)).expect("a commit"));
    assert_eq!(numbers(&engine), [0, 1, 2], "memory has what was written");
    disk.crash(|_| 0);
    assert!(matches!(try_open(&disk, Durability::Sync), Err(OpenError::Engine { .. })));
    disk.mend();
    assert_eq!(numbers(&open(&disk, Durability::Sync)), [0, 1, 2]);
}

#[test]
fn an_engine_that_cannot_be_opened_says_so() {
    let (disk, plan) = disk();
    for fault in [DiskFault::Io(0), DiskFault::ReadOnly] {
        plan.add(DiskPoint::Open, fault);
        assert!(matches!(try_open(&disk, Durability::Sync), Err(OpenError::Engine { .. })));
        disk.set_read_only(false);
    }
    open(&disk, Durability::Sync);
}
