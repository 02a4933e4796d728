//! The store of a run: a model of an account, or a simulated disk under the embedded store.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::BoxFuture;
use onehop::app::OpenStore;
use onehop_runtime::clock::Clock;
use onehop_store::embedded::simulated::{DiskFault, DiskFaults, DiskPoint, SimulatedDisk, SimulatedParts};
use onehop_store::embedded::{EmbeddedConfig, EmbeddedStore};
use onehop_store::{ContainerName, ContainerSpec};
use onehop_testing::account_model::{AccountModel, CommittedWrite, ModelConsistency};
use tokio::time::Instant;

use crate::clock::ProcessClock;
use crate::dice::Dice;
use crate::executor::{Executor, Group};
use crate::faults::Faults;
use crate::phase::Phase;
use crate::plan::Plan;
use crate::trace;

/// The beginnings of the names of events that are faults.
const FAULTS: [&str; 5] = ["fault_", "EIO", "full disk", "read-only disk", "bit flip"];

pub enum RunStore {
    Account {
        account: Arc<AccountModel>,
        faults: Arc<Faults>,
    },
    Disk {
        disk: SimulatedDisk,
        faults: Arc<FailingDisk>,
        dice: Dice,
        open: parking_lot::Mutex<Weak<EmbeddedStore>>,
    },
}

impl RunStore {
    pub fn of(plan: &Plan, specs: &'static [ContainerSpec], start: Instant) -> Self {
        let dice = Dice::of(plan.seed, 3);
        let phase = &plan.phases[0];
        if plan.is_embedded {
            let faults = Arc::new(FailingDisk {
                dice: dice.clone(),
                percent: parking_lot::Mutex::new(phase.failing / 2),
                has_damage: plan.disturbances.contains(&"bit flip"),
                armed: parking_lot::Mutex::default(),
                commit_ms: parking_lot::Mutex::new(4),
            });
            let disk = SimulatedDisk::new(Arc::clone(&faults) as _);
            return Self::Disk { disk, faults, dice, open: parking_lot::Mutex::default() };
        }
        let faults = Arc::new(Faults::new(dice, plan.faults.clone(), phase));
        let partitions = u32::try_from(Dice::of(plan.seed, 4).between(1, 4)).expect("few partitions");
        let clock = ProcessClock::new(start, 0, 0);
        let account = AccountModel::new(specs, partitions, clock, Arc::clone(&faults) as _);
        account.record_commits();
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
            Self::Disk { disk, open, .. } => {
                // Caches that evict nothing.
                let config = EmbeddedConfig {
                    cache_bytes: 256 << 20,
                    edits_from_bytes: 64,
                    ..EmbeddedConfig::new("simulated")
                };
                let (executor, spawned) = (executor.clone(), group);
                let spawn = move |writer: BoxFuture<'static, ()>| executor.spawn(spawned, writer);
                let store = EmbeddedStore::open_simulated(
                    &config,
                    specs,
                    clock,
                    &SimulatedParts { disk, spawn: &spawn },
                )?;
                let store = Arc::new(store);
                *open.lock() = Arc::downgrade(&store);
                Ok(OpenStore::Embedded(store))
            }
        }
    }

    /// Kills the process when its writer has passed an interruption point this many times: `kill` ends its
    /// tasks.
    pub fn kill_writer(&self, point: &'static str, after: u64, kill: impl Fn() + Send + 'static) -> bool {
        let Self::Disk { faults, .. } = self else { return false };
        *faults.armed.lock() = Some(Armed { point, after, kill: Box::new(kill) });
        true
    }

    /// Flips a bit of a stored value, until all faults end. Returns whether the store has a disk with values.
    pub fn flip_bit(&self) -> bool {
        let Self::Disk { disk, dice, .. } = self else { return false };
        disk.damage(|below| dice.below(below))
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
            Self::Disk { disk, faults, .. } => {
                *faults.percent.lock() = percent / 4;
                disk.set_read_only(false);
            }
        }
    }

    /// Has no request of a process fail until it serves: a start takes many requests, and few of them would
    /// end well.
    pub fn spare_start(&self, process: u32) {
        if let Self::Account { faults, .. } = self {
            faults.storm(u64::from(process) - 1, 0);
        }
    }

    /// A process serves now.
    pub fn end_start(&self, process: u32) {
        if let Self::Account { faults, .. } = self {
            faults.end_storm(u64::from(process) - 1);
        }
    }

    /// Mounts a file system again that has become read-only.
    pub fn remount(&self) {
        if let Self::Disk { disk, .. } = self {
            disk.set_read_only(false);
        }
    }

    /// Has the next writes of a process take longer than a lease lives.
    pub fn hang(&self, process: u32, writes: u64) {
        if let Self::Account { faults, .. } = self {
            faults.hang(u64::from(process) - 1, writes);
        }
    }

    /// Fills the logical partitions of a container; `None` makes room again. Returns whether the store is an
    /// account.
    pub fn fill(&self, container: Option<&'static str>) -> bool {
        let Self::Account { faults, .. } = self else { return false };
        faults.fill(container);
        true
    }

    /// The container of a read model that is full now.
    pub fn full(&self) -> Option<&'static str> {
        match self {
            Self::Account { faults, .. } => faults.full(),
            _ => None,
        }
    }

    /// Whether changes may have been parked because a logical partition was full.
    pub fn was_full(&self) -> bool {
        self.counts().contains_key("fault_partition_full")
    }

    /// When writes began that took longer than a lease lives.
    pub fn hung(&self) -> Vec<Instant> {
        match self {
            Self::Account { faults, .. } => faults.hung(),
            Self::Disk { .. } => Vec::new(),
        }
    }

    /// The embedded store that is open.
    pub fn embedded(&self) -> Option<Arc<EmbeddedStore>> {
        match self {
            Self::Account { .. } => None,
            Self::Disk { open, .. } => open.lock().upgrade(),
        }
    }

    /// Makes the store of a process slow, or fast again.
    pub fn slow(&self, process: u32, dice: &Dice) {
        match self {
            Self::Account { faults, .. } => {
                faults.slow(u64::from(process) - 1, *dice.pick(&[12, 100, 600, 3_000]));
            }
            Self::Disk { faults, .. } => *faults.commit_ms.lock() = *dice.pick(&[4, 50, 400]),
        }
    }

    /// Ends faults for a while: faults of a disk until the next storm, faults of an account until `stir`.
    pub fn calm(&self) {
        match self {
            Self::Account { faults, .. } => {
                faults.fill(None);
                faults.set_calm(true);
            }
            Self::Disk { disk, faults, .. } => {
                *faults.percent.lock() = 0;
                *faults.armed.lock() = None;
                disk.set_read_only(false);
                disk.mend();
            }
        }
    }

    /// Ends a lull.
    pub fn stir(&self, phase: &Phase) {
        if let Self::Account { faults, .. } = self {
            faults.set_calm(false);
        }
        self.enter(phase);
    }

    /// Has the faults of a phase.
    pub fn enter(&self, phase: &Phase) {
        match self {
            Self::Account { faults, .. } => faults.enter(phase),
            Self::Disk { faults, .. } => *faults.percent.lock() = phase.failing / 2,
        }
    }

    /// Undoes the damage of the disk.
    pub fn copy_back(&self) {
        if let Self::Disk { disk, .. } = self {
            disk.mend();
        }
    }

    /// Ends all faults.
    pub fn mend(&self) {
        match self {
            Self::Account { faults, .. } => faults.end(),
            Self::Disk { disk, faults, .. } => {
                *faults.percent.lock() = 0;
                *faults.armed.lock() = None;
                *faults.commit_ms.lock() = 4;
                disk.set_read_only(false);
                disk.mend();
            }
        }
    }

    /// Whether a bit was flipped that a read may have found.
    pub fn was_damaged(&self) -> bool {
        self.counts().keys().any(|event| event.starts_with("bit flip"))
    }

    /// Whether an item was deleted, and then created by an abandoned request.
    pub fn was_brought_back(&self, container: &str, id: &str) -> bool {
        matches!(self, Self::Account { account, .. } if account.was_brought_back(container, id))
    }

    /// All writes in the order of their commits, where the store is an account.
    pub fn commits(&self) -> Vec<CommittedWrite> {
        match self {
            Self::Account { account, .. } => account.commits(),
            Self::Disk { .. } => Vec::new(),
        }
    }

    /// The number of faults.
    pub fn faults(&self) -> u64 {
        let is_fault = |event: &str| FAULTS.iter().any(|prefix| event.starts_with(prefix));
        self.counts().iter().filter(|(event, _)| is_fault(event)).map(|(_, times)| times).sum()
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

impl FailingDisk {
    fn end_process_at(&self, point: &'static str) {
        let mut armed = self.armed.lock();
        let Some(now) = armed.as_mut().filter(|armed| armed.point == point) else { return };
        if now.after > 0 {
            now.after -= 1;
            return;
        }
        let reached = armed.take();
        drop(armed);
        if let Some(Armed { kill, .. }) = reached {
            trace::line("disk", format!("the process ends at {point:?}"));
            kill();
        }
    }
}

/// A disk that fails for a while.
pub struct FailingDisk {
    dice: Dice,
    /// The percentage of operations that fail.
    percent: parking_lot::Mutex<u64>,
    /// Whether reads return flipped bits, too.
    has_damage: bool,
    armed: parking_lot::Mutex<Option<Armed>>,
    /// Most commits take less, in milliseconds.
    commit_ms: parking_lot::Mutex<u64>,
}

/// The end of a process at an interruption point of its writer.
struct Armed {
    point: &'static str,
    /// The number of times that the writer passes the point before.
    after: u64,
    kill: Box<dyn Fn() + Send>,
}

impl DiskFaults for FailingDisk {
    fn next(&self, point: DiskPoint) -> DiskFault {
        let percent = *self.percent.lock();
        // The engine comes to these points rarely.
        let is_rare = matches!(point, DiskPoint::WriteOut | DiskPoint::Mark | DiskPoint::JournalCopy);
        let percent = if is_rare { (10 * percent).min(80) } else { percent };
        if percent == 0 || !self.dice.percent(percent) {
            return DiskFault::None;
        }
        let fault = match (point, self.dice.below(8)) {
            (DiskPoint::Fsync, 0..3) => DiskFault::IoThatDropsPages(self.dice.below(1 << 20)),
            (DiskPoint::Read, 0) if self.has_damage => DiskFault::BitFlip(self.dice.below(1 << 20)),
            (DiskPoint::WriteOut, 4) => DiskFault::Full,
            (_, 0..5) => DiskFault::Io(self.dice.below(1 << 20)),
            (DiskPoint::Write | DiskPoint::Mark, 5) => DiskFault::ReadOnly,
            (DiskPoint::Write | DiskPoint::WriteOut, _) => DiskFault::Full,
            _ => DiskFault::None,
        };
        trace::line("disk", format!("{point:?}: {fault:?}"));
        fault
    }

    fn reached(&self, point: &'static str) -> Duration {
        self.end_process_at(point);
        match point {
            "writer: in a commit" if self.dice.percent(10) => {
                Duration::from_millis(self.dice.between(20, 200))
            }
            "writer: in a commit" | "backup: between key spaces" => {
                Duration::from_millis(self.dice.below(*self.commit_ms.lock()))
            }
            _ => Duration::ZERO,
        }
    }
}
