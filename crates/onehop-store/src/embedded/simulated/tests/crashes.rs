//! The state after the loss of power and after the end of the process.

use super::super::CrashOutcome;
use super::{disk, numbers, numbers_in, open, pair};
use crate::embedded::durability::Durability;

/// Answers choices from a list, and with 0 behind its end.
fn choices(list: &[u64]) -> impl FnMut(u64) -> u64 {
    let mut rest = list.iter().copied();
    move |below| rest.next().unwrap_or(0).min(below.saturating_sub(1))
}

#[test]
fn a_crash_loses_nothing_that_was_synced() {
    let (disk, _) = disk();
    let engine = open(&disk, Durability::Sync);
    (0..100).for_each(|number| engine.commit(pair(number)).expect("a commit"));
    let outcome = disk.crash(|_| 0);
    assert_eq!((outcome.lost, outcome.torn, outcome.out_of_order), (0, 0, 0));
    assert_eq!(numbers(&open(&disk, Durability::Sync)), (0..100).collect::<Vec<_>>());
    assert!(disk.occurrences()["journal written out"] >= 1);
}

#[test]
fn a_crash_loses_what_was_not_synced() {
    let (disk, _) = disk();
    let engine = open(&disk, Durability::Relaxed);
    engine.commit(pair(0)).expect("a commit");
    engine.persist().expect("an fsync");
    (1..4).for_each(|number| engine.commit(pair(number)).expect("a commit"));
    let outcome = disk.crash(choices(&[2, 0]));
    assert_eq!(outcome, CrashOutcome { kept: 2, lost: 2, torn: 0, out_of_order: 0 });
    assert_eq!(numbers(&open(&disk, Durability::Relaxed)), [0, 1]);
}

#[test]
fn a_torn_record_is_cut_off() {
    for bytes in [1, 5, 12, 30] {
        let (disk, _) = disk();
        let engine = open(&disk, Durability::Relaxed);
        (0..2).for_each(|number| engine.commit(pair(number)).expect("a commit"));
        let outcome = disk.crash(choices(&[2, 1, bytes]));
        assert_eq!((outcome.kept, outcome.torn), (1, 1));
        let engine = open(&disk, Durability::Relaxed);
        assert_eq!(numbers(&engine), [0]);
        engine.commit(pair(5)).expect("a commit behind the cut");
        drop(engine);
        disk.kill(|_| 0);
        assert_eq!(numbers(&open(&disk, Durability::Relaxed)), [0, 5]);
    }
}

#[test]
fn a_record_behind_a_lost_one_is_out_of_reach() {
    let (disk, _) = disk();
    let engine = open(&disk, Durability::Relaxed);
    (0..3).for_each(|number| engine.commit(pair(number)).expect("a commit"));
    let outcome = disk.crash(choices(&[2, 0, 2]));
    assert_eq!(outcome, CrashOutcome { kept: 1, lost: 1, torn: 0, out_of_order: 1 });
    assert_eq!(numbers(&open(&disk, Durability::Relaxed)), [0]);
}

#[test]
fn the_end_of_the_process_loses_no_commit() {
    let (disk, _) = disk();
    let engine = open(&disk, Durability::Relaxed);
    (0..3).for_each(|number| engine.commit(pair(number)).expect("a commit"));
    disk.kill(|_| 0);
    assert_eq!(numbers(&open(&disk, Durability::Relaxed)), [0, 1, 2]);
}

#[test]
fn a_process_that_has_ended_writes_and_reads_nothing() {
    let (disk, _) = disk();
    let (engine, other) = (open(&disk, Durability::Sync), open(&disk, Durability::Sync));
    engine.commit(pair(0)).expect("a commit");
    let view = engine.view().expect("a view");
    disk.crash(|_| 0);
    assert!(engine.commit(pair(1)).is_err() && engine.persist().is_err() && engine.reopen().is_err());
    assert!(other.commit(pair(2)).is_err());
    assert!(view.get(pair(0)[0].0, &pair(0)[0].1).is_err());
    assert_eq!(numbers(&open(&disk, Durability::Sync)), [0]);
}

#[test]
fn a_view_does_not_change_with_later_commits() {
    let (disk, _) = disk();
    let engine = open(&disk, Durability::Sync);
    engine.commit(pair(1)).expect("a commit");
    let before = engine.view().expect("a view");
    let mut range = before.range(pair(1)[0].0, &[], &[255]);
    let removal = pair(1).into_iter().map(|(space, key, _)| (space, key, None)).collect();
    engine.commit(removal).expect("a commit");
    (2..80).for_each(|number| engine.commit(pair(number)).expect("a commit"));
    engine.reopen().expect("the engine opens again");
    assert_eq!(numbers_in(&before), [1]);
    let entry = range.next().expect("an entry").value().expect("a value");
    assert_eq!(&entry[..], b"value 1");
    assert_eq!(numbers(&engine), (2..80).collect::<Vec<_>>());
}

#[test]
fn a_range_is_read_from_both_ends() {
    let (disk, _) = disk();
    let engine = open(&disk, Durability::Sync);
    (0..5).for_each(|number| engine.commit(pair(number)).expect("a commit"));
    let view = engine.view().expect("a view");
    let [from, to, empty] = [1_u64, 4, 0].map(|number| number.to_be_bytes());
    let space = pair(0)[0].0;
    let mut range = view.range(space, &from, &to);
    let mut last_byte = |is_back| {
        let next = if is_back { range.next_back() } else { range.next() };
        next.map(|entry| entry.key().expect("a key")[7])
    };
    let found = [false, true, true, false].map(&mut last_byte);
    assert_eq!(found, [Some(1), Some(3), Some(2), None]);
    assert_eq!(view.range(space, &from, &empty).count(), 0);
}
