//! Request charge and ledger: the charge of each operation, collected for each request.

use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{ChargeBasis, ContainerName, Continuation, PartitionKey, WriteMark};
use onehop_runtime::trace_context::SpanContext;

/// Logical partitions and containers that a ledger remembers as read.
const TOUCHED_MAX: usize = 16;

/// Logical partitions that a ledger remembers as written.
const WRITTEN_MAX: usize = 16;

/// A short hash of a logical partition, the same in every process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PartitionHash(u32);

impl PartitionHash {
    /// The hash of a logical partition of a container.
    #[must_use]
    pub fn of(container: ContainerName, partition_key: &PartitionKey) -> Self {
        let hash = Sha256::new()
            .chain_update(container.as_str())
            .chain_update([0])
            .chain_update(partition_key.as_str())
            .finalize();
        Self(u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]]))
    }

    /// The hash as a number.
    #[must_use]
    pub fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for PartitionHash {
    /// Eight hexadecimal digits.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:08x}", self.0)
    }
}

/// A request charge in request units (RU).
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Default, Serialize)]
#[serde(transparent)]
pub struct RequestCharge(pub f64);

impl std::ops::Add for RequestCharge {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

/// Where a charge comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChargeSource {
    /// The service said so.
    Measured,
    /// A model computed it.
    Estimated,
}

/// The kind of an operation on a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum OperationKind {
    PointRead,
    Query,
    Count,
    Create,
    Replace,
    Upsert,
    Delete,
    Batch,
    ChangeFeed,
}

impl OperationKind {
    /// Its name in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::PointRead => "point_read",
            Self::Query => "query",
            Self::Count => "count",
            Self::Create => "create",
            Self::Replace => "replace",
            Self::Upsert => "upsert",
            Self::Delete => "delete",
            Self::Batch => "batch",
            Self::ChangeFeed => "change_feed",
        }
    }

    /// Whether it writes.
    #[must_use]
    pub fn writes(self) -> bool {
        match self {
            Self::PointRead | Self::Query | Self::Count | Self::ChangeFeed => false,
            Self::Create | Self::Replace | Self::Upsert | Self::Delete | Self::Batch => true,
        }
    }
}

/// One operation on the store.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OperationRecord {
    pub container: ContainerName,
    pub kind: OperationKind,
    /// Items returned or written.
    pub items: u32,
    pub physical_partitions: u32,
    pub charge: RequestCharge,
    pub source: ChargeSource,
    pub basis: ChargeBasis,
}

/// Identical operations of one request, folded into one line.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FoldedOperation {
    pub container: ContainerName,
    pub kind: OperationKind,
    pub times: u32,
    pub items: u32,
    /// Physical partitions that one such operation touched, at most.
    pub physical_partitions: u32,
    pub request_charge: RequestCharge,
    #[serde(skip)]
    pub basis: ChargeBasis,
}

/// A logical partition that a request wrote to.
#[derive(Debug, Clone)]
struct WrittenPartition {
    container: ContainerName,
    hash: PartitionHash,
    /// Where its last write ends in the change feed, if the store said it.
    end: Option<Continuation>,
}

/// The store operations of one request, in order. Shared by everything that works for the request.
#[derive(Debug, Default)]
pub struct Ledger {
    operations: Mutex<Vec<OperationRecord>>,
    /// Logical partitions that were written to, one more than [`WRITTEN_MAX`] at most.
    written: Mutex<Vec<WrittenPartition>>,
    /// The write marks of the items read, if they are recorded; `None` inside when they are unknown. The
    /// parts of a ledger share it.
    touched: Option<Arc<Mutex<Option<Vec<WriteMark>>>>>,
    /// The number of marks above which they are unknown.
    touched_max: usize,
    /// Under which the operations are traced, if they are.
    span: Option<SpanContext>,
    is_background: bool,
}

impl Ledger {
    /// An empty ledger.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty ledger that also remembers reads.
    #[must_use]
    pub fn remembering() -> Self {
        Self::remembering_up_to(TOUCHED_MAX)
    }

    /// An empty ledger that also remembers reads of up to this many marks.
    #[must_use]
    pub fn remembering_up_to(touched_max: usize) -> Self {
        Self { touched: Some(Arc::new(Mutex::new(Some(Vec::new())))), touched_max, ..Self::default() }
    }

    /// The same, whose operations are traced under this span.
    #[must_use]
    pub fn under(self, span: Option<SpanContext>) -> Self {
        Self { span, ..self }
    }

    /// The same for background work, which yields to requests.
    #[must_use]
    pub fn for_background(self) -> Self {
        Self { is_background: true, ..self }
    }

    /// Whether the operations are background work.
    #[must_use]
    pub fn is_background(&self) -> bool {
        self.is_background
    }

    /// The span under which its operations are traced, if they are.
    #[must_use]
    pub fn span(&self) -> Option<SpanContext> {
        self.span
    }

    /// An empty ledger for a part of the same request, to be absorbed: its reads are remembered here.
    #[must_use]
    pub fn part(&self) -> Self {
        let (touched, span, is_background) = (self.touched.clone(), self.span, self.is_background);
        Self { touched, touched_max: self.touched_max, span, is_background, ..Self::default() }
    }

    /// Remembers that this was read, if that is wanted.
    pub fn touch(&self, mark: impl FnOnce() -> WriteMark) {
        let Some(touched) = &self.touched else { return };
        let mut touched = touched.lock();
        let Some(marks) = &mut *touched else { return };
        let mark = mark();
        if marks.contains(&mark) {
            return;
        }
        if marks.len() == self.touched_max {
            *touched = None;
        } else {
            marks.push(mark);
        }
    }

    /// Notes that the answer depends on more than the recorded reads.
    pub fn touch_more(&self) {
        if let Some(touched) = &self.touched {
            *touched.lock() = None;
        }
    }

    /// The marks of all reads; `None` when they were not remembered, were too many, or are not all
    /// dependencies of the answer.
    #[must_use]
    pub fn touched(&self) -> Option<Vec<WriteMark>> {
        self.touched.as_ref()?.lock().clone()
    }

    /// The containers that were written to.
    #[must_use]
    pub fn written(&self) -> Vec<ContainerName> {
        self.containers_of(|record| record.kind.writes())
    }

    /// The containers that were read or written.
    #[must_use]
    pub fn containers(&self) -> Vec<ContainerName> {
        self.containers_of(|_| true)
    }

    fn containers_of(&self, is_wanted: impl Fn(&OperationRecord) -> bool) -> Vec<ContainerName> {
        let mut containers: Vec<_> =
            self.lock().iter().filter(|record| is_wanted(record)).map(|record| record.container).collect();
        containers.sort_unstable();
        containers.dedup();
        containers
    }

    /// Remembers that a logical partition was written to, and where the write ends in the change feed, if the
    /// store said it.
    pub fn wrote(&self, container: ContainerName, partition_key: &PartitionKey, end: Option<Continuation>) {
        let hash = PartitionHash::of(container, partition_key);
        self.remember_written(WrittenPartition { container, hash, end });
    }

    fn remember_written(&self, partition: WrittenPartition) {
        let mut written = self.written.lock();
        if let Some(known) = written.iter_mut().find(|known| known.hash == partition.hash) {
            *known = partition;
        } else if written.len() <= WRITTEN_MAX {
            written.push(partition);
        }
    }

    /// The logical partitions that were written to; `None` when they were more than are remembered.
    #[must_use]
    pub fn written_partitions(&self) -> Option<Vec<PartitionHash>> {
        let written = self.written.lock();
        (written.len() <= WRITTEN_MAX).then(|| written.iter().map(|partition| partition.hash).collect())
    }

    /// Where the writes to a container end in the change feed; `None` where that is not known of all of them.
    #[must_use]
    pub fn write_ends(&self, container: ContainerName) -> Option<Vec<Continuation>> {
        let written = self.written.lock();
        if written.len() > WRITTEN_MAX {
            return None;
        }
        let own = written.iter().filter(|partition| partition.container == container);
        own.map(|partition| partition.end.clone()).collect()
    }

    /// Where the last write to a logical partition ends in the change feed, if it is known.
    #[must_use]
    pub fn write_end(&self, container: ContainerName, partition_key: &PartitionKey) -> Option<Continuation> {
        let hash = PartitionHash::of(container, partition_key);
        self.written.lock().iter().find(|partition| partition.hash == hash)?.end.clone()
    }

    /// Adds an operation.
    pub fn record(&self, record: OperationRecord) {
        self.lock().push(record);
    }

    /// Adds all operations of another ledger.
    pub fn absorb(&self, other: &Ledger) {
        let records = other.operations();
        self.lock().extend(records);
        let written = other.written.lock().clone();
        written.into_iter().for_each(|partition| self.remember_written(partition));
    }

    /// Adds the operations and the written marks of a part of the same request.
    pub(super) fn absorb_part(&self, part: &Ledger, records: Vec<OperationRecord>) {
        let mut operations = self.lock();
        if operations.is_empty() {
            *operations = records;
        } else {
            operations.extend(records);
        }
        drop(operations);
        let written = std::mem::take(&mut *part.written.lock());
        written.into_iter().for_each(|hash| self.remember_written(hash));
    }

    /// Takes all operations out.
    pub(super) fn take_operations(&self) -> Vec<OperationRecord> {
        std::mem::take(&mut *self.lock())
    }

    /// The sum of all charges.
    #[must_use]
    pub fn total(&self) -> RequestCharge {
        // Not `sum`, whose value of nothing is -0.
        RequestCharge(self.lock().iter().fold(0.0, |total, record| total + record.charge.0))
    }

    /// All operations, in the order in which they ended.
    #[must_use]
    pub fn operations(&self) -> Vec<OperationRecord> {
        self.lock().clone()
    }

    /// The operations with identical container, kind and scope folded together, in order of first appearance.
    #[must_use]
    pub fn folded(&self) -> Vec<FoldedOperation> {
        let mut folded: Vec<FoldedOperation> = Vec::new();
        for record in self.lock().iter() {
            let same = |line: &&mut FoldedOperation| {
                line.container == record.container
                    && line.kind == record.kind
                    && line.physical_partitions == record.physical_partitions
                    && line.basis.is_across == record.basis.is_across
            };
            if let Some(line) = folded.iter_mut().find(same) {
                line.times += 1;
                line.items += record.items;
                line.request_charge.0 += record.charge.0;
                line.basis += record.basis;
            } else {
                folded.push(FoldedOperation {
                    container: record.container,
                    kind: record.kind,
                    times: 1,
                    items: record.items,
                    physical_partitions: record.physical_partitions,
                    request_charge: record.charge,
                    basis: record.basis,
                });
            }
        }
        folded
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, Vec<OperationRecord>> {
        self.operations.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identical_operations_are_folded_into_one_line() {
        let ledger = Ledger::new();
        let read = OperationRecord {
            container: ContainerName("users"),
            kind: OperationKind::PointRead,
            items: 1,
            physical_partitions: 1,
            charge: RequestCharge(1.0),
            source: ChargeSource::Estimated,
            basis: ChargeBasis::default(),
        };
        ledger.record(read);
        ledger.record(OperationRecord { kind: OperationKind::Query, ..read });
        ledger.record(read);
        let folded = ledger.folded();
        assert_eq!(folded.len(), 2);
        assert_eq!((folded[0].times, folded[0].items, folded[0].request_charge.0), (2, 2, 2.0));
        assert!((ledger.total().0 - 3.0).abs() < 1e-9);
    }
}
