//! The tasks: one that ticks and renews, and one for each lease that is held.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio::time::Instant;

use super::instance::{Instance, Stepped};
use super::reader::RangeReader;
use super::runner::PageError;
use super::settings::Sharing;
use super::tick::Steal;
use onehop_store::{Fault, FaultKind};

impl Instance {
    /// Ticks and renews until the stop; hands out a task for each lease that it comes to hold.
    pub(super) async fn supervise(self: &Arc<Self>, spawn: impl Fn(&'static str, BoxFuture<'static, ()>)) {
        tokio::join!(self.keep_ticking(spawn), self.keep_renewing());
        // Those with a task give theirs up when they have finished their page.
        for reader in self.held.start_following() {
            reader.release().await;
            self.held.remove(&reader);
        }
    }

    async fn keep_ticking(self: &Arc<Self>, spawn: impl Fn(&'static str, BoxFuture<'static, ()>)) {
        let host = &self.host;
        let mut due = Some(Steal::One);
        let (mut failures, mut next) = (0, None);
        while !host.stop.is_cancelled() {
            if let Some(steal) = due {
                match self.tick(steal).await {
                    Ok(()) => failures = 0,
                    Err(fault) => {
                        self.note_failed_tick(&fault, failures);
                        failures += 1;
                    }
                }
                let after = |delay| Instant::now() + host.jitter.spread(delay);
                next = match failures {
                    0 if steal == Steal::One => host.settings.sharing.acquire().map(after),
                    // A tick that was asked for does not put off the next.
                    0 => next,
                    failures => Some(after(host.settings.poll.delay(failures - 1))),
                };
            }
            for reader in self.held.start_following() {
                spawn(reader.runner().projection.name(), Arc::clone(self).follow(reader).boxed());
            }
            due = tokio::select! {
                () = host.stop.cancelled() => return,
                () = self.held.news.notified() => self.held.take_tick_wanted().then_some(Steal::None),
                () = until_or_forever(next) => Some(Steal::One),
            };
        }
    }

    fn note_failed_tick(&self, fault: &Fault, failures: u32) {
        for runner in &self.runners {
            runner.counters.note_error(&fault.to_string());
        }
        if failures == 0 {
            let following = self.following();
            let stopped: Vec<_> = following.iter().filter(|following| !following.running).collect();
            let stopped: Vec<_> = stopped.iter().map(|following| following.projection).collect();
            tracing::warn!(error = %fault, ?stopped, "leases cannot be taken; this is tried again");
        }
    }

    /// Reads page after page until the lease is gone or the processor is stopped; then finishes the page in hand, writes
    /// its checkpoint and releases the lease. Failures are published and tried again, without end.
    async fn follow(self: Arc<Self>, reader: Arc<RangeReader>) {
        reader.seen.running.store(true, Ordering::Relaxed);
        let host = &self.host;
        let mut signal = host.store.change_signal(reader.runner().projection.source());
        let (mut idle, mut failures) = (0, 0);
        while !host.stop.is_cancelled() {
            if let Some(signal) = &mut signal {
                // Before the page is read: what is written after that signals again.
                signal.mark_unchanged();
            }
            match self.step(&reader).await {
                Ok(Stepped::Page { changes, drained }) => {
                    failures = 0;
                    if changes > 0 || !drained {
                        idle = 0;
                        continue;
                    }
                    self.wait_for_changes(&reader, &mut signal, idle).await;
                    idle += 1;
                }
                Ok(Stepped::Ended) => break,
                Err(PageError::LeaseLost | PageError::Stopping) => {}
                Err(PageError::Fault(fault)) => {
                    note_failed_page(&reader, &fault, failures);
                    host.pause(host.settings.poll.delay(failures)).await;
                    failures += 1;
                }
            }
        }
        reader.seen.running.store(false, Ordering::Relaxed);
        if !reader.hold.is_lost() {
            reader.release().await;
            self.held.remove(&reader);
        }
    }

    /// Waits for the store's signal, and polls less and less often where it gives none, or where other processes
    /// write as well.
    async fn wait_for_changes(
        &self,
        reader: &RangeReader,
        signal: &mut Option<watch::Receiver<u64>>,
        idle: u32,
    ) {
        let settings = &self.host.settings;
        let polls = signal.is_none() || settings.sharing != Sharing::Alone;
        let poll = polls.then(|| self.host.jitter.spread(settings.poll.delay(idle)));
        let open = tokio::select! {
            () = self.host.stop.cancelled() => return,
            () = reader.hold.lost() => return,
            () = reader.wake.notified() => return,
            () = sleep_or_forever(poll) => return,
            open = changed(signal) => open,
        };
        if !open {
            *signal = None;
        } else if !settings.gather.is_zero() {
            self.host.stop.run_until_cancelled(tokio::time::sleep(settings.gather)).await;
        }
    }
}

fn note_failed_page(reader: &RangeReader, fault: &Fault, failures: u32) {
    let projection = reader.runner().projection.name();
    reader.runner().counters.note_error(&fault.to_string());
    // The store itself says once that it has no room.
    if failures == 0 && fault.kind != FaultKind::Full {
        let range = &reader.feed.range.0;
        tracing::warn!(projection, range, error = %fault, "a page failed and is tried again");
    }
}

/// Comes with the next signal, `false` when there will be none; never where there is no signal.
async fn changed(signal: &mut Option<watch::Receiver<u64>>) -> bool {
    match signal {
        Some(signal) => signal.changed().await.is_ok(),
        None => std::future::pending().await,
    }
}

async fn until_or_forever(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

async fn sleep_or_forever(duration: Option<Duration>) {
    match duration {
        Some(duration) if duration.is_zero() => tokio::task::yield_now().await,
        Some(duration) => tokio::time::sleep(duration).await,
        None => std::future::pending().await,
    }
}
