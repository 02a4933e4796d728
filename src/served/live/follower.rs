//! Follower of a container: one tail of its change feed, whose changes go to all listeners of its lists.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::StreamExt as _;
use futures::stream::unfold;
use onehop_change_feed::{Tail, TailSource};
use onehop_store::{Change, ContainerName, Fault, Ledger};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{Notify, mpsc};

use super::events::{EventsOverrun, ItemEvent, ItemEvents, ServedLiveParts};
use super::membership::Membership;
use super::seen::Seen;
use crate::served::ids::ItemPlace;
use crate::served::model::{Body, ServedModel, TypeIndex};
use crate::served::reads::{ServedItem, is_deleted};

/// The changes that wait for one listener.
const WAITING_MAX: usize = 1_024;

/// The reader of one container, and its listeners.
pub(super) struct Follower {
    container: ContainerName,
    state: Mutex<State>,
    starting: tokio::sync::Mutex<()>,
    /// A listener has left.
    left: Notify,
}

#[derive(Default)]
struct State {
    running: bool,
    /// Listeners that are about to come.
    expected: usize,
    numbers: u64,
    listeners: HashMap<u64, mpsc::Sender<Heard>>,
    overruns: HashMap<u64, Arc<AtomicBool>>,
}

/// A change of an item.
#[derive(Clone)]
struct Heard {
    id: String,
    type_value: Arc<str>,
    body: Arc<Body>,
}

/// Keeps the reader going until its listener has come.
pub(super) struct Expected(Arc<Follower>);

/// A listener: the changes that it has not looked at.
pub(super) struct Listener {
    follower: Arc<Follower>,
    number: u64,
    changes: mpsc::Receiver<Heard>,
    has_overrun: Arc<AtomicBool>,
    ty: TypeIndex,
    membership: Membership,
}

impl Follower {
    pub(super) fn new(container: ContainerName) -> Arc<Self> {
        Arc::new(Self {
            container,
            state: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
            left: Notify::new(),
        })
    }

    /// Starts the reader unless it runs. Writes from now on are heard.
    pub(super) async fn start(
        self: &Arc<Self>,
        parts: &ServedLiveParts,
        ledger: &Ledger,
    ) -> Result<Expected, Fault> {
        self.state.lock().expected += 1;
        let expected = Expected(Arc::clone(self));
        let _starting = self.starting.lock().await;
        if self.state.lock().running {
            return Ok(expected);
        }
        let source = TailSource { container: self.container, types: None };
        let tail = Tail::open(Arc::clone(&parts.store), source, parts.tail, ledger).await?;
        self.state.lock().running = true;
        let (follower, stop) = (Arc::clone(self), parts.tasks.soft_stop());
        parts.tasks.spawn("served events", async move {
            if stop.run_until_cancelled(follower.follow(tail)).await.is_none() {
                follower.stop();
            }
            Ok::<(), Infallible>(())
        });
        Ok(expected)
    }

    async fn follow(&self, mut tail: Tail) {
        while !self.ends_without_listeners() {
            tokio::select! {
                biased;
                () = self.left.notified() => {}
                changes = tail.next() => {
                    for change in &changes {
                        self.announce(change);
                        // So that listeners take their changes.
                        onehop_runtime::tasks::yield_now().await;
                    }
                }
            }
        }
    }

    fn ends_without_listeners(&self) -> bool {
        let mut state = self.state.lock();
        state.running = !state.listeners.is_empty() || state.expected > 0;
        !state.running
    }

    /// The streams of all listeners end with a stop of the process.
    fn stop(&self) {
        let mut state = self.state.lock();
        state.running = false;
        state.listeners.clear();
    }

    fn announce(&self, change: &Change) {
        let body: Body = match change.item.decode() {
            Ok(body) => body,
            Err(fault) => {
                tracing::warn!(container = %self.container, id = change.id, %fault, "a change is no event");
                return;
            }
        };
        let Some(type_value) = body.get("type").and_then(Value::as_str).map(Arc::from) else { return };
        let heard = Heard { id: change.id.clone(), type_value, body: Arc::new(body) };
        let mut state = self.state.lock();
        let State { listeners, overruns, .. } = &mut *state;
        listeners.retain(|number, listener| match listener.try_send(heard.clone()) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Full(_)) => {
                if let Some(overrun) = overruns.get(number) {
                    overrun.store(true, Ordering::Release);
                }
                false
            }
            Err(mpsc::error::TrySendError::Closed(_)) => false,
        });
    }
}

impl Expected {
    /// Listens to items of a type.
    pub(super) fn listen(self, ty: TypeIndex, membership: Membership) -> Listener {
        let (sender, changes) = mpsc::channel(WAITING_MAX);
        let has_overrun = Arc::new(AtomicBool::new(false));
        let mut state = self.0.state.lock();
        state.numbers += 1;
        let number = state.numbers;
        state.listeners.insert(number, sender);
        state.overruns.insert(number, Arc::clone(&has_overrun));
        drop(state);
        Listener { follower: Arc::clone(&self.0), number, changes, has_overrun, ty, membership }
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        self.0.state.lock().expected -= 1;
        self.0.left.notify_one();
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut state = self.follower.state.lock();
        state.listeners.remove(&self.number);
        state.overruns.remove(&self.number);
        self.follower.left.notify_one();
    }
}

impl Listener {
    /// The events among the changes, after these items were seen.
    pub(super) fn events(self, model: Arc<ServedModel>, seen: Seen) -> ItemEvents {
        unfold(Some((self, seen, model)), |listening| async {
            let (mut listener, mut seen, model) = listening?;
            loop {
                let Some(heard) = listener.changes.recv().await else {
                    let has_overrun = listener.has_overrun.load(Ordering::Acquire);
                    return has_overrun.then_some((Err(EventsOverrun.into()), None));
                };
                if let Some(event) = listener.event(&model, &mut seen, heard) {
                    return Some((Ok(event), Some((listener, seen, model))));
                }
            }
        })
        .boxed()
    }

    fn event(&self, model: &ServedModel, seen: &mut Seen, heard: Heard) -> Option<ItemEvent> {
        let ty = model.ty(self.ty);
        if *heard.type_value != *ty.type_value {
            return None;
        }
        let is_member = !is_deleted(&heard.body) && self.membership.holds(&heard.body);
        let partition = ty.partition_key(Some(&heard.id), &heard.body)?;
        let kind = seen.hear(&heard.id, &heard.body, is_member)?;
        let place = ItemPlace { ty: self.ty, partition, id: heard.id };
        Some(ItemEvent { kind, item: ServedItem::whole(place, heard.body) })
    }
}
