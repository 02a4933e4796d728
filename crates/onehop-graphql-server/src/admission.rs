//! Who executes, who waits, who is sent away. So many requests execute at once; of those that wait, cheap ones go first,
//! and each is overtaken by a bounded number of later ones; who finds the line too long is sent away at once. Knows
//! complexities, not what is executed.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::oneshot;

use super::graphql_service::COMPLEXITY_MAX;

/// How many requests execute at once.
pub const EXECUTING_MAX: usize = 128;

/// How many requests wait for that.
pub const WAITING_MAX: usize = 512;

/// When a request that was sent away may come again.
pub const RETRY_AFTER: Duration = Duration::from_secs(1);

/// How many requests are taken.
#[derive(Debug, Clone, Copy)]
pub struct AdmissionLimits {
    pub executing_max: usize,
    /// The cheapest requests may fill the line; the most complex ones are sent away when half of it is taken.
    pub waiting_max: usize,
    /// The complexity of the most complex request.
    pub complexity_max: usize,
}

impl Default for AdmissionLimits {
    fn default() -> Self {
        Self { executing_max: EXECUTING_MAX, waiting_max: WAITING_MAX, complexity_max: COMPLEXITY_MAX }
    }
}

/// There are too many requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("The server has as many requests as it takes: try again later.")]
pub struct Overloaded;

/// How many requests there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    pub executing: usize,
    pub waiting: usize,
}

/// The line before execution. Clones are handles to the same line.
#[derive(Clone)]
pub struct Admission {
    limits: AdmissionLimits,
    line: Arc<Mutex<Line>>,
}

#[derive(Default)]
struct Line {
    executing: usize,
    /// Requests that had to wait, so far.
    arrivals: u64,
    waiting: BTreeMap<Place, oneshot::Sender<Admitted>>,
}

/// The lowest place is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// No arrival from this number on goes before this one.
    rank: u64,
    arrival: u64,
}

impl Admission {
    pub fn new(limits: AdmissionLimits) -> Self {
        Self { limits, line: Arc::default() }
    }

    /// Waits until a request of this complexity may execute, which it may for as long as it keeps what it gets.
    ///
    /// # Errors
    /// [`Overloaded`], at once, when too many wait.
    pub async fn admit(&self, complexity: usize) -> Result<Admitted, Overloaded> {
        self.join(complexity, self.limits.room_for(complexity)).await
    }

    /// As [`admit`](Self::admit), for an event of a subscription: it may always wait, since it cannot be sent away. How many
    /// wait is bounded by whoever calls this.
    pub async fn admit_event(&self, complexity: usize) -> Option<Admitted> {
        self.join(complexity, usize::MAX).await.ok()
    }

    async fn join(&self, complexity: usize, waiting_max: usize) -> Result<Admitted, Overloaded> {
        let (place, called) = {
            let mut line = self.lock();
            if let Some(admitted) = self.enter(&mut line) {
                return Ok(admitted);
            }
            if line.waiting.len() >= waiting_max {
                return Err(Overloaded);
            }
            line.arrivals += 1;
            let arrival = line.arrivals;
            let place = Place { rank: arrival + self.limits.overtaken_max(complexity), arrival };
            let (call, called) = oneshot::channel();
            line.waiting.insert(place, call);
            (place, called)
        };
        let _waiting = Waiting { admission: self, place };
        // A line that is gone calls nobody.
        called.await.map_err(|_| Overloaded)
    }

    /// The right to execute for what does not wait; `None` where it would have to.
    pub fn admit_at_once(&self) -> Option<Admitted> {
        self.enter(&mut self.lock())
    }

    fn enter(&self, line: &mut Line) -> Option<Admitted> {
        if line.executing >= self.limits.executing_max {
            return None;
        }
        line.executing += 1;
        Some(Admitted { admission: self.clone() })
    }

    /// How many requests there are now.
    pub fn load(&self) -> Load {
        let line = self.lock();
        Load { executing: line.executing, waiting: line.waiting.len() }
    }

    /// Gives the place of one that has executed to the next that waits.
    fn leave(&self) {
        let next = {
            let mut line = self.lock();
            let next = line.waiting.pop_first();
            if next.is_none() {
                line.executing -= 1;
            }
            next
        };
        if let Some((_, call)) = next {
            // One that has gone away gives the place back by dropping it.
            drop(call.send(Admitted { admission: self.clone() }));
        }
    }

    /// Nothing that holds the lock panics, and the line is whole after every step.
    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AdmissionLimits {
    /// How long the line may be for a request to join it.
    fn room_for(&self, complexity: usize) -> usize {
        self.waiting_max - self.scaled(complexity, self.waiting_max / 2)
    }

    /// Fewer later requests than these overtake one of this complexity: half the line for the most complex ones.
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
pub struct Admitted {
    admission: Admission,
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.admission.leave();
    }
}

impl fmt::Debug for Admitted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Admitted").finish_non_exhaustive()
    }
}

/// A place in the line, left when the request goes away.
struct Waiting<'a> {
    admission: &'a Admission,
    place: Place,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.admission.lock().waiting.remove(&self.place);
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Admission").field("limits", &self.limits).field("load", &self.load()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::{future::Future, pin::Pin};

    use futures::{FutureExt, poll};

    use super::*;

    type Asking = Pin<Box<dyn Future<Output = Result<Admitted, Overloaded>>>>;

    fn admission(executing_max: usize, waiting_max: usize) -> Admission {
        Admission::new(AdmissionLimits { executing_max, waiting_max, complexity_max: COMPLEXITY_MAX })
    }

    /// Somebody who asks and has to wait.
    fn waiting(admission: &Admission, complexity: usize) -> Asking {
        let admission = admission.clone();
        let mut asking: Asking = Box::pin(async move { admission.admit(complexity).await });
        assert!(asking.as_mut().now_or_never().is_none(), "it does not wait");
        asking
    }

    fn admitted(admission: &Admission) -> Admitted {
        admission.admit(0).now_or_never().expect("at once").expect("admitted")
    }

    /// The position of the one who was called, and its right.
    async fn called(line: &mut [Asking]) -> (usize, Admitted) {
        for (position, asking) in line.iter_mut().enumerate() {
            if let std::task::Poll::Ready(answer) = poll!(asking) {
                return (position, answer.expect("admitted"));
            }
        }
        panic!("nobody was called");
    }

    #[tokio::test]
    async fn as_many_execute_as_may_and_the_next_waits_for_the_first_to_end() {
        let admission = admission(2, 10);
        let (first, second) = (admitted(&admission), admitted(&admission));
        let third = waiting(&admission, 0);
        assert_eq!(admission.load(), Load { executing: 2, waiting: 1 });
        drop(first);
        let third = third.await.unwrap();
        assert_eq!(admission.load(), Load { executing: 2, waiting: 0 });
        drop((second, third));
        assert_eq!(admission.load(), Load { executing: 0, waiting: 0 });
    }

    #[tokio::test]
    async fn whoever_finds_the_line_full_is_sent_away_at_once() {
        let admission = admission(1, 2);
        let _executing = admitted(&admission);
        let _line = [waiting(&admission, 0), waiting(&admission, 0)];
        assert_eq!(admission.admit(0).now_or_never().map(Result::err), Some(Some(Overloaded)));
    }

    #[tokio::test]
    async fn expensive_requests_leave_half_of_the_line_to_cheap_ones() {
        let admission = admission(1, 10);
        let _executing = admitted(&admission);
        let _line: Vec<_> = (0..5).map(|_| waiting(&admission, COMPLEXITY_MAX)).collect();
        assert!(admission.admit(COMPLEXITY_MAX).now_or_never().is_some_and(|answer| answer.is_err()));
        assert!(admission.admit(usize::MAX).now_or_never().is_some_and(|answer| answer.is_err()));
        let _cheap: Vec<_> = (0..5).map(|_| waiting(&admission, 0)).collect();
    }

    #[tokio::test]
    async fn a_cheap_request_goes_before_an_expensive_one_that_came_first() {
        let admission = admission(1, 10);
        let executing = admitted(&admission);
        let mut order = vec![0, 1, 2];
        let mut line =
            vec![waiting(&admission, COMPLEXITY_MAX), waiting(&admission, 1), waiting(&admission, 1)];
        drop(executing);
        for expected in [1, 2, 0] {
            let (position, executing) = called(&mut line).await;
            assert_eq!(order.remove(position), expected);
            drop((line.remove(position), executing));
        }
    }

    #[tokio::test]
    async fn an_expensive_request_is_overtaken_by_less_than_half_a_line() {
        let admission = admission(1, 10);
        let mut executing = admitted(&admission);
        let mut expensive = waiting(&admission, COMPLEXITY_MAX);
        let mut overtaken = 0;
        loop {
            let cheap = waiting(&admission, 0);
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
    async fn whoever_goes_away_leaves_the_line_and_gives_back_what_it_was_given() {
        let admission = admission(1, 10);
        let executing = admitted(&admission);
        let (gone, called, last) = (waiting(&admission, 0), waiting(&admission, 0), waiting(&admission, 0));
        drop(gone);
        assert_eq!(admission.load(), Load { executing: 1, waiting: 2 });
        drop(executing);
        // It was called, and goes away without looking.
        drop(called);
        assert!(last.now_or_never().is_some_and(|answer| answer.is_ok()));
        assert_eq!(admission.load(), Load { executing: 0, waiting: 0 });
    }
}
