//! Processor context: store, clock, settings, cancellation, jitter and liveness, shared by all parts of an
//! instance.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::coverage::RangeSplits;
use super::page_error::PageError;
use super::settings::{Jitter, Settings, Sharing};
use onehop_runtime::clock::Clock;
use onehop_store::{Fault, FeedRange, Store};

pub(super) struct ProcessorContext {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) settings: Settings,
    pub(super) stop: CancellationToken,
    pub(super) jitter: Jitter,
    /// Feed ranges that are backfilled at the same time.
    pub(super) backfill_permits: Semaphore,
    /// Until when the instance may work on its leases (monotonic ms).
    alive_until_ms: AtomicI64,
}

impl ProcessorContext {
    pub(super) fn new(
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        settings: Settings,
        stop: CancellationToken,
    ) -> Self {
        let jitter = Jitter::new(settings.jitter_seed);
        let alive_until_ms = if settings.sharing == Sharing::Alone { i64::MAX } else { i64::MIN };
        let backfill_permits = Semaphore::new(settings.rebuild_ranges_max.clamp(1, Semaphore::MAX_PERMITS));
        let alive_until_ms = AtomicI64::new(alive_until_ms);
        Self { store, clock, settings, stop, jitter, backfill_permits, alive_until_ms }
    }

    /// Whether the instance may work on its leases: its heartbeat was written within the expiry, or it is
    /// alone.
    pub(super) fn is_alive(&self) -> bool {
        self.clock.monotonic_ms() < self.alive_until_ms.load(Ordering::Relaxed)
    }

    /// Lets the instance work until this moment (monotonic ms).
    pub(super) fn live_until(&self, until_ms: i64) {
        self.alive_until_ms.store(until_ms, Ordering::Relaxed);
    }

    /// Ends the work on leases.
    pub(super) fn end_life(&self) {
        self.live_until(i64::MIN);
    }

    /// Waits, with jitter; `false` when the stop came first.
    pub(super) async fn pause(&self, delay: Duration) -> bool {
        if self.stop.is_cancelled() {
            return false;
        }
        if delay.is_zero() {
            onehop_runtime::tasks::yield_now().await;
            return true;
        }
        let sleep = self.clock.sleep(self.jitter.spread(delay));
        self.stop.run_until_cancelled(sleep).await.is_some()
    }

    /// Waits for the retry delay of a fault, or for the backoff if that is longer.
    pub(super) async fn pause_after_fault(&self, retry: u32, fault: &Fault) -> bool {
        let backoff = self.settings.fault_backoff.delay(retry);
        self.pause(fault.retry_after.unwrap_or(backoff).max(backoff)).await
    }

    /// Waits before a page that failed is tried again; `false` when the stop came first.
    pub(super) async fn pause_after_page(&self, retry: u32, error: &PageError) -> bool {
        let backoff = self.settings.page_backoff.delay(retry);
        let retry_after = match error {
            PageError::Fault(fault) => fault.retry_after,
            PageError::Handler { after, .. } => *after,
            _ => None,
        };
        self.pause(retry_after.unwrap_or(backoff).max(backoff)).await
    }

    /// Tries again after transient faults; the last one is returned when that did not help, or the stop came.
    pub(super) async fn with_retries<T, F: Future<Output = Result<T, Fault>>>(
        &self,
        attempt: impl Fn() -> F,
    ) -> Result<T, Fault> {
        let mut retry = 0;
        loop {
            match attempt().await {
                Err(fault) if fault.kind.is_transient() && retry < self.settings.fault_attempts_max => {
                    if !self.pause_after_fault(retry, &fault).await {
                        return Err(fault);
                    }
                    retry += 1;
                }
                outcome => return outcome,
            }
        }
    }
}

impl RangeSplits for ProcessorContext {
    fn parts_of(&self, whole: &FeedRange, present: &[FeedRange]) -> Option<Vec<FeedRange>> {
        self.store.parts_of(whole, present)
    }
}
