//! Handler: an asynchronous function with effects outside of the store, such as a webhook, a mail or a
//! message to another system, with the leases, the order, the checkpoints and the dead letters of a
//! projection.
//!
//! A checkpoint follows the success of all changes of a page, so a change is handled at least once: a process
//! that dies handles the changes after its last checkpoint again.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio_util::sync::CancellationToken;

use super::effect::HandlerError;
use super::projection::{Projection, ProjectionError, Step, StepInput};
use onehop_store::{Change, ContainerName};

/// The time that one call may take, unless a handler says otherwise.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Handles each change of a container by effects outside of the store, at least once.
///
/// Changes of one logical partition are handled in order, one after the other; changes of different logical
/// partitions are handled at the same time. Effects have to bear repetition: the id and the version of an
/// item make a good idempotency key.
#[async_trait]
pub trait Handler: Send + Sync + 'static {
    /// The name under which leases and dead letters are kept; it never changes. It differs from the names of
    /// projections.
    fn name(&self) -> &'static str;

    /// The container whose change feed it follows.
    fn source(&self) -> ContainerName;

    /// The types of items it wants to see; `None` for all.
    fn types(&self) -> Option<&[&'static str]> {
        None
    }

    /// Whether it handles the changes written before it was added, too; see
    /// [`Projection::needs_history`].
    fn needs_history(&self) -> bool {
        false
    }

    /// Logical partitions whose changes are handled at the same time, by all readers of this process
    /// together, where that is less than the processor's own limit.
    fn concurrent_partitions_max(&self) -> usize {
        usize::MAX
    }

    /// The time that one call may take. A longer one is dropped, and tried again.
    fn timeout(&self) -> Duration {
        TIMEOUT
    }

    /// Handles a change. A call is dropped at its timeout, and where the process ends; it is not dropped for
    /// an orderly stop, which waits for it.
    ///
    /// # Errors
    /// See [`HandlerError`].
    async fn handle(&self, change: &Change, call: HandlerCall<'_>) -> Result<(), HandlerError>;
}

/// A call of a handler, beside the change.
#[derive(Debug, Clone, Copy)]
pub struct HandlerCall<'a> {
    /// Whether the change may have been handled before, as far as this process knows: an earlier call failed,
    /// or the change is a replayed dead letter. The feed may repeat any other change, too, but seldom does.
    pub may_be_repeated: bool,
    /// Cancelled when the process stops: a call that would take long returns [`HandlerError::retry`].
    pub stop: &'a CancellationToken,
}

/// A handler among the projections of a processor. A rebuild refuses it: effects are not repeated by
/// accident.
#[must_use]
pub fn handler(handler: impl Handler) -> Arc<dyn Projection> {
    Arc::new(HandlerProjection(Arc::new(handler)))
}

struct HandlerProjection<H>(Arc<H>);

impl<H: Handler> Projection for HandlerProjection<H> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn source(&self) -> ContainerName {
        self.0.source()
    }

    fn types(&self) -> Option<&[&'static str]> {
        self.0.types()
    }

    fn needs_history(&self) -> bool {
        self.0.needs_history()
    }

    fn concurrent_partitions_max(&self) -> usize {
        self.0.concurrent_partitions_max()
    }

    fn has_effects(&self) -> bool {
        true
    }

    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        let (handler, change) = (Arc::clone(&self.0), change.clone());
        let may_be_repeated = input.may_be_projected;
        Ok(Step::done().with_effect(move |stop| {
            Box::pin(async move {
                let call = HandlerCall { may_be_repeated, stop: &stop };
                let timeout = handler.timeout();
                match tokio::time::timeout(timeout, handler.handle(&change, call)).await {
                    Ok(outcome) => outcome,
                    Err(_) => Err(HandlerError::retry(format!("no end after {timeout:?}"))),
                }
            })
        }))
    }
}
