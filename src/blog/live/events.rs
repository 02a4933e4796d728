//! Events, and the stream by which one listener gets them.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use futures::Stream;
use tokio::sync::mpsc;

use super::Topic;
use super::source::Source;
use crate::blog::reads::{CommentView, PostView};

/// Something that was written. All listeners share what it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A post, as V3 reads it where it changed.
    Post(Arc<PostView>),
    Comment(Arc<CommentView>),
}

/// The listener did not keep up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("more was written than could be handed out")]
pub struct Overrun;

/// What one listener hears. It ends when there is nothing more to come: the post was deleted, or the process stops.
pub struct Events {
    receiver: mpsc::Receiver<Event>,
    overrun: Arc<AtomicBool>,
    place: Place,
}

/// Where events are put for one listener.
#[derive(Clone)]
pub(super) struct Inbox {
    pub(super) number: u64,
    pub(super) sender: mpsc::Sender<Event>,
    overrun: Arc<AtomicBool>,
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
        let (sender, receiver) = mpsc::channel(events_max.max(1));
        let overrun = Arc::new(AtomicBool::new(false));
        let place = Place { source: Arc::clone(source), topic, number };
        let events = Events { receiver, overrun: Arc::clone(&overrun), place };
        (Self { number, sender, overrun }, events)
    }

    /// Has the stream end with [`Overrun`], after what is in the inbox.
    pub(super) fn note_overrun(&self) {
        self.overrun.store(true, Ordering::Release);
    }
}

impl Stream for Events {
    type Item = Result<Event, Overrun>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(match ready!(self.receiver.poll_recv(context)) {
            Some(event) => Some(Ok(event)),
            None => self.overrun.swap(false, Ordering::AcqRel).then_some(Err(Overrun)),
        })
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
