//! Copies the write side of a domain from one store to another, through the port alone.
//!
//! Each feed range of the source is read from its beginning and written to the target in batches, bodies as
//! they are, so that ids and dates stay. After each page its position is kept in the target's `leases`
//! container: an interrupted copy goes on from there, and a complete one takes the changes since. Read models
//! are not copied: the target's projections make them.
//!
//! Concurrent writes to the source may or may not be taken, and hard deletes (of reservations of names) are
//! in no change feed: the source must rest.

mod batches;
mod position;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::stream::{self, StreamExt, TryStreamExt};

pub use batches::{BATCH_BYTES_MAX, WriteLane, lanes_of};
pub use position::{POSITION_TYPE, StoredPosition};

use crate::domain::containers::WrittenItems;
use onehop_change_feed::Backoff;
use onehop_store::{
    Batch, ContainerName, Fault, FaultKind, FeedRange, FeedRequest, Ledger, Rejection, Store, WriteError,
    limits,
};

/// Feed ranges of the source that are read at the same time.
pub const RANGES_AT_ONCE: usize = 4;
/// Logical partitions of one page that are written at the same time.
pub const LANES_AT_ONCE: usize = 32;
/// Changes in a page of the source.
const PAGE_ITEMS_MAX: usize = limits::PAGE_ITEMS_MAX;
/// Retries of a read or a write after a transient fault.
const RETRIES_MAX: u32 = 8;
const RETRY_BACKOFF: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(5));

/// Why a copy ended early. Written items stay, and the same command goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    #[error(
        "the target's container {container} has data that is not of a copy of {source_name}: copy into an empty one"
    )]
    NotEmpty { container: ContainerName, source_name: String },
    #[error("the target refused an item of {container}: {reason}")]
    Refused { container: ContainerName, reason: Rejection },
    #[error("the source's change feed of {container} is not the one of the copy that was begun: {fault}")]
    OtherSource { container: ContainerName, fault: Fault },
    #[error("the source cannot be read: {0}")]
    Source(Fault),
    #[error("the target cannot be used: {0}")]
    Target(Fault),
}

/// The progress of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyProgress {
    /// Items of this run.
    pub items: u64,
    /// Items of earlier runs that were found at the target.
    pub items_before: u64,
}

/// Copies from one store to another.
pub struct Copier {
    pub source: Arc<dyn Store>,
    pub target: Arc<dyn Store>,
    /// Tells sources apart: the target keeps the positions of each under its name.
    pub source_name: String,
    /// The items to copy, a container after the other.
    pub write_side: Vec<WrittenItems>,
}

/// A feed range of the source, and how far it was copied.
struct RangeProgress {
    container: ContainerName,
    types: Option<&'static [&'static str]>,
    range: FeedRange,
    position: StoredPosition,
    /// Whether the position is not at the target yet.
    is_new: bool,
}

impl Copier {
    /// Copies until nothing is left, and reports progress after each page.
    ///
    /// # Errors
    /// See [`CopyError`].
    pub async fn run(&self, progress: impl Fn(CopyProgress) + Sync) -> Result<CopyProgress, CopyError> {
        let stretches = self.begin().await?;
        let items_before = stretches.iter().map(|stretch| stretch.position.items).sum();
        let copied = AtomicU64::new(0);
        let report = |items: u64| {
            let items = copied.fetch_add(items, Ordering::Relaxed) + items;
            progress(CopyProgress { items, items_before });
        };
        // A container after the other: a partial copy has the users of every post.
        let mut stretches = stretches.into_iter().peekable();
        while let Some(first) = stretches.next() {
            let container = first.container;
            let mut of_container = vec![first];
            while let Some(next) = stretches.next_if(|stretch| stretch.container == container) {
                of_container.push(next);
            }
            stream::iter(of_container)
                .map(|stretch| self.copy(stretch, &report))
                .buffer_unordered(RANGES_AT_ONCE)
                .try_collect::<()>()
                .await?;
        }
        Ok(CopyProgress { items: copied.into_inner(), items_before })
    }

    /// Finds the positions of an earlier run, or writes the first ones into a target without data: from then
    /// on the target belongs to this copy.
    async fn begin(&self) -> Result<Vec<RangeProgress>, CopyError> {
        let mut stretches = Vec::new();
        for &(container, types) in &self.write_side {
            for range in self.source.feed_ranges(container).await.map_err(CopyError::Source)? {
                let id = StoredPosition::id_of(&self.source_name, container, &range);
                let found = StoredPosition::read(&*self.target, &id).await.map_err(CopyError::Target)?;
                let is_new = found.is_none();
                let position =
                    found.unwrap_or_else(|| StoredPosition::first(id, &self.source_name, container, &range));
                stretches.push(RangeProgress { container, types, range, position, is_new });
            }
        }
        if stretches.iter().all(|stretch| stretch.is_new) {
            self.require_empty().await?;
        }
        for stretch in stretches.iter().filter(|stretch| stretch.is_new) {
            self.save(&stretch.position).await?;
        }
        Ok(stretches)
    }

    async fn require_empty(&self) -> Result<(), CopyError> {
        for &(container, _) in &self.write_side {
            for range in self.target.feed_ranges(container).await.map_err(CopyError::Target)? {
                let request =
                    FeedRequest { container, range: &range, continuation: None, types: None, limit: 1 };
                let ledger = Ledger::new().for_background();
                let pending = self.target.pending_changes(&request, 1, &ledger).await;
                if pending.map_err(CopyError::Target)?.0 > 0 {
                    let source_name = self.source_name.clone();
                    return Err(CopyError::NotEmpty { container, source_name });
                }
            }
        }
        Ok(())
    }

    async fn copy(
        &self,
        mut stretch: RangeProgress,
        report: &(impl Fn(u64) + Sync),
    ) -> Result<(), CopyError> {
        loop {
            let RangeProgress { container, types, range, position, .. } = &mut stretch;
            let request = FeedRequest {
                container: *container,
                range,
                continuation: position.continuation.as_ref(),
                types: *types,
                limit: PAGE_ITEMS_MAX,
            };
            let ledger = Ledger::new();
            let page = retried(|| self.source.read_change_feed(&request, &ledger)).await;
            let page = page.map_err(|fault| match fault.kind {
                FaultKind::InvalidContinuation => CopyError::OtherSource { container: *container, fault },
                _ => CopyError::Source(fault),
            })?;
            let (items, ended) = (page.changes.len() as u64, page.changes.is_empty() && page.drained);
            stream::iter(lanes_of(*container, page.changes))
                .map(|lane| self.write_lane(lane))
                .buffer_unordered(LANES_AT_ONCE)
                .try_collect::<()>()
                .await?;
            let moved = position.continuation.as_ref() != Some(&page.continuation);
            position.continuation = Some(page.continuation);
            position.items += items;
            if moved {
                self.save(position).await?;
            }
            report(items);
            if ended {
                return Ok(());
            }
        }
    }

    /// The batches of a logical partition, one after the other.
    async fn write_lane(&self, lane: WriteLane) -> Result<(), CopyError> {
        for batch in lane {
            let container = batch.container;
            retried(|| self.write_batch(batch.clone())).await.map_err(|error| match error {
                WriteError::Rejected { reason, .. } => CopyError::Refused { container, reason },
                WriteError::Fault(fault) => CopyError::Target(fault),
            })?;
        }
        Ok(())
    }

    async fn write_batch(&self, mut batch: Batch) -> Result<(), WriteError> {
        let ledger = Ledger::new();
        // A single write may be as large as an item may be, without a batch's envelope around it.
        if batch.operations.len() == 1
            && let Some(operation) = batch.operations.pop()
        {
            self.target.write(batch.container, &batch.partition_key, operation, &ledger).await?;
        } else {
            self.target.batch(batch, &ledger).await?;
        }
        Ok(())
    }

    async fn save(&self, position: &StoredPosition) -> Result<(), CopyError> {
        let saved = retried(|| position.save(&*self.target)).await;
        saved.map_err(|error| match error {
            WriteError::Fault(fault) => CopyError::Target(fault),
            WriteError::Rejected { .. } => CopyError::Target(
                Fault::new(FaultKind::Internal, "a position was refused").with_source(error),
            ),
        })
    }
}

/// A fault that may be transient. Everything that a copy does may be done twice.
trait TransientFault {
    fn transient(&self) -> Option<&Fault>;
}

impl TransientFault for Fault {
    fn transient(&self) -> Option<&Fault> {
        self.kind.is_transient().then_some(self)
    }
}

impl TransientFault for WriteError {
    fn transient(&self) -> Option<&Fault> {
        match self {
            Self::Rejected { .. } => None,
            Self::Fault(fault) => fault.transient(),
        }
    }
}

async fn retried<T, E: TransientFault, F: Future<Output = Result<T, E>>>(
    mut attempt: impl FnMut() -> F,
) -> Result<T, E> {
    let mut retry = 0;
    loop {
        let error = match attempt().await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        let Some(fault) = error.transient().filter(|_| retry < RETRIES_MAX) else { return Err(error) };
        let backoff = RETRY_BACKOFF.delay(retry);
        tokio::time::sleep(fault.retry_after.unwrap_or(backoff).max(backoff)).await;
        retry += 1;
    }
}
