//! Disturbances of a run: ends and pauses of processes, splits, storms of faults, steps of clocks, and
//! maintenance.

use std::sync::Arc;
use std::time::Duration;

use onehop::app::work::ProgressSink;
use onehop::blog::containers::POSTS;
use onehop::graphql::GlobalId;
use onehop_store::{Ledger, NewItem, WriteOp};

use super::{OUTSIDE, PROCESSES_STARTED_MAX, World};
use crate::executor::Group;
use crate::plan::MODEL;
use crate::trace;

/// Interruption points of the embedded store's writer. In the midst of a commit a crash tears it.
const WRITER_POINTS: [&str; 7] = [
    "writer: in a commit",
    "writer: in a commit",
    "writer: in a commit",
    "writer: after the commit",
    "writer: before the caches",
    "writer: before the signals",
    "writer: before an answer",
];
/// How often a process is started where the run may have more of them, in percent of the disturbances.
const REPLACED_PERCENT: u64 = 80;
/// The longest preemption of a task, in milliseconds: longer than a lease lives.
const PREEMPTION_MS_MAX: u64 = 100_000;
/// The tasks of each process that stand still beside two writes and a read, and for how long at most.
const TASKS_HELD: usize = 4;
const HELD_MS_MAX: u64 = 5_000;
/// Containers of the blog and of the web store to which projections alone write. Most changes of the blog
/// concern the feed.
const BLOG_READ_MODELS: [&str; 3] = ["feed", "feed", "postsByTag"];
const SHOP_READ_MODELS: [&str; 2] = ["productByTag", "ranking"];
/// The same of the served model.
const DESK_READ_MODELS: [&str; 1] = ["board"];
/// The time for which a container is full, in mean distances of acts.
const FULL_ACTS_MIN: u64 = 400;
const FULL_ACTS_MAX: u64 = 1_400;
/// Kinds of maintenance: below these, verification, and between them rebuilds.
const REPAIR: u64 = 1;
const REPLAY: u64 = 4;
/// Maintenance by the operator of a run.
const MAINTENANCE_MAX: usize = 400;

impl World {
    /// One kind after the other in an order by chance, and then all of them again: so a short run has each of
    /// its kinds.
    fn next_disturbance(&self) -> &'static str {
        let mut left = self.disturbances_to_come.lock();
        if left.is_empty() {
            left.clone_from(&self.plan.disturbances);
        }
        let place = self.dice.place(left.len());
        left.swap_remove(place)
    }

    pub(super) async fn disturb(self: &Arc<Self>) {
        let members = self.members.lock().len();
        if members == 0 {
            if self.is_free() {
                self.start_process();
            }
            return;
        }
        if members < self.plan.processes_max
            && *self.started.lock() < PROCESSES_STARTED_MAX
            && self.dice.percent(REPLACED_PERCENT)
        {
            self.start_process();
        }
        if self.plan.disturbances.is_empty() || *self.disturbances_left.lock() == 0 {
            return;
        }
        *self.disturbances_left.lock() -= 1;
        let disturbance = self.next_disturbance();
        let Some(number) = self.any_member() else { return };
        let ends_process = ["kill", "kill of a writer", "stop", "deployment"].contains(&disturbance);
        if ends_process && *self.started.lock() >= PROCESSES_STARTED_MAX {
            return;
        }
        match disturbance {
            "kill" => self.kill(number),
            "kill of a writer" => {
                let (point, after) = (*self.dice.pick(&WRITER_POINTS), self.dice.below(6));
                let world = Arc::clone(self);
                let kill = move || {
                    if let Some(number) = world.any_member() {
                        world.kill(number);
                    }
                };
                if !self.store.kill_writer(point, after, kill) {
                    return;
                }
            }
            "bit flip" if self.dice.percent(75) => {
                if !self.store.flip_bit() {
                    return;
                }
            }
            "start" if members < self.plan.processes_max => {
                self.start_process();
            }
            "stop" => {
                let world = Arc::clone(self);
                self.executor.spawn(OUTSIDE, async move { world.stop(number).await });
            }
            "pause" => {
                let group = Group(number);
                let pause = Duration::from_millis(self.dice.below(90_000));
                trace::line("world", format!("pause process {number} for {pause:?}"));
                self.removals.lock().delayed(Some(number), self.elapsed_ms(), pause);
                self.executor.pause(group);
                let executor = self.executor.clone();
                self.executor.spawn(OUTSIDE, async move {
                    tokio::time::sleep(pause).await;
                    executor.resume(group);
                });
            }
            "preemption" => {
                let pause = Duration::from_millis(self.dice.below(PREEMPTION_MS_MAX));
                if !self.hold_task(number, pause) {
                    return;
                }
            }
            "backup" => {
                if !self.back_up(number) {
                    return;
                }
            }
            "full partition" => {
                let is_of_shop = match self.plan.domain {
                    "both" => self.dice.percent(50),
                    domain => domain == "shop",
                };
                let containers = match self.plan.domain {
                    MODEL => &DESK_READ_MODELS[..],
                    _ if is_of_shop => &SHOP_READ_MODELS,
                    _ => &BLOG_READ_MODELS,
                };
                let container = *self.dice.pick(containers);
                if !self.store.fill(Some(container)) {
                    return;
                }
                trace::line("world", format!("{container} is full"));
                let full_ms = self.dice.between(FULL_ACTS_MIN, FULL_ACTS_MAX) * self.phase().pace_ms;
                let (world, full) = (Arc::clone(self), Duration::from_millis(full_ms));
                self.executor.spawn(OUTSIDE, async move {
                    tokio::time::sleep(full).await;
                    world.store.fill(None);
                    // The operator replays beside commands, again where that is interrupted.
                    for _ in 0..world.dice.below(4) {
                        tokio::time::sleep(Duration::from_millis(world.dice.below(2_000))).await;
                        let Some(number) = world.any_process() else { continue };
                        if world.dice.percent(50) {
                            world.store.storm(number, 60);
                        }
                        world.maintain(number, REPLAY, || {});
                    }
                });
            }
            "deployment" if !self.plan.added_projections.is_empty() => {
                self.executor.spawn(OUTSIDE, Arc::clone(self).replace(number));
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
            "slow" => self.store.slow(number, &self.dice),
            "hang" => self.store.hang(number, self.dice.between(1, 8)),
            "clock step" => {
                let by_ms = i64::try_from(self.dice.below(240_000)).expect("a small step") - 120_000;
                if let Some(process) =
                    self.members.lock().get(&number).and_then(|member| member.process.as_ref())
                {
                    trace::line("world", format!("the clock of process {number} steps by {by_ms} ms"));
                    process.clock.step_ms(by_ms);
                }
            }
            "maintenance" => {
                self.maintain(number, self.dice.below(6), || {});
            }
            _ => return,
        }
        self.count(disturbance);
    }

    /// Has a task of a process stand still; `false` where it has none.
    fn hold_task(&self, number: u32, pause: Duration) -> bool {
        let Some(task) = self.executor.preempt(Group(number)) else { return false };
        trace::line("world", format!("preempt task {task} of process {number} for {pause:?}"));
        self.removals.lock().delayed(Some(number), self.elapsed_ms(), pause);
        let executor = self.executor.clone();
        self.executor.spawn(OUTSIDE, async move {
            tokio::time::sleep(pause).await;
            executor.continue_task(task);
        });
        true
    }

    /// Has a few tasks of each process stand still for seconds, so that some feed ranges are read and others
    /// are not.
    pub fn hold_some_tasks(&self) {
        let processes: Vec<u32> = self.members.lock().keys().copied().collect();
        for number in processes {
            for _ in 0..TASKS_HELD {
                let pause = Duration::from_millis(self.dice.below(HELD_MS_MAX));
                self.hold_task(number, pause);
            }
        }
    }

    /// Verifies, repairs, rebuilds or replays beside commands, as a request to a process does. Calls `ended`
    /// unless the process ends first.
    fn maintain(&self, number: u32, work: u64, ended: impl FnOnce() + Send + 'static) {
        trace::line("world", format!("maintenance {work} by process {number}"));
        let Some(domain) = self.domain_of(number) else { return };
        domain.engine().tasks.clone().spawn_contained("maintenance", async move {
            // The operator tries again after a failure.
            let _ = match work {
                0 => domain.verify(false, &ProgressSink::none()).await.map(drop),
                REPAIR => domain.verify(true, &ProgressSink::none()).await.map(drop),
                2..4 => domain.engine().rebuild(None, &ProgressSink::none()).await.map(drop),
                REPLAY.. => domain.engine().replay(None).await.map(drop),
            };
            ended();
        });
    }

    /// Makes the count of likes of a post wrong, as a defect of an earlier release would have done.
    async fn miscount(&self, number: u32) {
        let post = {
            let posts = self.posts.lock();
            let recent = posts.len().saturating_sub(if self.dice.percent(70) { 1 } else { 100 });
            (!posts.is_empty()).then(|| self.dice.pick(&posts[recent..]).id.clone())
        };
        let (Some(post), Some(domain)) = (post, self.domain_of(number)) else { return };
        let Ok(GlobalId::Post(post)) = GlobalId::decode(&post) else { return };
        let (key, id, ledger) = (post.partition_key(), post.0.to_string(), Ledger::new());
        let (sender, ended) = tokio::sync::oneshot::channel();
        let by = self.dice.between(1, 3);
        let (recent, tasks) = (Arc::clone(&domain.engine().recent), domain.engine().tasks.clone());
        tasks.spawn_contained("miscount", async move {
            let Ok(Some(item)) = recent.read(POSTS, &key, &id, &ledger).await else { return };
            let Ok(mut body) = item.decode::<serde_json::Value>() else { return };
            let Some(count) = body["likeCount"].as_u64().filter(|_| body["deleted"] != true) else { return };
            body["likeCount"] = (count + by).into();
            let replace = WriteOp::Replace { item: NewItem::encode(id, &body), if_match: Some(item.etag) };
            let _ = sender.send(recent.write(POSTS, &key, replace, &ledger).await.is_ok());
        });
        if ended.await == Ok(true) {
            self.count("count of a post made wrong");
        }
    }

    /// Maintains without a pause, until no act is left or there was enough of it: clients may wait for
    /// minutes.
    pub(super) async fn operate(self: Arc<Self>) {
        for _ in 0..MAINTENANCE_MAX {
            if *self.acts_left.lock() == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(self.dice.between(1, 8 * self.phase().pace_ms))).await;
            let Some(number) = self.any_process() else { continue };
            let (sender, ended) = tokio::sync::oneshot::channel::<()>();
            let work = if self.plan.has_drifts && self.dice.percent(60) {
                self.miscount(number).await;
                REPAIR
            } else {
                self.dice.below(6)
            };
            self.maintain(number, work, || drop(sender));
            // Also a process that ends drops the sender.
            let _ = ended.await;
            self.count("maintenance by an operator");
        }
    }
}
