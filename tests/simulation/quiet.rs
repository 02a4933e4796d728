//! Quiet: faults end, read models catch up, and months pass.

use std::sync::Arc;
use std::time::Duration;

use crate::executor::Group;
use crate::finale::verify_in_a_lull;
use crate::trace;
use crate::world::World;

/// More than a lease lives.
const LEASE_EXPIRY: Duration = Duration::from_secs(150);
/// More than read models need to catch up once all faults have ended.
const CATCH_UP_MAX: Duration = Duration::from_secs(900);
/// Longer than tombstones are kept.
const MONTH_MS: i64 = 31 * 24 * 3_600 * 1_000;
/// Purges after a month, and items that each deletes at most.
const PURGES: usize = 120;
const PURGED_ITEMS: usize = 60;

impl World {
    /// Lets a month pass where a process has caught up: tombstones and records of idempotency keys expire.
    pub async fn pass_a_month(self: &Arc<Self>) -> bool {
        self.process_numbers().iter().for_each(|number| self.executor.resume(Group(*number)));
        self.calm();
        self.deploy_everywhere().await;
        // A month in which a change waits, or is parked, loses deletions.
        if !self.expect_caught_up().await || self.store.was_damaged() {
            return false;
        }
        let Some(number) = self.any_process() else { return false };
        let Some(clock) = self.clock_of(number) else { return false };
        trace::line("world", format!("a month passes for process {number}"));
        clock.step_ms(MONTH_MS);
        self.executor.set_calm(false);
        self.store.slow(number, &self.dice);
        self.purge_beside_acts(number);
        self.count("month");
        true
    }

    /// A lull: faults end for a while, read models catch up by themselves, and verification finds no drift. A
    /// later change would hide a drift from the end of the run.
    pub async fn lull(self: &Arc<Self>) {
        self.process_numbers().iter().for_each(|number| self.executor.resume(Group(*number)));
        self.calm();
        self.deploy_everywhere().await;
        if self.expect_caught_up().await
            && !self.store.was_damaged()
            && let Some(number) = self.any_process()
        {
            trace::line("world", format!("a lull, verified by process {number}"));
            verify_in_a_lull(self, number).await;
            self.count("lull");
        }
        self.store.stir(self.phase());
        self.executor.set_calm(false);
    }

    /// Ends faults and stalls for a while.
    fn calm(&self) {
        self.store.calm();
        self.executor.set_calm(true);
    }

    /// Purges expired items again and again for a while.
    fn purge_beside_acts(&self, number: u32) {
        let Some(store) = self.store.embedded().map(|store| Arc::downgrade(&store)) else { return };
        let (dice, pace_ms) = (self.dice.clone(), self.phase().pace_ms);
        self.executor.spawn(Group(number), async move {
            for _ in 0..PURGES {
                tokio::time::sleep(Duration::from_millis(dice.between(1, 3 * pace_ms))).await;
                let Some(store) = store.upgrade() else { return };
                // A fault is met again by the next purge.
                let _ = store.purge_expired(1 + dice.place(PURGED_ITEMS)).await;
            }
        });
    }

    /// Ends all faults and processes, starts one process, and waits until read models have caught up. Returns
    /// its number.
    pub async fn settle(self: &Arc<Self>) -> Option<u32> {
        self.store.mend();
        self.executor.set_calm(true);
        let numbers = self.process_numbers();
        numbers.iter().for_each(|number| self.executor.resume(Group(*number)));
        self.deploy_everywhere().await;
        self.expect_caught_up().await;
        for number in self.process_numbers() {
            if self.dice.percent(50) {
                self.stop(number).await;
            } else {
                self.kill(number);
            }
        }
        tokio::time::sleep(LEASE_EXPIRY).await;
        let number = self.start_release(false);
        for _ in 0..600 {
            if self.router_of(number).is_some() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        let domain = self.domain_of(number)?;
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let replays = self.store.was_damaged() || self.store.was_full();
        self.executor.spawn(Group(number), async move {
            tokio::time::sleep(LEASE_EXPIRY).await;
            let mut drained = domain.engine().processor.drain().await.map_err(|error| error.to_string());
            if replays && drained.is_ok() {
                // An unreadable change is poison, and so is a change without room. The operator replays.
                drained = domain.engine().replay(None).await.map(drop).map_err(|error| error.to_string());
            }
            let _ = sender.send(drained);
        });
        match tokio::time::timeout(Duration::from_secs(3_600), receiver).await {
            Ok(Ok(Ok(()))) => {}
            other => self
                .history
                .error(format!("the change feed was not drained after all faults ended: {other:?}")),
        }
        Some(number)
    }

    /// The operator has made room, and replays the parked changes.
    pub async fn replay(&self, number: u32) {
        let Some(domain) = self.domain_of(number) else { return };
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.executor.spawn(Group(number), async move {
            let _ = sender.send(domain.engine().replay(None).await.map_err(|error| format!("{error:#}")));
        });
        if let Ok(Err(error)) = receiver.await {
            self.history.error(format!("parked changes are not replayed: {error}"));
        }
    }

    /// Where a process runs, its read models catch up by themselves. Whether one runs and they have.
    async fn expect_caught_up(self: &Arc<Self>) -> bool {
        tokio::time::sleep(CATCH_UP_MAX).await;
        let Some(number) = self.any_process() else { return false };
        let Some(domain) = self.domain_of(number) else { return false };
        if self.store.was_full() {
            self.replay(number).await;
            // Live queries look for writes at intervals.
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.executor.spawn(Group(number), async move {
            let processor = &domain.engine().processor;
            let _ = sender.send((processor.status().await, processor.processor_status().await));
        });
        let Ok((Ok(status), Ok(leases))) = receiver.await else { return false };
        let waiting: Vec<String> = status
            .iter()
            .filter(|status| status.pending_changes > 0)
            .map(|status| format!("{} changes of {}", status.pending_changes, status.projection))
            .collect();
        if !waiting.is_empty() {
            let waiting = format!("after {CATCH_UP_MAX:?} there wait {}; {leases:?}", waiting.join(", "));
            self.history.broken("read models catch up by themselves", waiting);
            return false;
        }
        let in_building = self.fields_in_building();
        if !in_building.is_empty() {
            let detail = format!("after {CATCH_UP_MAX:?}: {in_building:?}");
            self.history.broken("read models of a changed model are built", detail);
            return false;
        }
        self.subscriptions.check(self);
        self.live_queries.check(self).await;
        true
    }
}
