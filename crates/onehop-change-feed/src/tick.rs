//! A tick: what the lease container says, made to agree with the feed ranges that there are, and this instance's share
//! of it taken.

use std::collections::HashMap;
use std::sync::Arc;

use futures::future::join_all;

use super::balance::{Weighed, plan};
use super::coverage::Coverage;
use super::instance::{Instance, KnownLease};
use super::lease::{Lease, LeaseItem, Stored};
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

/// A lease in the hands of a tick.
struct Listed {
    runner: Arc<Runner>,
    stored: Stored,
    /// It was created a moment ago as this instance's.
    fresh: bool,
    waits: bool,
    /// What its range was split into.
    parts: Option<Vec<FeedRange>>,
}

/// Whether a tick may take a lease from an instance that is alive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Steal {
    One,
    None,
}

impl Instance {
    /// Ticks if the last one is as old as the interval says, or if one is wanted.
    pub(super) async fn tick_if_due(&self) -> Result<(), Fault> {
        let wanted = self.held.take_tick_wanted();
        let ticked = *self.ticked.lock().await;
        let steal = match (ticked, self.host.settings.sharing.acquire()) {
            (None, _) => Steal::One,
            (Some(at_ms), Some(acquire))
                if self.host.clock.now_ms() >= at_ms.saturating_add(milliseconds(acquire)) =>
            {
                Steal::One
            }
            _ if wanted => Steal::None,
            _ => return Ok(()),
        };
        self.tick(steal).await
    }

    /// Lists the leases, gives every feed range one, and takes this instance's share.
    pub(super) async fn tick(&self, steal: Steal) -> Result<(), Fault> {
        let mut ticked = self.ticked.lock().await;
        *ticked = None;
        let now_ms = self.host.clock.now_ms();
        // Before the listing: it knows all that was held by then.
        let held = self.held.all();
        let ledger = Ledger::new();
        let listed = Stored::list(&self.host, &ledger).await;
        for runner in &self.runners {
            runner.counters.add_charge_part(&ledger, self.runners.len());
        }
        let listed = listed?;
        self.part_with_those_taken(&held, &listed);
        let mut leases = Vec::new();
        for looked in join_all(self.runners.iter().map(|runner| self.reconcile(runner, &listed))).await {
            leases.extend(looked?);
        }
        self.acquire(leases, steal).await?;
        *ticked = Some(now_ms);
        Ok(())
    }

    /// A listing that shows a later epoch shows another owner. An earlier one says nothing: a listing may be old.
    fn part_with_those_taken(&self, held: &[Arc<RangeReader>], listed: &[Stored]) {
        for reader in held {
            let taken =
                |stored: &Stored| stored.item.id == reader.hold.id && stored.item.epoch > reader.hold.epoch;
            if listed.iter().any(taken) {
                self.held.remove(reader);
            }
        }
    }

    /// The leases of a projection, with new ones where a feed range has none. Tells readers whose range was split.
    async fn reconcile(&self, runner: &Arc<Runner>, listed: &[Stored]) -> Result<Vec<Listed>, Fault> {
        let (name, source) = (runner.projection.name(), runner.projection.source());
        let present = self.host.store.feed_ranges(source).await?;
        let own =
            |stored: &&Stored| stored.item.projection == name && stored.item.container == source.as_str();
        let mut leases: Vec<_> = listed
            .iter()
            .filter(own)
            .map(|stored| Listed {
                runner: Arc::clone(runner),
                stored: stored.clone(),
                fresh: false,
                waits: false,
                parts: None,
            })
            .collect();
        let leased: Vec<_> = leases.iter().map(|lease| lease.stored.item.range.clone()).collect();
        let coverage = Coverage { parts: &*self.host, present: &present, leased: &leased };
        let (waiting, uncovered) = (coverage.waiting(), coverage.uncovered());
        for lease in &mut leases {
            lease.waits = waiting.contains(&lease.stored.item.range);
            lease.parts = coverage.parts_of(&lease.stored.item.range);
            if let Some(reader) = self.held.get(&lease.stored.item.id) {
                reader.end_with(lease.parts.clone());
            }
        }
        for covered in join_all(uncovered.iter().map(|range| self.cover(runner, range))).await {
            leases.extend(covered?);
        }
        Ok(leases)
    }

    /// Gives a range a lease, or finds the one that the listing did not have. Shared leases are created without an owner:
    /// whoever starts first would otherwise hold all of them.
    async fn cover(&self, runner: &Arc<Runner>, range: &FeedRange) -> Result<Option<Listed>, Fault> {
        let (host, ledger) = (&*self.host, Ledger::new());
        let (name, source) = (runner.projection.name(), runner.projection.source());
        let mut item = LeaseItem::unowned(&host.settings.processor, name, source, range);
        let fresh = host.settings.sharing == Sharing::Alone;
        if fresh {
            item = item.acquired_by(host);
        }
        let id = item.id.clone();
        let listed = |stored, fresh| {
            let runner = Arc::clone(runner);
            Listed { runner, stored, fresh, waits: false, parts: None }
        };
        let covered = match Stored::create(host, item, &ledger).await {
            Ok(Some(stored)) => Ok(Some(listed(stored, fresh))),
            Ok(None) => {
                let adopted = Stored::adopt(host, &id, &ledger).await;
                let adopted = adopted.map(|stored| stored.map(|stored| listed(stored, false)));
                // Nobody else can have deleted it meanwhile.
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

    /// Takes what the balance says, and begins to read it.
    async fn acquire(&self, leases: Vec<Listed>, steal: Steal) -> Result<(), Fault> {
        let wanted = self.wanted(&leases, steal);
        let mut known = Vec::with_capacity(leases.len());
        let mut acquired: Vec<(Arc<Runner>, Lease)> = Vec::new();
        let mut taking = Vec::new();
        let mut ends: HashMap<String, Vec<FeedRange>> = HashMap::new();
        let mut expected = Vec::new();
        for Listed { runner, stored, fresh, waits, parts } in leases {
            if !waits {
                expected.push(stored.item.id.clone());
            }
            ends.extend(parts.map(|parts| (stored.item.id.clone(), parts)));
            known.push(KnownLease {
                runner: Arc::clone(&runner),
                item: LeaseItem { notes: Vec::new(), ..stored.item.clone() },
            });
            if fresh {
                acquired.push((runner, Lease::held(&self.host, stored)));
            } else if wanted.contains(&stored.item.id) {
                taking.push((runner, stored));
            }
        }
        let (taken, failed) = self.take(taking).await;
        self.hear_of_dead_letters(&taken).await?;
        for (runner, lease) in acquired.into_iter().chain(taken) {
            if let Some(known) = known.iter_mut().find(|known| known.item.id == lease.item().id) {
                known.item = LeaseItem { notes: Vec::new(), ..lease.item().clone() };
            }
            let ends = ends.remove(&lease.item().id);
            let reader = RangeReader::new(runner, lease);
            reader.end_with(ends);
            self.held.insert(reader);
        }
        let failed = failed.or_else(|| self.not_taken_alone(&known, &expected));
        self.learn(known);
        failed.map_or(Ok(()), Err)
    }

    /// Why an instance that is alone does not read a feed range that it should: no later tick would take it.
    fn not_taken_alone(&self, known: &[KnownLease], expected: &[String]) -> Option<Fault> {
        if self.host.settings.sharing != Sharing::Alone {
            return None;
        }
        let is_missing = |lease: &&KnownLease| {
            expected.contains(&lease.item.id) && self.held.get(&lease.item.id).is_none()
        };
        let lease = known.iter().find(is_missing)?;
        let projection = lease.runner.projection.name();
        Some(unusable(projection, &lease.item.range, "it was written by somebody else"))
    }

    /// Takes leases, many at the same time; with the last fault, if there was one.
    async fn take(
        &self,
        mut waiting: Vec<(Arc<Runner>, Stored)>,
    ) -> (Vec<(Arc<Runner>, Lease)>, Option<Fault>) {
        let (mut taken, mut failed) = (Vec::new(), None);
        while !waiting.is_empty() {
            let at_once = waiting.len().min(self.host.settings.concurrent_operations_max.max(1));
            let take = |(runner, stored): (Arc<Runner>, Stored)| async {
                let ledger = Ledger::new();
                let lease = Lease::take(&self.host, stored, &ledger).await;
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
    fn wanted(&self, leases: &[Listed], steal: Steal) -> Vec<String> {
        let (me, now_ms) = (self.host.settings.owner.as_str(), self.host.clock.now_ms());
        let is_held = |lease: &Listed| self.held.get(&lease.stored.item.id).is_some();
        let unheld = || leases.iter().filter(|lease| !lease.fresh && !lease.waits && !is_held(lease));
        let id = |lease: &Listed| lease.stored.item.id.clone();
        if self.host.settings.sharing == Sharing::Alone {
            return unheld().map(id).collect();
        }
        let is_mine = |lease: &Listed| lease.stored.item.owner.as_deref() == Some(me);
        let weighed: Vec<_> = leases
            .iter()
            .map(|lease| Weighed {
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
        // Held before a restart, or acquired in a write whose answer was lost.
        let mine = unheld().filter(|lease| is_mine(lease)).map(id);
        mine.chain(plan.take.into_iter().chain(steal).map(str::to_owned)).collect()
    }

    /// Other processes may have parked changes of a range before it was taken over, or replayed those known here.
    async fn hear_of_dead_letters(&self, taken: &[(Arc<Runner>, Lease)]) -> Result<(), Fault> {
        if self.host.settings.sharing == Sharing::Alone {
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
