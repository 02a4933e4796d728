//! One container that is followed for all who listen to something in it: a single reader, which starts with
//! the first listener and ends with the last.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use futures::Stream;
use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use tokio::sync::Notify;
use uuid::Uuid;

use super::deduplication::{CommentDeduplication, Deduplication, FeedDeduplication, PostDeduplication};
use super::events::BlogEvent;
use super::inbox::{Inbox, InboxStream, ListenerOverrun};
use super::parts::LiveParts;
use super::topic::LiveTopic;
use crate::blog::containers::{FEED, FEED_PARTITION, FEED_POSTS_MAX, POSTS};
use crate::blog::ids::PostId;
use crate::blog::items::types;
use crate::blog::reads::PostView;
use onehop_change_feed::{Tail, TailSource};
use onehop_store::{Change, Direction, Fault, Ledger, PartitionKey, Query};

pub(super) struct ContainerTail {
    parts: Arc<LiveParts>,
    follows: TailSource,
    state: Mutex<TailState>,
    /// Held while the reader is started, which happens once.
    starting: tokio::sync::Mutex<()>,
    /// Comes when a listener has gone.
    left: Notify,
    numbers: AtomicU64,
    #[cfg(test)]
    tests: tests::Hooks,
}

#[derive(Default)]
struct TailState {
    running: bool,
    /// Listeners that are on their way to a topic.
    expected: usize,
    topics: HashMap<LiveTopic, TopicListeners>,
}

struct TopicListeners {
    memory: Deduplication,
    inboxes: Vec<Inbox>,
}

/// The events of one listener. It ends when there is nothing more to come: the post was deleted, or the
/// process stops.
pub struct EventReceiver {
    stream: InboxStream,
    source: Arc<ContainerTail>,
    topic: LiveTopic,
    number: u64,
}

/// Keeps the reader going until its listener has a topic.
struct ExpectedListener(Arc<ContainerTail>);

#[derive(Deserialize)]
struct ItemKind {
    #[serde(rename = "type")]
    item_type: String,
    #[serde(default)]
    deleted: bool,
}

impl ContainerTail {
    pub(super) fn new(parts: Arc<LiveParts>, follows: TailSource) -> Arc<Self> {
        Arc::new(Self {
            parts,
            follows,
            state: Mutex::default(),
            starting: tokio::sync::Mutex::default(),
            left: Notify::new(),
            numbers: AtomicU64::default(),
            #[cfg(test)]
            tests: tests::Hooks::default(),
        })
    }

    pub(super) fn is_running(&self) -> bool {
        self.lock().running
    }

    pub(super) async fn listen(
        self: &Arc<Self>,
        topic: LiveTopic,
        ledger: &Ledger,
    ) -> Result<Option<EventReceiver>, Fault> {
        if let Some(events) = self.join(topic) {
            return Ok(Some(events));
        }
        let expected = self.expect();
        self.start(ledger).await?;
        let memory = self.memory(topic, ledger).await?;
        let events = self.open(topic, memory);
        drop(expected);
        // After the topic is open, so that a deletion meanwhile is either seen here or ends the topic.
        let (LiveTopic::Post(id) | LiveTopic::Comments(id)) = topic else { return Ok(Some(events)) };
        Ok(self.begin_with(topic, id, ledger).await?.then_some(events))
    }

    /// One more listener to a topic that has some.
    fn join(self: &Arc<Self>, topic: LiveTopic) -> Option<EventReceiver> {
        let mut state = self.lock();
        let heard = state.topics.get_mut(&topic)?;
        let (inbox, events) = self.inbox(topic);
        heard.inboxes.push(inbox);
        Some(events)
    }

    fn open(self: &Arc<Self>, topic: LiveTopic, memory: Deduplication) -> EventReceiver {
        let (inbox, events) = self.inbox(topic);
        let mut state = self.lock();
        let heard =
            state.topics.entry(topic).or_insert_with(|| TopicListeners { memory, inboxes: Vec::new() });
        heard.inboxes.push(inbox);
        events
    }

    fn inbox(self: &Arc<Self>, topic: LiveTopic) -> (Inbox, EventReceiver) {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let (inbox, stream) = Inbox::new(number, self.parts.settings.inbox_events_max);
        (inbox, EventReceiver { stream, source: Arc::clone(self), topic, number })
    }

    fn leave(&self, topic: LiveTopic, number: u64) {
        let mut state = self.lock();
        if let Some(heard) = state.topics.get_mut(&topic) {
            heard.inboxes.retain(|inbox| inbox.number != number);
            if heard.inboxes.is_empty() {
                state.topics.remove(&topic);
                self.left.notify_one();
            }
        }
    }

    fn expect(self: &Arc<Self>) -> ExpectedListener {
        self.lock().expected += 1;
        ExpectedListener(Arc::clone(self))
    }

    /// Starts the reader unless it runs.
    async fn start(self: &Arc<Self>, ledger: &Ledger) -> Result<(), Fault> {
        let _starting = self.starting.lock().await;
        if self.is_running() {
            return Ok(());
        }
        let LiveParts { store, tasks, settings, .. } = &*self.parts;
        let tail = Tail::open(Arc::clone(store), self.follows, settings.tail, ledger).await?;
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
                () = stop.cancelled() => return self.end(),
                () = self.left.notified() => {}
                changes = tail.next() => {
                    for change in changes {
                        self.announce(&change);
                        // So that listeners take their events.
                        onehop_runtime::tasks::yield_now().await;
                    }
                }
            }
        }
        #[cfg(test)]
        self.tests.ended();
    }

    /// Ends without listeners, under one lock: a listener that comes later starts the reader again, and its
    /// topic is not touched by the reader that has ended.
    fn ends_without_listeners(&self) -> bool {
        let mut state = self.lock();
        state.running = !state.topics.is_empty() || state.expected > 0;
        !state.running
    }

    /// The streams of all listeners end with their inboxes.
    fn end(&self) {
        let mut state = self.lock();
        state.running = false;
        state.topics.clear();
    }

    async fn memory(&self, topic: LiveTopic, ledger: &Ledger) -> Result<Deduplication, Fault> {
        Ok(match topic {
            LiveTopic::Feed => {
                let partition_key = PartitionKey::from(FEED_PARTITION);
                let query = Query::Partition {
                    container: FEED,
                    partition_key: &partition_key,
                    item_type: types::POST,
                    direction: Direction::NewestFirst,
                    after: None,
                    limit: FEED_POSTS_MAX,
                    order_by: None,
                };
                let listed = self.parts.store.query(&query, ledger).await?;
                Deduplication::Feed(FeedDeduplication::of(&listed.items)?)
            }
            LiveTopic::Post(_) => Deduplication::Post(PostDeduplication::default()),
            LiveTopic::Comments(_) => {
                Deduplication::Comments(CommentDeduplication::since(self.parts.clock.now_ms()))
            }
        })
    }

    /// Reads the post that a topic is about, and returns whether it is there.
    async fn begin_with(&self, topic: LiveTopic, id: PostId, ledger: &Ledger) -> Result<bool, Fault> {
        let key = id.partition_key();
        let Some(item) = self.parts.store.read(POSTS, &key, key.as_str(), ledger).await? else {
            return Ok(false);
        };
        if PostView::decode(&item)?.is_none() {
            return Ok(false);
        }
        if let Some(heard) = self.lock().topics.get_mut(&topic) {
            heard.memory.begin_with(&item)?;
        }
        Ok(true)
    }

    /// Hands a change to its listeners. An unreadable item is no news: queries and projections meet it as
    /// well.
    fn announce(&self, change: &Change) {
        if let Err(fault) = self.hear(change) {
            tracing::warn!(container = %self.follows.container, id = change.id, %fault, "a change is no news");
        }
    }

    /// Puts the events that a change is into the inboxes of its topic, if there are any.
    fn hear(&self, change: &Change) -> Result<(), Fault> {
        let mut state = self.lock();
        let topic = if self.follows.container == FEED {
            LiveTopic::Feed
        } else {
            let Ok(id) = Uuid::try_parse(change.partition_key.as_str()).map(PostId) else { return Ok(()) };
            let (post, comments) = (LiveTopic::Post(id), LiveTopic::Comments(id));
            if !state.topics.contains_key(&post) && !state.topics.contains_key(&comments) {
                return Ok(());
            }
            let kind: ItemKind = change.item.decode()?;
            if kind.item_type == types::POST && kind.deleted {
                state.deliver(post, BlogEvent::PostRemoved(id));
                state.topics.remove(&post);
                state.topics.remove(&comments);
                self.left.notify_one();
                return Ok(());
            }
            if kind.item_type == types::POST { post } else { comments }
        };
        let Some(heard) = state.topics.get_mut(&topic) else { return Ok(()) };
        for event in heard.memory.hear(&change.item)? {
            state.deliver(topic, event);
        }
        if !state.topics.contains_key(&topic) {
            self.left.notify_one();
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, TailState> {
        self.state.lock()
    }
}

impl TailState {
    /// Puts an event into each inbox of a topic; a listener whose inbox is full loses it.
    fn deliver(&mut self, topic: LiveTopic, event: BlogEvent) {
        let Some(heard) = self.topics.get_mut(&topic) else { return };
        heard.inboxes.retain(|inbox| inbox.put(event.clone()));
        if heard.inboxes.is_empty() {
            self.topics.remove(&topic);
        }
    }
}

impl Stream for EventReceiver {
    type Item = Result<BlogEvent, ListenerOverrun>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.stream).poll_next(context)
    }
}

/// The listener gives up its place at the source.
impl Drop for EventReceiver {
    fn drop(&mut self) {
        self.source.leave(self.topic, self.number);
    }
}

impl std::fmt::Debug for EventReceiver {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Events").field("topic", &self.topic).finish_non_exhaustive()
    }
}

impl Drop for ExpectedListener {
    fn drop(&mut self) {
        self.0.lock().expected -= 1;
        self.0.left.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, StreamExt};
    use tokio::sync::oneshot;

    use super::*;
    use crate::app::container_specs;
    use crate::blog::ids::UserId;
    use crate::blog::live::changes::PostChanges;
    use crate::blog::live::{LiveSettings, PostEvent};
    use crate::blog::reads::PostText;
    use crate::blog::reads::UserView;
    use onehop_runtime::clock::ManualClock;
    use onehop_runtime::tasks::Tasks;
    use onehop_store::embedded::{EmbeddedConfig, EmbeddedStore};

    /// Where a test comes between the steps of a reader.
    #[derive(Default)]
    pub(super) struct Hooks(Mutex<Option<Box<dyn FnOnce() + Send>>>);

    impl Hooks {
        pub(super) fn ended(&self) {
            let hook = self.0.lock().take();
            if let Some(hook) = hook {
                hook();
            }
        }
    }

    struct Blog {
        _directory: tempfile::TempDir,
        source: Arc<ContainerTail>,
    }

    fn blog() -> Blog {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::new(1_800_000_000_000));
        let config = EmbeddedConfig::new(directory.path().join("data"));
        let store = EmbeddedStore::open_with(&config, &container_specs(), clock.clone()).unwrap();
        let settings = LiveSettings { inbox_events_max: 2, ..LiveSettings::default() };
        let parts = Arc::new(LiveParts { store: Arc::new(store), clock, tasks: Tasks::new(), settings });
        let source = ContainerTail::new(parts, TailSource { container: FEED, types: Some(&[types::POST]) });
        Blog { _directory: directory, source }
    }

    fn post(number: u128, like_count: u32) -> BlogEvent {
        let author = UserView { id: UserId(Uuid::nil()), username: "ada".to_owned() };
        let view = PostView {
            id: PostId(Uuid::from_u128(number)),
            author,
            title: "A post".to_owned(),
            text: PostText::Whole("A text".to_owned()),
            tags: Vec::new(),
            comment_count: 0,
            like_count,
            creation_date: "2026-01-01T00:00:00.000Z".to_owned(),
            update_date: None,
            text_version: 1,
        };
        BlogEvent::Post(PostEvent { view: Arc::new(view), changes: PostChanges::LIKES, is_new: false })
    }

    #[tokio::test]
    async fn a_listener_that_comes_as_the_reader_ends_keeps_its_topic() {
        let Blog { source, _directory } = blog();
        let first = source.listen(LiveTopic::Feed, &Ledger::new()).await.unwrap();
        let (coming, came) = oneshot::channel();
        let comes = Arc::clone(&source);
        *source.tests.0.lock() = Some(Box::new(move || {
            comes.lock().running = true;
            let memory = Deduplication::Feed(FeedDeduplication::default());
            assert!(coming.send(comes.open(LiveTopic::Feed, memory)).is_ok());
        }));
        drop(first);
        let mut events = came.await.unwrap();
        assert!(events.next().now_or_never().is_none(), "its stream has ended");
        assert!(source.is_running());
    }

    #[tokio::test]
    async fn a_slow_listener_is_dropped_and_blocks_no_other() {
        let Blog { source, _directory } = blog();
        let memory = || Deduplication::Feed(FeedDeduplication::default());
        let mut slow = source.open(LiveTopic::Feed, memory());
        let mut quick = source.open(LiveTopic::Feed, memory());
        for number in 1..=3 {
            source.lock().deliver(LiveTopic::Feed, post(number, 0));
            assert_eq!(quick.next().now_or_never(), Some(Some(Ok(post(number, 0)))));
        }
        for expected in [Some(Ok(post(1, 0))), Some(Ok(post(2, 0))), Some(Err(ListenerOverrun)), None] {
            assert_eq!(slow.next().now_or_never(), Some(expected));
        }
        assert!(quick.next().now_or_never().is_none());
    }

    #[tokio::test]
    async fn versions_of_a_post_that_wait_are_one_event() {
        let Blog { source, _directory } = blog();
        let mut events = source.open(LiveTopic::Feed, Deduplication::Feed(FeedDeduplication::default()));
        for like_count in 1..=100 {
            source.lock().deliver(LiveTopic::Feed, post(1, like_count));
        }
        assert_eq!(events.next().now_or_never(), Some(Some(Ok(post(1, 100)))));
        source.lock().deliver(LiveTopic::Feed, post(1, 101));
        let removed = BlogEvent::PostRemoved(PostId(Uuid::from_u128(1)));
        source.lock().deliver(LiveTopic::Feed, removed.clone());
        assert_eq!(events.next().now_or_never(), Some(Some(Ok(removed))));
    }

    #[tokio::test]
    async fn what_is_read_to_begin_is_charged() {
        let Blog { source, _directory } = blog();
        let ledger = Ledger::new();
        let _events = source.listen(LiveTopic::Feed, &ledger).await.unwrap();
        assert!(ledger.total().0 > 0.0);
    }
}
