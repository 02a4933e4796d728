//! Executor of a simulation: one thread, and a seeded choice of the next task among the ready ones. In half
//! of the runs tasks have priorities that seldom change, so that one task runs far ahead of another one.
//!
//! Source of the priorities: Burckhardt, Kothari, Musuvathi, Nagarakatte, "A Randomized Scheduler with
//! Probabilistic Guarantees of Finding Bugs", 2010.
//!
//! It runs as the one future of a tokio runtime with paused time, which advances when no task is ready. Tasks
//! belong to groups: a group is a simulated process, whose tasks can be dropped at any await point or not be
//! polled for a while. In some runs single tasks stall again and again, so that a request or a projection
//! stands between two of its steps while the others go on.

use std::collections::{BTreeMap, BTreeSet};
use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use futures::task::AtomicWaker;
use onehop_runtime::tasks::Spawner;
use parking_lot::Mutex;

use crate::dice::Dice;
use crate::trace;

/// Polls of a run after which it is taken to go in circles.
const POLLS_MAX: u64 = 5_000_000;
/// The share of choices without regard to priorities, in percent: a task that waits by yielding starves no
/// other.
const WITHOUT_PRIORITY: u64 = 10;
/// The share of choices after which the chosen task gets another priority, in percent.
const NEW_PRIORITY: u64 = 2;
/// The last lines of the trace that its report shows.
const TRACE_LINES: usize = 40;

/// A group of tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Group(pub u32);

/// The group of clients and disturbances, whose tasks do not stall.
pub const OUTSIDE: Group = Group(0);

/// Stalls of single tasks.
#[derive(Debug, Clone, Copy)]
pub struct Stalls {
    /// The share of polls before which the task stalls, in one of a thousand.
    pub per_mille: u64,
    /// The longest stall, in milliseconds.
    pub ms_max: u64,
}

/// The executor. Clones are handles to it.
#[derive(Clone)]
pub struct Executor(Arc<Shared>);

struct Shared {
    dice: Dice,
    has_priorities: bool,
    stalls: Option<(Stalls, Dice)>,
    state: Mutex<State>,
    root: AtomicWaker,
}

#[derive(Default)]
struct State {
    tasks: BTreeMap<u64, Task>,
    ready: Vec<u64>,
    spawned: u64,
    polls: u64,
    paused: BTreeSet<Group>,
    /// Tasks that are not polled for a while.
    preempted: BTreeSet<u64>,
    /// Whether no task stalls for the moment.
    is_calm: bool,
}

struct Task {
    group: Group,
    /// `None` while the task is polled.
    future: Option<BoxFuture<'static, ()>>,
    is_ready: bool,
    priority: u64,
}

struct TaskWaker {
    task: u64,
    shared: Arc<Shared>,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let mut state = self.shared.state.lock();
        let State { tasks, ready, .. } = &mut *state;
        let Some(task) = tasks.get_mut(&self.task).filter(|task| !task.is_ready) else { return };
        task.is_ready = true;
        ready.push(self.task);
        drop(state);
        self.shared.root.wake();
    }
}

impl Executor {
    pub fn new(dice: Dice, stalls: Option<(Stalls, Dice)>) -> Self {
        let (has_priorities, root) = (dice.percent(50), AtomicWaker::new());
        Self(Arc::new(Shared { dice, has_priorities, stalls, state: Mutex::default(), root }))
    }

    /// Ends the stalls of single tasks, or begins them again.
    pub fn set_calm(&self, is_calm: bool) {
        self.0.state.lock().is_calm = is_calm;
    }

    /// Starts a task in a group.
    pub fn spawn(&self, group: Group, task: impl Future<Output = ()> + Send + 'static) {
        let mut state = self.0.state.lock();
        state.spawned += 1;
        let number = state.spawned;
        let priority = self.0.dice.below(u64::MAX);
        state.tasks.insert(number, Task { group, future: Some(task.boxed()), is_ready: true, priority });
        state.ready.push(number);
        drop(state);
        self.0.root.wake();
    }

    /// Starts the tasks of a group for code that knows no executor.
    pub fn spawner(&self, group: Group) -> Spawner {
        let executor = self.clone();
        Spawner::new(move |task| executor.spawn(group, task))
    }

    /// Drops all tasks of a group where they wait. A task of the group that is running is dropped at its next
    /// await point.
    pub fn kill(&self, group: Group) {
        let mut state = self.0.state.lock();
        state.paused.remove(&group);
        let of_group = |task: &Task| task.group == group;
        let killed: Vec<u64> =
            state.tasks.iter().filter(|(_, task)| of_group(task)).map(|(number, _)| *number).collect();
        let dropped: Vec<_> = killed.iter().filter_map(|number| state.tasks.remove(number)).collect();
        state.ready.retain(|number| !killed.contains(number));
        drop(state);
        // Dropping a task may wake others.
        drop(dropped);
    }

    /// Stops polling the tasks of a group.
    pub fn pause(&self, group: Group) {
        self.0.state.lock().paused.insert(group);
    }

    /// Polls the tasks of a group again.
    pub fn resume(&self, group: Group) {
        self.0.state.lock().paused.remove(&group);
        self.0.root.wake();
    }

    /// Stops polling one task of a group, as the dice say, and returns its number.
    pub fn preempt(&self, group: Group) -> Option<u64> {
        let mut state = self.0.state.lock();
        let of_group: Vec<u64> =
            state.tasks.iter().filter(|(_, task)| task.group == group).map(|(number, _)| *number).collect();
        let task = (!of_group.is_empty()).then(|| *self.0.dice.pick(&of_group))?;
        state.preempted.insert(task);
        Some(task)
    }

    /// Polls a preempted task again.
    pub fn continue_task(&self, task: u64) {
        self.0.state.lock().preempted.remove(&task);
        self.0.root.wake();
    }

    /// The number of tasks of a group.
    pub fn tasks_of(&self, group: Group) -> usize {
        self.0.state.lock().tasks.values().filter(|task| task.group == group).count()
    }

    /// Runs all tasks until this one, which is one of them, ends.
    pub async fn run<T: Send + 'static>(
        &self,
        group: Group,
        main: impl Future<Output = T> + Send + 'static,
    ) -> T {
        let (sender, mut receiver) = tokio::sync::oneshot::channel();
        self.spawn(group, async move {
            let _ = sender.send(main.await);
        });
        let polling = poll_fn(|context| {
            self.poll_ready(context);
            match receiver.try_recv() {
                Ok(outcome) => Poll::Ready(outcome),
                Err(_) => Poll::Pending,
            }
        });
        tokio::task::coop::unconstrained(polling).await
    }

    fn poll_ready(&self, context: &Context<'_>) {
        self.0.root.register(context.waker());
        while let Some((number, mut future)) = self.next_running() {
            let waker = Waker::from(Arc::new(TaskWaker { task: number, shared: Arc::clone(&self.0) }));
            let is_done = future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready();
            let mut state = self.0.state.lock();
            match state.tasks.get_mut(&number) {
                Some(task) if !is_done => task.future = Some(future),
                // It has ended, or it was killed while it ran.
                _ => {
                    let ended = state.tasks.remove(&number);
                    state.ready.retain(|ready| *ready != number);
                    drop(state);
                    drop((ended, future));
                }
            }
        }
    }

    /// One of so many tasks: the one of the highest priority, or any.
    fn chosen(&self, length: usize, priority: impl Fn(usize) -> u64) -> usize {
        if !self.0.has_priorities || self.0.dice.percent(WITHOUT_PRIORITY) {
            return self.0.dice.place(length);
        }
        (0..length).max_by_key(|place| priority(*place)).unwrap_or_default()
    }

    /// Takes a ready task that does not stall.
    fn next_running(&self) -> Option<(u64, BoxFuture<'static, ()>)> {
        loop {
            let (number, future) = self.next()?;
            let Some(stall) = self.stall_of(number) else { return Some((number, future)) };
            let mut state = self.0.state.lock();
            let State { tasks, ready, preempted, .. } = &mut *state;
            if let Some(task) = tasks.get_mut(&number) {
                task.future = Some(future);
                // It may have been woken between the two locks.
                if !std::mem::replace(&mut task.is_ready, true) {
                    ready.push(number);
                }
                preempted.insert(number);
            }
            drop(state);
            let executor = self.clone();
            self.spawn(OUTSIDE, async move {
                tokio::time::sleep(stall).await;
                executor.continue_task(number);
            });
        }
    }

    /// The time for which a task stalls before its next poll.
    fn stall_of(&self, number: u64) -> Option<Duration> {
        let (stalls, dice) = self.0.stalls.as_ref()?;
        let state = self.0.state.lock();
        if state.is_calm || state.tasks.get(&number)?.group == OUTSIDE {
            return None;
        }
        let stalls_now = dice.below(1_000) < stalls.per_mille;
        stalls_now.then(|| Duration::from_millis(dice.below(stalls.ms_max)))
    }

    /// Takes a ready task of a group that is not paused.
    fn next(&self) -> Option<(u64, BoxFuture<'static, ()>)> {
        let mut state = self.0.state.lock();
        let State { tasks, ready, paused, preempted, polls, .. } = &mut *state;
        let all_run = paused.is_empty() && preempted.is_empty();
        let runnable = |number: &u64| !paused.contains(&tasks[number].group) && !preempted.contains(number);
        let places: Vec<usize> = if all_run {
            Vec::new()
        } else {
            (0..ready.len()).filter(|place| runnable(&ready[*place])).collect()
        };
        let place = match (all_run, ready.len(), places.len()) {
            (_, 0, _) | (false, _, 0) => return None,
            (true, length, _) => self.chosen(length, |place| tasks[&ready[place]].priority),
            (false, _, length) => places[self.chosen(length, |place| tasks[&ready[places[place]]].priority)],
        };
        *polls += 1;
        if *polls == POLLS_MAX {
            let trace = trace::take();
            let end = trace[trace.len().saturating_sub(TRACE_LINES)..].join("\n");
            panic!("the tasks go in circles: {POLLS_MAX} polls, after\n{end}");
        }
        let number = ready.swap_remove(place);
        let task = tasks.get_mut(&number).expect("a ready task is there");
        task.is_ready = false;
        if self.0.has_priorities && self.0.dice.percent(NEW_PRIORITY) {
            task.priority = self.0.dice.below(u64::MAX);
        }
        let future = task.future.take().expect("a task is polled once at a time");
        Some((number, future))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::*;

    const MAIN: Group = Group(0);
    const OTHER: Group = Group(1);

    fn simulate<T>(seed: u64, main: impl AsyncFnOnce(Executor) -> T) -> T {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(main(Executor::new(Dice::of(seed, 0), None)))
    }

    fn order(seed: u64) -> Vec<u32> {
        simulate(seed, async |executor| {
            let seen = Arc::new(Mutex::new(Vec::new()));
            for number in 0..20 {
                let seen = Arc::clone(&seen);
                executor.spawn(OTHER, async move {
                    tokio::task::yield_now().await;
                    seen.lock().push(number);
                });
            }
            executor.run(MAIN, tokio::time::sleep(Duration::from_secs(1))).await;
            std::mem::take(&mut *seen.lock())
        })
    }

    #[test]
    fn the_order_of_tasks_comes_from_the_seed() {
        assert_eq!(order(1), order(1));
        assert_ne!(order(1), order(2));
        assert_eq!(order(1).len(), 20);
    }

    #[test]
    fn a_killed_group_is_dropped_where_it_waits() {
        let ticks = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&ticks);
        simulate(1, async |executor| {
            executor.spawn(OTHER, async move {
                loop {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    counted.fetch_add(1, Ordering::Relaxed);
                }
            });
            let handle = executor.clone();
            let main = async move {
                tokio::time::sleep(Duration::from_millis(3_500)).await;
                handle.pause(OTHER);
                tokio::time::sleep(Duration::from_secs(10)).await;
                handle.resume(OTHER);
                tokio::time::sleep(Duration::from_millis(1_200)).await;
                handle.kill(OTHER);
                tokio::time::sleep(Duration::from_secs(10)).await;
                handle.tasks_of(OTHER)
            };
            assert_eq!(executor.run(MAIN, main).await, 0);
        });
        // Three before the pause; the sleep of the pause ends after it, and one more second passes.
        assert_eq!((ticks.load(Ordering::Relaxed), Arc::strong_count(&ticks)), (5, 1));
    }
}
