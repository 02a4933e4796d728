//! The tail: everything that is written from now on, in order within a logical partition, through splits and
//! faults.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::FutureExt;
use onehop_change_feed::{
    Backoff, CreatedTail, CreatedTailSettings, PositionError, Tail, TailPosition, TailSettings, TailSource,
};
use onehop_store::{Change, ContainerName, FaultKind, Ledger, NewItem, Store, WriteOp};
use serde_json::{Value, json};

use crate::toy::{THINGS, Thing, World};

const SOURCE: TailSource = TailSource { container: THINGS, types: None };

fn polling() -> TailSettings {
    TailSettings {
        poll: Some(Duration::from_millis(1)),
        split_look: Duration::ZERO,
        page_items_max: 5,
        fault_backoff: Backoff::NONE,
        ..TailSettings::default()
    }
}

async fn tail(world: &World, settings: TailSettings) -> Tail {
    Tail::open(world.store.clone(), SOURCE, settings, &Ledger::new()).await.expect("the tail opens")
}

fn numbers(changes: &[Change]) -> Vec<u64> {
    changes.iter().map(|change| change.item.decode::<Thing>().expect("a thing").number).collect()
}

/// The numbers of this many changes, which come in the order of their writes in each home.
async fn hear(tail: &mut Tail, count: usize) -> Vec<u64> {
    let mut latest: BTreeMap<String, u64> = BTreeMap::new();
    let mut heard = Vec::new();
    while heard.len() < count {
        for change in tail.next().await {
            let thing: Thing = change.item.decode().expect("a thing");
            let before = latest.insert(thing.home, thing.number);
            assert!(before.is_none_or(|before| before < thing.number), "{before:?} before {}", thing.number);
            heard.push(thing.number);
        }
    }
    heard.sort_unstable();
    heard
}

#[tokio::test]
async fn a_tail_tells_what_is_written_from_now_on() {
    let world = World::new(4);
    world.put_many(1).await;
    let mut tail = tail(&world, TailSettings::default()).await;
    world.put_many(3).await;
    assert_eq!(hear(&mut tail, 36).await, (13..=48).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_write_wakes_a_tail_that_waits() {
    let world = World::new(2);
    let mut tail = tail(&world, TailSettings::default()).await;
    assert!(tail.next().now_or_never().is_none());
    let (changes, ()) = tokio::join!(tail.next(), world.put(1, 1));
    assert_eq!(numbers(&changes), [1]);
}

#[tokio::test]
async fn without_a_signal_a_tail_polls() {
    let world = World::new(2);
    world.store.keep_silent();
    let mut tail = tail(&world, polling()).await;
    for number in 1..=3 {
        world.put(number, 1).await;
        assert_eq!(numbers(&tail.next().await), [number]);
    }
}

#[tokio::test]
async fn a_tail_goes_on_in_the_parts_of_a_split_and_through_merges() {
    let world = World::new(1);
    let mut tail = tail(&world, polling()).await;
    world.put_many(1).await;
    hear(&mut tail, 12).await;
    for act in 0..9_u8 {
        let place = usize::from(act);
        if act < 5 {
            world.store.split(place)
        } else {
            world.store.merge(place)
        }
        world.put_many(1).await;
        let first = 13 + 12 * u64::from(act);
        assert_eq!(hear(&mut tail, 12).await, (first..first + 12).collect::<Vec<_>>());
        if act < 5 {
            let mut ranges: Vec<_> = tail.ranges().cloned().collect();
            ranges.sort();
            assert_eq!(ranges, world.store.feed_ranges(THINGS).await.expect("ranges"));
        }
    }
}

#[tokio::test]
async fn faults_are_tried_again_and_lose_nothing() {
    let world = World::new(2);
    let mut tail = tail(&world, polling()).await;
    for kind in [FaultKind::Unavailable, FaultKind::Throttled, FaultKind::Internal] {
        world.store.fail_feed_pages(&[kind; 5]);
        world.put_many(1).await;
        hear(&mut tail, 12).await;
    }
}

#[tokio::test]
async fn a_position_that_the_store_forgot_is_now() {
    let world = World::new(1);
    let mut tail = tail(&world, polling()).await;
    world.put(1, 1).await;
    world.store.fail_feed_pages(&[FaultKind::InvalidContinuation]);
    let writes = async {
        loop {
            world.put(2, 2).await;
        }
    };
    let told = tokio::select! {
        told = tail.next() => numbers(&told),
        () = writes => unreachable!("it has no end"),
    };
    assert!(!told.contains(&1), "what was written before is passed over: {told:?}");
}

#[tokio::test]
async fn a_wait_that_is_dropped_loses_no_change() {
    let world = World::new(1);
    let settings = TailSettings { gather: Duration::from_secs(3600), ..TailSettings::default() };
    let mut tail = tail(&world, settings).await;
    assert!(tail.next().now_or_never().is_none());
    world.put(1, 1).await;
    assert!(tail.next().now_or_never().is_none(), "it gathers");
    assert_eq!(numbers(&tail.next().await), [1]);
}

async fn tail_after(world: &World, position: &str, source: TailSource) -> Result<Tail, PositionError> {
    let position = TailPosition::parse(position).expect("a position");
    Tail::open_after(&position, world.store.clone(), source, polling(), &Ledger::new()).await
}

#[tokio::test]
async fn a_tail_goes_on_at_the_position_of_an_earlier_one() {
    let world = World::new(2);
    let mut first = tail(&world, polling()).await;
    world.put_many(1).await;
    hear(&mut first, 12).await;
    let position = first.position().encode();
    drop(first);

    // Between the two, ranges are split, and merged again. A feed has the latest version of an item alone.
    world.put_many(2).await;
    world.store.split(0);
    world.store.split(1);
    world.put_many(1).await;
    world.store.merge(0);
    let mut second = tail_after(&world, &position, SOURCE).await.expect("the tail opens");
    assert_eq!(second.position().encode(), position, "nothing was returned yet");
    assert_eq!(hear(&mut second, 24).await, (25..=48).collect::<Vec<_>>());

    // Its own position is behind all that it returned.
    let position = second.position().encode();
    world.put(49, 1).await;
    let mut third = tail_after(&world, &position, SOURCE).await.expect("the tail opens");
    assert_eq!(hear(&mut third, 1).await, [49]);
}

#[tokio::test]
async fn a_position_that_does_not_fit_is_refused() {
    let world = World::new(1);
    let mut tail = tail(&world, polling()).await;
    world.put(1, 1).await;
    hear(&mut tail, 1).await;
    let position = tail.position().encode();

    let other = TailSource { container: ContainerName("others"), ..SOURCE };
    let refused = tail_after(&world, &position, other).await.err();
    assert!(refused.is_some(), "the position is of another container");
    world.store.fail_feed_pages(&[FaultKind::InvalidContinuation]);
    let refused = tail_after(&world, &position, SOURCE).await.err();
    assert!(matches!(refused, Some(PositionError::Invalid(_))), "{refused:?}");
    assert!(TailPosition::parse("{}").is_err());
}

/// An item with its version.
async fn write(world: &World, id: &str, version: u64, more: Value) {
    let mut item = json!({ "id": id, "home": "home-1", "type": "thing", "version": version });
    item.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
    let write = WriteOp::Upsert(NewItem::encode(id, &item));
    world.store.write(THINGS, &"home-1".into(), write, &Ledger::new()).await.expect("a write");
}

#[tokio::test]
async fn a_tail_of_created_items_leaves_out_the_rest() {
    let world = World::new(2);
    let (now, before) = (world.clock_text(), "2020-01-01T00:00:00.000Z");
    write(&world, "old", 1, json!({ "createdAt": before })).await;
    let settings = CreatedTailSettings { tail: polling(), ..CreatedTailSettings::dated_by("createdAt") };
    let ledger = Ledger::new();
    let opened = CreatedTail::open(world.store.clone(), SOURCE, settings, &*world.clock, &ledger);
    let mut tail = opened.await.expect("the tail opens");
    assert!(ledger.total().0 > 0.0);

    write(&world, "old", 2, json!({ "createdAt": before })).await;
    write(&world, "deleted", 2, json!({ "createdAt": now, "deleted": true, "ttl": 60 })).await;
    write(&world, "unversioned", 0, json!({ "createdAt": before })).await;
    write(&world, "changed", 3, json!({ "createdAt": now })).await;
    assert_eq!(ids(tail.next().await), ["changed"]);
    write(&world, "changed", 4, json!({ "createdAt": now })).await;
    world.store.split(0);
    world.store.fail_feed_pages(&[FaultKind::Unavailable]);
    write(&world, "undated", 1, json!({})).await;
    assert_eq!(ids(tail.next().await), ["undated"]);
}

fn ids(changes: Vec<Change>) -> Vec<String> {
    changes.into_iter().map(|change| change.id).collect()
}
