//! Write watches: the writes of all processes as read marks, for readers that want to know when their reads
//! are out of date.
//!
//! A store that this process alone writes to has marks of its own, and signals its commits. Elsewhere the
//! change feed of each container is followed while there is a watch (tail), and its changes are recorded in
//! marks here, which reads through [`WriteWatches::marked`] touch. A change feed of latest versions shows no
//! deletion: deletions by this process are recorded at once, deletions by others are assumed at an interval.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::select_all;
use futures::{FutureExt, future::BoxFuture};
use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::tail::{Tail, TailSettings, TailSource};
use onehop_runtime::planted;
use onehop_runtime::tasks::Tasks;
use onehop_store::{
    ContainerName, Fault, Ledger, MarkedContainers, MarkedReads, PartitionKey, SignalScope, Store, WriteMark,
    WriteMarks,
};

/// The watches of a process. They share one reader of each change feed.
pub struct WriteWatches {
    store: Arc<dyn Store>,
    /// The marks of the changes that were read; `None` where the store has marks.
    own_marks: Option<Arc<WriteMarks>>,
    containers: MarkedContainers,
    settings: TailSettings,
    tasks: Tasks,
    /// The number of the last change that was read.
    changes: AtomicU64,
    waiters: Mutex<Waiters>,
    readers: Mutex<Readers>,
    starting: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Waiters {
    started: u64,
    waiting: HashMap<u64, Waiter>,
}

struct Waiter {
    marks: Vec<WriteMark>,
    write: u64,
    woken: Arc<Notify>,
}

#[derive(Default)]
struct Readers {
    watches: usize,
    /// Ends the readers that run.
    running: Option<CancellationToken>,
}

/// A watch: writes from its beginning on are noticed. The readers run as long as there is one.
pub struct Watch(Arc<WriteWatches>);

impl WriteWatches {
    /// Watches over a store with these containers. Nothing is read yet.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        containers: MarkedContainers,
        settings: TailSettings,
        tasks: Tasks,
    ) -> Arc<Self> {
        let own_marks = store.write_marks().is_none().then(Arc::default);
        Arc::new(Self {
            own_marks,
            store,
            containers,
            settings,
            tasks,
            changes: AtomicU64::new(0),
            waiters: Mutex::default(),
            readers: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
        })
    }

    /// A store whose reads touch the marks of these watches.
    #[must_use]
    pub fn marked(self: &Arc<Self>, store: Arc<dyn Store>) -> Arc<dyn Store> {
        let Some(marks) = &self.own_marks else { return store };
        let watches = Arc::clone(self);
        let on_deletion = Arc::new(move |container: u8, key: &PartitionKey| watches.deleted(container, key));
        Arc::new(MarkedReads::new(store, Arc::clone(marks), self.containers.clone(), on_deletion))
    }

    /// Records a deletion of this process.
    fn deleted(&self, container: u8, key: &PartitionKey) {
        if !planted!("deletion-wakes-nobody") {
            self.record(|marks, number| marks.write(container, key.as_str(), number));
        }
    }

    /// Records writes under the next number.
    fn record(&self, write: impl FnOnce(&WriteMarks, u64)) {
        let Some(marks) = &self.own_marks else { return };
        let number = self.changes.fetch_add(1, Ordering::SeqCst) + 1;
        write(marks, number);
        marks.finish(number);
        self.wake();
    }

    /// Begins a watch. The first one starts the readers; the ledger has their first reads.
    ///
    /// # Errors
    /// A fault of the store: it is not known where a change feed ends.
    pub async fn watch(self: &Arc<Self>, ledger: &Ledger) -> Result<Watch, Fault> {
        let _starting = self.starting.lock().await;
        // Counted before the readers start, so that no watch that ends stops them meanwhile.
        self.readers.lock().watches += 1;
        let watch = Watch(Arc::clone(self));
        if self.readers.lock().running.is_none() {
            let stop = self.start(ledger).await?;
            self.readers.lock().running = Some(stop);
        }
        Ok(watch)
    }

    async fn start(self: &Arc<Self>, ledger: &Ledger) -> Result<CancellationToken, Fault> {
        let stop = self.tasks.soft_stop().child_token();
        if self.own_marks.is_none() {
            let signals = self.signals();
            let watches = Arc::clone(self);
            self.spawn(stop.clone(), async move { watches.heed(signals).await }.boxed());
            return Ok(stop);
        }
        let mut tails = Vec::with_capacity(self.containers.all.len());
        for (number, container) in self.containers.all.iter().enumerate() {
            let source = TailSource { container: *container, types: None };
            let tail = Tail::open(Arc::clone(&self.store), source, self.settings, ledger).await?;
            tails.push((u8::try_from(number).unwrap_or(u8::MAX), tail));
        }
        for (number, tail) in tails {
            let watches = Arc::clone(self);
            self.spawn(stop.clone(), async move { watches.follow(number, tail).await }.boxed());
        }
        if !self.containers.with_deletions.is_empty() {
            let watches = Arc::clone(self);
            self.spawn(stop.clone(), async move { watches.assume_deletions().await }.boxed());
        }
        Ok(stop)
    }

    fn spawn(&self, stop: CancellationToken, reader: BoxFuture<'static, Infallible>) {
        self.tasks.spawn("write watch", async move {
            stop.run_until_cancelled(reader).await;
            Ok::<(), Infallible>(())
        });
    }

    fn signals(&self) -> Vec<watch::Receiver<u64>> {
        let signal = |container: &ContainerName| self.store.change_signal(&SignalScope::of(*container));
        self.containers.all.iter().filter_map(signal).collect()
    }

    /// Wakes waiters after the commits of a store with marks.
    async fn heed(&self, mut signals: Vec<watch::Receiver<u64>>) -> Infallible {
        loop {
            let changed = signals.iter_mut().map(|signal| signal.changed().boxed());
            let (outcome, place, _) = select_all(changed).await;
            if outcome.is_err() {
                drop(signals.remove(place));
                if signals.is_empty() {
                    return std::future::pending().await;
                }
            }
            sleep(self.settings.gather).await;
            for signal in &mut signals {
                signal.mark_unchanged();
            }
            self.wake();
        }
    }

    /// Records the changes of a container.
    async fn follow(&self, container: u8, mut tail: Tail) -> Infallible {
        loop {
            let changes = tail.next().await;
            self.record(|marks, number| {
                for change in &changes {
                    marks.write(container, change.partition_key.as_str(), number);
                }
            });
        }
    }

    /// Assumes deletions by other processes at each interval.
    async fn assume_deletions(&self) -> Infallible {
        loop {
            sleep(self.settings.deletion_look).await;
            if !planted!("deletion-wakes-nobody") {
                self.record(WriteMarks::write_deletions);
            }
        }
    }

    fn wake(&self) {
        let waiters = self.waiters.lock();
        for waiter in waiters.waiting.values() {
            if self.is_written(&waiter.marks, waiter.write) {
                waiter.woken.notify_one();
            }
        }
    }

    fn is_written(&self, marks: &[WriteMark], write: u64) -> bool {
        let Some(all) = self.marks() else { return true };
        marks.iter().any(|mark| !all.is_unwritten_since(*mark, write))
    }

    fn marks(&self) -> Option<&WriteMarks> {
        self.own_marks.as_deref().or_else(|| self.store.write_marks())
    }
}

impl Watch {
    /// The number of the last write that every read sees which begins now.
    #[must_use]
    pub fn last_write(&self) -> u64 {
        self.0.marks().map_or(0, WriteMarks::done)
    }

    /// Waits until something under one of these marks is written after the write with this number.
    pub async fn written(&self, marks: Vec<WriteMark>, write: u64) {
        let woken = Arc::new(Notify::new());
        let waiter = Waiter { marks, write, woken: Arc::clone(&woken) };
        let waiting = Waiting::new(&self.0, waiter);
        if waiting.is_over() {
            return;
        }
        woken.notified().await;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut readers = self.0.readers.lock();
        readers.watches -= 1;
        if readers.watches == 0
            && let Some(running) = readers.running.take()
        {
            running.cancel();
        }
    }
}

/// A place among the waiters, as long as this lives.
struct Waiting<'a> {
    watches: &'a WriteWatches,
    number: u64,
}

impl<'a> Waiting<'a> {
    fn new(watches: &'a WriteWatches, waiter: Waiter) -> Self {
        let mut waiters = watches.waiters.lock();
        waiters.started += 1;
        let number = waiters.started;
        waiters.waiting.insert(number, waiter);
        Self { watches, number }
    }

    /// Whether the write has come before.
    fn is_over(&self) -> bool {
        let waiters = self.watches.waiters.lock();
        let waiter = waiters.waiting.get(&self.number);
        waiter.is_none_or(|waiter| self.watches.is_written(&waiter.marks, waiter.write))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.watches.waiters.lock().waiting.remove(&self.number);
    }
}
