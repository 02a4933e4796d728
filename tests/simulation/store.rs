//! The store of a run: a model of an account, or a simulated disk under the embedded store.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::BoxFuture;
use onehop::app::OpenStore;
use onehop_runtime::clock::Clock;
use onehop_store::embedded::simulated::{DiskFault, DiskFaults, DiskPoint, SimulatedDisk, SimulatedParts};
use onehop_store::embedded::{EmbeddedConfig, EmbeddedStore};
use onehop_store::{ContainerName, ContainerSpec};
use onehop_testing::account_model::{AccountModel, ModelConsistency};
use tokio::time::Instant;

use crate::clock::ProcessClock;
use crate::dice::Dice;
use crate::executor::{Executor, Group};
use crate::faults::Faults;
use crate::plan::Plan;
use crate::trace;

pub enum RunStore {
    Account { account: Arc<AccountModel>, faults: Arc<Faults> },
    Disk { disk: SimulatedDisk, faults: Arc<FailingDisk>, dice: Dice },
}

impl RunStore {
    pub fn of(plan: &Plan, specs: &'static [ContainerSpec], start: Instant) -> Self {
        let dice = Dice::of(plan.seed, 3);
        if plan.is_embedded {
            let faults = Arc::new(FailingDisk {
                dice: dice.clone(),
                percent: parking_lot::Mutex::new(plan.failing / 3),
            });
            let disk = SimulatedDisk::new(Arc::clone(&faults) as _);
            return Self::Disk { disk, faults, dice };
        }
        let faults = Arc::new(Faults::new(dice, plan.faults.clone(), (plan.failing, plan.lagging)));
        let partitions = u32::try_from(Dice::of(plan.seed, 4).between(1, 4)).expect("few partitions");
        let clock = ProcessClock::new(start, 0, 0);
        let account = AccountModel::new(specs, partitions, clock, Arc::clone(&faults) as _);
        Self::Account { account, faults }
    }

    /// Opens the store for a process.
    pub fn open(
        &self,
        specs: &'static [ContainerSpec],
        clock: Arc<dyn Clock>,
        (executor, group): (&Executor, Group),
    ) -> anyhow::Result<OpenStore> {
        match self {
            Self::Account { account, .. } => {
                let store = account.connect(ModelConsistency::Session);
                let recent = Arc::new(store.with_consistency(ModelConsistency::Latest));
                Ok(OpenStore::Shared { store: Arc::new(store), recent })
            }
            Self::Disk { disk, .. } => {
                // Caches that evict nothing.
                let config = EmbeddedConfig { cache_bytes: 256 << 20, ..EmbeddedConfig::new("simulated") };
                let (executor, spawned) = (executor.clone(), group);
                let spawn = move |writer: BoxFuture<'static, ()>| executor.spawn(spawned, writer);
                let store =
                    EmbeddedStore::open_with(&config, specs, clock, &SimulatedParts { disk, spawn: &spawn })?;
                Ok(OpenStore::Embedded(Arc::new(store)))
            }
        }
    }

    /// The process that had the store open was killed, or the power failed.
    pub fn killed(&self) {
        if let Self::Disk { disk, dice, .. } = self {
            let choice = |below| dice.below(below);
            if dice.percent(50) {
                let outcome = disk.crash(choice);
                trace::line("disk", format!("loses power: {outcome:?}"));
            } else {
                disk.kill(choice);
            }
        }
    }

    /// Has requests of a process fail, in percent.
    pub fn storm(&self, process: u32, percent: u64) {
        match self {
            // Processes connect in the order of their numbers.
            Self::Account { faults, .. } => faults.storm(u64::from(process) - 1, percent),
            Self::Disk { faults, .. } => *faults.percent.lock() = percent / 4,
        }
    }

    /// Ends all faults.
    pub fn mend(&self) {
        match self {
            Self::Account { faults, .. } => faults.end(),
            Self::Disk { disk, faults, .. } => {
                *faults.percent.lock() = 0;
                disk.set_read_only(false);
                disk.mend();
            }
        }
    }

    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        match self {
            Self::Account { account, .. } => account.counts(),
            Self::Disk { disk, .. } => disk.occurrences(),
        }
    }

    /// Splits a physical partition, or merges it with the next one. Whether that was done.
    pub fn reshape(&self, container: ContainerName, dice: &Dice, splits: bool) -> bool {
        let Self::Account { account, .. } = self else { return false };
        let partitions = account.physical_partitions(container);
        let place = dice.place(partitions.max(1));
        if splits {
            partitions < 8 && account.split(container, place)
        } else {
            account.merge(container, place)
        }
    }
}

/// A disk that fails for a while.
pub struct FailingDisk {
    dice: Dice,
    /// How many operations in a hundred fail.
    percent: parking_lot::Mutex<u64>,
}

impl DiskFaults for FailingDisk {
    fn next(&self, point: DiskPoint) -> DiskFault {
        let percent = *self.percent.lock();
        if percent == 0 || !self.dice.percent(percent) {
            return DiskFault::None;
        }
        let fault = match (point, self.dice.below(4)) {
            (DiskPoint::Fsync, 0 | 1) => DiskFault::IoThatDropsPages(self.dice.below(1 << 20)),
            (_, 0 | 1) => DiskFault::Io(self.dice.below(1 << 20)),
            (DiskPoint::Write | DiskPoint::WriteOut, _) => DiskFault::Full,
            _ => DiskFault::None,
        };
        trace::line("disk", format!("{point:?}: {fault:?}"));
        fault
    }
}
