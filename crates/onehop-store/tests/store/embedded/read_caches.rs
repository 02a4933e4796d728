//! Reads from the caches of items and pages: their results beside writers, and their savings.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onehop_store::embedded::{EmbeddedConfig, EmbeddedStore};
use onehop_store::{Batch, Direction, Item, Ledger, Query, Store, WriteOp};
use serde_json::Value;
use tempfile::tempdir;
use tokio::task::JoinSet;

use crate::embedded::harness::{THINGS, config, create, open, open_with, thing};

const HOME: &str = "home";
const PAIR: [&str; 2] = ["a", "b"];
const ROUNDS: u64 = 400;

fn number(item: &Item) -> u64 {
    item.decode::<Value>().expect("JSON")["number"].as_u64().expect("a number")
}

async fn read(store: &EmbeddedStore, id: &str) -> u64 {
    number(&store.read(THINGS, &HOME.into(), id, &Ledger::new()).await.expect("a read").expect("an item"))
}

async fn read_pair(store: &EmbeddedStore) -> Vec<u64> {
    let keys = PAIR.map(|id| (HOME.into(), id.to_owned()));
    let items = store.read_many(THINGS, &keys, &Ledger::new()).await.expect("a read");
    items.iter().flatten().map(number).collect()
}

async fn page(store: &EmbeddedStore) -> Vec<u64> {
    let home = HOME.into();
    let query = Query::Partition {
        container: THINGS,
        partition_key: &home,
        item_type: "thing",
        direction: Direction::NewestFirst,
        after: None,
        limit: 10,
        order_by: None,
    };
    store.query(&query, &Ledger::new()).await.expect("a page").items.iter().map(number).collect()
}

/// Gives both items a number in one batch.
async fn renumber(store: &EmbeddedStore, number: u64) {
    let operations = PAIR.map(|id| WriteOp::Upsert(thing(HOME, id, number))).into();
    let batch = Batch { operations, ..Batch::new(THINGS, HOME.into()) };
    store.batch(batch, &Ledger::new()).await.expect("a write");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn what_readers_see_never_goes_back_and_is_never_half_a_batch() {
    let directory = tempdir().expect("a directory");
    let store = Arc::new(open(directory.path()));
    renumber(&store, 0).await;
    let written = Arc::new(AtomicBool::new(false));
    let mut readers = JoinSet::new();
    for _ in 0..2 {
        let (store, written) = (Arc::clone(&store), Arc::clone(&written));
        readers.spawn(async move {
            let mut last = 0;
            while !written.load(Ordering::SeqCst) {
                let first = read(&store, "a").await;
                let second = read(&store, "b").await;
                let (pair, page) = (read_pair(&store).await, page(&store).await);
                assert!(last <= first && first <= second && second <= pair[0] && pair[0] <= page[0]);
                assert!(pair[0] == pair[1] && page[0] == page[1], "{pair:?} {page:?}");
                last = page[0];
                tokio::task::yield_now().await;
            }
        });
    }
    for number in 1..=ROUNDS {
        renumber(&store, number).await;
        assert_eq!((read(&store, "b").await, read_pair(&store).await[0]), (number, number));
        assert_eq!(page(&store).await, [number, number]);
    }
    written.store(true, Ordering::SeqCst);
    readers.join_all().await;
}

#[tokio::test]
async fn a_deleted_item_is_gone_from_the_caches() {
    let directory = tempdir().expect("a directory");
    let store = open(directory.path());
    create(&store, HOME, "a", 1).await;
    assert_eq!((read(&store, "a").await, page(&store).await), (1, vec![1]));
    let delete = WriteOp::Delete { id: "a".to_owned(), if_match: None };
    store.write(THINGS, &HOME.into(), delete, &Ledger::new()).await.expect("deleted");
    assert!(store.read(THINGS, &HOME.into(), "a", &Ledger::new()).await.expect("a read").is_none());
    assert_eq!(page(&store).await, Vec::<u64>::new());
}

#[tokio::test]
async fn what_was_read_lately_needs_no_block() {
    let directory = tempdir().expect("a directory");
    let config = EmbeddedConfig { memtable_bytes: 16 * 1024, ..config(directory.path()) };
    let store = open_with(&config).expect("the store opens");
    renumber(&store, 1).await;
    // So much that it is written out of memory.
    for number in 0..500 {
        create(&store, "other home", &number.to_string(), number).await;
    }
    drop(store);
    let store = open_with(&config).expect("the store opens");
    let opened = store.blocks();
    assert_eq!((read(&store, "a").await, page(&store).await), (1, vec![1, 1]));
    let first = store.blocks();
    assert_ne!(first, opened);
    assert_eq!((read(&store, "a").await, page(&store).await), (1, vec![1, 1]));
    assert_eq!(store.blocks(), first);
}
