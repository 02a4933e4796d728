//! Leases among instances: acquired, balanced, lost, taken over.

use onehop_change_feed::ProcessorError;
use onehop_store::{FaultKind, Ledger, Store as _};

use crate::splitting_store::Verdict;
use crate::toy::{EXPIRY_MS, SHORT_MS, THINGS, World};

#[tokio::test]
async fn instances_that_come_and_go_share_leases_and_lose_nothing() {
    let world = World::new(8);
    let ada = world.instance("ada").await;
    ada.balance_leases().await.expect("a tick");
    assert_eq!(world.holdings(&["ada"]).await, [8]);
    let bob = world.instance("bob").await;
    for round in 0..8 {
        world.put_many(1).await;
        bob.balance_leases().await.expect("a tick");
        ada.run_once().await.expect("a turn");
        bob.run_once().await.expect("a turn");
        let held = world.holdings(&["ada", "bob"]).await;
        assert!(held[1] <= 4.min(round + 1), "one at a time, and not more than the share: {held:?}");
    }
    assert_eq!(world.holdings(&["ada", "bob"]).await, [4, 4]);
    let cleo = world.instance("cleo").await;
    for _ in 0..8 {
        world.put_many(2).await;
        for instance in [&cleo, &bob, &ada] {
            instance.balance_leases().await.expect("a tick");
            instance.run_once().await.expect("a turn");
        }
    }
    let held = world.holdings(&["ada", "bob", "cleo"]).await;
    assert!(held.iter().max().unwrap() - held.iter().min().unwrap() <= 1, "{held:?}");
    assert_eq!(held.iter().sum::<usize>(), 8);
    // Two of them die without a goodbye.
    drop((ada, bob));
    world.put_many(3).await;
    assert!(matches!(cleo.drain().await, Err(ProcessorError::NotDrained)), "their leases live");
    world.clock.advance_ms(EXPIRY_MS);
    cleo.drain().await.expect("drained");
    assert_eq!(world.holdings(&["cleo"]).await, [8]);
    world.assert_current().await;
    world.assert_in_order();
}

#[tokio::test]
async fn instances_that_start_together_have_their_share_at_once() {
    let world = World::new(8);
    let instances = [world.instance("ada").await, world.instance("bob").await, world.instance("cleo").await];
    for _ in 0..8 {
        for instance in &instances {
            instance.balance_leases().await.expect("a tick");
        }
    }
    let held = world.holdings(&["ada", "bob", "cleo"]).await;
    assert!(held.iter().max().unwrap() - held.iter().min().unwrap() <= 1, "{held:?}");
    let epochs: Vec<_> = world.leases().await.iter().map(|lease| lease.epoch).collect();
    for instance in &instances {
        instance.balance_leases().await.expect("a tick");
    }
    assert_eq!(world.leases().await.iter().map(|lease| lease.epoch).collect::<Vec<_>>(), epochs);
}

#[tokio::test]
async fn the_old_owner_of_a_stolen_lease_writes_no_checkpoint() {
    let world = World::new(2);
    let ada = world.instance("ada").await;
    ada.drain().await.expect("drained");
    let bob = world.instance("bob").await;
    bob.balance_leases().await.expect("a tick");
    assert_eq!(world.holdings(&["ada", "bob"]).await, [1, 1]);
    let before = world.leases().await;
    world.put_many(1).await;
    ada.run_once().await.expect("a turn");
    let after = world.leases().await;
    for (before, after) in before.iter().zip(&after) {
        if before.owner.as_deref() == Some("bob") {
            assert_eq!(before, after, "the lease is bob's");
        } else {
            assert_ne!(before.continuation, after.continuation, "the lease is ada's still");
        }
    }
    let projected = world.projected();
    world.put_many(1).await;
    ada.run_once().await.expect("a turn");
    let diary = world.diary.lock().expect("no panic while locked").clone();
    let stolen = before.iter().find(|lease| lease.owner.as_deref() == Some("bob")).expect("a stolen lease");
    let request = onehop_store::FeedRequest {
        container: THINGS,
        range: &stolen.range,
        continuation: None,
        types: None,
        limit: 100,
    };
    let page = world.store.read_change_feed(&request, &Ledger::new()).await.expect("a page");
    let homes: Vec<_> = page.changes.iter().map(|change| change.partition_key.to_string()).collect();
    assert!(diary[projected..].iter().all(|(_, home, _)| !homes.contains(home)), "it stopped reading");
    bob.run_once().await.expect("a turn");
    ada.drain().await.expect_err("bob has not come to the end");
    while bob.run_once().await.expect("a turn") > 0 {}
    bob.drain().await.expect("drained");
    world.assert_current().await;
}

#[tokio::test]
async fn a_lost_answer_of_a_lease_write_is_recognised() {
    let world = World::new(4);
    let ada = world.instance("ada").await;
    let mut writes = 0;
    world.store.judge(move |container, _| {
        writes += 1;
        let lost = container == onehop_change_feed::LEASES && writes % 2 == 0;
        if lost { Verdict::Lose } else { Verdict::Pass }
    });
    for _ in 0..4 {
        world.put_many(1).await;
        // The answer to a creation is asked for by the next tick.
        while ada.balance_leases().await.is_err() {}
        ada.run_once().await.expect("a turn");
        world.clock.advance_ms(SHORT_MS);
        ada.renew().await;
    }
    ada.drain().await.expect("drained");
    assert!(world.leases().await.iter().all(|lease| lease.epoch == 1), "{:#?}", world.leases().await);
    world.assert_current().await;
}

#[tokio::test]
async fn a_restarted_instance_with_its_old_name_waits_for_no_expiry() {
    let world = World::new(4);
    drop({
        let ada = world.instance("ada").await;
        ada.drain().await.expect("drained");
        ada
    });
    world.put_many(2).await;
    let ada = world.instance("ada").await;
    ada.drain().await.expect("drained");
    world.assert_current().await;
}

#[tokio::test]
async fn a_range_without_a_lease_item_is_read_from_the_beginning() {
    let world = World::new(2);
    let ada = world.instance("ada").await;
    world.put_many(1).await;
    ada.drain().await.expect("drained");
    let lease = world.leases().await.remove(0);
    let delete = onehop_store::WriteOp::Delete { id: lease.id.clone(), if_match: None };
    world
        .store
        .write(onehop_change_feed::LEASES, &lease.id.as_str().into(), delete, &Ledger::new())
        .await
        .expect("deleted");
    world.put_many(1).await;
    ada.drain().await.expect("drained");
    assert_eq!(world.leases().await.len(), 2);
    world.assert_current().await;
}

#[tokio::test]
async fn parked_partitions_stay_parked_after_a_take_over() {
    let world = World::new(2);
    // Opened before anything is parked.
    let (ada, bob) = (world.instance("ada").await, world.instance("bob").await);
    for home in 0..12 {
        world.put_thing(home, 1, true).await;
    }
    ada.drain().await.expect("drained");
    // It takes nothing, and observes the heartbeat of ada from now on.
    bob.drain().await.expect("nothing waits");
    drop(ada);
    world.put_many(1).await;
    world.clock.advance_ms(EXPIRY_MS);
    bob.drain().await.expect("drained");
    assert_eq!(world.projected(), 0, "what waits behind a parked change is not projected");
    let parked = bob.status().await.expect("a status")[0].dead_letters;
    assert_eq!(parked, 12);
    for home in 0..12 {
        world.put(home, 1).await;
    }
    bob.replay(None).await.expect("a replay");
    bob.drain().await.expect("drained");
    world.assert_current().await;
}

#[tokio::test]
async fn a_replay_by_another_instance_sets_the_partition_free() {
    let world = World::new(1);
    let ada = world.instance("ada").await;
    world.put_thing(1, 1, true).await;
    ada.drain().await.expect("drained");
    world.put(1, 1).await;
    let operator = world.instance("operator").await;
    let report = operator.replay(None).await.expect("a replay");
    assert_eq!((report.items_replayed, report.partitions_parked), (1, 0));
    world.put(1, 2).await;
    ada.run_once().await.expect("a turn");
    world.assert_current().await;
    assert_eq!(ada.status().await.expect("a status")[0].dead_letters, 0);
}

#[tokio::test]
async fn released_leases_are_taken_at_once_at_their_checkpoint() {
    let world = World::new(4);
    let ada = world.instance("ada").await;
    world.put_many(2).await;
    ada.drain().await.expect("drained");
    ada.release().await;
    let projected = world.projected();
    let bob = world.instance("bob").await;
    bob.drain().await.expect("drained");
    assert_eq!(world.holdings(&["ada", "bob"]).await, [0, 4]);
    assert_eq!(world.projected(), projected);
}

#[tokio::test]
async fn a_tick_that_failed_half_way_is_finished_by_the_next() {
    for failing in 0..8 {
        let world = World::new(4);
        let ada = world.instance("ada").await;
        let mut writes = 0;
        world.store.judge(move |_, _| {
            writes += 1;
            if writes == failing + 1 { Verdict::Fail(FaultKind::Internal) } else { Verdict::Pass }
        });
        ada.balance_leases().await.expect_err("a write failed");
        world.store.mend();
        world.put_many(1).await;
        ada.drain().await.expect("drained");
        assert_eq!(world.holdings(&["ada"]).await, [4]);
        world.assert_current().await;
    }
}
