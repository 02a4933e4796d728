//! Range reader: reads one feed range for the projections of its source under its lease (pages, checkpoint, and the end of a range
//! that was split).

use parking_lot::Mutex as SyncMutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::sync::{Mutex, Notify};

use super::lease::OwnedLease;
use super::lease_handle::LeaseHandle;
use super::range_feed::RangeFeed;
use super::runner::PageError;
use super::settings::milliseconds;
use super::source::{Source, SourcePage};
use onehop_store::{Continuation, Fault, FaultKind, FeedPage, FeedRange, Ledger};

pub(super) struct RangeReader {
    pub(super) source: Arc<Source>,
    pub(super) feed: RangeFeed,
    pub(super) lease: LeaseHandle,
    pub(super) statistics: ReaderStatistics,
    /// Ends the wait for changes.
    pub(super) wake: Notify,
    /// Locked for a page, so that a task and an explicit step do not overlap.
    state: Mutex<ReaderState>,
    /// A copy of the position, for the estimator.
    position: SyncMutex<Option<Continuation>>,
    /// The parts of the range, once a balancing round has seen its split.
    parts: SyncMutex<Option<Vec<FeedRange>>>,
}

struct ReaderState {
    /// Where the next page begins. It may be ahead of the checkpoint by pages that held nothing.
    position: Option<Continuation>,
    checkpoint_at_ms: i64,
    /// The page after the position, if it was read while the one before was worked on.
    ahead: Option<FeedPage>,
    /// The page after the position, if some projections have completed it and others failed.
    unfinished: Option<Page>,
}

/// A page and its progress.
struct Page {
    content: SourcePage,
    continuation: Continuation,
    drained: bool,
}

impl From<FeedPage> for Page {
    fn from(page: FeedPage) -> Self {
        let content = SourcePage::new(page.changes);
        Self { content, continuation: page.continuation, drained: page.drained }
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
    pub(super) fn new(source: Arc<Source>, lease: OwnedLease) -> Arc<Self> {
        let position = lease.item().continuation.clone();
        let state = ReaderState {
            position: position.clone(),
            checkpoint_at_ms: source.context.clock.now_ms(),
            ahead: None,
            unfinished: None,
        };
        Arc::new(Self {
            feed: RangeFeed::of_source(&source, lease.item().range.clone()),
            lease: LeaseHandle::new(Arc::clone(&source.context), lease),
            source,
            statistics: ReaderStatistics::default(),
            wake: Notify::new(),
            state: Mutex::new(state),
            position: SyncMutex::new(position),
            parts: SyncMutex::default(),
        })
    }

    /// The continuation after the last page.
    pub(super) fn position(&self) -> Option<Continuation> {
        self.position.lock().clone()
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
        let mut state = self.state.lock().await;
        let ledger = Ledger::new();
        let turned = self.turn(&mut state, &ledger).await;
        match &turned {
            Ok(PageOutcome::Page { changes, .. }) => {
                self.statistics.changes.fetch_add(*changes as u64, Ordering::Relaxed);
            }
            Err(PageError::Fault(fault)) => self.statistics.record_error(&fault.to_string()),
            _ => {}
        }
        *self.position.lock() = state.position.clone();
        self.statistics.pages.fetch_add(1, Ordering::Release);
        self.source.add_charge(&ledger);
        turned
    }

    async fn turn(&self, state: &mut ReaderState, ledger: &Ledger) -> Result<PageOutcome, PageError> {
        if self.lease.is_lost() {
            return Err(PageError::LeaseLost);
        }
        let parts = self.parts.lock().clone();
        if let Some(parts) = parts {
            return self.split(state, &parts, ledger).await;
        }
        let page = match self.next_page(state, ledger).await {
            Ok(page) => page,
            Err(fault) => match self.parts_behind(&fault).await {
                Some(parts) => return self.split(state, &parts, ledger).await,
                None => self.page_from_the_beginning(state, fault, ledger).await?,
            },
        };
        let (changes, drained) = (page.content.changes.len(), page.drained);
        if changes == 0 {
            state.position = Some(page.continuation);
            self.checkpoint_if_old(state, ledger).await?;
        } else {
            self.work_and_checkpoint(state, page, ledger).await?;
        }
        Ok(PageOutcome::Page { changes, drained })
    }

    async fn work_and_checkpoint(
        &self,
        state: &mut ReaderState,
        mut page: Page,
        ledger: &Ledger,
    ) -> Result<(), PageError> {
        let (worked, ahead) = self.work(&mut page, ledger).await;
        if let Err(error) = worked {
            state.unfinished = Some(page);
            return Err(error);
        }
        state.ahead = ahead;
        let context = &self.source.context;
        self.lease.checkpoint(context, Some(page.continuation.clone()), ledger).await?;
        state.position = Some(page.continuation);
        state.checkpoint_at_ms = context.clock.now_ms();
        Ok(())
    }

    /// Projects a page, and reads the next meanwhile where that is wanted and there is more.
    async fn work(&self, page: &mut Page, ledger: &Ledger) -> (Result<(), PageError>, Option<FeedPage>) {
        let Page { content, continuation, drained } = page;
        let worked = self.source.run_page(content, &self.lease);
        if *drained || !self.source.context.settings.prefetches() {
            return (worked.await, None);
        }
        let (worked, ahead) = tokio::join!(worked, self.feed.page(Some(continuation), ledger));
        // A fault is met again when it is this page's turn.
        (worked, ahead.ok())
    }

    async fn next_page(&self, state: &mut ReaderState, ledger: &Ledger) -> Result<Page, Fault> {
        if let Some(page) = state.unfinished.take() {
            return Ok(Page { drained: false, ..page });
        }
        let page = match state.ahead.take() {
            // What is there by now, a page that was read before cannot say.
            Some(page) => FeedPage { drained: false, ..page },
            None => self.feed.page(state.position.as_ref(), ledger).await?,
        };
        Ok(page.into())
    }

    /// The parts of the range, where a fault may mean that it was split.
    async fn parts_behind(&self, fault: &Fault) -> Option<Vec<FeedRange>> {
        if fault.kind.is_transient() {
            return None;
        }
        self.feed.parts().await.ok().flatten()
    }

    /// A page from the beginning when the store does not know the position any more, which is slow and does no harm.
    async fn page_from_the_beginning(
        &self,
        state: &mut ReaderState,
        fault: Fault,
        ledger: &Ledger,
    ) -> Result<Page, Fault> {
        if fault.kind != FaultKind::InvalidContinuation || state.position.is_none() {
            return Err(fault);
        }
        let container = self.source.container;
        tracing::warn!(%container, error = %fault, "the change feed is read again from the beginning");
        self.source.record_error(&fault.to_string());
        self.statistics.record_error(&fault.to_string());
        state.position = None;
        Ok(self.feed.page(None, ledger).await?.into())
    }

    /// Writes a checkpoint, and divides the lease. A crash in between leaves this lease beside some of those of
    /// its parts: the next owner divides it again.
    async fn split(
        &self,
        state: &mut ReaderState,
        parts: &[FeedRange],
        ledger: &Ledger,
    ) -> Result<PageOutcome, PageError> {
        self.checkpoint_position(state, ledger).await?;
        let children = self.lease.split(&self.source.scope, parts, ledger).await?;
        let (container, range) = (self.source.container, &self.feed.range.0);
        tracing::info!(%container, range, parts = parts.len(), "a feed range was split");
        Ok(PageOutcome::Split(children))
    }

    async fn checkpoint_if_old(&self, state: &mut ReaderState, ledger: &Ledger) -> Result<(), PageError> {
        let context = &self.source.context;
        let after_ms = milliseconds(context.settings.empty_checkpoint_after);
        if context.clock.now_ms() < state.checkpoint_at_ms.saturating_add(after_ms) {
            return Ok(());
        }
        self.checkpoint_position(state, ledger).await
    }

    async fn checkpoint_position(&self, state: &mut ReaderState, ledger: &Ledger) -> Result<(), PageError> {
        let context = &self.source.context;
        if self.lease.continuation().await != state.position {
            self.lease.checkpoint(context, state.position.clone(), ledger).await?;
        }
        state.checkpoint_at_ms = context.clock.now_ms();
        Ok(())
    }

    /// Writes a checkpoint and releases the lease. A failure only means that the next owner waits, or reads
    /// some changes again.
    pub(super) async fn release(&self) {
        let mut state = self.state.lock().await;
        let ledger = Ledger::new();
        if let Err(error) = self.checkpoint_position(&mut state, &ledger).await {
            tracing::debug!(%error, "no last checkpoint");
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
