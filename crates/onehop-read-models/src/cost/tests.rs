//! Request charges of a toy domain: books with the names of their authors, lists of books, counted reviews.

use std::sync::{Arc, LazyLock};

use onehop_runtime::clock::ManualClock;
use onehop_store::charges::Calibration;
use onehop_store::embedded::{EmbeddedConfig, EmbeddedStore};
use onehop_store::{ContainerSpec, Indexing, Ledger, NewItem, WriteOp};
use serde_json::json;

use super::*;
use crate::{CopyTarget, ItemType, ListPartition, Rule, copy, count, list, owns};
use onehop_store::ContainerName;

const AUTHORS: ContainerName = ContainerName("authors");
const BOOKS: ContainerName = ContainerName("books");
const NEWEST: ContainerName = ContainerName("newest");

const fn spec(name: ContainerName, partition_key: &'static str) -> ContainerSpec {
    ContainerSpec {
        name,
        partition_key,
        order_by: Some("date"),
        orders: &[],
        ttl_s: None,
        equality: &[],
        newest_types: &[],
        soft_deletes: true,
    }
}

const SPECS: &[ContainerSpec] = &[
    spec(AUTHORS, "authorId"),
    ContainerSpec { equality: &["authorId"], newest_types: &["book"], ..spec(BOOKS, "bookId") },
    spec(NEWEST, "type"),
];

static AUTHOR: LazyLock<ItemType> = LazyLock::new(|| ItemType::new(AUTHORS, "author", &["authorId", "name"]));
static BOOK: LazyLock<ItemType> = LazyLock::new(|| {
    ItemType::new(BOOKS, "book", &["bookId", "authorId", "authorName", "title", "date", "reviewCount"])
});
static REVIEW: LazyLock<ItemType> =
    LazyLock::new(|| ItemType::new(BOOKS, "review", &["bookId", "text"]).partitioned_by("bookId"));
const SHORT: &[&str] = &["bookId", "authorId", "authorName", "title", "date", "reviewCount"];
const NEWEST_MAX: usize = 10;
const AUTHORS_MAX: usize = 5;
const BOOKS_MAX: usize = 5;

fn rules() -> Vec<Rule> {
    vec![
        copy("author-names")
            .of(&AUTHOR, "name")
            .to([CopyTarget::new(&BOOK, "authorName", "authorId")])
            .follows("author-names-catch-up"),
        list("books-of-author")
            .of(&BOOK)
            .into(AUTHORS, ListPartition::Field("authorId"))
            .fields(SHORT)
            .immutable_partition()
            .all(),
        list("newest-books")
            .of(&BOOK)
            .into(NEWEST, ListPartition::Constant("book"))
            .fields(SHORT)
            .newest(NEWEST_MAX),
        count(&REVIEW).into(&BOOK, "reviewCount", "bookId"),
        owns("reviews", &BOOK, [&*REVIEW]),
    ]
}

async fn create(store: &dyn Store, container: ContainerName, key: &str, id: &str, item: &serde_json::Value) {
    let operation = WriteOp::Create(NewItem::encode(id, item));
    store.write(container, &key.into(), operation, &Ledger::new()).await.unwrap();
}

/// Authors with books, and up to four reviews of each book.
async fn seed(store: &dyn Store) {
    for author in 0..AUTHORS_MAX {
        let author_id = format!("author-{author:04}");
        let item = json!({
            "id": author_id, "type": "author", "authorId": author_id, "name": "Ada Ames", "version": 1,
        });
        create(store, AUTHORS, &author_id, &author_id, &item).await;
        for book in 0..BOOKS_MAX {
            let reviews = (author + 2 * book) % 5;
            let id = format!("book-{author}-{book:04}");
            let item = json!({
                "id": id, "type": "book", "bookId": id, "authorId": author_id, "authorName": "Ada Ames",
                "title": "On Notes", "date": format!("2026-01-{:02}", BOOKS_MAX * book + author + 1),
                "reviewCount": reviews,
                "version": 1,
            });
            create(store, BOOKS, &id, &id, &item).await;
            for review in 0..reviews {
                let review_id = format!("review-{author}-{book}-{review}");
                let item = json!({
                    "id": review_id, "type": "review", "bookId": id, "text": "A fine one", "version": 1,
                });
                create(store, BOOKS, &id, &review_id, &item).await;
            }
        }
    }
}

async fn costs_of_books(indexing: Indexing) -> Vec<ChangeCost> {
    let directory = tempfile::tempdir().unwrap();
    let clock = Arc::new(ManualClock::new(0));
    let config =
        EmbeddedConfig { physical_partitions: Some(2), indexing, ..EmbeddedConfig::new(directory.path()) };
    let specs = [SPECS, onehop_change_feed::SPECS].concat();
    let store: Arc<dyn Store> = Arc::new(EmbeddedStore::open_with(&config, &specs, clock.clone()).unwrap());
    seed(&*store).await;
    ReadModels::new(SPECS, rules())
        .unwrap()
        .costs(store, clock, &CostCharges { indexing, calibration: Calibration::current() })
        .await
        .unwrap()
}

#[tokio::test]
async fn what_is_predicted_is_measured() {
    for indexing in [Indexing::Needed, Indexing::All] {
        let costs = costs_of_books(indexing).await;
        for cost in &costs {
            assert!(cost.difference_percent().abs() < 5.0, "{}", markdown(&costs));
        }
    }
}

#[tokio::test]
async fn a_change_is_predicted_as_operations_times_fan_out() {
    let costs = costs_of_books(Indexing::Needed).await;
    let operations = |rule: &str, change: &str| {
        let found = costs.iter().find(|cost| cost.rule == rule && cost.change == change);
        let found = found.unwrap_or_else(|| panic!("{rule}: {change} in\n{}", markdown(&costs)));
        (found.fan_out, found.operations.to_string())
    };
    let expected = |fan_out, text: &str| (fan_out, text.to_owned());
    for (rule, change, fan_out, text) in [
        ("author-names", "`name` of an author changes", 5, "1 point read, 1 query, 5 replaces"),
        ("author-names-catch-up", "a new book", 1, "1 point read"),
        ("books-of-author", "a new book", 1, "1 create"),
        ("newest-books", "`title` of an older book changes", 1, "none"),
        ("reviews", "a book is deleted", 3, "1 query, 3 deletes"),
        ("count `reviewCount`", "a new review, in the command's batch", 1, "1 replace"),
    ] {
        assert_eq!(operations(rule, change), expected(fan_out, text), "{rule}: {change}");
    }
}
