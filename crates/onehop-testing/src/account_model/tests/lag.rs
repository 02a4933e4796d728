//! Replica lag by consistency, and sessions.

use std::sync::Arc;
use std::time::Duration;

use onehop_store::Store;

use super::clients::{World, drain, end_of, number, page, ranges, upsert};
use crate::account_model::{ModelConsistency, Outcome};

const LAG: Duration = Duration::from_millis(500);

fn lagging() -> Outcome {
    Outcome { lag: LAG, is_lagging: true, ..Outcome::default() }
}

/// The number that a process reads from a lagging replica.
async fn lagging_number(world: &World, store: &dyn Store) -> Option<u64> {
    world.next(lagging());
    number(store, "h", "a").await
}

#[tokio::test]
async fn a_lagging_replica_shows_a_write_after_its_lag() {
    let world = World::new(1);
    let writer = world.account.store(ModelConsistency::Session);
    let stores = [
        (ModelConsistency::Latest, Some(1)),
        (ModelConsistency::Session, None),
        (ModelConsistency::Eventual, None),
        (ModelConsistency::Bounded { commits_max: 1 }, None),
        (ModelConsistency::Bounded { commits_max: 0 }, Some(1)),
    ]
    .map(|(consistency, seen)| (world.account.store(consistency), consistency, seen));
    world.next(lagging());
    upsert(&*writer, "h", "a", 1).await;
    assert_eq!(lagging_number(&world, &*writer).await, Some(1), "the session of the writer");
    for (store, consistency, seen) in &stores {
        assert_eq!(lagging_number(&world, &**store).await, *seen, "{consistency:?}");
    }
    assert_eq!(world.count("reads_of_lagging_replicas"), 3);
    assert_eq!(world.count("commits_with_lag"), 1);
    world.clock.advance_ms(500);
    for (store, consistency, _) in &stores {
        assert_eq!(lagging_number(&world, &**store).await, Some(1), "{consistency:?}");
    }
}

#[tokio::test]
async fn a_replica_gets_commits_in_their_order() {
    let world = World::new(1);
    let writer = world.account.store(ModelConsistency::Session);
    let reader = world.account.store(ModelConsistency::Eventual);
    world.next(lagging());
    upsert(&*writer, "h", "a", 1).await;
    upsert(&*writer, "h", "b", 2).await;
    world.next(lagging());
    assert_eq!(number(&*reader, "h", "b").await, None, "the commit before it is not there yet");
    world.clock.advance_ms(500);
    world.next(lagging());
    assert_eq!(number(&*reader, "h", "b").await, Some(2));
}

#[tokio::test]
async fn a_session_never_goes_back_and_eventual_reads_do() {
    for (consistency, second) in [(ModelConsistency::Session, Some(1)), (ModelConsistency::Eventual, None)] {
        let world = World::new(1);
        let writer = world.account.store(ModelConsistency::Session);
        let reader = world.account.store(consistency);
        world.next(lagging());
        upsert(&*writer, "h", "a", 1).await;
        assert_eq!(number(&*reader, "h", "a").await, Some(1), "of an up-to-date replica");
        assert_eq!(lagging_number(&world, &*reader).await, second, "{consistency:?}");
    }
}

#[tokio::test]
async fn stores_of_one_process_share_its_session() {
    let world = World::new(1);
    let session = world.account.connect(ModelConsistency::Session);
    let latest: Arc<dyn Store> = Arc::new(session.with_consistency(ModelConsistency::Latest));
    world.next(lagging());
    upsert(&*latest, "h", "a", 1).await;
    assert_eq!(lagging_number(&world, &session).await, Some(1));
}

#[tokio::test]
async fn a_lagging_feed_says_how_far_its_replica_is() {
    let world = World::new(1);
    let writer = world.account.store(ModelConsistency::Session);
    let reader = world.account.store(ModelConsistency::Session);
    let range = ranges(&*reader).await.remove(0);
    upsert(&*writer, "h", "a", 1).await;
    world.next(lagging());
    let end = end_of(&upsert(&*writer, "h", "b", 2).await, "h").expect("an end");
    world.next(lagging());
    let first = page(&*reader, &range, None, 10).await;
    world.next(lagging());
    let empty = page(&*reader, &range, Some(&first.continuation), 10).await;
    assert!(empty.drained, "the replica has no more");
    assert!(!reader.is_past(&empty.passed.expect("a number"), &end));
    world.clock.advance_ms(500);
    let (ids, empty) = drain(&*reader, &range, Some(empty.continuation), 10).await;
    assert_eq!(ids, ["b"]);
    assert!(reader.is_past(&empty.passed.expect("a number"), &end));
    assert!(reader.holds(&range, &end));
}

#[tokio::test]
async fn a_lagging_replica_shows_the_former_version() {
    let world = World::new(1);
    let writer = world.account.store(ModelConsistency::Session);
    let reader = world.account.store(ModelConsistency::Eventual);
    upsert(&*writer, "h", "a", 1).await;
    world.next(lagging());
    upsert(&*writer, "h", "a", 2).await;
    assert_eq!(lagging_number(&world, &*reader).await, Some(1));
    let range = ranges(&*reader).await.remove(0);
    world.next(lagging());
    let former = page(&*reader, &range, None, 10).await;
    assert_eq!(former.changes.len(), 1);
    let (ids, _) = drain(&*reader, &range, Some(former.continuation), 10).await;
    assert_eq!(ids, ["a"], "the new version comes as well");
}
