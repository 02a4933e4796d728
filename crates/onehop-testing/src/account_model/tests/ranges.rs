//! Splits and merges of physical partitions.

use std::collections::BTreeSet;

use onehop_store::{Continuation, FeedRange, Ledger, Store, WriteOp};

use super::clients::{THINGS, World, drain, end_of, number, page, ranges, upsert};
use crate::account_model::ModelConsistency;

const HOMES: u64 = 24;

async fn write_to_all(store: &dyn Store, name: &str) {
    for home in 0..HOMES {
        upsert(store, &format!("h{home}"), &format!("{name}{home}"), home).await;
    }
}

/// Each id once, in any order.
fn each_once(mut ids: Vec<String>, name: &str) {
    ids.sort();
    let mut expected: Vec<_> = (0..HOMES).map(|home| format!("{name}{home}")).collect();
    expected.sort();
    assert_eq!(ids, expected);
}

async fn drain_all(
    store: &dyn Store,
    ranges: &[FeedRange],
    continuation: Option<&Continuation>,
) -> (Vec<String>, Vec<Continuation>) {
    let (mut ids, mut ends) = (Vec::new(), Vec::new());
    for range in ranges {
        let (more, page) = drain(store, range, continuation.cloned(), 3).await;
        ids.extend(more);
        ends.push(page.continuation);
    }
    (ids, ends)
}

#[tokio::test]
async fn a_continuation_of_the_whole_serves_its_parts() {
    let world = World::new(1);
    let store = world.account.store(ModelConsistency::Session);
    let whole = ranges(&*store).await;
    write_to_all(&*store, "a").await;
    let (_, ends) = drain_all(&*store, &whole, None).await;
    write_to_all(&*store, "b").await;
    assert!(world.account.split(THINGS, 0));
    write_to_all(&*store, "c").await;
    let parts = ranges(&*store).await;
    assert_eq!(store.parts_of(&whole[0], &parts), Some(parts.clone()));
    let (ids, _) = drain_all(&*store, &parts, Some(&ends[0])).await;
    let (b, c): (Vec<_>, Vec<_>) = ids.into_iter().partition(|id| id.starts_with('b'));
    each_once(b, "b");
    each_once(c, "c");
    assert_eq!(store.physical_partitions(THINGS), 2);
}

#[tokio::test]
async fn the_whole_stays_readable_after_a_split() {
    let world = World::new(1);
    let store = world.account.store(ModelConsistency::Session);
    let whole = ranges(&*store).await;
    write_to_all(&*store, "a").await;
    let (_, ends) = drain_all(&*store, &whole, None).await;
    world.account.split(THINGS, 0);
    write_to_all(&*store, "b").await;
    let (ids, ends) = drain_all(&*store, &whole, Some(&ends[0])).await;
    each_once(ids, "b");
    write_to_all(&*store, "c").await;
    let (ids, _) = drain_all(&*store, &whole, Some(&ends[0])).await;
    each_once(ids, "c");
}

#[tokio::test]
async fn merged_ranges_stay_readable_and_miss_nothing() {
    let world = World::new(2);
    let store = world.account.store(ModelConsistency::Session);
    let halves = ranges(&*store).await;
    write_to_all(&*store, "a").await;
    let mut ends = Vec::new();
    for half in &halves {
        ends.push(page(&*store, half, None, 4).await);
    }
    let read: BTreeSet<_> =
        ends.iter().flat_map(|page| &page.changes).map(|change| change.id.clone()).collect();
    assert!(world.account.merge(THINGS, 0));
    write_to_all(&*store, "b").await;
    let mut ids = read;
    for (half, end) in halves.iter().zip(&ends) {
        ids.extend(drain(&*store, half, Some(end.continuation.clone()), 3).await.0);
    }
    assert_eq!(ids.len() as u64, 2 * HOMES);
    let merged = ranges(&*store).await;
    assert_eq!((merged.len(), store.parts_of(&halves[0], &merged)), (1, None));
    let (ids, _) = drain_all(&*store, &merged, None).await;
    assert_eq!(ids.len() as u64, 2 * HOMES, "each change once");
}

#[tokio::test]
async fn two_parts_of_one_partition_are_both_read() {
    let world = World::new(1);
    let store = world.account.store(ModelConsistency::Session);
    let whole = ranges(&*store).await;
    world.account.split(THINGS, 0);
    write_to_all(&*store, "a").await;
    let (_, ends) = drain_all(&*store, &whole, None).await;
    world.account.merge(THINGS, 0);
    for home in 0..HOMES {
        let name = format!("h{home}");
        upsert(&*store, &name, "again", home).await;
        let page = page(&*store, &whole[0], Some(&ends[0]), 100).await;
        assert_eq!((page.changes.is_empty(), page.drained), (false, false), "{name}");
        store.write(THINGS, &name.as_str().into(), delete("again"), &Ledger::new()).await.expect("deleted");
    }
}

fn delete(id: &str) -> WriteOp {
    WriteOp::Delete { id: id.to_owned(), if_match: None }
}

#[tokio::test]
async fn a_continuation_of_a_part_serves_the_whole() {
    for part in [0, 1] {
        let world = World::new(2);
        let store = world.account.store(ModelConsistency::Session);
        let halves = ranges(&*store).await;
        write_to_all(&*store, "a").await;
        let (of_part, end) = drain(&*store, &halves[part], None, 3).await;
        world.account.merge(THINGS, 0);
        let whole = ranges(&*store).await.remove(0);
        let (mut ids, _) = drain(&*store, &whole, Some(end.continuation), 3).await;
        ids.extend(of_part);
        each_once(ids, "a");
    }
}

#[tokio::test]
async fn a_reader_of_a_split_range_has_passed_nothing_yet() {
    let world = World::new(1);
    let store = world.account.store(ModelConsistency::Session);
    let whole = ranges(&*store).await.remove(0);
    let end = end_of(&upsert(&*store, "h", "a", 1).await, "h").expect("an end");
    let (_, before) = drain(&*store, &whole, None, 10).await;
    assert!(store.is_past(&before.passed.expect("a number"), &end));
    world.account.split(THINGS, 0);
    let (_, after) = drain(&*store, &whole, None, 10).await;
    assert!(after.passed.is_none(), "of several physical partitions");
    let later = end_of(&upsert(&*store, "h", "b", 1).await, "h").expect("an end");
    for part in ranges(&*store).await {
        let (_, page) = drain(&*store, &part, None, 10).await;
        let passed = page.passed.expect("a number");
        assert!(!store.is_past(&passed, &end), "numbers of different partitions are not compared");
        assert_eq!(store.is_past(&passed, &later), store.holds(&part, &later));
    }
}

#[tokio::test]
async fn random_splits_and_merges_lose_no_change() {
    let world = World::new(2);
    let store = world.account.store(ModelConsistency::Session);
    let mut readers: Vec<(FeedRange, Option<Continuation>)> =
        ranges(&*store).await.into_iter().map(|range| (range, None)).collect();
    let mut seen = BTreeSet::new();
    for round in 0..60_u64 {
        let home = format!("h{}", round % HOMES);
        upsert(&*store, &home, &format!("r{round}"), round).await;
        let partitions = world.account.physical_partitions(THINGS);
        let place = usize::try_from(round * 7).expect("a small number") % partitions;
        let is_reshaped = match round % 3 {
            0 if partitions < 6 => world.account.split(THINGS, place),
            1 => world.account.merge(THINGS, place),
            _ => false,
        };
        assert!(is_reshaped || round % 3 != 0 || partitions >= 6);
        for (range, continuation) in &mut readers {
            let page = page(&*store, range, continuation.as_ref(), 1).await;
            seen.extend(page.changes.into_iter().map(|change| change.id));
            *continuation = Some(page.continuation);
        }
    }
    for (range, continuation) in readers {
        seen.extend(drain(&*store, &range, continuation, 5).await.0);
    }
    assert_eq!(seen.len(), 60);
    assert!(world.count("splits") > 5 && world.count("merges") > 5, "{:?}", world.account.counts());
    assert_eq!(number(&*store, "h1", "r1").await, Some(1));
}

#[tokio::test]
async fn a_place_without_a_partition_changes_nothing() {
    let world = World::new(1);
    assert!(!world.account.split(THINGS, 1));
    assert!(!world.account.merge(THINGS, 0));
    assert!(!world.account.merge(THINGS, usize::MAX));
    assert_eq!(world.account.physical_partitions(THINGS), 1);
}
