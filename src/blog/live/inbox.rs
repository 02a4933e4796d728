//! Inboxes: the bounded queue of events that wait for one listener, and the stream out of it.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use futures::Stream;
use onehop_runtime::planted;
use parking_lot::Mutex;

use super::events::{BlogEvent, PostEvent};
use crate::blog::ids::PostId;

/// The listener did not keep up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more was written than could be handed out")]
pub struct ListenerOverrun;

/// Where events are put for one listener, without waiting for it. Events of one post are merged while they
/// wait, so that a slow listener gets the latest version; a listener that is too far behind gets
/// [`ListenerOverrun`].
pub(super) struct Inbox {
    pub(super) number: u64,
    queue: Arc<Mutex<QueuedEvents>>,
    events_max: usize,
}

/// The events of an inbox. It ends when the inbox is gone: the post was deleted, or the process stops.
pub(super) struct InboxStream(Arc<Mutex<QueuedEvents>>);

#[derive(Default)]
struct QueuedEvents {
    events: VecDeque<BlogEvent>,
    has_overrun: bool,
    is_closed: bool,
    waker: Option<Waker>,
}

impl Inbox {
    /// An inbox for this many events, and the stream out of it.
    pub(super) fn new(number: u64, events_max: usize) -> (Self, InboxStream) {
        let queue = Arc::<Mutex<QueuedEvents>>::default();
        let stream = InboxStream(Arc::clone(&queue));
        (Self { number, queue, events_max: events_max.max(1) }, stream)
    }

    /// Puts an event in, and returns whether there was room; without room the stream ends after the events in
    /// the inbox.
    pub(super) fn put(&self, event: BlogEvent) -> bool {
        let mut queue = self.queue.lock();
        if !planted!("event-lost-behind-another") || queue.events.is_empty() {
            queue.merge(event);
        }
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
        let mut queue = self.queue.lock();
        queue.is_closed = true;
        queue.wake();
    }
}

impl QueuedEvents {
    fn merge(&mut self, event: BlogEvent) {
        match event {
            BlogEvent::Post(new) => match self.waiting(new.view.id) {
                Some(waiting) => {
                    let (changes, is_new) = (waiting.changes.and(new.changes), waiting.is_new || new.is_new);
                    *waiting = PostEvent { view: new.view, changes, is_new };
                }
                None => self.events.push_back(BlogEvent::Post(new)),
            },
            BlogEvent::PostRemoved(id) => {
                self.events.retain(|event| !matches!(event, BlogEvent::Post(post) if post.view.id == id));
                self.events.push_back(BlogEvent::PostRemoved(id));
            }
            event @ (BlogEvent::Comment(_) | BlogEvent::CommentChanged(_) | BlogEvent::CommentDeleted(_)) => {
                self.events.push_back(event);
            }
        }
    }

    fn waiting(&mut self, id: PostId) -> Option<&mut PostEvent> {
        self.events.iter_mut().find_map(|event| match event {
            BlogEvent::Post(post) if post.view.id == id => Some(post),
            _ => None,
        })
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Stream for InboxStream {
    type Item = Result<BlogEvent, ListenerOverrun>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut queue = self.0.lock();
        if let Some(event) = queue.events.pop_front() {
            return Poll::Ready(Some(Ok(event)));
        }
        if std::mem::take(&mut queue.has_overrun) {
            return Poll::Ready(Some(Err(ListenerOverrun)));
        }
        if queue.is_closed {
            return Poll::Ready(None);
        }
        queue.waker = Some(context.waker().clone());
        Poll::Pending
    }
}
