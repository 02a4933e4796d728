//! Dead letters of items that expire before the replay: their bodies are kept at any length, and no item
//! counts as projected without its body.

use std::collections::BTreeMap;

use onehop_change_feed::Processor;
use onehop_store::{Ledger, NewItem, Store, WriteOp, limits};
use serde_json::json;

use crate::toy::{COPIES, THINGS, Thing, World, shared};

/// A thing with a time to live, whose body has this many bytes.
fn expiring(number: u64, bytes: usize) -> serde_json::Value {
    let mut thing = json!({
        "id": "thing-2", "home": "home-1", "type": "thing", "number": number, "poisoned": false, "ttl": 60, "text": "",
    });
    let rest = bytes - thing.to_string().len();
    thing["text"] = "x".repeat(rest).into();
    thing
}

async fn write(world: &World, operation: WriteOp) {
    world.store.write(THINGS, &"home-1".into(), operation, &Ledger::new()).await.expect("a write");
}

async fn put(world: &World, thing: &serde_json::Value) {
    write(world, WriteOp::Upsert(NewItem::encode("thing-2", thing))).await;
}

/// The results of expired items.
async fn purge(world: &World) {
    write(world, WriteOp::Delete { id: "thing-2".to_owned(), if_match: None }).await;
}

/// A processor that has parked the first thing of a home.
async fn parked(world: &World) -> Processor {
    world.put_thing(1, 1, true).await;
    let processor = world.instance_with(shared("ada")).await;
    processor.drain().await.expect("drained");
    processor
}

async fn copied(world: &World) -> Option<u64> {
    let copy = world.store.read(COPIES, &"home-1".into(), "thing-2", &Ledger::new()).await.expect("a read");
    copy.map(|copy| copy.decode::<Thing>().expect("a thing").number)
}

#[tokio::test]
async fn a_parked_item_of_any_length_is_replayed_after_it_expired() {
    for bytes in [500, 5_000, 200_000, limits::ITEM_BYTES_MAX - 5_000] {
        let world = World::new(1);
        let processor = parked(&world).await;
        put(&world, &expiring(7, bytes)).await;
        processor.drain().await.expect("drained");
        purge(&world).await;
        world.put_thing(1, 1, false).await;
        let report = processor.replay(None).await.expect("a replay");
        assert_eq!((report.items_replayed, report.partitions_parked), (2, 0), "{bytes} bytes");
        assert_eq!(copied(&world).await, Some(7), "{bytes} bytes");
        assert_eq!(world.dead_letter_items().await, BTreeMap::new(), "{bytes} bytes");
    }
}

#[tokio::test]
async fn a_newer_version_takes_the_place_of_a_kept_body() {
    let world = World::new(1);
    let processor = parked(&world).await;
    for number in [7, 8] {
        put(&world, &expiring(number, 5_000)).await;
        processor.drain().await.expect("drained");
    }
    let kept = BTreeMap::from([("deadLetter".to_owned(), 1), ("expiringBody".to_owned(), 1)]);
    assert_eq!(world.dead_letter_items().await, kept);
    purge(&world).await;
    world.put_thing(1, 1, false).await;
    processor.replay(None).await.expect("a replay");
    assert_eq!(copied(&world).await, Some(8));
    assert_eq!(world.dead_letter_items().await, BTreeMap::new());
}

/// The item is longer than the content kept beside it in one item.
#[tokio::test]
async fn an_expired_item_without_its_body_stays_parked() {
    let world = World::new(1);
    let processor = parked(&world).await;
    put(&world, &expiring(7, limits::ITEM_BYTES_MAX - 100)).await;
    processor.drain().await.expect("drained");
    purge(&world).await;
    world.put_thing(1, 1, false).await;
    let report = processor.replay(None).await.expect("a replay");
    assert_eq!((report.items_replayed, report.partitions_parked), (1, 1));
    let letters = processor.dead_letters().await.expect("a list").dead_letters;
    let error = letters[0].error.as_deref().unwrap_or_default();
    assert!(error.contains("the item has expired, and its body of 2097052 bytes was not kept"), "{error}");
    assert_eq!(copied(&world).await, None);
}
