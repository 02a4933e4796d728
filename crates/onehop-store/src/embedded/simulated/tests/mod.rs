//! Tests of the simulated disk and engine: the state after a crash, a kill and each fault.

mod crashes;
mod faults;
mod random_runs;
mod store;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::{DiskFault, DiskFaults, DiskPoint, SimulatedDisk};
use crate::FaultKind;
use crate::embedded::durability::Durability;
use crate::embedded::engine::{Engine, View};
use crate::embedded::key_space::{KeyChange, KeySpace};
use crate::embedded::keys::BEHIND_ALL;
use crate::embedded::open_error::OpenError;

/// Faults that happen once each, in their order, when their points are reached.
#[derive(Default)]
struct Plan(Mutex<VecDeque<(DiskPoint, DiskFault)>>);

impl Plan {
    fn add(&self, point: DiskPoint, fault: DiskFault) {
        self.0.lock().push_back((point, fault));
    }
}

impl DiskFaults for Plan {
    fn next(&self, point: DiskPoint) -> DiskFault {
        let mut faults = self.0.lock();
        let due = faults.pop_front_if(|(due, _)| *due == point);
        due.map_or(DiskFault::None, |(_, fault)| fault)
    }
}

fn disk() -> (SimulatedDisk, Arc<Plan>) {
    let plan = Arc::new(Plan::default());
    (SimulatedDisk::new(Arc::clone(&plan) as Arc<dyn DiskFaults>), plan)
}

fn try_open(disk: &SimulatedDisk, durability: Durability) -> Result<Engine, OpenError> {
    Engine::simulated(Path::new("a simulated disk"), disk, durability)
}

fn open(disk: &SimulatedDisk, durability: Durability) -> Engine {
    try_open(disk, durability).expect("the engine opens")
}

fn key(number: u64) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// A commit that writes a key to two key spaces.
fn pair(number: u64) -> Vec<KeyChange> {
    let value = Some(format!("value {number}").into_bytes());
    vec![(KeySpace::Ids, key(number), value.clone()), (KeySpace::Items, key(number), value)]
}

/// The numbers in both key spaces, which are the same ones.
fn numbers_in(view: &View) -> Vec<u64> {
    let of = |space| {
        let keys = view.range(space, &[], BEHIND_ALL).map(|entry| entry.key().expect("a key"));
        let number = |key: &[u8]| u64::from_be_bytes(key.try_into().expect("eight bytes"));
        keys.map(|key| number(&key)).collect::<Vec<_>>()
    };
    assert_eq!(of(KeySpace::Ids), of(KeySpace::Items), "no commit is there in part");
    of(KeySpace::Ids)
}

fn numbers(engine: &Engine) -> Vec<u64> {
    numbers_in(&engine.view().expect("the engine is open"))
}

fn kind_of(outcome: Result<(), crate::Fault>) -> FaultKind {
    outcome.expect_err("the commit fails").kind
}
