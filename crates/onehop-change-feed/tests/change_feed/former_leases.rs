//! Leases of earlier releases, one for each projection and feed range, are replaced by leases of source
//! containers.

use std::sync::Arc;

use onehop_change_feed::{LeaseItem, Processor, Projection, Settings};
use onehop_store::{NewItem, WriteOp};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::sources::{Diary, Recorder};
use crate::toy::{EXPIRY_MS, World, shared};

const NAMES: [&str; 2] = ["first", "second"];

fn alone() -> Settings {
    Settings { page_items_max: 5, ..Settings::new("ada").without_delays() }
}

async fn open(world: &World, names: &[&'static str], diary: &Diary, settings: Settings) -> Processor {
    let recorder = |name: &&'static str| -> Arc<dyn Projection> { Arc::new(Recorder::of(name, diary)) };
    world.instance_of_all(names.iter().map(recorder).collect(), settings).await
}

fn former_id(projection: &str, lease: &LeaseItem) -> String {
    let mut hash = Sha256::new();
    hash.update(lease.range.0.len().to_le_bytes());
    hash.update(lease.range.0.as_bytes());
    let digest: String = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("{projection}~{}~{digest}", lease.container)
}

fn former(projection: &str, lease: &LeaseItem) -> Value {
    json!({
        "id": former_id(projection, lease),
        "type": "lease",
        "processor": lease.processor,
        "projection": projection,
        "container": lease.container,
        "range": lease.range,
        "continuation": lease.continuation,
        "owner": "an earlier release",
        "epoch": 3,
        "expiresAt": "2025-06-15T15:06:40.000Z",
        "notes": [{ "partitionKey": "home-1", "id": "thing-1", "etag": "1", "note": "half way" }],
    })
}

/// Replaces the leases of the sources by leases of an earlier release.
async fn make_former(world: &World, names: &[&str], change: impl Fn(&str, &mut Value)) {
    for lease in world.leases().await {
        world.write_lease_item(WriteOp::Delete { id: lease.id.clone(), if_match: None }).await;
        for name in names {
            let mut item = former(name, &lease);
            change(name, &mut item);
            let item = NewItem::encode(former_id(name, &lease), &item);
            world.write_lease_item(WriteOp::Create(item)).await;
        }
    }
}

fn count(diary: &Diary) -> usize {
    diary.lock().expect("no panic while locked").len()
}

#[tokio::test]
async fn former_leases_become_one_lease_where_they_stand() {
    for (settings, names_processor) in
        [(shared("ada"), true), (shared("ada"), false), (alone(), true), (alone(), false)]
    {
        let (world, diary) = (World::new(4), Diary::default());
        world.put_many(2).await;
        open(&world, &NAMES, &diary, settings.clone()).await.drain().await.expect("drained");
        make_former(&world, &NAMES, |_, item| {
            if !names_processor {
                item.as_object_mut().expect("an object").remove("processor");
            }
        })
        .await;
        let before = count(&diary);
        let ada = open(&world, &NAMES, &diary, settings).await;
        assert_eq!(ada.run_once().await.expect("a turn"), 0);
        world.put_many(1).await;
        ada.drain().await.expect("drained");
        assert_eq!(count(&diary), before + 2 * 12, "nothing was read twice");
        assert_eq!(world.leases().await.len(), 4);
        world.clock.advance_ms(EXPIRY_MS);
        ada.balance_leases().await.expect("a round");
        assert!(world.lease_items("lease").await.is_empty());
    }
}

#[tokio::test]
async fn where_former_leases_differ_the_earliest_counts() {
    for (settings, comparable) in [(shared("ada"), true), (alone(), false)] {
        let (world, diary) = (World::new(1), Diary::default());
        world.put_many(1).await;
        let before = open(&world, &NAMES, &diary, settings.clone()).await;
        while before.run_once().await.expect("a turn") > 0 {}
        let early = world.leases().await.remove(0).continuation;
        world.put_many(1).await;
        before.drain().await.expect("drained");
        drop(before);
        make_former(&world, &NAMES, |name, item| {
            if name == "second" {
                item["continuation"] = if comparable { json!(early) } else { Value::Null };
            }
        })
        .await;
        let before = count(&diary);
        open(&world, &NAMES, &diary, settings).await.drain().await.expect("drained");
        // The same twelve things were written twice, so the feed has each of them once.
        assert_eq!(count(&diary), before + 2 * 12, "every projection sees what one of them lacks");
    }
}

#[tokio::test]
async fn a_projection_without_a_former_lease_begins_at_the_beginning() {
    let (world, diary) = (World::new(2), Diary::default());
    world.put_many(1).await;
    open(&world, &NAMES, &diary, alone()).await.drain().await.expect("drained");
    make_former(&world, &NAMES[..1], |_, _| {}).await;
    let later = Diary::default();
    open(&world, &NAMES, &later, alone()).await.drain().await.expect("drained");
    let later = later.lock().expect("no panic while locked").clone();
    assert_eq!(later.iter().filter(|(name, _)| *name == "second").count(), 12);
    assert!(world.lease_items("lease").await.is_empty());
}

#[tokio::test]
async fn former_leases_stay_while_an_earlier_release_works() {
    let (world, diary) = (World::new(1), Diary::default());
    world.put_many(1).await;
    open(&world, &NAMES, &diary, shared("ada")).await.drain().await.expect("drained");
    make_former(&world, &NAMES, |_, _| {}).await;
    let ada = open(&world, &NAMES, &diary, shared("ada")).await;
    for _ in 0..6 {
        ada.balance_leases().await.expect("a round");
        ada.renew().await;
        world.clock.advance_ms(20_000);
        for mut item in world.lease_items("lease").await {
            // A renewal by the earlier release.
            item["expiresAt"] = json!(world.clock_text());
            let id = item["id"].as_str().expect("an id").to_owned();
            let item = NewItem::encode(id, &item);
            world.write_lease_item(WriteOp::Replace { item, if_match: None }).await;
        }
    }
    assert_eq!(world.lease_items("lease").await.len(), 2);
    assert_eq!(world.holdings(&["ada"]).await, [1], "both releases work at the same time");
    ada.balance_leases().await.expect("a round");
    world.clock.advance_ms(EXPIRY_MS);
    ada.balance_leases().await.expect("a round");
    assert!(world.lease_items("lease").await.is_empty());
}

#[tokio::test]
async fn a_former_lease_that_was_released_is_deleted_at_once() {
    let (world, diary) = (World::new(1), Diary::default());
    open(&world, &NAMES, &diary, shared("ada")).await.drain().await.expect("drained");
    make_former(&world, &NAMES, |_, item| item["owner"] = Value::Null).await;
    open(&world, &NAMES, &diary, shared("bob")).await.balance_leases().await.expect("a round");
    assert!(world.lease_items("lease").await.is_empty());
    assert_eq!(world.holdings(&["bob"]).await, [1]);
}
