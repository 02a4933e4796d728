#![doc = include_str!("../README.md")]

pub mod adapter_rules;
mod background;
mod batch;
mod charge;
mod charge_basis;
pub mod charges;
mod circuit_breaker;
mod commit_phases;
mod container;
#[cfg(feature = "cosmos")]
pub mod cosmos;
mod decisive_reads;
mod decorator;
mod document;
#[cfg(feature = "embedded")]
pub mod embedded;
mod error;
mod feed;
mod interned;
mod item;
mod json_text;
mod key_value;
mod marked_reads;
mod observed_store;
mod order_value;
mod property_path;
mod query;
mod query_names;
mod quorum_reads;
mod shape_error;
mod store_call;
mod write_marks;

pub use background::{BackgroundBudget, BackgroundStore};
pub use batch::{Batch, WriteOp, limits};
pub use charge::{
    ChargeSource, FoldedOperation, Ledger, OperationKind, OperationRecord, PartitionHash, RequestCharge,
};
pub use charge_basis::ChargeBasis;
pub use circuit_breaker::{CircuitBreakerStore, CircuitBreakers, CircuitKind, CircuitSettings};
pub use commit_phases::CommitPhase;
pub use container::{
    ContainerName, ContainerSpec, Indexing, KEY_SEPARATOR, OrderIndex, TypeOrder, joined_key,
};
pub use decisive_reads::DecisiveReads;
pub use decorator::StoreDecorator;
pub use error::{Damage, Fault, FaultKind, Rejection, WriteError};
pub use feed::{Change, Continuation, FeedPage, FeedRange, FeedRequest, SignalScope};
pub use interned::{InternError, NAME_BYTES_MAX, NAMES_BYTES_MAX, interned, interned_list, interned_orders};
pub use item::{ETag, EncodeError, Item, NewItem, PartitionKey};
pub use json_text::json_text;
pub use key_value::{key_text, key_value};
pub use marked_reads::{DeletionListener, MarkedContainers, MarkedReads};
pub use observed_store::{ObservedOperation, ObservedStore, OperationScope, StoreObserver};
pub use order_value::{
    OrderProperty, joined_order, order_value, order_value_of, properties_of_order, split_order_value,
    value_in_order,
};
pub use property_path::{
    is_nested, names_of_property, property_in, property_mut, property_of_path, root_of_property, set_property,
};
pub use query::{Direction, Keyset, Query, QueryPage};
pub use query_names::property_text;
pub use quorum_reads::QuorumReads;
pub use shape_error::ShapeError;
pub use store_call::StoreCall;
pub use write_marks::{WriteMark, WriteMarks};

use async_trait::async_trait;
use tokio::sync::watch;

/// A partitioned document store.
///
/// Absence is `Option`, a refused write is a [`Rejection`], everything else is a [`Fault`]. Every operation
/// writes its kind and its charge into the given [`Ledger`]. No method has a default: an adapter states its
/// limits, and a [`StoreDecorator`] forwards everything.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Reads one item by partition key and id: the cheapest operation there is.
    async fn read(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        id: &str,
        ledger: &Ledger,
    ) -> Result<Option<Item>, Fault>;

    /// Reads many items by partition key and id; the answers are in the order of the keys. Each key is
    /// charged as a point read.
    async fn read_many(
        &self,
        container: ContainerName,
        keys: &[(PartitionKey, String)],
        ledger: &Ledger,
    ) -> Result<Vec<Option<Item>>, Fault>;

    /// Writes one item. Returns its new ETag, or `None` after a delete.
    async fn write(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        operation: WriteOp,
        ledger: &Ledger,
    ) -> Result<Option<ETag>, WriteError>;

    /// Runs a transactional batch in one logical partition: all of it, or none. Returns an ETag for each
    /// operation, `None` for deletes. [`WriteError::Rejected`] names the operation that refused.
    async fn batch(&self, batch: Batch, ledger: &Ledger) -> Result<Vec<Option<ETag>>, WriteError>;

    /// Runs one of the closed set of query shapes and returns one page.
    async fn query(&self, query: &Query<'_>, ledger: &Ledger) -> Result<QueryPage, Fault>;

    /// Counts the items of a type in one logical partition.
    async fn count(
        &self,
        container: ContainerName,
        partition_key: &PartitionKey,
        item_type: &str,
        ledger: &Ledger,
    ) -> Result<u64, Fault>;

    /// The feed ranges of a container, one for each physical partition at this moment.
    async fn feed_ranges(&self, container: ContainerName) -> Result<Vec<FeedRange>, Fault>;

    /// The parts into which a range was split: the `present` ranges of its container that lie within it, if
    /// they are at least two and make up all of it. `None` otherwise, also where ranges were merged: a range
    /// that was once handed out stays readable. A continuation of the whole serves each of its parts.
    fn parts_of(&self, whole: &FeedRange, present: &[FeedRange]) -> Option<Vec<FeedRange>>;

    /// Reads a page of the change feed: latest versions, in order within a logical partition, at least once.
    async fn read_change_feed(&self, request: &FeedRequest<'_>, ledger: &Ledger) -> Result<FeedPage, Fault>;

    /// Where the change feed of a range ends: a reader that begins there sees every change written from now
    /// on.
    async fn change_feed_end(
        &self,
        container: ContainerName,
        range: &FeedRange,
        ledger: &Ledger,
    ) -> Result<Continuation, Fault>;

    /// Where the change feed of a range stood at a time (Unix ms): a reader that begins there sees every
    /// change written at that time or later, and may see earlier ones.
    async fn change_feed_since(
        &self,
        container: ContainerName,
        range: &FeedRange,
        since_ms: i64,
        ledger: &Ledger,
    ) -> Result<Continuation, Fault>;

    /// Where the change feeds of a container end at this moment, for all of its ranges, if the store knows
    /// that without a request; `None` otherwise.
    ///
    /// # Errors
    /// A fault of the store.
    fn local_feed_end(&self, container: ContainerName) -> Result<Option<Continuation>, Fault>;

    /// Whether a reader at a continuation has read all changes before an end; `false` where the store does
    /// not know. The end belongs to a container, to a write ([`Ledger::write_ends`]), or to another reader of
    /// the range; a reader stands at a page's continuation or at its [progress](FeedPage::passed). Of two
    /// writes, whether the first does not end before the second.
    fn is_past(&self, at: &Continuation, end: &Continuation) -> bool;

    /// Whether a feed range holds the write that ended here; `true` where the store does not know.
    fn holds(&self, range: &FeedRange, end: &Continuation) -> bool;

    /// Whether pending changes are counted without a request to a service.
    fn counts_locally(&self) -> bool;

    /// The number of a range's changes after a continuation, counted up to `at_most`, and when the oldest of
    /// them was written (Unix ms). Charged as a read of the change feed.
    async fn pending_changes(
        &self,
        request: &FeedRequest<'_>,
        at_most: u64,
        ledger: &Ledger,
    ) -> Result<(u64, Option<i64>), Fault>;

    /// Whether items may have been written since their read; `None` where other processes write as well.
    fn write_marks(&self) -> Option<&WriteMarks>;

    /// A signal that changes whenever this process wrote an item in this scope; `None` where the adapter has
    /// no such signal and its reader has to poll. It may change with other writes to the container, too.
    fn change_signal(&self, scope: &SignalScope<'_>) -> Option<watch::Receiver<u64>>;

    /// The physical partitions that a query without a partition key visits.
    fn physical_partitions(&self, container: ContainerName) -> u32;

    /// Says whether the store answers.
    async fn ready(&self) -> Result<(), Fault>;
}
