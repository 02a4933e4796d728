//! Task tracker: signals, background tasks, and a graceful stop with a deadline.
//!
//! A stop has four stages. The drain: serve on, and have clients go elsewhere. The soft stop: take no new
//! work, finish the work under way. The background stop: no task serves clients any more, so the work that
//! their requests wait for may end. The hard stop: leave now. A task that fails or panics starts the soft
//! stage and makes the whole run fail, because a process that lost one of its loops looks healthy and is not.
//! Knows nothing of the work of the tasks.

use std::{
    any::Any,
    error::Error,
    fmt,
    future::Future,
    panic::AssertUnwindSafe,
    sync::{Arc, OnceLock},
    time::Duration,
};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::mpsc,
    time::{sleep, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument;

use crate::error_chain::one_line;

/// The time for tasks to finish after the first signal, unless the configuration says otherwise.
pub const GRACEFUL_STOP_MAX: Duration = Duration::from_secs(20);

/// The share of the graceful shutdown timeout that requests have; the rest is for background work.
pub const REQUESTS_STOP_SHARE: f64 = 0.75;

/// The time for tasks to notice the hard stop.
pub const HARD_STOP_MAX: Duration = Duration::from_secs(2);

/// Lets other tasks go first. Tokio polls this task again once all that are ready have had their turn. A
/// simulation decides for itself which goes first, this one included.
pub async fn yield_now() {
    if !crate::planted::IS_BUILT {
        return tokio::task::yield_now().await;
    }
    let mut has_yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return std::task::Poll::Ready(());
        }
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

/// The time of each stage of a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopTimes {
    /// From the first signal to the soft stop.
    pub drain: Duration,
    /// From the soft stop to the hard stop.
    pub graceful_max: Duration,
}

impl From<Duration> for StopTimes {
    /// A stop without a drain.
    fn from(graceful_max: Duration) -> Self {
        Self { drain: Duration::ZERO, graceful_max }
    }
}

/// Why a run ended other than well. `main` turns each into an exit status that is not 0.
#[derive(Debug, thiserror::Error)]
pub enum LifecycleError {
    /// The signal handlers could not be installed.
    #[error("cannot listen to signals: {0}")]
    Signals(#[source] std::io::Error),
    /// A task ended in another way than by a stop.
    #[error(transparent)]
    Task(#[from] TaskFailure),
    /// Tasks were still running this long after the soft stop.
    #[error("tasks were still running {0:?} after the soft stop")]
    DeadlinePassed(Duration),
    /// A further signal ended the process before the tasks had ended.
    #[error("a further signal ended the graceful stop")]
    Interrupted,
}

/// A task that ended other than well.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the task {task} {reason}")]
pub struct TaskFailure {
    /// The name of the task.
    pub task: &'static str,
    /// The error or the panic message.
    pub reason: String,
}

/// Makes every panic one line of the log, with its place, in place of free text on standard error.
pub fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, message = panic_message(panic.payload()), "panic");
    }));
}

/// The executor on which tasks run: the runtime of tokio by default, or another one, of a simulation for
/// example.
#[derive(Clone, Default)]
pub struct Spawner(Option<Arc<SpawnTask>>);

type SpawnTask = dyn Fn(BoxFuture<'static, ()>) + Send + Sync;

impl Spawner {
    /// An executor that starts each task by this function.
    pub fn new(spawn: impl Fn(BoxFuture<'static, ()>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(spawn)))
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        match &self.0 {
            Some(spawn) => spawn(task.boxed()),
            None => spawn_untracked(task),
        }
    }
}

impl fmt::Debug for Spawner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_some() { "Spawner(other)" } else { "Spawner(tokio)" })
    }
}

/// Starts tasks and knows when they are to stop. Clones are handles to the same process.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    spawner: Spawner,
    tracker: TaskTracker,
    /// The tasks among them that serve clients.
    serving: TaskTracker,
    drain: CancellationToken,
    soft_stop: CancellationToken,
    background_stop: CancellationToken,
    hard_stop: CancellationToken,
    failure: Arc<OnceLock<TaskFailure>>,
}

impl Tasks {
    /// Makes an empty set of tasks, with no stop requested.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, on another executor.
    pub fn on(spawner: Spawner) -> Self {
        Self { spawner, ..Self::default() }
    }

    /// Fires when clients are to go elsewhere, while they are still served. It never fires after the soft
    /// stop.
    pub fn draining(&self) -> CancellationToken {
        self.drain.clone()
    }

    /// Fires when tasks are to take no new work.
    pub fn soft_stop(&self) -> CancellationToken {
        self.soft_stop.clone()
    }

    /// Fires when no task serves clients any more, or its time is over: the end of background work that
    /// requests wait for.
    pub fn background_stop(&self) -> CancellationToken {
        self.background_stop.clone()
    }

    /// Fires when tasks are to leave at once. It never fires before the soft stop.
    pub fn hard_stop(&self) -> CancellationToken {
        self.hard_stop.clone()
    }

    /// Begins the drain, as the first signal does.
    pub fn drain(&self) {
        self.drain.cancel();
    }

    /// Asks every task to stop, as the end of the drain does.
    pub fn stop(&self) {
        self.drain.cancel();
        self.soft_stop.cancel();
    }

    /// The failure of a task that stopped them all.
    pub fn failure(&self) -> Option<&TaskFailure> {
        self.failure.get()
    }

    /// Runs a task to its end. An error or a panic of the task stops the process; a task that ends well
    /// just ends. The task is dropped when the hard stop fires.
    pub fn spawn<E>(&self, name: &'static str, task: impl Future<Output = Result<(), E>> + Send + 'static)
    where
        E: Into<Box<dyn Error + Send + Sync>> + Send + 'static,
    {
        let tasks = self.clone();
        let supervised = async move {
            let hard_stop = tasks.hard_stop();
            let task = AssertUnwindSafe(task).catch_unwind();
            let Some(outcome) = hard_stop.run_until_cancelled(task).await else {
                tracing::warn!(task = name, "task dropped by the hard stop");
                return;
            };
            match outcome {
                Ok(Ok(())) => tracing::debug!(task = name, "task ended"),
                Ok(Err(error)) => tasks.fail(name, format!("failed: {}", one_line(&*error.into()))),
                Err(panic) => tasks.fail(name, format!("panicked: {}", panic_message(&*panic))),
            }
        };
        self.spawner.spawn(self.tracker.track_future(supervised));
    }

    /// Runs a task that serves clients, such as a listener with its connections. As [`spawn`](Self::spawn);
    /// the background stop waits for its end.
    pub fn spawn_serving<E>(
        &self,
        name: &'static str,
        task: impl Future<Output = Result<(), E>> + Send + 'static,
    ) where
        E: Into<Box<dyn Error + Send + Sync>> + Send + 'static,
    {
        self.spawn(name, self.serving.track_future(task));
    }

    /// Runs a task that serves one client. As [`spawn`](Self::spawn), but its panic does not stop the
    /// process.
    pub fn spawn_contained(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let hard_stop = self.hard_stop();
        let contained = async move {
            let task = AssertUnwindSafe(task).catch_unwind();
            match hard_stop.run_until_cancelled(task).await {
                Some(Ok(())) => {}
                Some(Err(panic)) => {
                    tracing::error!(task = name, reason = panic_message(&*panic), "a client's task panicked");
                }
                None => tracing::debug!(task = name, "task dropped by the hard stop"),
            }
        };
        // Log lines of a client's task belong to the request that began it.
        self.spawner.spawn(self.tracker.track_future(contained.in_current_span()));
    }

    /// Waits for the first signal, which begins the drain, or the first failure of a task; then stops all
    /// tasks. A second signal ends the drain early, and one after the drain ends the stop.
    pub async fn run_until(
        &self,
        mut signals: mpsc::Receiver<&'static str>,
        times: impl Into<StopTimes>,
    ) -> Result<(), LifecycleError> {
        let StopTimes { drain, graceful_max } = times.into();
        tokio::select! {
            biased;
            () = self.soft_stop.cancelled() => {}
            Some(signal) = signals.recv() => {
                tracing::info!(signal, drain_seconds = drain.as_secs(), "stopping");
                self.drain_for(drain, &mut signals).await;
            }
        }
        self.stop();
        self.tracker.close();
        let stopped = tokio::select! {
            biased;
            waited = timeout(graceful_max, self.all_ended(graceful_max)) => {
                waited.map_err(|_| LifecycleError::DeadlinePassed(graceful_max))
            }
            Some(signal) = signals.recv() => {
                tracing::warn!(signal, "stopping at once");
                Err(LifecycleError::Interrupted)
            }
        };
        if stopped.is_err() {
            self.background_stop.cancel();
            self.hard_stop.cancel();
            if timeout(HARD_STOP_MAX, self.tracker.wait()).await.is_err() {
                tracing::warn!(tasks = self.tracker.len(), "tasks outlived the hard stop");
            }
        }
        match self.failure() {
            Some(failure) => Err(failure.clone().into()),
            None => stopped,
        }
    }

    /// Serves on for this long, while clients go elsewhere; less with another signal or a failure.
    async fn drain_for(&self, drain: Duration, signals: &mut mpsc::Receiver<&'static str>) {
        self.drain.cancel();
        if drain.is_zero() {
            return;
        }
        tokio::select! {
            biased;
            () = self.soft_stop.cancelled() => {}
            Some(signal) = signals.recv() => tracing::warn!(signal, "the drain ends early"),
            () = sleep(drain) => {}
        }
    }

    /// Waits for the tasks that serve clients, for a share of the time, and then for all others.
    async fn all_ended(&self, graceful_max: Duration) {
        self.serving.close();
        let served = timeout(graceful_max.mul_f64(REQUESTS_STOP_SHARE), self.serving.wait()).await;
        if served.is_err() {
            tracing::warn!("background work ends before the last request has its answer");
        }
        self.background_stop.cancel();
        self.tracker.wait().await;
    }

    /// The first failure is the cause. Later failures usually follow from it, so they only go to the log.
    fn fail(&self, task: &'static str, reason: String) {
        tracing::error!(task, %reason, "a task ended other than well: stopping");
        let _ = self.failure.set(TaskFailure { task, reason });
        self.stop();
    }

    /// Takes the signals that end the process from now on.
    ///
    /// # Errors
    /// The system does not let it.
    pub fn listen_to_signals(&self) -> Result<mpsc::Receiver<&'static str>, LifecycleError> {
        let mut terminate = signal(SignalKind::terminate()).map_err(LifecycleError::Signals)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(LifecycleError::Signals)?;
        let (sender, receiver) = mpsc::channel(2);
        // Outside the tracker: it ends when the receiver is gone, and the process does not wait for it.
        spawn_untracked(async move {
            loop {
                let name = tokio::select! {
                    biased;
                    () = sender.closed() => return,
                    _ = terminate.recv() => "SIGTERM",
                    _ = interrupt.recv() => "SIGINT",
                };
                if sender.send(name).await.is_err() {
                    return;
                }
            }
        });
        Ok(receiver)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one place that starts tasks; a panic is caught by the task"
)]
fn spawn_untracked(task: impl Future<Output = ()> + Send + 'static) {
    tokio::spawn(task);
}

/// The message of a panic, as far as it is a text.
pub fn panic_message(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

#[cfg(test)]
mod tests;
