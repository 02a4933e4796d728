//! Virtual clock: time passes when a test says so, for sleeping tasks, too.
//!
//! It needs a runtime of one thread. Between two wake-ups the other tasks run until none of them gets on.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use onehop_runtime::clock::Clock;
use parking_lot::Mutex;
use tokio::sync::oneshot;

/// Turns of the other tasks without any progress after which all of them are taken to sleep.
const QUIET_TURNS: usize = 300;

/// A clock whose sleepers wake when it is moved past their time.
#[derive(Debug)]
pub struct VirtualClock(Mutex<ClockState>);

#[derive(Debug)]
struct ClockState {
    now_ms: i64,
    /// The sum of the wall clock's steps: forward, or back where it is negative.
    wall_steps_ms: i64,
    slept: u64,
    sleepers: BTreeMap<(i64, u64), oneshot::Sender<()>>,
}

impl VirtualClock {
    /// A clock that shows `now_ms`, in milliseconds since the Unix epoch.
    pub fn new(now_ms: i64) -> Self {
        Self(Mutex::new(ClockState { now_ms, wall_steps_ms: 0, slept: 0, sleepers: BTreeMap::new() }))
    }

    /// Passes this much time. Tasks that were due meanwhile have run when this returns. `progress` is a
    /// number that changes while tasks get on.
    pub async fn pass(&self, duration: Duration, progress: impl Fn() -> usize) {
        let end_ms = self.monotonic_ms() + i64::try_from(duration.as_millis()).expect("a short time");
        self.settle(&progress).await;
        while let Some(sleeper) = self.wake_next(end_ms) {
            let _ = sleeper.send(());
            self.settle(&progress).await;
        }
        self.0.lock().now_ms = end_ms;
    }

    /// Lets the other tasks run until all of them sleep.
    pub async fn settle(&self, progress: &impl Fn() -> usize) {
        let standing = || (progress(), self.0.lock().slept);
        let (mut before, mut quiet) = (standing(), 0);
        while quiet < QUIET_TURNS {
            tokio::task::yield_now().await;
            let now = standing();
            quiet = if now == before { quiet + 1 } else { 0 };
            before = now;
        }
    }

    /// Sets the wall clock forward by this many milliseconds, or back where they are negative. No sleeper
    /// wakes.
    pub fn step_wall_ms(&self, by_ms: i64) {
        self.0.lock().wall_steps_ms += by_ms;
    }

    /// Moves to the next wake-up before the end.
    fn wake_next(&self, end_ms: i64) -> Option<oneshot::Sender<()>> {
        let mut state = self.0.lock();
        let next = state.sleepers.first_entry().filter(|entry| entry.key().0 <= end_ms)?;
        let ((due_ms, _), sleeper) = next.remove_entry();
        state.now_ms = state.now_ms.max(due_ms);
        Some(sleeper)
    }
}

impl Clock for VirtualClock {
    fn now_ms(&self) -> i64 {
        let state = self.0.lock();
        state.now_ms + state.wall_steps_ms
    }

    fn monotonic_ms(&self) -> i64 {
        self.0.lock().now_ms
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let mut state = self.0.lock();
        // A clock of milliseconds: shorter sleeps take one.
        let due_ms = state.now_ms + i64::try_from(duration.as_millis()).unwrap_or(i64::MAX / 2).max(1);
        let (sleeper, woken) = oneshot::channel();
        state.slept += 1;
        let number = state.slept;
        state.sleepers.insert((due_ms, number), sleeper);
        woken.map(drop).boxed()
    }
}
