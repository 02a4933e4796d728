//! Tests of tasks: stages of a stop, panics, and deadlines.

use std::{
    convert::Infallible,
    io,
    sync::atomic::{AtomicBool, Ordering},
};

use tokio::time::Instant;

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

#[tokio::test(start_paused = true)]
async fn background_work_stops_after_the_last_request() {
    let tasks = Tasks::new();
    let (soft_stop, background_stop) = (tasks.soft_stop(), tasks.background_stop());
    let answered = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&answered);
    let tokens = (soft_stop.clone(), background_stop.clone());
    tasks.spawn_serving("http", async move {
        tokens.0.cancelled().await;
        // A request that takes its time.
        sleep(Duration::from_secs(10)).await;
        assert!(!tokens.1.is_cancelled());
        answered.store(true, Ordering::SeqCst);
        Ok::<_, Infallible>(())
    });
    tasks.spawn("projections", async move {
        background_stop.cancelled().await;
        assert!(soft_stop.is_cancelled() && seen.load(Ordering::SeqCst));
        Ok::<_, Infallible>(())
    });
    let (_sender, receiver) = signals(&["SIGTERM"]);
    tasks.run_until(receiver, LONG).await.unwrap();
    assert!(tasks.background_stop().is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn background_work_ends_where_a_request_does_not() {
    let tasks = Tasks::new();
    tasks.spawn_serving("http", std::future::pending::<Result<(), Infallible>>());
    let background_stop = tasks.background_stop();
    tasks.spawn("projections", async move {
        background_stop.cancelled().await;
        Ok::<_, Infallible>(())
    });
    let (_sender, receiver) = signals(&["SIGTERM"]);
    let start = Instant::now();
    let error = tasks.run_until(receiver, Duration::from_secs(20)).await.unwrap_err();
    assert!(matches!(error, LifecycleError::DeadlinePassed(_)));
    assert_eq!(start.elapsed(), Duration::from_secs(20));
}

const DRAINED: StopTimes = StopTimes { drain: Duration::from_secs(5), graceful_max: LONG };

#[tokio::test(start_paused = true)]
async fn tasks_go_on_during_the_drain() {
    let tasks = Tasks::new();
    let (draining, soft_stop) = (tasks.draining(), tasks.soft_stop());
    let start = Instant::now();
    tasks.spawn("http", async move {
        draining.cancelled().await;
        assert_eq!((start.elapsed(), soft_stop.is_cancelled()), (Duration::ZERO, false));
        soft_stop.cancelled().await;
        assert_eq!(start.elapsed(), DRAINED.drain);
        Ok::<_, Infallible>(())
    });
    let (_sender, receiver) = signals(&["SIGTERM"]);
    tasks.run_until(receiver, DRAINED).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_second_signal_ends_the_drain_and_not_the_stop() {
    let tasks = Tasks::new();
    let (start, soft_stop) = (Instant::now(), tasks.soft_stop());
    tasks.spawn("http", async move {
        soft_stop.cancelled().await;
        sleep(Duration::from_secs(1)).await;
        Ok::<_, Infallible>(())
    });
    let (_sender, receiver) = signals(&["SIGTERM", "SIGTERM"]);
    tasks.run_until(receiver, DRAINED).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_failure_ends_the_drain() {
    let tasks = Tasks::new();
    let (start, draining) = (Instant::now(), tasks.draining());
    tasks.spawn("projector", async move {
        draining.cancelled().await;
        Err(io::Error::other("gone"))
    });
    let (_sender, receiver) = signals(&["SIGTERM"]);
    let error = tasks.run_until(receiver, DRAINED).await.unwrap_err();
    assert_eq!(error.to_string(), "the task projector failed: gone");
    assert_eq!(start.elapsed(), Duration::ZERO);
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
    assert!(!tasks.soft_stop().is_cancelled() && tasks.failure().is_none());
}

#[tokio::test]
async fn drops_tasks_on_a_signal_after_the_drain() {
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
