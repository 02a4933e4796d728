//! Wall clocks that are set back and forward under single processes: liveness goes by the time that passes.

use std::sync::Arc;

use onehop_change_feed::Processor;
use onehop_runtime::clock::ManualClock;

use crate::toy::{EXPIRY_MS, World, shared};

const HOUR_MS: i64 = 3_600_000;
/// Between two heartbeats, and less than the expiry.
const BEAT_MS: i64 = 15_000;

/// A process with a clock of its own.
struct Machine {
    clock: Arc<ManualClock>,
    processor: Processor,
}

impl Machine {
    async fn start(world: &World, owner: &str) -> Self {
        let clock = Arc::new(ManualClock::new(1_750_000_000_000));
        let processor = world.instance_with_clock(shared(owner), clock.clone()).await;
        Self { clock, processor }
    }

    async fn live(&self) {
        self.processor.renew().await;
        self.processor.run_once().await.expect("a turn");
    }
}

/// Lets time pass for these machines, which write their heartbeats meanwhile.
async fn pass(world: &World, machines: &[&Machine], passed_ms: i64) {
    for _ in 0..passed_ms / BEAT_MS {
        world.clock.advance_ms(BEAT_MS);
        for machine in machines {
            machine.clock.advance_ms(BEAT_MS);
        }
        for machine in machines {
            machine.live().await;
        }
    }
}

/// Two machines that have observed each other and share eight leases.
async fn two(world: &World) -> (Machine, Machine) {
    let (ada, bob) = (Machine::start(world, "ada").await, Machine::start(world, "bob").await);
    for _ in 0..8 {
        ada.processor.balance_leases().await.expect("a round");
        bob.processor.balance_leases().await.expect("a round");
    }
    pass(world, &[&ada, &bob], 4 * BEAT_MS).await;
    assert_eq!(world.holdings(&["ada", "bob"]).await, [4, 4]);
    (ada, bob)
}

/// The number of changes of owner for each lease.
async fn epochs(world: &World) -> Vec<u64> {
    world.leases().await.iter().map(|lease| lease.epoch).collect()
}

#[tokio::test]
async fn a_step_of_the_clock_does_not_delay_the_replacement() {
    for step_ms in [-HOUR_MS, HOUR_MS] {
        let world = World::new(8);
        let (ada, bob) = two(&world).await;
        bob.clock.step_wall_ms(step_ms);
        drop(ada);
        world.put_many(1).await;
        pass(&world, &[&bob], EXPIRY_MS + 2 * BEAT_MS).await;
        assert_eq!(world.holdings(&["ada", "bob"]).await, [0, 8], "after a step of {step_ms} ms");
        bob.processor.drain().await.expect("drained");
        world.assert_current().await;
    }
}

#[tokio::test]
async fn a_step_of_the_clock_makes_no_live_process_look_dead() {
    for step_ms in [-HOUR_MS, HOUR_MS] {
        let world = World::new(8);
        let (ada, bob) = two(&world).await;
        let before = epochs(&world).await;
        bob.clock.step_wall_ms(step_ms);
        // Before any other heartbeat is read or written.
        bob.processor.balance_leases().await.expect("a round");
        assert_eq!(epochs(&world).await, before, "after a step of {step_ms} ms");
        pass(&world, &[&ada, &bob], 8 * BEAT_MS).await;
        assert_eq!(epochs(&world).await, before, "after a step of {step_ms} ms, and a while");
        assert_eq!(world.holdings(&["ada", "bob"]).await, [4, 4]);
    }
}

#[tokio::test]
async fn a_process_whose_clock_was_set_back_goes_on_living() {
    let world = World::new(8);
    let (ada, bob) = two(&world).await;
    ada.clock.step_wall_ms(-HOUR_MS);
    pass(&world, &[&ada, &bob], 8 * BEAT_MS).await;
    assert_eq!(world.holdings(&["ada", "bob"]).await, [4, 4], "its heartbeat moved all the time");
    world.put_many(1).await;
    pass(&world, &[&ada, &bob], BEAT_MS).await;
    world.assert_current().await;
}
