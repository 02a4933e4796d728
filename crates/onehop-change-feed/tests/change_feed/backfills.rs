//! Backfills: positions of single projections, over deployments that add one and over continuations that the
//! store refuses.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt;
use onehop_change_feed::{LEASES, LeaseItem, PositionOutcome, Processor, Projection, Settings, WriteScope};
use onehop_store::{FaultKind, Ledger, NewItem, WriteOp};

use crate::sources::{Diary, Recorder};
use crate::splitting_store::Verdict;
use crate::toy::{EXPIRY_MS, Running, THINGS, World, shared};

/// An instance that shares the leases, with projections of these names.
async fn open(world: &World, owner: &str, names: &[&'static str], diary: &Diary) -> Processor {
    let recorder = |name: &&'static str| Arc::new(Recorder::of(name, diary)) as Arc<dyn Projection>;
    world.instance_of_all(names.iter().map(recorder).collect(), shared(owner)).await
}

/// The number of times that a projection saw each number.
fn seen(diary: &Diary, name: &str) -> BTreeMap<u64, usize> {
    let mut seen = BTreeMap::new();
    for (_, number) in diary.lock().expect("no panic while locked").iter().filter(|(of, _)| *of == name) {
        *seen.entry(*number).or_default() += 1;
    }
    seen
}

fn times(diary: &Diary, name: &str) -> usize {
    seen(diary, name).values().sum()
}

#[tokio::test]
async fn a_rolling_deployment_neither_restarts_nor_skips_a_projection() {
    let (world, diary) = (World::new(4), Diary::default());
    world.put_many(10).await;
    let mut written = 120;
    let mut old = open(&world, "old", &["first"], &diary).await;
    old.drain().await.expect("drained");
    for round in 0..4 {
        // The new release steals leases one after the other, and dies half way through.
        let new = open(&world, &format!("new-{round}"), &["first", "second"], &diary).await;
        for _ in 0..6 {
            new.balance_leases().await.expect("a round");
            new.run_once().await.expect("a turn");
            let _ = old.run_once().await;
        }
        for home in 0..12 {
            world.put(home, 100 + round).await;
        }
        written += 12;
        drop(new);
        // The old release takes the leases back, and goes on with its own projections.
        world.clock.advance_ms(1);
        old.balance_leases().await.expect("a round");
        world.clock.advance_ms(EXPIRY_MS);
        old.renew().await;
        old.drain().await.expect("drained");
        old = open(&world, "old", &["first"], &diary).await;
    }
    drop(old);
    let before = times(&diary, "first");
    let new = open(&world, "new", &["first", "second"], &diary).await;
    new.balance_leases().await.expect("a round");
    world.clock.advance_ms(EXPIRY_MS);
    new.drain().await.expect("drained");
    let second = seen(&diary, "second");
    assert_eq!(second.len(), written, "everything was seen");
    assert_eq!(times(&diary, "second"), written, "nothing was seen again");
    assert_eq!(times(&diary, "first"), before, "the first projection goes on at the checkpoint");
    assert!(world.leases().await.iter().all(|lease| lease.backfills.is_empty()));
}

#[tokio::test]
async fn a_backfill_misses_nothing_before_a_page_that_was_full() {
    let (world, diary) = (World::new(1), Diary::default());
    world.put_many(1).await;
    let both = ["first", "second"];
    let new = open(&world, "new", &both, &diary).await;
    new.drain().await.expect("drained");
    new.release().await;
    for id in 1..=25 {
        world.put(0, id).await;
    }
    // The old release stops behind a full page, which states no progress.
    let old = open(&world, "old", &["first"], &diary).await;
    old.balance_leases().await.expect("a round");
    for _ in 0..3 {
        old.run_once().await.expect("a turn");
    }
    assert_eq!(times(&diary, "first"), 27);
    old.release().await;
    // Neither has the new one come to the end when the backfill looks whether it may join.
    let new = open(&world, "new", &both, &diary).await;
    new.balance_leases().await.expect("a round");
    new.run_once().await.expect("a turn");
    new.drain().await.expect("drained");
    assert_eq!((times(&diary, "second"), seen(&diary, "second").len()), (37, 37));
}

#[tokio::test]
async fn an_added_projection_does_not_hold_up_the_others() {
    let (world, diary) = (World::new(1), Diary::default());
    world.put_many(10).await;
    open(&world, "ada", &["first"], &diary).await.drain().await.expect("drained");
    let ada = open(&world, "ada", &["first", "second"], &diary).await;
    world.put(1, 100).await;
    ada.run_once().await.expect("a turn");
    assert!(seen(&diary, "first").contains_key(&121), "before the backfill is done");
    assert_eq!(times(&diary, "second"), 5);
    assert!(!seen(&diary, "second").contains_key(&121), "what is older comes first");
    let pending = |status: Vec<onehop_change_feed::ProjectionStatus>| {
        status.iter().map(|status| status.pending_changes).collect::<Vec<_>>()
    };
    assert_eq!(pending(ada.status().await.expect("a status")), [0, 116], "five of 121 are backfilled");
    world.store.background_pages.store(0, Ordering::SeqCst);
    ada.drain().await.expect("drained");
    assert!(world.store.background_pages.load(Ordering::SeqCst) >= 115 / 5, "a backfill is background work");
    assert_eq!(pending(ada.status().await.expect("a status")), [0, 0]);
    assert_eq!(seen(&diary, "second").len(), 121);
    assert_eq!(times(&diary, "first"), 121);
}

#[tokio::test]
async fn a_backfill_resumes_at_its_own_position() {
    let (world, diary) = (World::new(1), Diary::default());
    world.put_many(5).await;
    open(&world, "ada", &["first"], &diary).await.drain().await.expect("drained");
    let ada = open(&world, "ada", &["first", "second"], &diary).await;
    for _ in 0..4 {
        ada.run_once().await.expect("a turn");
    }
    assert_eq!(times(&diary, "second"), 20);
    drop(ada);
    open(&world, "ada", &["first", "second"], &diary).await.drain().await.expect("drained");
    assert_eq!((times(&diary, "second"), seen(&diary, "second").len()), (60, 60));
}

#[tokio::test]
async fn the_parts_of_a_split_range_keep_their_backfills() {
    let (world, diary) = (World::new(1), Diary::default());
    world.put_many(5).await;
    open(&world, "ada", &["first"], &diary).await.drain().await.expect("drained");
    let ada = open(&world, "ada", &["first", "second"], &diary).await;
    for _ in 0..4 {
        ada.run_once().await.expect("a turn");
    }
    world.store.split(0);
    ada.drain().await.expect("drained");
    assert_eq!(world.leases().await.len(), 2);
    assert_eq!(seen(&diary, "second").len(), 60);
    assert!(times(&diary, "second") < 70, "each part goes on where the whole stood");
    assert_eq!(times(&diary, "first"), 60);
}

#[tokio::test]
async fn an_earlier_release_that_drops_positions_costs_a_backfill_alone() {
    let (world, diary) = (World::new(1), Diary::default());
    world.put_many(5).await;
    let both = ["first", "second"];
    open(&world, "ada", &both, &diary).await.drain().await.expect("drained");
    // As a process of an earlier release leaves the lease that knows the first projection alone.
    let lease: LeaseItem = world.leases().await.remove(0);
    let earlier = LeaseItem { projections: vec!["first".to_owned()], backfills: Vec::new(), ..lease };
    world.write_lease_item(WriteOp::Upsert(NewItem::encode(earlier.id.clone(), &earlier))).await;
    open(&world, "ada", &both, &diary).await.drain().await.expect("drained");
    assert_eq!((times(&diary, "first"), times(&diary, "second")), (60, 120));
}

#[tokio::test]
async fn a_refused_continuation_is_mended_in_the_background() {
    let (world, diary) = (World::new(1), Diary::default());
    let names = ["first", "second"];
    let ada = open(&world, "ada", &names, &diary).await;
    world.put_many(5).await;
    ada.drain().await.expect("drained");
    // Written, not yet read, and behind the position that is lost.
    world.put(1, 100).await;
    world.store.fail_feed_pages(&[FaultKind::InvalidContinuation]);
    world.store.background_pages.store(0, Ordering::SeqCst);
    world.store.feed_pages.store(0, Ordering::SeqCst);
    ada.run_once().await.expect("a turn");
    world.put(1, 101).await;
    ada.drain().await.expect("drained");
    for name in names {
        assert_eq!(seen(&diary, name).len(), 62, "{name}: nothing is skipped");
    }
    let background = world.store.background_pages.load(Ordering::SeqCst);
    let live = world.store.feed_pages.load(Ordering::SeqCst) - background;
    assert_eq!(background, 62 / 5 + 1, "62 changes in pages of five");
    assert!(live <= 3, "nothing is read again at the priority of requests: {live}");
    assert!(world.leases().await[0].backfills.is_empty());
    world.put(1, 102).await;
    ada.run_once().await.expect("a turn");
    assert!(names.iter().all(|name| seen(&diary, name).contains_key(&63)), "the live reader goes on");
}

#[tokio::test]
async fn a_process_that_dies_after_a_refusal_loses_nothing() {
    let (world, diary) = (World::new(1), Diary::default());
    let ada = open(&world, "ada", &["first"], &diary).await;
    world.put_many(5).await;
    ada.drain().await.expect("drained");
    world.put(1, 100).await;
    world.store.fail_feed_pages(&[FaultKind::InvalidContinuation]);
    ada.run_once().await.expect("a turn");
    drop(ada);
    open(&world, "ada", &["first"], &diary).await.drain().await.expect("drained");
    assert_eq!(seen(&diary, "first").len(), 61);
}

#[tokio::test]
async fn a_position_is_not_reached_before_its_backfill() {
    let (world, diary) = (World::new(1), Diary::default());
    world.put_many(2).await;
    open(&world, "ada", &["first"], &diary).await.drain().await.expect("drained");
    let ada = open(&world, "ada", &["first", "second"], &diary).await;
    ada.run_once().await.expect("a turn");
    let written = WriteScope { containers: vec![THINGS], ..WriteScope::default() };
    let position = ada.position_of(&written).await.expect("a position").expect("it is followed");
    let wait = || async { ada.wait_for_position(&position, Duration::MAX, &Ledger::new()).await };
    assert!(wait().now_or_never().is_none(), "the first projection is there, and the second is not");
    ada.drain().await.expect("drained");
    assert_eq!(wait().await.expect("an outcome"), PositionOutcome::Reached);
}

#[tokio::test]
async fn a_position_is_not_reached_while_an_older_release_holds_the_leases() {
    let (world, diary) = (World::new(2), Diary::default());
    let old = open(&world, "old", &["first"], &diary).await;
    old.balance_leases().await.expect("a round");
    let new = open(&world, "new", &["first", "second"], &diary).await;
    world.put_many(2).await;
    old.drain().await.expect("drained");
    let written = WriteScope { containers: vec![THINGS], ..WriteScope::default() };
    let position = new.position_of(&written).await.expect("a position").expect("it is followed");
    let wait = || async { new.wait_for_position(&position, Duration::MAX, &Ledger::new()).await };
    assert!(wait().now_or_never().is_none(), "nobody serves the second projection");
    old.release().await;
    new.balance_leases().await.expect("a round");
    new.drain().await.expect("drained");
    assert_eq!(wait().await.expect("an outcome"), PositionOutcome::Reached);
    assert_eq!(seen(&diary, "second"), seen(&diary, "first"));
}

#[tokio::test]
async fn a_running_processor_backfills_beside_its_readers() {
    let (world, diary) = (World::new(2), Diary::default());
    world.put_many(10).await;
    open(&world, "ada", &["first"], &diary).await.drain().await.expect("drained");
    let recorder = |name| Arc::new(Recorder::of(name, &diary)) as Arc<dyn Projection>;
    let settings = Settings { page_items_max: 5, ..Settings::new("ada") };
    let running = Running::start(&world, vec![recorder("first"), recorder("second")], settings).await;
    running.pass(&world, Duration::from_secs(1)).await;
    world.put(1, 100).await;
    running.pass(&world, Duration::from_secs(1)).await;
    assert_eq!((times(&diary, "first"), times(&diary, "second")), (121, 121));
    assert!(world.leases().await.iter().all(|lease| lease.backfills.is_empty()));
    running.stop.cancel();
    running.pass(&world, Duration::from_secs(1)).await;
    assert!(world.leases().await.iter().all(|lease| lease.owner.is_none()), "all leases are released");
}

#[tokio::test]
async fn a_lease_keeps_a_bounded_number_of_positions() {
    let (world, diary) = (World::new(1), Diary::default());
    world.put(1, 1).await;
    let mut names = vec!["first"];
    names.extend((0..100).map(|number| &*format!("removed-{number}").leak()));
    open(&world, "ada", &names, &diary).await.drain().await.expect("drained");
    open(&world, "ada", &["first"], &diary).await.drain().await.expect("drained");
    let lease = world.leases().await.remove(0);
    assert_eq!((lease.projections.len(), lease.backfills.len()), (1, 64));
}

#[tokio::test]
async fn a_backfill_that_meets_a_fault_goes_on_after_it() {
    let (world, diary) = (World::new(1), Diary::default());
    world.put_many(2).await;
    open(&world, "ada", &["first"], &diary).await.drain().await.expect("drained");
    let ada = open(&world, "ada", &["first", "second"], &diary).await;
    ada.run_once().await.expect("a turn");
    world.store.judge(|container, _| match container {
        LEASES => Verdict::Fail(FaultKind::Throttled),
        _ => Verdict::Pass,
    });
    ada.drain().await.expect_err("its positions cannot be saved");
    world.store.mend();
    ada.drain().await.expect("drained");
    assert_eq!(seen(&diary, "second").len(), 24);
    assert!(world.leases().await[0].backfills.is_empty());
    assert_eq!(world.leases().await[0].projections, ["first", "second"]);
}
