//! Checkpoints that are merged in time: their number, and the changes that are repeated after a crash.

use std::sync::atomic::Ordering;
use std::time::Duration;

use onehop_change_feed::{Processor, Settings};

use crate::toy::{EXPIRY_MS, World, shared};

const INTERVAL: Duration = Duration::from_secs(5);

async fn instance(world: &World, owner: &str) -> Processor {
    world.instance_with(Settings { checkpoint_interval: Some(INTERVAL), ..shared(owner) }).await
}

/// A world with one feed range, and an instance that has written its first checkpoint this moment.
async fn begun() -> (World, Processor) {
    let world = World::new(1);
    let ada = instance(&world, "ada").await;
    ada.run_once().await.expect("a turn");
    world.clock.advance_ms(6000);
    world.put(1, 1).await;
    ada.run_once().await.expect("a turn");
    assert!(world.leases().await[0].continuation.is_some(), "the first of an interval is written at once");
    (world, ada)
}

async fn lease_writes(world: &World, work: impl Future<Output = ()>) -> usize {
    let before = world.store.lease_requests.load(Ordering::SeqCst);
    work.await;
    world.store.lease_requests.load(Ordering::SeqCst) - before
}

#[tokio::test]
async fn pages_of_one_interval_share_a_checkpoint() {
    let (world, ada) = begun().await;
    let written = lease_writes(&world, async {
        for id in 2..=10 {
            world.put(1, id).await;
            ada.run_once().await.expect("a turn");
            world.clock.advance_ms(400);
        }
    });
    assert_eq!(written.await, 0, "the last checkpoint is younger");
    world.clock.advance_ms(5000);
    let written = lease_writes(&world, async {
        for _ in 0..3 {
            ada.run_once().await.expect("a turn");
        }
    });
    // The heartbeat is due by then, too.
    assert!((1..=2).contains(&written.await));
    world.assert_current().await;
}

#[tokio::test]
async fn a_long_series_of_pages_has_a_checkpoint_in_each_interval() {
    let (world, ada) = begun().await;
    let first = world.leases().await[0].continuation.clone();
    for id in 2..=8 {
        // Each page is followed by another one at once.
        world.put(1, id).await;
        ada.run_once().await.expect("a turn");
        world.clock.advance_ms(1000);
    }
    assert_ne!(world.leases().await[0].continuation, first);
}

#[tokio::test]
async fn a_release_writes_the_checkpoint_at_once() {
    let (world, ada) = begun().await;
    world.put(1, 2).await;
    ada.run_once().await.expect("a turn");
    ada.release().await;
    let projected = world.projected();
    let bob = instance(&world, "bob").await;
    bob.drain().await.expect("drained");
    assert_eq!(world.projected(), projected, "nothing is repeated");
    world.assert_current().await;
}

#[tokio::test]
async fn a_crash_repeats_what_has_no_checkpoint_and_loses_nothing() {
    let (world, ada) = begun().await;
    for id in 2..=4 {
        world.put(1, id).await;
        ada.run_once().await.expect("a turn");
    }
    let before = world.projected();
    drop(ada);
    world.put(1, 5).await;
    world.clock.advance_ms(EXPIRY_MS);
    let bob = instance(&world, "bob").await;
    bob.balance_leases().await.expect("a round");
    world.clock.advance_ms(EXPIRY_MS);
    bob.renew().await;
    bob.balance_leases().await.expect("a round");
    bob.drain().await.expect("drained");
    let repeated = world.projected() - before - 1;
    assert_eq!(repeated, 3, "those after the last checkpoint, in order");
    world.assert_current().await;
}

#[tokio::test]
async fn a_stolen_lease_repeats_what_has_no_checkpoint() {
    let world = World::new(2);
    let ada = instance(&world, "ada").await;
    ada.balance_leases().await.expect("a round");
    world.put_many(1).await;
    ada.run_once().await.expect("a turn");
    let bob = instance(&world, "bob").await;
    for _ in 0..2 {
        bob.balance_leases().await.expect("a round");
        ada.run_once().await.expect("a turn");
    }
    world.clock.advance_ms(6000);
    ada.run_once().await.expect("a turn");
    bob.drain().await.expect("drained");
    world.assert_current().await;
}
