//! Views while the engine writes its memory out: a flush or a compaction that ends in the middle of a commit
//! must not show a part of it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onehop_store::embedded::{EmbeddedConfig, EmbeddedStore};
use onehop_store::{Continuation, Direction, FeedRange, FeedRequest, Ledger, PartitionKey, Query, Store};
use tempfile::tempdir;
use tokio::task::JoinSet;

use crate::embedded::harness::{THINGS, config, create_batch, open_with};

const HOMES: u64 = 8;
const BATCHES: u64 = 40;
const ITEMS: u64 = 40;

/// Memory so small that a flush ends every few commits.
fn restless(path: &std::path::Path) -> EmbeddedStore {
    let config = EmbeddedConfig { memtable_bytes: 32 * 1024, ..config(path) };
    open_with(&config).expect("the store opens")
}

async fn write_all(store: &Arc<EmbeddedStore>) {
    let writers = (0..HOMES).map(|home| async move {
        for number in 0..BATCHES {
            create_batch(store, &format!("home-{home}"), number, ITEMS).await.expect("written");
        }
    });
    futures::future::join_all(writers).await;
}

/// Reads each feed range to its end, once.
async fn follow(
    store: &EmbeddedStore,
    places: &mut HashMap<FeedRange, Continuation>,
    seen: &mut HashSet<(String, String)>,
) {
    for range in store.feed_ranges(THINGS).await.expect("ranges") {
        loop {
            let continuation = places.get(&range);
            let request =
                FeedRequest { container: THINGS, range: &range, continuation, types: None, limit: 100 };
            let page = store.read_change_feed(&request, &Ledger::new()).await.expect("a page");
            seen.extend(
                page.changes.iter().map(|change| (change.partition_key.to_string(), change.id.clone())),
            );
            places.insert(range.clone(), page.continuation);
            if page.drained {
                break;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_feed_reader_misses_nothing_during_flushes() {
    let directory = tempdir().expect("a directory");
    let store = Arc::new(restless(directory.path()));
    let written = Arc::new(AtomicBool::new(false));
    let (mut places, mut seen) = (HashMap::new(), HashSet::new());
    let writing = async {
        let (store, mut tasks) = (Arc::clone(&store), JoinSet::new());
        tasks.spawn(async move { write_all(&store).await });
        tasks.join_all().await;
        written.store(true, Ordering::SeqCst);
    };
    let following = async {
        while !written.load(Ordering::SeqCst) {
            follow(&store, &mut places, &mut seen).await;
            tokio::task::yield_now().await;
        }
    };
    tokio::join!(writing, following);
    follow(&store, &mut places, &mut seen).await;
    assert_eq!(seen.len() as u64, HOMES * BATCHES * ITEMS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_shows_whole_batches_while_memory_is_written_out() {
    let directory = tempdir().expect("a directory");
    let store = Arc::new(restless(directory.path()));
    let written = Arc::new(AtomicBool::new(false));
    let writing = async {
        let (store, mut tasks) = (Arc::clone(&store), JoinSet::new());
        tasks.spawn(async move { write_all(&store).await });
        tasks.join_all().await;
        written.store(true, Ordering::SeqCst);
    };
    let reading = async {
        let home = PartitionKey::from("home-0");
        while !written.load(Ordering::SeqCst) {
            let query = Query::Partition {
                container: THINGS,
                partition_key: &home,
                item_type: "thing",
                direction: Direction::NewestFirst,
                after: None,
                limit: 1000,
                order_by: None,
            };
            let page = store.query(&query, &Ledger::new()).await.expect("a page");
            assert_eq!(page.items.len() as u64 % ITEMS, 0, "a part of a batch was seen");
            tokio::task::yield_now().await;
        }
    };
    tokio::join!(writing, reading);
}

/// Key spaces of the engine.
const SPACES: u64 = 5;
/// Full memories of a key space that may wait to be written out before commits wait.
const SEALED_MAX: u64 = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_stays_bounded_however_fast_commits_come() {
    const MEMTABLE_BYTES: u64 = 8 * 1024;
    const WRITERS: u64 = 8;
    const COMMITS: u64 = 150;
    // More than one group of commits ever adds to one key space.
    const COMMIT_BYTES_MAX: u64 = 64 * 1024;
    let directory = tempdir().expect("a directory");
    let config = EmbeddedConfig { memtable_bytes: MEMTABLE_BYTES, ..config(directory.path()) };
    let store = Arc::new(open_with(&config).expect("the store opens"));
    let mut writers = JoinSet::new();
    for home in 0..WRITERS {
        let store = Arc::clone(&store);
        writers.spawn(async move {
            let mut most = 0;
            for number in 0..COMMITS {
                create_batch(&store, &format!("home-{home}"), number, 4).await.expect("written");
                most = most.max(store.memory_bytes());
            }
            most
        });
    }
    let most = writers.join_all().await.into_iter().max().expect("writers");
    let bound = SPACES * (SEALED_MAX + 1) * (MEMTABLE_BYTES + COMMIT_BYTES_MAX);
    assert!(most < bound, "{most} bytes in memory, and at most {bound} expected");
    assert!(store.disk_bytes().expect("a figure") > bound, "more was written than may be in memory");
}
