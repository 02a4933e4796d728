//! If-Match and If-None-Match.

use onehop_store::{ETag, Rejection, WriteOp};

use crate::contract::harness::{Subject, numbered};

fn replace(number: u64, if_match: Option<ETag>) -> WriteOp {
    WriteOp::Replace { item: numbered("h1", "a", number), if_match }
}

fn delete(if_match: Option<ETag>) -> WriteOp {
    WriteOp::Delete { id: "a".to_owned(), if_match }
}

pub async fn a_replace_needs_an_item(subject: Subject) {
    assert_eq!(subject.refusal("h1", replace(1, None)).await, Rejection::NotFound);
    let etag = subject.create(numbered("h1", "other", 1)).await;
    assert_eq!(subject.refusal("h1", replace(1, Some(etag))).await, Rejection::NotFound);
    assert!(subject.read("h1", "a").await.is_none());
}

pub async fn a_replace_without_an_etag_takes_any_version(subject: Subject) {
    subject.create(numbered("h1", "a", 1)).await;
    subject.write("h1", replace(2, None)).await.expect("replaced");
    assert_eq!(subject.value("h1", "a").await.expect("an item")["number"], 2);
}

pub async fn a_replace_with_an_old_etag_is_refused(subject: Subject) {
    let first = subject.create(numbered("h1", "a", 1)).await;
    let second =
        subject.write("h1", replace(2, Some(first.clone()))).await.expect("replaced").expect("an ETag");
    assert_eq!(subject.refusal("h1", replace(3, Some(first))).await, Rejection::PreconditionFailed);
    assert_eq!(subject.value("h1", "a").await.expect("an item")["number"], 2);
    assert_eq!(subject.read("h1", "a").await.expect("an item").etag, second);
}

pub async fn a_delete_needs_an_item_and_its_etag(subject: Subject) {
    assert_eq!(subject.refusal("h1", delete(None)).await, Rejection::NotFound);
    let first = subject.create(numbered("h1", "a", 1)).await;
    let second = subject.upsert(numbered("h1", "a", 2)).await;
    assert_eq!(subject.refusal("h1", delete(Some(first))).await, Rejection::PreconditionFailed);
    assert!(subject.read("h1", "a").await.is_some());
    subject.write("h1", delete(Some(second))).await.expect("deleted");
    assert_eq!(subject.refusal("h1", delete(None)).await, Rejection::NotFound);
}

pub async fn the_etag_of_a_deleted_item_does_not_match_its_successor(subject: Subject) {
    let etag = subject.create(numbered("h1", "a", 1)).await;
    subject.delete("h1", "a").await;
    subject.create(numbered("h1", "a", 1)).await;
    assert_eq!(subject.refusal("h1", replace(2, Some(etag))).await, Rejection::PreconditionFailed);
}

pub async fn an_etag_of_another_store_matches_nothing(subject: Subject) {
    subject.create(numbered("h1", "a", 1)).await;
    let foreign = ETag::from_text("\"00000000-0000-0000-0000-000000000000\"");
    assert_eq!(subject.refusal("h1", replace(2, Some(foreign.clone()))).await, Rejection::PreconditionFailed);
    assert_eq!(subject.refusal("h1", delete(Some(foreign))).await, Rejection::PreconditionFailed);
}

pub async fn an_etag_that_was_read_works_for_the_next_write(subject: Subject) {
    subject.create(numbered("h1", "a", 1)).await;
    for number in 2..6 {
        let etag = subject.read("h1", "a").await.expect("an item").etag;
        subject.write("h1", replace(number, Some(etag))).await.expect("replaced");
    }
    assert_eq!(subject.value("h1", "a").await.expect("an item")["number"], 5);
}
