//! Single items: reading, writing and preconditions.

use onehop::store::{Direction, FeedRequest, Ledger, Query, Rejection, WriteOp};

use crate::harness::{THINGS, subject, thing};

#[tokio::test]
async fn a_created_item_is_read_queried_counted_and_in_the_change_feed() {
    let subject = subject();
    let ledger = Ledger::new();
    let home = "h1".into();
    let etag = subject
        .store
        .write(THINGS, &home, WriteOp::Create(thing("h1", "a", "2026-01-01")), &ledger)
        .await
        .expect("created");
    let read = subject.store.read(THINGS, &home, "a", &ledger).await.expect("read").expect("an item");
    assert_eq!(Some(read.etag), etag);
    for query in [
        Query::Partition {
            container: THINGS,
            partition_key: &home,
            item_type: "thing",
            direction: Direction::NewestFirst,
            after: None,
            limit: 10,
        },
        Query::Equality {
            container: THINGS,
            path: "owner",
            value: "ada",
            item_type: "thing",
            direction: Direction::OldestFirst,
            after: None,
            limit: 10,
        },
        Query::Newest { container: THINGS, item_type: "thing", after: None, limit: 10 },
    ] {
        let page = subject.store.query(&query, &ledger).await.expect("a page");
        assert_eq!((page.items.len(), page.has_more), (1, false), "{query:?}");
    }
    assert_eq!(subject.store.count(THINGS, &home, "thing", &ledger).await.expect("a count"), 1);
    let mut changes = 0;
    for range in subject.store.feed_ranges(THINGS).await.expect("ranges") {
        let request =
            FeedRequest { container: THINGS, range: &range, continuation: None, types: None, limit: 10 };
        changes += subject.store.read_change_feed(&request, &ledger).await.expect("a page").changes.len();
    }
    assert_eq!(changes, 1);
}

#[tokio::test]
async fn a_second_create_of_the_same_id_is_a_conflict() {
    let subject = subject();
    let ledger = Ledger::new();
    let home = "h1".into();
    let create = || WriteOp::Create(thing("h1", "a", "2026-01-01"));
    subject.store.write(THINGS, &home, create(), &ledger).await.expect("created");
    let error = subject.store.write(THINGS, &home, create(), &ledger).await.expect_err("refused");
    assert_eq!(error.rejection(), Some(&Rejection::Conflict));
}
