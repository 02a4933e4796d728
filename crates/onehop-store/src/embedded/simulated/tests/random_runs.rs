//! Random runs: writes beside faults of the disk, crashes and kills, each run a function of its seed.
//! Acknowledged writes are there, refused ones are not, and batches are whole.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use super::super::{DiskFault, DiskFaults, DiskPoint, SimulatedDisk};
use super::store::{Process, THINGS, home};
use crate::embedded::OpenError;
use crate::{FaultKind, Ledger, Store, WriteError};

const RUNS: u64 = 150;
const STEPS: u64 = 40;
/// One of so many accesses to the disk fails, and one of so many steps ends the process.
const FAULT_ODDS: u64 = 40;
const END_ODDS: u64 = 8;

#[derive(Clone)]
struct Dice(Arc<Mutex<ChaCha8Rng>>);

impl Dice {
    fn below(&self, below: u64) -> u64 {
        self.0.lock().next_u64() % below.max(1)
    }
}

/// Draws faults, except in quiet phases.
struct RandomFaults {
    dice: Dice,
    is_quiet: Mutex<bool>,
}

impl DiskFaults for RandomFaults {
    fn next(&self, point: DiskPoint) -> DiskFault {
        if *self.is_quiet.lock() || self.dice.below(FAULT_ODDS) > 0 {
            return DiskFault::None;
        }
        let number = self.dice.below(u64::MAX);
        match self.dice.below(5) {
            0 => DiskFault::Io(number),
            1 => DiskFault::IoThatDropsPages(number),
            2 => DiskFault::Full,
            3 if point != DiskPoint::Read => DiskFault::ReadOnly,
            _ => DiskFault::BitFlip(number),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Acknowledged,
    Refused,
    Unknown,
}

fn outcome_of(answer: Result<(), WriteError>) -> Outcome {
    match answer {
        Ok(()) => Outcome::Acknowledged,
        Err(WriteError::Fault(fault)) if fault.kind == FaultKind::Ambiguous => Outcome::Unknown,
        Err(WriteError::Fault(_)) => Outcome::Refused,
        Err(refused) => panic!("{refused}"),
    }
}

/// Starts a process, as its operator does: faults that keep the disk from being read are mended first.
fn start(disk: &SimulatedDisk) -> Process {
    loop {
        disk.set_read_only(false);
        match Process::start(disk) {
            Ok(process) => return process,
            Err(error @ (OpenError::Lost { .. } | OpenError::InUse { .. })) => panic!("{error}"),
            Err(_) => disk.mend(),
        }
    }
}

/// Runs a seed, and returns the events and the content of the disk.
fn run(seed: u64) -> (BTreeMap<&'static str, u64>, u64) {
    let dice = Dice(Arc::new(Mutex::new(ChaCha8Rng::seed_from_u64(seed))));
    let faults = Arc::new(RandomFaults { dice: dice.clone(), is_quiet: Mutex::new(false) });
    let disk = SimulatedDisk::new(Arc::clone(&faults) as Arc<dyn DiskFaults>);
    let mut process = start(&disk);
    let mut outcomes = Vec::new();
    for step in 0..STEPS {
        let ids = [format!("{step}-a"), format!("{step}-b")];
        let ids = ids.each_ref().map(String::as_str);
        process.advance_ms(30_000);
        if dice.below(END_ODDS) > 0 {
            outcomes.push(outcome_of(process.create(&ids)));
            continue;
        }
        let steps = usize::try_from(dice.below(16)).expect("few");
        let is_acknowledged = process.begin(&ids, steps);
        outcomes.push(if is_acknowledged { Outcome::Acknowledged } else { Outcome::Unknown });
        match dice.below(2) {
            0 => drop(disk.crash(|below| dice.below(below))),
            _ => disk.kill(|below| dice.below(below)),
        }
        process = start(&disk);
    }
    disk.crash(|below| dice.below(below));
    *faults.is_quiet.lock() = true;
    disk.mend();
    let mut process = start(&disk);
    let problems = process.store().check(&mut |_| true).expect("open").expect("not stopped").problems;
    assert_eq!(problems, [] as [String; 0], "seed {seed}");
    for (step, outcome) in outcomes.into_iter().enumerate() {
        let there = ["a", "b"].map(|place| process.has(&format!("{step}-{place}")));
        assert_eq!(there[0], there[1], "seed {seed}, step {step}: a batch is there in part");
        let is_explained = outcome == Outcome::Unknown || there[0] == (outcome == Outcome::Acknowledged);
        assert!(is_explained, "seed {seed}, step {step}: {outcome:?}, there: {}", there[0]);
    }
    (disk.occurrences(), disk.fingerprint())
}

impl Process {
    fn advance_ms(&self, by_ms: i64) {
        self.clock.advance_ms(by_ms);
    }

    fn has(&mut self, id: &str) -> bool {
        let store = self.store();
        let home = home();
        let read = self.pool.run_until(store.read(THINGS, &home, id, &Ledger::new()));
        read.expect("a read").is_some()
    }
}

#[test]
fn random_runs_lose_nothing_that_was_acknowledged() {
    let mut occurred: BTreeMap<&'static str, u64> = BTreeMap::new();
    for seed in 0..RUNS {
        run(seed).0.into_keys().for_each(|what| *occurred.entry(what).or_default() += 1);
    }
    for what in [
        "EIO at a write",
        "EIO at an fsync",
        "EIO at an fsync that drops pages",
        "full disk at a write",
        "read-only disk at a write",
        "bit flip in the journal",
        "damage in the journal found",
        "torn end of the journal cut off",
        "crash: record torn",
        "crash: record lost",
        "kill: commit cut off",
        "kill: commit kept",
        "engine opened again",
        "journal copied",
        "journal written out",
        "EIO at a read",
        "bit flip at a read",
    ] {
        assert!(occurred.contains_key(what), "{what} never occurred: {occurred:#?}");
    }
}

#[test]
fn a_random_run_is_a_function_of_its_seed() {
    for seed in 0..20 {
        assert!(run(seed) == run(seed), "seed {seed}");
    }
}
