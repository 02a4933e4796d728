//! Range reader: reads one feed range for the projections of its source under its lease (pages, checkpoint,
//! and the end of a range that was split).

use parking_lot::Mutex as SyncMutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::{Mutex, Notify, watch};

use super::backfills::Backfills;
use super::feed_place::{Backfill, FeedPlace};
use super::lease::{LeaseItem, OwnedLease};
use super::lease_handle::LeaseHandle;
use super::looks::Looks;
use super::notifications::LeaseEvent;
use super::page_error::PageError;
use super::pass::Pass;
use super::range_feed::RangeFeed;
use super::read_progress::ReadProgress;
use super::settings::milliseconds;
use super::source::{FeedSource, SourcePage};
use onehop_runtime::planted;
use onehop_store::{Continuation, Fault, FaultKind, FeedPage, FeedRange, Ledger, OperationRecord};

pub(super) struct RangeReader {
    pub(super) source: Arc<FeedSource>,
    pub(super) feed: RangeFeed,
    pub(super) lease: LeaseHandle,
    pub(super) backfills: Backfills,
    pub(super) statistics: ReaderStatistics,
    /// Ends the wait for changes.
    pub(super) wake: Notify,
    /// The live reader: locked for a page, so that a task and an explicit step do not overlap.
    pub(super) live: Mutex<LiveReader>,
    /// A copy of the position, for the estimator.
    position: SyncMutex<ReaderPosition>,
    /// Changes with each write of this process to the range.
    signal: Option<watch::Receiver<u64>>,
    looks: Looks,
    checkpoint_due_ms: SyncMutex<Option<i64>>,
    /// The parts of the range, once a balancing round has seen its split.
    parts: SyncMutex<Option<Vec<FeedRange>>>,
}

/// Where a reader stands.
#[derive(Debug, Clone, Default)]
pub(super) struct ReaderPosition {
    /// After the last page.
    pub(super) continuation: Option<Continuation>,
    pub(super) progress: ReadProgress,
    /// When it last read a page (monotonic ms).
    pub(super) looked_at_ms: Option<i64>,
    /// Whether it serves any projection. Otherwise it stands nowhere, and backfills serve them.
    pub(super) serves: bool,
}

impl ReaderPosition {
    /// Where the reader of another instance stood at its last checkpoint.
    pub(super) fn of_lease(item: &LeaseItem) -> Self {
        let (continuation, progress) = (item.continuation.clone(), item.progress.clone());
        Self { continuation, progress, looked_at_ms: None, serves: !item.projections.is_empty() }
    }

    /// Where a projection stands that has yet to complete something before the checkpoint.
    pub(super) fn of_backfill(backfill: Backfill) -> Self {
        let FeedPlace { continuation, progress } = backfill.place;
        Self { continuation, progress, looked_at_ms: None, serves: true }
    }
}

pub(super) struct LiveReader {
    /// The names of the projections that it serves. Backfills serve the others.
    pub(super) served: Vec<String>,
    /// Where the next page begins. It may be ahead of the checkpoint.
    position: Option<Continuation>,
    progress: ReadProgress,
    /// When the last checkpoint was written (monotonic ms).
    checkpoint_at_ms: i64,
    /// When the first page with changes after the checkpoint was completed (monotonic ms).
    unsaved_since_ms: Option<i64>,
    /// Whether a page after the checkpoint held anything, be it of other types.
    has_moved: bool,
    /// Whether the checkpoint reports waiting changes: other instances show its figures.
    checkpoint_is_behind: bool,
    /// The page after the position, if it was read while the one before was worked on.
    ahead: Option<FeedPage>,
    /// The page after the position, if some projections have completed it and others failed.
    unfinished: Option<Page>,
}

impl LiveReader {
    /// After the last page that all its projections have completed.
    pub(super) fn place(&self) -> FeedPlace {
        FeedPlace { continuation: self.position.clone(), progress: self.progress.clone() }
    }

    /// Serves further projections, which have completed everything before its place. Where it serves no
    /// other, it goes on at theirs.
    pub(super) fn serve(&mut self, projections: &[String], place: &FeedPlace, source: &FeedSource) {
        if self.served.is_empty() {
            self.position.clone_from(&place.continuation);
            self.progress.clone_from(&place.progress);
        }
        self.served.extend(projections.iter().cloned());
        if let Some(page) = &mut self.unfinished {
            page.content.admit(&source.runners, projections);
        }
    }
}

/// A page and its progress.
struct Page {
    content: SourcePage,
    continuation: Continuation,
    drained: bool,
    /// The progress once the page is completed.
    progress: ReadProgress,
}

impl Page {
    fn of(page: FeedPage, before: ReadProgress, served: &[String], source: &FeedSource) -> Self {
        let progress = before.after(&page);
        let content = SourcePage::for_projections(page.changes, &source.runners, served);
        Self { content, continuation: page.continuation, drained: page.drained, progress }
    }
}

/// Statistics of a reader, for the status.
#[derive(Debug, Default)]
pub(super) struct ReaderStatistics {
    /// A task was started for it.
    pub(super) started: AtomicBool,
    pub(super) running: AtomicBool,
    pub(super) changes: AtomicU64,
    /// Pages it has worked on, with or without changes.
    pub(super) pages: AtomicU64,
    pub(super) errors: AtomicU64,
    pub(super) last_error: SyncMutex<Option<String>>,
}

/// The outcome of processing a page.
pub(super) enum PageOutcome {
    /// It read a page with this many changes.
    Page { changes: usize, drained: bool },
    /// It came to the end of its range, which goes on in these leases, and in others that were there before.
    Split(Vec<OwnedLease>),
}

impl RangeReader {
    pub(super) fn new(source: Arc<FeedSource>, lease: OwnedLease) -> Arc<Self> {
        let position = ReaderPosition::of_lease(lease.item());
        let state = LiveReader {
            served: lease.item().projections.clone(),
            position: position.continuation.clone(),
            progress: position.progress.clone(),
            checkpoint_at_ms: source.context.clock.monotonic_ms(),
            unsaved_since_ms: None,
            has_moved: false,
            checkpoint_is_behind: position.progress.is_behind(),
            ahead: None,
            unfinished: None,
        };
        let feed = RangeFeed::of_source(&source, lease.item().range.clone());
        Arc::new(Self {
            signal: feed.change_signal(),
            looks: Looks::default(),
            feed,
            backfills: Backfills::of_lease(lease.item(), &source.scope),
            lease: LeaseHandle::new(Arc::clone(&source.context), lease),
            source,
            statistics: ReaderStatistics::default(),
            wake: Notify::new(),
            live: Mutex::new(state),
            position: SyncMutex::new(position),
            checkpoint_due_ms: SyncMutex::default(),
            parts: SyncMutex::default(),
        })
    }

    /// Reports an event of its lease.
    pub(super) fn notify(&self, event: LeaseEvent<'_>) {
        let notifications = &self.source.context.settings.notifications;
        notifications.send(self.source.container, &self.feed.range, event);
    }

    /// Where it stands after the last page.
    pub(super) fn position(&self) -> ReaderPosition {
        self.position.lock().clone()
    }

    /// Changes with each write of this process to the range; `None` where the store gives no such signal.
    pub(super) fn signal(&self) -> Option<watch::Receiver<u64>> {
        self.signal.clone()
    }

    /// The number of the reader's looks for changes, and the number of the last look that found the range
    /// drained.
    pub(super) fn looks(&self) -> (u64, u64) {
        self.looks.counts()
    }

    /// Whether it has completed everything that this process has written to the range.
    pub(super) fn has_completed_own_writes(&self) -> bool {
        self.signal.as_ref().is_some_and(|signal| self.looks.has_seen(*signal.borrow()))
    }

    /// Has the reader look for changes soon, on a caller's account.
    pub(super) fn look_for_caller(&self) {
        self.looks.bill_next();
        self.wake.notify_one();
    }

    /// The store operations of looks for callers, not yet charged to any caller.
    pub(super) fn take_bill(&self) -> Vec<OperationRecord> {
        self.looks.take_bill()
    }

    /// Sets the parts of a range that was split: the reader ends with its current page.
    pub(super) fn set_parts(&self, parts: Option<Vec<FeedRange>>) {
        let ends = parts.is_some();
        *self.parts.lock() = parts;
        if ends {
            self.wake.notify_one();
        }
    }

    /// Processes one page.
    pub(super) async fn run_once(&self) -> Result<PageOutcome, PageError> {
        let mut state = self.live.lock().await;
        let ledger = Ledger::new();
        let look = self.looks.begin(self.signal.as_ref().map(|signal| *signal.borrow()));
        let turned = self.turn(&mut state, &ledger).await;
        if let Ok(PageOutcome::Page { drained: true, .. }) = &turned
            && !state.served.is_empty()
        {
            self.looks.found_drained(&look);
        }
        match &turned {
            Ok(PageOutcome::Page { changes, .. }) => {
                self.statistics.changes.fetch_add(*changes as u64, Ordering::Relaxed);
                self.source.clear_stalls(&self.lease.id);
            }
            Ok(PageOutcome::Split(_)) => {}
            Err(error) => self.record_failure(error, state.unfinished.is_some()),
        }
        self.publish(&state, turned.is_ok());
        self.statistics.pages.fetch_add(1, Ordering::Release);
        if look.is_for_caller {
            self.looks.bill(ledger.operations());
        } else {
            self.source.add_charge(&ledger);
        }
        turned
    }

    fn record_failure(&self, error: &PageError, is_page_read: bool) {
        let Some(cause) = error.stall_cause() else { return };
        // Of a page that was read, the source knows which projections have not completed it.
        if !is_page_read {
            self.source.record_stall(&self.lease.id, cause);
        }
        let error = error.to_string();
        self.statistics.record_error(&error);
        self.notify(LeaseEvent::Failed(&error));
    }

    pub(super) fn publish(&self, state: &LiveReader, has_looked: bool) {
        let now_ms = self.source.context.clock.monotonic_ms();
        let mut position = self.position.lock();
        let looked_at_ms = if has_looked { Some(now_ms) } else { position.looked_at_ms };
        let (continuation, progress) = (state.position.clone(), state.progress.clone());
        let serves = !state.served.is_empty();
        *position = ReaderPosition { continuation, progress, looked_at_ms, serves };
    }

    async fn turn(&self, state: &mut LiveReader, ledger: &Ledger) -> Result<PageOutcome, PageError> {
        if self.lease.is_lost() && !planted!("expired-lease-writes") {
            return Err(PageError::LeaseLost);
        }
        let parts = self.parts.lock().clone();
        if let Some(parts) = parts {
            return self.split(state, &parts, ledger).await;
        }
        if state.served.is_empty() {
            // Backfills serve all projections.
            return Ok(PageOutcome::Page { changes: 0, drained: true });
        }
        let page = match self.next_page(state, ledger).await {
            Ok(page) => page,
            Err(fault) => match self.parts_behind(&fault).await {
                Some(parts) => return self.split(state, &parts, ledger).await,
                None => return self.restart_after(state, fault, ledger).await,
            },
        };
        let (changes, drained) = (page.content.changes.len(), page.drained);
        state.has_moved |= !drained || self.source.context.store.counts_locally();
        if changes == 0 {
            state.position = Some(page.continuation);
            state.progress = page.progress;
        } else {
            self.complete(state, page, ledger).await?;
        }
        self.checkpoint_if_due(state, drained, ledger).await?;
        Ok(PageOutcome::Page { changes, drained })
    }

    /// Projects a page and moves the position.
    async fn complete(
        &self,
        state: &mut LiveReader,
        mut page: Page,
        ledger: &Ledger,
    ) -> Result<(), PageError> {
        if planted!("checkpoint-before-writes") {
            let place = (Some(page.continuation.clone()), page.progress.clone());
            self.lease.checkpoint(&self.source.context, place, ledger).await?;
        }
        let (worked, ahead) = self.work(&mut page, ledger).await;
        if let Err(error) = worked {
            state.unfinished = Some(page);
            return Err(error);
        }
        state.ahead = ahead;
        state.position = Some(page.continuation);
        state.progress = page.progress;
        let now_ms = self.source.context.clock.monotonic_ms();
        state.unsaved_since_ms.get_or_insert(now_ms);
        Ok(())
    }

    /// Projects a page, and reads the next meanwhile where that is wanted and there is more.
    async fn work(&self, page: &mut Page, ledger: &Ledger) -> (Result<(), PageError>, Option<FeedPage>) {
        let Page { content, continuation, drained, .. } = page;
        let worked = self.source.run_page(content, &self.lease, Pass::Live);
        if *drained || !self.source.context.settings.prefetches() {
            return (worked.await, None);
        }
        let (worked, ahead) = tokio::join!(worked, self.feed.page(Some(continuation), ledger));
        // A fault is met again when it is this page's turn.
        (worked, ahead.ok())
    }

    async fn next_page(&self, state: &mut LiveReader, ledger: &Ledger) -> Result<Page, Fault> {
        if let Some(page) = state.unfinished.take() {
            return Ok(Page { drained: false, ..page });
        }
        let page = match state.ahead.take() {
            // A page that was read before cannot show the present end.
            Some(page) => FeedPage { drained: false, ..page },
            None => self.feed.page(state.position.as_ref(), ledger).await?,
        };
        Ok(Page::of(page, state.progress.clone(), &state.served, &self.source))
    }

    /// The parts of the range, where a fault may mean that it was split.
    async fn parts_behind(&self, fault: &Fault) -> Option<Vec<FeedRange>> {
        if fault.kind.is_transient() {
            return None;
        }
        self.feed.parts().await.ok().flatten()
    }

    /// Has all projections begin at the beginning where the store refused the position: backfills serve them
    /// until then.
    async fn restart_after(
        &self,
        state: &mut LiveReader,
        fault: Fault,
        ledger: &Ledger,
    ) -> Result<PageOutcome, PageError> {
        if fault.kind != FaultKind::InvalidContinuation || state.position.is_none() {
            return Err(fault.into());
        }
        let container = self.source.container;
        tracing::warn!(%container, error = %fault, "the change feed is read again from the beginning, in the background");
        self.source.record_error(&fault.to_string());
        self.statistics.record_error(&fault.to_string());
        let lease = self.lease.restart(&self.source.scope, ledger).await?;
        state.served = Vec::new();
        state.position = None;
        state.progress = ReadProgress::default();
        (state.ahead, state.unfinished, state.unsaved_since_ms) = (None, None, None);
        self.backfills.set(&lease, &self.source.scope);
        Ok(PageOutcome::Page { changes: 0, drained: true })
    }

    /// Writes a checkpoint, and divides the lease. A crash in between leaves this lease beside some leases of
    /// its parts: the next owner divides it again.
    async fn split(
        &self,
        state: &mut LiveReader,
        parts: &[FeedRange],
        ledger: &Ledger,
    ) -> Result<PageOutcome, PageError> {
        self.checkpoint_position(state, ledger).await?;
        self.save_backfills(ledger).await?;
        let children = self.lease.split(&self.source.scope, parts, ledger).await?;
        let (container, range) = (self.source.container, &self.feed.range.0);
        tracing::info!(%container, range, parts = parts.len(), "a feed range was split");
        Ok(PageOutcome::Split(children))
    }

    /// Writes the checkpoint when the interval since the last one has passed: after the last page, or within
    /// a long series of pages.
    async fn checkpoint_if_due(
        &self,
        state: &mut LiveReader,
        drained: bool,
        ledger: &Ledger,
    ) -> Result<(), PageError> {
        let (settings, now_ms) = (&self.source.context.settings, self.source.context.clock.monotonic_ms());
        let interval_ms = milliseconds(settings.checkpoint_interval());
        let has_passed = |since_ms: i64, interval_ms| now_ms >= since_ms.saturating_add(interval_ms);
        let is_due = match state.unsaved_since_ms {
            Some(since_ms) => {
                has_passed(since_ms, interval_ms)
                    || drained && has_passed(state.checkpoint_at_ms, interval_ms)
            }
            None if drained && state.checkpoint_is_behind => has_passed(state.checkpoint_at_ms, interval_ms),
            None => {
                let after_ms = milliseconds(settings.empty_checkpoint_after);
                state.has_moved && has_passed(state.checkpoint_at_ms, after_ms)
            }
        };
        if is_due {
            self.checkpoint_position(state, ledger).await?;
        }
        let due_ms = state.unsaved_since_ms.map(|since_ms| since_ms.saturating_add(interval_ms));
        *self.checkpoint_due_ms.lock() = due_ms;
        Ok(())
    }

    /// When a checkpoint that was put off has to be written (monotonic ms).
    pub(super) fn checkpoint_due_ms(&self) -> Option<i64> {
        *self.checkpoint_due_ms.lock()
    }

    async fn checkpoint_position(&self, state: &mut LiveReader, ledger: &Ledger) -> Result<(), PageError> {
        let context = &self.source.context;
        let is_behind = state.progress.is_behind();
        if self.lease.continuation().await != state.position || state.checkpoint_is_behind != is_behind {
            let place = (state.position.clone(), state.progress.clone());
            self.lease.checkpoint(context, place, ledger).await?;
        }
        state.checkpoint_is_behind = is_behind;
        state.checkpoint_at_ms = context.clock.monotonic_ms();
        state.unsaved_since_ms = None;
        state.has_moved = false;
        Ok(())
    }

    /// Writes a checkpoint and releases the lease. A failure only means that the next owner waits, or reads
    /// some changes again.
    pub(super) async fn release(&self) {
        let mut state = self.live.lock().await;
        let ledger = Ledger::new();
        if let Err(error) = self.checkpoint_position(&mut state, &ledger).await {
            tracing::debug!(%error, "no last checkpoint");
        }
        if let Err(error) = self.save_backfills(&ledger).await {
            tracing::debug!(%error, "the positions of backfills were not saved");
        }
        if let Err(error) = self.lease.release(&self.source.context, &ledger).await {
            tracing::debug!(%error, "a lease was not released");
        }
        self.source.add_charge(&ledger);
    }
}

impl ReaderStatistics {
    pub(super) fn record_error(&self, error: &str) {
        self.errors.fetch_add(1, Ordering::Relaxed);
        *self.last_error.lock() = Some(error.to_owned());
    }
}
