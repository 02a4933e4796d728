//! Progress channels: bring a mutation and the subscriber to its progress together, by a name that the client
//! chooses.

use std::collections::HashMap;
use std::sync::Arc;

use async_graphql::{ID, Result};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::mpsc;
use tokio_util::sync::DropGuard;

use super::errors::with_code;
use super::limits::{CLIENTS_MAX, PROGRESS_WAITING_MAX};
use crate::app::work::{Progress, ProgressSink};

/// Names for which only one of both, the mutation or the subscriber, has arrived.
const NAMES_WAITING_MAX: usize = 4 * CLIENTS_MAX;

/// The channels of which only one end is taken, by name.
#[derive(Debug, Default)]
pub(super) struct ProgressChannels {
    waiting: Mutex<HashMap<ID, FreeEnd>>,
}

/// The end of a channel that has not been taken yet.
#[derive(Debug)]
enum FreeEnd {
    Sender(mpsc::Sender<Progress>),
    Receiver(mpsc::Receiver<Progress>),
}

/// A mutation that reports its progress. Dropping it cancels blocking work.
pub(super) struct WorkHandle {
    sink: ProgressSink,
    _cancel: DropGuard,
    _name: Option<NameGuard>,
}

/// The subscriber's end.
pub(super) struct Followed {
    pub(super) receiver: mpsc::Receiver<Progress>,
    _name: NameGuard,
}

/// Frees a name if the other side has not come.
#[derive(Debug)]
struct NameGuard {
    channels: Arc<ProgressChannels>,
    name: ID,
}

impl ProgressChannels {
    /// The sink of a mutation with this name.
    pub(super) fn work(self: &Arc<Self>, name: Option<ID>) -> WorkHandle {
        let (sender, guard) = match name {
            Some(name) => {
                let sender = self.sender(&name);
                (sender, Some(NameGuard { channels: Arc::clone(self), name }))
            }
            None => (mpsc::channel(PROGRESS_WAITING_MAX).0, None),
        };
        let (sink, cancel) = ProgressSink::new(sender);
        WorkHandle { sink, _cancel: cancel, _name: guard }
    }

    fn sender(&self, name: &ID) -> mpsc::Sender<Progress> {
        let mut waiting = self.waiting();
        if let Some(FreeEnd::Sender(sender)) = waiting.remove(name) {
            return sender;
        }
        let (sender, receiver) = mpsc::channel(PROGRESS_WAITING_MAX);
        if waiting.len() < NAMES_WAITING_MAX {
            waiting.insert(name.clone(), FreeEnd::Receiver(receiver));
        }
        sender
    }

    /// The subscriber's end for work of this name.
    ///
    /// # Errors
    /// `LIMIT_EXCEEDED`: too many subscribers wait for work.
    pub(super) fn follow(self: &Arc<Self>, name: ID) -> Result<Followed> {
        let mut waiting = self.waiting();
        let receiver = match waiting.remove(&name) {
            Some(FreeEnd::Receiver(receiver)) => receiver,
            _ if waiting.len() >= NAMES_WAITING_MAX => {
                return Err(with_code("Too many subscribers wait for work.", "LIMIT_EXCEEDED"));
            }
            _ => {
                let (sender, receiver) = mpsc::channel(PROGRESS_WAITING_MAX);
                waiting.insert(name.clone(), FreeEnd::Sender(sender));
                receiver
            }
        };
        drop(waiting);
        Ok(Followed { receiver, _name: NameGuard { channels: Arc::clone(self), name } })
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<ID, FreeEnd>> {
        self.waiting.lock()
    }
}

impl WorkHandle {
    /// Where the mutation reports its progress.
    pub(super) fn sink(&self) -> &ProgressSink {
        &self.sink
    }
}

impl Drop for NameGuard {
    fn drop(&mut self) {
        self.channels.waiting().remove(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> ID {
        ID(name.to_owned())
    }

    fn steps(followed: &mut Followed) -> Vec<u64> {
        std::iter::from_fn(|| followed.receiver.try_recv().ok()).map(|progress| progress.done).collect()
    }

    #[test]
    fn progress_reaches_the_subscriber_whoever_is_first() {
        let channels = Arc::<ProgressChannels>::default();
        let work = channels.work(Some(named("early work")));
        work.sink().report("step", 1, None);
        let mut followed = channels.follow(named("early work")).unwrap();
        work.sink().report("step", 2, None);
        assert_eq!(steps(&mut followed), [1, 2]);

        let mut followed = channels.follow(named("early subscriber")).unwrap();
        let work = channels.work(Some(named("early subscriber")));
        work.sink().report("step", 3, None);
        assert_eq!(steps(&mut followed), [3]);
        drop(work);
        assert!(followed.receiver.is_closed() || followed.receiver.try_recv().is_err());
        assert!(channels.waiting().is_empty());
    }

    #[test]
    fn names_that_only_one_side_knows_are_bounded_and_freed() {
        let channels = Arc::<ProgressChannels>::default();
        let works: Vec<_> =
            (0..NAMES_WAITING_MAX).map(|name| channels.work(Some(named(&name.to_string())))).collect();
        let refused = channels.follow(named("one more")).err().unwrap();
        assert!(refused.message.contains("Too many"), "{refused:?}");
        assert!(channels.follow(named("0")).is_ok(), "its work is there");
        drop(works);
        assert!(channels.waiting().is_empty());
        assert!(channels.follow(named("one more")).is_ok());
    }

    #[test]
    fn blocking_work_ends_when_its_mutation_is_dropped() {
        let channels = Arc::<ProgressChannels>::default();
        let work = channels.work(None);
        let mut goes_on = work.sink().while_wanted("copying");
        assert!(goes_on(1), "without a subscriber, too");
        drop(work);
        assert!(!goes_on(2));
    }
}
