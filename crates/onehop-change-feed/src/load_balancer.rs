//! Load balancer: one round lists the leases, creates those that feed ranges lack, and acquires this instance's share.
//! What to acquire is decided by the balancing strategy; what to create and divide, by the lease coverage.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::join_all;

use super::balancing_strategy::{LeaseLoad, plan};
use super::coverage::Coverage;
use super::instance::{Instance, LeaseSnapshot};
use super::lease::{LeaseItem, OwnedLease, StoredLease};
use super::reader::RangeReader;
use super::runner::Runner;
use super::settings::{Sharing, milliseconds};
use onehop_store::{Fault, FaultKind, FeedRange, Ledger};

/// A lease that keeps a projection from running.
fn unusable(projection: &str, range: &FeedRange, reason: &str) -> Fault {
    let message =
        format!("the lease of {projection} for the feed range {:?} cannot be taken: {reason}", range.0);
    Fault::new(FaultKind::Internal, message)
}

/// A lease in a balancing round.
struct LeaseCandidate {
    runner: Arc<Runner>,
    stored: StoredLease,
    /// It was created a moment ago as this instance's.
    fresh: bool,
    waits: bool,
    /// What its range was split into.
    parts: Option<Vec<FeedRange>>,
}

/// Whether a round may take a lease from a live instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Steal {
    One,
    None,
}

impl Instance {
    /// Runs a round if the acquire interval has passed since the last, or if one is requested.
    pub(super) async fn balance_if_due(&self) -> Result<(), Fault> {
        let wanted = self.owned.take_balancing_request();
        let balanced_at = *self.balanced_at.lock().await;
        let steal = match (balanced_at, self.context.settings.sharing.acquire()) {
            (None, _) => Steal::One,
            (Some(at_ms), Some(acquire))
                if self.context.clock.now_ms() >= at_ms.saturating_add(milliseconds(acquire)) =>
            {
                Steal::One
            }
            _ if wanted => Steal::None,
            _ => return Ok(()),
        };
        self.balance_leases(steal).await
    }

    /// Lists the leases, gives every feed range one, and takes this instance's share.
    pub(super) async fn balance_leases(&self, steal: Steal) -> Result<(), Fault> {
        let mut balanced_at = self.balanced_at.lock().await;
        *balanced_at = None;
        let now_ms = self.context.clock.now_ms();
        // Before the listing, which then contains every lease owned at this moment.
        let owned = self.owned.all();
        let ledger = Ledger::new();
        let listed = StoredLease::list(&self.context, &ledger).await;
        for runner in &self.runners {
            runner.counters.add_charge_part(&ledger, self.runners.len());
        }
        let listed = listed?;
        self.drop_lost_leases(&owned, &listed);
        let mut leases = Vec::new();
        for looked in join_all(self.runners.iter().map(|runner| self.reconcile(runner, &listed))).await {
            leases.extend(looked?);
        }
        self.acquire(leases, steal).await?;
        *balanced_at = Some(now_ms);
        Ok(())
    }

    /// A listing that shows a later epoch shows another owner. An earlier one says nothing: a listing may be old.
    fn drop_lost_leases(&self, owned: &[Arc<RangeReader>], listed: &[StoredLease]) {
        for reader in owned {
            let taken = |stored: &StoredLease| {
                stored.item.id == reader.lease.id && stored.item.epoch > reader.lease.epoch
            };
            if listed.iter().any(taken) {
                self.owned.remove(reader);
            }
        }
    }

    /// The leases of a projection, with new ones where a feed range has none. Notifies readers whose range was split.
    async fn reconcile(
        &self,
        runner: &Arc<Runner>,
        listed: &[StoredLease],
    ) -> Result<Vec<LeaseCandidate>, Fault> {
        let (name, source) = (runner.projection.name(), runner.projection.source());
        let present = self.context.store.feed_ranges(source).await?;
        let own = |stored: &&StoredLease| {
            stored.item.projection == name && stored.item.container == source.as_str()
        };
        let mut leases: Vec<_> = listed
            .iter()
            .filter(own)
            .map(|stored| LeaseCandidate {
                runner: Arc::clone(runner),
                stored: stored.clone(),
                fresh: false,
                waits: false,
                parts: None,
            })
            .collect();
        let leased: Vec<_> = leases.iter().map(|lease| lease.stored.item.range.clone()).collect();
        let coverage = Coverage { parts: &*self.context, present: &present, leased: &leased };
        let (waiting, uncovered) = (coverage.waiting(), coverage.uncovered());
        for lease in &mut leases {
            lease.waits = waiting.contains(&lease.stored.item.range);
            lease.parts = coverage.parts_of(&lease.stored.item.range);
            if let Some(reader) = self.owned.get(&lease.stored.item.id) {
                reader.set_parts(lease.parts.clone());
            }
        }
        for covered in join_all(uncovered.iter().map(|range| self.cover(runner, range))).await {
            leases.extend(covered?);
        }
        Ok(leases)
    }

    /// Gives a range a lease, or finds the one that the listing did not have. Shared leases are created without an owner:
    /// otherwise the first instance would own all of them.
    async fn cover(&self, runner: &Arc<Runner>, range: &FeedRange) -> Result<Option<LeaseCandidate>, Fault> {
        let (context, ledger) = (&*self.context, Ledger::new());
        let (name, source) = (runner.projection.name(), runner.projection.source());
        let mut item = LeaseItem::unowned(&context.settings.processor, name, source, range);
        let fresh = context.settings.sharing == Sharing::Alone;
        if fresh {
            item = item.acquired_by(context);
        }
        let id = item.id.clone();
        let listed = |stored, fresh| {
            let runner = Arc::clone(runner);
            LeaseCandidate { runner, stored, fresh, waits: false, parts: None }
        };
        let covered = match StoredLease::create(context, item, &ledger).await {
            Ok(Some(stored)) => Ok(Some(listed(stored, fresh))),
            Ok(None) => {
                let adopted = StoredLease::adopt(context, &id, &ledger).await;
                let adopted = adopted.map(|stored| stored.map(|stored| listed(stored, false)));
                // No other process can have deleted it meanwhile.
                if fresh && matches!(adopted, Ok(None)) {
                    Err(unusable(name, range, "it can neither be made nor found"))
                } else {
                    adopted
                }
            }
            Err(fault) => Err(fault),
        };
        runner.counters.add_charge(&ledger);
        covered
    }

    /// Acquires the leases that the strategy chose, and starts their readers.
    async fn acquire(&self, leases: Vec<LeaseCandidate>, steal: Steal) -> Result<(), Fault> {
        let wanted = self.wanted(&leases, steal);
        let mut known = Vec::with_capacity(leases.len());
        let mut acquired: Vec<(Arc<Runner>, OwnedLease)> = Vec::new();
        let mut taking = Vec::new();
        let mut ends: HashMap<String, Vec<FeedRange>> = HashMap::new();
        let mut expected = Vec::new();
        for LeaseCandidate { runner, stored, fresh, waits, parts } in leases {
            if !waits {
                expected.push(stored.item.id.clone());
            }
            ends.extend(parts.map(|parts| (stored.item.id.clone(), parts)));
            known.push(LeaseSnapshot {
                runner: Arc::clone(&runner),
                item: LeaseItem { change_checkpoints: Vec::new(), ..stored.item.clone() },
            });
            if fresh {
                acquired.push((runner, OwnedLease::created(&self.context, stored)));
            } else if wanted.contains(&stored.item.id) {
                taking.push((runner, stored));
            }
        }
        let (taken, failed) = self.take(taking).await;
        self.reload_dead_letters(&taken).await?;
        for (runner, lease) in acquired.into_iter().chain(taken) {
            if let Some(known) = known.iter_mut().find(|known| known.item.id == lease.item().id) {
                known.item = LeaseItem { change_checkpoints: Vec::new(), ..lease.item().clone() };
            }
            let ends = ends.remove(&lease.item().id);
            let reader = RangeReader::new(runner, lease);
            reader.set_parts(ends);
            self.owned.insert(reader);
        }
        let failed = failed.or_else(|| self.not_taken_alone(&known, &expected));
        self.set_known(known);
        failed.map_or(Ok(()), Err)
    }

    /// Why an instance that is alone does not read a feed range that it should: no later round would acquire it.
    fn not_taken_alone(&self, known: &[LeaseSnapshot], expected: &[String]) -> Option<Fault> {
        if self.context.settings.sharing != Sharing::Alone {
            return None;
        }
        let is_missing = |lease: &&LeaseSnapshot| {
            expected.contains(&lease.item.id) && self.owned.get(&lease.item.id).is_none()
        };
        let lease = known.iter().find(is_missing)?;
        let projection = lease.runner.projection.name();
        Some(unusable(projection, &lease.item.range, "another process wrote it"))
    }

    /// Takes leases, many at the same time; with the last fault, if there was one.
    async fn take(
        &self,
        mut waiting: Vec<(Arc<Runner>, StoredLease)>,
    ) -> (Vec<(Arc<Runner>, OwnedLease)>, Option<Fault>) {
        let (mut taken, mut failed) = (Vec::new(), None);
        while !waiting.is_empty() {
            let at_once = waiting.len().min(self.context.settings.concurrent_operations_max.max(1));
            let take = |(runner, stored): (Arc<Runner>, StoredLease)| async {
                let ledger = Ledger::new();
                let lease = OwnedLease::take(&self.context, stored, &ledger).await;
                runner.counters.add_charge(&ledger);
                lease.map(|lease| lease.map(|lease| (runner, lease)))
            };
            let together: Vec<_> = waiting.drain(..at_once).map(take).collect();
            for outcome in join_all(together).await {
                match outcome {
                    Ok(lease) => taken.extend(lease),
                    Err(fault) => failed = Some(fault),
                }
            }
        }
        (taken, failed)
    }

    /// The ids of the leases to take.
    fn wanted(&self, leases: &[LeaseCandidate], steal: Steal) -> Vec<String> {
        let (me, now_ms) = (self.context.settings.owner.as_str(), self.context.clock.now_ms());
        let is_held = |lease: &LeaseCandidate| self.owned.get(&lease.stored.item.id).is_some();
        let unheld = || leases.iter().filter(|lease| !lease.fresh && !lease.waits && !is_held(lease));
        let id = |lease: &LeaseCandidate| lease.stored.item.id.clone();
        if self.context.settings.sharing == Sharing::Alone {
            return unheld().map(id).collect();
        }
        let is_mine = |lease: &LeaseCandidate| lease.stored.item.owner.as_deref() == Some(me);
        let weighed: Vec<_> = leases
            .iter()
            .map(|lease| LeaseLoad {
                id: &lease.stored.item.id,
                owner: if is_mine(lease) || is_held(lease) {
                    Some(me)
                } else {
                    lease.stored.item.live_owner(now_ms)
                },
                waits: lease.waits,
            })
            .collect();
        let plan = plan(&weighed, me);
        let steal = plan.steal.filter(|_| steal == Steal::One);
        // Owned before a restart, or acquired by a write whose response was lost.
        let mine = unheld().filter(|lease| is_mine(lease)).map(id);
        mine.chain(plan.take.into_iter().chain(steal).map(str::to_owned)).collect()
    }

    /// Reloads dead letters: other processes may have written some for a range before it was acquired, or replayed known ones.
    async fn reload_dead_letters(&self, taken: &[(Arc<Runner>, OwnedLease)]) -> Result<(), Fault> {
        if self.context.settings.sharing == Sharing::Alone {
            return Ok(());
        }
        for runner in &self.runners {
            let took_over = taken.iter().any(|(of, _)| Arc::ptr_eq(of, runner));
            if took_over || runner.dead_letters.count() > 0 {
                let ledger = Ledger::new();
                let loaded = runner.dead_letters.reload(&ledger).await;
                runner.counters.add_charge(&ledger);
                loaded?;
            }
        }
        Ok(())
    }
}
