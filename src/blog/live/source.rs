//! One container that is followed for all who listen to something in it: a single reader, which starts with the first
//! listener and ends with the last.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::join_all;
use serde::Deserialize;
use tokio::sync::Notify;
use tokio::sync::mpsc::error::TrySendError;
use tokio::time::{Instant, timeout_at};
use uuid::Uuid;

use super::events::{Event, Events, Inbox};
use super::memory::{CommentMemory, FeedMemory, Memory, PostMemory};
use super::{LiveParts, Topic};
use crate::blog::containers::{FEED, FEED_PARTITION, FEED_POSTS_MAX, POSTS};
use crate::blog::ids::PostId;
use crate::blog::items::types;
use crate::blog::reads::PostView;
use crate::changefeed::{Tail, TailSource};
use crate::store::{Change, Direction, Fault, Ledger, PartitionKey, Query};

pub(super) struct Source {
    parts: Arc<LiveParts>,
    follows: TailSource,
    state: Mutex<State>,
    /// Held while the reader is started, which happens once.
    starting: tokio::sync::Mutex<()>,
    /// Comes when a listener has gone.
    left: Notify,
    numbers: AtomicU64,
}

#[derive(Default)]
struct State {
    running: bool,
    /// Listeners that are on their way to a topic.
    expected: usize,
    topics: HashMap<Topic, Heard>,
}

struct Heard {
    memory: Memory,
    inboxes: Vec<Inbox>,
}

/// Keeps the reader going until its listener has a topic.
struct Expected(Arc<Source>);

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    item_type: String,
    #[serde(default)]
    deleted: bool,
}

impl Source {
    pub(super) fn new(parts: Arc<LiveParts>, follows: TailSource) -> Arc<Self> {
        Arc::new(Self {
            parts,
            follows,
            state: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
            left: Notify::new(),
            numbers: AtomicU64::default(),
        })
    }

    pub(super) fn is_running(&self) -> bool {
        self.lock().running
    }

    pub(super) async fn listen(self: &Arc<Self>, topic: Topic) -> Result<Option<Events>, Fault> {
        if let Some(events) = self.join(topic) {
            return Ok(Some(events));
        }
        let expected = self.expect();
        self.start().await?;
        let memory = self.memory(topic).await?;
        let events = self.open(topic, memory);
        drop(expected);
        // After the topic is open, so that a deletion meanwhile is either seen here or ends the topic.
        let (Topic::Post(id) | Topic::Comments(id)) = topic else { return Ok(Some(events)) };
        Ok(self.is_live(id).await?.then_some(events))
    }

    /// One more listener to a topic that has some.
    fn join(self: &Arc<Self>, topic: Topic) -> Option<Events> {
        let mut state = self.lock();
        let heard = state.topics.get_mut(&topic)?;
        let (inbox, events) = self.inbox(topic);
        heard.inboxes.push(inbox);
        Some(events)
    }

    fn open(self: &Arc<Self>, topic: Topic, memory: Memory) -> Events {
        let (inbox, events) = self.inbox(topic);
        let mut state = self.lock();
        let heard = state.topics.entry(topic).or_insert_with(|| Heard { memory, inboxes: Vec::new() });
        heard.inboxes.push(inbox);
        events
    }

    fn inbox(self: &Arc<Self>, topic: Topic) -> (Inbox, Events) {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        Inbox::new(self, topic, number, self.parts.settings.inbox_events_max)
    }

    pub(super) fn leave(&self, topic: Topic, number: u64) {
        let mut state = self.lock();
        if let Some(heard) = state.topics.get_mut(&topic) {
            heard.inboxes.retain(|inbox| inbox.number != number);
            if heard.inboxes.is_empty() {
                state.topics.remove(&topic);
                self.left.notify_one();
            }
        }
    }

    fn expect(self: &Arc<Self>) -> Expected {
        self.lock().expected += 1;
        Expected(Arc::clone(self))
    }

    /// Starts the reader unless it runs.
    async fn start(self: &Arc<Self>) -> Result<(), Fault> {
        let _starting = self.starting.lock().await;
        if self.is_running() {
            return Ok(());
        }
        let LiveParts { store, tasks, settings, .. } = &*self.parts;
        let tail = Tail::open(Arc::clone(store), self.follows, settings.tail).await?;
        self.lock().running = true;
        let source = Arc::clone(self);
        tasks.spawn("live", async move {
            source.follow(tail).await;
            Ok::<(), Infallible>(())
        });
        Ok(())
    }

    async fn follow(&self, mut tail: Tail) {
        let stop = self.parts.tasks.soft_stop();
        while !self.ends_without_listeners() {
            tokio::select! {
                biased;
                () = stop.cancelled() => break,
                () = self.left.notified() => {}
                changes = tail.next() => {
                    for change in changes {
                        self.announce(&change).await;
                    }
                }
            }
        }
        // The streams of all listeners end with their inboxes.
        let mut state = self.lock();
        state.running = false;
        state.topics.clear();
    }

    /// Says so under the lock: a listener that comes later starts the reader again.
    fn ends_without_listeners(&self) -> bool {
        let mut state = self.lock();
        state.running = !state.topics.is_empty() || state.expected > 0;
        !state.running
    }

    async fn memory(&self, topic: Topic) -> Result<Memory, Fault> {
        Ok(match topic {
            Topic::Feed => {
                let partition_key = PartitionKey::from(FEED_PARTITION);
                let query = Query::Partition {
                    container: FEED,
                    partition_key: &partition_key,
                    item_type: types::POST,
                    direction: Direction::NewestFirst,
                    after: None,
                    limit: FEED_POSTS_MAX,
                };
                let listed = self.parts.store.query(&query, &Ledger::new()).await?;
                Memory::Feed(FeedMemory::of(&listed.items)?)
            }
            Topic::Post(_) => Memory::Post(PostMemory::default()),
            Topic::Comments(_) => Memory::Comments(CommentMemory::since(self.parts.clock.now_ms())),
        })
    }

    async fn is_live(&self, id: PostId) -> Result<bool, Fault> {
        let key = id.partition_key();
        let item = self.parts.store.read(POSTS, &key, key.as_str(), &Ledger::new()).await?;
        let view = item.as_ref().map_or(Ok(None), PostView::decode)?;
        Ok(view.is_some())
    }

    /// Hands a change to those who listen. What cannot be read is no news: queries and projections meet it as well.
    async fn announce(&self, change: &Change) {
        match self.hear(change) {
            Ok(Some((event, inboxes))) => self.deliver(event, inboxes).await,
            Ok(None) => {}
            Err(fault) => {
                tracing::warn!(container = %self.follows.container, id = change.id, %fault, "a change is no news");
            }
        }
    }

    /// The event that a change is to the listeners of its topic, if there are any.
    fn hear(&self, change: &Change) -> Result<Option<(Event, Vec<Inbox>)>, Fault> {
        let mut state = self.lock();
        let topic = if self.follows.container == FEED {
            Topic::Feed
        } else {
            let Ok(id) = Uuid::try_parse(change.partition_key.as_str()).map(PostId) else { return Ok(None) };
            let (post, comments) = (Topic::Post(id), Topic::Comments(id));
            if !state.topics.contains_key(&post) && !state.topics.contains_key(&comments) {
                return Ok(None);
            }
            let kind: Kind = change.item.decode()?;
            if kind.item_type == types::POST && kind.deleted {
                state.topics.remove(&post);
                state.topics.remove(&comments);
                self.left.notify_one();
                return Ok(None);
            }
            if kind.item_type == types::POST { post } else { comments }
        };
        let Some(heard) = state.topics.get_mut(&topic) else { return Ok(None) };
        Ok(heard.memory.hear(&change.item)?.map(|event| (event, heard.inboxes.clone())))
    }

    /// Waits a while for listeners whose inbox is full: the change feed keeps what is not read yet.
    async fn deliver(&self, event: Event, inboxes: Vec<Inbox>) {
        let mut full = inboxes;
        full.retain(|inbox| matches!(inbox.sender.try_send(event.clone()), Err(TrySendError::Full(_))));
        if full.is_empty() {
            return;
        }
        let deadline = Instant::now() + self.parts.settings.inbox_wait_max;
        let waits = full.iter().map(|inbox| timeout_at(deadline, inbox.sender.send(event.clone())));
        let waited = join_all(waits).await;
        for (inbox, waited) in full.iter().zip(waited) {
            if waited.is_err() {
                self.overrun(inbox);
            }
        }
    }

    fn overrun(&self, overrun: &Inbox) {
        overrun.note_overrun();
        let mut state = self.lock();
        for heard in state.topics.values_mut() {
            heard.inboxes.retain(|inbox| inbox.number != overrun.number);
        }
        state.topics.retain(|_, heard| !heard.inboxes.is_empty());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Expected {
    fn drop(&mut self) {
        self.0.lock().expected -= 1;
        self.0.left.notify_one();
    }
}
