//! Processor context: store, clock, settings, cancellation and jitter, shared by all parts of an instance.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::coverage::RangeSplits;
use super::settings::{Jitter, Settings};
use onehop_runtime::clock::Clock;
use onehop_store::{Fault, FeedRange, Store};

pub(super) struct ProcessorContext {
    pub(super) store: Arc<dyn Store>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) settings: Settings,
    pub(super) stop: CancellationToken,
    pub(super) jitter: Jitter,
}

impl ProcessorContext {
    /// Waits, with jitter; `false` when the stop came first.
    pub(super) async fn pause(&self, delay: Duration) -> bool {
        if self.stop.is_cancelled() {
            return false;
        }
        if delay.is_zero() {
            tokio::task::yield_now().await;
            return true;
        }
        let sleep = tokio::time::sleep(self.jitter.spread(delay));
        self.stop.run_until_cancelled(sleep).await.is_some()
    }

    /// Waits for the retry delay of a fault, or for the backoff if that is longer.
    pub(super) async fn pause_after_fault(&self, retry: u32, fault: &Fault) -> bool {
        let backoff = self.settings.fault_backoff.delay(retry);
        self.pause(fault.retry_after.unwrap_or(backoff).max(backoff)).await
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
