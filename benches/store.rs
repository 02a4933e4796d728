//! The embedded store's hot paths: the operations of every request of Onehop.
//!
//! The data is larger than the engine's memory before a flush, so reads go through blocks and their cache as
//! they do in service. Reads never wait, so they are polled once and need no runtime.

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use futures::FutureExt;
use onehop_runtime::clock::SystemClock;
use onehop_store::embedded::{Durability, EmbeddedConfig, EmbeddedStore};
use onehop_store::{
    Batch, ContainerName, ContainerSpec, Direction, FeedRequest, Ledger, NewItem, PartitionKey, Query, Store,
    WriteOp,
};
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

const POSTS: ContainerName = ContainerName("posts");

const SPECS: &[ContainerSpec] = &[ContainerSpec {
    name: POSTS,
    partition_key: "postId",
    order_by: Some("creationDate"),
    orders: &[],
    ttl_s: None,
    equality: &["userId"],
    newest_types: &["post"],
    soft_deletes: true,
}];

const POSTS_COUNT: usize = 2_000;
const COMMENTS_PER_POST: usize = 25;
/// A logical partition with enough comments for pages of a hundred.
const BUSY_POST: &str = "post-00000";
const BUSY_POST_COMMENTS: usize = 500;
const WRITERS: u64 = 16;

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}

fn open(directory: &TempDir, durability: Durability) -> Arc<EmbeddedStore> {
    let mut config = EmbeddedConfig::new(directory.path());
    config.durability = durability;
    Arc::new(EmbeddedStore::open_with(&config, SPECS, Arc::new(SystemClock)).expect("the store opens"))
}

fn item(post: &str, id: &str, item_type: &str, number: usize) -> NewItem {
    // A stride that is coprime with the number of days spreads the dates.
    let date =
        format!("2026-{:02}-{:02}T09:30:00.{:03}Z", 1 + number * 7 % 12, 1 + number * 11 % 28, number % 1000);
    let text = "the quick brown fox jumps over the lazy dog ".repeat(8 + number % 5);
    let body = json!({
        "id": id, "type": item_type, "postId": post, "userId": format!("user-{}", number % 97),
        "userUsername": "ada", "content": text, "creationDate": date, "version": 1,
    });
    NewItem::encode(id, &body)
}

fn post_id(number: usize) -> String {
    format!("post-{number:05}")
}

async fn fill(store: &EmbeddedStore) {
    let ledger = Ledger::new();
    for number in 0..POSTS_COUNT {
        let post = post_id(number);
        let comments = if post == BUSY_POST { BUSY_POST_COMMENTS } else { COMMENTS_PER_POST };
        let mut operations = vec![WriteOp::Create(item(&post, &post, "post", number))];
        operations.extend(
            (0..comments)
                .map(|place| WriteOp::Create(item(&post, &format!("comment-{place:04}"), "comment", place))),
        );
        for chunk in operations.chunks(100) {
            let batch = Batch { operations: chunk.to_vec(), ..Batch::new(POSTS, post.as_str().into()) };
            store.batch(batch, &ledger).await.expect("written");
        }
    }
}

fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("a read never waits")
}

fn reads(criterion: &mut Criterion) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    runtime().block_on(async { fill(&open(&directory, Durability::Relaxed)).await });
    let store = open(&directory, Durability::Sync);
    let mut group = criterion.benchmark_group("store");

    let mut number = 0;
    group.bench_function("point read", |bencher| {
        bencher.iter(|| {
            number = (number + 997) % POSTS_COUNT;
            let post = post_id(number);
            black_box(now(store.read(POSTS, &post.as_str().into(), &post, &Ledger::new())).expect("a read"))
        });
    });
    group.bench_function("point read of one hot item", |bencher| {
        let key = PartitionKey::from(BUSY_POST);
        bencher.iter(|| black_box(now(store.read(POSTS, &key, BUSY_POST, &Ledger::new())).expect("a read")));
    });
    group.bench_function("point read of an absent item", |bencher| {
        let key = PartitionKey::from(BUSY_POST);
        bencher.iter(|| black_box(now(store.read(POSTS, &key, "absent", &Ledger::new())).expect("a read")));
    });
    for (limit, direction) in
        [(20, Direction::NewestFirst), (20, Direction::OldestFirst), (100, Direction::NewestFirst)]
    {
        group.bench_function(format!("partition page of {limit}, {direction:?}"), |bencher| {
            let (key, ledger) = (PartitionKey::from(BUSY_POST), Ledger::new());
            bencher.iter(|| {
                let (container, item_type, after) = (POSTS, "comment", None);
                let query = Query::Partition {
                    container,
                    partition_key: &key,
                    item_type,
                    direction,
                    after,
                    limit,
                    order_by: None,
                };
                black_box(now(store.query(&query, &ledger)).expect("a page"))
            });
        });
    }
    group.bench_function("newest 100 over 4 physical partitions", |bencher| {
        let query = Query::Newest {
            container: POSTS,
            item_type: "post",
            after: None,
            limit: 100,
            order_by: None,
            direction: Direction::NewestFirst,
        };
        bencher.iter(|| black_box(now(store.query(&query, &Ledger::new())).expect("a page")));
    });
    group.bench_function("count of 500", |bencher| {
        let key = PartitionKey::from(BUSY_POST);
        bencher
            .iter(|| black_box(now(store.count(POSTS, &key, "comment", &Ledger::new())).expect("a count")));
    });
    group.bench_function("change feed page of 100", |bencher| {
        let ranges = now(store.feed_ranges(POSTS)).expect("ranges");
        let request =
            FeedRequest { container: POSTS, range: &ranges[0], continuation: None, types: None, limit: 100 };
        bencher.iter(|| black_box(now(store.read_change_feed(&request, &Ledger::new())).expect("a page")));
    });
    group.finish();
}

/// Has 16 writers commit so many batches of an item and a rewritten counter between them.
async fn write_batches(store: &Arc<EmbeddedStore>, batches: u64, first: u64) {
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let store = Arc::clone(store);
        writers.spawn(async move {
            let ledger = Ledger::new();
            for number in (first + writer..first + batches).step_by(WRITERS as usize) {
                let post = post_id(usize::try_from(number).expect("a small number") % POSTS_COUNT);
                let create = WriteOp::Create(item(&post, &format!("like-{number}"), "like", 1));
                let count = WriteOp::Upsert(item(&post, &post, "post", 1));
                let batch =
                    Batch { operations: vec![create, count], ..Batch::new(POSTS, post.as_str().into()) };
                store.batch(batch, &ledger).await.expect("written");
            }
        });
    }
    while let Some(outcome) = writers.join_next().await {
        outcome.expect("no writer panicked");
    }
}

fn writes(criterion: &mut Criterion) {
    let runtime = runtime();
    let mut group = criterion.benchmark_group("store, batches of two by 16 writers");
    group.sample_size(10).measurement_time(Duration::from_secs(5)).throughput(Throughput::Elements(1));
    for durability in [Durability::Sync, Durability::Relaxed] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let store = open(&directory, durability);
        let mut first = 0;
        group.bench_function(format!("{durability:?}"), |bencher| {
            bencher.iter_custom(|batches| {
                let start = Instant::now();
                runtime.block_on(write_batches(&store, batches, first));
                first += batches;
                start.elapsed()
            });
        });
        let statistics = store.statistics();
        println!(
            "{durability:?}: {:.1} batches a commit",
            statistics.requests as f64 / statistics.commits as f64
        );
    }
    group.finish();
}

criterion_group!(benches, reads, writes);
criterion_main!(benches);
