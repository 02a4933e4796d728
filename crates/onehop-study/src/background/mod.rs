//! Background work: the throughput of following the change feed, at rest and because of a traffic, for one
//! process and for more; and the charge of a pass over all data. Requests are not charged for any of it.
//! Pure.

mod model;
#[cfg(test)]
mod tests;

use serde::Serialize;

pub(crate) use model::{BackgroundAssumptions, BackgroundModel};
use onehop_store::{ContainerName, OperationKind};

/// Processes that share the leases, for which it is worked out.
pub const PROCESSES: [u64; 3] = [1, 3, 10];

/// The change feed processor of a data model.
#[derive(Debug, Clone, Default)]
pub struct ChangeFeedFollowing {
    /// The containers whose change feed is followed.
    pub sources: Vec<ContainerName>,
    /// Bounded lists: reads for each page of changes, whatever changed in it.
    pub listings: Vec<PageListing>,
}

/// The listing of a bounded list. Where processes share the change feed, a point read confirms the listing
/// from before for each page of changes; it is read again when another process has added or removed entries,
/// and once in a minute.
#[derive(Debug, Clone, PartialEq)]
pub struct PageListing {
    /// The container whose changes the projection follows.
    pub source: ContainerName,
    /// The container that is read.
    pub container: ContainerName,
    /// RU of the listing, as a read of the latest committed version.
    pub request_charge: f64,
    /// RU of the point read that confirms it.
    pub confirmation_charge: f64,
}

/// The background work of a data model.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundWork {
    pub model: String,
    /// Of all source containers together.
    pub feed_ranges: u64,
    /// The numbers of processes of each line's figures.
    pub processes: [u64; 3],
    pub lines: Vec<BackgroundLine>,
}

/// One kind of background work.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundLine {
    pub kind: BackgroundKind,
    /// RU/s, for each number of processes.
    pub throughput: [f64; 3],
}

/// Kinds of background work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum BackgroundKind {
    /// Polls of each feed range, at the longest poll interval.
    Polls,
    /// Heartbeats of each process, at the renew interval.
    Heartbeats,
    /// Reads of the other processes' heartbeats, at the acquire interval.
    Observations,
    /// The three together.
    AtRest,
    /// Checkpoints because of the traffic, at most: one for each write, and one for each feed range in an
    /// interval.
    Checkpoints,
    /// Checkpoints while every feed range has changes all the time: no traffic causes more.
    CheckpointsMax,
    /// Listings of bounded lists and their confirmations before each page of changes, at most one for each
    /// write.
    Listings,
    /// Scrapes of the metrics by every process, at most.
    MetricsScrapes,
}

impl BackgroundKind {
    /// The kinds whose sum is all background work of a traffic.
    pub const OF_TRAFFIC: [Self; 6] = [
        Self::Polls,
        Self::Heartbeats,
        Self::Observations,
        Self::Checkpoints,
        Self::Listings,
        Self::MetricsScrapes,
    ];

    /// All kinds, in the order in which they are shown.
    pub const ALL: [Self; 8] = [
        Self::Polls,
        Self::Heartbeats,
        Self::Observations,
        Self::AtRest,
        Self::Checkpoints,
        Self::CheckpointsMax,
        Self::Listings,
        Self::MetricsScrapes,
    ];

    /// The kind of operation that it is charged as.
    #[must_use]
    pub fn operation(self) -> OperationKind {
        match self {
            Self::Polls | Self::AtRest => OperationKind::ChangeFeed,
            Self::Heartbeats | Self::Checkpoints | Self::CheckpointsMax => OperationKind::Replace,
            Self::Observations | Self::MetricsScrapes => OperationKind::PointRead,
            Self::Listings => OperationKind::Query,
        }
    }
}

impl BackgroundWork {
    /// RU/s of one kind, for each number of processes.
    #[must_use]
    pub fn throughput(&self, kind: BackgroundKind) -> [f64; 3] {
        let line = self.lines.iter().find(|line| line.kind == kind);
        line.map_or([0.0; 3], |line| line.throughput)
    }

    /// RU/s of all of it because of the traffic, with the most processes.
    #[must_use]
    pub fn total(&self) -> f64 {
        let most = |kind| self.throughput(kind)[PROCESSES.len() - 1];
        BackgroundKind::OF_TRAFFIC.into_iter().map(most).fold(0.0, |sum, throughput| sum + throughput)
    }
}
