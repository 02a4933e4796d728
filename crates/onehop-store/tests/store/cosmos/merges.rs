//! A continuation with several parts of one physical partition, as a split and a merge leave it behind.

use onehop_store::{
    ContainerName, ContainerSpec, Continuation, FeedPage, FeedRange, FeedRequest, Ledger, NewItem, Store,
    WriteOp,
};
use onehop_testing::emulator::Emulator;
use serde_json::json;

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

async fn create(store: &dyn Store, home: &str) -> Ledger {
    let item = NewItem::encode("a", &json!({ "id": "a", "home": home, "type": "thing" }));
    let ledger = Ledger::new();
    store.write(THINGS, &home.into(), WriteOp::Create(item), &ledger).await.expect("written");
    ledger
}

async fn page(store: &dyn Store, range: &FeedRange, continuation: Option<&Continuation>) -> FeedPage {
    let request = FeedRequest { container: THINGS, range, continuation, types: None, limit: 10 };
    store.read_change_feed(&request, &Ledger::new()).await.expect("a page")
}

/// Reads a range to its end.
async fn drain(store: &dyn Store, range: &FeedRange) -> FeedPage {
    let mut last = page(store, range, None).await;
    while !last.drained {
        last = page(store, range, Some(&last.continuation)).await;
    }
    last
}

#[tokio::test]
async fn a_reader_of_merged_partitions_misses_no_part() {
    let emulator = Emulator::new(SPECS, 1);
    let store = emulator.open().await;
    let whole = store.feed_ranges(THINGS).await.expect("ranges").remove(0);
    emulator.split(THINGS, emulator.physical_partitions(THINGS)[0]).await;
    let read = drain(&store, &whole).await.continuation;
    let parts = emulator.physical_partitions(THINGS);
    emulator.merge(THINGS, parts[0], parts[1]).await;
    assert_eq!(store.feed_ranges(THINGS).await.expect("ranges").len(), 1);
    for number in 0..12 {
        let home = format!("h{number}");
        let ledger = create(&store, &home).await;
        let end = ledger.write_end(THINGS, &home.as_str().into()).expect("an end");
        let page = page(&store, &whole, Some(&read)).await;
        assert_eq!((page.changes.len(), page.drained), (1, false), "{home}");
        assert!(!page.passed.is_some_and(|passed| store.is_past(&passed, &end)), "{home}");
        let delete = WriteOp::Delete { id: "a".to_owned(), if_match: None };
        store.write(THINGS, &home.as_str().into(), delete, &ledger).await.expect("deleted");
    }
}
