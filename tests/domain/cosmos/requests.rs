//! The requests that following the change feed costs, counted where they leave the client, while a virtual
//! clock passes the time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use onehop::accounts::password::{HashingCost, HashingLimits, PasswordHasher};
use onehop::app::{container_specs, projections};
use onehop::blog::commands::{CommandLimits, CommandParts, Commands, LikePost};
use onehop::blog::ids::{PostId, RandomIds, UserId};
use onehop_change_feed::{LEASES, Position, PositionOutcome, Processor, Settings, Sharing, WriteScope};
use onehop_runtime::clock::Clock;
use onehop_runtime::tasks::Tasks;
use onehop_store::cosmos::Consistency;
use onehop_store::{Ledger, OperationKind, Store};
use onehop_testing::emulator::Emulator;
use onehop_testing::request_counts::RequestCounts;
use onehop_testing::virtual_clock::VirtualClock;
use tokio_util::sync::CancellationToken;

use crate::cosmos::acts::{new_post, sign_up};

const START_MS: i64 = 1_750_000_000_000;
/// The source containers of all projections.
const SOURCES: usize = 5;
const PARTITIONS: [u32; 3] = [1, 4, 16];
/// Longer than any test lets a caller wait.
const LONG: Duration = Duration::from_secs(3600);

/// Requests by their purpose.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Requests {
    feed_reads: usize,
    lease_writes: usize,
    lease_reads: usize,
    others: usize,
}

impl Requests {
    fn of(counted: &BTreeMap<(String, String), usize>) -> Self {
        let mut requests = Self::default();
        for ((operation, container), count) in counted {
            let kind = match operation.as_str() {
                "query_change_feed" => &mut requests.feed_reads,
                "create_item" | "replace_item" | "upsert_item" | "delete_item"
                    if container == LEASES.as_str() =>
                {
                    &mut requests.lease_writes
                }
                _ if container == LEASES.as_str() => &mut requests.lease_reads,
                _ => &mut requests.others,
            };
            *kind += count;
        }
        requests
    }
}

/// A process whose processor runs, on an account.
struct Server {
    clock: Arc<VirtualClock>,
    requests: Arc<RequestCounts>,
    commands: Commands,
    processor: Processor,
}

impl Server {
    async fn start(account: &Emulator, clock: &Arc<VirtualClock>, name: &str) -> Self {
        let server = Self::open(account, clock, name).await;
        let (running, tasks) = (server.processor.clone(), Tasks::new());
        tasks.clone().spawn_contained("change feed", async move {
            running.run(|name, reader| tasks.spawn_contained(name, reader)).await;
        });
        server
    }

    /// A process whose processor does not run.
    async fn open(account: &Emulator, clock: &Arc<VirtualClock>, name: &str) -> Self {
        let requests = Arc::new(RequestCounts::default());
        let store = account.open_counted(&requests).await;
        let recent: Arc<dyn Store> = Arc::new(store.with_consistency(Consistency::LatestCommitted));
        let store: Arc<dyn Store> = Arc::new(store);
        let commands = Commands::new(CommandParts {
            store: Arc::clone(&store),
            latest: Arc::clone(&store),
            clock: Arc::clone(clock) as _,
            ids: Arc::new(RandomIds),
            passwords: PasswordHasher::new(HashingCost::CHEAP, HashingLimits::default()).unwrap(),
            tasks: Tasks::new(),
            limits: CommandLimits::default(),
        });
        let settings = Settings { sharing: Sharing::with_others(), ..Settings::new(name) };
        let clock = Arc::clone(clock);
        let processor = Processor::open(
            recent,
            Arc::clone(&clock) as _,
            projections(),
            settings,
            CancellationToken::new(),
        );
        let processor = processor.await.expect("a processor");
        Self { clock, requests, commands, processor }
    }

    async fn pass(&self, seconds: u64) {
        self.clock.pass(Duration::from_secs(seconds), || self.requests.total()).await;
    }

    /// The requests of this long.
    async fn requests_in(&self, seconds: u64) -> Requests {
        self.pass(seconds).await;
        Requests::of(&self.requests.take())
    }

    /// The requests of some work of a caller, while time passes.
    async fn requests_of<T>(&self, work: impl Future<Output = T>, seconds: u64) -> (T, Requests) {
        self.requests.take();
        let (done, ()) = tokio::join!(work, self.pass(seconds));
        (done, Requests::of(&self.requests.take()))
    }

    async fn user(&self, name: &str) -> UserId {
        self.commands.create_user(sign_up(name), &Ledger::new()).await.expect("signed up").id
    }

    async fn post(&self, author: UserId) -> PostId {
        self.commands.create_post(new_post(author, "the one"), &Ledger::new()).await.expect("posted").id
    }

    async fn like(&self, user_id: UserId, post_id: PostId) -> Position {
        let ledger = Ledger::new();
        self.commands.like_post(LikePost { user_id, post_id }, &ledger).await.expect("liked");
        self.position(&ledger).await
    }

    async fn position(&self, ledger: &Ledger) -> Position {
        let written = WriteScope::of(ledger, self.clock.now_ms());
        self.processor.position_of(&written).await.expect("a position").expect("a projection follows")
    }
}

/// An account with this many physical partitions in each container, and a process that has come to rest.
async fn at_rest(partitions: u32) -> (Emulator, Server) {
    let account = Emulator::new(&container_specs(), partitions);
    let clock = Arc::new(VirtualClock::new(START_MS));
    let server = Server::start(&account, &clock, "one").await;
    server.pass(60).await;
    server.requests.take();
    (account, server)
}

/// The same, with a user and a post of another one.
async fn with_a_post(partitions: u32) -> (Emulator, Server, UserId, PostId) {
    let (account, server) = at_rest(partitions).await;
    let (ada, bob) = (server.user("ada").await, server.user("bob").await);
    let post = server.post(ada).await;
    server.pass(60).await;
    server.requests.take();
    (account, server, bob, post)
}

/// Polls of this many seconds at rest: one of each feed range in 5 s.
fn polls(partitions: u32, seconds: usize) -> usize {
    SOURCES * partitions as usize * seconds / 5
}

/// Heartbeats in 30 s: one in 13 s, or a little more.
const HEARTBEATS_IN_30_S: usize = 3;

#[tokio::test]
async fn at_rest_there_is_a_poll_of_each_range_in_five_seconds() {
    for partitions in PARTITIONS {
        let (_account, server) = at_rest(partitions).await;
        let rest = server.requests_in(130).await;
        println!("{partitions} physical partitions, 130 s at rest: {rest:?}");
        assert_eq!(rest.feed_reads, polls(partitions, 130));
        assert!(rest.lease_writes <= 130 / 13, "heartbeats alone: {rest:?}");
        assert_eq!((rest.lease_reads, rest.others), (0, 0));
    }
}

#[tokio::test]
async fn a_like_at_rest_costs_three_reads_and_a_lease_write() {
    for partitions in PARTITIONS {
        let (_account, server, bob, post) = with_a_post(partitions).await;
        server.like(bob, post).await;
        let liked = server.requests_in(30).await;
        println!("{partitions} physical partitions, a like and 30 s: {liked:?}");
        assert!(liked.feed_reads <= polls(partitions, 30) + 3, "{liked:?}");
        assert!(liked.lease_writes <= HEARTBEATS_IN_30_S + 1, "{liked:?}");
        assert_eq!(liked.lease_reads, 0);
    }
}

#[tokio::test]
async fn likes_without_pause_share_lease_writes() {
    let (_account, server, _, post) = with_a_post(4).await;
    for number in 0..30 {
        let user = server.user(&format!("user{number}")).await;
        server.like(user, post).await;
        server.pass(1).await;
    }
    let liked = Requests::of(&server.requests.take());
    // Two feed ranges at most change in each interval: the post's, and the users'.
    assert!(liked.lease_writes <= (1 + 4) * (30 / 5 + 1) + 3, "{liked:?}");
}

#[tokio::test]
async fn a_status_makes_no_request() {
    for partitions in PARTITIONS {
        let (_account, server, bob, post) = with_a_post(partitions).await;
        server.like(bob, post).await;
        server.requests.take();
        let ledger = Ledger::new();
        for _ in 0..3 {
            server.processor.processor_status().await.expect("a status");
            server.processor.processor_status_for(&ledger).await.expect("a status");
        }
        assert_eq!(server.requests.total(), 0);
        server.pass(10).await;
        let status = server.processor.status().await.expect("a status");
        assert!(status.iter().all(|status| status.pending_changes == 0 && status.lag_ms == 0), "{status:#?}");
        assert!(status.iter().any(|status| status.changes > 0));
    }
}

#[tokio::test]
async fn a_wait_for_an_own_write_makes_no_request() {
    for partitions in PARTITIONS {
        let (_account, server, bob, post) = with_a_post(partitions).await;
        let position = server.like(bob, post).await;
        let ledger = Ledger::new();
        let wait = || server.processor.wait_for_position(&position, LONG, &ledger);
        let (reached, waited) = server.requests_of(wait(), 5).await;
        assert_eq!(reached.expect("a position"), PositionOutcome::Reached);
        assert!(waited.feed_reads <= polls(partitions, 5) + 3, "{waited:?}");
        for _ in 0..10 {
            assert_eq!(wait().await.expect("a position"), PositionOutcome::Reached);
        }
        assert_eq!((server.requests.total(), ledger.operations().len()), (0, 0));
    }
}

#[tokio::test]
async fn a_wait_for_a_foreign_write_is_on_the_callers_account() {
    for partitions in PARTITIONS {
        let (account, server, bob, post) = with_a_post(partitions).await;
        // It shares no lease: the other process writes, and projects nothing.
        let writer = Server::open(&account, &server.clock, "writer").await;
        // In the middle between two polls.
        server.pass(2).await;
        let position = writer.like(bob, post).await;
        let ledger = Ledger::new();
        let wait = || server.processor.wait_for_position(&position, LONG, &ledger);
        let (reached, waited) = server.requests_of(wait(), 1).await;
        assert_eq!(reached.expect("a position"), PositionOutcome::Reached, "before the next poll");
        let reads =
            ledger.operations().iter().filter(|record| record.kind == OperationKind::ChangeFeed).count();
        assert!((1..=2).contains(&reads) && ledger.total().0 > 0.0, "{ledger:?}");
        assert!(waited.feed_reads <= polls(partitions, 1) + SOURCES * partitions as usize + 3, "{waited:?}");
        let charged = ledger.total();
        assert_eq!(wait().await.expect("a position"), PositionOutcome::Reached);
        assert_eq!(ledger.total(), charged, "what has been passed costs nothing");
    }
}

#[tokio::test]
async fn a_wait_for_another_reader_reads_its_lease() {
    let (account, one, bob, post) = with_a_post(4).await;
    let two = Server::start(&account, &one.clock, "two").await;
    let pass = async |seconds: u64| {
        one.clock.pass(Duration::from_secs(seconds), || one.requests.total() + two.requests.total()).await;
    };
    pass(200).await;
    let leases = one.processor.leases().await.expect("leases");
    assert!(leases.iter().filter(|lease| !lease.mine).count() >= 10, "{leases:#?}");
    for number in 0..6 {
        let author = one.user(&format!("author{number}")).await;
        let liked = one.post(author).await;
        let position = one.like(bob, liked).await;
        let ledger = Ledger::new();
        let wait = one.processor.wait_for_position(&position, LONG, &ledger);
        let (reached, ()) = tokio::join!(wait, pass(30));
        assert_eq!(reached.expect("a position"), PositionOutcome::Reached);
        assert!(ledger.operations().len() <= 40, "{ledger:#?}");
    }
    let _ = post;
}

#[tokio::test]
async fn a_rebuild_reads_the_feed_once() {
    for partitions in PARTITIONS {
        let (_account, server, bob, post) = with_a_post(partitions).await;
        server.like(bob, post).await;
        server.pass(7).await;
        let rebuild = server.processor.rebuild("user-posts", &|_| {});
        let (rebuilt, requests) = server.requests_of(rebuild, 1).await;
        let rebuilt = rebuilt.expect("rebuilt");
        println!("{partitions} physical partitions, a rebuild: {requests:?}");
        assert_eq!((rebuilt.done, rebuilt.total), (1, None), "nothing is read to count it");
        // A page of each feed range with items, an empty one of each, and a second's polls.
        let ranges = partitions as usize;
        assert!(requests.feed_reads <= 2 * ranges + polls(partitions, 5), "{requests:?}");
        assert!(requests.lease_reads <= ranges, "{requests:?}");
    }
}
