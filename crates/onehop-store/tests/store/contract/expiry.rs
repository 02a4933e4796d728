//! Items with a `ttl`: invisible at once when their time is over, and purged later.

use onehop_store::{Direction, NewItem, Query, Rejection, WriteOp};
use serde_json::json;

use crate::contract::harness::{Subject, THINGS, ids, item, numbered};

fn mortal(id: &str, ttl_s: u32) -> NewItem {
    item(&json!({"id": id, "home": "h1", "type": "thing", "date": id, "owner": "ada", "ttl": ttl_s}))
}

async fn assert_absent(subject: &Subject, id: &str) {
    assert!(subject.read("h1", id).await.is_none());
    assert!(!ids(&subject.page("h1", Direction::OldestFirst, None, 100).await).contains(&id.to_owned()));
    let newest = Query::Newest {
        container: THINGS,
        item_type: "thing",
        after: None,
        limit: 100,
        order_by: None,
        direction: Direction::NewestFirst,
    };
    assert!(!ids(&subject.query(&newest).await).contains(&id.to_owned()));
    let by_owner = Query::Equality {
        container: THINGS,
        path: "owner",
        value: "ada",
        item_type: "thing",
        direction: Direction::NewestFirst,
        after: None,
        limit: 100,
        order_by: None,
    };
    assert!(!ids(&subject.query(&by_owner).await).contains(&id.to_owned()));
    assert!(!subject.feed_from_beginning().await.iter().any(|change| change.id == id));
}

pub async fn an_item_is_invisible_at_once_when_its_time_is_over(subject: Subject) {
    if !subject.can().move_time {
        return;
    }
    subject.create(mortal("a", 10)).await;
    subject.create(mortal("b", 20)).await;
    subject.advance_ms(9_999).await;
    assert!(subject.read("h1", "a").await.is_some());
    assert_eq!(subject.count("h1", "thing").await, 2);
    subject.advance_ms(1).await;
    assert_absent(&subject, "a").await;
    assert_eq!(subject.count("h1", "thing").await, 1);
    assert!(subject.read("h1", "b").await.is_some());
}

pub async fn a_page_says_no_more_once_the_rest_has_expired(subject: Subject) {
    if !subject.can().move_time {
        return;
    }
    subject.create(mortal("c", 60)).await;
    subject.create(mortal("b", 10)).await;
    let first = || subject.page("h1", Direction::NewestFirst, None, 1);
    // Twice: the second may come from a cache.
    for _ in 0..2 {
        let page = first().await;
        assert_eq!((ids(&page), page.has_more), (vec!["c".to_owned()], true));
    }
    subject.advance_ms(10_000).await;
    let page = first().await;
    assert_eq!((ids(&page), page.has_more), (vec!["c".to_owned()], false));
}

pub async fn a_purge_takes_what_is_over_and_nothing_else(subject: Subject) {
    if !(subject.can().move_time && subject.can().purge) {
        return;
    }
    subject.create(numbered("h1", "forever", 1)).await;
    for (id, ttl_s) in [("a", 10), ("b", 20), ("c", 10)] {
        subject.create(mortal(id, ttl_s)).await;
    }
    assert_eq!(subject.purge_expired().await, 0);
    subject.advance_ms(10_000).await;
    assert_eq!(subject.purge_expired().await, 2);
    assert_eq!(subject.purge_expired().await, 0);
    for id in ["a", "c"] {
        assert_absent(&subject, id).await;
    }
    assert!(subject.read("h1", "b").await.is_some());
    assert!(subject.read("h1", "forever").await.is_some());
    assert_eq!(subject.feed_from_beginning().await.len(), 2);
}

pub async fn pages_and_counts_pass_over_what_is_over(subject: Subject) {
    if !subject.can().move_time {
        return;
    }
    for number in 0..10 {
        let id = format!("a{number}");
        if number % 2 == 0 {
            subject.create(mortal(&id, 10)).await;
        } else {
            subject.create(item(&json!({"id": id, "home": "h1", "type": "thing", "date": id}))).await;
        }
    }
    subject.advance_ms(10_000).await;
    assert_eq!(subject.count("h1", "thing").await, 5);
    let page = subject.page("h1", Direction::OldestFirst, None, 5).await;
    assert_eq!(
        (ids(&page), page.has_more),
        (["a1", "a3", "a5", "a7", "a9"].map(str::to_owned).to_vec(), false)
    );
}

pub async fn an_id_whose_time_is_over_is_free_again(subject: Subject) {
    if !subject.can().move_time {
        return;
    }
    let etag = subject.create(mortal("a", 10)).await;
    assert_eq!(subject.refusal("h1", WriteOp::Create(mortal("a", 10))).await, Rejection::Conflict);
    subject.advance_ms(10_000).await;
    let replace = WriteOp::Replace { item: mortal("a", 10), if_match: Some(etag.clone()) };
    assert_eq!(subject.refusal("h1", replace).await, Rejection::NotFound);
    let delete = WriteOp::Delete { id: "a".to_owned(), if_match: None };
    assert_eq!(subject.refusal("h1", delete).await, Rejection::NotFound);
    assert_ne!(subject.create(numbered("h1", "a", 7)).await, etag);
    assert_eq!(subject.value("h1", "a").await.expect("an item")["number"], 7);
    assert_eq!(subject.count("h1", "thing").await, 1);
    assert_eq!(subject.feed_from_beginning().await.len(), 1);
    if subject.can().purge {
        assert_eq!(subject.purge_expired().await, 0);
        assert!(subject.read("h1", "a").await.is_some());
    }
}

pub async fn a_rewrite_sets_extends_and_clears_the_time(subject: Subject) {
    if !subject.can().move_time {
        return;
    }
    subject.create(numbered("h1", "set", 1)).await;
    for id in ["extended", "cleared", "shortened"] {
        subject.create(mortal(id, 10)).await;
    }
    subject.advance_ms(5_000).await;
    subject.upsert(mortal("set", 5)).await;
    subject.upsert(mortal("extended", 10)).await;
    subject.upsert(numbered("h1", "cleared", 1)).await;
    subject.upsert(mortal("shortened", 1)).await;
    subject.advance_ms(1_000).await;
    assert_absent(&subject, "shortened").await;
    subject.advance_ms(4_000).await;
    assert_absent(&subject, "set").await;
    assert!(subject.read("h1", "extended").await.is_some());
    assert!(subject.read("h1", "cleared").await.is_some());
    if subject.can().purge {
        assert_eq!(subject.purge_expired().await, 2);
    }
    subject.advance_ms(5_000).await;
    assert_absent(&subject, "extended").await;
    assert!(subject.read("h1", "cleared").await.is_some());
}

pub async fn a_soft_deleted_item_leaves_the_feed_when_its_time_is_over(subject: Subject) {
    if !subject.can().move_time {
        return;
    }
    subject.create(numbered("h1", "a", 1)).await;
    let body = json!({"id": "a", "home": "h1", "type": "thing", "deleted": true, "ttl": 10});
    subject.upsert(item(&body)).await;
    assert_eq!(subject.feed_from_beginning().await.len(), 1);
    subject.advance_ms(10_000).await;
    assert_absent(&subject, "a").await;
    if subject.can().purge {
        assert_eq!(subject.purge_expired().await, 1);
    }
    assert!(subject.feed_from_beginning().await.is_empty());
}

pub async fn a_purge_races_with_rewrites_and_takes_none_of_them(subject: Subject) {
    if !(subject.can().move_time && subject.can().purge) {
        return;
    }
    for number in 0..40 {
        subject.create(mortal(&format!("a{number}"), 10)).await;
    }
    subject.advance_ms(10_000).await;
    let rewrites = futures::future::join_all((0..40).step_by(2).map(|number| {
        let subject = &subject;
        async move { subject.upsert(numbered("h1", &format!("a{number}"), number)).await }
    }));
    tokio::join!(rewrites, subject.purge_expired());
    assert_eq!(subject.count("h1", "thing").await, 20);
    for number in (0..40).step_by(2) {
        assert!(subject.read("h1", &format!("a{number}")).await.is_some());
    }
    assert_eq!(subject.feed_from_beginning().await.len(), 20);
    assert_eq!(subject.purge_expired().await, 0);
}

pub async fn time_goes_on_while_the_store_is_closed(subject: Subject) {
    if !(subject.can().move_time && subject.can().reopen) {
        return;
    }
    subject.create(mortal("a", 10)).await;
    subject.create(mortal("b", 30)).await;
    subject.advance_ms(10_000).await;
    let subject = subject.reopen().await;
    assert_absent(&subject, "a").await;
    assert!(subject.read("h1", "b").await.is_some());
    if subject.can().purge {
        assert_eq!(subject.purge_expired().await, 1);
    }
}
