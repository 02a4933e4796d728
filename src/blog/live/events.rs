//! Events, and the stream by which one listener gets them.

use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures::Stream;

use super::Topic;
use super::changes::PostChanges;
use super::source::Source;
use crate::blog::ids::{CommentId, PostId};
use crate::blog::reads::{CommentView, PostView};

/// Something that was written. All listeners share what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Post(PostEvent),
    /// A post was deleted, or left the feed.
    PostRemoved(PostId),
    /// A comment was added.
    Comment(Arc<CommentView>),
    CommentDeleted(CommentId),
}

/// A post was written or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostEvent {
    /// The post, as V3 reads it where it changed.
    pub view: Arc<PostView>,
    /// What differs from the event before.
    pub changes: PostChanges,
    /// It entered the feed as a new post.
    pub is_new: bool,
}

/// The listener did not keep up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more was written than could be handed out")]
pub struct Overrun;

/// What one listener hears. It ends when there is nothing more to come: the post was deleted, or the process stops.
pub struct Events {
    queue: Arc<Mutex<Queue>>,
    place: Place,
}

/// Where events are put for one listener, without waiting for it. Events of one post are merged while they wait, so that
/// a slow listener gets the latest version; one that is too far behind gets [`Overrun`].
pub(super) struct Inbox {
    pub(super) number: u64,
    queue: Arc<Mutex<Queue>>,
    events_max: usize,
}

#[derive(Default)]
struct Queue {
    events: VecDeque<Event>,
    has_overrun: bool,
    is_closed: bool,
    waker: Option<Waker>,
}

/// A listener's place at its source, given up with the listener.
struct Place {
    source: Arc<Source>,
    topic: Topic,
    number: u64,
}

impl Inbox {
    /// An inbox for so many events, and the stream out of it.
    pub(super) fn new(source: &Arc<Source>, topic: Topic, number: u64, events_max: usize) -> (Self, Events) {
        let queue = Arc::<Mutex<Queue>>::default();
        let place = Place { source: Arc::clone(source), topic, number };
        let events = Events { queue: Arc::clone(&queue), place };
        (Self { number, queue, events_max: events_max.max(1) }, events)
    }

    /// Puts an event in, and returns whether there was room; without room the stream ends after what is in the inbox.
    pub(super) fn put(&self, event: Event) -> bool {
        let mut queue = lock(&self.queue);
        queue.merge(event);
        if queue.events.len() > self.events_max {
            queue.events.pop_back();
            queue.has_overrun = true;
        }
        queue.wake();
        !queue.has_overrun
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        let mut queue = lock(&self.queue);
        queue.is_closed = true;
        queue.wake();
    }
}

impl Queue {
    fn merge(&mut self, event: Event) {
        match event {
            Event::Post(new) => match self.waiting(new.view.id) {
                Some(waiting) => {
                    let (changes, is_new) = (waiting.changes.and(new.changes), waiting.is_new || new.is_new);
                    *waiting = PostEvent { view: new.view, changes, is_new };
                }
                None => self.events.push_back(Event::Post(new)),
            },
            Event::PostRemoved(id) => {
                self.events.retain(|event| !matches!(event, Event::Post(post) if post.view.id == id));
                self.events.push_back(Event::PostRemoved(id));
            }
            event @ (Event::Comment(_) | Event::CommentDeleted(_)) => self.events.push_back(event),
        }
    }

    fn waiting(&mut self, id: PostId) -> Option<&mut PostEvent> {
        self.events.iter_mut().find_map(|event| match event {
            Event::Post(post) if post.view.id == id => Some(post),
            _ => None,
        })
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Stream for Events {
    type Item = Result<Event, Overrun>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut queue = lock(&self.queue);
        if let Some(event) = queue.events.pop_front() {
            return Poll::Ready(Some(Ok(event)));
        }
        if std::mem::take(&mut queue.has_overrun) {
            return Poll::Ready(Some(Err(Overrun)));
        }
        if queue.is_closed {
            return Poll::Ready(None);
        }
        queue.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.source.leave(self.topic, self.number);
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Events").field("topic", &self.place.topic).finish_non_exhaustive()
    }
}

fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock()
}
