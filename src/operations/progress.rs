//! Progress subscription: the progress of a mutation as clients of the operations API see it.

use async_graphql::{Context, ID, Result, SimpleObject, Subscription};
use futures::Stream;
use futures::stream::unfold;

use super::context::context;
use super::scalars::Count;
use crate::app::work::Progress;

/// Progress of work under way.
pub struct OperationsSubscription;

/// Progress of work under way.
#[Subscription(name = "Subscription")]
impl OperationsSubscription {
    /// The progress of a mutation, until it is answered. A slow subscriber misses events.
    async fn progress(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The argument `work` of the mutation, which may come before or after this.")]
        work: ID,
    ) -> Result<impl Stream<Item = WorkProgress> + use<>> {
        let followed = context(ctx).progress.follow(work)?;
        Ok(unfold(followed, async |mut followed| {
            let progress = followed.receiver.recv().await?;
            Some((progress.into(), followed))
        }))
    }
}

/// The progress of a mutation.
#[derive(SimpleObject)]
pub struct WorkProgress {
    /// The current step, in words.
    step: String,
    /// The completed part of the step.
    done: Count,
    /// Of how much; null where that is not known.
    total: Option<Count>,
}

impl From<Progress> for WorkProgress {
    fn from(Progress { step, done, total }: Progress) -> Self {
        Self { step, done: Count(done), total: total.map(Count) }
    }
}
