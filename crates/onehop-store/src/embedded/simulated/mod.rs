//! Simulated disk and storage engine for deterministic simulations: the embedded store runs over them on one
//! thread, with its writer as a task. The disk outlives the process, loses and tears writes without an fsync,
//! and fails by a plan.

mod copies;
mod disk;
mod disk_access;
mod engine;
mod faults;
mod files;
mod interrupted_store;
mod journal;
mod key_maps;
mod open;
#[cfg(test)]
mod tests;

pub use disk::{CrashOutcome, SimulatedDisk};
pub use faults::{DiskFault, DiskFaults, DiskPoint, NoFaults};
pub use interrupted_store::InterruptedStore;
pub use open::SimulatedParts;

pub(super) use engine::{SimulatedEngine, SimulatedEntry, SimulatedRange, SimulatedView};
pub(super) use files::{DiskLock, SimulatedFiles};
