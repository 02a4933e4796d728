//! The features of the processors of other clients: a start position, notifications, an estimator alone, a
//! rebuild that goes on.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use onehop_change_feed::{Estimator, LEASES, LeaseEvent, Notifications, Settings, StartFrom};
use onehop_runtime::clock::Clock;
use onehop_store::{FaultKind, Ledger};

use crate::splitting_store::Verdict;
use crate::toy::{COPIES, EXPIRY_MS, THINGS, World, shared};

#[tokio::test]
async fn a_processor_that_starts_from_now_leaves_out_what_was_before() {
    let world = World::new(4);
    world.put_many(1).await;
    let ada = world.instance_with(Settings { start: StartFrom::Now, ..shared("ada") }).await;
    ada.drain().await.expect("drained");
    assert_eq!(world.projected(), 0);
    world.put(1, 100).await;
    ada.drain().await.expect("drained");
    assert_eq!(world.projected(), 1);
    ada.release().await;
    // Its leases exist by now, so another start does not skip anything.
    world.put(1, 101).await;
    let bob = world.instance_with(Settings { start: StartFrom::Now, ..shared("bob") }).await;
    bob.drain().await.expect("drained");
    assert_eq!(world.projected(), 2);
}

#[tokio::test]
async fn a_processor_that_starts_at_a_time_leaves_out_what_was_before() {
    let world = World::new(4);
    world.put_many(1).await;
    world.clock.advance_ms(60_000);
    let since_ms = world.clock.now_ms();
    world.put(1, 100).await;
    world.clock.advance_ms(60_000);
    world.put(2, 101).await;
    let ada = world.instance_with(Settings { start: StartFrom::Time(since_ms), ..shared("ada") }).await;
    ada.drain().await.expect("drained");
    assert_eq!(world.projected(), 2);
    world.put(3, 102).await;
    ada.drain().await.expect("drained");
    assert_eq!(world.projected(), 3);
}

#[tokio::test]
async fn an_instance_reports_leases_and_failures() {
    let world = World::new(2);
    let events: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = Arc::clone(&events);
    let notifications = Notifications::to(move |notification| {
        let event = match notification.event {
            LeaseEvent::Acquired => "acquired",
            LeaseEvent::Released => "released",
            LeaseEvent::Failed(_) => "failed",
        };
        assert_eq!(notification.container, THINGS);
        heard.lock().expect("no panic while locked").push(event.to_owned());
    });
    let ada = world.instance_with(Settings { notifications, ..shared("ada") }).await;
    let take = || std::mem::take(&mut *events.lock().expect("no panic while locked"));
    ada.run_once().await.expect("a turn");
    assert_eq!(take(), ["acquired", "acquired"]);
    world.store.fail_feed_pages(&[FaultKind::Unavailable]);
    ada.run_once().await.expect_err("a page fails");
    assert_eq!(take(), ["failed"]);
    ada.release().await;
    assert_eq!(take(), ["released", "released"]);
}

#[tokio::test]
async fn an_estimator_counts_from_outside() {
    let world = World::new(2);
    let ada = world.instance_with(shared("ada")).await;
    ada.drain().await.expect("drained");
    world.put_many(1).await;
    world.clock.advance_ms(1500);
    let processor = Settings::new("any").processor;
    let estimator = Estimator::new(world.store.clone(), world.clock.clone(), processor);
    let ledger = Ledger::new();
    let estimates = estimator.estimate(THINGS, None, 1000, &ledger).await.expect("estimates");
    assert_eq!(estimates.iter().map(|estimate| estimate.pending_changes).sum::<u64>(), 12);
    assert!(estimates.iter().all(|estimate| estimate.owner.as_deref() == Some("ada")));
    assert_eq!(estimates.iter().map(|estimate| estimate.lag_ms).max(), Some(1500));
    assert!(ledger.total().0 > 0.0, "it is on the caller's account");
    let none = estimator.estimate(COPIES, None, 1000, &ledger).await.expect("estimates");
    assert!(none.is_empty());
}

#[tokio::test]
async fn a_rebuild_goes_on_where_it_was_interrupted() {
    let world = World::new(1);
    let settings = || Settings { page_items_max: 3, ..shared("ada") };
    let ada = world.instance_with(settings()).await;
    world.put_many(1).await;
    ada.drain().await.expect("drained");
    let before = world.projected();
    let mut writes = 0;
    world.store.judge(move |container, _| {
        writes += usize::from(container == LEASES);
        // The third position cannot be saved.
        if writes == 3 { Verdict::Fail(FaultKind::Internal) } else { Verdict::Pass }
    });
    let name = ada.health()[0].projection;
    ada.rebuild(name, &|_| {}).await.expect_err("it is interrupted");
    world.store.mend();
    let interrupted = world.projected() - before;
    assert_eq!(interrupted, 9, "three pages");
    let report = ada.rebuild(name, &|_| {}).await.expect("rebuilt");
    assert_eq!(world.projected() - before - interrupted, 6, "from the second position on");
    assert_eq!((report.done, report.total), (12, Some(12)));
    ada.rebuild(name, &|_| {}).await.expect("rebuilt");
    assert_eq!(world.projected() - before - interrupted - 6, 12, "the next one begins at the beginning");
    world.assert_current().await;
    let _ = (EXPIRY_MS, world.store.feed_pages.load(Ordering::SeqCst));
}
