//! Requests: the await points around the effect of an operation, and the faults that the caller sees.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use onehop_store::{ContainerName, Fault, FaultKind};

use super::account::ReadAnswer;
use super::client::AccountClient;
use super::faults::{AccountRequest, FaultPoint, InjectedFault, Outcome, TimedOutWrite};
use super::read_view::{Freshness, ReadView};

impl AccountClient {
    /// The outcome of a request that is about to be sent.
    pub(super) fn outcome_of(
        &self,
        request: AccountRequest,
        container: ContainerName,
        partition_key: Option<&str>,
    ) -> Outcome {
        let (process, consistency) = (self.process.number, self.consistency);
        self.account.outcome(&FaultPoint { process, request, container, partition_key, consistency })
    }

    /// One read of a container, by its place.
    ///
    /// # Errors
    /// An injected fault.
    pub(super) async fn reading<T>(
        &self,
        request: AccountRequest,
        container: usize,
        partition_key: Option<&str>,
        read: impl FnOnce(&ReadView<'_>) -> ReadAnswer<T> + Send,
    ) -> Result<T, Fault>
    where
        T: Send,
    {
        let name = self.account.specs[container].name;
        let outcome = self.outcome_of(request, name, partition_key);
        pause(outcome.before).await;
        if let Some(fault) = outcome.fault.filter(|fault| fault.concerns(request)) {
            pause(outcome.after).await;
            return Err(fault_of_read(fault));
        }
        let answer = {
            let tokens = self.process.tokens();
            let (consistency, is_lagging) = (self.consistency, outcome.is_lagging);
            self.account.read(container, Freshness { consistency, tokens: &tokens, is_lagging }, read)
        };
        pause(outcome.after).await;
        self.process.saw(name, &answer.commits);
        Ok(answer.value)
    }
}

/// An await point of its own, and then this much time.
pub(super) async fn pause(duration: Duration) {
    YieldOnce { is_over: false }.await;
    if duration > Duration::ZERO {
        tokio::time::sleep(duration).await;
    }
}

/// A future that is pending once.
struct YieldOnce {
    is_over: bool,
}

impl Future for YieldOnce {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.is_over {
            return Poll::Ready(());
        }
        self.is_over = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// The fault of a read.
fn fault_of_read(injected: InjectedFault) -> Fault {
    match injected {
        InjectedFault::Throttled { .. } | InjectedFault::Gone => refusal_of_service(injected),
        _ => silence(),
    }
}

/// The course of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteCourse {
    /// It happens, and its answer arrives.
    Answered,
    /// It happens, is sent again, and the second answer arrives.
    SentAgain,
    /// It happens, and its answer is lost.
    Lost,
    /// It happens after this long, and its answer is lost.
    LostAndLate(Duration),
    /// It does not happen.
    NotDone,
}

pub(super) fn course_of(injected: Option<InjectedFault>) -> WriteCourse {
    match injected {
        None => WriteCourse::Answered,
        Some(InjectedFault::SentAgain) => WriteCourse::SentAgain,
        Some(InjectedFault::LostAnswer | InjectedFault::TimedOut(TimedOutWrite::Done)) => WriteCourse::Lost,
        Some(InjectedFault::TimedOut(TimedOutWrite::DoneLater(delay))) => WriteCourse::LostAndLate(delay),
        Some(_) => WriteCourse::NotDone,
    }
}

/// The fault of a write that was not answered, or was refused by the service.
pub(super) fn fault_of_write(injected: InjectedFault) -> Fault {
    match injected {
        InjectedFault::PartitionFull => {
            Fault::new(FaultKind::PartitionFull, "a logical partition holds as much as it can")
        }
        InjectedFault::Throttled { .. }
        | InjectedFault::RetryWith
        | InjectedFault::Gone
        | InjectedFault::NotConnected => refusal_of_service(injected),
        InjectedFault::TimedOut(_)
        | InjectedFault::Unavailable
        | InjectedFault::LostAnswer
        | InjectedFault::SentAgain => {
            Fault::new(FaultKind::Ambiguous, "it is not known whether the write happened")
        }
    }
}

/// The fault of a request that had no effect for certain.
fn refusal_of_service(injected: InjectedFault) -> Fault {
    match injected {
        InjectedFault::Throttled { retry_after } => {
            let fault = Fault::new(FaultKind::Throttled, "the account has no request units left for now");
            match retry_after {
                Some(delay) => fault.with_retry_after(delay),
                None => fault,
            }
        }
        InjectedFault::Gone => Fault::new(FaultKind::Unavailable, "the physical partition is moving"),
        InjectedFault::RetryWith => {
            Fault::new(FaultKind::Unavailable, "another write to the same item is under way (449)")
        }
        _ => silence(),
    }
}

fn silence() -> Fault {
    Fault::new(FaultKind::Unavailable, "the service did not answer")
}
