//! A library: the smallest domain that has every kind of rule. Items are written as commands leave them, with
//! the next version.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use onehop_change_feed::{Processor, Settings, Sharing};
use onehop_read_models::verify::{Drift, Invariant, Settle, VerificationReport, Verifier};
use onehop_read_models::{
    CopyTarget, ItemType, ListPartition, Padding, ReadModels, Rule, copy, count, list, owns,
};
use onehop_runtime::clock::{Clock, ManualClock};
use onehop_store::embedded::{Durability, EmbeddedConfig, EmbeddedStore};
use onehop_store::{
    ContainerName, ContainerSpec, Direction, ETag, Fault, Ledger, NewItem, PartitionKey, Query, Store,
    WriteOp,
};
use onehop_testing::failing_store::FailingStore;
use onehop_testing::stepped_store::{PendingOperation, SteppedStore};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub const AUTHORS: ContainerName = ContainerName("authors");
pub const BOOKS: ContainerName = ContainerName("books");
pub const GENRES: ContainerName = ContainerName("genres");
pub const BY_GENRE: ContainerName = ContainerName("booksByGenre");
pub const NEWEST: ContainerName = ContainerName("newestBooks");
pub const READERS: ContainerName = ContainerName("readers");
pub const RANKING: ContainerName = ContainerName("ranking");

/// The number of items that the bounded lists keep.
pub const LISTED_MAX: usize = 3;

const SPECS: &[ContainerSpec] = &[
    spec(AUTHORS, "authorId", None, &[], &[]),
    spec(BOOKS, "bookId", Some("date"), &["authorId"], &["book"]),
    spec(GENRES, "type", None, &[], &[]),
    // Entries of elements are deleted with their item.
    ContainerSpec { soft_deletes: false, ..spec(BY_GENRE, "genreId", None, &["bookId"], &[]) },
    spec(NEWEST, "type", Some("date"), &[], &[]),
    spec(READERS, "readerId", Some("sortKey"), &[], &["reader"]),
    spec(RANKING, "type", Some("sortKey"), &[], &[]),
];

const fn spec(
    name: ContainerName,
    partition_key: &'static str,
    order_by: Option<&'static str>,
    equality: &'static [&'static str],
    newest_types: &'static [&'static str],
) -> ContainerSpec {
    ContainerSpec {
        name,
        partition_key,
        order_by,
        orders: &[],
        ttl_s: None,
        equality,
        newest_types,
        soft_deletes: true,
    }
}

pub static AUTHOR: LazyLock<ItemType> =
    LazyLock::new(|| ItemType::new(AUTHORS, "author", &["authorId", "name", "birthplace"]));
static GENRE: LazyLock<ItemType> =
    LazyLock::new(|| ItemType::new(GENRES, "genre", &["name"]).in_partition("genre"));
static BOOK: LazyLock<ItemType> = LazyLock::new(|| {
    ItemType::new(
        BOOKS,
        "book",
        &[
            "authorId",
            "authorName",
            "title",
            "text",
            "date",
            "pageCount",
            "genres",
            "genres[].id",
            "genres[].name",
        ],
    )
});
static PAGE: LazyLock<ItemType> =
    LazyLock::new(|| ItemType::new(BOOKS, "page", &["bookId"]).partitioned_by("bookId"));
static READER: LazyLock<ItemType> =
    LazyLock::new(|| ItemType::new(READERS, "reader", &["readerId", "name", "loanCount", "sortKey"]));
static LOAN: LazyLock<ItemType> = LazyLock::new(|| {
    ItemType::new(READERS, "loan", &["readerId", "title", "sortKey"]).partitioned_by("readerId")
});

const SHORT_BOOK: &[&str] = &["authorId", "authorName", "title", "date", "genres"];

pub const OF_AUTHOR: &str = "books-of-author";
pub const OF_GENRE: &str = "books-of-genre";
pub const NEWEST_BOOKS: &str = "newest-books";
pub const MOST_LOANS: &str = "most-loans";

#[rustfmt::skip]
fn rules() -> Vec<Rule> { vec![
    copy("author-names").of(&AUTHOR, "name").to([CopyTarget::new(&BOOK, "authorName", "authorId")]).follows("book-catch-up"),
    copy("genre-names").of(&GENRE, "name").to([CopyTarget::new(&BOOK, "genres[].name", "genres[].id").through(OF_GENRE)]).follows("book-catch-up"),
    copy("loan-titles").of(&BOOK, "title").to([CopyTarget::new(&LOAN, "title", "readerId")]).frozen(),
    list(OF_AUTHOR).of(&BOOK).into(AUTHORS, ListPartition::Field("authorId")).immutable_partition().fields(SHORT_BOOK).all(),
    list(OF_GENRE).of(&BOOK).into(BY_GENRE, ListPartition::Element("genres[].id")).fields(SHORT_BOOK).element_fields("genreId", "bookId").all(),
    list(NEWEST_BOOKS).of(&BOOK).into(NEWEST, ListPartition::Constant("book")).fields(SHORT_BOOK).newest(LISTED_MAX),
    list(MOST_LOANS).of(&READER).into(RANKING, ListPartition::Constant("reader")).fields(&["name", "loanCount", "sortKey"]).highest(LISTED_MAX),
    count(&PAGE).into(&BOOK, "pageCount", "bookId"),
    count(&LOAN).padded("sortKey", SORT_KEY).into(&READER, "loanCount", "readerId"),
    owns("pages-of-deleted-books", &BOOK, [&*PAGE]),
] }

/// The text by which readers are ranked.
pub const SORT_KEY: Padding = Padding { digits: 4 };

pub fn read_models() -> ReadModels {
    ReadModels::new(SPECS, rules()).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// An empty store with the processor that follows it.
pub struct Library {
    pub store: Arc<FailingStore>,
    pub processor: Processor,
    clock: Arc<dyn Clock>,
    _directory: TempDir,
}

impl Library {
    pub async fn new() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let config = EmbeddedConfig {
            durability: Durability::Relaxed,
            physical_partitions: Some(4),
            cache_bytes: 1024 * 1024,
            ..EmbeddedConfig::new(directory.path())
        };
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(1_750_000_000_000));
        let specs = [SPECS, onehop_change_feed::SPECS].concat();
        let embedded =
            EmbeddedStore::open_with(&config, &specs, Arc::clone(&clock)).expect("the store opens");
        let store = Arc::new(FailingStore::new(Arc::new(embedded)));
        let processor = processor(store.clone(), &clock).await;
        Self { store, processor, clock, _directory: directory }
    }

    /// A library with these readers, `r0` first, whose numbers of loans are given. The read models are up to
    /// date.
    pub async fn with_readers(loans: &[u64]) -> Self {
        let library = Self::new().await;
        for (number, loans) in loans.iter().enumerate() {
            library.put(&reader(&format!("r{number}"), *loans)).await;
        }
        library.drain().await;
        library
    }

    /// The store, but that the first write to a container waits until the test resumes it.
    pub fn stopping_before_first_write(&self, container: ContainerName) -> Arc<SteppedStore> {
        let stopped = AtomicBool::new(false);
        SteppedStore::new(self.store.clone(), move |operation: PendingOperation<'_>| {
            operation.container == container
                && operation.kind.writes()
                && !stopped.swap(true, Ordering::SeqCst)
        })
    }

    /// The processor of a process that sees the store through another one.
    pub async fn processor_over(&self, store: Arc<dyn Store>) -> Processor {
        processor(store, &self.clock).await
    }

    /// The processor of a process that shares the change feed with others.
    pub async fn sharing_processor_over(&self, store: Arc<dyn Store>) -> Processor {
        let settings = Settings {
            sharing: Sharing::with_others(),
            drain_waits_max: 3,
            ..Settings::new("ada").without_delays()
        };
        processor_with(store, &self.clock, settings).await
    }

    /// Writes an item over any earlier version.
    pub async fn put(&self, item: &Value) {
        let (container, key) = place_of(item);
        self.put_at(container, key, item).await;
    }

    /// Writes an item or an entry where it may not belong.
    pub async fn put_at(&self, container: ContainerName, key: &str, item: &Value) {
        let write = WriteOp::Upsert(NewItem::encode(text(item, "id"), item));
        self.write(container, key, write).await;
    }

    pub async fn delete_at(&self, container: ContainerName, key: &str, id: &str) {
        self.write(container, key, WriteOp::Delete { id: id.to_owned(), if_match: None }).await;
    }

    async fn write(&self, container: ContainerName, key: &str, write: WriteOp) {
        let key = PartitionKey::from(key);
        self.store.write(container, &key, write, &Ledger::new()).await.expect("a write");
    }

    /// Changes fields of an item as a command does: with the next version.
    pub async fn edit(&self, container: ContainerName, key: &str, id: &str, fields: Value) {
        let version = self.item(container, key, id).await["version"].as_u64().expect("a version") + 1;
        let mut fields = fields;
        fields["version"] = version.into();
        self.damage(container, key, id, fields).await;
    }

    /// Gives a reader another number of loans.
    pub async fn set_loans(&self, id: &str, loans: u64) {
        let fields = json!({ "loanCount": loans, "sortKey": SORT_KEY.of(loans) });
        self.edit(READERS, id, id, fields).await;
    }

    /// Changes fields of an item behind the back of everything; `null` takes a field out.
    pub async fn damage(&self, container: ContainerName, key: &str, id: &str, fields: Value) {
        let mut item = self.item(container, key, id).await;
        let body = item.as_object_mut().expect("an object");
        for (field, value) in fields.as_object().expect("an object") {
            match value {
                Value::Null => drop(body.remove(field)),
                value => drop(body.insert(field.clone(), value.clone())),
            }
        }
        self.put_at(container, key, &item).await;
    }

    pub async fn find(&self, container: ContainerName, key: &str, id: &str) -> Option<Value> {
        let item = self.store.read(container, &PartitionKey::from(key), id, &Ledger::new()).await;
        item.expect("a read").map(|item| item.decode().expect("JSON"))
    }

    /// The ETag of an item.
    pub async fn etag(&self, container: ContainerName, key: &str, id: &str) -> ETag {
        let found = self.store.read(container, &PartitionKey::from(key), id, &Ledger::new()).await;
        found.expect("a read").expect("it is there").etag
    }

    pub async fn item(&self, container: ContainerName, key: &str, id: &str) -> Value {
        self.find(container, key, id).await.unwrap_or_else(|| panic!("{container} has no {key}/{id}"))
    }

    /// The stored book with this id.
    pub async fn book(&self, id: &str) -> Value {
        self.item(BOOKS, id, id).await
    }

    /// The ids of the live entries in a logical partition, last of the order first.
    pub async fn listed(&self, container: ContainerName, key: &str, item_type: &str) -> Vec<String> {
        let query = Query::Partition {
            container,
            partition_key: &PartitionKey::from(key),
            item_type,
            direction: Direction::NewestFirst,
            after: None,
            limit: 100,
            order_by: None,
        };
        let page = self.store.query(&query, &Ledger::new()).await.expect("a query");
        page.items.iter().map(|item| text(&item.decode().expect("JSON"), "id")).collect()
    }

    pub async fn newest(&self) -> Vec<String> {
        self.listed(NEWEST, "book", "book").await
    }

    pub async fn ranking(&self) -> Vec<String> {
        self.listed(RANKING, "reader", "reader").await
    }

    /// Brings the read models up to date.
    pub async fn drain(&self) {
        self.processor.drain().await.expect("the change feed is drained");
    }

    /// A verifier of the stored data.
    pub fn verifier(&self) -> Verifier {
        self.verifier_over(self.store.clone(), Vec::new())
    }

    pub fn verifier_over(&self, store: Arc<dyn Store>, invariants: Vec<Box<dyn Invariant>>) -> Verifier {
        Verifier::new(read_models(), store, Arc::new(AsItIs), invariants)
    }

    pub async fn verify(&self) -> VerificationReport {
        self.verifier().verify(|_| {}).await.expect("a verification")
    }

    /// The dead letters: the projection, how many items wait, and the error.
    pub async fn dead_letters(&self) -> Vec<(String, u64, String)> {
        let list = self.processor.dead_letters().await.expect("a list").dead_letters.into_iter();
        list.map(|letter| (letter.projection, letter.items, letter.error.unwrap_or_default())).collect()
    }

    /// Asserts that the ranking is exactly the readers with most loans, once it is up to date.
    pub async fn assert_ranked(&self, expected: &[&str]) {
        self.drain().await;
        assert_eq!(self.ranking().await, expected);
        let drifts = self.ranking_drifts().await;
        assert!(drifts.is_empty(), "{drifts:#?}");
    }

    /// The drifts of the ranking from its rule. Loans are not written, so their counts are left out.
    pub async fn ranking_drifts(&self) -> Vec<Drift> {
        let drifts = self.verify().await.drifts.into_iter();
        drifts.filter(|drift| matches!(drift, Drift::Entry { rule, .. } if rule == MOST_LOANS)).collect()
    }

    /// Asserts that the read models are right once they are up to date, and nothing is parked.
    pub async fn assert_clean(&self) {
        self.drain().await;
        let report = self.verify().await;
        assert!(report.is_clean(), "{report:#?}");
        for status in self.processor.status().await.expect("statuses") {
            assert_eq!((status.dead_letters, &status.last_error), (0, &None), "{status:#?}");
        }
    }
}

async fn processor(store: Arc<dyn Store>, clock: &Arc<dyn Clock>) -> Processor {
    processor_with(store, clock, Settings::new("test").without_delays()).await
}

async fn processor_with(store: Arc<dyn Store>, clock: &Arc<dyn Clock>, settings: Settings) -> Processor {
    let (projections, stop) = (read_models().projections(), CancellationToken::new());
    let opened = Processor::open(store, Arc::clone(clock), projections, settings, stop);
    opened.await.expect("the processor opens")
}

/// Nothing follows before the data are looked at.
struct AsItIs;

#[async_trait]
impl Settle for AsItIs {
    async fn settle(&self) -> Result<(), Fault> {
        Ok(())
    }
}

fn text(item: &Value, field: &str) -> String {
    item[field].as_str().unwrap_or_else(|| panic!("no {field} in {item}")).to_owned()
}

fn place_of(item: &Value) -> (ContainerName, &str) {
    let (container, field) = match item["type"].as_str() {
        Some("author") => (AUTHORS, "authorId"),
        Some("genre") => (GENRES, "type"),
        Some("book" | "page") => (BOOKS, "bookId"),
        Some("reader" | "loan") => (READERS, "readerId"),
        other => panic!("no type of the library: {other:?}"),
    };
    (container, item[field].as_str().expect("a partition key"))
}

pub fn author(id: &str, name: &str) -> Value {
    json!({ "id": id, "type": "author", "authorId": id, "name": name, "birthplace": "London", "version": 1 })
}

pub fn genre(id: &str, name: &str) -> Value {
    json!({ "id": id, "type": "genre", "name": name, "version": 1 })
}

/// A book with the names that its writer read. A greater day is newer.
pub fn book(id: &str, author: &Value, genres: &[&Value], day: u32) -> Value {
    let genre = |genre: &&Value| json!({ "id": genre["id"], "name": genre["name"] });
    json!({
        "id": id, "type": "book", "bookId": id, "authorId": author["id"], "authorName": author["name"],
        "title": format!("Book {id}"), "text": "Once upon a time.", "date": format!("2027-01-{day:02}"),
        "pageCount": 0, "genres": genres.iter().map(genre).collect::<Vec<_>>(), "version": 1,
    })
}

pub fn page(id: &str, book: &str) -> Value {
    json!({ "id": id, "type": "page", "bookId": book, "version": 1 })
}

/// A reader with this number of loans, which are not written.
pub fn reader(id: &str, loans: u64) -> Value {
    json!({
        "id": id, "type": "reader", "readerId": id, "name": format!("Reader {id}"), "loanCount": loans,
        "sortKey": SORT_KEY.of(loans), "version": 1,
    })
}

pub fn loan(id: &str, reader: &str) -> Value {
    json!({ "id": id, "type": "loan", "readerId": reader, "title": "Book", "sortKey": id, "version": 1 })
}

/// The body that a soft deletion leaves.
pub fn deletion() -> Value {
    json!({ "deleted": true, "ttl": 1_000_000 })
}
