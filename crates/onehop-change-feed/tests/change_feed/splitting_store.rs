//! A store whose feed ranges can be split and merged: the embedded store with eight physical partitions,
//! presented as runs of them, with a continuation that has a part for each. It also fails, loses answers and
//! holds writes up when a test says so.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use onehop_change_feed::LEASES;
use onehop_store::embedded::EmbeddedStore;
use onehop_store::{
    Batch, ContainerName, Continuation, ETag, Fault, FaultKind, FeedPage, FeedRange, FeedRequest, Item,
    Ledger, NewItem, PartitionKey, Query, QueryPage, Rejection, SignalScope, Store, WriteError, WriteMarks,
    WriteOp,
};
use onehop_testing::operations::Operations;
use serde_json::Value;
use tokio::sync::watch;

pub const PHYSICAL_PARTITIONS: u16 = 8;

/// The fate of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    /// It fails before anything is written.
    Fail(FaultKind),
    /// It is written, and the answer is lost.
    Lose,
    /// It is refused as if the item were there.
    Refuse,
    /// Another writer writes an older copy first, so it is refused.
    Overtake,
    /// It is refused because the item is too large.
    RefuseSize,
}

type Judge = Box<dyn FnMut(ContainerName, &WriteOp) -> Verdict + Send>;

pub struct SplittingStore {
    inner: EmbeddedStore,
    /// The first and the last physical partition of each range.
    ranges: Mutex<Vec<(u16, u16)>>,
    judge: Mutex<Option<Judge>>,
    /// The container whose writes wait.
    gate: watch::Sender<Option<ContainerName>>,
    waiting: watch::Sender<usize>,
    /// A signal that never comes, in the place of the store's own.
    silence: Mutex<Option<watch::Sender<u64>>>,
    /// The faults of the next reads of the feed.
    feed_faults: Mutex<Vec<FaultKind>>,
    /// Whether reads of leases fail.
    hides_leases: AtomicBool,
    operations: Operations,
    pub lease_requests: AtomicUsize,
    pub feed_pages: AtomicUsize,
    /// Pages that were read as background work.
    pub background_pages: AtomicUsize,
    pub counts: AtomicUsize,
}

impl SplittingStore {
    pub fn new(inner: EmbeddedStore, ranges: &[(u16, u16)]) -> Self {
        Self {
            inner,
            ranges: Mutex::new(ranges.to_vec()),
            judge: Mutex::default(),
            gate: watch::Sender::new(None),
            waiting: watch::Sender::new(0),
            silence: Mutex::default(),
            feed_faults: Mutex::default(),
            hides_leases: AtomicBool::default(),
            operations: Operations::default(),
            lease_requests: AtomicUsize::default(),
            feed_pages: AtomicUsize::default(),
            background_pages: AtomicUsize::default(),
            counts: AtomicUsize::default(),
        }
    }

    /// Splits the range at this place, if it can be.
    pub fn split(&self, place: usize) {
        let mut ranges = self.ranges.lock().expect("no panic while locked");
        let place = place % ranges.len();
        let (from, to) = ranges[place];
        if from < to {
            let middle = from.midpoint(to);
            ranges.splice(place..=place, [(from, middle), (middle + 1, to)]);
        }
    }

    /// Merges the range at this place with the next, if there is one.
    pub fn merge(&self, place: usize) {
        let mut ranges = self.ranges.lock().expect("no panic while locked");
        let place = place % ranges.len();
        if let Some((_, to)) = ranges.get(place + 1).copied() {
            let from = ranges[place].0;
            ranges.splice(place..=place + 1, [(from, to)]);
        }
    }

    /// Has every write judged from now on.
    pub fn judge(&self, judge: impl FnMut(ContainerName, &WriteOp) -> Verdict + Send + 'static) {
        *self.judge.lock().expect("no panic while locked") = Some(Box::new(judge));
    }

    /// Lets every write and every page pass again.
    pub fn mend(&self) {
        *self.judge.lock().expect("no panic while locked") = None;
        self.feed_faults.lock().expect("no panic while locked").clear();
    }

    /// Holds up the writes to a container.
    pub fn close(&self, container: ContainerName) {
        self.waiting.send_replace(0);
        self.gate.send_replace(Some(container));
    }

    pub fn open(&self) {
        self.gate.send_replace(None);
    }

    /// Gives no signal of writes any more, as if other processes made them.
    pub fn keep_silent(&self) {
        *self.silence.lock().expect("no panic while locked") = Some(watch::Sender::new(0));
    }

    /// Has the next reads of the feed fail so.
    pub fn fail_feed_pages(&self, kinds: &[FaultKind]) {
        self.feed_faults.lock().expect("no panic while locked").extend(kinds.iter().rev());
    }

    /// Has every read of leases fail, or none.
    pub fn hide_leases(&self, hides: bool) {
        self.hides_leases.store(hides, Ordering::SeqCst);
    }

    /// A number that changes while operations are under way, and with each that was done: for a virtual
    /// clock.
    pub fn progress(&self) -> usize {
        self.operations.progress()
    }

    /// The fault of this read of the feed. The beginning is no continuation that could be refused.
    fn feed_fault(&self, request: &FeedRequest<'_>) -> Option<FaultKind> {
        let mut faults = self.feed_faults.lock().expect("no panic while locked");
        let next = faults.last().copied()?;
        let applies = next != FaultKind::InvalidContinuation || request.continuation.is_some();
        if applies { faults.pop() } else { None }
    }

    /// Comes when a write is held up.
    pub async fn until_one_waits(&self) {
        self.waiting.subscribe().wait_for(|waiting| *waiting > 0).await.expect("the store is there");
    }

    fn count_request(&self, container: ContainerName) {
        if container == LEASES {
            self.lease_requests.fetch_add(1, Ordering::SeqCst);
        }
    }

    async fn verdict(&self, container: ContainerName, operation: &WriteOp) -> Verdict {
        self.count_request(container);
        if *self.gate.borrow() == Some(container) {
            self.waiting.send_modify(|waiting| *waiting += 1);
            let mut gate = self.gate.subscribe();
            gate.wait_for(|closed| *closed != Some(container)).await.expect("the store is there");
        }
        let mut judge = self.judge.lock().expect("no panic while locked");
        judge.as_mut().map_or(Verdict::Pass, |judge| judge(container, operation))
    }
}

fn fault(kind: FaultKind) -> WriteError {
    Fault::new(kind, "the test says so").into()
}

fn range_of((from, to): (u16, u16)) -> FeedRange {
    FeedRange(format!("{from}-{to}"))
}

fn span_of(range: &FeedRange) -> (u16, u16) {
    let (from, to) = range.0.split_once('-').expect("a range of this store");
    (from.parse().expect("a number"), to.parse().expect("a number"))
}

fn physical(partition: u16) -> FeedRange {
    FeedRange(format!("physical:{partition}"))
}

type Positions = BTreeMap<u16, Continuation>;

fn positions(continuation: Option<&Continuation>) -> Result<Positions, Fault> {
    let Some(Continuation(text)) = continuation else { return Ok(Positions::new()) };
    serde_json::from_str(text).map_err(|_| Fault::new(FaultKind::InvalidContinuation, "no positions"))
}

#[async_trait]
impl Store for SplittingStore {
    async fn read(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        id: &str,
        ledger: &Ledger,
    ) -> Result<Option<Item>, Fault> {
        let _under_way = self.operations.begin();
        self.count_request(container);
        self.inner.read(container, partition_key, id, ledger).await
    }

    async fn read_many(
        &self,
        container: ContainerName,
        keys: &[(PartitionKey, String)],
        ledger: &Ledger,
    ) -> Result<Vec<Option<Item>>, Fault> {
        let _under_way = self.operations.begin();
        self.count_request(container);
        if container == LEASES && self.hides_leases.load(Ordering::SeqCst) {
            return Err(Fault::new(FaultKind::Unavailable, "the test says so"));
        }
        self.inner.read_many(container, keys, ledger).await
    }

    async fn write(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        operation: WriteOp,
        ledger: &Ledger,
    ) -> Result<Option<ETag>, WriteError> {
        let verdict = self.verdict(container, &operation).await;
        let _under_way = self.operations.begin();
        match verdict {
            Verdict::Fail(kind) => return Err(fault(kind)),
            Verdict::Refuse => {
                return Err(WriteError::Rejected { operation: 0, reason: Rejection::Conflict });
            }
            Verdict::RefuseSize => {
                let reason = Rejection::TooLarge { limit_bytes: 1, actual_bytes: 2 };
                return Err(WriteError::Rejected { operation: 0, reason });
            }
            Verdict::Overtake => {
                if let WriteOp::Create(item) | WriteOp::Replace { item, .. } = &operation {
                    let mut older: Value = serde_json::from_slice(&item.body).expect("JSON");
                    older["number"] = 0.into();
                    let rival = WriteOp::Upsert(NewItem::encode(item.id.clone(), &older));
                    self.inner.write(container, partition_key, rival, ledger).await?;
                }
            }
            Verdict::Pass | Verdict::Lose => {}
        }
        let answer = self.inner.write(container, partition_key, operation, ledger).await;
        if verdict == Verdict::Lose { Err(fault(FaultKind::Ambiguous)) } else { answer }
    }

    async fn batch(&self, batch: Batch, ledger: &Ledger) -> Result<Vec<Option<ETag>>, WriteError> {
        let _under_way = self.operations.begin();
        self.inner.batch(batch, ledger).await
    }

    async fn query(&self, query: &Query<'_>, ledger: &Ledger) -> Result<QueryPage, Fault> {
        let _under_way = self.operations.begin();
        if let Query::Equality { container, .. } = query {
            self.count_request(*container);
        }
        self.inner.query(query, ledger).await
    }

    async fn count(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        item_type: &str,
        ledger: &Ledger,
    ) -> Result<u64, Fault> {
        self.inner.count(container, partition_key, item_type, ledger).await
    }

    async fn feed_ranges(&self, _container: ContainerName) -> Result<Vec<FeedRange>, Fault> {
        let ranges = self.ranges.lock().expect("no panic while locked");
        Ok(ranges.iter().copied().map(range_of).collect())
    }

    fn parts_of(&self, whole: &FeedRange, present: &[FeedRange]) -> Option<Vec<FeedRange>> {
        let (from, to) = span_of(whole);
        let within = |range: &&FeedRange| span_of(range).0 >= from && span_of(range).1 <= to;
        let mut parts: Vec<_> = present.iter().filter(within).cloned().collect();
        parts.sort_by_key(span_of);
        let mut next = from;
        for part in &parts {
            if span_of(part).0 != next {
                return None;
            }
            next = span_of(part).1 + 1;
        }
        (parts.len() > 1 && next == to + 1).then_some(parts)
    }

    async fn read_change_feed(&self, request: &FeedRequest<'_>, ledger: &Ledger) -> Result<FeedPage, Fault> {
        let _under_way = self.operations.begin();
        self.feed_pages.fetch_add(1, Ordering::SeqCst);
        self.background_pages.fetch_add(usize::from(ledger.is_background()), Ordering::SeqCst);
        if let Some(kind) = self.feed_fault(request) {
            return Err(Fault::new(kind, "the test says so"));
        }
        let mut positions = positions(request.continuation)?;
        let (from, to) = span_of(request.range);
        let (mut changes, mut drained) = (Vec::new(), true);
        for partition in from..=to {
            if changes.len() == request.limit {
                drained = false;
                break;
            }
            let request = FeedRequest {
                range: &physical(partition),
                continuation: positions.get(&partition),
                limit: request.limit - changes.len(),
                ..*request
            };
            let page = self.inner.read_change_feed(&request, ledger).await?;
            changes.extend(page.changes);
            drained &= page.drained;
            positions.insert(partition, page.continuation);
        }
        let continuation = Continuation(serde_json::to_string(&positions).expect("plain positions"));
        let passed = drained.then(|| continuation.clone());
        Ok(FeedPage { changes, continuation, drained, passed, behind: None })
    }

    async fn change_feed_end(
        &self,
        container: ContainerName,
        range: &FeedRange,
        ledger: &Ledger,
    ) -> Result<Continuation, Fault> {
        let mut positions = Positions::new();
        let (from, to) = span_of(range);
        for partition in from..=to {
            let end = self.inner.change_feed_end(container, &physical(partition), ledger).await?;
            positions.insert(partition, end);
        }
        Ok(Continuation(serde_json::to_string(&positions).expect("plain positions")))
    }

    async fn change_feed_since(
        &self,
        container: ContainerName,
        range: &FeedRange,
        since_ms: i64,
        ledger: &Ledger,
    ) -> Result<Continuation, Fault> {
        let mut positions = Positions::new();
        let (from, to) = span_of(range);
        for partition in from..=to {
            let range = physical(partition);
            let since = self.inner.change_feed_since(container, &range, since_ms, ledger).await?;
            positions.insert(partition, since);
        }
        Ok(Continuation(serde_json::to_string(&positions).expect("plain positions")))
    }

    /// Its ends have a place for each physical partition, and the store's one place for all.
    fn local_feed_end(&self, _container: ContainerName) -> Result<Option<Continuation>, Fault> {
        Ok(None)
    }

    fn is_past(&self, at: &Continuation, end: &Continuation) -> bool {
        let (Ok(at), Ok(end)) = (positions(Some(at)), positions(Some(end))) else { return false };
        end.iter().all(|(partition, end)| at.get(partition).is_some_and(|at| self.inner.is_past(at, end)))
    }

    fn holds(&self, _range: &FeedRange, _end: &Continuation) -> bool {
        true
    }

    fn counts_locally(&self) -> bool {
        true
    }

    fn write_marks(&self) -> Option<&WriteMarks> {
        self.inner.write_marks()
    }

    async fn pending_changes(
        &self,
        request: &FeedRequest<'_>,
        at_most: u64,
        ledger: &Ledger,
    ) -> Result<(u64, Option<i64>), Fault> {
        self.counts.fetch_add(1, Ordering::SeqCst);
        let positions = positions(request.continuation)?;
        let (from, to) = span_of(request.range);
        let (mut count, mut oldest_ms) = (0, None);
        for partition in from..=to {
            let request = FeedRequest {
                range: &physical(partition),
                continuation: positions.get(&partition),
                ..*request
            };
            let (changes, oldest) = self.inner.pending_changes(&request, at_most, ledger).await?;
            count += changes;
            oldest_ms = oldest_ms.into_iter().chain(oldest).min();
        }
        Ok((count.min(at_most), oldest_ms))
    }

    fn change_signal(&self, scope: &SignalScope<'_>) -> Option<watch::Receiver<u64>> {
        if let Some(silence) = &*self.silence.lock().expect("no panic while locked") {
            return Some(silence.subscribe());
        }
        // The ranges are this store's own.
        self.inner.change_signal(&SignalScope { range: None, ..*scope })
    }

    fn physical_partitions(&self, container: ContainerName) -> u32 {
        self.inner.physical_partitions(container)
    }

    async fn ready(&self) -> Result<(), Fault> {
        self.inner.ready().await
    }
}
