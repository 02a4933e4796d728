//! Leases: one owner, checkpoints after the writes, a quiet take-over.

use onehop_change_feed::{LEASES, LeaseItem, ProcessorError, Settings, Sharing};
use onehop_store::{FeedRequest, Ledger, Store as _};
use serde_json::Value;

use crate::projections::world::{World, post};

pub async fn leases(world: &World) -> Vec<LeaseItem> {
    let mut leases = Vec::new();
    for range in world.store.feed_ranges(LEASES).await.expect("ranges") {
        let request =
            FeedRequest { container: LEASES, range: &range, continuation: None, types: None, limit: 1000 };
        let page = world.store.read_change_feed(&request, &Ledger::new()).await.expect("a page");
        let items = page.changes.iter().map(|change| change.item.decode::<Value>().expect("JSON"));
        let items = items.filter(|item| item["type"] == "rangeLease");
        leases.extend(items.map(|item| serde_json::from_value::<LeaseItem>(item).expect("a lease")));
    }
    leases
}

fn shared(owner: &str) -> Settings {
    Settings { sharing: Sharing::with_others(), ..Settings::new(owner).without_delays() }
}

#[tokio::test]
async fn every_feed_range_has_a_lease_before_it_is_read() {
    let world = World::new().await;
    let processor = world.processor().await;
    processor.run_once().await.expect("a turn");
    let leases = leases(&world).await;
    assert_eq!(leases.len(), 2 * 4, "one for each feed range of users and of posts");
    assert!(
        leases.iter().all(|lease| lease.continuation.is_none() && lease.owner.as_deref() == Some("test"))
    );
}

#[tokio::test]
async fn a_restart_goes_on_after_the_last_checkpoint() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    for number in 0..10 {
        world.put_post(&post(number, &ada)).await;
    }
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    drop(processor);
    let processor = world.processor().await;
    assert_eq!(processor.run_once().await.expect("a turn"), 0);
}

#[tokio::test]
async fn a_lease_of_another_process_is_honoured_until_it_expires() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let first = world.processor_with(shared("first")).await;
    first.drain().await.expect("drained");
    let second = world.processor_with(shared("second")).await;
    let written = post(1, &ada);
    world.put_post(&written).await;
    let outcome = second.drain().await;
    assert!(matches!(outcome, Err(ProcessorError::NotDrained)), "the first holds the leases: {outcome:?}");
    assert_eq!(world.user_copy(&written).await, None);
    world.clock.advance_ms(60_000);
    second.drain().await.expect("drained");
    assert!(world.user_copy(&written).await.is_some(), "the first let them expire");
    assert!(
        leases(&world).await.iter().all(|lease| lease.owner.as_deref() == Some("second") && lease.epoch == 2)
    );
}

#[tokio::test]
async fn released_leases_are_taken_without_waiting() {
    let world = World::new().await;
    let first = world.processor_with(shared("first")).await;
    first.drain().await.expect("drained");
    first.release().await;
    let second = world.processor_with(shared("second")).await;
    second.run_once().await.expect("a turn");
    assert!(leases(&world).await.iter().all(|lease| lease.owner.as_deref() == Some("second")));
}
