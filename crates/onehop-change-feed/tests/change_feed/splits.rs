//! Feed ranges that are split and merged while instances read them.

use onehop_change_feed::{LEASES, Settings};
use onehop_store::{FaultKind, WriteOp};

use crate::splitting_store::Verdict;
use crate::toy::{COPIES, EXPIRY_MS, World, shared};

#[tokio::test]
async fn a_split_goes_on_in_the_parts_where_the_whole_stood() {
    for settings in [shared("ada"), Settings { page_items_max: 5, ..Settings::new("ada").without_delays() }] {
        let world = World::new(2);
        world.put_many(2).await;
        let ada = world.instance_with(settings).await;
        ada.run_once().await.expect("a turn");
        world.store.split(0);
        ada.balance_leases().await.expect("a tick");
        while ada.run_once().await.expect("a turn") > 0 {}
        assert_eq!(world.ranges_leased().await, ["0-1", "2-3", "4-7"]);
        ada.drain().await.expect("drained");
        assert_eq!(world.projected(), 24, "nothing was read twice");
        world.put_many(1).await;
        ada.drain().await.expect("drained");
        world.assert_current().await;
        world.assert_in_order();
    }
}

#[tokio::test]
async fn two_splits_between_two_looks_are_followed() {
    let world = World::new(1);
    world.put_many(2).await;
    let ada = world.instance("ada").await;
    ada.drain().await.expect("drained");
    for _ in 0..3 {
        for place in (0..8).rev() {
            world.store.split(place);
        }
    }
    ada.balance_leases().await.expect("a tick");
    ada.drain().await.expect("drained");
    assert_eq!(world.leases().await.len(), 8);
    assert_eq!(world.projected(), 24, "nothing was read twice");
}

#[tokio::test]
async fn a_split_in_the_middle_of_a_page_waits_for_its_checkpoint() {
    let world = World::new(1);
    world.put_many(1).await;
    let ada = world.instance("ada").await;
    ada.balance_leases().await.expect("a tick");
    world.store.close(COPIES);
    let page = ada.run_once();
    let splitting = async {
        world.store.until_one_waits().await;
        world.store.split(0);
        ada.balance_leases().await.expect("a tick");
        assert_eq!(world.ranges_leased().await, ["0-7"]);
        world.store.open();
    };
    let (page, ()) = tokio::join!(page, splitting);
    assert_eq!(page.expect("a turn"), 5);
    ada.run_once().await.expect("a turn");
    let leases = world.leases().await;
    assert_eq!(world.ranges_leased().await, ["0-3", "4-7"]);
    assert!(leases.iter().all(|lease| lease.continuation.is_some()), "{leases:#?}");
    ada.drain().await.expect("drained");
    assert_eq!(world.projected(), 12, "nothing was read twice");
    world.assert_current().await;
}

#[tokio::test]
async fn a_crash_between_the_steps_of_a_split_loses_nothing() {
    for (verdict, failing) in [Verdict::Fail(FaultKind::Internal), Verdict::Lose]
        .into_iter()
        .flat_map(|verdict| (0..8).map(move |failing| (verdict, failing)))
    {
        let world = World::new(1);
        world.put_many(2).await;
        let ada = world.instance("ada").await;
        ada.balance_leases().await.expect("a tick");
        ada.run_once().await.expect("a turn");
        world.store.split(0);
        let mut writes = 0;
        world.store.judge(move |container, _| {
            writes += usize::from(container == LEASES);
            // From this lease write on nothing gets through, save that the first may have been written.
            match writes.cmp(&(failing + 1)) {
                std::cmp::Ordering::Less => Verdict::Pass,
                std::cmp::Ordering::Equal => verdict,
                std::cmp::Ordering::Greater => Verdict::Fail(FaultKind::Internal),
            }
        });
        let _ = ada.balance_leases().await;
        for _ in 0..4 {
            let _ = ada.run_once().await;
        }
        drop(ada);
        world.store.mend();
        world.put_many(1).await;
        let bob = world.instance("bob").await;
        let cleo = world.instance("cleo").await;
        world.clock.advance_ms(EXPIRY_MS);
        for _ in 0..6 {
            bob.balance_leases().await.expect("a tick");
            bob.run_once().await.expect("a turn");
            cleo.balance_leases().await.expect("a tick");
            cleo.run_once().await.expect("a turn");
        }
        drop(cleo);
        world.clock.advance_ms(EXPIRY_MS);
        bob.drain().await.expect("drained");
        assert_eq!(world.ranges_leased().await, ["0-3", "4-7"], "{verdict:?} at lease write {failing}");
        world.assert_current().await;
        world.assert_in_order();
    }
}

#[tokio::test]
async fn the_parts_of_an_interrupted_split_wait_for_its_end() {
    let world = World::new(1);
    world.put_many(1).await;
    let ada = world.instance("ada").await;
    ada.run_once().await.expect("a turn");
    world.store.split(0);
    ada.balance_leases().await.expect("a tick");
    world.store.judge(|_, operation| match operation {
        WriteOp::Delete { .. } => Verdict::Fail(FaultKind::Internal),
        _ => Verdict::Pass,
    });
    ada.run_once().await.expect_err("the lease of the whole cannot be deleted");
    drop(ada);
    world.store.mend();
    assert_eq!(world.ranges_leased().await, ["0-3", "0-7", "4-7"]);
    let bob = world.instance("bob").await;
    // It takes nothing, and observes the heartbeat of ada from now on.
    let _ = bob.drain().await;
    world.clock.advance_ms(EXPIRY_MS);
    bob.balance_leases().await.expect("a tick");
    let owners: Vec<_> = world.leases().await.into_iter().map(|lease| lease.owner).collect();
    let owners: Vec<_> = owners.iter().map(Option::as_deref).collect();
    assert_eq!(owners, [Some("ada"), Some("bob"), Some("ada")]);
    bob.drain().await.expect("drained");
    assert_eq!(world.ranges_leased().await, ["0-3", "4-7"]);
    assert_eq!(world.holdings(&["bob"]).await, [2]);
    assert_eq!(world.projected(), 12, "nothing was read twice");
}

#[tokio::test]
async fn the_parts_of_a_split_are_balanced_like_all_leases() {
    let world = World::new(2);
    let (ada, bob) = (world.instance("ada").await, world.instance("bob").await);
    for _ in 0..3 {
        for instance in [&ada, &bob] {
            instance.balance_leases().await.expect("a tick");
            instance.run_once().await.expect("a turn");
        }
    }
    for _ in 0..2 {
        world.store.split(0);
        world.put_many(1).await;
        for _ in 0..4 {
            for instance in [&ada, &bob] {
                instance.balance_leases().await.expect("a tick");
                instance.run_once().await.expect("a turn");
            }
        }
    }
    assert_eq!(world.ranges_leased().await, ["0-0", "1-1", "2-3", "4-7"]);
    assert_eq!(world.holdings(&["ada", "bob"]).await, [2, 2]);
}

#[tokio::test]
async fn the_leases_of_ranges_that_were_merged_go_on() {
    let world = World::new(4);
    let ada = world.instance("ada").await;
    world.put_many(1).await;
    ada.drain().await.expect("drained");
    world.store.merge(0);
    world.store.merge(1);
    world.put_many(1).await;
    ada.balance_leases().await.expect("a tick");
    ada.drain().await.expect("drained");
    assert_eq!(world.ranges_leased().await, ["0-1", "2-3", "4-5", "6-7"]);
    assert_eq!(world.projected(), 24, "nothing was read twice");
    world.assert_current().await;
}
