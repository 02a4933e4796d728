//! Load balancer: one round lists the leases and the heartbeats, creates the leases that feed ranges lack,
//! and acquires this instance's share. The balancing strategy decides which leases to acquire; the lease
//! coverage, which leases to create and divide.
//!
//! After two rounds that found the same and had nothing to do the instance is at rest: regular rounds then
//! read the heartbeats of the other instances only, and nothing where it is alone. A call, a death, a split
//! or a lost lease ends the rest.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures::future::join_all;

use super::balancing_strategy::{LeaseLoad, plan};
use super::coverage::Coverage;
use super::instance::{BalancingState, Instance, LeaseSnapshot};
use super::lease::{LeaseItem, OwnedLease, StoredLease};
use super::reader::RangeReader;
use super::settings::{Sharing, StartFrom, milliseconds};
use super::source::FeedSource;
use onehop_store::{Fault, FaultKind, FeedRange, Ledger};

/// A lease that keeps the projections of a source from running.
fn unusable(source: &FeedSource, range: &FeedRange, reason: &str) -> Fault {
    let (container, range) = (source.container, &range.0);
    let message = format!("the lease of {container} for the feed range {range:?} cannot be taken: {reason}");
    Fault::new(FaultKind::Internal, message)
}

/// Rounds that find the same and have nothing to do before an instance is at rest: a lease that was being
/// taken during the first is seen by the second.
const QUIET_ROUNDS_BEFORE_REST: u32 = 2;

/// A lease in a balancing round.
struct LeaseCandidate {
    source: Arc<FeedSource>,
    stored: StoredLease,
    /// It was created a moment ago as this instance's.
    fresh: bool,
    waits: bool,
    /// The parts into which its range was split.
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
        let balanced_at = self.balancing.lock().await.balanced_at;
        let steal = match (balanced_at, self.context.settings.sharing.acquire()) {
            (None, _) => Steal::One,
            (Some(at_ms), Some(acquire))
                if self.context.clock.monotonic_ms() >= at_ms.saturating_add(milliseconds(acquire)) =>
            {
                Steal::One
            }
            _ if wanted => Steal::None,
            _ => return Ok(()),
        };
        if wanted || steal == Steal::None {
            self.balance_leases(steal).await
        } else {
            self.balance_regularly().await
        }
    }

    /// Runs a regular round, which lists nothing at rest.
    pub(super) async fn balance_regularly(&self) -> Result<(), Fault> {
        let now_ms = self.context.clock.monotonic_ms();
        let (quiet_rounds, is_unfinished) = {
            let balancing = self.balancing.lock().await;
            (balancing.quiet_rounds, balancing.balanced_at.is_none())
        };
        // A requested round that failed is due: a lost lease shows in no listing of feed ranges.
        let is_due = is_unfinished || self.is_called.load(Ordering::Relaxed);
        if quiet_rounds < QUIET_ROUNDS_BEFORE_REST || is_due || !self.is_undisturbed().await? {
            return self.balance_leases(Steal::One).await;
        }
        self.balancing.lock().await.balanced_at = Some(now_ms);
        Ok(())
    }

    /// Lists the leases, gives every feed range one, and takes this instance's share.
    pub(super) async fn balance_leases(&self, steal: Steal) -> Result<(), Fault> {
        let mut balancing = self.balancing.lock().await;
        balancing.balanced_at = None;
        let now_ms = self.context.clock.monotonic_ms();
        self.join(&mut balancing).await?;
        // Before the listing, which then contains every lease owned at this moment.
        let owned = self.owned.all();
        let ledger = Ledger::new();
        let listed = self.list(&ledger).await;
        self.add_charge(&ledger);
        let listed = listed?;
        self.drop_lost_leases(&owned, &listed);
        let mut leases = Vec::new();
        for looked in join_all(self.sources.iter().map(|source| self.reconcile(source, &listed))).await {
            leases.extend(looked?);
        }
        let is_divided = leases.iter().any(|lease| lease.waits || lease.parts.is_some());
        self.acquire(&mut balancing, leases, steal).await?;
        self.delete_dead_heartbeats().await?;
        self.settle(&mut balancing, is_divided);
        balancing.balanced_at = Some(now_ms);
        Ok(())
    }

    /// A listing that shows a later epoch shows another owner. An earlier one says nothing: a listing may be
    /// old.
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

    /// The leases of a source, with a new lease for each feed range that lacks one. Notifies readers whose
    /// range was split.
    async fn reconcile(
        &self,
        source: &Arc<FeedSource>,
        listed: &[StoredLease],
    ) -> Result<Vec<LeaseCandidate>, Fault> {
        let present = self.context.store.feed_ranges(source.container).await?;
        let own = |stored: &&StoredLease| stored.item.container == source.container.as_str();
        let mut leases: Vec<_> = listed
            .iter()
            .filter(own)
            .map(|stored| LeaseCandidate {
                source: Arc::clone(source),
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
        // A range that lost its lease later on is read from the beginning: the missed changes are not known.
        let start = if leased.is_empty() { self.context.settings.start } else { StartFrom::Beginning };
        for covered in join_all(uncovered.iter().map(|range| self.cover(source, range, start))).await {
            leases.extend(covered?);
        }
        Ok(leases)
    }

    /// Gives a range a lease, or finds a lease that the listing did not have. Shared leases are created
    /// without an owner: otherwise the first instance would own all of them.
    async fn cover(
        &self,
        source: &Arc<FeedSource>,
        range: &FeedRange,
        start: StartFrom,
    ) -> Result<Option<LeaseCandidate>, Fault> {
        let (context, ledger) = (&*self.context, Ledger::new());
        let mut item = LeaseItem::unowned(&source.scope, range);
        let (store, container) = (&context.store, source.container);
        item.continuation = match start {
            StartFrom::Beginning => None,
            StartFrom::Now => Some(store.change_feed_end(container, range, &ledger).await?),
            StartFrom::Time(unix_ms) => {
                Some(store.change_feed_since(container, range, unix_ms, &ledger).await?)
            }
        };
        let fresh = context.settings.sharing == Sharing::Alone;
        if fresh {
            item = item.acquired_for(&source.scope);
        }
        let id = item.id.clone();
        let listed = |stored, fresh| {
            let source = Arc::clone(source);
            LeaseCandidate { source, stored, fresh, waits: false, parts: None }
        };
        let covered = match StoredLease::create(context, item, &ledger).await {
            Ok(Some(stored)) => Ok(Some(listed(stored, fresh))),
            Ok(None) => {
                let found = StoredLease::read(context, &id, &ledger).await;
                let found = found.map(|stored| stored.map(|stored| listed(stored, false)));
                // No other process can have deleted it meanwhile.
                if fresh && matches!(found, Ok(None)) {
                    Err(unusable(source, range, "it can neither be made nor found"))
                } else {
                    found
                }
            }
            Err(fault) => Err(fault),
        };
        source.add_charge(&ledger);
        covered
    }

    /// Acquires the leases that the strategy chose, and starts their readers.
    async fn acquire(
        &self,
        balancing: &mut BalancingState,
        leases: Vec<LeaseCandidate>,
        steal: Steal,
    ) -> Result<(), Fault> {
        let wanted = self.wanted(&leases, steal);
        // Before any lease is taken: should this instance die then, the others observe it.
        balancing.calls_others |= !wanted.is_empty();
        self.call_others(balancing).await?;
        let mut known = Vec::with_capacity(leases.len());
        let mut acquired: Vec<(Arc<FeedSource>, OwnedLease)> = Vec::new();
        let mut taking = Vec::new();
        let mut ends: HashMap<String, Vec<FeedRange>> = HashMap::new();
        let mut expected = Vec::new();
        for LeaseCandidate { source, stored, fresh, waits, parts } in leases {
            if !waits {
                expected.push(stored.item.id.clone());
            }
            ends.extend(parts.map(|parts| (stored.item.id.clone(), parts)));
            known.push(LeaseSnapshot {
                source: Arc::clone(&source),
                item: LeaseItem { change_checkpoints: Vec::new(), ..stored.item.clone() },
            });
            if fresh {
                acquired.push((source, OwnedLease::created(stored)));
            } else if wanted.contains(&stored.item.id) {
                taking.push((source, stored));
            }
        }
        let (taken, failed) = self.take(taking).await;
        self.reload_dead_letters(&taken).await?;
        for (source, lease) in acquired.into_iter().chain(taken) {
            if let Some(known) = known.iter_mut().find(|known| known.item.id == lease.item().id) {
                known.item = LeaseItem { change_checkpoints: Vec::new(), ..lease.item().clone() };
            }
            let ends = ends.remove(&lease.item().id);
            let reader = RangeReader::new(source, lease);
            reader.set_parts(ends);
            self.owned.insert(reader);
        }
        let failed = failed.or_else(|| self.not_taken_alone(&known, &expected));
        self.set_known(known);
        failed.map_or(Ok(()), Err)
    }

    /// Why an instance that is alone does not read a feed range that it should: no later round would acquire
    /// it.
    fn not_taken_alone(&self, known: &[LeaseSnapshot], expected: &[String]) -> Option<Fault> {
        if self.context.settings.sharing != Sharing::Alone {
            return None;
        }
        let is_missing = |lease: &&LeaseSnapshot| {
            expected.contains(&lease.item.id) && self.owned.get(&lease.item.id).is_none()
        };
        let lease = known.iter().find(is_missing)?;
        Some(unusable(&lease.source, &lease.item.range, "another process wrote it"))
    }

    /// Takes leases, many at the same time; with the last fault, if there was one.
    async fn take(
        &self,
        mut waiting: Vec<(Arc<FeedSource>, StoredLease)>,
    ) -> (Vec<(Arc<FeedSource>, OwnedLease)>, Option<Fault>) {
        let (mut taken, mut failed) = (Vec::new(), None);
        while !waiting.is_empty() {
            let at_once = waiting.len().min(self.context.settings.concurrent_operations_max.max(1));
            let take = |(source, stored): (Arc<FeedSource>, StoredLease)| async {
                let ledger = Ledger::new();
                let lease = OwnedLease::take(&source.scope, stored, &ledger).await;
                source.add_charge(&ledger);
                lease.map(|lease| lease.map(|lease| (source, lease)))
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
        let me = self.context.settings.owner.as_str();
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
                    lease.stored.item.owner.as_deref().filter(|owner| self.is_live(owner))
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

    /// Reloads dead letters: other processes may have written some for a range before it was acquired, or
    /// replayed known ones.
    async fn reload_dead_letters(&self, taken: &[(Arc<FeedSource>, OwnedLease)]) -> Result<(), Fault> {
        if self.context.settings.sharing == Sharing::Alone {
            return Ok(());
        }
        for runner in &self.runners {
            let took_over = taken.iter().any(|(of, _)| of.container == runner.projection.source());
            if took_over || runner.dead_letters.count() > 0 {
                let ledger = Ledger::new();
                let loaded = runner.dead_letters.reload(&ledger).await;
                runner.counters.add_charge(&ledger);
                loaded?;
                self.letters_loaded.notify_one();
            }
        }
        Ok(())
    }
}
