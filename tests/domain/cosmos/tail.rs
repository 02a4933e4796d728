//! The requests of a tail, counted where they leave the client: a write of this process is looked for in its
//! feed range alone.

use std::sync::Arc;
use std::time::Duration;

use onehop::app::container_specs;
use onehop::blog::containers::POSTS;
use onehop_change_feed::{Tail, TailSettings, TailSource};
use onehop_store::{Ledger, NewItem, PartitionKey, Store, WriteOp};
use onehop_testing::emulator::Emulator;
use onehop_testing::request_counts::RequestCounts;
use serde_json::json;

/// Longer than the test.
const POLL: Duration = Duration::from_secs(3600);

fn feed_reads(requests: &RequestCounts) -> usize {
    let counted = requests.take();
    counted
        .iter()
        .filter(|((operation, _), _)| operation == "query_change_feed")
        .map(|(_, count)| count)
        .sum()
}

async fn write(store: &dyn Store, post: u32) {
    let id = format!("p{post}");
    let body = json!({ "id": id, "postId": id, "type": "post", "creationDate": "2026-01-01" });
    let create = WriteOp::Create(NewItem::encode(id.clone(), &body));
    store.write(POSTS, &PartitionKey::from(&*id), create, &Ledger::new()).await.expect("written");
}

#[tokio::test]
async fn a_tail_reads_only_the_range_that_was_written() {
    for physical_partitions in [1, 4, 16] {
        assert_reads(physical_partitions).await;
    }
}

async fn assert_reads(physical_partitions: u32) {
    let account = Emulator::new(&container_specs(), physical_partitions);
    let requests = Arc::new(RequestCounts::default());
    let store: Arc<dyn Store> = Arc::new(account.open_counted(&requests).await);
    let source = TailSource { container: POSTS, types: None };
    let settings = TailSettings { poll: Some(POLL), gather: Duration::ZERO, ..TailSettings::default() };
    let ledger = Ledger::new();
    let mut tail = Tail::open(Arc::clone(&store), source, settings, &ledger).await.expect("the tail opens");
    assert_eq!(feed_reads(&requests), physical_partitions as usize, "each range is asked for its end");
    write(&*store, 1).await;
    assert_eq!(tail.next().await.len(), 1);
    assert_eq!(feed_reads(&requests), 1);
    // The range of the first post may hold more, until a page is empty.
    write(&*store, 2).await;
    assert_eq!(tail.next().await.len(), 1);
    assert!(feed_reads(&requests) <= 3);
}
