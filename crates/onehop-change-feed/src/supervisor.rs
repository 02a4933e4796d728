//! Supervisor: the background tasks of an instance. One balances leases and writes heartbeats; each owned
//! lease has one of its own.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::watch;

use super::backfills::BackfillOutcome;
use super::instance::{Instance, StepOutcome};
use super::load_balancer::Steal;
use super::page_error::{PageError, StallCause};
use super::poll_schedule::{Occasion, PollSchedule};
use super::reader::RangeReader;
use super::settings::{Sharing, milliseconds};
use onehop_runtime::clock::Clock;
use onehop_store::{Fault, FaultKind};

impl Instance {
    /// Balances leases, writes heartbeats and replays former dead letters until the stop, and starts a task
    /// for each lease that the instance acquires.
    pub(super) async fn supervise(self: &Arc<Self>, spawn: impl Fn(&'static str, BoxFuture<'static, ()>)) {
        tokio::join!(self.keep_balancing(spawn), self.keep_renewing(), self.keep_replaying());
        // Readers with a task give their leases up when they have finished their page.
        for reader in self.owned.take_unstarted() {
            reader.release().await;
            self.owned.remove(&reader);
        }
        self.leave_if_stopped().await;
    }

    async fn keep_balancing(self: &Arc<Self>, spawn: impl Fn(&'static str, BoxFuture<'static, ()>)) {
        let context = &self.context;
        let mut due = Some(Steal::One);
        let (mut failures, mut next) = (0, None);
        let now_ms = || context.clock.monotonic_ms();
        while !context.stop.is_cancelled() {
            if let Some(steal) = due {
                let balanced = match steal {
                    Steal::One => self.balance_regularly().await,
                    Steal::None => self.balance_leases(Steal::None).await,
                };
                match balanced {
                    Ok(()) => failures = 0,
                    Err(fault) => {
                        self.log_failed_balancing(&fault, failures);
                        failures += 1;
                    }
                }
                next = match failures {
                    0 if steal == Steal::One => {
                        context.settings.sharing.acquire().map(|acquire| now_ms() + milliseconds(acquire))
                    }
                    // A requested round does not delay the next regular one.
                    0 => next,
                    failures => {
                        let delay = context.settings.poll.delay(failures - 1);
                        Some(now_ms() + milliseconds(context.jitter.spread(delay)))
                    }
                };
            }
            for reader in self.owned.take_unstarted() {
                spawn(reader.source.container.as_str(), Arc::clone(self).read_range(reader).boxed());
            }
            due = tokio::select! {
                biased;
                () = context.stop.cancelled() => return,
                () = self.owned.changed.notified() => self.owned.take_balancing_request().then_some(Steal::None),
                () = sleep_or_forever(&*context.clock, next.map(|next| until(next, now_ms()))) => Some(Steal::One),
            };
        }
    }

    fn log_failed_balancing(&self, fault: &Fault, failures: u32) {
        for runner in &self.runners {
            runner.counters.record_error(&fault.to_string());
        }
        if failures == 0 {
            let following = self.health();
            let stopped: Vec<_> = following.iter().filter(|following| !following.running).collect();
            let stopped: Vec<_> = stopped.iter().map(|following| following.projection).collect();
            tracing::warn!(error = %fault, ?stopped, "leases cannot be taken; this is tried again");
        }
    }

    /// Reads page after page until the lease is gone or the processor is stopped; then finishes the page in
    /// hand, writes its checkpoint and releases the lease.
    async fn read_range(self: Arc<Self>, reader: Arc<RangeReader>) {
        reader.statistics.running.store(true, Ordering::Relaxed);
        tokio::join!(self.keep_reading(&reader), self.keep_backfilling(&reader));
        reader.statistics.running.store(false, Ordering::Relaxed);
        if !reader.lease.is_lost() {
            reader.release().await;
            self.owned.remove(&reader);
        }
        self.leave_if_stopped().await;
    }

    /// Reads the pages of the live reader. Failures are published and tried again, without end.
    async fn keep_reading(&self, reader: &Arc<RangeReader>) {
        let context = &self.context;
        let mut signal = reader.signal();
        let (mut schedule, mut failures) = (PollSchedule::new(), 0);
        while !context.stop.is_cancelled() {
            if let Some(signal) = &mut signal {
                // Before the page is read: later writes signal again.
                signal.mark_unchanged();
            }
            match self.step(reader).await {
                Ok(StepOutcome::Page { changes, drained }) => {
                    failures = 0;
                    if changes > 0 {
                        schedule.record_changes();
                    }
                    if drained {
                        if changes > 0 {
                            self.rest().await;
                        }
                        let occasion = self.wait_for_changes(reader, &mut signal, &mut schedule).await;
                        schedule.begin(occasion);
                    }
                }
                Ok(StepOutcome::Ended) => break,
                Err(error) => {
                    if error.stall_cause().is_some() {
                        log_failed_page(reader, &error, failures);
                        context.pause_after_page(failures, &error).await;
                        failures = failures.saturating_add(1);
                    }
                }
            }
        }
    }

    /// Works on the backfills of a range, page after page, while its lease is owned. Failures are tried
    /// again, without end.
    async fn keep_backfilling(&self, reader: &RangeReader) {
        let context = &self.context;
        let mut failures = 0;
        while !context.stop.is_cancelled() && !reader.lease.is_lost() {
            // The budget of background work may be waited for: the stop does not wait for it.
            let worked = tokio::select! {
                biased;
                () = context.stop.cancelled() => return,
                () = reader.lease.lost() => return,
                worked = reader.backfill_once() => worked,
            };
            match worked {
                Ok(BackfillOutcome::Page { .. }) => {
                    failures = 0;
                    // A position may be waited for.
                    self.progress.send_modify(|pages| *pages = pages.wrapping_add(1));
                }
                Ok(BackfillOutcome::Complete) => tokio::select! {
                    biased;
                    () = context.stop.cancelled() => {}
                    () = reader.lease.lost() => {}
                    () = reader.backfills.changed.notified() => {}
                },
                Err(error) if error.stall_cause().is_some() => {
                    let pause = context.pause_after_page(failures, &error);
                    tokio::select! {
                        biased;
                        _ = pause => failures = failures.saturating_add(1),
                        () = reader.lease.lost() => {}
                    }
                }
                Err(_) => return,
            }
        }
    }

    /// Lets further writes come together for the next page, unless a position is waited for, or until one is.
    async fn rest(&self) {
        let (context, rest) = (&self.context, self.context.settings.page_rest());
        if rest.is_zero() || self.progress.receiver_count() > 0 {
            return;
        }
        tokio::select! {
            biased;
            () = context.stop.cancelled() => {}
            () = self.position_waits.notified() => {}
            () = context.clock.sleep(rest) => {}
        }
    }

    /// Waits for the signal of a write to the range. Polls beside it where the store gives no signal, or
    /// where other processes write as well.
    async fn wait_for_changes(
        &self,
        reader: &RangeReader,
        signal: &mut Option<watch::Receiver<u64>>,
        schedule: &mut PollSchedule,
    ) -> Occasion {
        let (context, clock) = (&self.context, &*self.context.clock);
        let settings = &context.settings;
        let polls = signal.is_none() || settings.sharing != Sharing::Alone;
        let delay = if polls {
            Some(schedule.next_delay(settings, &context.jitter))
        } else {
            reader.checkpoint_due_ms().map(|due_ms| until(due_ms, clock.monotonic_ms()))
        };
        let is_open = tokio::select! {
            biased;
            () = context.stop.cancelled() => return Occasion::Poll,
            () = reader.lease.lost() => return Occasion::Poll,
            () = reader.wake.notified() => return Occasion::Signal,
            () = sleep_or_forever(clock, delay) => return Occasion::Poll,
            is_open = changed(signal) => is_open,
        };
        if !is_open {
            *signal = None;
        } else if !settings.gather.is_zero() {
            context.stop.run_until_cancelled(clock.sleep(settings.gather)).await;
        }
        Occasion::Signal
    }
}

fn log_failed_page(reader: &RangeReader, error: &PageError, failures: u32) {
    reader.source.record_error(&error.to_string());
    // The store itself says once that it has no room.
    let is_known = error.stall_cause() == Some(StallCause::Fault(FaultKind::Full));
    if failures == 0 && !is_known {
        let (container, range) = (reader.source.container, &reader.feed.range.0);
        tracing::warn!(%container, range, %error, "a page failed and is tried again");
    }
}

/// Comes with the next signal, `false` when there will be no more; never without a signal.
async fn changed(signal: &mut Option<watch::Receiver<u64>>) -> bool {
    match signal {
        Some(signal) => signal.changed().await.is_ok(),
        None => std::future::pending().await,
    }
}

/// The time that is left until a moment (monotonic ms).
fn until(moment_ms: i64, now_ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(moment_ms.saturating_sub(now_ms)).unwrap_or(0))
}

async fn sleep_or_forever(clock: &dyn Clock, duration: Option<Duration>) {
    match duration {
        Some(duration) if duration.is_zero() => onehop_runtime::tasks::yield_now().await,
        Some(duration) => clock.sleep(duration).await,
        None => std::future::pending().await,
    }
}
