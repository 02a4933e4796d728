//! What a projection may ask to read, as owned values, and how the store is asked.

use std::sync::Arc;

use onehop_store::{
    ContainerName, Direction, Fault, Item, Keyset, Ledger, PartitionKey, Query, QueryPage, Store,
};

/// A read that a projection asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadRequest {
    /// One item by partition key and id. A `shared` answer may be as old as the page in hand: it is read once for
    /// all changes of the page that ask for it, after the page itself was read.
    Item { container: ContainerName, partition_key: PartitionKey, id: String, shared: bool },
    /// Items of a type in one logical partition.
    Partition {
        container: ContainerName,
        partition_key: PartitionKey,
        item_type: &'static str,
        direction: Direction,
        after: Option<Keyset>,
        limit: usize,
    },
    /// Items of a type whose property equals a value, in all logical partitions.
    Equality {
        container: ContainerName,
        path: &'static str,
        value: String,
        item_type: &'static str,
        direction: Direction,
        after: Option<Keyset>,
        limit: usize,
    },
    /// The newest items of a type in all logical partitions.
    Newest { container: ContainerName, item_type: &'static str, after: Option<Keyset>, limit: usize },
    /// How many items of a type one logical partition has.
    Count { container: ContainerName, partition_key: PartitionKey, item_type: &'static str },
    /// A read whose answer is remembered under this name until a step of the projection forgets its memos. From
    /// memory it costs nothing.
    Memo { name: &'static str, of: Box<ReadRequest> },
}

impl ReadRequest {
    /// A point read of the present state.
    #[must_use]
    pub fn item(container: ContainerName, partition_key: PartitionKey, id: impl Into<String>) -> Self {
        Self::Item { container, partition_key, id: id.into(), shared: false }
    }

    /// A point read that all changes of a page share.
    #[must_use]
    pub fn shared_item(container: ContainerName, partition_key: PartitionKey, id: impl Into<String>) -> Self {
        Self::Item { container, partition_key, id: id.into(), shared: true }
    }

    /// A remembered read.
    #[must_use]
    pub fn memo(name: &'static str, of: ReadRequest) -> Self {
        Self::Memo { name, of: Box::new(of) }
    }

    /// Asks the store, remembering and sharing nothing.
    pub(super) async fn ask(&self, store: &dyn Store, ledger: &Ledger) -> Result<Answer, Fault> {
        match self {
            Self::Item { container, partition_key, id, .. } => {
                let item = store.read(*container, partition_key, id, ledger).await?;
                Ok(Answer::Item(item.map(Arc::new)))
            }
            Self::Count { container, partition_key, item_type } => {
                store.count(*container, partition_key, item_type, ledger).await.map(Answer::Count)
            }
            Self::Memo { of, .. } => Box::pin(of.ask(store, ledger)).await,
            Self::Partition { .. } | Self::Equality { .. } | Self::Newest { .. } => {
                let page = store.query(&self.query(), ledger).await?;
                Ok(Answer::Page(Arc::new(page)))
            }
        }
    }

    fn query(&self) -> Query<'_> {
        match self {
            Self::Partition { container, partition_key, item_type, direction, after, limit } => {
                Query::Partition {
                    container: *container,
                    partition_key,
                    item_type,
                    direction: *direction,
                    after: after.as_ref(),
                    limit: *limit,
                }
            }
            Self::Equality { container, path, value, item_type, direction, after, limit } => {
                Query::Equality {
                    container: *container,
                    path,
                    value,
                    item_type,
                    direction: *direction,
                    after: after.as_ref(),
                    limit: *limit,
                }
            }
            Self::Newest { container, item_type, after, limit } => {
                Query::Newest { container: *container, item_type, after: after.as_ref(), limit: *limit }
            }
            Self::Item { .. } | Self::Count { .. } | Self::Memo { .. } => {
                unreachable!("only the three query shapes are asked as queries")
            }
        }
    }
}

/// The answer to a [`ReadRequest`].
#[derive(Debug, Clone)]
pub enum Answer {
    Item(Option<Arc<Item>>),
    Page(Arc<QueryPage>),
    Count(u64),
}
