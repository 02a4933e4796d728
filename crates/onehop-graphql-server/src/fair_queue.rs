//! Fair queueing: a concurrency limit whose waiters are served in turn by key, such as by network. A key with
//! many waiters waits for itself, and a full queue gives the place of the key that has the most to a
//! newcomer. Knows no keys.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

/// The limit of concurrent turns, and of callers that wait for a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FairQueueLimits {
    /// Turns at once.
    pub at_once: usize,
    /// Waiters of all keys. A further one gets the place of the key with the most waiters, unless that is its
    /// own.
    pub waiting_max: usize,
}

/// Too many wait, or another key has got the place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QueueFull;

/// The queue. Clones are handles to the same queue.
pub(crate) struct FairQueue<K: Eq + Hash + Clone> {
    limits: FairQueueLimits,
    state: Arc<Mutex<FairQueueState<K>>>,
}

struct FairQueueState<K: Eq + Hash + Clone> {
    running: usize,
    /// The waiters of each key, the first to be served first.
    waiting: HashMap<K, VecDeque<Waiter<K>>>,
    /// The keys that have waiters, in the order of their turns.
    turns: VecDeque<K>,
    waiters: usize,
    arrivals: u64,
}

struct Waiter<K: Eq + Hash + Clone> {
    id: u64,
    call: oneshot::Sender<FairTurn<K>>,
}

/// A turn, which goes to the next waiter when it is dropped.
#[must_use = "it is given back when it is dropped"]
pub(crate) struct FairTurn<K: Eq + Hash + Clone>(FairQueue<K>);

/// A place in the queue, which is left when this is dropped.
struct QueuePlace<'a, K: Eq + Hash + Clone> {
    queue: &'a FairQueue<K>,
    key: K,
    id: u64,
}

impl<K: Eq + Hash + Clone> FairQueue<K> {
    pub(crate) fn new(limits: FairQueueLimits) -> Self {
        let state = FairQueueState {
            running: 0,
            waiting: HashMap::new(),
            turns: VecDeque::new(),
            waiters: 0,
            arrivals: 0,
        };
        Self { limits, state: Arc::new(Mutex::new(state)) }
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// There is no place, or another key has got it.
    pub(crate) async fn turn(&self, key: K) -> Result<FairTurn<K>, QueueFull> {
        let (place, called) = {
            let mut state = self.lock();
            if state.running < self.limits.at_once {
                state.running += 1;
                return Ok(FairTurn(self.clone()));
            }
            if state.waiters >= self.limits.waiting_max && !state.displace_for(&key) {
                return Err(QueueFull);
            }
            let (call, called) = oneshot::channel();
            let id = state.push(&key, call);
            (QueuePlace { queue: self, key, id }, called)
        };
        let turn = called.await.map_err(|_displaced| QueueFull);
        drop(place);
        turn
    }

    /// Gives a turn back.
    fn give_back(&self) {
        let next = {
            let mut state = self.lock();
            let next = state.pop();
            if next.is_none() {
                state.running -= 1;
            }
            next
        };
        if let Some(Waiter { call, .. }) = next {
            // A waiter that has gone away gives the turn back by dropping it.
            drop(call.send(FairTurn(self.clone())));
        }
    }

    /// The state is whole after every step.
    fn lock(&self) -> MutexGuard<'_, FairQueueState<K>> {
        self.state.lock()
    }
}

impl<K: Eq + Hash + Clone> FairQueueState<K> {
    fn push(&mut self, key: &K, call: oneshot::Sender<FairTurn<K>>) -> u64 {
        self.arrivals += 1;
        let waiters = self.waiting.entry(key.clone()).or_default();
        if waiters.is_empty() {
            self.turns.push_back(key.clone());
        }
        waiters.push_back(Waiter { id: self.arrivals, call });
        self.waiters += 1;
        self.arrivals
    }

    /// The first waiter of the key whose turn it is.
    fn pop(&mut self) -> Option<Waiter<K>> {
        let key = self.turns.pop_front()?;
        let waiters = self.waiting.get_mut(&key)?;
        let first = waiters.pop_front();
        if waiters.is_empty() {
            self.waiting.remove(&key);
        } else {
            self.turns.push_back(key);
        }
        self.waiters -= usize::from(first.is_some());
        first
    }

    /// Sends away the newest waiter of the key that has the most, if that is fairer than to send away a
    /// newcomer.
    fn displace_for(&mut self, key: &K) -> bool {
        let of_newcomer = self.waiting.get(key).map_or(0, VecDeque::len);
        let largest = self.waiting.iter().max_by_key(|(_, waiters)| waiters.len());
        let Some((largest, most)) = largest.map(|(key, waiters)| (key.clone(), waiters.len())) else {
            return false;
        };
        if most < of_newcomer + 2 {
            return false;
        }
        let newest = self.waiting.get(&largest).and_then(|waiters| waiters.back()).map(|waiter| waiter.id);
        newest.is_some_and(|id| self.remove(&largest, id))
    }

    fn remove(&mut self, key: &K, id: u64) -> bool {
        let Some(waiters) = self.waiting.get_mut(key) else { return false };
        let before = waiters.len();
        waiters.retain(|waiter| waiter.id != id);
        let removed = before - waiters.len();
        if waiters.is_empty() {
            self.waiting.remove(key);
            self.turns.retain(|turn| turn != key);
        }
        self.waiters -= removed;
        removed > 0
    }
}

impl<K: Eq + Hash + Clone> Clone for FairQueue<K> {
    fn clone(&self) -> Self {
        Self { limits: self.limits, state: Arc::clone(&self.state) }
    }
}

impl<K: Eq + Hash + Clone> Drop for FairTurn<K> {
    fn drop(&mut self) {
        self.0.give_back();
    }
}

impl<K: Eq + Hash + Clone> Drop for QueuePlace<'_, K> {
    fn drop(&mut self) {
        self.queue.lock().remove(&self.key, self.id);
    }
}

impl<K: Eq + Hash + Clone> fmt::Debug for FairTurn<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Turn")
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use futures::FutureExt as _;

    use super::*;

    type Waiting = Pin<Box<dyn Future<Output = Result<FairTurn<u8>, QueueFull>>>>;

    fn queue(waiting_max: usize) -> FairQueue<u8> {
        FairQueue::new(FairQueueLimits { at_once: 1, waiting_max })
    }

    fn held(queue: &FairQueue<u8>) -> FairTurn<u8> {
        queue.turn(0).now_or_never().expect("a free turn").unwrap()
    }

    /// A caller that has begun to wait.
    fn begin(queue: &FairQueue<u8>, key: u8) -> Waiting {
        let queue = queue.clone();
        let mut waiting: Waiting = Box::pin(async move { queue.turn(key).await });
        assert!(waiting.as_mut().now_or_never().is_none(), "{key} waits");
        waiting
    }

    /// In which order these are served, one after another, once the turn is given back.
    fn order(turn: FairTurn<u8>, mut waiting: Vec<(&'static str, Waiting)>) -> Vec<&'static str> {
        drop(turn);
        let mut served = Vec::new();
        while !waiting.is_empty() {
            let ready = waiting
                .iter_mut()
                .enumerate()
                .find_map(|(index, (_, waiting))| waiting.as_mut().now_or_never().map(|turn| (index, turn)));
            let (index, turn) = ready.expect("a turn");
            served.push(waiting.remove(index).0);
            drop(turn);
        }
        served
    }

    #[test]
    fn keys_are_served_in_turn() {
        let queue = queue(10);
        let turn = held(&queue);
        let waiting = [("a1", 1), ("a2", 1), ("a3", 1), ("b1", 2), ("c1", 3), ("b2", 2)];
        let waiting = waiting.map(|(name, key)| (name, begin(&queue, key))).into();
        assert_eq!(order(turn, waiting), ["a1", "b1", "c1", "a2", "b2", "a3"]);
        assert!(queue.lock().waiting.is_empty() && queue.lock().running == 0, "nothing is remembered");
    }

    #[test]
    fn a_full_queue_takes_a_place_from_the_key_with_the_most() {
        let queue = queue(3);
        let turn = held(&queue);
        let mut flood: Vec<_> = (0..3).map(|_| begin(&queue, 1)).collect();
        assert!(queue.turn(1).now_or_never().is_some_and(|turn| turn.is_err()), "the flood gets no more");
        let stranger = begin(&queue, 2);
        let last = flood.pop().expect("three");
        assert!(last.now_or_never().is_some_and(|turn| turn.is_err()), "the newest of the flood gives way");
        let another = begin(&queue, 3);
        drop(flood.pop());
        let waiting =
            vec![("flood", flood.pop().expect("one is left")), ("stranger", stranger), ("another", another)];
        assert_eq!(order(turn, waiting), ["flood", "stranger", "another"]);
    }

    #[test]
    fn a_waiter_that_goes_away_leaves_its_place() {
        let queue = queue(1);
        let turn = held(&queue);
        drop(begin(&queue, 1));
        let waiting = vec![("next", begin(&queue, 2))];
        assert_eq!(order(turn, waiting), ["next"]);
    }

    #[test]
    fn a_turn_that_no_waiter_takes_goes_on() {
        let queue = queue(2);
        let turn = held(&queue);
        let (gone, next) = (begin(&queue, 1), begin(&queue, 2));
        drop(turn);
        drop(gone);
        assert!(next.now_or_never().is_some_and(|turn| turn.is_ok()));
    }
}
