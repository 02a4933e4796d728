//! The GraphQL endpoint: `GET` and `POST /graphql` as the GraphQL over HTTP specification (draft of 2025) has it.
//!
//! It owns what the stages of the [`pipeline`](crate::pipeline) work with: limits, caches, quotas and the service that executes.

use std::sync::Arc;
use std::time::Duration;

use async_graphql::{ServerError, Variables};
use axum::body::Body;
use axum::http::header::AUTHORIZATION;
use axum::http::{Extensions, HeaderMap, HeaderValue, Method, Request as HttpRequest, Response};
use onehop_runtime::clock::{Clock, SystemClock};
use onehop_runtime::sealed::Sealer;

use crate::client_address::ClientAddress;
use crate::document::{Document, Documents};
use crate::document_limits::DocumentLimits;
use crate::etag::EntityTags;
use crate::media_type::{Accept, ResponseType};
use crate::observer::{HttpObserver, ObserverHandle};
use crate::pipeline::admit::{ConcurrencyLimit, ConcurrencyLimits};
use crate::pipeline::await_position::{PositionLimits, PositionWaits};
use crate::pipeline::parse::BodyLimits;
use crate::pipeline::rate_limit::{RateLimiter, RateLimits, RequestQuota};
use crate::pipeline::render::COMPRESS_BYTES_MIN;
use crate::pipeline::resolve::{PersistedDocuments, TrustError, TrustedDocuments};
use crate::response::{ExecutedResponse, Refusal};
use crate::response_budget::{ResponseLimits, ResponseMemory};
use crate::schema_index::SchemaIndex;
use crate::service::GraphqlService;
use crate::session_positions::SessionPositions;
use crate::variable_coercion::SdlError;

/// How long a request may take from its head to its answer.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// What one request may take.
#[derive(Debug, Clone, Copy)]
pub struct RequestLimits {
    pub body: BodyLimits,
    pub documents: DocumentLimits,
    pub admission: ConcurrencyLimits,
    pub callers: RateLimits,
    pub positions: PositionLimits,
    pub timeout: Duration,
    /// From how many bytes on the answers of queries are compressed; 0 for none.
    pub compress_bytes_min: usize,
    pub responses: ResponseLimits,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            body: BodyLimits::default(),
            documents: DocumentLimits::default(),
            admission: ConcurrencyLimits::default(),
            callers: RateLimits::default(),
            positions: PositionLimits::default(),
            timeout: REQUEST_TIMEOUT,
            compress_bytes_min: COMPRESS_BYTES_MIN,
            responses: ResponseLimits::default(),
        }
    }
}

/// The GraphQL endpoint.
pub struct GraphqlEndpoint {
    service: Arc<dyn GraphqlService>,
    documents: Documents,
    persisted: PersistedDocuments,
    schema: SchemaIndex,
    limits: RequestLimits,
    concurrency_limit: ConcurrencyLimit,
    limiter: Arc<RateLimiter>,
    responses: ResponseMemory,
    allowed_origins: Vec<HeaderValue>,
    /// Makes and reads entity tags.
    tags: EntityTags,
    position_waits: Arc<PositionWaits>,
    session_positions: SessionPositions,
    observer: ObserverHandle,
}

impl GraphqlEndpoint {
    /// An endpoint for the schema of this SDL, executed by the service.
    pub fn new(service: Arc<dyn GraphqlService>, sdl: &str, limits: RequestLimits) -> Result<Self, SdlError> {
        Ok(Self {
            service,
            documents: Documents::new(limits.documents),
            persisted: PersistedDocuments::new(),
            schema: SchemaIndex::from_sdl(sdl)?,
            limits,
            concurrency_limit: ConcurrencyLimit::new(limits.admission),
            limiter: Arc::new(RateLimiter::new(limits.callers, Arc::new(SystemClock))),
            responses: ResponseMemory::new(limits.responses),
            allowed_origins: Vec::new(),
            tags: EntityTags::new(Sealer::random().expect("the system gives random bytes")),
            position_waits: Arc::default(),
            session_positions: SessionPositions::new(limits.positions.sessions_max, Arc::new(SystemClock)),
            observer: ObserverHandle::default(),
        })
    }

    /// The same, with origins whose pages may send what other sites may not.
    #[must_use]
    pub fn with_allowed_origins(self, allowed_origins: Vec<HeaderValue>) -> Self {
        Self { allowed_origins, ..self }
    }

    /// The same, whose entity tags this seals.
    #[must_use]
    pub fn with_sealer(self, sealer: Sealer) -> Self {
        Self { tags: EntityTags::new(sealer), ..self }
    }

    /// The same, with budgets that fill by this clock.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        let limiter = Arc::new(RateLimiter::new(self.limits.callers, Arc::clone(&clock)));
        let session_positions = SessionPositions::new(self.limits.positions.sessions_max, clock);
        Self { limiter, session_positions, ..self }
    }

    /// The same, whose errors conceal names and types that a client did not write, unless it may know the schema.
    #[must_use]
    pub fn with_schema_told(self, is_told: bool) -> Self {
        Self { schema: self.schema.concealing_schema(!is_told), ..self }
    }

    /// The same, whose executions are observed.
    #[must_use]
    pub fn with_observer(self, observer: Option<Arc<dyn HttpObserver>>) -> Self {
        Self { observer: ObserverHandle(observer), ..self }
    }

    /// The same, with documents that are known by their hashes from the start; nothing else runs if those are the only ones.
    ///
    /// # Errors
    /// A document that does not parse, is beyond a limit, or does not fit the schema.
    pub fn with_trusted(self, trusted: &TrustedDocuments, trusted_only: bool) -> Result<Self, TrustError> {
        let check = |document: &Document| self.check_trusted(document).map_err(|error| error_text(&error));
        let persisted = PersistedDocuments::new().trusting(trusted, trusted_only, &self.documents, check)?;
        Ok(Self { persisted, ..self })
    }

    /// Without variables a page has its default size.
    fn check_trusted(&self, document: &Document) -> Result<(), ServerError> {
        for (_, operation) in document.definitions.operations.iter() {
            self.service.complexity(document, &operation.node, &Variables::default())?;
        }
        self.service.validate(document)
    }

    /// The concurrency limit.
    pub fn concurrency_limit(&self) -> &ConcurrencyLimit {
        &self.concurrency_limit
    }

    /// How many requests execute at once.
    pub(crate) fn executing_max(&self) -> usize {
        self.limits.admission.executing_max
    }

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
        let mut response = match accepted.map(|media_type| self.form(media_type, request.headers())) {
            Some(form) if is_read => self.handle_read(request, form, &quota).await,
            Some(form) => self.render(self.in_time(self.handle_write(request, &quota)).await, form).await,
            None => Refusal::NotAcceptable.into_response(ResponseType::Json),
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

    /// The quota of a request with these headers.
    pub fn request_quota(&self, headers: &HeaderMap, extensions: &Extensions) -> RequestQuota {
        let client = ClientAddress::of(self.limiter.proxies(), headers, extensions);
        self.quota_of(client, !headers.contains_key(AUTHORIZATION))
    }

    /// The quota of what comes from a client that is known.
    pub(crate) fn quota_of(&self, client: ClientAddress, is_anonymous: bool) -> RequestQuota {
        RequestQuota::new(&self.limiter, client, is_anonymous)
    }

    /// Request timeout: gives something the time that a request may take.
    ///
    /// # Errors
    /// It takes longer.
    pub async fn in_time<T>(&self, answer: impl Future<Output = Result<T, Refusal>>) -> Result<T, Refusal> {
        let answer = tokio::time::timeout(self.limits.timeout, answer).await;
        answer.unwrap_or(Err(Refusal::TimedOut(self.limits.timeout)))
    }

    /// What is known of the schema.
    pub(crate) fn schema(&self) -> &SchemaIndex {
        &self.schema
    }

    /// The documents that were parsed lately.
    pub(crate) fn documents(&self) -> &Documents {
        &self.documents
    }

    /// The documents that are known by their hashes.
    pub(crate) fn persisted(&self) -> &PersistedDocuments {
        &self.persisted
    }

    /// Who observes executions.
    pub(crate) fn observer(&self) -> &ObserverHandle {
        &self.observer
    }

    /// What makes and reads entity tags.
    pub(crate) fn tags(&self) -> &EntityTags {
        &self.tags
    }

    /// The queries that wait for a position.
    pub(crate) fn position_waits(&self) -> &Arc<PositionWaits> {
        &self.position_waits
    }

    /// The last writes of users.
    pub(crate) fn session_positions(&self) -> &SessionPositions {
        &self.session_positions
    }

    /// How long queries wait for a position.
    pub(crate) fn position_limits(&self) -> PositionLimits {
        self.limits.positions
    }

    /// The memory of all responses.
    pub fn responses(&self) -> &ResponseMemory {
        &self.responses
    }

    /// Who executes.
    pub(crate) fn service(&self) -> &Arc<dyn GraphqlService> {
        &self.service
    }

    /// What bodies may be, and what messages may that stand for one.
    pub(crate) fn body_limits(&self) -> &BodyLimits {
        &self.limits.body
    }

    /// From how many bytes on the answers of queries are compressed; 0 for none.
    pub(crate) fn compress_bytes_min(&self) -> usize {
        self.limits.compress_bytes_min
    }

    /// Whose pages may send what other sites may not.
    pub(crate) fn allowed_origins(&self) -> &[HeaderValue] {
        &self.allowed_origins
    }
}

/// What is wrong with a document, and where.
fn error_text(error: &ServerError) -> String {
    match error.locations.first() {
        Some(place) => format!("{} (line {}, column {})", error.message, place.line, place.column),
        None => error.message.clone(),
    }
}
