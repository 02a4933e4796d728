//! World: clients, processes, a store and disturbances, by the plan of a seed.

mod acts;
mod deployment;
mod disturbances;
mod half_done;
mod living_sessions;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use onehop::app::{OpenStore, OperatedDomain, container_specs};
use onehop::graphql::GlobalId;
use onehop_runtime::planted;
use onehop_runtime::tasks::Tasks;
use onehop_store::ContainerSpec;
use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::clock::ProcessClock;
use crate::desk::KnownDesk;
use crate::dice::Dice;
use crate::executor::{Executor, Group, OUTSIDE};
use crate::faults::HANG_MAX;
use crate::history::History;
use crate::live::Subscriptions;
use crate::live_queries::LiveQueries;
use crate::passwords::Passwords;
use crate::phase::Phase;
use crate::plan::{MODEL, Plan};
use crate::process::{Process, STOP_MAX};
use crate::removals::Removals;
use crate::restored::Backup;
use crate::shop::Catalogue;
use crate::store::RunStore;
use crate::trace;
use deployment::ModelVersions;

/// Disturbances of a run: more hide each other.
const DISTURBANCES_MAX: usize = 90;
/// Processes that a run starts. A start takes as long as hundreds of requests.
const PROCESSES_STARTED_MAX: u32 = 40;
/// Starts of processes beside faults, in percent.
const FAULTY_STARTS_PERCENT: u64 = 20;
/// Processes that do not start, one after the other, before the operator copies the disk back.
const FAILED_STARTS_MAX: u32 = 8;
/// A post that a client knows.
#[derive(Debug, Clone)]
pub struct KnownPost {
    pub id: String,
    pub author: String,
    /// The date of its creation, as answers have it.
    pub created: String,
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
    /// Whether its release does not know the projections that the plan adds.
    is_older: bool,
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
    /// Other devices that users have had.
    pub devices: AtomicUsize,
    /// Users and their idempotency keys.
    pub keys: Mutex<Vec<(String, String)>>,
    /// Posts and users whose like was taken back.
    pub taken_back: Mutex<Vec<(KnownPost, String)>>,
    /// The user of each session.
    pub users: Mutex<Vec<String>>,
    pub titles: Mutex<BTreeMap<String, Title>>,
    pub catalogue: Mutex<Catalogue>,
    pub passwords: Mutex<Passwords>,
    pub subscriptions: Subscriptions,
    pub live_queries: LiveQueries,
    pub removals: Mutex<Removals>,
    /// Users whose accounts staff suspended, or may have.
    pub suspended: Mutex<Vec<String>>,
    pub backups: Mutex<Vec<Backup>>,
    /// Customers with sessions, and the member of staff.
    shop_users: Mutex<BTreeSet<String>>,
    /// Users of the blog whose sessions a request may have ended.
    users_without_sessions: Mutex<BTreeSet<String>>,
    /// Sessions that a request may have ended alone.
    ended_sessions: Mutex<BTreeSet<usize>>,
    /// The known items of the served model.
    pub desk: Mutex<KnownDesk>,
    /// The versions of the served model, where the run has one.
    models: Option<ModelVersions>,
    specs: &'static [ContainerSpec],
    start: Instant,
    members: Mutex<BTreeMap<u32, Member>>,
    started: Mutex<u32>,
    /// The number of consecutive failed starts.
    failed_starts: Mutex<u32>,
    /// Whether a process of the newer release was started.
    has_newer: Mutex<bool>,
    /// The acts that were left when a process of the newer release began to serve.
    acts_left_at_newer: Mutex<Option<usize>>,
    /// Processes that are about to end, and still have their stores open.
    stopping: Mutex<u32>,
    acts_left: Mutex<usize>,
    acts_taken: AtomicUsize,
    /// The number of the phase.
    phase: AtomicUsize,
    /// Whether acts rest: then no process of the older release starts.
    is_quiet: Mutex<bool>,
    disturbances_left: Mutex<usize>,
    /// Kinds whose turn comes before any kind comes again.
    disturbances_to_come: Mutex<Vec<&'static str>>,
    numbers: Mutex<u64>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
    /// Commands that may have ended between two writes, by the type of the reservations that they write.
    half_done: Mutex<BTreeMap<&'static str, u64>>,
}

impl World {
    pub fn new(plan: Plan, executor: Executor) -> Arc<Self> {
        let start = Instant::now();
        let models = (plan.domain == MODEL).then(ModelVersions::read);
        let specs = match &models {
            Some(models) => models.newer.containers().to_vec(),
            None => container_specs(),
        };
        let specs: &'static [_] = Box::leak(specs.into_boxed_slice());
        let store = RunStore::of(&plan, specs, start);
        let history = History::default();
        if plan.is_embedded {
            history.has_one_replica();
        }
        Arc::new(Self {
            dice: Dice::of(plan.seed, 2),
            history,
            posts: Mutex::default(),
            comments: Mutex::default(),
            devices: AtomicUsize::default(),
            keys: Mutex::default(),
            taken_back: Mutex::default(),
            users: Mutex::default(),
            titles: Mutex::default(),
            catalogue: Mutex::default(),
            passwords: Mutex::default(),
            subscriptions: Subscriptions::default(),
            live_queries: LiveQueries::default(),
            removals: Mutex::default(),
            suspended: Mutex::default(),
            backups: Mutex::default(),
            shop_users: Mutex::default(),
            users_without_sessions: Mutex::default(),
            ended_sessions: Mutex::default(),
            members: Mutex::default(),
            started: Mutex::default(),
            failed_starts: Mutex::default(),
            has_newer: Mutex::default(),
            acts_left_at_newer: Mutex::default(),
            stopping: Mutex::default(),
            acts_left: Mutex::default(),
            acts_taken: AtomicUsize::default(),
            phase: AtomicUsize::default(),
            is_quiet: Mutex::default(),
            disturbances_left: Mutex::new(DISTURBANCES_MAX),
            disturbances_to_come: Mutex::default(),
            numbers: Mutex::default(),
            counts: Mutex::default(),
            half_done: Mutex::default(),
            desk: Mutex::default(),
            models,
            specs,
            plan,
            executor,
            store,
            start,
        })
    }

    /// The phase of the run.
    pub fn phase(&self) -> &Phase {
        &self.plan.phases[self.phase.load(Ordering::Relaxed)]
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

    /// The number of occurrences of each event.
    pub fn counts(&self) -> BTreeMap<&'static str, u64> {
        let mut counts = self.store.counts();
        for (event, times) in &*self.counts.lock() {
            *counts.entry(event).or_default() += times;
        }
        counts
    }

    /// Whether items of a deleted account, given by the id of its item, may have come after their removal.
    pub fn may_have_late_items(&self, id: &str) -> bool {
        let mut removals = self.removals.lock().clone();
        for hung in self.store.hung() {
            let since_ms = i64::try_from((hung - self.start).as_millis()).expect("a short run");
            removals.delayed(None, since_ms, HANG_MAX);
        }
        let is_user = |user: &&String| matches!(GlobalId::decode(user), Ok(GlobalId::User(user)) if user.0.to_string() == id);
        let users = self.blog_users();
        users.iter().filter(is_user).any(|user| removals.may_be_incomplete(user))
    }

    pub fn feed_length(&self) -> usize {
        planted::size(100, 3)
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

    /// Begins to start a process of either release, and returns its number.
    pub fn start_process(self: &Arc<Self>) -> u32 {
        let is_older = self.next_is_older();
        self.start_release(is_older)
    }

    /// Begins to start a process of a release, and returns its number.
    pub fn start_release(self: &Arc<Self>, is_older: bool) -> u32 {
        let is_first_newer = !is_older && self.acts_left_at_newer.lock().is_none();
        *self.has_newer.lock() |= !is_older;
        if is_first_newer {
            *self.acts_left_at_newer.lock() = Some(*self.acts_left.lock());
        }
        let number = self.next_number();
        if is_first_newer && self.moves_values() && self.dice.percent(60) {
            // Values that it moves meet changes of others.
            self.store.slow(number, &self.dice);
        }
        if !self.dice.percent(FAULTY_STARTS_PERCENT) {
            self.store.spare_start(number);
        }
        let release = if is_older { "an older release" } else { "the release" };
        trace::line("world", format!("start process {number} of {release}"));
        let group = Group(number);
        self.members.lock().insert(number, Member { group, process: None, is_older });
        let skew_ms = i64::try_from(self.dice.below(4_000)).expect("a small skew") - 2_000;
        let drift_ppm = i64::try_from(self.dice.below(400)).expect("a small drift") - 200;
        let clock = ProcessClock::new(self.start, skew_ms, drift_ppm);
        let world = Arc::clone(self);
        let spawner = self.executor.spawner(group);
        let (release, specs) = self.release(is_older);
        let open = {
            let clock = Arc::clone(&clock);
            move |world: &Self| world.store.open(specs, Arc::clone(&clock) as _, (&world.executor, group))
        };
        // An account names the processes by the order in which they connect.
        let connected = (!self.plan.is_embedded).then(|| open(self));
        self.executor.spawn(group, async move {
            let name = format!("process {number}");
            let started = match connected.unwrap_or_else(|| open(&world)) {
                Ok(store) => Process::start(store, (name, release), (clock, spawner)).await,
                Err(error) => Err(error),
            };
            let mut members = world.members.lock();
            match started {
                Ok(process) => {
                    trace::line("world", format!("process {number} serves"));
                    world.store.end_start(number);
                    *world.failed_starts.lock() = 0;
                    if let Some(member) = members.get_mut(&number) {
                        world.executor.spawn(
                            OUTSIDE,
                            Arc::clone(&world).end_with(number, process.domain.engine().tasks.clone()),
                        );
                        member.process = Some(process);
                    }
                }
                Err(error) => {
                    trace::line("world", format!("process {number} did not start: {error:#}"));
                    members.remove(&number);
                    // Its operator mounts the file system again, and at last copies the disk back.
                    world.store.remount();
                    let mut failed = world.failed_starts.lock();
                    *failed += 1;
                    if *failed >= FAILED_STARTS_MAX {
                        world.count("disk copied back");
                        world.store.copy_back();
                    }
                }
            }
        });
        number
    }

    /// Whether the store has no process, and no process that ends.
    pub(super) fn is_free(&self) -> bool {
        self.members.lock().is_empty() && *self.stopping.lock() == 0
    }

    /// The number of the next process.
    pub fn next_number(&self) -> u32 {
        let mut started = self.started.lock();
        *started += 1;
        *started
    }

    /// Starts a process over another store than the one of the run.
    pub fn start_over(
        self: &Arc<Self>,
        number: u32,
        store: OpenStore,
        clock: Arc<ProcessClock>,
    ) -> oneshot::Receiver<Result<(), String>> {
        let group = Group(number);
        self.members.lock().insert(number, Member { group, process: None, is_older: false });
        let (world, spawner) = (Arc::clone(self), self.executor.spawner(group));
        let (sender, receiver) = oneshot::channel();
        self.executor.spawn(group, async move {
            let name = format!("process {number}");
            let (release, _) = world.release(false);
            let started = Process::start(store, (name, release), (clock, spawner)).await;
            let outcome = started.map(|process| {
                if let Some(member) = world.members.lock().get_mut(&number) {
                    member.process = Some(process);
                }
            });
            let _ = sender.send(outcome.map_err(|error| format!("{error:#}")));
        });
        receiver
    }

    /// The specifications of all containers.
    pub fn specs(&self) -> &'static [ContainerSpec] {
        self.specs
    }

    /// The begin of the run.
    pub fn start(&self) -> Instant {
        self.start
    }

    pub fn kill(&self, number: u32) {
        trace::line("world", format!("kill process {number}"));
        let Some(member) = self.members.lock().remove(&number) else { return };
        self.removals.lock().cut_off(number, self.elapsed_ms());
        self.executor.kill(member.group);
        drop(member);
        self.store.killed();
    }

    fn any_member(&self) -> Option<u32> {
        let numbers: Vec<u32> = self.members.lock().keys().copied().collect();
        (!numbers.is_empty()).then(|| *self.dice.pick(&numbers))
    }

    /// Ends a process as soon as one of its tasks fails, as `onehop serve` does.
    async fn end_with(self: Arc<Self>, number: u32, tasks: Tasks) {
        tasks.soft_stop().cancelled().await;
        if let Some(failure) = tasks.failure()
            && self.members.lock().contains_key(&number)
        {
            trace::line("world", format!("process {number} ends: {failure}"));
            self.count("process ended by a failed task");
            self.stop(number).await;
        }
    }

    /// Stops a process as a signal does, and checks that it leaves no task behind.
    pub async fn stop(self: &Arc<Self>, number: u32) {
        let Some(member) = self.members.lock().remove(&number) else { return };
        self.removals.lock().cut_off(number, self.elapsed_ms());
        let Some(process) = member.process else {
            self.executor.kill(member.group);
            return self.store.killed();
        };
        trace::line("world", format!("stop process {number}"));
        // A task may wait for a write that hangs, and not for one after the other.
        self.store.hang(number, 0);
        *self.stopping.lock() += 1;
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.executor.spawn(member.group, async move {
            process.domain.engine().close().await;
            drop(process);
            let _ = sender.send(());
        });
        let is_stopped = tokio::time::timeout(STOP_MAX, receiver).await.is_ok();
        let is_closed = is_stopped && self.executor.tasks_of(member.group) == 0;
        if is_closed {
            *self.stopping.lock() -= 1;
        }
        // Requests that no client waits for and maintenance end by themselves, also after a write that hangs.
        tokio::time::sleep(STOP_MAX + HANG_MAX).await;
        let left = self.executor.tasks_of(member.group);
        if is_stopped && left > 0 {
            self.history.broken("a process leaves no task", format!("{left} tasks of process {number}"));
        }
        self.executor.kill(member.group);
        if !is_stopped {
            self.store.killed();
        }
        if !is_closed {
            *self.stopping.lock() -= 1;
        }
    }

    /// The clock of a process that serves.
    pub fn clock_of(&self, number: u32) -> Option<Arc<ProcessClock>> {
        let members = self.members.lock();
        members.get(&number)?.process.as_ref().map(|process| Arc::clone(&process.clock))
    }

    /// Numbers of all processes.
    pub fn process_numbers(&self) -> Vec<u32> {
        self.members.lock().keys().copied().collect()
    }

    /// The domain of a process that serves.
    pub fn domain_of(&self, number: u32) -> Option<OperatedDomain> {
        let members = self.members.lock();
        members.get(&number)?.process.as_ref().map(|process| process.domain.clone())
    }

    /// The fields of a served model that some process does not answer yet.
    pub fn fields_in_building(&self) -> Vec<String> {
        let members = self.members.lock();
        let serving = members.values().filter_map(|member| member.process.as_ref());
        serving.flat_map(|process| process.in_building.names()).collect()
    }

    /// Stops the last process.
    pub async fn end(self: &Arc<Self>, number: u32) {
        self.stop(number).await;
    }
}
