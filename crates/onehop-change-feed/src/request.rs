//! Read requests of a projection, as owned values, and their execution against the store.

use std::sync::Arc;

use onehop_store::{
    ContainerName, Direction, ETag, Fault, Item, Keyset, Ledger, PartitionKey, Query, QueryPage, Store,
};
use serde::Deserialize;

/// A read that a projection requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadRequest {
    /// One item by partition key and id. A `shared` result may be as old as the current page: it is read once
    /// for all changes of the page that ask for it, after the page itself was read.
    Item {
        /// The container.
        container: ContainerName,
        /// The partition key.
        partition_key: PartitionKey,
        /// The id.
        id: String,
        /// Whether all changes of a page share the read.
        shared: bool,
        /// Whether it begins when the other reads of its step are done.
        is_last: bool,
    },
    /// Items of a type in one logical partition.
    Partition {
        /// The container.
        container: ContainerName,
        /// The partition key.
        partition_key: PartitionKey,
        /// The value of `type`.
        item_type: &'static str,
        /// An order that the container declares for the type; `None` for its main order.
        order_by: Option<&'static str>,
        /// The direction of the order.
        direction: Direction,
        /// The key after which the page begins; `None` for the first page.
        after: Option<Keyset>,
        /// The largest number of items.
        limit: usize,
    },
    /// Items of a type whose property equals a value, in all logical partitions.
    Equality {
        /// The container.
        container: ContainerName,
        /// The indexed property.
        path: &'static str,
        /// The value to compare with.
        value: String,
        /// The value of `type`.
        item_type: &'static str,
        /// An order that the container declares for the type; `None` for its main order.
        order_by: Option<&'static str>,
        /// The direction of the order.
        direction: Direction,
        /// The key after which the page begins; `None` for the first page.
        after: Option<Keyset>,
        /// The largest number of items.
        limit: usize,
    },
    /// The first items of a type in all logical partitions, such as the newest.
    Newest {
        /// The container.
        container: ContainerName,
        /// The value of `type`.
        item_type: &'static str,
        /// An order that the container declares for the type; `None` for its main order.
        order_by: Option<&'static str>,
        /// The direction of the order.
        direction: Direction,
        /// The key after which the page begins; `None` for the first page.
        after: Option<Keyset>,
        /// The largest number of items.
        limit: usize,
    },
    /// The number of items of a type in one logical partition.
    Count {
        /// The container.
        container: ContainerName,
        /// The partition key.
        partition_key: PartitionKey,
        /// The value of `type`.
        item_type: &'static str,
    },
    /// A cached read: its result is reused under this name until a step of the projection invalidates the
    /// cache. A cached result costs nothing.
    Cached {
        /// The name.
        name: &'static str,
        /// The read.
        of: Box<ReadRequest>,
        /// Whether each write that changes the set of items in the page also writes the last of them. Then a
        /// point read of the last item replaces the read where other processes write too.
        is_guarded: bool,
    },
}

impl ReadRequest {
    /// A point read of the present state.
    #[must_use]
    pub fn item(container: ContainerName, partition_key: PartitionKey, id: impl Into<String>) -> Self {
        Self::Item { container, partition_key, id: id.into(), shared: false, is_last: false }
    }

    /// A point read that begins when the other reads of its step are done: its result is not older than
    /// theirs.
    #[must_use]
    pub fn last_item(container: ContainerName, partition_key: PartitionKey, id: impl Into<String>) -> Self {
        Self::Item { container, partition_key, id: id.into(), shared: false, is_last: true }
    }

    pub(super) fn is_last(&self) -> bool {
        matches!(self, Self::Item { is_last: true, .. })
    }

    /// A point read that all changes of a page share.
    #[must_use]
    pub fn shared_item(container: ContainerName, partition_key: PartitionKey, id: impl Into<String>) -> Self {
        Self::Item { container, partition_key, id: id.into(), shared: true, is_last: false }
    }

    /// A cached read.
    #[must_use]
    pub fn cached(name: &'static str, of: ReadRequest) -> Self {
        Self::Cached { name, of: Box::new(of), is_guarded: false }
    }

    /// A cached page of one logical partition whose last item is written with each change of the page's
    /// items: created, deleted, moved. Fields of the other items may be older than the page of changes.
    #[must_use]
    pub fn guarded(name: &'static str, of: ReadRequest) -> Self {
        Self::Cached { name, of: Box::new(of), is_guarded: true }
    }

    /// The point read of the last item of a page, and the ETag that the item has there. `None` where this is
    /// no read of one logical partition, or the page is empty.
    pub(super) fn read_of_last(&self, page: &QueryPage) -> Result<Option<(Self, ETag)>, Fault> {
        #[derive(Deserialize)]
        struct Identified {
            id: String,
        }

        let (Self::Partition { container, partition_key, .. }, Some(last)) = (self, page.items.last()) else {
            return Ok(None);
        };
        let Identified { id } = last.decode()?;
        Ok(Some((Self::item(*container, partition_key.clone(), id), last.etag.clone())))
    }

    /// Reads from the store, without a cache.
    pub(super) async fn execute(&self, store: &dyn Store, ledger: &Ledger) -> Result<ReadResult, Fault> {
        match self {
            Self::Item { container, partition_key, id, .. } => {
                let item = store.read(*container, partition_key, id, ledger).await?;
                Ok(ReadResult::Item(item.map(Arc::new)))
            }
            Self::Count { container, partition_key, item_type } => {
                store.count(*container, partition_key, item_type, ledger).await.map(ReadResult::Count)
            }
            Self::Cached { of, .. } => Box::pin(of.execute(store, ledger)).await,
            Self::Partition { .. } | Self::Equality { .. } | Self::Newest { .. } => {
                let page = store.query(&self.query(), ledger).await?;
                Ok(ReadResult::Page(Arc::new(page)))
            }
        }
    }

    fn query(&self) -> Query<'_> {
        match self {
            Self::Partition { container, partition_key, item_type, direction, after, limit, order_by } => {
                Query::Partition {
                    container: *container,
                    partition_key,
                    item_type,
                    direction: *direction,
                    after: after.as_ref(),
                    limit: *limit,
                    order_by: *order_by,
                }
            }
            Self::Equality { container, path, value, item_type, direction, after, limit, order_by } => {
                Query::Equality {
                    container: *container,
                    path,
                    value,
                    item_type,
                    direction: *direction,
                    after: after.as_ref(),
                    limit: *limit,
                    order_by: *order_by,
                }
            }
            Self::Newest { container, item_type, after, limit, order_by, direction } => Query::Newest {
                container: *container,
                item_type,
                after: after.as_ref(),
                limit: *limit,
                order_by: *order_by,
                direction: *direction,
            },
            Self::Item { .. } | Self::Count { .. } | Self::Cached { .. } => {
                unreachable!("only the three query shapes run as queries")
            }
        }
    }
}

/// The result of a [`ReadRequest`].
#[derive(Debug, Clone)]
pub enum ReadResult {
    /// An item, or `None`.
    Item(Option<Arc<Item>>),
    /// A page failed.
    Page(Arc<QueryPage>),
    /// A number of items.
    Count(u64),
}
