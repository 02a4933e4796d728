//! Processes: state shared by the stores of one simulated process, as the clones of one client of the account
//! share it.

use std::sync::atomic::{AtomicU32, Ordering};

use onehop_store::ContainerName;
use parking_lot::{Mutex, MutexGuard};

use super::positions::Commit;
use super::read_view::SessionTokens;
use super::signals::ChangeSignals;

/// A process that is connected to the account.
pub(super) struct Process {
    pub(super) number: u64,
    tokens: Mutex<SessionTokens>,
    /// By the place of the container.
    containers: Vec<ProcessContainer>,
}

struct ProcessContainer {
    /// As of the last look at the feed ranges.
    physical_partitions: AtomicU32,
    /// Writes of this process.
    signals: ChangeSignals,
}

impl Process {
    pub(super) fn new(number: u64, partitions: impl Iterator<Item = usize>) -> Self {
        let container = |partitions| ProcessContainer {
            physical_partitions: AtomicU32::new(to_u32(partitions)),
            signals: ChangeSignals::default(),
        };
        Self { number, tokens: Mutex::default(), containers: partitions.map(container).collect() }
    }

    /// The commits that it has written or seen; locked while the caller has them.
    pub(super) fn tokens(&self) -> MutexGuard<'_, SessionTokens> {
        self.tokens.lock()
    }

    /// Remembers the commits that an answer named.
    pub(super) fn saw(&self, container: ContainerName, commits: &[Commit]) {
        let mut tokens = self.tokens.lock();
        commits.iter().for_each(|commit| tokens.advance(container, *commit));
    }

    pub(super) fn signals(&self, container: usize) -> &ChangeSignals {
        &self.containers[container].signals
    }

    pub(super) fn physical_partitions(&self, container: usize) -> u32 {
        self.containers[container].physical_partitions.load(Ordering::Relaxed)
    }

    /// Remembers the number of physical partitions.
    pub(super) fn looked_up(&self, container: usize, partitions: usize) {
        self.containers[container].physical_partitions.store(to_u32(partitions), Ordering::Relaxed);
    }
}

fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
