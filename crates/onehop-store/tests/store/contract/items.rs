//! Single items: reading and writing.

use onehop_store::{Direction, Ledger, NewItem, Query, Rejection, WriteOp};
use serde_json::{Value, json};

use crate::contract::harness::{PLAIN, START_MS, Subject, THINGS, item, numbered, thing};

pub async fn a_created_item_is_in_reads_queries_counts_and_the_feed(subject: Subject) {
    let etag = subject.create(thing("h1", "a", "2026-01-01")).await;
    let read = subject.read("h1", "a").await.expect("an item");
    assert_eq!(read.etag, etag);
    let home = "h1".into();
    for query in [
        Query::Partition {
            container: THINGS,
            partition_key: &home,
            item_type: "thing",
            direction: Direction::NewestFirst,
            after: None,
            limit: 10,
            order_by: None,
        },
        Query::Equality {
            container: THINGS,
            path: "owner",
            value: "ada",
            item_type: "thing",
            direction: Direction::OldestFirst,
            after: None,
            limit: 10,
            order_by: None,
        },
        Query::Newest {
            container: THINGS,
            item_type: "thing",
            after: None,
            limit: 10,
            order_by: None,
            direction: Direction::NewestFirst,
        },
    ] {
        let page = subject.query(&query).await;
        assert_eq!((page.items.len(), page.has_more), (1, false), "{query:?}");
        assert_eq!(page.items[0].etag, etag, "{query:?}");
    }
    assert_eq!(subject.count("h1", "thing").await, 1);
    let changes = subject.feed_from_beginning().await;
    assert_eq!(changes.len(), 1);
    assert_eq!((changes[0].partition_key.as_str(), changes[0].id.as_str()), ("h1", "a"));
    assert_eq!(changes[0].item.etag, etag);
}

pub async fn the_body_comes_back_byte_for_byte(subject: Subject) {
    let body =
        br#"{ "home":"h1","id" : "a","number":1.50,"nested":{"b":[1,{"deleted":true,"ttl":"x"}],"a":null} }"#;
    let item = NewItem { id: "a".to_owned(), body: body.as_slice().into() };
    subject.create(item).await;
    let read = subject.read("h1", "a").await.expect("an item");
    if subject.can().verbatim {
        assert_eq!(read.body.as_ref(), body);
    } else {
        let written: Value = serde_json::from_slice(body).expect("JSON");
        assert_eq!(read.decode::<Value>().expect("JSON"), written);
    }
}

pub async fn an_item_carries_the_time_of_its_last_write(subject: Subject) {
    if !subject.can().move_time {
        return;
    }
    subject.create(numbered("h1", "a", 1)).await;
    assert_eq!(subject.read("h1", "a").await.expect("an item").timestamp_ms, START_MS);
    subject.advance_ms(5000).await;
    subject.upsert(numbered("h1", "a", 2)).await;
    assert_eq!(subject.read("h1", "a").await.expect("an item").timestamp_ms, START_MS + 5000);
}

pub async fn absence_is_none(subject: Subject) {
    assert!(subject.read("h1", "a").await.is_none());
    subject.create(thing("h1", "a", "2026-01-01")).await;
    assert!(subject.read("h2", "a").await.is_none(), "another logical partition");
    assert!(subject.read("h1", "b").await.is_none(), "another id");
    let other = subject.store.read(PLAIN, &"a".into(), "a", &Ledger::new()).await.expect("a read");
    assert!(other.is_none(), "another container");
    assert_eq!(subject.count("h2", "thing").await, 0);
    assert_eq!(subject.count("h1", "other").await, 0);
}

pub async fn the_same_id_lives_in_several_logical_partitions(subject: Subject) {
    for home in ["h1", "h2", "h3"] {
        subject.create(thing(home, "a", "2026-01-01")).await;
    }
    subject.delete("h2", "a").await;
    assert!(subject.read("h1", "a").await.is_some());
    assert!(subject.read("h2", "a").await.is_none());
    assert!(subject.read("h3", "a").await.is_some());
    assert_eq!(subject.feed_from_beginning().await.len(), 2);
}

pub async fn many_reads_answer_in_the_order_of_their_keys(subject: Subject) {
    for (home, id) in [("h1", "a"), ("h2", "b"), ("h3", "c")] {
        subject.create(thing(home, id, "2026-01-01")).await;
    }
    let keys = [("h3", "c"), ("h9", "x"), ("h1", "a"), ("h3", "c")];
    let keys = keys.map(|(home, id)| (home.into(), id.to_owned()));
    let items = subject.store.read_many(THINGS, &keys, &subject.ledger).await.expect("items");
    let found: Vec<_> = items.iter().map(|item| item.as_ref().map(crate::contract::harness::id_of)).collect();
    let expected = [Some("c".to_owned()), None, Some("a".to_owned()), Some("c".to_owned())];
    assert_eq!(found, expected);
}

pub async fn a_second_create_of_the_same_id_is_a_conflict(subject: Subject) {
    let etag = subject.create(numbered("h1", "a", 1)).await;
    let refusal = subject.refusal("h1", WriteOp::Create(numbered("h1", "a", 2))).await;
    assert_eq!(refusal, Rejection::Conflict);
    assert_eq!(subject.read("h1", "a").await.expect("an item").etag, etag);
    assert_eq!(subject.value("h1", "a").await.expect("an item")["number"], 1);
}

pub async fn an_upsert_writes_whether_the_item_exists_or_not(subject: Subject) {
    let first = subject.upsert(numbered("h1", "a", 1)).await;
    let second = subject.upsert(numbered("h1", "a", 2)).await;
    assert_ne!(first, second);
    assert_eq!(subject.value("h1", "a").await.expect("an item")["number"], 2);
    assert_eq!(subject.count("h1", "thing").await, 1);
}

pub async fn every_write_changes_the_etag_even_one_of_the_same_bytes(subject: Subject) {
    let first = subject.create(thing("h1", "a", "2026-01-01")).await;
    let second = subject.upsert(thing("h1", "a", "2026-01-01")).await;
    assert_ne!(first, second);
    assert_ne!(first.to_string(), second.to_string());
}

pub async fn a_deleted_item_is_gone_and_can_be_created_again(subject: Subject) {
    let first = subject.create(thing("h1", "a", "2026-01-01")).await;
    subject.delete("h1", "a").await;
    assert!(subject.read("h1", "a").await.is_none());
    assert_eq!(subject.count("h1", "thing").await, 0);
    let second = subject.create(thing("h1", "a", "2026-01-02")).await;
    assert_ne!(first, second, "an ETag is never given out twice");
}

pub async fn a_rewrite_moves_an_item_in_every_order_and_index(subject: Subject) {
    subject.create(thing("h1", "a", "2026-01-01")).await;
    subject.create(thing("h1", "b", "2026-01-02")).await;
    let body = json!({"id": "a", "home": "h1", "type": "thing", "date": "2026-01-03", "owner": "bob"});
    subject.upsert(item(&body)).await;
    let page = subject.page("h1", Direction::NewestFirst, None, 10).await;
    assert_eq!(crate::contract::harness::ids(&page), ["a", "b"]);
    for (owner, expected) in [("ada", vec!["b"]), ("bob", vec!["a"])] {
        let query = Query::Equality {
            container: THINGS,
            path: "owner",
            value: owner,
            item_type: "thing",
            direction: Direction::NewestFirst,
            after: None,
            limit: 10,
            order_by: None,
        };
        assert_eq!(crate::contract::harness::ids(&subject.query(&query).await), expected);
    }
    let newest = Query::Newest {
        container: THINGS,
        item_type: "thing",
        after: None,
        limit: 10,
        order_by: None,
        direction: Direction::NewestFirst,
    };
    assert_eq!(crate::contract::harness::ids(&subject.query(&newest).await), ["a", "b"]);

    let body = json!({"id": "a", "home": "h1", "type": "other", "date": "2026-01-03", "owner": "bob"});
    subject.upsert(item(&body)).await;
    assert_eq!((subject.count("h1", "thing").await, subject.count("h1", "other").await), (1, 1));
    assert_eq!(crate::contract::harness::ids(&subject.query(&newest).await), ["b"]);
}

pub async fn an_unknown_container_is_a_fault_and_not_a_panic(subject: Subject) {
    let nowhere = onehop_store::ContainerName("nowhere");
    assert!(subject.store.read(nowhere, &"h1".into(), "a", &subject.ledger).await.is_err());
    assert!(subject.store.feed_ranges(nowhere).await.is_err());
}

pub async fn everything_is_there_after_reopening(subject: Subject) {
    if !subject.can().reopen {
        return;
    }
    for number in 0..20 {
        subject.create(numbered(&format!("h{}", number % 3), &format!("a{number}"), number)).await;
    }
    subject.delete("h0", "a0").await;
    let subject = subject.reopen().await;
    for number in 1..20 {
        let value = subject.value(&format!("h{}", number % 3), &format!("a{number}")).await;
        assert_eq!(value.expect("an item")["number"], number);
    }
    assert!(subject.read("h0", "a0").await.is_none());
    assert_eq!(subject.count("h0", "thing").await, 6);
    assert_eq!(subject.feed_from_beginning().await.len(), 19);
}
