//! Admit: the concurrency limit, with a cost-aware queue and load shedding.
//!
//! A number of requests execute at once. Of the waiting requests, cheap ones go first, and a bounded number
//! of later ones overtakes each. A request that finds the queue too long is refused at once. Knows
//! complexities, not the operations.

use std::{collections::BTreeMap, fmt, sync::Arc, time::Duration};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::service::COMPLEXITY_MAX;

/// Concurrency limit of requests.
pub const EXECUTING_MAX: usize = 128;

/// Limit of requests that wait for it.
pub const WAITING_MAX: usize = 512;

/// When a request that was sent away may come again.
pub const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The limits of running and waiting requests.
#[derive(Debug, Clone, Copy)]
pub struct ConcurrencyLimits {
    pub executing_max: usize,
    /// The cheapest requests may fill the queue; the most complex ones are sent away when half of it is
    /// taken.
    pub waiting_max: usize,
    /// The complexity of the most complex request.
    pub complexity_max: usize,
}

impl Default for ConcurrencyLimits {
    fn default() -> Self {
        Self { executing_max: EXECUTING_MAX, waiting_max: WAITING_MAX, complexity_max: COMPLEXITY_MAX }
    }
}

/// There are too many requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("The server has as many requests as it takes: try again later.")]
pub struct Overloaded;

/// The numbers of running and waiting requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConcurrencyLoad {
    pub executing: usize,
    pub waiting: usize,
}

/// The queue before execution. Clones are handles to the same queue.
#[derive(Clone)]
pub struct ConcurrencyLimit {
    limits: ConcurrencyLimits,
    queue: Arc<Mutex<WaitQueue>>,
}

#[derive(Default)]
struct WaitQueue {
    executing: usize,
    /// Requests that had to wait, so far.
    arrivals: u64,
    waiting: BTreeMap<QueuePosition, oneshot::Sender<ExecutionPermit>>,
}

/// The lowest position is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct QueuePosition {
    /// No arrival from this number on goes before this one.
    rank: u64,
    arrival: u64,
}

impl ConcurrencyLimit {
    pub fn new(limits: ConcurrencyLimits) -> Self {
        Self { limits, queue: Arc::default() }
    }

    /// Waits until a request of this complexity may execute, which it may for as long as it keeps the permit.
    ///
    /// # Errors
    /// [`Overloaded`], at once, when too many wait.
    pub async fn admit(&self, complexity: usize) -> Result<ExecutionPermit, Overloaded> {
        self.join(complexity, self.limits.room_for(complexity)).await
    }

    /// As [`admit`](Self::admit), for an event of a subscription: it may always wait, since it cannot be sent
    /// away. The caller of this bounds the number of waiting events.
    pub async fn admit_event(&self, complexity: usize) -> Option<ExecutionPermit> {
        self.join(complexity, usize::MAX).await.ok()
    }

    async fn join(&self, complexity: usize, waiting_max: usize) -> Result<ExecutionPermit, Overloaded> {
        let (position, called) = {
            let mut queue = self.lock();
            if let Some(admitted) = self.enter(&mut queue) {
                return Ok(admitted);
            }
            if queue.waiting.len() >= waiting_max {
                return Err(Overloaded);
            }
            queue.arrivals += 1;
            let arrival = queue.arrivals;
            let position = QueuePosition { rank: arrival + self.limits.overtaken_max(complexity), arrival };
            let (call, called) = oneshot::channel();
            queue.waiting.insert(position, call);
            (position, called)
        };
        let _waiting = QueueEntry { limit: self, position };
        // A queue that is gone admits nothing.
        called.await.map_err(|_| Overloaded)
    }

    /// The right to execute without a wait; `None` where the request would have to wait.
    pub fn admit_at_once(&self) -> Option<ExecutionPermit> {
        self.enter(&mut self.lock())
    }

    fn enter(&self, queue: &mut WaitQueue) -> Option<ExecutionPermit> {
        if queue.executing >= self.limits.executing_max {
            return None;
        }
        queue.executing += 1;
        Some(ExecutionPermit { limit: self.clone() })
    }

    /// The present numbers of requests.
    pub fn load(&self) -> ConcurrencyLoad {
        let queue = self.lock();
        ConcurrencyLoad { executing: queue.executing, waiting: queue.waiting.len() }
    }

    /// Gives the position of a finished request to the next waiting request.
    fn leave(&self) {
        let next = {
            let mut queue = self.lock();
            let next = queue.waiting.pop_first();
            if next.is_none() {
                queue.executing -= 1;
            }
            next
        };
        if let Some((_, call)) = next {
            // A request that has gone away gives the position back by dropping it.
            drop(call.send(ExecutionPermit { limit: self.clone() }));
        }
    }

    /// Nothing that holds the lock panics, and the queue is whole after every step.
    fn lock(&self) -> MutexGuard<'_, WaitQueue> {
        self.queue.lock()
    }
}

impl ConcurrencyLimits {
    /// The length of the queue up to which a request may join it.
    fn room_for(&self, complexity: usize) -> usize {
        self.waiting_max - self.scaled(complexity, self.waiting_max / 2)
    }

    /// Fewer later requests than these overtake one of this complexity: half the queue for the most complex
    /// ones.
    fn overtaken_max(&self, complexity: usize) -> u64 {
        u64::try_from(self.scaled(complexity, self.waiting_max / 2)).unwrap_or(u64::MAX)
    }

    /// A part of a number: nothing for no complexity, all of it for the largest.
    fn scaled(&self, complexity: usize, number: usize) -> usize {
        number.saturating_mul(complexity.min(self.complexity_max)) / self.complexity_max.max(1)
    }
}

/// The right to execute.
#[must_use = "it is given back when it is dropped"]
pub struct ExecutionPermit {
    limit: ConcurrencyLimit,
}

impl Drop for ExecutionPermit {
    fn drop(&mut self) {
        self.limit.leave();
    }
}

impl fmt::Debug for ExecutionPermit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ExecutionPermit").finish_non_exhaustive()
    }
}

/// A position in the queue, left when the request goes away.
struct QueueEntry<'a> {
    limit: &'a ConcurrencyLimit,
    position: QueuePosition,
}

impl Drop for QueueEntry<'_> {
    fn drop(&mut self) {
        self.limit.lock().waiting.remove(&self.position);
    }
}

impl fmt::Debug for ConcurrencyLimit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ConcurrencyLimit")
            .field("limits", &self.limits)
            .field("load", &self.load())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::{future::Future, pin::Pin};

    use futures::{FutureExt, poll};

    use super::*;

    type DocumentReference = Pin<Box<dyn Future<Output = Result<ExecutionPermit, Overloaded>>>>;

    fn limit(executing_max: usize, waiting_max: usize) -> ConcurrencyLimit {
        ConcurrencyLimit::new(ConcurrencyLimits {
            executing_max,
            waiting_max,
            complexity_max: COMPLEXITY_MAX,
        })
    }

    /// A request that has to wait.
    fn waiting(limit: &ConcurrencyLimit, complexity: usize) -> DocumentReference {
        let limit = limit.clone();
        let mut asking: DocumentReference = Box::pin(async move { limit.admit(complexity).await });
        assert!(asking.as_mut().now_or_never().is_none(), "it does not wait");
        asking
    }

    fn admitted(limit: &ConcurrencyLimit) -> ExecutionPermit {
        limit.admit(0).now_or_never().expect("at once").expect("admitted")
    }

    /// The position of the request that was called, and its right.
    async fn called(queue: &mut [DocumentReference]) -> (usize, ExecutionPermit) {
        for (position, asking) in queue.iter_mut().enumerate() {
            if let std::task::Poll::Ready(answer) = poll!(asking) {
                return (position, answer.expect("admitted"));
            }
        }
        panic!("nobody was called");
    }

    #[tokio::test]
    async fn a_request_beyond_the_concurrency_limit_waits() {
        let limit = limit(2, 10);
        let (first, second) = (admitted(&limit), admitted(&limit));
        let third = waiting(&limit, 0);
        assert_eq!(limit.load(), ConcurrencyLoad { executing: 2, waiting: 1 });
        drop(first);
        let third = third.await.unwrap();
        assert_eq!(limit.load(), ConcurrencyLoad { executing: 2, waiting: 0 });
        drop((second, third));
        assert_eq!(limit.load(), ConcurrencyLoad { executing: 0, waiting: 0 });
    }

    #[tokio::test]
    async fn a_full_queue_sheds_the_request_at_once() {
        let limit = limit(1, 2);
        let _executing = admitted(&limit);
        let _line = [waiting(&limit, 0), waiting(&limit, 0)];
        assert_eq!(limit.admit(0).now_or_never().map(Result::err), Some(Some(Overloaded)));
    }

    #[tokio::test]
    async fn expensive_requests_leave_half_of_the_line_to_cheap_ones() {
        let limit = limit(1, 10);
        let _executing = admitted(&limit);
        let _line: Vec<_> = (0..5).map(|_| waiting(&limit, COMPLEXITY_MAX)).collect();
        assert!(limit.admit(COMPLEXITY_MAX).now_or_never().is_some_and(|answer| answer.is_err()));
        assert!(limit.admit(usize::MAX).now_or_never().is_some_and(|answer| answer.is_err()));
        let _cheap: Vec<_> = (0..5).map(|_| waiting(&limit, 0)).collect();
    }

    #[tokio::test]
    async fn a_cheap_request_goes_before_an_expensive_one_that_came_first() {
        let limit = limit(1, 10);
        let executing = admitted(&limit);
        let mut order = vec![0, 1, 2];
        let mut queue = vec![waiting(&limit, COMPLEXITY_MAX), waiting(&limit, 1), waiting(&limit, 1)];
        drop(executing);
        for expected in [1, 2, 0] {
            let (position, executing) = called(&mut queue).await;
            assert_eq!(order.remove(position), expected);
            drop((queue.remove(position), executing));
        }
    }

    #[tokio::test]
    async fn an_expensive_request_is_overtaken_by_less_than_half_a_line() {
        let limit = limit(1, 10);
        let mut executing = admitted(&limit);
        let mut expensive = waiting(&limit, COMPLEXITY_MAX);
        let mut overtaken = 0;
        loop {
            let cheap = waiting(&limit, 0);
            drop(executing);
            if let std::task::Poll::Ready(answer) = poll!(&mut expensive) {
                drop(answer);
                break;
            }
            executing = cheap.await.unwrap();
            overtaken += 1;
        }
        assert_eq!(overtaken, 4);
    }

    #[tokio::test]
    async fn a_cancelled_request_leaves_the_queue_and_its_permit() {
        let limit = limit(1, 10);
        let executing = admitted(&limit);
        let (gone, called, last) = (waiting(&limit, 0), waiting(&limit, 0), waiting(&limit, 0));
        drop(gone);
        assert_eq!(limit.load(), ConcurrencyLoad { executing: 1, waiting: 2 });
        drop(executing);
        // It was called, and goes away without looking.
        drop(called);
        assert!(last.now_or_never().is_some_and(|answer| answer.is_ok()));
        assert_eq!(limit.load(), ConcurrencyLoad { executing: 0, waiting: 0 });
    }
}
