//! Tail of a change feed: reads everything that is written to a container from now on, or after the position
//! of an earlier tail, without leases and checkpoints. Each process reads all of it. It knows no domain.
//!
//! A write of this process wakes it for the feed range of that write, where the store signals ranges. The
//! other ranges are read by the next poll.

use std::sync::Arc;
use std::time::Duration;

use futures::future::select_all;
use futures::{FutureExt, StreamExt, stream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};

use super::coverage::RangeSplits;
use super::position::{InvalidPosition, PositionError};
use super::settings::Backoff;
use super::tail_position::TailPosition;
use onehop_store::limits::PAGE_ITEMS_MAX;
use onehop_store::{
    Change, ContainerName, Continuation, Fault, FaultKind, FeedPage, FeedRange, FeedRequest, Ledger,
    SignalScope, Store,
};

/// Between two looks at a store that neither signals nor says how often to look.
const POLL_DEFAULT: Duration = Duration::from_secs(1);

/// The source of a tail: a container, and types of items.
#[derive(Debug, Clone, Copy)]
pub struct TailSource {
    /// The container.
    pub container: ContainerName,
    /// Only items of these types; `None` for all.
    pub types: Option<&'static [&'static str]>,
}

/// Settings of a tail.
#[derive(Debug, Clone, Copy)]
pub struct TailSettings {
    /// Between two looks where other processes write as well; `None` where the store signals every write.
    pub poll: Option<Duration>,
    /// The wait after a signal for further writes, so that a burst makes one page and not many.
    pub gather: Duration,
    /// Changes in a page of a feed range.
    pub page_items_max: usize,
    /// Feed ranges that are read at the same time.
    pub concurrent_reads_max: usize,
    /// Delays between retries after transient faults.
    pub fault_backoff: Backoff,
    /// Between two looks for splits of the feed ranges.
    pub split_look: Duration,
    /// Between two looks at what deletions of other processes change, which the feed does not show.
    pub deletion_look: Duration,
}

impl Default for TailSettings {
    fn default() -> Self {
        Self {
            poll: None,
            gather: Duration::from_millis(2),
            page_items_max: PAGE_ITEMS_MAX,
            concurrent_reads_max: 16,
            fault_backoff: Backoff::new(Duration::from_millis(50), Duration::from_secs(5)),
            split_look: Duration::from_secs(60),
            deletion_look: Duration::from_secs(30),
        }
    }
}

/// Reads all feed ranges of a container, each in order.
pub struct Tail {
    store: Arc<dyn Store>,
    source: TailSource,
    settings: TailSettings,
    ranges: Vec<RangePosition>,
    polled_at: Instant,
    splits_looked_at: Instant,
    failures: u32,
    next_read: NextRead,
    /// Changes that were read when it was opened at a position, with that position, until they are returned.
    first: Option<(Vec<Change>, TailPosition)>,
}

#[derive(Clone)]
struct RangePosition {
    range: FeedRange,
    /// `None` begins with the writes from then on.
    continuation: Option<Continuation>,
    /// Changes with each write of this process to the range.
    signal: Option<watch::Receiver<u64>>,
    /// Whether it has to be read: it was written to, or its last page was not the end.
    is_due: bool,
}

impl RangePosition {
    fn new(
        store: &dyn Store,
        source: TailSource,
        range: FeedRange,
        continuation: Option<Continuation>,
    ) -> Self {
        let TailSource { container, types } = source;
        let signal = store.change_signal(&SignalScope { container, range: Some(&range), types });
        Self { range, continuation, signal, is_due: true }
    }

    /// Takes note of writes. Before the page is read: later writes signal again.
    fn heed_signal(&mut self) {
        let Some(signal) = &mut self.signal else { return };
        if signal.has_changed().unwrap_or(false) {
            signal.mark_unchanged();
            self.is_due = true;
        }
    }
}

/// The wait before the next page.
enum NextRead {
    Now,
    OnChange,
    AfterFault(Duration),
}

/// Finds the parts of a range through the store.
struct StoreRangeSplits<'a>(&'a dyn Store);

impl RangeSplits for StoreRangeSplits<'_> {
    fn parts_of(&self, whole: &FeedRange, present: &[FeedRange]) -> Option<Vec<FeedRange>> {
        self.0.parts_of(whole, present)
    }
}

impl Tail {
    /// A tail of everything that is written from now on. The ledger has the first read.
    ///
    /// # Errors
    /// A fault of the store: it is not known where now is.
    pub async fn open(
        store: Arc<dyn Store>,
        source: TailSource,
        settings: TailSettings,
        ledger: &Ledger,
    ) -> Result<Self, Fault> {
        let ranges = store.feed_ranges(source.container).await?;
        let ranges = ranges.into_iter().map(|range| (range, None)).collect();
        let mut tail = Self::of(store, source, settings, ranges);
        let pages = tail.pages(ledger).await;
        tail.take(pages).1.map_or(Ok(tail), Err)
    }

    /// A tail of everything that was written after a position of an earlier tail. The ledger has the first
    /// read.
    ///
    /// # Errors
    /// The position is of another container, or so old that the store has forgotten it; or a fault of the
    /// store.
    pub async fn open_after(
        position: &TailPosition,
        store: Arc<dyn Store>,
        source: TailSource,
        settings: TailSettings,
        ledger: &Ledger,
    ) -> Result<Self, PositionError> {
        let present = store.feed_ranges(source.container).await?;
        let ranges = position.ranges_in(source.container, &present, &StoreRangeSplits(&*store))?;
        let mut tail = Self::of(store, source, settings, ranges);
        let pages = tail.pages(ledger).await;
        match tail.take(pages) {
            (_, Some(fault)) if fault.kind == FaultKind::InvalidContinuation => Err(InvalidPosition.into()),
            (_, Some(fault)) => Err(fault.into()),
            (changes, None) => {
                tail.first = (!changes.is_empty()).then(|| (changes, position.clone()));
                Ok(tail)
            }
        }
    }

    fn of(
        store: Arc<dyn Store>,
        source: TailSource,
        settings: TailSettings,
        ranges: Vec<(FeedRange, Option<Continuation>)>,
    ) -> Self {
        let position = |(range, continuation)| RangePosition::new(&*store, source, range, continuation);
        Self {
            ranges: ranges.into_iter().map(position).collect(),
            store,
            source,
            settings,
            polled_at: Instant::now(),
            splits_looked_at: Instant::now(),
            failures: 0,
            next_read: NextRead::Now,
            first: None,
        }
    }

    /// Where it stands: after all changes that it has returned. A program that keeps this after it has dealt
    /// with them, and opens the next tail there, misses none.
    #[must_use]
    pub fn position(&self) -> TailPosition {
        match &self.first {
            Some((_, opened_at)) => opened_at.clone(),
            None => {
                let ranges = self.ranges.iter();
                let standing = ranges.map(|position| (position.range.clone(), position.continuation.clone()));
                TailPosition::new(self.source.container, standing)
            }
        }
    }

    /// The feed ranges that it reads.
    pub fn ranges(&self) -> impl Iterator<Item = &FeedRange> {
        self.ranges.iter().map(|position| &position.range)
    }

    /// The next changes, at least one; waits for them. Faults of the store are tried again without end. A
    /// call that is dropped loses nothing.
    pub async fn next(&mut self) -> Vec<Change> {
        if let Some((changes, _)) = self.first.take() {
            return changes;
        }
        loop {
            self.wait_for_next_read().await;
            self.follow_splits().await;
            self.poll_if_due();
            self.ranges.iter_mut().for_each(RangePosition::heed_signal);
            let pages = self.pages(&Ledger::new()).await;
            let (changes, fault) = self.take(pages);
            self.next_read = match fault {
                Some(fault) => self.after_fault(&fault),
                None if self.due().next().is_none() => NextRead::OnChange,
                None => NextRead::Now,
            };
            if !changes.is_empty() {
                return changes;
            }
        }
    }

    fn due(&self) -> impl Iterator<Item = &RangePosition> {
        self.ranges.iter().filter(|position| position.is_due)
    }

    /// The pages of the ranges that are due, in their order.
    async fn pages(&self, ledger: &Ledger) -> Vec<Result<FeedPage, Fault>> {
        let reads: Vec<_> = self.due().map(|position| self.page(position, ledger)).collect();
        stream::iter(reads).buffered(self.settings.concurrent_reads_max.max(1)).collect().await
    }

    async fn page(
        &self,
        RangePosition { range, continuation, .. }: &RangePosition,
        ledger: &Ledger,
    ) -> Result<FeedPage, Fault> {
        let TailSource { container, types } = self.source;
        if continuation.is_none() {
            let continuation = self.store.change_feed_end(container, range, ledger).await?;
            let changes = Vec::new();
            return Ok(FeedPage { changes, continuation, drained: true, passed: None, behind: None });
        }
        let limit = self.settings.page_items_max;
        let request = FeedRequest { container, range, continuation: continuation.as_ref(), types, limit };
        self.store.read_change_feed(&request, ledger).await
    }

    /// Moves on by the pages read; returns the changes, and the last fault if there was one.
    fn take(&mut self, pages: Vec<Result<FeedPage, Fault>>) -> (Vec<Change>, Option<Fault>) {
        let (mut changes, mut fault) = (Vec::new(), None);
        let due = self.ranges.iter_mut().filter(|position| position.is_due);
        for (position, page) in due.zip(pages) {
            match page {
                Ok(page) => {
                    position.is_due = !page.drained;
                    position.continuation = Some(page.continuation);
                    changes.extend(page.changes);
                }
                Err(failed) => {
                    if failed.kind == FaultKind::InvalidContinuation {
                        position.continuation = None;
                    }
                    fault = Some(failed);
                }
            }
        }
        (changes, fault)
    }

    fn after_fault(&mut self, fault: &Fault) -> NextRead {
        if self.failures == 0 {
            let container = self.source.container;
            tracing::warn!(%container, error = %fault, "the change feed cannot be read; this is tried again");
        }
        let backoff = self.settings.fault_backoff.delay(self.failures);
        self.failures = self.failures.saturating_add(1);
        NextRead::AfterFault(fault.retry_after.unwrap_or(backoff).max(backoff))
    }

    async fn wait_for_next_read(&mut self) {
        match self.next_read {
            NextRead::Now => self.failures = 0,
            NextRead::OnChange => {
                self.failures = 0;
                self.wait_for_changes().await;
            }
            NextRead::AfterFault(delay) => {
                sleep(delay).await;
                self.next_read = NextRead::Now;
            }
        }
    }

    /// Waits for a signal of a range, or until all are polled. Constant writes to one range do not put off
    /// the poll of the others.
    async fn wait_for_changes(&mut self) {
        let next_poll = self.poll_interval().map(|poll| self.polled_at + poll);
        let signalled = tokio::select! {
            biased;
            place = signalled(&mut self.ranges) => Some(place),
            () = sleep_until_or_forever(next_poll) => None,
        };
        // The signal is consumed: if this call is dropped now, the next one has to read, not to wait.
        self.next_read = NextRead::Now;
        if let Some(position) = signalled.and_then(|place| self.ranges.get_mut(place)) {
            position.is_due = true;
            sleep(self.settings.gather).await;
        }
    }

    /// Between two polls of all ranges; `None` where the store signals every write.
    fn poll_interval(&self) -> Option<Duration> {
        let is_signalled = self.ranges.iter().all(|position| position.signal.is_some());
        self.settings.poll.or((!is_signalled).then_some(POLL_DEFAULT))
    }

    fn poll_if_due(&mut self) {
        if self.poll_interval().is_some_and(|poll| self.polled_at.elapsed() >= poll) {
            self.polled_at = Instant::now();
            self.ranges.iter_mut().for_each(|position| position.is_due = true);
        }
    }

    /// Goes on in the parts of ranges that were split. A range whose split is not visible yet is read on.
    async fn follow_splits(&mut self) {
        if self.settings.poll.is_none() || self.splits_looked_at.elapsed() < self.settings.split_look {
            return;
        }
        // A fault is met again by the pages, or at the next look.
        let present = self.store.feed_ranges(self.source.container).await.unwrap_or_default();
        self.splits_looked_at = Instant::now();
        let store = &*self.store;
        let divided = self.ranges.iter().flat_map(|position| {
            let Some(parts) = StoreRangeSplits(store).parts_of(&position.range, &present) else {
                return vec![position.clone()];
            };
            let part = |range| RangePosition::new(store, self.source, range, position.continuation.clone());
            parts.into_iter().map(part).collect()
        });
        self.ranges = divided.collect();
    }
}

/// Waits for a write to any range; returns its place.
async fn signalled(ranges: &mut [RangePosition]) -> usize {
    let signals: Vec<_> =
        ranges.iter_mut().map(|position| changed(position.signal.as_mut()).boxed()).collect();
    if signals.is_empty() {
        return std::future::pending().await;
    }
    let ((), place, _) = select_all(signals).await;
    place
}

async fn changed(signal: Option<&mut watch::Receiver<u64>>) {
    let closed = match signal {
        Some(signal) => signal.changed().await.is_err(),
        None => true,
    };
    if closed {
        std::future::pending::<()>().await;
    }
}

async fn sleep_until_or_forever(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
