//! The change feed: latest versions, in order within a logical partition, at least once.

use std::collections::HashMap;

use onehop_store::{Change, Continuation, FeedRange, FeedRequest, SignalScope, WriteOp};
use serde_json::json;

use crate::contract::harness::{START_MS, Subject, THINGS, item, numbered, seen};

fn pairs(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    expected.iter().map(|(id, number)| ((*id).to_owned(), *number)).collect()
}

pub async fn changes_of_a_logical_partition_are_in_write_order(subject: Subject) {
    for number in 0..30 {
        subject.create(numbered(&format!("h{}", number % 5), &format!("a{number}"), number)).await;
    }
    let mut last: HashMap<String, u64> = HashMap::new();
    let changes = subject.feed_from_beginning().await;
    assert_eq!(changes.len(), 30);
    for (change, (_, number)) in changes.iter().zip(seen(&changes)) {
        let before = last.insert(change.partition_key.as_str().to_owned(), number);
        assert!(before.is_none_or(|before| before < number));
    }
}

pub async fn the_operations_of_a_batch_come_in_their_order(subject: Subject) {
    let ids = ["d", "a", "c", "b"];
    let operations = ids.iter().zip(0..).map(|(id, number)| WriteOp::Create(numbered("h1", id, number)));
    subject.batch("h1", operations.collect()).await.expect("done");
    let changes = seen(&subject.feed_from_beginning().await);
    let mut expected = pairs(&[("d", 0), ("a", 1), ("c", 2), ("b", 3)]);
    if !subject.can().orders_batches {
        let mut told = changes.clone();
        told.sort();
        expected.sort();
        assert_eq!(told, expected);
        return;
    }
    assert_eq!(changes, expected);
}

pub async fn the_change_feed_has_the_latest_version_of_each_item(subject: Subject) {
    for number in 0..5 {
        for id in ["a", "b", "c"] {
            subject.upsert(numbered("h1", id, number)).await;
        }
    }
    subject.upsert(numbered("h1", "a", 9)).await;
    assert_eq!(seen(&subject.feed_from_beginning().await), pairs(&[("b", 4), ("c", 4), ("a", 9)]));
}

pub async fn a_reader_goes_on_where_it_stood(subject: Subject) {
    for number in 0..10 {
        subject.create(numbered("h1", &format!("a{number}"), number)).await;
    }
    let range = subject.range_of("h1").await;
    let mut continuation: Option<Continuation> = None;
    let mut numbers = Vec::new();
    for expected in [3, 3, 3, 1, 0] {
        let page = subject.feed_page(&range, continuation.as_ref(), 3).await;
        assert_eq!(page.changes.len(), expected);
        numbers.extend(seen(&page.changes).into_iter().map(|(_, number)| number));
        continuation = Some(page.continuation);
    }
    assert_eq!(numbers, (0..10).collect::<Vec<_>>());
    subject.upsert(numbered("h1", "a3", 33)).await;
    let page = subject.feed_page(&range, continuation.as_ref(), 3).await;
    assert_eq!(seen(&page.changes), pairs(&[("a3", 33)]));
    assert_eq!(page.drained, subject.can().drained_pages.says_so(1, 3));
}

pub async fn a_reader_that_starts_at_the_end_sees_later_writes(subject: Subject) {
    let ranges = subject.ranges().await;
    let ends = async || {
        let mut ends = Vec::new();
        for range in &ranges {
            let end = subject.store.change_feed_end(THINGS, range, &subject.ledger).await.expect("an end");
            ends.push((range.clone(), end));
        }
        ends
    };
    let after = async |ends: &[(FeedRange, Continuation)]| {
        let mut changes = Vec::new();
        for (range, end) in ends {
            changes.extend(subject.drain(range, Some(end.clone()), None, 3).await.0);
        }
        let mut changes = seen(&changes);
        changes.sort();
        changes
    };
    let empty = ends().await;
    for home in 0..8 {
        subject.create(numbered(&format!("h{home}"), &format!("a{home}"), home)).await;
    }
    assert_eq!(after(&empty).await.len(), 8, "an empty feed has an end, too");
    let full = ends().await;
    assert_eq!(after(&full).await, pairs(&[]));
    subject.upsert(numbered("h3", "a3", 33)).await;
    subject.create(numbered("h5", "b", 5)).await;
    assert_eq!(after(&full).await, pairs(&[("a3", 33), ("b", 5)]));
}

pub async fn a_reader_that_starts_at_a_time_misses_nothing_later(subject: Subject) {
    let ranges = subject.ranges().await;
    let since = async |since_ms: i64| {
        let mut changes = Vec::new();
        for range in &ranges {
            let store = &subject.store;
            let start = store.change_feed_since(THINGS, range, since_ms, &subject.ledger).await;
            let start = start.expect("a start");
            changes.extend(subject.drain(range, Some(start), None, 3).await.0);
        }
        let mut changes = seen(&changes);
        changes.sort();
        changes
    };
    assert_eq!(since(START_MS).await, pairs(&[]), "an empty feed has a start, too");
    for home in 0..8 {
        subject.create(numbered(&format!("h{home}"), &format!("a{home}"), home)).await;
    }
    assert_eq!(since(START_MS).await.len(), 8, "what was written at the time is included");
    if !subject.can().move_time {
        return;
    }
    if subject.can().exact_times {
        assert_eq!(since(START_MS + 1).await, pairs(&[]));
    }
    subject.advance_ms(10_000).await;
    subject.upsert(numbered("h3", "a3", 33)).await;
    subject.advance_ms(10_000).await;
    subject.create(numbered("h5", "b", 5)).await;
    assert_eq!(since(START_MS + 10_000).await, pairs(&[("a3", 33), ("b", 5)]));
    if subject.can().exact_times {
        assert_eq!(since(START_MS + 10_001).await, pairs(&[("b", 5)]));
    }
    assert_eq!(since(START_MS + 12_000).await, pairs(&[("b", 5)]), "earlier changes are left out");
}

pub async fn drained_says_whether_there_was_more(subject: Subject) {
    for number in 0..6 {
        subject.create(numbered("h1", &format!("a{number}"), number)).await;
    }
    let range = subject.range_of("h1").await;
    for limit in [5, 6, 7] {
        let page = subject.feed_page(&range, None, limit).await;
        let says_so = subject.can().drained_pages.says_so(6, limit);
        assert_eq!(page.drained, limit >= 6 && says_so, "pages of {limit}");
    }
    let (_, end) = subject.drain(&range, None, None, 3).await;
    let page = subject.feed_page(&range, Some(&end), 3).await;
    assert!(page.changes.is_empty() && page.drained);
}

pub async fn a_change_behind_the_reader_comes_again_with_its_new_version(subject: Subject) {
    for id in ["a", "b", "c", "d"] {
        subject.create(numbered("h1", id, 1)).await;
    }
    let range = subject.range_of("h1").await;
    let page = subject.feed_page(&range, None, 2).await;
    assert_eq!(seen(&page.changes), pairs(&[("a", 1), ("b", 1)]));
    subject.upsert(numbered("h1", "a", 2)).await;
    subject.upsert(numbered("h1", "c", 2)).await;
    let (changes, _) = subject.drain(&range, Some(page.continuation), None, 2).await;
    assert_eq!(seen(&changes), pairs(&[("d", 1), ("a", 2), ("c", 2)]));
}

pub async fn a_page_passes_no_item_that_comes_after_it(subject: Subject) {
    subject.create(numbered("h1", "a", 1)).await;
    let end = subject.store.local_feed_end(THINGS).expect("an end");
    let end = end.or_else(|| subject.ledger.write_end(THINGS, &"h1".into())).expect("the end of a write");
    subject.create(numbered("h1", "b", 1)).await;
    subject.upsert(numbered("h1", "a", 2)).await;
    let range = subject.range_of("h1").await;
    let page = subject.feed_page(&range, None, 1).await;
    assert_eq!(seen(&page.changes), pairs(&[("b", 1)]));
    assert!(!page.passed.is_some_and(|at| subject.store.is_past(&at, &end)), "a is still to come");
    let mut page = subject.feed_page(&range, Some(&page.continuation), 3).await;
    assert_eq!(seen(&page.changes), pairs(&[("a", 2)]));
    while !page.drained {
        page = subject.feed_page(&range, Some(&page.continuation), 3).await;
    }
    assert!(page.passed.is_some_and(|at| subject.store.is_past(&at, &end)));
}

pub async fn the_feed_is_filtered_by_types_and_still_moves_on(subject: Subject) {
    for number in 0..12 {
        let item_type = ["thing", "other", "third"][number % 3];
        let mut body = json!({"id": format!("a{number:02}"), "home": "h1", "type": item_type});
        body["deleted"] = (number == 6).into();
        subject.create(item(&body)).await;
    }
    let range = subject.range_of("h1").await;
    for (types, expected) in [(vec!["thing"], 4), (vec!["thing", "third"], 8), (vec!["none"], 0), (vec![], 0)]
    {
        for limit in [1, 3, 100] {
            let (changes, end) = subject.drain(&range, None, Some(&types), limit).await;
            assert_eq!(changes.len(), expected, "{types:?}");
            let (behind, _) = subject.drain(&range, Some(end), None, limit).await;
            assert!(behind.is_empty(), "a drained reader has passed over the other types");
        }
    }
}

pub async fn every_logical_partition_is_in_exactly_one_range(subject: Subject) {
    for number in 0..40 {
        subject.create(numbered(&format!("h{number}"), "a", number)).await;
    }
    let ranges = subject.ranges().await;
    assert_eq!(ranges.len(), subject.store.physical_partitions(THINGS) as usize);
    let mut homes = Vec::new();
    for range in &ranges {
        let (changes, _) = subject.drain(range, None, None, 100).await;
        homes.extend(changes.into_iter().map(|change: Change| change.partition_key.as_str().to_owned()));
    }
    homes.sort();
    homes.dedup();
    assert_eq!(homes.len(), 40);
    assert_eq!(subject.feed_from_beginning().await.len(), 40);
}

pub async fn a_hard_deleted_item_is_not_in_the_feed(subject: Subject) {
    for id in ["a", "b", "c"] {
        subject.create(numbered("h1", id, 1)).await;
    }
    subject.delete("h1", "b").await;
    assert_eq!(seen(&subject.feed_from_beginning().await), pairs(&[("a", 1), ("c", 1)]));
}

pub async fn a_continuation_outlives_the_item_it_stands_at(subject: Subject) {
    subject.create(numbered("h1", "a", 1)).await;
    subject.create(numbered("h1", "newest", 2)).await;
    let range = subject.range_of("h1").await;
    let (_, end) = subject.drain(&range, None, None, 10).await;
    subject.delete("h1", "newest").await;
    let subject = if subject.can().reopen { subject.reopen().await } else { subject };
    assert!(subject.feed_page(&range, Some(&end), 10).await.changes.is_empty());
    subject.create(numbered("h1", "b", 3)).await;
    let page = subject.feed_page(&range, Some(&end), 10).await;
    assert_eq!(seen(&page.changes), pairs(&[("b", 3)]));
}

pub async fn a_continuation_outlives_an_emptied_container(subject: Subject) {
    subject.create(numbered("h1", "a", 1)).await;
    let range = subject.range_of("h1").await;
    let (_, end) = subject.drain(&range, None, None, 10).await;
    subject.delete("h1", "a").await;
    for number in 0..3 {
        subject.create(numbered("h1", "b", number)).await;
        subject.delete("h1", "b").await;
    }
    let subject = if subject.can().reopen { subject.reopen().await } else { subject };
    let subject = if subject.can().reopen { subject.reopen().await } else { subject };
    subject.create(numbered("h1", "a", 4)).await;
    let page = subject.feed_page(&range, Some(&end), 10).await;
    assert_eq!(seen(&page.changes), pairs(&[("a", 4)]));
}

pub async fn refused_batches_before_reopening_hide_no_later_change(subject: Subject) {
    subject.create(numbered("h1", "a", 1)).await;
    let range = subject.range_of("h1").await;
    let (_, end) = subject.drain(&range, None, None, 10).await;
    for _ in 0..5 {
        let operations =
            vec![WriteOp::Create(numbered("h1", "b", 1)), WriteOp::Create(numbered("h1", "a", 1))];
        subject.batch("h1", operations).await.expect_err("refused");
    }
    let subject = if subject.can().reopen { subject.reopen().await } else { subject };
    let etag = subject.create(numbered("h1", "c", 2)).await;
    let page = subject.feed_page(&range, Some(&end), 10).await;
    assert_eq!(seen(&page.changes), pairs(&[("c", 2)]));
    assert_eq!(page.changes[0].item.etag, etag);
}

pub async fn a_reader_resumes_after_reopening(subject: Subject) {
    if !subject.can().reopen {
        return;
    }
    for number in 0..10 {
        subject.create(numbered("h1", &format!("a{number}"), number)).await;
    }
    let range = subject.range_of("h1").await;
    let page = subject.feed_page(&range, None, 4).await;
    let written = serde_json::to_string(&(&range, &page.continuation)).expect("JSON");
    let subject = subject.reopen().await;
    subject.create(numbered("h1", "b", 10)).await;
    let (range, continuation) = serde_json::from_str(&written).expect("JSON");
    let (changes, _) = subject.drain(&range, Some(continuation), None, 4).await;
    let numbers: Vec<_> = seen(&changes).into_iter().map(|(_, number)| number).collect();
    assert_eq!(numbers, (4..=10).collect::<Vec<_>>());
}

pub async fn without_its_continuation_a_reader_sees_changes_again(subject: Subject) {
    for number in 0..6 {
        subject.create(numbered("h1", &format!("a{number}"), number)).await;
    }
    let range = subject.range_of("h1").await;
    let checkpoint = subject.feed_page(&range, None, 2).await.continuation;
    let (lost, _) = subject.drain(&range, Some(checkpoint.clone()), None, 2).await;
    let subject = if subject.can().reopen { subject.reopen().await } else { subject };
    let (again, _) = subject.drain(&range, Some(checkpoint), None, 3).await;
    assert_eq!(seen(&again), seen(&lost));
    assert_eq!(again.len(), 4);
}

pub async fn pending_changes_are_counted_from_a_continuation(subject: Subject) {
    subject.create(numbered("h1", "a0", 0)).await;
    let range = subject.range_of("h1").await;
    let start = subject.feed_page(&range, None, 1).await.continuation;
    let pending = async |continuation: Option<&Continuation>, types: Option<&[&str]>, at_most| {
        let request = FeedRequest { container: THINGS, range: &range, continuation, types, limit: 1 };
        subject.store.pending_changes(&request, at_most, &subject.ledger).await.expect("a count")
    };
    assert_eq!(pending(Some(&start), None, 10).await, (0, None));
    for number in 1..=4 {
        if subject.can().move_time {
            subject.advance_ms(1000).await;
        }
        subject.create(numbered("h1", &format!("a{number}"), number)).await;
    }
    subject.create(item(&json!({"id": "other", "home": "h1", "type": "other"}))).await;
    let oldest = Some(subject.read("h1", "a1").await.expect("an item").timestamp_ms);
    assert_eq!(pending(Some(&start), None, 10).await, (5, oldest));
    assert_eq!(pending(Some(&start), None, 2).await, (2, oldest));
    assert_eq!(pending(Some(&start), Some(&["thing"]), 10).await, (4, oldest));
    assert_eq!(pending(Some(&start), Some(&["other"]), 10).await.0, 1);
    assert_eq!(pending(None, None, 10).await.0, 6);
    let (_, end) = subject.drain(&range, None, None, 10).await;
    assert_eq!(pending(Some(&end), None, 10).await, (0, None));
}

pub async fn a_write_wakes_waiters_of_its_container(subject: Subject) {
    if !subject.can().signal {
        return;
    }
    let mut things = subject.store.change_signal(&SignalScope::of(THINGS)).expect("a signal");
    let mut plain =
        subject.store.change_signal(&SignalScope::of(crate::contract::harness::PLAIN)).expect("a signal");
    things.borrow_and_update();
    plain.borrow_and_update();
    subject.create(numbered("h1", "a", 1)).await;
    things.changed().await.expect("the store is open");
    things.borrow_and_update();
    assert!(!plain.has_changed().expect("the store is open"), "another container was written to");
    subject.refusal("h1", WriteOp::Create(numbered("h1", "a", 1))).await;
    assert!(!things.has_changed().expect("the store is open"), "a refused write is no change");
    let range = subject.range_of("h1").await;
    assert_eq!(subject.feed_page(&range, None, 10).await.changes.len(), 1, "the change is there by then");
}
