//! The request pipeline: the stages that a GraphQL request passes, in this order, one file each.
//!
//! 1. [`receive`] stage: bounded body, media types, CSRF protection.
//! 2. [`parse`] stage: parameters from JSON or a query string.
//! 3. [`resolve`] stage: the document by its text, or a persisted document by its hash.
//! 4. [`check`] stage: document limits, variables, query complexity.
//! 5. [`authenticate`] stage: the caller who bears the access token.
//! 6. [`rate_limit`] stage: the caller's quota in request units.
//! 7. [`await_position`] stage: read-your-writes.
//! 8. [`admit`] stage: concurrency limit, queue, load shedding.
//! 9. [`execute`] stage: the service runs the operation.
//! 10. [`render`] stage: status, media type, compression.
//!
//! All stages share one [`RequestContext`](context::RequestContext). The earliest stage that can know it refuses a request, and
//! nothing reads the store before the caller is known and within its quota. A subscription passes the same stages; each of its
//! events is rate limited and admitted like a request.

pub mod admit;
pub mod authenticate;
pub mod await_position;
pub mod check;
pub mod context;
pub mod execute;
pub mod parse;
pub mod rate_limit;
pub mod receive;
pub mod render;
pub mod resolve;

use self::context::RequestContext;
use crate::endpoint::GraphqlEndpoint;
use crate::response::{ExecutedResponse, Refusal};

impl GraphqlEndpoint {
    /// The stages from authentication on, for a query or a mutation.
    pub(crate) async fn answer(&self, mut context: RequestContext) -> Result<ExecutedResponse, Refusal> {
        self.authenticate(&mut context).await?;
        self.answer_authenticated(context).await
    }

    /// The stages from the rate limit on, for a query or a mutation of a known caller.
    pub(crate) async fn answer_authenticated(
        &self,
        mut context: RequestContext,
    ) -> Result<ExecutedResponse, Refusal> {
        self.rate_limit(&context)?;
        self.await_position(&mut context).await?;
        let permit = self.admit(&mut context).await?;
        Ok(self.execute(context, permit).await)
    }
}
