//! Many writers and readers at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt;
use futures::future::join_all;
use onehop_store::{
    Direction, ETag, Ledger, PartitionKey, Query, QueryPage, Rejection, Store, WriteError, WriteOp,
};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::contract::harness::{Subject, THINGS, batch, numbered, seen, thing};

const WRITERS: u64 = 8;
const INCREMENTS: u64 = 25;

async fn number(store: &dyn Store, id: &str) -> (ETag, u64) {
    let item = store.read(THINGS, &"h1".into(), id, &Ledger::new()).await.expect("a read").expect("an item");
    let number = item.decode::<Value>().expect("JSON")["number"].as_u64().expect("a number");
    (item.etag, number)
}

async fn finish(mut tasks: JoinSet<()>) {
    while let Some(outcome) = tasks.join_next().await {
        outcome.expect("no task panicked");
    }
}

pub async fn eight_writers_of_one_item_lose_no_update(subject: Subject) {
    subject.create(numbered("h1", "counter", 0)).await;
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        let store = Arc::clone(&subject.store);
        writers.spawn(async move {
            for _ in 0..INCREMENTS {
                loop {
                    let (etag, before) = number(&*store, "counter").await;
                    let item = numbered("h1", "counter", before + 1);
                    let operation = WriteOp::Replace { item, if_match: Some(etag) };
                    match store.write(THINGS, &"h1".into(), operation, &Ledger::new()).await {
                        Ok(_) => break,
                        Err(error) => assert_eq!(error.rejection(), Some(&Rejection::PreconditionFailed)),
                    }
                }
            }
        });
    }
    finish(writers).await;
    assert_eq!(number(&*subject.store, "counter").await.1, WRITERS * INCREMENTS);
    assert_eq!(seen(&subject.feed_from_beginning().await), [("counter".to_owned(), WRITERS * INCREMENTS)]);
}

/// Adds an item and counts it, in one batch.
async fn add(store: &dyn Store, writer: u64, round: u64) {
    loop {
        let (etag, before) = number(store, "counter").await;
        let operations = vec![
            WriteOp::Create(numbered("h1", &format!("item-{writer}-{round}"), round)),
            WriteOp::Replace { item: numbered("h1", "counter", before + 1), if_match: Some(etag) },
        ];
        match store.batch(batch("h1", operations), &Ledger::new()).await {
            Ok(_) => return,
            Err(WriteError::Rejected { operation, reason }) => {
                assert_eq!((operation, reason), (1, Rejection::PreconditionFailed));
            }
            Err(WriteError::Fault(fault)) => panic!("{fault}"),
        }
    }
}

pub async fn eight_writers_of_one_logical_partition_keep_its_count_exact(subject: Subject) {
    subject.create(numbered("h1", "counter", 0)).await;
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let store = Arc::clone(&subject.store);
        writers.spawn(async move {
            for round in 0..INCREMENTS {
                add(&*store, writer, round).await;
            }
        });
    }
    finish(writers).await;
    let total = WRITERS * INCREMENTS;
    assert_eq!(number(&*subject.store, "counter").await.1, total);
    assert_eq!(subject.count("h1", "thing").await, total + 1);
    assert_eq!(subject.feed_from_beginning().await.len() as u64, total + 1);
    let subject = if subject.can().reopen { subject.reopen().await } else { subject };
    assert_eq!(subject.count("h1", "thing").await, total + 1);
}

pub async fn of_many_creates_of_one_id_exactly_one_succeeds(subject: Subject) {
    let creates = (0..64).map(|number| subject.write("h1", WriteOp::Create(numbered("h1", "a", number))));
    let outcomes = join_all(creates).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    for error in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        assert_eq!(error.rejection(), Some(&Rejection::Conflict));
    }
}

pub async fn writers_of_different_partitions_do_not_conflict(subject: Subject) {
    let mut writers = JoinSet::new();
    for writer in 0..16 {
        let store = Arc::clone(&subject.store);
        writers.spawn(async move {
            let home = format!("h{writer}");
            for round in 0..20 {
                let create = WriteOp::Create(numbered(&home, &format!("a{round}"), round));
                store.write(THINGS, &home.as_str().into(), create, &Ledger::new()).await.expect("created");
            }
        });
    }
    finish(writers).await;
    for writer in 0..16 {
        assert_eq!(subject.count(&format!("h{writer}"), "thing").await, 20);
    }
    let mut last = std::collections::HashMap::new();
    for change in subject.feed_from_beginning().await {
        let number = change.item.decode::<Value>().expect("JSON")["number"].as_u64().expect("a number");
        let before = last.insert(change.partition_key, number);
        assert_eq!(before.map_or(0, |before| before + 1), number, "in order, and none missing");
    }
}

/// Batches that write every item of the partition with the same number.
async fn rewrite_together(store: &dyn Store, items: usize, rounds: u64) {
    for round in 1..=rounds {
        let date = format!("{:02}", round % 7);
        let operations = (0..items).map(|place| {
            let body = serde_json::json!({
                "id": format!("a{place}"), "home": "h1", "type": "thing", "date": date, "owner": "ada",
                "number": round,
            });
            WriteOp::Upsert(crate::contract::harness::item(&body))
        });
        store.batch(batch("h1", operations.collect()), &Ledger::new()).await.expect("done");
    }
}

async fn read_all_shapes(store: &dyn Store) -> [QueryPage; 3] {
    let home = PartitionKey::from("h1");
    let (container, item_type, direction) = (THINGS, "thing", Direction::OldestFirst);
    let (after, limit) = (None, 100);
    let ledger = Ledger::new();
    let queries = [
        Query::Partition {
            container,
            partition_key: &home,
            item_type,
            direction,
            after,
            limit,
            order_by: None,
        },
        Query::Equality {
            container,
            path: "owner",
            value: "ada",
            item_type,
            direction,
            after,
            limit,
            order_by: None,
        },
        Query::Newest {
            container,
            item_type,
            after,
            limit,
            order_by: None,
            direction: Direction::NewestFirst,
        },
    ];
    let mut pages = Vec::new();
    for query in queries {
        pages.push(store.query(&query, &ledger).await.expect("a page"));
    }
    pages.try_into().expect("three pages")
}

pub async fn readers_see_whole_batches_or_nothing(subject: Subject) {
    const ITEMS: usize = 12;
    let written = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    for _ in 0..2 {
        let (store, written) = (Arc::clone(&subject.store), Arc::clone(&written));
        tasks.spawn(async move {
            while !written.load(Ordering::SeqCst) {
                for page in read_all_shapes(&*store).await {
                    assert!(page.items.is_empty() || page.items.len() == ITEMS, "{}", page.items.len());
                    let number =
                        |item: &onehop_store::Item| item.decode::<Value>().expect("JSON")["number"].clone();
                    let numbers: std::collections::HashSet<_> =
                        page.items.iter().map(|item| number(item).to_string()).collect();
                    assert!(numbers.len() <= 1, "a page holds halves of batches: {numbers:?}");
                }
                for place in 0..ITEMS {
                    store
                        .read(THINGS, &"h1".into(), &format!("a{place}"), &Ledger::new())
                        .await
                        .expect("a read");
                }
                assert!([0, ITEMS as u64].contains(
                    &store.count(THINGS, &"h1".into(), "thing", &Ledger::new()).await.expect("a count")
                ));
                tokio::task::yield_now().await;
            }
        });
    }
    rewrite_together(&*subject.store, ITEMS, 60).await;
    written.store(true, Ordering::SeqCst);
    finish(tasks).await;
}

pub async fn an_item_that_is_rewritten_is_never_absent(subject: Subject) {
    subject.create(thing("h1", "a", "0")).await;
    let written = Arc::new(AtomicBool::new(false));
    let mut tasks = JoinSet::new();
    let (store, done) = (Arc::clone(&subject.store), Arc::clone(&written));
    tasks.spawn(async move {
        while !done.load(Ordering::SeqCst) {
            let item = store.read(THINGS, &"h1".into(), "a", &Ledger::new()).await.expect("a read");
            assert!(item.is_some(), "a rewrite moves the item under its key, and a reader missed it");
            tokio::task::yield_now().await;
        }
    });
    for round in 0..100 {
        subject.upsert(thing("h1", "a", &format!("{:03}", (round * 37) % 100))).await;
    }
    written.store(true, Ordering::SeqCst);
    finish(tasks).await;
}

pub async fn a_dropped_write_happens_wholly_or_not_at_all(subject: Subject) {
    for round in 0..30 {
        let operations =
            (0..5).map(|place| WriteOp::Create(numbered("h1", &format!("a{round}-{place}"), round)));
        let dropped = subject.batch("h1", operations.collect());
        // Polled once, which hands it to the writer, and dropped before its answer.
        let _ = dropped.now_or_never();
    }
    subject.create(numbered("h1", "last", 0)).await;
    let subject = if subject.can().reopen { subject.reopen().await } else { subject };
    for round in 0..30 {
        let mut there = 0;
        for place in 0..5 {
            there += u32::from(subject.read("h1", &format!("a{round}-{place}")).await.is_some());
        }
        assert!(there == 0 || there == 5, "round {round}: {there} of 5");
    }
    assert_eq!(subject.feed_from_beginning().await.len() as u64, subject.count("h1", "thing").await);
}

pub async fn a_reader_of_the_feed_beside_writers_misses_nothing(subject: Subject) {
    let written = Arc::new(AtomicBool::new(false));
    let mut writers = JoinSet::new();
    for writer in 0..4 {
        let store = Arc::clone(&subject.store);
        writers.spawn(async move {
            for round in 0..40 {
                let home = format!("h{}", (writer + round) % 6);
                let upsert = WriteOp::Upsert(numbered(&home, &format!("w{writer}-{}", round % 10), round));
                store.write(THINGS, &home.as_str().into(), upsert, &Ledger::new()).await.expect("written");
            }
        });
    }
    let writing = async {
        finish(writers).await;
        written.store(true, Ordering::SeqCst);
    };
    let reading = async {
        let mut copies = std::collections::HashMap::new();
        let mut continuations = vec![None; subject.ranges().await.len()];
        loop {
            let last_round = written.load(Ordering::SeqCst);
            for (place, range) in subject.ranges().await.iter().enumerate() {
                let (changes, end) = subject.drain(range, continuations[place].take(), None, 5).await;
                continuations[place] = Some(end);
                for change in changes {
                    copies.insert((change.partition_key.as_str().to_owned(), change.id), change.item.body);
                }
            }
            if last_round {
                return copies;
            }
            tokio::task::yield_now().await;
        }
    };
    let ((), copies) = tokio::join!(writing, reading);
    let originals = subject.feed_from_beginning().await;
    assert_eq!(copies.len(), originals.len());
    for change in originals {
        assert_eq!(copies[&(change.partition_key.as_str().to_owned(), change.id)], change.item.body);
    }
}
