//! Read view: the state of a container that one read sees. The consistency, the session and the replica that
//! answers decide how recent it is.

use std::collections::BTreeMap;

use onehop_store::ContainerName;

use super::container::AccountContainer;
use super::positions::Commit;

/// The consistency of a store's reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelConsistency {
    /// Every write that was answered: reads of the latest committed version.
    Latest,
    /// Bounded staleness: a replica lacks this many commits of a physical partition at most.
    Bounded { commits_max: u64 },
    /// The writes of the process, and all its earlier reads.
    Session,
    /// Any replica, also an older one than before.
    Eventual,
}

/// The commits that a process has written or seen, for each physical partition: its session tokens.
#[derive(Debug, Default)]
pub(super) struct SessionTokens(BTreeMap<(ContainerName, u32), u64>);

impl SessionTokens {
    /// Remembers a commit.
    pub(super) fn advance(&mut self, container: ContainerName, commit: Commit) {
        let token = self.0.entry((container, commit.partition)).or_default();
        *token = commit.lsn.max(*token);
    }

    fn of(&self, container: ContainerName, partition: u32) -> u64 {
        self.0.get(&(container, partition)).copied().unwrap_or(0)
    }
}

/// The view of one read.
pub(super) struct ReadView<'a> {
    pub(super) container: &'a AccountContainer,
    pub(super) now_ms: i64,
    /// For each physical partition, the commit that the answering replica stands at.
    lsns: Vec<u64>,
}

/// The inputs that decide how recent a view is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Freshness<'a> {
    pub(super) consistency: ModelConsistency,
    pub(super) tokens: &'a SessionTokens,
    pub(super) is_lagging: bool,
}

/// The time of a read, on both readings of the account's clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReadTime {
    pub(super) now_ms: i64,
    pub(super) monotonic_ms: i64,
}

impl<'a> ReadView<'a> {
    pub(super) fn new(container: &'a mut AccountContainer, freshness: Freshness<'_>, time: ReadTime) -> Self {
        let Freshness { consistency, tokens, is_lagging } = freshness;
        let name = container.spec.name;
        let mut lsns = Vec::with_capacity(container.partitions.len());
        for partition in &mut container.partitions {
            let replicated = partition.replicated(time.monotonic_ms);
            let of_replica = if is_lagging { replicated } else { partition.lsn };
            lsns.push(match consistency {
                ModelConsistency::Latest => partition.lsn,
                ModelConsistency::Bounded { commits_max } => {
                    of_replica.max(partition.lsn.saturating_sub(commits_max))
                }
                ModelConsistency::Session => of_replica.max(tokens.of(name, partition.number)),
                ModelConsistency::Eventual => of_replica,
            });
        }
        Self { container, now_ms: time.now_ms, lsns }
    }

    /// The commit that the replica of the physical partition at a place stands at.
    pub(super) fn lsn(&self, place: usize) -> u64 {
        self.lsns[place]
    }

    /// The same for a point.
    pub(super) fn lsn_at(&self, point: u64) -> u64 {
        self.lsn(self.container.place_of(point))
    }

    /// Whether the physical partition at a place has commits that the view lacks.
    pub(super) fn lags(&self, place: usize) -> bool {
        self.lsns[place] < self.container.partitions[place].lsn
    }

    /// The commit that the view of the physical partition at a place stands at.
    pub(super) fn commit(&self, place: usize) -> Commit {
        Commit { partition: self.container.partitions[place].number, lsn: self.lsn(place) }
    }
}
