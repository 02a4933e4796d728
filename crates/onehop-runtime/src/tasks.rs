//! Task tracker: signals, background tasks, and a graceful stop with a deadline.
//!
//! A stop has two stages. The soft stop: take no new work, finish the work under way. The hard stop: leave
//! now. A task that fails or panics starts the soft stage and makes the whole run fail, because a process
//! that lost one of its loops looks healthy and is not. Knows nothing of the work of the tasks.

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
    time::timeout,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument;

/// The time for tasks to finish after the first signal, unless the configuration says otherwise.
pub const GRACEFUL_STOP_MAX: Duration = Duration::from_secs(20);

/// The time for tasks to notice the hard stop.
pub const HARD_STOP_MAX: Duration = Duration::from_secs(2);

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
    /// A second signal ended the process before the tasks had ended.
    #[error("a second signal ended the graceful stop")]
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
    soft_stop: CancellationToken,
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

    /// Fires when tasks are to take no new work.
    pub fn soft_stop(&self) -> CancellationToken {
        self.soft_stop.clone()
    }

    /// Fires when tasks are to leave at once. It never fires before the soft stop.
    pub fn hard_stop(&self) -> CancellationToken {
        self.hard_stop.clone()
    }

    /// Asks every task to stop, as a signal does.
    pub fn stop(&self) {
        self.soft_stop.cancel();
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
                Ok(Err(error)) => tasks.fail(name, format!("failed: {}", chain(&*error.into()))),
                Err(panic) => tasks.fail(name, format!("panicked: {}", panic_message(&*panic))),
            }
        };
        self.spawner.spawn(self.tracker.track_future(supervised));
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

    /// Waits for the first signal or the first failure of a task, then stops all tasks.
    pub async fn run_until(
        &self,
        mut signals: mpsc::Receiver<&'static str>,
        graceful_stop_max: Duration,
    ) -> Result<(), LifecycleError> {
        tokio::select! {
            biased;
            () = self.soft_stop.cancelled() => {}
            Some(signal) = signals.recv() => tracing::info!(signal, "stopping"),
        }
        self.soft_stop.cancel();
        self.tracker.close();
        let stopped = tokio::select! {
            biased;
            waited = timeout(graceful_stop_max, self.tracker.wait()) => {
                waited.map_err(|_| LifecycleError::DeadlinePassed(graceful_stop_max))
            }
            Some(signal) = signals.recv() => {
                tracing::warn!(signal, "stopping at once");
                Err(LifecycleError::Interrupted)
            }
        };
        if stopped.is_err() {
            self.hard_stop.cancel();
            if timeout(HARD_STOP_MAX, self.tracker.wait()).await.is_err() {
                tracing::warn!(tasks = self.tracker.len(), "tasks outlived the hard stop");
            }
        }
        match self.failure.get() {
            Some(failure) => Err(failure.clone().into()),
            None => stopped,
        }
    }

    /// The first failure is the cause. Later failures usually follow from it, so they only go to the log.
    fn fail(&self, task: &'static str, reason: String) {
        tracing::error!(task, %reason, "a task ended other than well: stopping");
        let _ = self.failure.set(TaskFailure { task, reason });
        self.soft_stop.cancel();
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

/// An error with its causes, on one line.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
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
mod tests {
    use std::{convert::Infallible, io};

    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    fn signals(names: &[&'static str]) -> (mpsc::Sender<&'static str>, mpsc::Receiver<&'static str>) {
        let (sender, receiver) = mpsc::channel(2);
        for &name in names {
            sender.try_send(name).unwrap();
        }
        (sender, receiver)
    }

    #[tokio::test]
    async fn lets_tasks_finish_after_a_signal() {
        let tasks = Tasks::new();
        let (stop, finished) = (tasks.soft_stop(), Arc::new(OnceLock::new()));
        let seen = Arc::clone(&finished);
        tasks.spawn("loop", async move {
            stop.cancelled().await;
            tokio::task::yield_now().await;
            seen.set(()).map_err(|()| io::Error::other("ran twice"))
        });
        let (_sender, receiver) = signals(&["SIGTERM"]);
        tasks.run_until(receiver, LONG).await.unwrap();
        assert!(finished.get().is_some());
    }

    #[tokio::test]
    async fn fails_with_the_error_of_a_task_and_its_cause() {
        #[derive(Debug, thiserror::Error)]
        #[error("the change feed is gone")]
        struct Gone(#[source] io::Error);

        let tasks = Tasks::new();
        tasks.spawn("projector", async { Err(Gone(io::Error::other("connection reset"))) });
        let (_sender, receiver) = signals(&[]);
        let error = tasks.run_until(receiver, LONG).await.unwrap_err();
        assert_eq!(error.to_string(), "the task projector failed: the change feed is gone: connection reset");
        assert!(tasks.soft_stop().is_cancelled());
    }

    #[tokio::test]
    async fn fails_when_a_task_panics_and_stops_the_others() {
        let tasks = Tasks::new();
        let stop = tasks.soft_stop();
        tasks.spawn("other", async move {
            stop.cancelled().await;
            Ok::<_, Infallible>(())
        });
        tasks.spawn::<Infallible>("projector", async { panic!("index {} out of bounds", 7) });
        let (_sender, receiver) = signals(&[]);
        let error = tasks.run_until(receiver, LONG).await.unwrap_err();
        assert_eq!(error.to_string(), "the task projector panicked: index 7 out of bounds");
    }

    #[tokio::test]
    async fn outlives_a_task_that_ends_well() {
        let tasks = Tasks::new();
        tasks.spawn("once", async { Ok::<_, Infallible>(()) });
        tasks.tracker.close();
        tasks.tracker.wait().await;
        assert!(!tasks.soft_stop().is_cancelled());
    }

    #[tokio::test]
    async fn a_contained_panic_does_not_stop_the_process() {
        let tasks = Tasks::new();
        tasks.spawn_contained("client", async { panic!("on purpose") });
        tasks.tracker.close();
        tasks.tracker.wait().await;
        assert!(!tasks.soft_stop().is_cancelled() && tasks.failure.get().is_none());
    }

    #[tokio::test]
    async fn drops_tasks_on_the_second_signal() {
        let tasks = Tasks::new();
        tasks.spawn("stuck", std::future::pending::<Result<(), Infallible>>());
        let (_sender, receiver) = signals(&["SIGINT", "SIGINT"]);
        let error = tasks.run_until(receiver, LONG).await.unwrap_err();
        assert!(matches!(error, LifecycleError::Interrupted));
        assert!(tasks.hard_stop().is_cancelled() && tasks.tracker.is_empty());
    }

    #[tokio::test]
    async fn drops_tasks_when_the_deadline_passes() {
        let tasks = Tasks::new();
        tasks.spawn("stuck", std::future::pending::<Result<(), Infallible>>());
        let (_sender, receiver) = signals(&["SIGTERM"]);
        let error = tasks.run_until(receiver, Duration::ZERO).await.unwrap_err();
        assert!(matches!(error, LifecycleError::DeadlinePassed(_)));
        assert!(tasks.tracker.is_empty());
    }

    #[tokio::test]
    async fn stops_on_a_signal_of_the_system() {
        let tasks = Tasks::new();
        let stop = tasks.soft_stop();
        let signals = tasks.listen_to_signals().unwrap();
        tasks.spawn("loop", async move {
            stop.cancelled().await;
            Ok::<_, Infallible>(())
        });
        let process = std::process::id().to_string();
        let killed = std::process::Command::new("kill").args(["-TERM", &process]).status().unwrap();
        assert!(killed.success());
        tasks.run_until(signals, LONG).await.unwrap();
    }
}
