//! The reader of one feed range for one projection: page, writes, checkpoint, and the wait for more.

use std::sync::{Arc, Mutex as SyncMutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Mutex, watch};

use super::lease::{Acquired, Lease};
use super::notes::Notes;
use super::runner::{PageError, Runner};
use super::settings::Sharing;
use crate::store::{Continuation, Fault, FaultKind, FeedPage, FeedRange, FeedRequest, Ledger};

/// A handle to the reader of one feed range. Give each its own task; they end when the processor is stopped.
#[derive(Clone)]
pub struct Reader(pub(super) Arc<RangeReader>);

impl Reader {
    /// The projection that it serves.
    #[must_use]
    pub fn projection(&self) -> &'static str {
        self.0.runner.projection.name()
    }

    /// Reads page after page until the processor is stopped; then finishes the page in hand, writes its checkpoint
    /// and releases the lease. Failures are published and tried again, without end.
    pub async fn run(self) {
        self.0.run().await;
    }
}

pub(super) struct RangeReader {
    pub(super) runner: Arc<Runner>,
    range: FeedRange,
    /// Held for a page, so that `run` and a step from outside take turns.
    state: Mutex<State>,
    /// A copy of the position for those who only count.
    position: SyncMutex<Option<Continuation>>,
}

#[derive(Default)]
struct State {
    lease: Option<Mutex<Lease>>,
    /// Where the next page begins. It may be ahead of the checkpoint by pages that held nothing.
    position: Option<Continuation>,
    checkpoint_at_ms: i64,
}

/// What a single turn of a reader did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Turned {
    /// It read a page with so many changes.
    Page { changes: usize, drained: bool },
    /// The lease belongs to another process.
    Busy,
}

impl RangeReader {
    pub(super) fn new(runner: Arc<Runner>, range: FeedRange) -> Self {
        Self { runner, range, state: Mutex::default(), position: SyncMutex::default() }
    }

    /// Acquires the lease if need be, and works on one page.
    pub(super) async fn run_once(&self) -> Result<Turned, PageError> {
        let mut state = self.state.lock().await;
        let ledger = Ledger::new();
        let turned = self.turn(&mut state, &ledger).await;
        if matches!(turned, Err(PageError::LeaseLost)) {
            state.lease = None;
        }
        self.publish(&state);
        self.runner.counters.add_charge(&ledger);
        turned
    }

    async fn turn(&self, state: &mut State, ledger: &Ledger) -> Result<Turned, PageError> {
        let host = &self.runner.host;
        if state.lease.is_none() && !self.acquire(state, ledger).await? {
            return Ok(Turned::Busy);
        }
        let page = self.read_page(state, ledger).await?;
        let Some(lease) = &mut state.lease else { return Err(PageError::LeaseLost) };
        let (changes, drained) = (page.changes.len(), page.drained);
        if changes == 0 {
            lease.get_mut().renew(host, ledger).await?;
            state.position = Some(page.continuation);
            self.checkpoint_if_old(state, ledger).await?;
            return Ok(Turned::Page { changes, drained });
        }
        self.runner.run_page(page.changes, Notes::InLease(lease), ledger).await?;
        lease.get_mut().checkpoint(host, Some(page.continuation.clone()), ledger).await?;
        state.position = Some(page.continuation);
        state.checkpoint_at_ms = host.clock.now_ms();
        Ok(Turned::Page { changes, drained })
    }

    async fn acquire(&self, state: &mut State, ledger: &Ledger) -> Result<bool, Fault> {
        let Runner { host, projection, .. } = &*self.runner;
        let acquired =
            Lease::acquire(host, projection.name(), projection.source(), &self.range, ledger).await?;
        let Acquired::Held(lease) = acquired else { return Ok(false) };
        state.position = lease.continuation().cloned();
        state.checkpoint_at_ms = host.clock.now_ms();
        state.lease = Some(Mutex::new(*lease));
        Ok(true)
    }

    /// A page after the position; from the beginning when the store does not know the position any more, which is
    /// slow and does no harm.
    async fn read_page(&self, state: &mut State, ledger: &Ledger) -> Result<FeedPage, Fault> {
        let host = &self.runner.host;
        let first = host.store.read_change_feed(&self.request(state.position.as_ref()), ledger).await;
        match first {
            Err(fault) if fault.kind == FaultKind::InvalidContinuation && state.position.is_some() => {
                let projection = self.runner.projection.name();
                tracing::warn!(projection, error = %fault, "the change feed is read again from the beginning");
                self.runner.counters.note_error(&fault.to_string());
                state.position = None;
                host.store.read_change_feed(&self.request(None), ledger).await
            }
            page => page,
        }
    }

    async fn checkpoint_if_old(&self, state: &mut State, ledger: &Ledger) -> Result<(), PageError> {
        let settings = &self.runner.host.settings;
        let after_ms = i64::try_from(settings.empty_checkpoint_after.as_millis()).unwrap_or(i64::MAX);
        if self.runner.host.clock.now_ms() < state.checkpoint_at_ms.saturating_add(after_ms) {
            return Ok(());
        }
        self.checkpoint_position(state, ledger).await
    }

    async fn checkpoint_position(&self, state: &mut State, ledger: &Ledger) -> Result<(), PageError> {
        let host = &self.runner.host;
        let Some(lease) = state.lease.as_mut().map(Mutex::get_mut) else { return Ok(()) };
        if lease.continuation() != state.position.as_ref() {
            lease.checkpoint(host, state.position.clone(), ledger).await?;
        }
        state.checkpoint_at_ms = host.clock.now_ms();
        Ok(())
    }

    /// How many changes wait, up to `at_most`, and when the oldest was written (Unix ms).
    pub(super) async fn pending(&self, at_most: u64) -> Result<(u64, Option<i64>), Fault> {
        let position = self.position.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.runner.host.store.pending_changes(&self.request(position.as_ref()), at_most).await
    }

    /// Reads a page from anywhere, apart from this reader's position.
    pub(super) async fn read_from(
        &self,
        position: Option<&Continuation>,
        ledger: &Ledger,
    ) -> Result<FeedPage, Fault> {
        self.runner.host.store.read_change_feed(&self.request(position), ledger).await
    }

    /// How many changes there are from the beginning.
    pub(super) async fn total(&self) -> Result<u64, Fault> {
        Ok(self.runner.host.store.pending_changes(&self.request(None), u64::MAX).await?.0)
    }

    fn request<'a>(&'a self, continuation: Option<&'a Continuation>) -> FeedRequest<'a> {
        let Runner { host, projection, .. } = &*self.runner;
        FeedRequest {
            container: projection.source(),
            range: &self.range,
            continuation,
            types: projection.types(),
            limit: host.settings.page_items_max,
        }
    }

    fn publish(&self, state: &State) {
        *self.position.lock().unwrap_or_else(PoisonError::into_inner) = state.position.clone();
    }

    async fn run(&self) {
        let _running = self.runner.counters.run();
        let host = &self.runner.host;
        let mut signal = host.store.change_signal(self.runner.projection.source());
        let (mut idle, mut failures) = (0, 0);
        while !host.stop.is_cancelled() {
            if let Some(signal) = &mut signal {
                // Before the page is read: what is written after that signals again.
                signal.mark_unchanged();
            }
            match self.run_once().await {
                Ok(Turned::Page { changes, drained }) => {
                    failures = 0;
                    if changes > 0 || !drained {
                        idle = 0;
                        continue;
                    }
                    self.wait_for_changes(&mut signal, idle).await;
                    idle += 1;
                }
                Ok(Turned::Busy) => self.wait_for_lease().await,
                Err(PageError::LeaseLost | PageError::Stopping) => {}
                Err(PageError::Fault(fault)) => {
                    self.note_failure(&fault, failures);
                    host.pause(host.settings.poll.delay(failures)).await;
                    failures += 1;
                }
            }
        }
        self.release().await;
    }

    /// Waits for the store's signal, or polls less and less often where it gives none.
    async fn wait_for_changes(&self, signal: &mut Option<watch::Receiver<u64>>, idle: u32) {
        let host = &self.runner.host;
        let Some(changed) = signal else {
            host.pause(host.settings.poll.delay(idle)).await;
            return;
        };
        let woken = tokio::select! {
            () = host.stop.cancelled() => return,
            changed = changed.changed() => changed.is_ok(),
            () = sleep_or_forever(renewal(host.settings.sharing)) => true,
        };
        if !woken {
            *signal = None;
        } else if !host.settings.gather.is_zero() {
            host.stop.run_until_cancelled(tokio::time::sleep(host.settings.gather)).await;
        }
    }

    async fn wait_for_lease(&self) {
        let host = &self.runner.host;
        if let Sharing::WithOthers { acquire, .. } = host.settings.sharing {
            host.pause(acquire).await;
        } else {
            // Alone, a lease is busy only when a write of our own raced this one.
            host.pause(host.settings.stale_backoff.longest).await;
        }
    }

    fn note_failure(&self, fault: &Fault, failures: u32) {
        let projection = self.runner.projection.name();
        self.runner.counters.note_error(&fault.to_string());
        if failures == 0 {
            tracing::warn!(projection, range = self.range.0, error = %fault, "a page failed and is tried again");
        }
    }

    /// Writes down the position and gives the lease up. A failure only means that the next owner waits, or reads
    /// some changes again.
    pub(super) async fn release(&self) {
        let mut state = self.state.lock().await;
        let ledger = Ledger::new();
        if let Err(error) = self.checkpoint_position(&mut state, &ledger).await {
            tracing::debug!(%error, "no last checkpoint");
        }
        if let Some(lease) = state.lease.take()
            && let Err(error) = lease.into_inner().release(&self.runner.host, &ledger).await
        {
            tracing::debug!(%error, "a lease was not released");
        }
        self.runner.counters.add_charge(&ledger);
    }
}

fn renewal(sharing: Sharing) -> Option<Duration> {
    match sharing {
        Sharing::Alone => None,
        Sharing::WithOthers { renew, .. } => Some(renew),
    }
}

async fn sleep_or_forever(duration: Option<Duration>) {
    match duration {
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}
