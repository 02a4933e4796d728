//! Backups and copies: stores with the content of a moment, which later processes serve.
//!
//! An online backup of the embedded store is taken beside commands. It holds every write that was
//! acknowledged before it began, and no write that came after its end. A copy of the write side is taken at
//! rest, into a store of the other kind. In both, read models catch up and verification finds no drift.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use onehop::app::{OpenStore, write_side};
use onehop::copy::Copier;
use onehop_runtime::clock::Clock as _;
use onehop_store::Store;
use onehop_store::embedded::simulated::{NoFaults as NoDiskFaults, SimulatedDisk, SimulatedParts};
use onehop_store::embedded::{EmbeddedConfig, EmbeddedStore};
use onehop_testing::account_model::{AccountModel, ModelConsistency, NoFaults};
use serde_json::json;

use crate::clock::ProcessClock;
use crate::executor::Group;
use crate::finale::{ask, drain, verify_in_a_lull};
use crate::history::{Moment, NOTHING, Read, Recent};
use crate::trace;
use crate::world::World;

/// Backups that a run keeps.
const BACKUPS_MAX: usize = 2;
/// Posts of which a restored store is asked.
const POSTS_READ_MAX: usize = 40;
/// The time in which a process starts at the end of a run.
const START_MAX: Duration = Duration::from_secs(300);

/// An online backup.
pub struct Backup {
    disk: SimulatedDisk,
    begun: Moment,
    ended: Moment,
    /// The wall clock of its process (Unix ms).
    at_ms: i64,
}

impl World {
    /// Takes a backup beside commands. Returns whether the store has one.
    pub fn back_up(self: &Arc<Self>, number: u32) -> bool {
        let (Some(store), Some(clock)) = (self.store.embedded(), self.clock_of(number)) else { return false };
        if self.backups.lock().len() >= BACKUPS_MAX {
            return false;
        }
        let world = Arc::clone(self);
        self.executor.spawn(Group(number), async move {
            let disk = SimulatedDisk::new(Arc::new(NoDiskFaults));
            let (begun, at_ms) = (world.history.now(), clock.now_ms());
            // The operator repeats a backup that fails.
            if store.copy_to(&disk).await.is_ok() {
                trace::line("world", format!("process {number} has made a backup"));
                let ended = world.history.now();
                world.backups.lock().push(Backup { disk, begun, ended, at_ms });
                world.count("backup made");
            }
        });
        true
    }

    /// Restores the backups, and reads them.
    pub async fn restore_backups(self: &Arc<Self>) {
        let backups = std::mem::take(&mut *self.backups.lock());
        for (place, Backup { disk, begun, ended, at_ms }) in backups.into_iter().enumerate() {
            let clock = self.clock_at(at_ms);
            let number = self.next_number();
            let store = self.open_disk(&disk, &clock, number);
            self.read_restored(number, store, clock, (&format!("backup {place}"), begun, ended)).await;
        }
    }

    /// Copies the write side into a store of the other kind, and reads the copy. Nothing writes.
    pub async fn copy_elsewhere(self: &Arc<Self>, number: u32) {
        let (Some(domain), Some(clock)) = (self.domain_of(number), self.clock_of(number)) else { return };
        let clock = self.clock_at(clock.now_ms());
        let copy = self.next_number();
        let target = match self.plan.is_embedded {
            true => {
                let partitions = u32::try_from(self.dice.between(1, 4)).expect("few partitions");
                let account =
                    AccountModel::new(self.specs(), partitions, Arc::clone(&clock) as _, Arc::new(NoFaults));
                let store = account.connect(ModelConsistency::Session);
                let recent = Arc::new(store.with_consistency(ModelConsistency::Latest));
                OpenStore::Shared { store: Arc::new(store), recent }
            }
            false => self.open_disk(&SimulatedDisk::new(Arc::new(NoDiskFaults)), &clock, copy),
        };
        let to: Arc<dyn Store> = match &target {
            OpenStore::Embedded(store) => Arc::clone(store) as _,
            OpenStore::Shared { recent, .. } => Arc::clone(recent),
            OpenStore::Cosmos(_) => return,
        };
        let copier = Copier {
            source: Arc::clone(&domain.engine().recent),
            target: to,
            source_name: "the run".to_owned(),
            write_side: write_side().collect(),
        };
        let begun = self.history.now();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        self.executor.spawn(Group(number), async move {
            let _ = sender.send(copier.run(|_| {}).await.map_err(|error| error.to_string()));
        });
        match receiver.await {
            Ok(Ok(_)) => {}
            other => return self.history.error(format!("the copy fails: {other:?}")),
        }
        self.count("copy made");
        let ended = self.history.now();
        self.read_restored(copy, target, clock, ("copy", begun, ended)).await;
    }

    /// A clock that shows this time now (Unix ms).
    fn clock_at(&self, at_ms: i64) -> Arc<ProcessClock> {
        let clock = ProcessClock::new(self.start(), 0, 0);
        clock.step_ms(at_ms - clock.now_ms());
        clock
    }

    fn open_disk(&self, disk: &SimulatedDisk, clock: &Arc<ProcessClock>, number: u32) -> OpenStore {
        let config = EmbeddedConfig { cache_bytes: 256 << 20, ..EmbeddedConfig::new("simulated") };
        let executor = self.executor.clone();
        let spawn = move |writer: BoxFuture<'static, ()>| executor.spawn(Group(number), writer);
        let parts = SimulatedParts { disk, spawn: &spawn };
        let store = EmbeddedStore::open_simulated(&config, self.specs(), Arc::clone(clock) as _, &parts);
        OpenStore::Embedded(Arc::new(store.expect("a store over a disk without faults")))
    }

    /// Starts a process over a restored store, verifies it, and reads its posts as of its moment.
    async fn read_restored(
        self: &Arc<Self>,
        number: u32,
        store: OpenStore,
        clock: Arc<ProcessClock>,
        (view, begun, ended): (&str, Moment, Moment),
    ) {
        trace::line("world", format!("process {number} serves a {view}"));
        let started = self.start_over(number, store, clock);
        match tokio::time::timeout(START_MAX, started).await {
            Ok(Ok(Ok(()))) => {}
            other => return self.history.error(format!("no process starts over the {view}: {other:?}")),
        }
        drain(self, number).await;
        // The moment of a backup may have parked changes.
        self.replay(number).await;
        verify_in_a_lull(self, number).await;
        let posts: Vec<String> =
            self.posts.lock().iter().rev().take(POSTS_READ_MAX).map(|post| post.id.clone()).collect();
        for post in posts {
            let query = format!(
                "{{ post(id: {post:?}) {{ title likes(first: 100) {{ nodes {{ user {{ id }} }} }} \
                 comments(first: 100) {{ nodes {{ id content }} }} }} }}"
            );
            let found = ask(self, number, query, json!({})).await["post"].take();
            let saw = |register: &str, value: &str| {
                let read = Read {
                    view: view.to_owned(),
                    value: value.to_owned(),
                    recent: Recent::All,
                    start: begun,
                    end: ended,
                };
                self.history.read(register, read);
            };
            saw(&format!("post {post}"), found["title"].as_str().unwrap_or(NOTHING));
            let Some(comments) = found["comments"]["nodes"].as_array() else { continue };
            let of_post: Vec<String> = self
                .comments
                .lock()
                .iter()
                .filter(|(_, of, _)| *of == post)
                .map(|(id, ..)| id.clone())
                .collect();
            if comments.len() < 100 {
                for id in of_post {
                    let listed = comments.iter().find(|comment| comment["id"] == id.as_str());
                    let content = listed.and_then(|comment| comment["content"].as_str());
                    saw(&format!("comment {id}"), content.unwrap_or(NOTHING));
                }
            }
            let likes = found["likes"]["nodes"].as_array().cloned().unwrap_or_default();
            let likers: BTreeSet<&str> =
                likes.iter().filter_map(|like| like["user"]["id"].as_str()).collect();
            let prefix = format!("like of {post} by ");
            for register in self.history.registers_with(&prefix).iter().filter(|_| likes.len() < 100) {
                saw(register, if likers.contains(&register[prefix.len()..]) { "1" } else { "0" });
            }
        }
        self.count("restored store read");
        self.end(number).await;
    }
}
