//! The account: its containers, its clock and its faults, shared by all simulated processes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use onehop_runtime::clock::Clock;
use onehop_store::charges::{Calibration, IndexingPolicy};
use onehop_store::{
    ContainerName, ContainerSpec, Fault, FaultKind, Indexing, NewItem, PartitionKey, Rejection, WriteOp,
};
use parking_lot::Mutex;

use super::commits::{CheckedBatch, CommitTime, Committed};
use super::container::AccountContainer;
use super::faults::{AccountFaults, FaultPoint, Outcome};
use super::process::Process;
use super::read_view::{Freshness, ReadTime, ReadView};

/// An account of Azure Cosmos DB in memory.
pub struct AccountModel {
    pub(super) specs: &'static [ContainerSpec],
    pub(super) calibration: Arc<Calibration>,
    /// By the place of the container.
    pub(super) policies: Vec<IndexingPolicy>,
    clock: Arc<dyn Clock>,
    faults: Arc<dyn AccountFaults>,
    state: Mutex<AccountState>,
}

struct AccountState {
    containers: Vec<AccountContainer>,
    /// The last ETag.
    etags: u64,
    processes: u64,
    /// Writes that happen later, by their time (monotonic ms) and their number.
    late_writes: BTreeMap<(i64, u64), LateWrite>,
    late_writes_begun: u64,
    deletions: Vec<Deletion>,
    /// Items that a late create has brought back, by the place of their container and their id.
    brought_back: BTreeSet<(usize, String)>,
    /// All writes, in the order of their commits; `None` unless they are recorded.
    commits: Option<Vec<CommittedWrite>>,
    counts: BTreeMap<&'static str, u64>,
}

/// One write of a commit.
#[derive(Debug, Clone)]
pub struct CommittedWrite {
    /// The container.
    pub container: ContainerName,
    /// The partition key.
    pub partition_key: PartitionKey,
    /// The id of the item.
    pub id: String,
    /// The item; `None` for a delete.
    pub body: Option<Bytes>,
    /// Whether it began the life of the item.
    pub is_create: bool,
}

/// A write that takes so long outlives the lease of its process.
const HANGING_MS: i64 = 60_000;

/// A write that reaches its physical partition when its sender no longer waits for it.
struct LateWrite {
    container: usize,
    batch: CheckedBatch,
    lag: Duration,
    /// When its sender began it (monotonic ms).
    begun_ms: i64,
}

/// The end of an item: a delete, or the tombstone of a source, whose copies in other containers end with it.
struct Deletion {
    at_ms: i64,
    container: usize,
    /// `None` for a tombstone.
    partition_key: Option<PartitionKey>,
    id: String,
}

impl Deletion {
    /// Whether it ended an item, by its container, partition key and id.
    fn ends(&self, container: usize, partition_key: &PartitionKey, id: &str) -> bool {
        self.id == id
            && match &self.partition_key {
                Some(deleted) => self.container == container && deleted == partition_key,
                None => self.container != container,
            }
    }
}

impl AccountModel {
    /// An account with these containers, each empty and with this many physical partitions of equal size. The
    /// clock is the account's own: it dates writes, ends the time of items, and measures lag.
    #[must_use]
    pub fn new(
        specs: &'static [ContainerSpec],
        physical_partitions: u32,
        clock: Arc<dyn Clock>,
        faults: Arc<dyn AccountFaults>,
    ) -> Arc<Self> {
        let containers = specs.iter().map(|spec| AccountContainer::new(*spec, physical_partitions)).collect();
        let state = AccountState {
            containers,
            etags: 0,
            processes: 0,
            late_writes: BTreeMap::new(),
            late_writes_begun: 0,
            deletions: Vec::new(),
            brought_back: BTreeSet::new(),
            commits: None,
            counts: BTreeMap::new(),
        };
        let policies = specs.iter().map(|spec| spec.indexing_policy(Indexing::Needed)).collect();
        let (calibration, state) = (Calibration::current(), Mutex::new(state));
        Arc::new(Self { specs, calibration, policies, clock, faults, state })
    }

    /// The time of the account, which never goes back (ms).
    pub(super) fn monotonic_ms(&self) -> i64 {
        self.clock.monotonic_ms()
    }

    /// A new process that is connected to the account.
    pub(super) fn new_process(&self) -> Process {
        let mut state = self.state.lock();
        let number = state.processes;
        state.processes += 1;
        Process::new(number, state.containers.iter().map(|container| container.partitions.len()))
    }

    /// Splits a physical partition of a container, by its place in the order of the key space, into two
    /// halves. Whether it was split: a place without a physical partition changes nothing.
    pub fn split(&self, container: ContainerName, range: usize) -> bool {
        self.reshape(container, "splits", |container| container.split(range))
    }

    /// Merges a physical partition of a container with the next one in the order of the key space. Whether
    /// they were merged: a place without a next one changes nothing.
    pub fn merge(&self, container: ContainerName, left: usize) -> bool {
        self.reshape(container, "merges", |container| container.merge(left))
    }

    fn reshape(
        &self,
        container: ContainerName,
        name: &'static str,
        reshape: impl FnOnce(&mut AccountContainer) -> bool,
    ) -> bool {
        let Some(place) = self.place_of(container) else { return false };
        let mut state = self.state.lock();
        self.land_late_writes(&mut state);
        let is_done = reshape(&mut state.containers[place]);
        if is_done {
            state.count(name);
        }
        is_done
    }

    /// The number of physical partitions of a container; 0 where there is no such container.
    #[must_use]
    pub fn physical_partitions(&self, container: ContainerName) -> usize {
        let place = self.place_of(container);
        place.map_or(0, |place| self.state.lock().containers[place].partitions.len())
    }

    /// Deletes the items whose time is over, which no read sees, and returns their number.
    pub fn purge_expired(&self) -> usize {
        let time = self.commit_time(Duration::ZERO);
        let mut state = self.state.lock();
        self.land_late_writes(&mut state);
        let purged = state.containers.iter_mut().map(|container| container.purge_expired(time)).sum();
        state.add("expired_items_purged", purged as u64);
        purged
    }

    /// Writes that have not reached their physical partition yet, and whose sender no longer waits for them.
    #[must_use]
    pub fn writes_in_flight(&self) -> usize {
        let mut state = self.state.lock();
        self.land_late_writes(&mut state);
        state.late_writes.len()
    }

    /// Whether a late create has brought an item back that was deleted after its sender gave up, or whose
    /// source was: the item with the same id in another container. No reader of a change feed can know that
    /// such an item is to be deleted once more.
    #[must_use]
    pub fn was_brought_back(&self, container: &str, id: &str) -> bool {
        let place = self.specs.iter().position(|spec| spec.name.as_str() == container);
        let Some(place) = place else { return false };
        self.state.lock().brought_back.contains(&(place, id.to_owned()))
    }

    /// Records all writes from now on, for [`commits`](Self::commits).
    pub fn record_commits(&self) {
        self.state.lock().commits = Some(Vec::new());
    }

    /// The recorded writes, in the order of their commits.
    #[must_use]
    pub fn commits(&self) -> Vec<CommittedWrite> {
        self.state.lock().commits.clone().unwrap_or_default()
    }

    /// The number of events of each kind: requests, faults, reads of lagging replicas, splits.
    #[must_use]
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        self.state.lock().counts.clone()
    }

    /// The place of a container among all.
    pub(super) fn place_of(&self, container: ContainerName) -> Option<usize> {
        self.specs.iter().position(|spec| spec.name == container)
    }

    /// The same for a request.
    pub(super) fn container(&self, container: ContainerName) -> Result<usize, Fault> {
        let no_container = || Fault::new(FaultKind::Internal, format!("there is no container {container}"));
        self.place_of(container).ok_or_else(no_container)
    }

    /// Asks for the outcome of a request, and counts it.
    pub(super) fn outcome(&self, point: &FaultPoint<'_>) -> Outcome {
        let outcome = self.faults.next(point);
        let mut state = self.state.lock();
        state.count(if point.request.writes() { "requests_that_write" } else { "requests_that_read" });
        if let Some(fault) = outcome.fault.filter(|fault| fault.concerns(point.request)) {
            state.count(fault.name());
        }
        outcome
    }

    /// Carries out a batch that was begun at a time (monotonic ms). Lagging replicas have it after this long.
    pub(super) fn apply(
        &self,
        container: usize,
        batch: &CheckedBatch,
        (begun_ms, lag): (i64, Duration),
    ) -> Committed {
        let mut state = self.state.lock();
        self.land_late_writes(&mut state);
        let committed = self.apply_in(&mut state, container, batch, lag);
        let is_late = self.clock.monotonic_ms() >= begun_ms.saturating_add(HANGING_MS);
        if is_late && committed.outcome.is_ok() {
            state.note_brought_back(container, batch, begun_ms);
        }
        committed
    }

    /// Carries out a batch after this long, whether its sender waits or not.
    pub(super) fn apply_later(
        &self,
        container: usize,
        batch: CheckedBatch,
        (begun_ms, delay, lag): (i64, Duration, Duration),
    ) {
        let at_ms = self.clock.monotonic_ms().saturating_add(milliseconds(delay));
        let mut state = self.state.lock();
        state.late_writes_begun += 1;
        let number = state.late_writes_begun;
        state.late_writes.insert((at_ms, number), LateWrite { container, batch, lag, begun_ms });
    }

    fn apply_in(
        &self,
        state: &mut AccountState,
        container: usize,
        batch: &CheckedBatch,
        lag: Duration,
    ) -> Committed {
        let time = self.commit_time(lag);
        let AccountState { containers, etags, .. } = &mut *state;
        let committed = containers[container].apply(batch, time, etags);
        match &committed.outcome {
            Ok(_) if lag > Duration::ZERO => state.count("commits_with_lag"),
            Ok(_) => {}
            Err((_, rejection)) => state.count(rejection_name(rejection)),
        }
        if committed.outcome.is_ok() {
            state.note_deletions(container, batch, self.clock.monotonic_ms());
            state.note_commit(self.specs[container].name, batch);
        }
        committed
    }

    /// Carries out the late writes whose time has come.
    fn land_late_writes(&self, state: &mut AccountState) {
        let now_ms = self.clock.monotonic_ms();
        while let Some(entry) = state.late_writes.first_entry()
            && entry.key().0 <= now_ms
        {
            let LateWrite { container, batch, lag, begun_ms } = entry.remove();
            state.count("writes_that_landed_late");
            if self.apply_in(state, container, &batch, lag).outcome.is_ok() {
                state.note_brought_back(container, &batch, begun_ms);
            }
        }
    }

    /// Reads from a replica. The answer names the physical partitions, by their places, that answered.
    pub(super) fn read<T>(
        &self,
        container: usize,
        freshness: Freshness<'_>,
        read: impl FnOnce(&ReadView<'_>) -> ReadAnswer<T>,
    ) -> ReadAnswer<T> {
        let time = ReadTime { now_ms: self.clock.now_ms(), monotonic_ms: self.clock.monotonic_ms() };
        let mut state = self.state.lock();
        self.land_late_writes(&mut state);
        let view = ReadView::new(&mut state.containers[container], freshness, time);
        let mut answer = read(&view);
        let is_lagging = answer.places.iter().any(|place| view.lags(*place));
        answer.commits = answer.places.iter().map(|place| view.commit(*place)).collect();
        if is_lagging {
            state.count("reads_of_lagging_replicas");
        }
        answer
    }

    fn commit_time(&self, lag: Duration) -> CommitTime {
        let replicated_at_ms = self.clock.monotonic_ms().saturating_add(milliseconds(lag));
        CommitTime { now_ms: self.clock.now_ms(), replicated_at_ms }
    }

    /// Counts an event.
    pub(super) fn count(&self, name: &'static str) {
        self.state.lock().count(name);
    }
}

/// The answer to a read.
pub(super) struct ReadAnswer<T> {
    pub(super) value: T,
    /// The places of the physical partitions that answered.
    pub(super) places: Vec<usize>,
    /// The commits that they stood at.
    pub(super) commits: Vec<super::positions::Commit>,
}

impl<T> ReadAnswer<T> {
    pub(super) fn of(value: T, places: Vec<usize>) -> Self {
        Self { value, places, commits: Vec::new() }
    }
}

impl AccountState {
    fn count(&mut self, name: &'static str) {
        self.add(name, 1);
    }

    fn add(&mut self, name: &'static str, times: u64) {
        *self.counts.entry(name).or_default() += times;
    }

    fn note_commit(&mut self, container: ContainerName, batch: &CheckedBatch) {
        let Some(commits) = &mut self.commits else { return };
        commits.extend(batch.operations.iter().map(|(operation, _)| {
            let body = match operation {
                WriteOp::Create(item) | WriteOp::Upsert(item) | WriteOp::Replace { item, .. } => {
                    Some(item.body.clone())
                }
                WriteOp::Delete { .. } => None,
            };
            CommittedWrite {
                container,
                partition_key: batch.partition_key.clone(),
                id: operation.id().to_owned(),
                body,
                is_create: matches!(operation, WriteOp::Create(_)),
            }
        }));
    }

    /// Notes the items that a batch has deleted, and the sources that it has made tombstones.
    fn note_deletions(&mut self, container: usize, batch: &CheckedBatch, at_ms: i64) {
        for (operation, _) in &batch.operations {
            let (id, partition_key) = match operation {
                WriteOp::Delete { id, .. } => (id.clone(), Some(batch.partition_key.clone())),
                WriteOp::Create(item) | WriteOp::Upsert(item) | WriteOp::Replace { item, .. }
                    if is_tombstone(item) =>
                {
                    (item.id.clone(), None)
                }
                _ => continue,
            };
            self.deletions.push(Deletion { at_ms, container, partition_key, id });
        }
    }

    /// Notes the items that a batch has created although they ended after it was begun.
    fn note_brought_back(&mut self, container: usize, batch: &CheckedBatch, begun_ms: i64) {
        for (operation, _) in &batch.operations {
            let WriteOp::Create(item) = operation else { continue };
            let since = self.deletions.iter().rev().take_while(|deletion| deletion.at_ms >= begun_ms);
            if since.into_iter().any(|deletion| deletion.ends(container, &batch.partition_key, &item.id)) {
                self.brought_back.insert((container, item.id.clone()));
            }
        }
    }
}

/// Whether an item says that it is deleted.
fn is_tombstone(item: &NewItem) -> bool {
    let body = serde_json::from_slice::<serde_json::Value>(&item.body);
    body.is_ok_and(|body| body["deleted"] == true)
}

fn rejection_name(rejection: &Rejection) -> &'static str {
    match rejection {
        Rejection::Conflict => "rejected_conflict",
        Rejection::NotFound => "rejected_not_found",
        Rejection::PreconditionFailed => "rejected_precondition",
        _ => "rejected_otherwise",
    }
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
