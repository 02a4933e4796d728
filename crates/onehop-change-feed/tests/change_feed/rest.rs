//! The work of instances while nothing is written, and the end of their rest.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use onehop_change_feed::{
    IdleCharges, IntendedWrite, LEASES, LeaseItem, Processor, Projection, ProjectionError, ReadRequest,
    Settings, Sharing, Step, StepInput,
};
use onehop_store::{Change, ContainerName, FaultKind, NewItem, WriteOp};

use crate::splitting_store::Verdict;
use crate::toy::{COPIES, THINGS, Thing, World, shared};

/// Between two polls of a reader that finds nothing.
const POLL_S: u64 = 5;
const HOUR_S: u64 = 3600;
/// The expiry of a lease.
const LEASE_LIFE_MS: i64 = 60_000;

/// Copies things, or does nothing with copies.
struct Follower {
    name: &'static str,
    source: ContainerName,
}

impl Projection for Follower {
    fn name(&self) -> &'static str {
        self.name
    }

    fn source(&self) -> ContainerName {
        self.source
    }

    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        if self.source == COPIES {
            return Ok(Step::done());
        }
        if input.is_first() {
            return Ok(Step::ask(vec![ReadRequest::item(COPIES, change.partition_key.clone(), &*change.id)]));
        }
        let thing: Thing = change.item.decode()?;
        let write = WriteOp::Upsert(NewItem::encode(thing.id.clone(), &thing));
        let write = IntendedWrite::one(COPIES, change.partition_key.clone(), write);
        Ok(Step::done().after_writing(vec![write]))
    }
}

fn idle(feed_ranges: u64, processes: u64) -> f64 {
    let settings = Settings { sharing: Sharing::with_others(), ..Settings::new("any") };
    let charges = IdleCharges::of(&settings, &onehop_store::charges::Calibration::current());
    charges.total(feed_ranges, processes).0
}

/// An instance with three projections of two source containers.
async fn open(world: &World, owner: &str) -> Processor {
    let follower = |name, source| Arc::new(Follower { name, source }) as Arc<dyn Projection>;
    let projections = vec![follower("a", THINGS), follower("b", COPIES), follower("c", COPIES)];
    world.instance_of_all(projections, shared(owner)).await
}

fn new_world() -> World {
    let world = World::of_physical_partitions(4);
    world.store.keep_silent();
    world
}

/// Passes time, in which each instance writes heartbeats and balances when that is due, and polls its feed
/// ranges.
async fn pass(world: &World, processors: &[&Processor], seconds: u64) {
    for _ in 0..seconds / POLL_S {
        world.clock.advance_ms(POLL_S as i64 * 1000);
        for processor in processors {
            processor.renew().await;
            let _ = processor.run_once().await;
        }
    }
}

async fn readers(processor: &Processor) -> usize {
    processor.leases().await.expect("leases").iter().filter(|lease| lease.mine).count()
}

async fn charge(processors: &[&Processor]) -> f64 {
    let mut total = 0.0;
    for processor in processors {
        for status in processor.status().await.expect("a status") {
            total += status.request_charge.0;
        }
    }
    total
}

/// Requests to the lease container, polls, and request units for each second, over an hour.
async fn rest(world: &World, processors: &[&Processor]) -> (usize, usize, f64) {
    pass(world, processors, 600).await;
    let before = charge(processors).await;
    world.store.lease_requests.store(0, Ordering::SeqCst);
    world.store.feed_pages.store(0, Ordering::SeqCst);
    pass(world, processors, HOUR_S).await;
    let lease_requests = world.store.lease_requests.load(Ordering::SeqCst);
    let polls = world.store.feed_pages.load(Ordering::SeqCst);
    (lease_requests, polls, (charge(processors).await - before) / HOUR_S as f64)
}

#[tokio::test]
async fn at_rest_there_are_heartbeats_and_polls_and_no_more() {
    let world = new_world();
    let ada = open(&world, "ada").await;
    world.put_many(1).await;
    let (lease_requests, polls, charged) = rest(&world, &[&ada]).await;
    assert_eq!(world.leases().await.len(), 2 * 4, "four feed ranges of two source containers");
    println!("alone: {lease_requests} heartbeats and {polls} polls an hour, {charged:.2} RU/s");
    // Every 13 s, seen at every fifth second.
    assert_eq!(lease_requests, 3600 / 15);
    assert_eq!(polls, 8 * 3600 / 5);
    assert!(charged <= idle(8, 1), "{charged}");
    world.assert_current().await;
}

#[tokio::test]
async fn two_instances_read_each_others_heartbeats() {
    let world = new_world();
    let (ada, bob) = (open(&world, "ada").await, open(&world, "bob").await);
    let (lease_requests, polls, charged) = rest(&world, &[&ada, &bob]).await;
    assert_eq!(world.holdings(&["ada", "bob"]).await, [4, 4]);
    println!("two: {lease_requests} lease requests and {polls} polls an hour, {charged:.2} RU/s");
    assert_eq!(lease_requests, 2 * (3600 / 15 + 3600 / 20), "heartbeats, and reads of the other's");
    assert_eq!(polls, 8 * 3600 / 5);
    assert!(charged <= idle(8, 2), "{charged}");
}

#[tokio::test]
async fn a_newcomer_ends_the_rest_and_so_does_its_death() {
    let world = new_world();
    let ada = open(&world, "ada").await;
    pass(&world, &[&ada], 300).await;
    let bob = open(&world, "bob").await;
    bob.balance_leases().await.expect("a round");
    assert_eq!(world.holdings(&["ada", "bob"]).await, [7, 1]);
    pass(&world, &[&ada], 20).await;
    assert_eq!(readers(&ada).await, 7, "it has noticed without a change");
    assert_eq!(world.lease_items("heartbeat").await.len(), 2);
    // Bob does nothing any more.
    pass(&world, &[&ada], 90).await;
    assert_eq!(world.holdings(&["ada", "bob"]).await, [8, 0]);
    assert_eq!(world.lease_items("heartbeat").await.len(), 1, "the heartbeat of the dead is deleted");
    world.put_many(1).await;
    ada.drain().await.expect("drained");
    world.assert_current().await;
}

#[tokio::test]
async fn without_its_heartbeat_an_instance_gives_up_its_leases() {
    let world = new_world();
    let ada = open(&world, "ada").await;
    pass(&world, &[&ada], 60).await;
    world.store.judge(|container, _| match container {
        LEASES => Verdict::Fail(FaultKind::Unavailable),
        _ => Verdict::Pass,
    });
    pass(&world, &[&ada], 40).await;
    assert_eq!(readers(&ada).await, 8, "its heartbeat has not expired");
    pass(&world, &[&ada], 30).await;
    assert_eq!(readers(&ada).await, 0);
    world.put_many(1).await;
    world.store.feed_pages.store(0, Ordering::SeqCst);
    pass(&world, &[&ada], 60).await;
    assert_eq!(world.store.feed_pages.load(Ordering::SeqCst), 0, "it does not work on its leases");
    world.store.mend();
    pass(&world, &[&ada], 20).await;
    assert_eq!(readers(&ada).await, 8);
    ada.drain().await.expect("drained");
    world.assert_current().await;
}

#[tokio::test]
async fn an_instance_that_stops_deletes_its_heartbeat() {
    let world = new_world();
    let (ada, bob) = (open(&world, "ada").await, open(&world, "bob").await);
    pass(&world, &[&ada, &bob], 300).await;
    assert_eq!(world.holdings(&["ada", "bob"]).await, [4, 4]);
    bob.release().await;
    assert_eq!(world.lease_items("heartbeat").await.len(), 1);
    pass(&world, &[&ada], 20).await;
    assert_eq!(world.holdings(&["ada", "bob"]).await, [8, 0], "nobody waits for an expiry");
}

#[tokio::test]
async fn the_status_of_another_instance_is_read_again_when_it_is_old() {
    let world = new_world();
    let (ada, bob) = (open(&world, "ada").await, open(&world, "bob").await);
    pass(&world, &[&ada, &bob], 300).await;
    world.put_many(1).await;
    for _ in 0..4 {
        pass(&world, &[&ada, &bob], 10).await;
    }
    let pending: u64 = ada.leases().await.expect("leases").iter().map(|lease| lease.pending_changes).sum();
    assert_eq!(pending, 0, "what bob has projected does not wait");
}

#[tokio::test]
async fn leases_that_cannot_be_read_for_as_long_as_a_lease_lives_have_no_status() {
    let world = new_world();
    let (ada, bob) = (open(&world, "ada").await, open(&world, "bob").await);
    pass(&world, &[&ada, &bob], 300).await;
    ada.status().await.expect("a status");
    world.store.hide_leases(true);
    world.clock.advance_ms(LEASE_LIFE_MS - 1);
    ada.status().await.expect("the figures of the last look are new enough");
    world.clock.advance_ms(1);
    let fault = ada.status().await.expect_err("nobody knows where the leases of bob stand");
    assert_eq!(fault.kind, FaultKind::Unavailable);
    world.store.hide_leases(false);
    ada.status().await.expect("they can be read again");
}

/// An instance at rest looks at no lease by itself. A lost lease is looked at, also where the first look
/// fails.
#[tokio::test]
async fn a_lost_lease_is_taken_again_after_a_failed_round() {
    let world = new_world();
    let ada = open(&world, "ada").await;
    pass(&world, &[&ada], 600).await;
    for lease in world.leases().await {
        let item = NewItem::encode(lease.id.clone(), &LeaseItem { epoch: 100, ..lease });
        world.write_lease_item(WriteOp::Replace { item, if_match: None }).await;
    }
    world.store.judge(|container, write| {
        let takes = |item: &NewItem| String::from_utf8_lossy(&item.body).contains("\"epoch\":101");
        match write {
            WriteOp::Replace { item, .. } if container == LEASES && takes(item) => {
                Verdict::Fail(FaultKind::Unavailable)
            }
            _ => Verdict::Pass,
        }
    });
    world.put_many(1).await;
    pass(&world, &[&ada], 10).await;
    assert!(readers(&ada).await < 8, "some readers have lost their leases");
    world.store.mend();
    pass(&world, &[&ada], 30).await;
    assert_eq!(readers(&ada).await, 8);
    world.put_many(2).await;
    pass(&world, &[&ada], 30).await;
    world.assert_current().await;
}
