//! Sustained throttling and outages: the read models' containers refuse writes for longer than any retry
//! lasts, while a virtual clock passes the time.

use std::sync::Arc;
use std::time::Duration;

use onehop::blog::containers::{FEED, USERS};
use onehop::blog::items::PostCopyItem;
use onehop::blog::read_models;
use onehop_change_feed::{Processor, Settings};
use onehop_runtime::tasks::Tasks;
use onehop_store::{FaultKind, Store};
use onehop_testing::failing_store::WriteFault;
use onehop_testing::virtual_clock::VirtualClock;
use tokio_util::sync::CancellationToken;

use crate::projections::world::{START_MS, World, post};

/// Longer than the retries of a change.
const OUTAGE: Duration = Duration::from_secs(25);
/// Longer than the rest between two tries of a page.
const AFTERWARDS: Duration = Duration::from_secs(15);

/// A process whose processor runs.
struct Running {
    clock: Arc<VirtualClock>,
    processor: Processor,
    stop: CancellationToken,
}

impl Running {
    async fn start(world: &World) -> Self {
        let (clock, stop) = (Arc::new(VirtualClock::new(START_MS)), CancellationToken::new());
        let store: Arc<dyn Store> = world.store.clone();
        let (projections, settings) = (read_models::projections(), Settings::new("test"));
        let processor = Processor::open(store, clock.clone(), projections, settings, stop.clone());
        let processor = processor.await.expect("the processor opens");
        let (running, tasks) = (processor.clone(), Tasks::new());
        tasks.clone().spawn_contained("change feed", async move {
            running.run(|name, reader| tasks.spawn_contained(name, reader)).await;
        });
        Self { clock, processor, stop }
    }

    async fn pass(&self, world: &World, duration: Duration) {
        self.clock.pass(duration, || world.store.progress()).await;
    }

    /// Ends the process, so that another one can verify.
    async fn end(self, world: &World) {
        self.stop.cancel();
        self.pass(world, AFTERWARDS).await;
    }
}

#[tokio::test]
async fn sustained_throttling_delays_copies_and_parks_nothing() {
    for kind in [FaultKind::Throttled, FaultKind::Unavailable] {
        let world = World::new().await;
        let ada = world.sign_up(1, "ada").await;
        let running = Running::start(&world).await;
        running.pass(&world, AFTERWARDS).await;
        world.store.judge(move |container, _, _| match container {
            USERS | FEED => WriteFault::Fail(kind),
            _ => WriteFault::Pass,
        });
        let posts: Vec<_> = (0..6).map(|number| post(number, &ada)).collect();
        for post in &posts {
            world.put_post(post).await;
            running.pass(&world, OUTAGE / 6).await;
        }
        let status = running.processor.status().await.expect("a status");
        let stalled = status.iter().filter(|status| status.stalled_ms > 10_000).count();
        assert_eq!(stalled, 2, "the copies of users and the feed stand still: {status:#?}");
        assert!(status.iter().all(|status| status.dead_letters == 0), "{kind:?}: {status:#?}");
        world.store.mend();
        running.pass(&world, AFTERWARDS).await;
        for post in &posts {
            assert_eq!(world.user_copy(post).await, Some(PostCopyItem::of(post)));
        }
        assert_eq!(world.feed().await.len(), 6);
        let parked = running.processor.dead_letters().await.expect("a list");
        assert_eq!(parked.dead_letters, []);
        running.end(&world).await;
        world.assert_clean(&world.processor().await).await;
    }
}
