//! The request pipeline: `GET` and `POST /graphql` as the GraphQL over HTTP specification (draft of 2025) has
//! it. A request passes these stages in this order, one file each.
//!
//! 1. [`receive`] stage: method, media types, CSRF protection.
//! 2. [`authenticate`] stage: the caller who bears the access token.
//! 3. [`rate_limit`] stage: the caller's quota in request units.
//! 4. [`read_body`] stage: bounded body, body memory, minimum rate.
//! 5. [`decode`] stage: the body without its content coding.
//! 6. [`parse`] stage: parameters from JSON or a query string.
//! 7. [`resolve`] stage: the document by its text, or a persisted document by its hash.
//! 8. [`check`] stage: document limits, variables, query complexity.
//! 9. [`validate`] stage: whether the document fits the schema.
//! 10. [`await_position`] stage: read-your-writes.
//! 11. [`admit`] stage: concurrency limit, queue, load shedding.
//! 12. [`execute`] stage: the service runs the operation.
//! 13. [`render`] stage: status, media type, compression.
//!
//! The work of the stages 5 to 9 is charged and queued by [`prepare`].
//!
//! All stages share one [`RequestContext`](context::RequestContext). The earliest stage that can know it
//! refuses a request. Nothing reads a body, decodes, parses or reads the store before the caller is known and
//! within its quota. A subscription passes the same stages; each of its events is rate limited and admitted
//! like a request.

pub mod admit;
pub mod authenticate;
pub mod await_position;
pub mod check;
pub mod context;
pub mod decode;
pub mod execute;
pub mod parse;
pub mod prepare;
pub mod rate_limit;
pub mod read_body;
pub mod receive;
pub mod render;
pub mod resolve;
pub mod validate;

use std::sync::Arc;

use async_graphql::parser::types::OperationType;
use axum::body::Body;
use axum::http::{Method, Request as HttpRequest, Response};
use axum::response::IntoResponse as _;

use self::admit::ExecutionPermit;
use self::context::{CallerRequest, RequestContext};
use self::parse::RequestParameters;
use self::prepare::{Preparation, PreparationWork};
use self::rate_limit::RequestQuota;
use self::receive::ReceivedHead;
use crate::caller::Caller;
use crate::endpoint::GraphqlEndpoint;
use crate::media_type::{Accept, ResponseType};
use crate::quota::QuotaAccount as _;
use crate::refusal::Refusal;
use crate::response::ExecutedResponse;

impl GraphqlEndpoint {
    /// Answers one HTTP request for a single response, in the media type that its `Accept` header asks for.
    pub async fn handle(&self, request: HttpRequest<Body>) -> Response<Body> {
        let accepted = Accept::of(request.headers()).response_type();
        self.respond(request, accepted).await
    }

    /// As [`handle`](Self::handle), in this media type; `None` where the client accepts no media type of the
    /// server.
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
        let context = self.prepare_single(request, quota).await?;
        self.answer(context).await
    }

    /// The stages up to validation, for a request with a single answer: no subscription.
    pub(crate) async fn prepare_single(
        &self,
        request: HttpRequest<Body>,
        quota: &Arc<RequestQuota>,
    ) -> Result<RequestContext, Refusal> {
        let context = self.prepare(request, quota).await?;
        if context.kind() == OperationType::Subscription { Err(Refusal::Subscription) } else { Ok(context) }
    }

    /// The stages up to validation.
    ///
    /// # Errors
    /// A request may not be sent like this, its caller is not known or has no quota left, or it cannot be
    /// executed.
    pub(crate) async fn prepare(
        &self,
        request: HttpRequest<Body>,
        quota: &Arc<RequestQuota>,
    ) -> Result<RequestContext, Refusal> {
        let (head, body) = request.into_parts();
        let ReceivedHead { uri, headers, is_read_only, coding, bearer } = self.receive(head)?;
        let room = self.bodies().room(quota.client().network);
        let mut request = CallerRequest { headers, is_read_only, bearer, ..CallerRequest::new(quota, room) };
        self.authenticate(&mut request).await?;
        request.open_quota()?;
        let mut preparation = self.preparations().begin(quota);
        let parameters = match is_read_only {
            true => {
                preparation.work(PreparationWork::decoding(uri.query().map_or(0, str::len))).await?;
                self.body_limits().parse_uri(&uri)?
            }
            false => {
                let body = self.body_limits().read(body, &mut request.body).await?;
                let body =
                    self.body_limits().decode(body, coding, &mut request.body, &mut preparation).await?;
                self.body_limits().parse(&body)?
            }
        };
        let parameters = parameters.at_position_of(&request.headers)?;
        self.check_and_validate(request, parameters, &mut preparation).await
    }

    /// The stages from the rate limit to validation, for an operation on a connection that stays open: a
    /// request in JSON.
    ///
    /// # Errors
    /// The caller has no quota left, or the request cannot be executed.
    pub(crate) async fn prepare_operation(
        &self,
        json: String,
        caller: Option<Arc<Caller>>,
        quota: &Arc<RequestQuota>,
    ) -> Result<RequestContext, Refusal> {
        let mut room = self.bodies().room(quota.client().network);
        room.hold(json.len()).map_err(Refusal::BodiesFull)?;
        let request = CallerRequest { caller, ..CallerRequest::new(quota, room) };
        request.open_quota()?;
        let mut preparation = self.preparations().begin(quota);
        preparation.work(PreparationWork::decoding(json.len())).await?;
        let parameters = self.body_limits().parse(json.as_bytes())?;
        drop(json);
        self.check_and_validate(request, parameters, &mut preparation).await
    }

    /// The stages from resolving the document to validation.
    ///
    /// # Errors
    /// The request cannot be executed.
    pub(crate) async fn check_and_validate(
        &self,
        request: CallerRequest,
        parameters: RequestParameters,
        preparation: &mut Preparation<'_>,
    ) -> Result<RequestContext, Refusal> {
        let (mut context, registers) = self.check(request, parameters, preparation).await?;
        self.validate(&mut context, preparation).await?;
        if let Some(hash) = registers {
            self.persisted().register(hash, &context.request.query);
        }
        Ok(context)
    }

    /// The stages after validation, for a query or a mutation.
    pub(crate) async fn answer(&self, mut context: RequestContext) -> Result<ExecutedResponse, Refusal> {
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

impl CallerRequest {
    /// Rate limit: opens the quota of the caller.
    ///
    /// # Errors
    /// The quota is spent, with the time when it is not any more.
    pub(crate) fn open_quota(&self) -> Result<(), Refusal> {
        Ok(self.quota.open(self.caller.as_deref())?)
    }
}
