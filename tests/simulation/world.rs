//! World: clients, processes and an account, and what disturbs them, as the plan of a seed says.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use onehop::app::container_specs;
use onehop::app::work::ProgressSink;
use onehop_store::ContainerSpec;
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::client::Client;
use crate::clock::ProcessClock;
use crate::dice::Dice;
use crate::executor::{Executor, Group};
use crate::history::History;
use crate::plan::Plan;
use crate::process::{Process, STOP_MAX};
use crate::shop::{Catalogue, Role};
use crate::store::RunStore;
use crate::trace;

/// The group of clients and of what disturbs processes.
const OUTSIDE: Group = Group(0);
/// More than a lease lives.
const LEASE_EXPIRY: Duration = Duration::from_secs(150);
/// More than read models need to catch up once all faults have ended.
const CATCH_UP_MAX: Duration = Duration::from_secs(900);
const FEED_LENGTH: usize = 100;

/// A post that a client knows.
#[derive(Debug, Clone)]
pub struct KnownPost {
    pub id: String,
    pub author: String,
}

/// A title that a client has posted, or may have.
#[derive(Debug, Clone)]
pub struct Title {
    pub author: String,
    pub is_answered: bool,
}

/// A simulated process, which may still be starting.
struct Member {
    group: Group,
    process: Option<Process>,
}

pub struct World {
    pub plan: Plan,
    pub executor: Executor,
    pub dice: Dice,
    pub history: History,
    pub store: RunStore,
    pub posts: Mutex<Vec<KnownPost>>,
    /// Id, post and author of each comment that a client knows.
    pub comments: Mutex<Vec<(String, String, String)>>,
    /// The user of each session.
    pub users: Mutex<Vec<String>>,
    pub titles: Mutex<BTreeMap<String, Title>>,
    pub catalogue: Mutex<Catalogue>,
    /// Customers among those who have sessions, and the member of staff.
    shop_users: Mutex<BTreeSet<String>>,
    specs: &'static [ContainerSpec],
    start: Instant,
    members: Mutex<BTreeMap<u32, Member>>,
    started: Mutex<u32>,
    acts_left: Mutex<usize>,
    numbers: Mutex<u64>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
}

impl World {
    pub fn new(plan: Plan, executor: Executor) -> Arc<Self> {
        let start = Instant::now();
        let specs: &'static [_] = Box::leak(container_specs().into_boxed_slice());
        let store = RunStore::of(&plan, specs, start);
        Arc::new(Self {
            dice: Dice::of(plan.seed, 2),
            history: History::default(),
            posts: Mutex::default(),
            comments: Mutex::default(),
            users: Mutex::default(),
            titles: Mutex::default(),
            catalogue: Mutex::default(),
            shop_users: Mutex::default(),
            members: Mutex::default(),
            started: Mutex::default(),
            acts_left: Mutex::new(plan.acts),
            numbers: Mutex::default(),
            counts: Mutex::default(),
            specs,
            plan,
            executor,
            store,
            start,
        })
    }

    pub fn elapsed_ms(&self) -> i64 {
        i64::try_from(self.start.elapsed().as_millis()).expect("a short run")
    }

    /// A text that is given once.
    pub fn next(&self, kind: &str) -> String {
        let mut numbers = self.numbers.lock();
        *numbers += 1;
        format!("{kind} {numbers}")
    }

    pub fn count(&self, event: &'static str) {
        *self.counts.lock().entry(event).or_default() += 1;
    }

    /// How often each event occurred.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        let mut counts = self.store.counts();
        for (event, times) in &*self.counts.lock() {
            *counts.entry(event).or_default() += times;
        }
        counts
    }

    /// Whether a client got no answer to a request, or a process died with one.
    pub fn has_unanswered_requests(&self) -> bool {
        let counts = self.counts.lock();
        ["client hung up", "client got no answer", "unknown outcome"]
            .iter()
            .any(|event| counts.contains_key(event))
    }

    pub fn feed_length(&self) -> usize {
        FEED_LENGTH
    }

    pub fn begin_session(&self, user: &str) -> usize {
        let mut users = self.users.lock();
        users.push(user.to_owned());
        users.len() - 1
    }

    /// The same for a customer or a member of staff.
    pub fn begin_shop_session(&self, user: &str) -> usize {
        self.shop_users.lock().insert(user.to_owned());
        self.begin_session(user)
    }

    /// The users of the blog who have had sessions.
    pub fn blog_users(&self) -> BTreeSet<String> {
        let users: BTreeSet<String> = self.users.lock().iter().cloned().collect();
        &users - &self.shop_users.lock()
    }

    pub fn began_title(&self, title: &str, author: &str) {
        self.titles.lock().insert(title.to_owned(), Title { author: author.to_owned(), is_answered: false });
    }

    pub fn posted_title(&self, title: &str) {
        if let Some(title) = self.titles.lock().get_mut(title) {
            title.is_answered = true;
        }
    }

    /// A process that serves, by its number.
    pub fn any_process(&self) -> Option<u32> {
        let members = self.members.lock();
        let serving: Vec<u32> = members
            .iter()
            .filter(|(_, member)| member.process.is_some())
            .map(|(number, _)| *number)
            .collect();
        (!serving.is_empty()).then(|| *self.dice.pick(&serving))
    }

    /// Where a process takes requests, as long as it lives.
    pub fn router_of(&self, number: u32) -> Option<(Group, Router)> {
        let members = self.members.lock();
        let member = members.get(&number)?;
        Some((member.group, member.process.as_ref()?.router.clone()))
    }

    /// Begins to start a process, and returns its number.
    pub fn start_process(self: &Arc<Self>) -> u32 {
        let number = {
            let mut started = self.started.lock();
            *started += 1;
            *started
        };
        trace::line("world", format!("start process {number}"));
        let group = Group(number);
        self.members.lock().insert(number, Member { group, process: None });
        let skew_ms = i64::try_from(self.dice.below(4_000)).expect("a small skew") - 2_000;
        let drift_ppm = i64::try_from(self.dice.below(400)).expect("a small drift") - 200;
        let clock = ProcessClock::new(self.start, skew_ms, drift_ppm);
        let world = Arc::clone(self);
        let spawner = self.executor.spawner(group);
        self.executor.spawn(group, async move {
            let name = format!("process {number}");
            let started =
                match world.store.open(world.specs, Arc::clone(&clock) as _, (&world.executor, group)) {
                    Ok(store) => Process::start(store, name, (clock, spawner)).await,
                    Err(error) => Err(error),
                };
            let mut members = world.members.lock();
            match started {
                Ok(process) => {
                    trace::line("world", format!("process {number} serves"));
                    if let Some(member) = members.get_mut(&number) {
                        member.process = Some(process);
                    }
                }
                Err(error) => {
                    trace::line("world", format!("process {number} did not start: {error:#}"));
                    members.remove(&number);
                }
            }
        });
        number
    }

    fn kill(&self, number: u32) {
        trace::line("world", format!("kill process {number}"));
        let Some(member) = self.members.lock().remove(&number) else { return };
        self.executor.kill(member.group);
        drop(member);
        self.store.killed();
    }

    fn any_member(&self) -> Option<u32> {
        let numbers: Vec<u32> = self.members.lock().keys().copied().collect();
        (!numbers.is_empty()).then(|| *self.dice.pick(&numbers))
    }

    /// Stops a process as a signal does, and checks that it leaves no task behind.
    async fn stop(self: &Arc<Self>, number: u32) {
        let Some(member) = self.members.lock().remove(&number) else { return };
        let Some(process) = member.process else {
            self.executor.kill(member.group);
            return self.store.killed();
        };
        trace::line("world", format!("stop process {number}"));
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.executor.spawn(member.group, async move {
            process.app.close().await;
            drop(process);
            let _ = sender.send(());
        });
        let is_stopped = tokio::time::timeout(STOP_MAX, receiver).await.is_ok();
        // Requests that no client waits for end by themselves.
        tokio::time::sleep(STOP_MAX).await;
        let left = self.executor.tasks_of(member.group);
        if is_stopped && left > 0 {
            self.history.error(format!("process {number} left {left} tasks behind"));
        }
        self.executor.kill(member.group);
        if !is_stopped {
            self.store.killed();
        }
    }

    /// Plays the plan.
    pub async fn play(self: &Arc<Self>) {
        while self.any_process().is_none() {
            if self.members.lock().is_empty() {
                self.start_process();
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        let (sender, mut ended) = tokio::sync::mpsc::channel::<()>(1);
        for number in 0..self.plan.clients {
            let (world, sender) = (Arc::clone(self), sender.clone());
            self.executor.spawn(OUTSIDE, async move {
                let mut client = Client::new(Arc::clone(&world), number);
                let role = match (world.plan.domain, number % 4) {
                    ("blog", _) | ("both", 0 | 1) => None,
                    (_, 2) => Some(Role::Staff),
                    _ => Some(Role::Customer),
                };
                while world.take_act() {
                    // Some acts follow each other at once.
                    if world.dice.percent(65) {
                        let pause_ms = world.dice.below(2 * world.plan.pace_ms);
                        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
                    }
                    match role {
                        Some(role) => client.act_in_shop(role).await,
                        None => client.act_in_blog().await,
                    }
                }
                drop(sender);
            });
        }
        drop(sender);
        loop {
            let rest = Duration::from_millis(self.dice.below(12 * self.plan.pace_ms));
            if tokio::time::timeout(rest, ended.recv()).await.is_ok() {
                return;
            }
            self.disturb().await;
        }
    }

    fn take_act(&self) -> bool {
        let mut left = self.acts_left.lock();
        let is_left = *left > 0;
        *left = left.saturating_sub(1);
        is_left
    }

    async fn disturb(self: &Arc<Self>) {
        let members = self.members.lock().len();
        if members == 0 {
            self.start_process();
            return;
        }
        if self.plan.disturbances.is_empty() {
            return;
        }
        let disturbance = *self.dice.pick(&self.plan.disturbances);
        let Some(number) = self.any_member() else { return };
        match disturbance {
            "kill" if self.dice.percent(75) => self.kill(number),
            "start" if members < self.plan.processes_max => {
                self.start_process();
            }
            "stop" if (members > 1 || self.plan.is_embedded) && self.dice.percent(50) => {
                let world = Arc::clone(self);
                self.executor.spawn(OUTSIDE, async move { world.stop(number).await });
            }
            "pause" => {
                let group = Group(number);
                let pause = Duration::from_millis(self.dice.below(90_000));
                trace::line("world", format!("pause process {number} for {pause:?}"));
                self.executor.pause(group);
                let executor = self.executor.clone();
                self.executor.spawn(OUTSIDE, async move {
                    tokio::time::sleep(pause).await;
                    executor.resume(group);
                });
            }
            "split" | "merge" => {
                let container = self.dice.pick(self.specs).name;
                if self.store.reshape(container, &self.dice, disturbance == "split") {
                    trace::line("world", format!("{disturbance} {container}"));
                }
            }
            "storm" => {
                let percent = *self.dice.pick(&[0, 0, 5, 20, 60, 100]);
                trace::line("world", format!("{percent} % of the requests of process {number} fail"));
                self.store.storm(number, percent);
            }
            "clock step" => {
                let by_ms = i64::try_from(self.dice.below(240_000)).expect("a small step") - 120_000;
                if let Some(process) =
                    self.members.lock().get(&number).and_then(|member| member.process.as_ref())
                {
                    trace::line("world", format!("the clock of process {number} steps by {by_ms} ms"));
                    process.clock.step_ms(by_ms);
                }
            }
            "maintenance" => self.maintain(number),
            _ => return,
        }
        self.count(disturbance);
    }

    /// Has a process verify, repair, rebuild or replay beside commands.
    fn maintain(&self, number: u32) {
        let app = match self.members.lock().get(&number).and_then(|member| member.process.as_ref()) {
            Some(process) => Arc::clone(&process.app),
            None => return,
        };
        let work = self.dice.below(4);
        trace::line("world", format!("maintenance {work} by process {number}"));
        self.executor.spawn(Group(number), async move {
            // What fails is tried again by its operator.
            let _ = match work {
                0 => app.verify(false, &ProgressSink::none()).await.map(drop),
                1 => app.verify(true, &ProgressSink::none()).await.map(drop),
                2 => app.rebuild(None, &ProgressSink::none()).await.map(drop),
                _ => app.replay(None).await.map(drop),
            };
        });
    }

    /// Ends all faults and processes, starts one process, and waits until read models have caught up. Returns its number.
    pub async fn settle(self: &Arc<Self>) -> Option<u32> {
        self.store.mend();
        let numbers: Vec<u32> = self.members.lock().keys().copied().collect();
        numbers.iter().for_each(|number| self.executor.resume(Group(*number)));
        self.expect_caught_up().await;
        for number in numbers {
            if self.dice.percent(50) {
                self.stop(number).await;
            } else {
                self.kill(number);
            }
        }
        tokio::time::sleep(LEASE_EXPIRY).await;
        let number = self.start_process();
        for _ in 0..600 {
            if self.router_of(number).is_some() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        let app = self.app_of(number)?;
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.executor.spawn(Group(number), async move {
            tokio::time::sleep(LEASE_EXPIRY).await;
            let _ = sender.send(app.processor.drain().await.map_err(|error| error.to_string()));
        });
        match tokio::time::timeout(Duration::from_secs(3_600), receiver).await {
            Ok(Ok(Ok(()))) => {}
            other => self
                .history
                .error(format!("the change feed was not drained after all faults ended: {other:?}")),
        }
        Some(number)
    }

    /// Where a process runs, its read models catch up by themselves. Of an account, what waits is an estimate.
    async fn expect_caught_up(&self) {
        tokio::time::sleep(CATCH_UP_MAX).await;
        if !self.plan.is_embedded {
            return;
        }
        let Some(number) = self.any_process() else { return };
        let Some(app) = self.app_of(number) else { return };
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.executor.spawn(Group(number), async move {
            let _ = sender.send((app.processor.status().await, app.processor.processor_status().await));
        });
        let Ok((Ok(status), Ok(leases))) = receiver.await else { return };
        let waiting: Vec<String> = status
            .iter()
            .filter(|status| status.pending_changes > 0)
            .map(|status| format!("{} changes of {}", status.pending_changes, status.projection))
            .collect();
        if !waiting.is_empty() {
            let waiting = format!("{}; {leases:?}", waiting.join(", "));
            self.history.error(format!(
                "read models catch up by themselves: after {CATCH_UP_MAX:?} there wait {waiting}"
            ));
        }
    }

    /// The app of a process that serves.
    pub fn app_of(&self, number: u32) -> Option<Arc<onehop::app::App>> {
        let members = self.members.lock();
        members.get(&number)?.process.as_ref().map(|process| Arc::clone(&process.app))
    }

    /// Stops the last process.
    pub async fn end(self: &Arc<Self>, number: u32) {
        self.stop(number).await;
    }
}
