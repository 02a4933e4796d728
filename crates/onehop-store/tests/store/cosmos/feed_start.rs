//! Start of a change feed at a time: the sent requests. The emulator ignores the time, so that nothing here
//! shows the answers of the service.

use std::sync::Arc;

use onehop_store::{ContainerName, ContainerSpec, Continuation, FeedRange, FeedRequest, Ledger, Store};
use onehop_testing::emulator::Emulator;
use onehop_testing::feed_requests::{FeedPageRequest, FeedRequests};

const THINGS: ContainerName = ContainerName("things");
const SPECS: &[ContainerSpec] = &[ContainerSpec {
    name: THINGS,
    partition_key: "home",
    order_by: None,
    orders: &[],
    ttl_s: None,
    equality: &[],
    newest_types: &[],
    soft_deletes: true,
}];

/// 2026-01-02 03:04:05.678 UTC.
const SINCE_MS: i64 = 1_767_323_045_678;
/// The second before.
const SENT: &str = "Fri, 02 Jan 2026 03:04:04 GMT";

fn sent(is_continued: bool) -> Vec<FeedPageRequest> {
    vec![FeedPageRequest { since: Some(SENT.to_owned()), is_continued }]
}

async fn page(store: &dyn Store, range: &FeedRange, after: &Continuation) -> Continuation {
    let request = FeedRequest { container: THINGS, range, continuation: Some(after), types: None, limit: 10 };
    store.read_change_feed(&request, &Ledger::new()).await.expect("a page").continuation
}

#[tokio::test]
async fn the_time_is_sent_with_each_page_and_asked_for_without_a_request() {
    let requests = Arc::new(FeedRequests::default());
    let emulator = Emulator::recording(&requests, SPECS, 1);
    let store = emulator.open().await;
    let range = store.feed_ranges(THINGS).await.expect("ranges").remove(0);
    requests.take();
    let start = store.change_feed_since(THINGS, &range, SINCE_MS, &Ledger::new()).await.expect("a start");
    assert_eq!(requests.take(), []);
    let second = page(&store, &range, &start).await;
    assert_eq!(requests.take(), sent(false));
    page(&store, &range, &second).await;
    assert_eq!(requests.take(), sent(true), "and where the page before ended");
}

#[tokio::test]
async fn each_part_of_a_split_range_begins_at_the_time() {
    let requests = Arc::new(FeedRequests::default());
    let emulator = Emulator::recording(&requests, SPECS, 1);
    let store = emulator.open().await;
    let whole = store.feed_ranges(THINGS).await.expect("ranges").remove(0);
    let start = store.change_feed_since(THINGS, &whole, SINCE_MS, &Ledger::new()).await.expect("a start");
    emulator.split(THINGS, emulator.physical_partitions(THINGS)[0]).await;
    let present = store.feed_ranges(THINGS).await.expect("ranges");
    let parts = store.parts_of(&whole, &present).expect("parts");
    requests.take();
    for part in &parts {
        page(&store, part, &start).await;
        assert_eq!(requests.take(), sent(false));
    }
    assert_eq!(parts.len(), 2);
}
