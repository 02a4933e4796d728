//! Events while a page is worked on, and between pages.

use std::convert::Infallible;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use onehop_change_feed::{
    Backoff, LEASES, PositionOutcome, Processor, ProcessorError, Settings, Sharing, WriteScope,
};
use onehop_runtime::tasks::Tasks;
use onehop_store::{Ledger, SignalScope, Store as _};

use crate::toy::{COPIES, EXPIRY_MS, SHORT_MS, THINGS, World, shared};

#[tokio::test]
async fn a_lease_is_renewed_while_a_long_page_is_worked_on() {
    let world = World::new(1);
    world.put_many(1).await;
    let (ada, bob) = (world.instance("ada").await, world.instance("bob").await);
    ada.balance_leases().await.expect("a tick");
    world.store.close(COPIES);
    let meanwhile = async {
        world.store.until_one_waits().await;
        for _ in 0..10 {
            world.clock.advance_ms(SHORT_MS);
            ada.renew().await;
            bob.balance_leases().await.expect("a tick");
            assert_eq!(world.holdings(&["ada", "bob"]).await, [1, 0]);
        }
        world.store.open();
    };
    let (page, ()) = tokio::join!(ada.run_once(), meanwhile);
    assert_eq!(page.expect("a turn"), 5);
    let leases = world.leases().await;
    assert!(leases[0].continuation.is_some() && leases[0].epoch == 1, "{leases:#?}");
}

#[tokio::test]
async fn a_lease_lost_during_a_page_ends_it_without_a_checkpoint() {
    let world = World::new(1);
    for id in 0..5 {
        world.put(1, id).await;
    }
    let (ada, bob) = (world.instance("ada").await, world.instance("bob").await);
    ada.balance_leases().await.expect("a tick");
    // From now on bob observes the heartbeat of ada.
    bob.balance_leases().await.expect("a tick");
    world.store.close(COPIES);
    let meanwhile = async {
        world.store.until_one_waits().await;
        world.clock.advance_ms(EXPIRY_MS);
        bob.balance_leases().await.expect("a tick");
        ada.renew().await;
        world.store.open();
    };
    let (page, ()) = tokio::join!(ada.run_once(), meanwhile);
    assert_eq!(page.expect("a turn"), 0);
    assert_eq!(world.projected(), 1, "it stopped at the next step");
    let leases = world.leases().await;
    assert!(leases[0].continuation.is_none() && leases[0].owner.as_deref() == Some("bob"), "{leases:#?}");
    bob.drain().await.expect("drained");
    world.assert_current().await;
}

#[tokio::test]
async fn one_page_at_most_is_read_ahead() {
    for prefetch in [None, Some(false)] {
        let world = World::new(1);
        world.put_many(3).await;
        let ada = world.instance_with(Settings { prefetch, ..shared("ada") }).await;
        ada.balance_leases().await.expect("a tick");
        let pages = || world.store.feed_pages.swap(0, Ordering::SeqCst);
        pages();
        world.store.close(COPIES);
        let meanwhile = async {
            world.store.until_one_waits().await;
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            assert_eq!(pages(), if prefetch.is_none() { 2 } else { 1 });
            world.store.open();
        };
        let (page, ()) = tokio::join!(ada.run_once(), meanwhile);
        assert_eq!(page.expect("a turn"), 5);
        ada.run_once().await.expect("a turn");
        assert_eq!(pages(), 1, "the second page was read, or the third");
        ada.drain().await.expect("drained");
        assert_eq!(world.projected(), 36);
        world.assert_current().await;
    }
}

#[tokio::test]
async fn a_single_instance_only_writes_checkpoints() {
    let world = World::new(1);
    world.put_many(1).await;
    let ada =
        world.instance_with(Settings { page_items_max: 5, ..Settings::new("ada").without_delays() }).await;
    ada.run_once().await.expect("a turn");
    assert_eq!(world.store.feed_pages.load(Ordering::SeqCst), 1);
    let requests = world.store.lease_requests.load(Ordering::SeqCst);
    for _ in 0..10 {
        world.clock.advance_ms(SHORT_MS);
        ada.run_once().await.expect("a turn");
    }
    let checkpoints = 2;
    assert!(world.store.lease_requests.load(Ordering::SeqCst) <= requests + checkpoints);
}

fn run(processor: &Processor) -> Tasks {
    let tasks = Tasks::new();
    let (processor, readers) = (processor.clone(), tasks.clone());
    tasks.spawn("change feed", async move {
        let spawn = |name, reader: BoxFuture<'static, ()>| {
            readers.spawn(name, reader.map(Ok::<(), Infallible>));
        };
        processor.run(spawn).await;
        Ok::<(), Infallible>(())
    });
    tasks
}

#[tokio::test]
async fn readers_follow_leases_and_see_writes_of_other_processes() {
    let world = World::new(4);
    let mut lease_written = world.store.change_signal(&SignalScope::of(LEASES)).expect("a signal");
    let mut copy_written = world.store.change_signal(&SignalScope::of(COPIES)).expect("a signal");
    world.store.keep_silent();
    let short = Duration::from_millis(2);
    let sharing = Sharing::WithOthers { acquire: short, expire: Duration::from_secs(60), renew: short };
    let poll = Backoff::new(Duration::from_millis(1), Duration::from_millis(2));
    let settings = |owner| Settings { sharing, poll, ..shared(owner) };
    let ada = world.instance_with(settings("ada")).await;
    let _ada_tasks = run(&ada);
    while !ada.health()[0].running {
        tokio::task::yield_now().await;
    }
    let bob = world.instance_with(settings("bob")).await;
    let _bob_tasks = run(&bob);
    while world.holdings(&["ada", "bob"]).await != [2, 2] {
        lease_written.changed().await.expect("the store is open");
    }
    world.put_many(1).await;
    while world.projected() < 12 {
        copy_written.changed().await.expect("the store is open");
    }
    // The other instance may take longer than a drain waits.
    loop {
        match ada.drain().await {
            Err(ProcessorError::NotDrained) => {}
            outcome => break outcome.expect("drained"),
        }
    }
    world.assert_current().await;
    let owners: Vec<_> = ["ada", "bob"].map(str::to_owned).into();
    let diary = world.diary.lock().expect("no panic while locked");
    assert!(owners.iter().all(|owner| diary.iter().any(|(by, _, _)| by == owner)), "{diary:?}");
}

#[tokio::test]
async fn a_reader_rests_after_a_page_until_a_position_is_waited_for() {
    let world = World::new(1);
    let mut copy_written = world.store.change_signal(&SignalScope::of(COPIES)).expect("a signal");
    let hour = Duration::from_secs(3600);
    let settings = Settings { page_rest: Some(hour), ..Settings::new("ada").without_delays() };
    let ada = world.instance_with(settings).await;
    let _tasks = run(&ada);
    world.put(1, 1).await;
    while world.projected() < 1 {
        copy_written.changed().await.expect("the store is open");
    }
    world.put(1, 2).await;
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(world.projected(), 1, "the reader rests");
    let written = WriteScope { containers: vec![THINGS], ..WriteScope::default() };
    let position = ada.position_of(&written).await.expect("a position").expect("a projection follows");
    let reached = ada.wait_for_position(&position, hour, &Ledger::new()).await;
    assert_eq!(reached.expect("a position"), PositionOutcome::Reached);
    assert_eq!(world.projected(), 2);
}
