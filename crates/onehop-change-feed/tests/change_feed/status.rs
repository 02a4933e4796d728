//! The status of the processor, and its cost.

use std::sync::atomic::Ordering;
use std::time::Duration;

use onehop_change_feed::Settings;

use onehop_change_feed::LEASES;
use onehop_store::WriteOp;

use crate::splitting_store::Verdict;
use crate::toy::{EXPIRY_MS, World, shared};

#[tokio::test]
async fn a_status_reads_no_lease_and_counts_once_a_second() {
    let world = World::new(4);
    let ada = world.instance_with(Settings { pending_cache: Duration::from_secs(1), ..shared("ada") }).await;
    ada.balance_leases().await.expect("a tick");
    let before = world.store.lease_requests.load(Ordering::SeqCst);
    for _ in 0..5 {
        ada.status().await.expect("a status");
        ada.leases().await.expect("a status");
        let _ = ada.health();
    }
    assert_eq!(world.store.lease_requests.load(Ordering::SeqCst), before);
    assert_eq!(world.store.counts.load(Ordering::SeqCst), 4, "once for each lease");
    world.clock.advance_ms(1000);
    ada.status().await.expect("a status");
    assert_eq!(world.store.counts.load(Ordering::SeqCst), 8);
}

#[tokio::test]
async fn one_status_has_all_projections_and_leases() {
    let world = World::new(4);
    let ada = world.instance_with(Settings { pending_cache: Duration::ZERO, ..shared("ada") }).await;
    ada.balance_leases().await.expect("a tick");
    let standing = ada.processor_status().await.expect("a status");
    assert_eq!((standing.projections.len(), standing.leases.len()), (1, 4));
    assert_eq!(world.store.counts.load(Ordering::SeqCst), 4, "once for each lease");
}

#[tokio::test]
async fn each_lease_says_who_holds_it_and_what_waits() {
    let world = World::new(2);
    let (ada, bob) = (world.instance("ada").await, world.instance("bob").await);
    ada.balance_leases().await.expect("a tick");
    for _ in 0..2 {
        bob.balance_leases().await.expect("a tick");
        ada.run_once().await.expect("a turn");
        ada.balance_leases().await.expect("a tick");
    }
    world.put_many(1).await;
    world.clock.advance_ms(1500);
    let leases = ada.leases().await.expect("a status");
    assert_eq!(leases.len(), 2);
    assert_eq!(leases.iter().map(|lease| lease.pending_changes).sum::<u64>(), 12);
    for lease in &leases {
        assert_eq!(lease.mine, lease.owner.as_deref() == Some("ada"));
        assert_eq!((lease.container, lease.lag_ms), ("things", 1500));
    }
    assert_eq!(leases.iter().filter(|lease| lease.mine).count(), 1);
    while ada.run_once().await.expect("a turn") > 0 {}
    let leases = ada.leases().await.expect("a status");
    for lease in &leases {
        assert_eq!(lease.mine, lease.pending_changes == 0, "{leases:#?}");
        assert_eq!(lease.mine, lease.changes > 0, "{leases:#?}");
    }
    assert_eq!(
        ada.status().await.expect("a status")[0].changes,
        leases.iter().map(|lease| lease.changes).sum::<u64>()
    );
}

#[tokio::test]
async fn a_projection_runs_where_a_live_instance_owns_its_leases() {
    let world = World::new(2);
    let (ada, bob) = (world.instance("ada").await, world.instance("bob").await);
    assert!(!bob.health()[0].running, "nothing is known yet");
    ada.balance_leases().await.expect("a tick");
    assert!(!ada.health()[0].running, "its own leases have no task");
    // The only look of bob, who would steal at the second.
    bob.drain().await.expect("drained");
    assert!(bob.health()[0].running);
    world.clock.advance_ms(EXPIRY_MS);
    assert!(!bob.health()[0].running, "ada may be dead");
}

#[tokio::test]
async fn a_lease_that_cannot_be_taken_alone_is_a_failed_tick() {
    for refuses_creation in [true, false] {
        let world = World::new(1);
        let ada = world.instance_with(Settings::new("ada").without_delays()).await;
        if !refuses_creation {
            ada.balance_leases().await.expect("a tick");
            ada.release().await;
        }
        world.store.judge(move |container, operation| {
            let is_creation = matches!(operation, WriteOp::Create(_));
            if container == LEASES && is_creation == refuses_creation {
                Verdict::Refuse
            } else {
                Verdict::Pass
            }
        });
        let bob = world.instance_with(Settings::new("bob").without_delays()).await;
        for _ in 0..2 {
            let error = bob.balance_leases().await.expect_err("no lease can be taken").to_string();
            assert!(error.contains("the lease of things for the feed range"), "{error}");
            assert!(bob.health().iter().all(|following| !following.running));
        }
        world.store.mend();
        bob.balance_leases().await.expect("a tick");
        assert!(bob.run_once().await.is_ok());
    }
}
