//! One instance of the processor: its projections, the readers of the leases that it holds, and what it last heard of
//! all leases.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use futures::future::{join_all, try_join_all};
use tokio::sync::{Semaphore, watch};

use super::dead_letters::DeadLetters;
use super::held::Held;
use super::host::Host;
use super::lease::{Lease, LeaseItem};
use super::memo::Memos;
use super::projection::Projection;
use super::reader::{RangeReader, Turned};
use super::runner::{PageError, Runner};
use super::status::{Counters, PendingCache};
use onehop_store::{Fault, Ledger};

pub(super) struct Instance {
    pub(super) host: Arc<Host>,
    pub(super) runners: Vec<Arc<Runner>>,
    pub(super) held: Held,
    pub(super) pending: PendingCache,
    /// Held for a tick. When the last one that succeeded began (Unix ms).
    pub(super) ticked: tokio::sync::Mutex<Option<i64>>,
    /// Changes whenever a reader has worked on a page.
    pub(super) progress: watch::Sender<u64>,
    known: Mutex<Arc<Vec<KnownLease>>>,
}

/// A lease as the last tick left it.
#[derive(Clone)]
pub(super) struct KnownLease {
    pub(super) runner: Arc<Runner>,
    pub(super) item: LeaseItem,
}

/// What came of a step of a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stepped {
    /// It worked on a page with so many changes.
    Page { changes: usize, drained: bool },
    /// Its lease is gone: lost to another instance, or divided.
    Ended,
}

impl Instance {
    /// Looks up the feed ranges and the dead letters.
    pub(super) async fn open(host: Arc<Host>, projections: Vec<Arc<dyn Projection>>) -> Result<Self, Fault> {
        let opening = projections.into_iter().map(|projection| open_runner(&host, projection));
        let (runners, known): (Vec<_>, Vec<_>) = try_join_all(opening).await?.into_iter().unzip();
        Ok(Self {
            runners,
            held: Held::default(),
            pending: PendingCache::default(),
            ticked: tokio::sync::Mutex::default(),
            progress: watch::Sender::default(),
            known: Mutex::new(Arc::new(known.concat())),
            host,
        })
    }

    /// All leases as the last tick left them; before the first, the feed ranges as leases that nobody holds.
    pub(super) fn known(&self) -> Arc<Vec<KnownLease>> {
        Arc::clone(&self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn learn(&self, known: Vec<KnownLease>) {
        *self.known.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(known);
    }

    /// Has a reader work on one page.
    pub(super) async fn step(&self, reader: &Arc<RangeReader>) -> Result<Stepped, PageError> {
        let turned = reader.run_once().await;
        self.progress.send_modify(|pages| *pages = pages.wrapping_add(1));
        match turned {
            Ok(Turned::Page { changes, drained }) => Ok(Stepped::Page { changes, drained }),
            Ok(Turned::Split(children)) => {
                self.go_on_in(reader, children);
                Ok(Stepped::Ended)
            }
            Err(PageError::LeaseLost) => {
                self.held.remove(reader);
                self.held.want_tick();
                Ok(Stepped::Ended)
            }
            Err(error) => Err(error),
        }
    }

    /// Puts the readers of a range's parts in the place of its own.
    fn go_on_in(&self, parent: &Arc<RangeReader>, children: Vec<Lease>) {
        let runner = parent.runner();
        let mut known = self.known().as_ref().clone();
        known.retain(|known| known.item.id != parent.hold.id);
        self.held.remove(parent);
        for lease in children {
            known.push(KnownLease { runner: Arc::clone(runner), item: lease.item().clone() });
            self.held.insert(RangeReader::new(Arc::clone(runner), lease));
        }
        self.learn(known);
        // The leases of some parts may have been there before.
        self.held.want_tick();
    }

    /// Extends the leases whose time has come.
    pub(super) async fn renew(&self) {
        let renew = |reader: Arc<RangeReader>| async move {
            match reader.renew().await {
                Ok(()) => {}
                Err(PageError::LeaseLost) => {
                    self.held.remove(&reader);
                    self.held.want_tick();
                }
                Err(error) => reader.seen.note_error(&error.to_string()),
            }
        };
        join_all(self.held.all().into_iter().map(renew)).await;
    }

    /// Extends leases until the stop.
    pub(super) async fn keep_renewing(&self) {
        let Some(renew) = self.host.settings.sharing.renew() else { return };
        while self.host.pause(renew / 2).await {
            self.renew().await;
        }
    }

    /// Works, and extends leases meanwhile.
    pub(super) async fn while_renewing<T>(&self, work: impl Future<Output = T>) -> T {
        let renewing = async {
            self.keep_renewing().await;
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            done = work => done,
            never = renewing => match never {},
        }
    }

    /// Gives up all leases.
    pub(super) async fn release(&self) {
        let mut ticked = self.ticked.lock().await;
        *ticked = None;
        let release = |reader: Arc<RangeReader>| async move {
            reader.release().await;
            self.held.remove(&reader);
        };
        join_all(self.held.all().into_iter().map(release)).await;
    }
}

async fn open_runner(
    host: &Arc<Host>,
    projection: Arc<dyn Projection>,
) -> Result<(Arc<Runner>, Vec<KnownLease>), Fault> {
    let (name, source) = (projection.name(), projection.source());
    let ranges = host.store.feed_ranges(source).await?;
    let ledger = Ledger::new();
    let dead_letters = DeadLetters::load(Arc::clone(host), name, source, &ledger).await?;
    let counters = Counters::default();
    counters.add_charge(&ledger);
    let turns = host.settings.concurrent_partitions_max.min(projection.concurrent_partitions_max()).max(1);
    let runner = Arc::new(Runner {
        turns: Semaphore::new(turns.min(Semaphore::MAX_PERMITS)),
        host: Arc::clone(host),
        projection,
        memos: Memos::default(),
        dead_letters,
        counters,
    });
    let known = |range| KnownLease {
        runner: Arc::clone(&runner),
        item: LeaseItem::unowned(&host.settings.processor, name, source, range),
    };
    let known = ranges.iter().map(known).collect();
    Ok((runner, known))
}
