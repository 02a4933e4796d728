//! The adapter's side of the contract: the capabilities and parts that every adapter provides, and the words
//! in which tests speak.

use std::sync::Arc;

use async_trait::async_trait;
use onehop_store::{
    Batch, Change, ContainerName, ContainerSpec, Continuation, Direction, ETag, FeedPage, FeedRange,
    FeedRequest, Item, Keyset, Ledger, NewItem, PartitionKey, Query, QueryPage, Rejection, Store, TypeOrder,
    WriteError, WriteOp,
};
use serde_json::{Value, json};

pub const THINGS: ContainerName = ContainerName("things");
/// A second container, without an order.
pub const PLAIN: ContainerName = ContainerName("plain");

/// A third one, without soft-deleted items.
pub const RECORDS: ContainerName = ContainerName("records");

/// A fourth one, whose order has several properties.
pub const RANKED: ContainerName = ContainerName("ranked");
/// Its order: ranks rise, colours fall, sizes rise.
pub const RANKED_ORDER: &str = "rank,-colour,size";

pub const SPECS: &[ContainerSpec] = &[
    ContainerSpec {
        name: RANKED,
        partition_key: "home",
        order_by: Some(RANKED_ORDER),
        orders: &[],
        ttl_s: None,
        equality: &["owner"],
        newest_types: &["thing"],
        soft_deletes: false,
    },
    ContainerSpec {
        name: THINGS,
        partition_key: "home",
        order_by: Some("date"),
        orders: &[
            TypeOrder { item_type: "thing", property: "date" },
            TypeOrder { item_type: "thing", property: "number" },
        ],
        ttl_s: None,
        equality: &["owner", "colour"],
        newest_types: &["thing"],
        soft_deletes: true,
    },
    ContainerSpec {
        name: PLAIN,
        partition_key: "id",
        order_by: None,
        orders: &[],
        ttl_s: None,
        equality: &[],
        newest_types: &[],
        soft_deletes: true,
    },
    ContainerSpec {
        name: RECORDS,
        partition_key: "home",
        order_by: Some("date"),
        orders: &[],
        ttl_s: None,
        equality: &["owner"],
        newest_types: &["thing"],
        soft_deletes: false,
    },
];

/// The instant at which every test starts, Unix ms.
pub const START_MS: i64 = 1_750_000_000_000;

pub const BOTH_DIRECTIONS: [Direction; 2] = [Direction::OldestFirst, Direction::NewestFirst];

/// The capabilities of an adapter beyond the port.
#[derive(Debug, Clone, Copy)]
pub struct Capabilities {
    /// The store can be closed and opened again on the same data.
    pub reopen: bool,
    /// The store's time can be moved.
    pub move_time: bool,
    /// Times are exact to the millisecond, and not in whole seconds.
    pub exact_times: bool,
    /// The purge of expired items can be run by hand.
    pub purge: bool,
    /// Writes of this process wake readers of the change feed.
    pub signal: bool,
    /// Bodies come back byte for byte, and only their bytes count for the limits of a batch.
    pub verbatim: bool,
    /// Ids may be of any characters but the forbidden ones.
    pub any_id: bool,
    /// Which pages of the change feed say that nothing follows them.
    pub drained_pages: DrainedPages,
    /// The change feed has the changes of a batch in the order of its operations.
    pub orders_batches: bool,
    /// Every operation has a charge, including operations in vain.
    pub charges_all: bool,
}

/// Pages of the change feed that say that nothing follows them, beside the empty ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DrainedPages {
    /// None.
    Empty,
    /// Those with fewer changes than were asked for.
    WithRoom,
    /// All of them.
    All,
}

impl DrainedPages {
    /// Whether the last page of a range says so.
    pub fn says_so(self, changes: usize, limit: usize) -> bool {
        match self {
            Self::Empty => changes == 0,
            Self::WithRoom => changes < limit,
            Self::All => true,
        }
    }
}

/// An adapter with a fresh, empty store that has the containers of [`SPECS`].
#[async_trait]
pub trait Adapter: Send + Sync {
    fn capabilities(&self) -> Capabilities;
    /// Opens the store, or opens it again: the handles of before are dropped by then.
    async fn open(&self) -> Arc<dyn Store>;
    async fn advance_ms(&self, by_ms: i64);
    async fn purge_expired(&self) -> usize;
}

/// A store under test.
pub struct Subject {
    pub store: Arc<dyn Store>,
    pub ledger: Ledger,
    adapter: Box<dyn Adapter>,
}

impl Subject {
    pub async fn new(adapter: Box<dyn Adapter>) -> Self {
        Self { store: adapter.open().await, ledger: Ledger::new(), adapter }
    }

    pub fn can(&self) -> Capabilities {
        self.adapter.capabilities()
    }

    pub async fn reopen(self) -> Self {
        let Self { store, adapter, .. } = self;
        assert!(Arc::strong_count(&store) <= 2, "a test that reopens the store holds no handle of its own");
        drop(store);
        Self::new(adapter).await
    }

    pub async fn advance_ms(&self, by_ms: i64) {
        self.adapter.advance_ms(by_ms).await;
    }

    pub async fn purge_expired(&self) -> usize {
        self.adapter.purge_expired().await
    }

    pub async fn write(&self, home: &str, operation: WriteOp) -> Result<Option<ETag>, WriteError> {
        self.store.write(THINGS, &home.into(), operation, &self.ledger).await
    }

    pub async fn create(&self, item: NewItem) -> ETag {
        self.write(&home_of(&item), WriteOp::Create(item)).await.expect("created").expect("an ETag")
    }

    pub async fn upsert(&self, item: NewItem) -> ETag {
        self.write(&home_of(&item), WriteOp::Upsert(item)).await.expect("written").expect("an ETag")
    }

    pub async fn delete(&self, home: &str, id: &str) {
        let operation = WriteOp::Delete { id: id.to_owned(), if_match: None };
        assert_eq!(self.write(home, operation).await.expect("deleted"), None);
    }

    pub async fn refusal(&self, home: &str, operation: WriteOp) -> Rejection {
        let error = self.write(home, operation).await.expect_err("refused");
        error.rejection().expect("a refusal, not a fault").clone()
    }

    pub async fn batch(&self, home: &str, operations: Vec<WriteOp>) -> Result<Vec<Option<ETag>>, WriteError> {
        self.store.batch(batch(home, operations), &self.ledger).await
    }

    pub async fn read(&self, home: &str, id: &str) -> Option<Item> {
        self.store.read(THINGS, &home.into(), id, &self.ledger).await.expect("a read")
    }

    pub async fn value(&self, home: &str, id: &str) -> Option<Value> {
        self.read(home, id).await.map(|item| item.decode().expect("JSON"))
    }

    pub async fn query(&self, query: &Query<'_>) -> QueryPage {
        self.store.query(query, &self.ledger).await.expect("a page")
    }

    pub async fn count(&self, home: &str, item_type: &str) -> u64 {
        self.store.count(THINGS, &home.into(), item_type, &self.ledger).await.expect("a count")
    }

    /// The ids of one page over things in a logical partition.
    pub async fn page(
        &self,
        home: &str,
        direction: Direction,
        after: Option<&Keyset>,
        limit: usize,
    ) -> QueryPage {
        let partition_key = PartitionKey::from(home);
        let query = Query::Partition {
            container: THINGS,
            partition_key: &partition_key,
            item_type: "thing",
            direction,
            after,
            limit,
            order_by: None,
        };
        self.query(&query).await
    }

    pub async fn ranges(&self) -> Vec<FeedRange> {
        self.store.feed_ranges(THINGS).await.expect("ranges")
    }

    pub async fn feed_page(
        &self,
        range: &FeedRange,
        continuation: Option<&Continuation>,
        limit: usize,
    ) -> FeedPage {
        let request = FeedRequest { container: THINGS, range, continuation, types: None, limit };
        self.store.read_change_feed(&request, &self.ledger).await.expect("a page")
    }

    /// Reads a range to its end, in pages of `limit`, and returns where it ended.
    pub async fn drain(
        &self,
        range: &FeedRange,
        continuation: Option<Continuation>,
        types: Option<&[&str]>,
        limit: usize,
    ) -> (Vec<Change>, Continuation) {
        let (mut changes, mut continuation) = (Vec::new(), continuation);
        loop {
            let request =
                FeedRequest { container: THINGS, range, continuation: continuation.as_ref(), types, limit };
            let page = self.store.read_change_feed(&request, &self.ledger).await.expect("a page");
            assert!(page.changes.len() <= limit);
            changes.extend(page.changes);
            continuation = Some(page.continuation.clone());
            if page.drained {
                return (changes, page.continuation);
            }
        }
    }

    /// Every change of every range from the beginning.
    pub async fn feed_from_beginning(&self) -> Vec<Change> {
        let mut changes = Vec::new();
        for range in self.ranges().await {
            changes.extend(self.drain(&range, None, None, 7).await.0);
        }
        changes
    }

    /// The range in which the changes of a logical partition are, which must hold an item.
    pub async fn range_of(&self, home: &str) -> FeedRange {
        for range in self.ranges().await {
            let (changes, _) = self.drain(&range, None, None, 100).await;
            if changes.iter().any(|change| change.partition_key.as_str() == home) {
                return range;
            }
        }
        panic!("no feed range has a change of {home}");
    }
}

pub fn batch(home: &str, operations: Vec<WriteOp>) -> Batch {
    Batch { operations, ..Batch::new(THINGS, home.into()) }
}

/// The position and the reason of a refused batch.
pub fn refusal_of(outcome: Result<Vec<Option<ETag>>, WriteError>) -> (usize, Rejection) {
    match outcome {
        Err(WriteError::Rejected { operation, reason }) => (operation, reason),
        other => panic!("not refused: {other:?}"),
    }
}

pub fn thing(home: &str, id: &str, date: &str) -> NewItem {
    item(&json!({"id": id, "home": home, "type": "thing", "date": date, "owner": "ada"}))
}

/// A thing with a number in it, to distinguish its versions.
pub fn numbered(home: &str, id: &str, number: u64) -> NewItem {
    item(&json!({"id": id, "home": home, "type": "thing", "date": "2026-01-01", "number": number}))
}

pub fn item(body: &Value) -> NewItem {
    NewItem::encode(body["id"].as_str().expect("an id"), body)
}

fn home_of(item: &NewItem) -> String {
    let body: Value = serde_json::from_slice(&item.body).expect("JSON");
    body["home"].as_str().expect("a home").to_owned()
}

pub fn id_of(item: &Item) -> String {
    item.decode::<Value>().expect("JSON")["id"].as_str().expect("an id").to_owned()
}

pub fn ids(page: &QueryPage) -> Vec<String> {
    page.items.iter().map(id_of).collect()
}

pub fn keyset_of(item: &Item) -> Keyset {
    let body: Value = item.decode().expect("JSON");
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    Keyset { order_value: text("date"), id: text("id") }
}

/// Ids and numbers of changes, in their order.
pub fn seen(changes: &[Change]) -> Vec<(String, u64)> {
    let number =
        |change: &Change| change.item.decode::<Value>().expect("JSON")["number"].as_u64().unwrap_or_default();
    changes.iter().map(|change| (change.id.clone(), number(change))).collect()
}
