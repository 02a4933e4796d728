//! Faults of the store: the page fails and is tried again without end, other feed ranges go on, and nothing
//! is parked.

use std::time::Duration;

use onehop_change_feed::{DEAD_LETTERS, DeadLetterCause, Processor, Settings, StallCause};
use onehop_store::{FaultKind, FeedRequest, Ledger, NewItem, PartitionKey, Store, WriteOp};
use serde_json::Value;

use crate::splitting_store::Verdict;
use crate::toy::{COPIES, Running, THINGS, World, shared};

/// The kinds of faults that lie with the store and not with a change.
const OF_THE_STORE: [FaultKind; 5] = [
    FaultKind::Throttled,
    FaultKind::Unavailable,
    FaultKind::Ambiguous,
    FaultKind::Full,
    FaultKind::Misconfigured,
];

async fn dead_letters(processor: &Processor) -> u64 {
    processor.status().await.expect("a status")[0].dead_letters
}

/// Has every write of a copy meet this.
fn judge_copies(world: &World, verdict: Verdict) {
    world.store.judge(move |container, _| if container == COPIES { verdict } else { Verdict::Pass });
}

#[tokio::test]
async fn a_fault_of_the_store_parks_nothing_however_long_it_lasts() {
    for kind in OF_THE_STORE {
        let world = World::new(4);
        let ada = world.instance("ada").await;
        world.put_many(1).await;
        judge_copies(&world, Verdict::Fail(kind));
        for _ in 0..50 {
            ada.run_once().await.expect_err("the pages fail");
            assert_eq!(dead_letters(&ada).await, 0, "{kind:?}");
        }
        world.store.mend();
        ada.drain().await.expect("drained");
        assert_eq!(dead_letters(&ada).await, 0, "{kind:?}");
        world.assert_current().await;
    }
}

#[tokio::test]
async fn lost_races_park_nothing_however_many() {
    let world = World::new(4);
    let ada = world.instance("ada").await;
    world.put_many(1).await;
    judge_copies(&world, Verdict::Overtake);
    for _ in 0..5 {
        ada.run_once().await.expect_err("the pages fail");
        assert_eq!(dead_letters(&ada).await, 0);
    }
    assert_eq!(ada.status().await.expect("a status")[0].stall_cause, Some(StallCause::Contention));
    world.store.mend();
    ada.drain().await.expect("drained");
    world.assert_current().await;
}

#[tokio::test]
async fn a_write_that_is_refused_though_nothing_changes_is_poison() {
    let world = World::new(1);
    let ada = world.instance("ada").await;
    world.put(1, 1).await;
    judge_copies(&world, Verdict::Refuse);
    ada.drain().await.expect("drained");
    let letter = ada.dead_letters().await.expect("letters").dead_letters.remove(0);
    assert_eq!(letter.cause, Some(DeadLetterCause::WriteRefused));
    let error = letter.error.expect("an error");
    assert!(error.starts_with("a write is refused although nothing that was read changes: "), "{error}");
}

#[tokio::test]
async fn a_change_that_the_store_refuses_is_parked_with_its_cause() {
    for (verdict, cause) in [
        (Verdict::RefuseSize, DeadLetterCause::WriteRefused),
        (Verdict::Fail(FaultKind::PartitionFull), DeadLetterCause::PartitionFull),
        (Verdict::Fail(FaultKind::Internal), DeadLetterCause::RequestRefused),
        (Verdict::Fail(FaultKind::Corrupt), DeadLetterCause::Damaged),
    ] {
        let world = World::new(1);
        let ada = world.instance("ada").await;
        world.put(1, 1).await;
        judge_copies(&world, verdict);
        ada.drain().await.expect("drained");
        let letters = ada.dead_letters().await.expect("letters").dead_letters;
        assert_eq!(letters.iter().map(|letter| letter.cause).collect::<Vec<_>>(), [Some(cause)]);
        world.store.mend();
        let report = ada.replay(None).await.expect("a replay");
        assert_eq!((report.items_replayed, report.partitions_parked), (1, 0));
        world.assert_current().await;
    }
}

#[tokio::test]
async fn a_page_that_failed_repeats_only_what_failed() {
    let world = World::new(1);
    let settings = Settings { page_items_max: 100, ..shared("ada") };
    let ada = world.instance_with(settings).await;
    ada.drain().await.expect("drained");
    for id in 0..12 {
        world.put(id, id).await;
    }
    world.store.judge(|container, operation| match container {
        COPIES if operation.id() == "thing-7" => Verdict::Fail(FaultKind::Throttled),
        _ => Verdict::Pass,
    });
    for _ in 0..5 {
        ada.run_once().await.expect_err("the page fails");
    }
    let diary = world.diary.lock().expect("no panic while locked").clone();
    let tries = |id: u64| diary.iter().filter(|(_, home, _)| *home == format!("home-{id}")).count();
    for id in (0..12).filter(|id| *id != 7) {
        assert_eq!(tries(id), 1, "the change of home {id}");
    }
    assert!(tries(7) >= 5);
    world.store.mend();
    ada.drain().await.expect("drained");
    world.assert_current().await;
}

#[tokio::test]
async fn the_status_says_for_how_long_and_why_a_range_stands_still() {
    let world = World::new(2);
    let ada = world.instance("ada").await;
    ada.drain().await.expect("drained");
    world.put_many(1).await;
    judge_copies(&world, Verdict::Fail(FaultKind::Throttled));
    let stall = async || {
        let status = ada.status().await.expect("a status").remove(0);
        (status.stalled_ms, status.stall_cause)
    };
    assert_eq!(stall().await, (0, None));
    for _ in 0..3 {
        ada.run_once().await.expect_err("the pages fail");
        world.clock.advance_ms(1000);
    }
    let throttled = Some(StallCause::Fault(FaultKind::Throttled));
    assert_eq!(stall().await, (3000, throttled));
    world.store.mend();
    ada.drain().await.expect("drained");
    assert_eq!(stall().await, (0, None));
    world.store.fail_feed_pages(&[FaultKind::Unavailable]);
    ada.run_once().await.expect_err("a page cannot be read");
    assert_eq!(stall().await, (0, Some(StallCause::Fault(FaultKind::Unavailable))));
    ada.release().await;
    assert_eq!(stall().await, (0, None), "another instance may read it by now");
}

async fn start(world: &World) -> Running {
    let settings = Settings { page_items_max: 200, ..Settings::new("ada") };
    Running::start(world, vec![world.copier(&settings)], settings).await
}

/// The homes of the things in each feed range.
async fn homes(world: &World) -> Vec<Vec<String>> {
    let mut homes = Vec::new();
    for range in world.store.feed_ranges(THINGS).await.expect("ranges") {
        let request =
            FeedRequest { container: THINGS, range: &range, continuation: None, types: None, limit: 1000 };
        let page = world.store.read_change_feed(&request, &Ledger::new()).await.expect("a page");
        homes.push(page.changes.iter().map(|change| change.partition_key.to_string()).collect());
    }
    homes
}

#[tokio::test]
async fn other_feed_ranges_go_on_while_one_is_throttled() {
    let world = World::new(2);
    for home in 0..200 {
        world.put(home, home).await;
    }
    let homes = homes(&world).await;
    assert!(homes[0].len() > 64, "more than work at the same time: {homes:?}");
    let throttled = homes[0].clone();
    world.store.judge(move |container, operation| {
        let home = operation.id().replace("thing-", "home-");
        let is_throttled = container == COPIES && throttled.contains(&home);
        if is_throttled { Verdict::Fail(FaultKind::Throttled) } else { Verdict::Pass }
    });
    let running = start(&world).await;
    running.pass(&world, Duration::from_millis(500)).await;
    let copied = world.things(COPIES).await.into_keys().map(|(home, _)| home).collect::<Vec<_>>();
    assert_eq!(copied.len(), homes[1].len(), "all of the other range, and none of the throttled one");
    running.pass(&world, Duration::from_secs(25)).await;
    world.store.mend();
    running.pass(&world, Duration::from_secs(20)).await;
    world.assert_current().await;
    assert_eq!(dead_letters(&running.processor).await, 0);
}

#[tokio::test]
async fn a_failing_page_is_tried_again_at_bounded_intervals() {
    let world = World::new(1);
    world.put(1, 1).await;
    judge_copies(&world, Verdict::Fail(FaultKind::Throttled));
    let running = start(&world).await;
    running.pass(&world, Duration::from_secs(3600)).await;
    let tries = world.projected();
    // A page is tried nine times within some 5 s, and then rests for 5 to 10 s.
    assert!((2_000..4_000).contains(&tries), "{tries} tries in an hour");
    running.pass(&world, Duration::from_secs(20)).await;
    assert!(world.projected() > tries, "it goes on being tried");
    world.store.mend();
    running.pass(&world, Duration::from_secs(15)).await;
    world.assert_current().await;
}

/// Parks a change of each of these homes, and gives its dead letter the form and the error of an earlier
/// release.
async fn park_as_before(world: &World, letters: &[(u64, &str)]) {
    let ada = world.instance("ada").await;
    for (home, _) in letters {
        world.put(*home, *home).await;
    }
    judge_copies(world, Verdict::RefuseSize);
    ada.drain().await.expect("drained");
    ada.release().await;
    for mut letter in world.letters().await {
        let home = letter["partitionKey"].clone();
        let (_, error) = letters.iter().find(|(of, _)| home == format!("home-{of}")).expect("a home");
        let entry = letter["items"][0].as_object_mut().expect("an entry");
        entry.remove("cause");
        entry.insert("error".to_owned(), (*error).into());
        let id = letter["id"].as_str().expect("an id").to_owned();
        let partition_key = PartitionKey::from(id.as_str());
        let write = WriteOp::Upsert(NewItem::encode(id, &letter));
        world.store.write(DEAD_LETTERS, &partition_key, write, &Ledger::new()).await.expect("a write");
    }
}

/// The homes with dead letters, and their causes.
async fn parked(world: &World) -> Vec<(String, Option<String>)> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let letters = world.letters().await;
    let letter =
        |letter: Value| (text(&letter["partitionKey"]).expect("a key"), text(&letter["items"][0]["cause"]));
    letters.into_iter().map(letter).collect()
}

const THROTTLED: &str = "the account has no request units left for now: 429/3200: Request rate is large";

#[tokio::test]
async fn what_earlier_releases_parked_for_faults_is_replayed() {
    let world = World::new(2);
    let poison = "what was read cannot be used: an item's body has an unexpected shape";
    let lost = "what was read kept changing: the item has changed since it was read";
    park_as_before(&world, &[(0, THROTTLED), (1, poison), (2, lost)]).await;
    world.store.mend();
    world.put(0, 100).await;
    let running = start(&world).await;
    running.pass(&world, Duration::from_secs(1)).await;
    assert_eq!(parked(&world).await, [("home-1".to_owned(), None)], "a poison message is an operator's");
    assert_eq!(world.things(COPIES).await.len(), 3, "the change behind a letter is there, too");
    running.processor.replay(None).await.expect("a replay");
    world.assert_current().await;
}

#[tokio::test]
async fn a_replay_that_meets_a_fault_goes_on_after_it() {
    let world = World::new(2);
    park_as_before(&world, &[(0, THROTTLED), (1, THROTTLED)]).await;
    judge_copies(&world, Verdict::Fail(FaultKind::Throttled));
    let running = start(&world).await;
    running.pass(&world, Duration::from_secs(300)).await;
    assert_eq!(parked(&world).await.len(), 2);
    world.store.mend();
    running.pass(&world, Duration::from_secs(20)).await;
    assert_eq!(parked(&world).await, []);
    world.assert_current().await;
}

#[tokio::test]
async fn what_is_poison_after_all_is_replayed_once() {
    let world = World::new(1);
    park_as_before(&world, &[(0, THROTTLED)]).await;
    let before = world.projected();
    let running = start(&world).await;
    running.pass(&world, Duration::from_secs(300)).await;
    assert_eq!(parked(&world).await, [("home-0".to_owned(), Some("WRITE_REFUSED".to_owned()))]);
    assert_eq!(world.projected() - before, 1);
}
