//! Faults of the account: the decision for one request, as its caller sees it after the retries of the
//! adapter for Azure Cosmos DB.

use std::time::Duration;

use onehop_store::ContainerName;

use super::read_view::ModelConsistency;

/// A kind of request to the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccountRequest {
    PointRead,
    Query,
    Count,
    /// A single write.
    Write,
    Batch,
    FeedPage,
    FeedEnd,
    PendingChanges,
    FeedRanges,
    Ready,
}

impl AccountRequest {
    /// Whether the request writes.
    #[must_use]
    pub fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Batch)
    }
}

/// A request that is about to be sent.
#[derive(Debug, Clone, Copy)]
pub struct FaultPoint<'a> {
    /// The process that sends it, numbered in the order in which they connected.
    pub process: u64,
    pub request: AccountRequest,
    pub container: ContainerName,
    /// `None` where the request is not about one logical partition.
    pub partition_key: Option<&'a str>,
    pub consistency: ModelConsistency,
}

/// The outcome of a request. The default is an answer at once, and a write that every replica has at once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Time from the start of the request to its effect, including the waits of retries that succeeded.
    pub before: Duration,
    /// Time from the effect to the answer.
    pub after: Duration,
    pub fault: Option<InjectedFault>,
    /// The time for which the lagging replicas lack this write.
    pub lag: Duration,
    /// Whether a lagging replica answers this read, as far as the consistency permits it.
    pub is_lagging: bool,
    /// Where the caller drops the request before its effect: how long after the drop the write happens all
    /// the same. `None` where it never reaches the account. A write that its fault keeps from happening does
    /// not happen after a drop either.
    pub lands_after_drop: Option<Duration>,
}

impl Outcome {
    /// An answer at once that is this fault.
    #[must_use]
    pub fn fault(fault: InjectedFault) -> Self {
        Self { fault: Some(fault), ..Self::default() }
    }
}

/// A fault of one request that the adapter's retries did not hide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectedFault {
    /// 429, more often than the adapter tries again.
    Throttled { retry_after: Option<Duration> },
    /// 408: the service did not answer in time.
    TimedOut(TimedOutWrite),
    /// 449, more often than the adapter tries again. Nothing was written. Reads go on without this fault.
    RetryWith,
    /// 503: the outcome of a write is not known, and nothing was written.
    Unavailable,
    /// 410, more often than the adapter tries again: the physical partition is moving.
    Gone,
    /// The effect happens, and the answer is lost.
    LostAnswer,
    /// The effect happens, the answer is lost, and the client sends the request again: the answer is of the
    /// second request. So a write may be refused because it happened. Reads go on without this fault.
    SentAgain,
    /// The connection is refused before anything is sent.
    NotConnected,
    /// 403: the logical partition holds as much as it can. Nothing was written. Reads go on without this
    /// fault.
    PartitionFull,
}

/// The fate of a write that timed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimedOutWrite {
    NotDone,
    Done,
    /// It is done this long after the caller got its answer.
    DoneLater(Duration),
}

impl InjectedFault {
    /// Whether the fault changes the answer to this kind of request.
    #[must_use]
    pub fn concerns(self, request: AccountRequest) -> bool {
        request.writes() || !matches!(self, Self::RetryWith | Self::SentAgain | Self::PartitionFull)
    }

    /// Its name among the counts of the account.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Throttled { .. } => "fault_429",
            Self::TimedOut(TimedOutWrite::NotDone) => "fault_408_not_done",
            Self::TimedOut(TimedOutWrite::Done) => "fault_408_done",
            Self::TimedOut(TimedOutWrite::DoneLater(_)) => "fault_408_done_later",
            Self::RetryWith => "fault_449",
            Self::Unavailable => "fault_503",
            Self::Gone => "fault_410",
            Self::LostAnswer => "fault_lost_answer",
            Self::SentAgain => "fault_sent_again",
            Self::NotConnected => "fault_not_connected",
            Self::PartitionFull => "fault_partition_full",
        }
    }
}

/// Decides the outcome of each request.
pub trait AccountFaults: Send + Sync {
    /// The outcome of the request that is about to be sent. Called once for each request, in the order in
    /// which they are sent.
    fn next(&self, point: &FaultPoint<'_>) -> Outcome;
}

/// No faults, no latency, and no lag.
#[derive(Debug, Default, Clone, Copy)]
pub struct NoFaults;

impl AccountFaults for NoFaults {
    fn next(&self, _point: &FaultPoint<'_>) -> Outcome {
        Outcome::default()
    }
}
