//! The limits of the port: fine at the limit, refused one above it.

use onehop_store::{Direction, FaultKind, Keyset, NewItem, Query, Rejection, WriteOp, limits};
use serde_json::json;

use crate::contract::harness::{BOTH_DIRECTIONS, Subject, THINGS, item, numbered, refusal_of, thing};

/// A thing whose body has exactly this many bytes.
fn thing_of(id: &str, bytes: usize) -> NewItem {
    let with = |note: &str| item(&json!({"id": id, "home": "h1", "type": "thing", "note": note}));
    let item = with(&"x".repeat(bytes - with("").body.len()));
    assert_eq!(item.body.len(), bytes);
    item
}

pub async fn a_batch_of_100_operations_is_fine_and_of_101_is_refused(subject: Subject) {
    let creates = |operations: u64| {
        (0..operations).map(|number| WriteOp::Create(numbered("h1", &format!("a{number}"), number))).collect()
    };
    let reason = Rejection::TooManyOperations { limit: limits::BATCH_OPERATIONS_MAX, actual: 101 };
    assert_eq!(refusal_of(subject.batch("h1", creates(101)).await).1, reason);
    assert_eq!(subject.count("h1", "thing").await, 0);
    assert_eq!(subject.batch("h1", creates(100)).await.expect("done").len(), 100);
    assert_eq!(subject.count("h1", "thing").await, 100);
}

pub async fn an_item_of_2_mb_is_fine_and_one_byte_more_is_refused(subject: Subject) {
    let limit_bytes = limits::ITEM_BYTES_MAX;
    let refusal = subject.refusal("h1", WriteOp::Create(thing_of("a", limit_bytes + 1))).await;
    assert_eq!(refusal, Rejection::TooLarge { limit_bytes, actual_bytes: limit_bytes + 1 });
    assert!(subject.read("h1", "a").await.is_none());
    subject.create(thing_of("a", limit_bytes)).await;
    assert_eq!(subject.read("h1", "a").await.expect("an item").body.len(), limit_bytes);
}

pub async fn a_batch_of_2_mb_is_fine_and_one_byte_more_is_refused(subject: Subject) {
    let limit_bytes = limits::BATCH_BYTES_MAX;
    // Where the JSON around the items counts, too, they have to be a little smaller.
    let spare = if subject.can().verbatim { 0 } else { 1000 };
    let half = limit_bytes / 2;
    let creates = |last: usize| {
        vec![
            WriteOp::Create(thing_of("a", half)),
            WriteOp::Create(thing_of("b", half - 100 - spare)),
            WriteOp::Create(thing_of("c", last)),
        ]
    };
    let reason = Rejection::TooLarge { limit_bytes, actual_bytes: limit_bytes + 1 };
    assert_eq!(refusal_of(subject.batch("h1", creates(101 + spare)).await), (2, reason));
    assert!(subject.read("h1", "a").await.is_none());
    subject.batch("h1", creates(100)).await.expect("done");
    assert_eq!(subject.count("h1", "thing").await, 3);
}

pub async fn an_id_with_a_forbidden_character_is_refused(subject: Subject) {
    for id in ["a/b", "a\\b", "a?b", "a#b", "/", "#", "a\0b"] {
        for operation in [
            WriteOp::Create(thing("h1", id, "2026-01-01")),
            WriteOp::Upsert(thing("h1", id, "2026-01-01")),
            WriteOp::Replace { item: thing("h1", id, "2026-01-01"), if_match: None },
            WriteOp::Delete { id: id.to_owned(), if_match: None },
        ] {
            assert_eq!(subject.refusal("h1", operation).await, Rejection::InvalidId, "{id:?}");
        }
        assert!(subject.read("h1", id).await.is_none(), "{id:?}");
    }
}

pub async fn an_id_has_1_to_1023_bytes(subject: Subject) {
    for length in [0, limits::ID_BYTES_MAX + 1] {
        let id = "i".repeat(length);
        let refusal = subject.refusal("h1", WriteOp::Create(thing("h1", &id, "2026-01-01"))).await;
        assert_eq!(refusal, Rejection::InvalidId);
    }
    for id in ["i".to_owned(), "i".repeat(limits::ID_BYTES_MAX)] {
        subject.create(thing("h1", &id, "2026-01-01")).await;
        assert!(subject.read("h1", &id).await.is_some());
    }
}

pub async fn a_partition_key_has_at_most_2048_bytes(subject: Subject) {
    let limit_bytes = limits::PARTITION_KEY_BYTES_MAX;
    let home = "h".repeat(limit_bytes + 1);
    let reason = Rejection::TooLarge { limit_bytes, actual_bytes: limit_bytes + 1 };
    let create = |home: &str| WriteOp::Create(thing(home, "a", "2026-01-01"));
    assert_eq!(subject.refusal(&home, create(&home)).await, reason);
    let delete = WriteOp::Delete { id: "a".to_owned(), if_match: None };
    assert_eq!(refusal_of(subject.batch(&home, vec![delete]).await).1, reason);
    let home = "h".repeat(limit_bytes);
    subject.create(thing(&home, "a", "2026-01-01")).await;
    assert!(subject.read(&home, "a").await.is_some());
    assert_eq!(subject.count(&home, "thing").await, 1);
}

pub async fn an_indexed_text_has_at_most_2048_bytes(subject: Subject) {
    let limit_bytes = limits::INDEXED_TEXT_BYTES_MAX;
    for property in ["type", "date", "owner"] {
        let with = |length: usize| {
            let mut body = json!({"id": "a", "home": "h1", "type": "thing"});
            body[property] = "\u{1}".repeat(length).into();
            item(&body)
        };
        let refusal = subject.refusal("h1", WriteOp::Upsert(with(limit_bytes + 1))).await;
        assert_eq!(refusal, Rejection::TooLarge { limit_bytes, actual_bytes: limit_bytes + 1 }, "{property}");
        subject.upsert(with(limit_bytes)).await;
        assert_eq!(subject.feed_from_beginning().await.len(), 1, "{property}");
    }
    let huge = json!({"id": "a", "home": "h1", "type": "t".repeat(100_000)});
    assert!(matches!(subject.refusal("h1", WriteOp::Upsert(item(&huge))).await, Rejection::TooLarge { .. }));
}

pub async fn a_body_without_its_id_and_partition_key_is_refused(subject: Subject) {
    let bodies = [
        r#"{"id":"b","home":"h1"}"#,
        r#"{"id":"a","home":"h2"}"#,
        r#"{"home":"h1"}"#,
        r#"{"id":"a"}"#,
        r#"{"id":1,"home":"h1"}"#,
        r#"{"id":"a","home":null}"#,
        r#"{"id":"a","home":["h1"]}"#,
        r#"{"nested":{"id":"a","home":"h1"}}"#,
    ];
    refuse_bodies(&subject, &bodies).await;
}

pub async fn a_body_that_is_not_one_object_is_refused(subject: Subject) {
    let bodies = [
        "",
        "null",
        "1",
        "\"a\"",
        "[]",
        r#"["id","a","home","h1"]"#,
        r#"{"id":"a","home":"h1""#,
        r#"{"id":"a","home":"h1"} {}"#,
        r#"{"id":"a","home":"h1",}"#,
        "not json",
    ];
    refuse_bodies(&subject, &bodies).await;
}

async fn refuse_bodies(subject: &Subject, bodies: &[&str]) {
    for body in bodies {
        let item = || NewItem { id: "a".to_owned(), body: (*body).to_owned().into() };
        for operation in [
            WriteOp::Create(item()),
            WriteOp::Upsert(item()),
            WriteOp::Replace { item: item(), if_match: None },
        ] {
            assert_eq!(subject.refusal("h1", operation).await, Rejection::KeyMismatch, "{body}");
        }
    }
    assert!(subject.feed_from_beginning().await.is_empty());
}

pub async fn keys_of_any_length_are_asked_for_without_harm(subject: Subject) {
    subject.create(thing("h1", "a", "2026-01-01")).await;
    let long = "x".repeat(200_000);
    assert!(subject.read("h1", &long).await.is_none());
    assert!(subject.read(&long, "a").await.is_none());
    assert_eq!(subject.count(&long, "thing").await, 0);
    assert_eq!(subject.count("h1", &long).await, 0);
    assert!(subject.page(&long, BOTH_DIRECTIONS[0], None, 10).await.items.is_empty());
    let query = Query::Equality {
        container: THINGS,
        path: "owner",
        value: &long,
        item_type: "thing",
        direction: BOTH_DIRECTIONS[0],
        after: None,
        limit: 10,
        order_by: None,
    };
    assert!(subject.query(&query).await.items.is_empty());
    for (order_value, id) in [(long.clone(), String::new()), (String::new(), long.clone())] {
        let keyset = Keyset { order_value, id };
        let query = Query::Newest {
            container: THINGS,
            item_type: "thing",
            after: Some(&keyset),
            limit: 10,
            order_by: None,
            direction: Direction::NewestFirst,
        };
        let fault = subject.store.query(&query, &subject.ledger).await.expect_err("refused");
        assert_eq!(fault.kind, FaultKind::InvalidContinuation);
    }
    assert!(subject.read("h1", "a").await.is_some(), "the store still answers");
}

pub async fn a_page_has_at_most_1000_items(subject: Subject) {
    for hundred in 0..11 {
        let creates = (0..100).map(|number| {
            WriteOp::Create(thing("h1", &format!("a{:04}", hundred * 100 + number), "2026-01-01"))
        });
        subject.batch("h1", creates.collect()).await.expect("done");
    }
    let page = subject.page("h1", BOTH_DIRECTIONS[0], None, usize::MAX).await;
    assert_eq!((page.items.len(), page.has_more), (limits::PAGE_ITEMS_MAX, true));
    let range = subject.range_of("h1").await;
    let page = subject.feed_page(&range, None, usize::MAX).await;
    assert_eq!((page.changes.len(), page.drained), (limits::PAGE_ITEMS_MAX, false));
}
