//! The circuit breaker over a store that hangs, fails, throttles and refuses.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use onehop_runtime::clock::ManualClock;
use onehop_store::embedded::EmbeddedStore;
use onehop_store::{
    CircuitBreakerStore, CircuitBreakers, CircuitKind, CircuitSettings, Fault, FaultKind, Ledger, Store,
    StoreCall, StoreDecorator, WriteError, WriteOp,
};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::advance;

use crate::embedded::harness::{SPEC, THINGS, config, thing};

/// A store that hangs or fails as a test wants.
struct TroubledStore {
    inner: EmbeddedStore,
    hangs: watch::Sender<bool>,
    /// The faults of the next operations.
    faults: Mutex<VecDeque<FaultKind>>,
    _directory: tempfile::TempDir,
}

impl TroubledStore {
    fn fail_next(&self, kind: FaultKind, times: usize) {
        self.faults.lock().extend(std::iter::repeat_n(kind, times));
    }
}

impl StoreDecorator for TroubledStore {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        let mut hangs = self.hangs.subscribe();
        hangs.wait_for(|hangs| !hangs).await.expect("the store lives");
        let fault = self.faults.lock().pop_front();
        match fault {
            Some(kind) => Err(Fault::new(kind, "as the test wants").into()),
            None => call.run(&self.inner, ledger).await,
        }
    }
}

struct Scene {
    troubled: Arc<TroubledStore>,
    store: Arc<CircuitBreakerStore>,
    breakers: Arc<CircuitBreakers>,
}

fn scene() -> Scene {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let clock = Arc::new(ManualClock::new(0));
    let inner = EmbeddedStore::open_with(&config(directory.path()), &[SPEC], clock).expect("it opens");
    let (hangs, faults) = (watch::channel(false).0, Mutex::default());
    let troubled = Arc::new(TroubledStore { inner, hangs, faults, _directory: directory });
    let breakers = CircuitBreakers::new(&[SPEC], CircuitSettings::default());
    let store = CircuitBreakerStore::new(Arc::clone(&troubled) as _, Arc::clone(&breakers));
    Scene { troubled, store: Arc::new(store), breakers }
}

impl Scene {
    async fn read(&self) -> Result<(), Fault> {
        self.store.read(THINGS, &"h".into(), "a", &Ledger::new()).await.map(drop)
    }

    #[expect(clippy::disallowed_methods, reason = "the test waits for the task")]
    fn reading(&self) -> JoinHandle<Result<(), Fault>> {
        let store = Arc::clone(&self.store);
        tokio::spawn(async move { store.read(THINGS, &"h".into(), "a", &Ledger::new()).await.map(drop) })
    }

    fn open_kinds(&self) -> Vec<CircuitKind> {
        self.breakers.states().into_iter().filter(|(.., is_open)| *is_open).map(|(_, kind, _)| kind).collect()
    }

    /// The delay that a refused read names.
    async fn refused(&self) -> Duration {
        let fault = self.read().await.expect_err("the circuit is open");
        assert_eq!(fault.kind, FaultKind::Unavailable, "{fault}");
        assert!(fault.to_string().contains("has not answered reads of things"), "{fault}");
        fault.retry_after.expect("a delay")
    }
}

const SECOND: Duration = Duration::from_secs(1);

/// Lets the tasks of a test run as far as they get.
async fn settle() {
    for _ in 0..32 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn operations_on_a_store_that_hangs_fail_at_once() {
    let scene = scene();
    scene.troubled.hangs.send_replace(true);
    let hanging: Vec<_> = (0..5).map(|_| scene.reading()).collect();
    settle().await;
    advance(Duration::from_millis(2_999)).await;
    settle().await;
    assert_eq!(scene.open_kinds(), []);
    advance(Duration::from_millis(2)).await;
    settle().await;
    assert_eq!(scene.open_kinds(), [CircuitKind::Reads], "reads and writes have circuits of their own");
    assert!(scene.refused().await <= SECOND);
    // The probe hangs, too: it is overdue after three seconds, and the next one comes after two more.
    advance(SECOND).await;
    let probe = scene.reading();
    settle().await;
    scene.refused().await;
    advance(Duration::from_millis(3_001)).await;
    settle().await;
    assert!(scene.refused().await > SECOND);
    scene.troubled.hangs.send_replace(false);
    for reading in hanging.into_iter().chain([probe]) {
        reading.await.expect("no panic").expect("an answer in the end");
    }
    assert_eq!(scene.open_kinds(), [], "any answer closes the circuit");
    scene.read().await.expect("an answer");
}

#[tokio::test(start_paused = true)]
async fn failed_probes_come_less_and_less_often() {
    let scene = scene();
    scene.troubled.fail_next(FaultKind::Unavailable, 9);
    for _ in 0..5 {
        scene.read().await.expect_err("it fails");
    }
    for seconds in [1, 2, 4, 8] {
        assert_eq!(scene.refused().await, SECOND * seconds);
        advance(SECOND * seconds).await;
        let fault = scene.read().await.expect_err("the probe fails");
        assert!(fault.to_string().contains("as the test wants"), "{fault}");
    }
    assert_eq!(scene.refused().await, SECOND * 8);
    assert!(scene.troubled.faults.lock().is_empty());
    advance(SECOND * 8).await;
    scene.read().await.expect("the probe is answered");
    scene.read().await.expect("the circuit is closed");
}

#[tokio::test(start_paused = true)]
async fn an_answer_in_between_keeps_the_circuit_closed() {
    let scene = scene();
    for _ in 0..10 {
        scene.troubled.fail_next(FaultKind::Ambiguous, 4);
        for _ in 0..4 {
            scene.read().await.expect_err("it fails");
        }
        scene.read().await.expect("an answer");
    }
    assert_eq!(scene.open_kinds(), []);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_its_caller_gives_up_is_followed_by_another() {
    let scene = scene();
    scene.troubled.fail_next(FaultKind::Unavailable, 5);
    for _ in 0..5 {
        scene.read().await.expect_err("it fails");
    }
    advance(SECOND).await;
    scene.troubled.hangs.send_replace(true);
    let probe = scene.reading();
    settle().await;
    scene.refused().await;
    probe.abort();
    probe.await.expect_err("aborted");
    scene.troubled.hangs.send_replace(false);
    scene.read().await.expect("the next operation is a probe");
}

#[tokio::test]
async fn answers_that_refuse_open_no_circuit() {
    let scene = scene();
    let kinds = [FaultKind::Throttled, FaultKind::Full, FaultKind::PartitionFull, FaultKind::Misconfigured];
    for kind in kinds {
        scene.troubled.fail_next(kind, 20);
        for _ in 0..20 {
            assert_eq!(scene.read().await.expect_err("it fails").kind, kind);
        }
    }
    let write = |operation| scene.store.write(THINGS, &PARTITION, operation, &LEDGER);
    write(WriteOp::Create(thing("h", "a", 1))).await.expect("created");
    for _ in 0..20 {
        let conflict = write(WriteOp::Create(thing("h", "a", 1))).await;
        assert!(matches!(conflict, Err(WriteError::Rejected { .. })), "{conflict:?}");
        let missing = write(WriteOp::Delete { id: "none".to_owned(), if_match: None }).await;
        assert!(matches!(missing, Err(WriteError::Rejected { .. })), "{missing:?}");
    }
    assert_eq!(scene.open_kinds(), []);
}

#[tokio::test]
async fn a_store_that_takes_no_writes_still_answers_reads() {
    let scene = scene();
    scene.troubled.fail_next(FaultKind::Unavailable, 5);
    for number in 0..6 {
        let create = WriteOp::Create(thing("h", "a", number));
        scene.store.write(THINGS, &PARTITION, create, &LEDGER).await.expect_err("it fails");
    }
    assert_eq!(scene.open_kinds(), [CircuitKind::Writes]);
    scene.read().await.expect("an answer");
    assert_eq!(scene.open_kinds(), [CircuitKind::Writes]);
}

static LEDGER: std::sync::LazyLock<Ledger> = std::sync::LazyLock::new(Ledger::new);
static PARTITION: std::sync::LazyLock<onehop_store::PartitionKey> = std::sync::LazyLock::new(|| "h".into());
