//! Membership: which instances there are, how they learn of each other, and when an instance is at rest.

use std::sync::atomic::Ordering;

use futures::future::join_all;

use super::coverage::Coverage;
use super::heartbeat::{Beat, StoredHeartbeat};
use super::instance::{BalancingState, Instance, LeaseSnapshot, Membership};
use super::lease::{LeaseItem, StoredLease};
use super::settings::{Sharing, milliseconds};
use onehop_store::{Fault, Ledger};

impl Instance {
    /// Whether the other instances are alive, and the leases cover the feed ranges.
    pub(super) async fn is_undisturbed(&self) -> Result<bool, Fault> {
        let others = self.observations.all();
        if !others.is_empty() {
            let ledger = Ledger::new();
            let found = StoredHeartbeat::read_many(&self.context, &others, &ledger).await;
            self.add_charge(&ledger);
            let read = others.into_iter().zip(found?).collect();
            let now_ms = self.context.clock.monotonic_ms();
            if !self.observations.record_again(read, now_ms, self.expire_ms()) {
                return Ok(false);
            }
        }
        let known = self.known();
        for source in &self.sources {
            let present = self.context.store.feed_ranges(source.container).await?;
            let of_source = known.iter().filter(|lease| lease.source.container == source.container);
            let leased: Vec<_> = of_source.map(|lease| lease.item.range.clone()).collect();
            let coverage = Coverage { parts: &*self.context, present: &present, leased: &leased };
            if !coverage.uncovered().is_empty()
                || leased.iter().any(|range| coverage.parts_of(range).is_some())
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn expire_ms(&self) -> i64 {
        self.context.settings.sharing.expire().map_or(0, milliseconds)
    }

    /// Writes the heartbeat: an instance owns leases only while it has one.
    pub(super) async fn join(&self, balancing: &mut BalancingState) -> Result<(), Fault> {
        self.stop_if_late();
        let ledger = Ledger::new();
        let beat = self.heartbeat.join(&self.context, &ledger).await;
        self.add_charge(&ledger);
        let beat = beat?;
        self.heed(beat);
        balancing.calls_others |= beat != Beat::Quiet && beat != Beat::Called;
        if self.is_called.swap(false, Ordering::Relaxed) {
            balancing.quiet_rounds = 0;
        }
        Ok(())
    }

    /// Lists the leases, and then the heartbeats: an owner had its heartbeat before its leases.
    pub(super) async fn list(&self, ledger: &Ledger) -> Result<Vec<StoredLease>, Fault> {
        let leases = StoredLease::list(&self.context, ledger).await?;
        if self.context.settings.sharing == Sharing::Alone {
            return Ok(leases);
        }
        let mut heartbeats = StoredHeartbeat::list(&self.context, ledger).await?;
        let me = self.context.settings.owner.as_str();
        heartbeats.retain(|stored| stored.item.owner != me);
        let owners = leases.iter().filter_map(|lease| lease.item.owner.as_deref());
        let now_ms = self.context.clock.monotonic_ms();
        self.observations.record(heartbeats, owners.filter(|owner| *owner != me), now_ms);
        Ok(leases)
    }

    /// Calls the other instances that are alive, so that they look at the leases and observe this instance.
    pub(super) async fn call_others(&self, balancing: &mut BalancingState) -> Result<(), Fault> {
        if !balancing.calls_others {
            return Ok(());
        }
        let ledger = Ledger::new();
        let live = self.observations.all().into_iter().filter(|stored| self.is_live(&stored.item.owner));
        let called = join_all(live.map(|stored| stored.call(&self.context, &ledger))).await;
        self.add_charge(&ledger);
        called.into_iter().collect::<Result<(), Fault>>()?;
        balancing.calls_others = false;
        Ok(())
    }

    /// Deletes the heartbeats of dead instances that own no lease any more.
    pub(super) async fn delete_dead_heartbeats(&self) -> Result<(), Fault> {
        let known = self.known();
        let owns = |owner: &str| known.iter().any(|lease| lease.item.owner.as_deref() == Some(owner));
        let ledger = Ledger::new();
        for dead in self.observations.dead(self.context.clock.monotonic_ms(), self.expire_ms()) {
            if !owns(&dead.item.owner) {
                let deleted = dead.delete(&self.context, &ledger).await;
                self.add_charge(&ledger);
                if deleted? {
                    self.observations.forget(&dead.item.owner);
                }
            }
        }
        Ok(())
    }

    /// Counts the rounds that found the same and had nothing to do.
    pub(super) fn settle(&self, balancing: &mut BalancingState, is_divided: bool) {
        let known = self.known();
        let is_owned = |lease: &LeaseSnapshot| {
            self.owned.get(&lease.item.id).is_some()
                || lease.item.owner.as_deref().is_some_and(|owner| self.is_live(owner))
        };
        let all_live = self.observations.are_all_live(self.context.clock.monotonic_ms(), self.expire_ms());
        let is_quiet = !is_divided
            && known.iter().all(is_owned)
            && (all_live || self.context.settings.sharing == Sharing::Alone);
        let owners = known.iter().map(|lease| {
            let LeaseItem { id, owner, epoch, .. } = &lease.item;
            (id.clone(), owner.clone(), *epoch)
        });
        let membership =
            Membership { owners: owners.collect(), incarnations: self.observations.incarnations() };
        let is_same = balancing.membership.as_ref() == Some(&membership);
        balancing.quiet_rounds = match (is_quiet, is_same) {
            (true, true) => balancing.quiet_rounds.saturating_add(1),
            (true, false) => 1,
            (false, _) => 0,
        };
        balancing.membership = Some(membership);
    }
}
