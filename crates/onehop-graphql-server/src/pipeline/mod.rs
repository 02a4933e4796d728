//! The request pipeline: `GET` and `POST /graphql` as the GraphQL over HTTP specification (draft of 2025) has it. A request passes
//! these stages in this order, one file each.
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

use std::sync::Arc;

use axum::body::Body;
use axum::http::{Method, Request as HttpRequest, Response};
use axum::response::IntoResponse as _;

use self::admit::ExecutionPermit;
use self::context::RequestContext;
use self::rate_limit::RequestQuota;
use crate::endpoint::GraphqlEndpoint;
use crate::media_type::{Accept, ResponseType};
use crate::refusal::Refusal;
use crate::response::ExecutedResponse;

impl GraphqlEndpoint {
    /// Answers one HTTP request for a single response, in the media type that its `Accept` header asks for.
    pub async fn handle(&self, request: HttpRequest<Body>) -> Response<Body> {
        let accepted = Accept::of(request.headers()).response_type();
        self.respond(request, accepted).await
    }

    /// As [`handle`](Self::handle), in this media type; `None` where the client accepts none.
    pub(crate) async fn respond(
        &self,
        request: HttpRequest<Body>,
        accepted: Option<ResponseType>,
    ) -> Response<Body> {
        let quota = Arc::new(self.request_quota(request.headers(), request.extensions()));
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let accepted = accepted.map(|media_type| self.representation(media_type, request.headers()));
        let mut response = match accepted {
            Some(representation) if is_read => self.handle_read(request, representation, &quota).await,
            Some(representation) => {
                let executed = self.in_time(self.handle_write(request, &quota)).await;
                self.render(executed, representation).await
            }
            None => Refusal::NotAcceptable.into_response(),
        };
        quota.write_headers(response.headers_mut());
        response
    }

    async fn handle_write(
        &self,
        request: HttpRequest<Body>,
        quota: &Arc<RequestQuota>,
    ) -> Result<ExecutedResponse, Refusal> {
        let context = self.check_single(self.receive(request, quota).await?)?;
        self.answer(context).await
    }

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
        context.open_quota()?;
        self.read_your_writes().await_position(&mut context).await?;
        let permit = self.admit(&mut context).await?;
        Ok(self.execute(context, permit).await)
    }

    /// Admits a request: waits until it may execute, and reserves memory for its response.
    ///
    /// # Errors
    /// Too many requests wait, or there is no memory for another response.
    pub(crate) async fn admit(&self, context: &mut RequestContext) -> Result<ExecutionPermit, Refusal> {
        let permit = self.concurrency_limit().admit(context.complexity).await?;
        context.budget = Arc::new(self.responses().begin()?);
        Ok(permit)
    }
}
