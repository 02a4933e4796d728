//! The acts of a plan, by clients and disturbances, until no act is left.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{OUTSIDE, PROCESSES_STARTED_MAX, World};
use crate::client::Client;
use crate::plan::MODEL;
use crate::shop::Role;
use crate::trace;

/// Other devices that act at once.
const AT_ONCE_MAX: u64 = 6;

impl Client {
    /// One act of a user of the blog, or of a role in the shop.
    async fn act(&mut self, role: Option<Role>) {
        let world = Arc::clone(&self.world);
        match role {
            _ if world.plan.domain == MODEL => self.act_at_desk().await,
            Some(role) => self.act_in_shop(role).await,
            None if self.session.is_some() && world.dice.percent(world.phase().other_devices) => {
                self.other_device().act_in_blog().await;
            }
            None => self.act_in_blog().await,
        }
    }
}

impl World {
    /// Plays the plan.
    pub async fn play(self: &Arc<Self>) {
        let parts = self.plan.lulls + 1;
        for part in 0..parts {
            self.play_acts(self.plan.acts / parts).await;
            if part + 1 < parts {
                self.lull().await;
            }
        }
        if self.plan.has_second_month && self.pass_a_month().await {
            self.play_acts(self.plan.acts / 2).await;
        }
    }

    async fn play_acts(self: &Arc<Self>, acts: usize) {
        *self.acts_left.lock() = acts;
        *self.is_quiet.lock() = false;
        while self.any_process().is_none() {
            if self.is_free() {
                self.start_process();
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        self.start_others();
        if self.plan.has_operator {
            self.executor.spawn(OUTSIDE, Arc::clone(self).operate());
        }
        let (sender, mut ended) = tokio::sync::mpsc::channel::<()>(1);
        for number in 0..self.plan.clients {
            let (world, sender) = (Arc::clone(self), sender.clone());
            self.executor.spawn(OUTSIDE, async move {
                let mut client = Client::new(Arc::clone(&world), number);
                let role = match (world.plan.domain, number % 4) {
                    ("blog" | "both", 1) if number == 1 && world.plan.has_moderator => Some(Role::Moderator),
                    ("blog", _) | ("both", 0 | 1) => None,
                    (_, 2) => Some(Role::Staff),
                    _ => Some(Role::Customer),
                };
                let leaves = world.plan.has_leavers && world.dice.percent(40);
                let own = if leaves { world.dice.place(acts / world.plan.clients + 1) } else { acts };
                for _ in 0..own {
                    world.wait_for_a_process().await;
                    if !world.take_act() {
                        break;
                    }
                    // Some acts follow each other at once.
                    if world.dice.percent(65) {
                        let pause_ms = world.dice.below(2 * world.phase().pace_ms);
                        tokio::time::sleep(Duration::from_millis(pause_ms)).await;
                    }
                    let others = world.devices_beside(&client);
                    let others = others.into_iter().map(|mut other| async move { other.act(role).await });
                    futures::future::join(futures::future::join_all(others), client.act(role)).await;
                }
                drop(sender);
            });
        }
        drop(sender);
        loop {
            let rest = Duration::from_millis(self.dice.below(8 * self.phase().pace_ms));
            if tokio::time::timeout(rest, ended.recv()).await.is_ok() {
                return;
            }
            self.disturb().await;
        }
    }

    /// Begins to start some of the processes that the run may have at once.
    fn start_others(self: &Arc<Self>) {
        let serving = self.members.lock().len();
        for _ in serving..1 + self.dice.place(self.plan.processes_max) {
            if *self.started.lock() < PROCESSES_STARTED_MAX {
                self.start_process();
            }
        }
    }

    /// Devices that act together with a client, where they do.
    fn devices_beside(&self, client: &Client) -> Vec<Client> {
        let mut devices = Vec::new();
        if client.session.is_some() && self.dice.percent(self.phase().bursts) {
            for _ in 0..self.dice.between(1, AT_ONCE_MAX) {
                if self.take_act() {
                    devices.push(client.other_device_elsewhere());
                }
            }
        }
        devices
    }

    /// Waits until a process serves, a minute at most.
    async fn wait_for_a_process(&self) {
        for _ in 0..120 {
            if self.any_process().is_some() || *self.acts_left.lock() == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    fn take_act(&self) -> bool {
        let mut left = self.acts_left.lock();
        let is_left = *left > 0;
        *left = left.saturating_sub(1);
        drop(left);
        if is_left {
            self.pass_act();
        }
        is_left
    }

    /// Counts an act, and enters the next phase where it is due. The first one follows the last one.
    fn pass_act(&self) {
        let phases = &self.plan.phases;
        let taken = self.acts_taken.fetch_add(1, Ordering::Relaxed);
        let number = taken / (self.plan.acts / phases.len()).max(1) % phases.len();
        if self.phase.swap(number, Ordering::Relaxed) != number {
            trace::line("world", format!("phase {number}"));
            self.store.enter(&phases[number]);
        }
    }
}
