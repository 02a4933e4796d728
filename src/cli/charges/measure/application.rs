//! Measurement of the program itself: posts that projections follow, a rename, and a processor that is
//! killed.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::accounts::hashing_queue::HashingCaller;
use crate::app::App;
use crate::blog::commands::{CreatePost, CreateUser, UpdateUser};
use crate::blog::ids::UserId;
use crate::blog::{read_models, verify};
use onehop_change_feed::{PageError, Processor, ProcessorError, Settings, Sharing};
use onehop_store::{Ledger, RequestCharge, Store, StoreCall, StoreDecorator};

/// Posts of the user who is renamed.
const POSTS: usize = 30;
/// Kills of the processor, and the posts that are written before each.
const KILLS: usize = 8;
const POSTS_BEFORE_A_KILL: usize = 3;
const OWNER: &str = "charges";
/// Attempts to drain the change feed, and the pause between them where the store names none.
const DRAINS_MAX: u32 = 600;
const PAUSE: Duration = Duration::from_secs(1);

/// The charge of the program for a task.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ApplicationCharge {
    pub task: String,
    pub charge: RequestCharge,
}

/// The tasks, and the findings of `verify` after the kills.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ApplicationRun {
    pub charges: Vec<ApplicationCharge>,
    pub kills: usize,
    /// Differences between write side and read models.
    pub drifts: usize,
}

impl ApplicationRun {
    pub(super) fn total(&self) -> RequestCharge {
        self.charges.iter().fold(RequestCharge::default(), |sum, task| sum + task.charge)
    }
}

/// Runs the tasks on an empty store.
pub(super) async fn measure(app: &App) -> anyhow::Result<ApplicationRun> {
    let mut run =
        Run { app, store: Arc::new(TotalCharge::over(Arc::clone(&app.recent))), charges: Vec::new() };
    let user = run.sign_up().await?;
    run.posts(user, "first", POSTS).await?;
    run.record(format!("{POSTS} posts by commands")).await;
    run.follow().await?;
    run.record(format!("projections and checkpoints that follow {POSTS} posts")).await;
    let ledger = Ledger::new();
    let rename = UpdateUser { user_id: user, username: "charged-anew".to_owned() };
    app.commands.update_user(rename, &ledger).await?;
    run.store.add(&ledger);
    run.record("rename of their author, by a command".to_owned()).await;
    run.follow().await?;
    run.record("projections and checkpoints that follow the rename".to_owned()).await;
    for kill in 0..KILLS {
        run.posts(user, &format!("kill {kill}"), POSTS_BEFORE_A_KILL).await?;
        run.kill_after(1 << kill).await?;
    }
    run.record(format!("{} posts, with {KILLS} kills of the processor", KILLS * POSTS_BEFORE_A_KILL)).await;
    let drifts = run.verify().await?;
    run.record("verification of all read models".to_owned()).await;
    Ok(ApplicationRun { charges: run.charges, kills: KILLS, drifts })
}

struct Run<'a> {
    app: &'a App,
    store: Arc<TotalCharge>,
    charges: Vec<ApplicationCharge>,
}

impl Run<'_> {
    async fn sign_up(&self) -> anyhow::Result<UserId> {
        let user = CreateUser {
            username: "charged".to_owned(),
            password: "a password that nobody uses".to_owned(),
            idempotency_key: None,
            caller: HashingCaller::default(),
        };
        let ledger = Ledger::new();
        let user = self.app.commands.create_user(user, &ledger).await?;
        self.store.add(&ledger);
        Ok(user.id)
    }

    async fn posts(&self, user_id: UserId, name: &str, number: usize) -> anyhow::Result<()> {
        for post in 0..number {
            let ledger = Ledger::new();
            let content = "A post as long as a paragraph, so that its entries have a summary. ".repeat(8);
            let title = format!("Post {post} of the {name}");
            let post = CreatePost { user_id, title, content, tags: Vec::new(), idempotency_key: None };
            self.app.commands.create_post(post, &ledger).await?;
            self.store.add(&ledger);
        }
        Ok(())
    }

    /// A processor of the blog's projections, as the one before it left them.
    async fn processor(&self) -> anyhow::Result<Processor> {
        let store = Arc::clone(&self.store) as Arc<dyn Store>;
        let settings = Settings { sharing: Sharing::Alone, ..Settings::new(OWNER) };
        let (clock, stop) = (Arc::clone(&self.app.clock), CancellationToken::new());
        Ok(Processor::open(store, clock, read_models::projections(), settings, stop).await?)
    }

    /// Drains the change feed, and continues after transient faults.
    async fn follow(&self) -> anyhow::Result<()> {
        let processor = self.processor().await?;
        let mut attempts = 1;
        loop {
            match processor.drain().await {
                Err(ProcessorError::Page(error)) if error.is_transient() && attempts < DRAINS_MAX => {
                    attempts += 1;
                    let asked = if let PageError::Fault(fault) = &error { fault.retry_after } else { None };
                    tokio::time::sleep(asked.unwrap_or(PAUSE)).await;
                }
                outcome => return Ok(outcome?),
            }
        }
    }

    /// Lets a processor work until it has been polled so many times, and drops it in the middle of its work.
    async fn kill_after(&self, polls: usize) -> anyhow::Result<()> {
        let processor = self.processor().await?;
        let mut work = Box::pin(processor.drain());
        let mut polled = 0;
        poll_fn(|context| {
            polled += 1;
            if polled > polls { Poll::Ready(()) } else { work.as_mut().poll(context).map(drop) }
        })
        .await;
        Ok(())
    }

    async fn verify(&self) -> anyhow::Result<usize> {
        let processor = Arc::new(self.processor().await?);
        let store = Arc::clone(&self.store) as Arc<dyn Store>;
        let report = verify::verifier(store, processor).verify(|_| {}).await?;
        Ok(report.drifts.len() + report.unreadable.len())
    }

    async fn record(&mut self, task: String) {
        let charge = self.store.take();
        self.charges.push(ApplicationCharge { task, charge });
    }
}

/// A store with a meter of everything that it is charged, leases and idle polls included.
struct TotalCharge {
    store: Arc<dyn Store>,
    total: Mutex<RequestCharge>,
}

impl TotalCharge {
    fn over(store: Arc<dyn Store>) -> Self {
        Self { store, total: Mutex::default() }
    }

    fn add(&self, ledger: &Ledger) {
        let mut total = self.total.lock();
        *total = *total + ledger.total();
    }

    fn take(&self) -> RequestCharge {
        std::mem::take(&mut *self.total.lock())
    }
}

impl StoreDecorator for TotalCharge {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        let own = Ledger::new();
        let outcome = call.run(&*self.store, &own).await;
        self.add(&own);
        ledger.absorb(&own);
        outcome
    }
}
