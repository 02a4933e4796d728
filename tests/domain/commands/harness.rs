//! A write side over a fresh embedded store, and a store that meddles with writes.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use onehop::accounts::hashing_queue::HashingCaller;
use onehop::accounts::password::{HashingCost, HashingLimits, PasswordHasher};
use onehop::blog::commands::{
    CommandError, CommandLimits, CommandParts, Commands, CreatePost, CreateUser, Refusal, RefusalCode,
};
use onehop::blog::containers::{POSTS, SPECS};
use onehop::blog::ids::{PostId, RandomIds};
use onehop::blog::items::{PostItem, UserItem};
use onehop_change_feed::LEASES;
use onehop_runtime::clock::ManualClock;
use onehop_runtime::tasks::Tasks;
use onehop_store::{
    ContainerSpec, Fault, FaultKind, Ledger, OperationKind, OperationRecord, RequestCharge, Store, StoreCall,
    StoreDecorator,
};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::support::store::Keeper;

/// The instant at which every test starts, Unix ms.
pub const START_MS: i64 = 1_750_000_000_000;
pub const PASSWORD: &str = "correct horse battery";

/// More than there are concurrent writes in any test.
const GATE_PERMITS: usize = 1000;

/// The fate of the n-th write or operation (from 0) after [`Meddler::next`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meddling {
    Nothing,
    /// This write and everything after it fails, as if the process had died before it.
    CrashBefore(usize),
    /// This operation, a read or a write, and everything after it fails.
    CrashBeforeOperation(usize),
    /// This write happens, and its answer is lost.
    LoseAnswer(usize),
    /// This write happens, its answer is lost, and the client below repeats it.
    Repeat(usize),
    /// This write waits at the gate.
    Pause(usize),
    /// This write happens, and its answer never comes.
    Hang(usize),
}

/// A store that passes everything on, counts the spent units, and meddles with one write.
pub struct Meddler {
    inner: Arc<dyn Store>,
    meddling: Mutex<Meddling>,
    writes: AtomicUsize,
    operations: AtomicUsize,
    spent: Ledger,
    work: Mutex<f64>,
    /// Writes to `posts` take a permit each: tests hold them up by taking the permits away.
    gate: Semaphore,
    held: AtomicUsize,
}

enum Fate {
    Pass,
    Die,
    Lose,
    Repeat,
    Pause,
    Hang,
}

impl Meddler {
    /// A store that meddles with nothing yet.
    pub fn over(inner: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            meddling: Mutex::new(Meddling::Nothing),
            writes: AtomicUsize::new(0),
            operations: AtomicUsize::new(0),
            spent: Ledger::new(),
            work: Mutex::default(),
            gate: Semaphore::new(GATE_PERMITS),
            held: AtomicUsize::new(0),
        })
    }

    /// Counts writes and operations from 0 again, and meddles.
    pub fn next(&self, meddling: Meddling) {
        *self.meddling.lock().unwrap() = meddling;
        self.writes.store(0, Ordering::SeqCst);
        self.operations.store(0, Ordering::SeqCst);
    }

    /// Writes since the last [`Meddler::next`].
    pub fn writes(&self) -> usize {
        self.writes.load(Ordering::SeqCst)
    }

    /// Reads and writes since the last [`Meddler::next`].
    pub fn operations(&self) -> usize {
        self.operations.load(Ordering::SeqCst)
    }

    pub fn spent(&self) -> RequestCharge {
        self.spent.total()
    }

    /// The charge of all operations but checkpoints and polls that found nothing, RU.
    pub fn spent_on_work(&self) -> f64 {
        *self.work.lock().unwrap()
    }

    /// Holds up all writes to `posts` until the answer is dropped.
    pub async fn hold(&self) -> SemaphorePermit<'_> {
        self.gate.acquire_many(u32::try_from(GATE_PERMITS).unwrap()).await.unwrap()
    }

    /// Waits until so many writes are held up.
    pub async fn until_held(&self, count: usize) {
        while self.held.load(Ordering::SeqCst) < count {
            tokio::task::yield_now().await;
        }
    }

    async fn pass_gate(&self) {
        self.held.fetch_add(1, Ordering::SeqCst);
        drop(self.gate.acquire().await.unwrap());
        self.held.fetch_sub(1, Ordering::SeqCst);
    }

    fn fate(&self) -> Fate {
        let number = self.writes.fetch_add(1, Ordering::SeqCst);
        match *self.meddling.lock().unwrap() {
            Meddling::CrashBefore(at) if number >= at => Fate::Die,
            Meddling::LoseAnswer(at) if number == at => Fate::Lose,
            Meddling::Repeat(at) if number == at => Fate::Repeat,
            Meddling::Pause(at) if number == at => Fate::Pause,
            Meddling::Hang(at) if number == at => Fate::Hang,
            _ => Fate::Pass,
        }
    }

    fn check_alive(&self) -> Result<(), Fault> {
        let number = self.operations.fetch_add(1, Ordering::SeqCst);
        match *self.meddling.lock().unwrap() {
            Meddling::CrashBefore(at) if self.writes() > at => Err(dead()),
            Meddling::CrashBeforeOperation(at) if number >= at => Err(dead()),
            _ => Ok(()),
        }
    }

    async fn meddle<'a, C: StoreCall<'a>>(&self, call: C, own: &Ledger) -> Result<C::Output, C::Error> {
        if call.container() == POSTS {
            self.pass_gate().await;
        }
        match self.fate() {
            Fate::Die => Err(dead().into()),
            Fate::Pass => call.run(&*self.inner, own).await,
            Fate::Pause => {
                self.pass_gate().await;
                call.run(&*self.inner, own).await
            }
            Fate::Repeat => {
                call.clone().run(&*self.inner, own).await?;
                call.run(&*self.inner, own).await
            }
            Fate::Hang => {
                call.run(&*self.inner, own).await?;
                self.held.fetch_add(1, Ordering::SeqCst);
                std::future::pending().await
            }
            Fate::Lose => {
                call.run(&*self.inner, own).await?;
                Err(lost().into())
            }
        }
    }
}

fn dead() -> Fault {
    Fault::new(FaultKind::Unavailable, "the process died")
}

fn lost() -> Fault {
    Fault::new(FaultKind::Ambiguous, "the answer was lost")
}

impl StoreDecorator for Meddler {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        let own = Ledger::new();
        self.check_alive()?;
        let result = if call.writes().is_empty() {
            call.run(&*self.inner, &own).await
        } else {
            self.meddle(call, &own).await
        };
        ledger.absorb(&own);
        let is_work = |operation: &&OperationRecord| {
            operation.container != LEASES
                && (operation.kind != OperationKind::ChangeFeed || operation.items > 0)
        };
        let work = own.operations().iter().filter(is_work).map(|operation| operation.charge.0).sum::<f64>();
        *self.work.lock().unwrap() += work;
        self.spent.absorb(&own);
        result
    }
}

/// A write side over a fresh store.
pub struct Blog {
    pub commands: Commands,
    pub store: Arc<Meddler>,
    pub clock: Arc<ManualClock>,
    pub tasks: Tasks,
    _keeper: Keeper,
}

impl Blog {
    pub async fn new() -> Self {
        Self::with(CommandLimits::default()).await
    }

    pub async fn with(limits: CommandLimits) -> Self {
        Self::over(&SPECS, limits).await
    }

    /// With these containers.
    pub async fn over(containers: &[ContainerSpec], limits: CommandLimits) -> Self {
        let clock = Arc::new(ManualClock::new(START_MS));
        let (inner, keeper) = crate::support::store::open(containers, clock.clone()).await;
        let store = Meddler::over(inner);
        let tasks = Tasks::new();
        let commands = commands(store.clone(), clock.clone(), &tasks, limits);
        Self { commands, store, clock, tasks, _keeper: keeper }
    }

    /// Another process over the same store.
    pub fn another(&self, limits: CommandLimits) -> Commands {
        commands(self.store.clone(), self.clock.clone(), &self.tasks, limits)
    }

    pub async fn user(&self, name: &str) -> UserItem {
        self.sign_up(name).await.unwrap()
    }

    pub async fn sign_up(&self, name: &str) -> Result<UserItem, CommandError> {
        self.commands.create_user(sign_up(name, None), &Ledger::new()).await
    }

    pub async fn post(&self, author: &UserItem) -> Arc<PostItem> {
        let input = CreatePost {
            user_id: author.id,
            title: "A title".to_owned(),
            content: "Some content.".to_owned(),
            tags: Vec::new(),
            idempotency_key: None,
        };
        self.commands.create_post(input, &Ledger::new()).await.unwrap()
    }

    pub async fn stored_post(&self, id: PostId) -> PostItem {
        let item = self.store.read(POSTS, &id.partition_key(), &id.to_string(), &Ledger::new()).await;
        item.unwrap().unwrap().decode().unwrap()
    }

    /// Live comments and likes of a post, counted.
    pub async fn counted(&self, id: PostId) -> (u32, u32) {
        let ledger = Ledger::new();
        let comments = self.store.count(POSTS, &id.partition_key(), "comment", &ledger).await.unwrap();
        let likes = self.store.count(POSTS, &id.partition_key(), "like", &ledger).await.unwrap();
        (u32::try_from(comments).unwrap(), u32::try_from(likes).unwrap())
    }

    /// Asserts that the counts of a post equal the numbers of its live comments and likes.
    pub async fn assert_counts_are_exact(&self, id: PostId) {
        let post = self.stored_post(id).await;
        assert_eq!((post.comment_count, post.like_count), self.counted(id).await);
    }
}

fn commands(store: Arc<Meddler>, clock: Arc<ManualClock>, tasks: &Tasks, limits: CommandLimits) -> Commands {
    Commands::new(CommandParts {
        latest: store.clone(),
        store,
        clock,
        ids: Arc::new(RandomIds),
        passwords: PasswordHasher::new(HashingCost::CHEAP, HashingLimits::default()).unwrap(),
        tasks: tasks.clone(),
        limits,
    })
}

pub fn sign_up(name: &str, key: Option<&str>) -> CreateUser {
    CreateUser {
        username: name.to_owned(),
        password: PASSWORD.to_owned(),
        idempotency_key: key.map(str::to_owned),
        caller: HashingCaller::default(),
    }
}

pub fn refusal<T>(result: Result<T, CommandError>) -> Refusal {
    match result {
        Ok(_) => panic!("the command was not refused"),
        Err(CommandError::Rejected(refusal)) => refusal,
        Err(CommandError::Fault(fault)) => panic!("a fault: {fault}"),
    }
}

pub fn code_and_field<T>(result: Result<T, CommandError>) -> (RefusalCode, Option<&'static str>) {
    let refusal = refusal(result);
    (refusal.code, refusal.field)
}
