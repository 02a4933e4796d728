//! Transactional batches: all or nothing, in every position.

use onehop_store::{Direction, ETag, Rejection, WriteOp};
use serde_json::Value;

use crate::contract::harness::{Subject, batch, item, numbered, refusal_of, seen, thing};

const BATCH_SIZE_MAX: usize = 6;

/// The ways in which one operation of a batch can be refused.
fn refused_operations(stale: &ETag) -> Vec<(WriteOp, Rejection)> {
    let too_large = {
        let limit_bytes = onehop_store::limits::ITEM_BYTES_MAX;
        let note = "x".repeat(limit_bytes);
        let body = serde_json::json!({"id": "large", "home": "h1", "type": "thing", "note": note});
        let item = item(&body);
        let actual_bytes = item.body.len();
        (WriteOp::Upsert(item), Rejection::TooLarge { limit_bytes, actual_bytes })
    };
    vec![
        (WriteOp::Create(numbered("h1", "there", 9)), Rejection::Conflict),
        (WriteOp::Replace { item: numbered("h1", "absent", 9), if_match: None }, Rejection::NotFound),
        (
            WriteOp::Replace { item: numbered("h1", "there", 9), if_match: Some(stale.clone()) },
            Rejection::PreconditionFailed,
        ),
        (WriteOp::Delete { id: "absent".to_owned(), if_match: None }, Rejection::NotFound),
        (
            WriteOp::Delete { id: "there".to_owned(), if_match: Some(stale.clone()) },
            Rejection::PreconditionFailed,
        ),
        (WriteOp::Upsert(numbered("h1", "a/b", 9)), Rejection::InvalidId),
        (WriteOp::Upsert(numbered("h2", "moved", 9)), Rejection::KeyMismatch),
        too_large,
    ]
}

/// Everything that can be seen of the store.
async fn picture(subject: &Subject) -> (Vec<(String, u64)>, u64, Vec<Option<Value>>) {
    let changes = seen(&subject.feed_from_beginning().await);
    let mut values = vec![subject.value("h1", "there").await, subject.value("h1", "gone").await];
    for place in 0..BATCH_SIZE_MAX {
        values.push(subject.value("h1", &format!("new{place}")).await);
    }
    (changes, subject.count("h1", "thing").await, values)
}

pub async fn a_refusal_in_any_position_leaves_nothing_behind(subject: Subject) {
    let stale = subject.create(numbered("h1", "there", 1)).await;
    subject.upsert(numbered("h1", "there", 2)).await;
    subject.create(numbered("h1", "gone", 3)).await;
    let before = picture(&subject).await;
    for size in 1..=BATCH_SIZE_MAX {
        for position in 0..size {
            for (refused, reason) in refused_operations(&stale) {
                let mut operations: Vec<_> = (0..size)
                    .map(|place| match place % 3 {
                        0 => WriteOp::Create(numbered("h1", &format!("new{place}"), 5)),
                        1 => WriteOp::Upsert(numbered("h1", &format!("new{place}"), 6)),
                        _ => WriteOp::Replace { item: numbered("h1", "gone", 7), if_match: None },
                    })
                    .collect();
                operations[position] = refused;
                let outcome = subject.batch("h1", operations).await;
                assert_eq!(refusal_of(outcome), (position, reason.clone()), "{size} operations");
            }
        }
        assert_eq!(picture(&subject).await, before, "batches of {size} left something behind");
    }
}

pub async fn the_first_refusal_is_the_one_that_is_named(subject: Subject) {
    subject.create(numbered("h1", "a", 1)).await;
    let operations = vec![
        WriteOp::Upsert(numbered("h1", "b", 1)),
        WriteOp::Create(numbered("h1", "a", 2)),
        WriteOp::Delete { id: "absent".to_owned(), if_match: None },
    ];
    assert_eq!(refusal_of(subject.batch("h1", operations).await), (1, Rejection::Conflict));
}

pub async fn a_batch_answers_with_an_etag_for_each_operation(subject: Subject) {
    subject.create(numbered("h1", "old", 1)).await;
    let operations = vec![
        WriteOp::Create(numbered("h1", "a", 1)),
        WriteOp::Delete { id: "old".to_owned(), if_match: None },
        WriteOp::Upsert(numbered("h1", "b", 1)),
    ];
    let etags = subject.batch("h1", operations).await.expect("done");
    assert_eq!(etags.len(), 3);
    assert_eq!(etags[0], Some(subject.read("h1", "a").await.expect("an item").etag));
    assert_eq!(etags[1], None);
    assert_eq!(etags[2], Some(subject.read("h1", "b").await.expect("an item").etag));
    assert!(subject.read("h1", "old").await.is_none());
}

pub async fn an_empty_batch_does_nothing(subject: Subject) {
    assert_eq!(subject.batch("h1", Vec::new()).await.expect("done"), Vec::new());
    assert!(subject.feed_from_beginning().await.is_empty());
}

pub async fn an_operation_sees_what_the_ones_before_it_did_to_the_same_id(subject: Subject) {
    let operations = vec![
        WriteOp::Create(numbered("h1", "a", 1)),
        WriteOp::Replace { item: numbered("h1", "a", 2), if_match: None },
        WriteOp::Create(numbered("h1", "b", 1)),
        WriteOp::Delete { id: "a".to_owned(), if_match: None },
        WriteOp::Create(numbered("h1", "a", 3)),
        WriteOp::Delete { id: "b".to_owned(), if_match: None },
    ];
    let etags = subject.batch("h1", operations).await.expect("done");
    assert_eq!(etags[4], Some(subject.read("h1", "a").await.expect("an item").etag));
    assert_eq!(subject.value("h1", "a").await.expect("an item")["number"], 3);
    assert!(subject.read("h1", "b").await.is_none());
    assert_eq!(seen(&subject.feed_from_beginning().await), [("a".to_owned(), 3)]);
    assert_eq!(subject.count("h1", "thing").await, 1);
}

pub async fn creating_the_same_id_twice_in_a_batch_is_a_conflict(subject: Subject) {
    let operations = vec![WriteOp::Create(numbered("h1", "a", 1)), WriteOp::Create(numbered("h1", "a", 2))];
    assert_eq!(refusal_of(subject.batch("h1", operations).await), (1, Rejection::Conflict));
    assert!(subject.read("h1", "a").await.is_none());
}

pub async fn a_write_within_a_batch_outdates_the_earlier_etag(subject: Subject) {
    let etag = subject.create(numbered("h1", "a", 1)).await;
    let operations = vec![
        WriteOp::Replace { item: numbered("h1", "a", 2), if_match: Some(etag.clone()) },
        WriteOp::Replace { item: numbered("h1", "a", 3), if_match: Some(etag) },
    ];
    assert_eq!(refusal_of(subject.batch("h1", operations).await), (1, Rejection::PreconditionFailed));
    assert_eq!(subject.value("h1", "a").await.expect("an item")["number"], 1);
}

pub async fn moving_an_item_and_back_keeps_its_index_entries(subject: Subject) {
    subject.create(thing("h1", "a", "2026-01-01")).await;
    let operations = vec![
        WriteOp::Upsert(thing("h1", "a", "2026-01-02")),
        WriteOp::Upsert(thing("h1", "a", "2026-01-01")),
    ];
    subject.batch("h1", operations).await.expect("done");
    let page = subject.page("h1", onehop_store::Direction::OldestFirst, None, 10).await;
    assert_eq!(crate::contract::harness::ids(&page), ["a"]);
    let query = onehop_store::Query::Newest {
        container: crate::contract::harness::THINGS,
        item_type: "thing",
        after: None,
        limit: 10,
        order_by: None,
        direction: Direction::NewestFirst,
    };
    assert_eq!(crate::contract::harness::ids(&subject.query(&query).await), ["a"]);
}

pub async fn a_batch_is_whole_after_reopening(subject: Subject) {
    if !subject.can().reopen {
        return;
    }
    let creates = (0..50).map(|number| WriteOp::Create(numbered("h1", &format!("a{number:02}"), number)));
    subject.store.batch(batch("h1", creates.collect()), &subject.ledger).await.expect("done");
    let subject = subject.reopen().await;
    assert_eq!(subject.count("h1", "thing").await, 50);
}
