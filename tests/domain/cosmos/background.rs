//! Background work on an account: its requests say that others go first, and they keep to its budget. A
//! virtual clock passes the time.

use std::sync::Arc;
use std::time::Duration;

use onehop::app::work::ProgressSink;
use onehop::app::{App, AppOptions, Member, OpenStore, container_specs, write_side};
use onehop::blog::containers::USERS;
use onehop::copy::Copier;
use onehop_change_feed::Sharing;
use onehop_runtime::clock::{Clock, SystemClock};
use onehop_runtime::tasks::Tasks;
use onehop_store::cosmos::{BackgroundSettings, CosmosStore};
use onehop_store::{BackgroundStore, Ledger, NewItem, PartitionKey, Store, WriteOp};
use onehop_testing::emulator::Emulator;
use onehop_testing::request_log::{LoggedRequest, RequestLog};
use onehop_testing::virtual_clock::VirtualClock;
use serde_json::json;

use crate::cosmos::acts::{new_post, sign_up};

const BUCKET: BackgroundSettings = BackgroundSettings { ru_per_second: None, throughput_bucket: Some(3) };
const START_MS: i64 = 1_750_000_000_000;

/// An account of which a server knows the requests.
async fn server(background: BackgroundSettings) -> (Emulator, Arc<RequestLog>, OpenStore, App) {
    let log = Arc::new(RequestLog::default());
    let account = Emulator::logged(&container_specs(), 2, &log);
    let store = account.open().await.with_background(background, Arc::new(SystemClock));
    let store = OpenStore::Cosmos(Arc::new(store));
    let member = Member { owner: "test".to_owned(), sharing: Sharing::with_others() };
    let app = App::over(&store, member, AppOptions::default()).await.unwrap();
    let ledger = Ledger::new();
    let ada = app.commands.create_user(sign_up("ada"), &ledger).await.unwrap().id;
    app.commands.create_post(new_post(ada, "the one"), &ledger).await.unwrap();
    app.processor.drain().await.unwrap();
    (account, log, store, app)
}

fn is_background(request: &LoggedRequest) -> bool {
    request.priority_level.as_deref() == Some("Low")
}

fn assert_all_in_bucket(requests: &[LoggedRequest], work: &str) {
    assert!(!requests.is_empty(), "{work} makes requests");
    for request in requests {
        assert_eq!(request.priority_level.as_deref(), Some("Low"), "{work}: {request:?}");
        assert_eq!(request.throughput_bucket.as_deref(), Some("3"), "{work}: {request:?}");
    }
}

#[tokio::test]
async fn requests_of_callers_say_nothing_of_priority() {
    let (_account, log, _store, app) = server(BUCKET).await;
    let logged = log.take_for_items();
    assert!(logged.iter().any(|request| request.method == "POST"), "{logged:?}");
    for request in logged {
        assert_eq!((&request.priority_level, &request.throughput_bucket), (&None, &None), "{request:?}");
    }
    app.close().await;
}

#[tokio::test]
async fn a_rebuild_is_sent_at_low_priority_in_its_bucket() {
    let (_account, log, _store, app) = server(BUCKET).await;
    log.take();
    app.processor.rebuild("user-posts", &|_| {}).await.unwrap();
    let (background, others): (Vec<_>, Vec<_>) = log.take_for_items().into_iter().partition(is_background);
    assert_all_in_bucket(&background, "a rebuild");
    assert!(background.iter().any(|request| request.path.contains("/colls/posts/")), "reads the changes");
    assert!(background.iter().any(|request| request.path.contains("/colls/users/")), "writes the copies");
    for request in others {
        assert!(!request.path.contains("/colls/posts/"), "of the processor's own state alone: {request:?}");
    }
    app.close().await;
}

#[tokio::test]
async fn verification_is_sent_at_low_priority_in_its_bucket() {
    let (_account, log, _store, app) = server(BUCKET).await;
    log.take();
    let report = app.verify(false, &ProgressSink::none()).await.unwrap();
    assert!(report.is_clean(), "{:#?}", report.drifts);
    let requests = log.take_for_items();
    let (background, others): (Vec<_>, Vec<_>) = requests.into_iter().partition(is_background);
    assert_all_in_bucket(&background, "verification");
    // Draining the change feed first is the processor's work.
    let is_feed_or_state = |request: &LoggedRequest| {
        request.method == "GET" || ["leases", "dead-letters"].iter().any(|name| request.path.contains(name))
    };
    assert!(others.iter().all(is_feed_or_state), "{others:#?}");
    app.close().await;
}

#[tokio::test]
async fn a_copy_is_sent_at_low_priority_in_its_bucket() {
    let (_account, log, source, app) = server(BUCKET).await;
    app.close().await;
    let target_log = Arc::new(RequestLog::default());
    let target = Emulator::logged(&container_specs(), 2, &target_log);
    let target = target.open().await.with_background(BUCKET, Arc::new(SystemClock));
    let target = OpenStore::Cosmos(Arc::new(target));
    log.take();
    target_log.take();
    let copier = Copier {
        source: source.background(),
        target: target.background(),
        source_name: "the source".to_owned(),
        write_side: write_side().collect(),
    };
    assert!(copier.run(&|_| {}).await.unwrap().items > 0);
    assert_all_in_bucket(&log.take_for_items(), "reading the source");
    assert_all_in_bucket(&target_log.take_for_items(), "writing the target");
}

#[tokio::test]
async fn without_a_bucket_only_the_priority_is_sent() {
    let (_account, log, _store, app) = server(BackgroundSettings::default()).await;
    log.take();
    app.processor.rebuild("user-posts", &|_| {}).await.unwrap();
    let background: Vec<_> = log.take_for_items().into_iter().filter(is_background).collect();
    assert!(!background.is_empty());
    assert!(background.iter().all(|request| request.throughput_bucket.is_none()), "{background:?}");
    app.close().await;
}

/// An item that reading is charged for.
async fn write_an_item(store: &CosmosStore) -> PartitionKey {
    let key = PartitionKey::from("ada");
    let item = json!({ "id": "ada", "userId": "ada", "type": "user" });
    let write = WriteOp::Create(NewItem::encode("ada", &item));
    store.write(USERS, &key, write, &Ledger::new()).await.unwrap();
    key
}

/// Readers who read without pause, each with a ledger of its own.
struct Readers {
    clock: Arc<VirtualClock>,
    ledgers: Vec<Arc<Ledger>>,
    tasks: Tasks,
}

impl Readers {
    fn start(store: &Arc<dyn Store>, clock: &Arc<VirtualClock>, readers: usize) -> Self {
        let (tasks, mut ledgers) = (Tasks::new(), Vec::new());
        for _ in 0..readers {
            let (store, ledger) = (Arc::clone(store), Arc::new(Ledger::new()));
            ledgers.push(Arc::clone(&ledger));
            let stop = tasks.soft_stop();
            tasks.spawn_contained("reader", async move {
                let key = PartitionKey::from("ada");
                while !stop.is_cancelled() {
                    store.read(USERS, &key, "ada", &ledger).await.expect("a read");
                }
            });
        }
        Self { clock: Arc::clone(clock), ledgers, tasks }
    }

    fn spent(&self) -> f64 {
        self.ledgers.iter().map(|ledger| ledger.total().0).sum()
    }

    fn reads(&self) -> usize {
        self.ledgers.iter().map(|ledger| ledger.operations().len()).sum()
    }

    async fn pass(&self, seconds: u64) {
        self.clock.pass(Duration::from_secs(seconds), || self.reads()).await;
    }
}

#[tokio::test]
async fn a_budget_bounds_the_request_units_of_each_second() {
    const BUDGET: f64 = 20.0;
    const READERS: usize = 3;
    let clock = Arc::new(VirtualClock::new(START_MS));
    let limits = BackgroundSettings { ru_per_second: Some(BUDGET), throughput_bucket: None };
    let account = Emulator::new(&container_specs(), 1);
    let store = account.open().await.with_background(limits, Arc::clone(&clock) as Arc<dyn Clock>);
    write_an_item(&store).await;
    let budget = store.background_budget();
    let store: Arc<dyn Store> = Arc::new(BackgroundStore::for_background(Arc::new(store), budget));
    let first = Ledger::new();
    store.read(USERS, &PartitionKey::from("ada"), "ada", &first).await.unwrap();
    let one_read = first.total().0;
    assert!(one_read > 0.0, "a read without a charge would never wait");
    let readers = Readers::start(&store, &clock, READERS);
    // Each reader may have one operation under way when the budget is spent.
    let overdraft = READERS as f64 * one_read;
    for second in 1..=10_u32 {
        readers.pass(1).await;
        let (spent, earned) = (readers.spent(), BUDGET * f64::from(second));
        assert!(spent <= earned + overdraft, "{spent} RU after {second} s");
        assert!(spent >= earned * 0.9 - overdraft, "{spent} RU after {second} s: the budget is used");
    }
    readers.tasks.stop();
}

#[tokio::test]
async fn operations_of_callers_do_not_wait_for_the_budget() {
    let clock = Arc::new(VirtualClock::new(START_MS));
    let limits = BackgroundSettings { ru_per_second: Some(0.1), throughput_bucket: None };
    let account = Emulator::new(&container_specs(), 1);
    let store = account.open().await.with_background(limits, Arc::clone(&clock) as Arc<dyn Clock>);
    let key = write_an_item(&store).await;
    let budget = store.background_budget();
    let store = BackgroundStore::new(Arc::new(store), budget);
    let background = Ledger::new().for_background();
    store.read(USERS, &key, "ada", &background).await.unwrap();
    // The clock stands still, and the budget is spent.
    let caller = Ledger::new();
    for _ in 0..50 {
        store.read(USERS, &key, "ada", &caller).await.unwrap();
    }
    assert_eq!(caller.operations().len(), 50);
    let next = Tasks::new();
    let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let set = Arc::clone(&done);
    let is_done = || done.load(std::sync::atomic::Ordering::SeqCst);
    next.spawn_contained("background", async move {
        store.read(USERS, &key, "ada", &background).await.expect("a read");
        set.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    clock.settle(&|| 0).await;
    assert!(!is_done(), "a background operation waits");
    clock.pass(Duration::from_secs(60), || usize::from(is_done())).await;
    assert!(is_done(), "until what was spent is earned");
}
