//! The GraphQL endpoint: the state that the stages of the [`pipeline`](crate::pipeline) share: limits,
//! caches, quotas, and the service that executes. It does not know the stages.

use std::sync::Arc;
use std::time::Duration;

use async_graphql::{ServerError, Variables};
use axum::http::header::AUTHORIZATION;
use axum::http::{Extensions, HeaderMap, HeaderValue};
use onehop_runtime::clock::{Clock, SystemClock};
use onehop_runtime::sealed::Sealer;

use crate::body_memory::{BODIES_IN_FLIGHT_BYTES_MAX, BodyMemory};
use crate::client_address::ClientAddress;
use crate::content_coding::COMPRESS_BYTES_MIN;
use crate::document::Document;
use crate::document_cache::Documents;
use crate::document_limits::DocumentLimits;
use crate::etag::EntityTags;
use crate::media_type::ResponseType;
use crate::observer::{HttpObserver, ObserverHandle};
use crate::pipeline::admit::{ConcurrencyLimit, ConcurrencyLimits};
use crate::pipeline::await_position::{PositionLimits, ReadYourWrites};
use crate::pipeline::parse::BodyLimits;
use crate::pipeline::prepare::{PreparationLimits, Preparations};
use crate::pipeline::rate_limit::{RateLimiter, RateLimits, RequestQuota};
use crate::pipeline::resolve::PersistedDocuments;
use crate::refusal::Refusal;
use crate::representation::Representation;
use crate::response_budget::ResponseMemory;
use crate::response_limits::ResponseLimits;
use crate::schema_index::SchemaIndex;
use crate::service::GraphqlService;
use crate::trusted_documents::{TrustError, TrustedDocuments};
use crate::variable_coercion::{ScalarCheck, SdlError};

/// Request timeout, from the head to the answer.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// The limits of one request.
#[derive(Debug, Clone, Copy)]
pub struct RequestLimits {
    pub body: BodyLimits,
    /// Bytes of all bodies that are being read or worked on; an eighth of them for one network.
    pub bodies_in_flight_bytes_max: usize,
    pub preparation: PreparationLimits,
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
            bodies_in_flight_bytes_max: BODIES_IN_FLIGHT_BYTES_MAX,
            preparation: PreparationLimits::default(),
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
    bodies: BodyMemory,
    preparations: Preparations,
    concurrency_limit: ConcurrencyLimit,
    limiter: Arc<RateLimiter>,
    responses: ResponseMemory,
    allowed_origins: Vec<HeaderValue>,
    /// Makes and reads entity tags.
    tags: EntityTags,
    read_your_writes: ReadYourWrites,
    observer: ObserverHandle,
}

impl GraphqlEndpoint {
    /// An endpoint for the schema of this SDL, executed by the service.
    ///
    /// # Errors
    /// The SDL does not parse.
    pub fn new(service: Arc<dyn GraphqlService>, sdl: &str, limits: RequestLimits) -> Result<Self, SdlError> {
        Ok(Self::with_schema(service, SchemaIndex::from_sdl(sdl)?, limits))
    }

    /// An endpoint for a schema that was read before, executed by the service.
    pub fn with_schema(service: Arc<dyn GraphqlService>, schema: SchemaIndex, limits: RequestLimits) -> Self {
        Self {
            documents: Documents::new(limits.documents),
            persisted: PersistedDocuments::new(),
            schema,
            limits,
            bodies: BodyMemory::new(limits.bodies_in_flight_bytes_max),
            preparations: Preparations::new(limits.preparation),
            concurrency_limit: ConcurrencyLimit::new(limits.admission),
            limiter: Arc::new(RateLimiter::new(limits.callers, Arc::new(SystemClock))),
            responses: ResponseMemory::new(limits.responses),
            allowed_origins: Vec::new(),
            tags: EntityTags::new(Sealer::random().expect("the system gives random bytes")),
            read_your_writes: ReadYourWrites::new(
                Arc::clone(&service),
                limits.positions,
                Arc::new(SystemClock),
            ),
            observer: ObserverHandle::default(),
            service,
        }
    }

    /// The same, with origins whose pages may send cross-site requests.
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
        let read_your_writes = ReadYourWrites::new(Arc::clone(&self.service), self.limits.positions, clock);
        Self { limiter, read_your_writes, ..self }
    }

    /// The same, whose errors conceal names and types that a client did not write, unless it may know the
    /// schema.
    #[must_use]
    pub fn with_schema_told(self, is_told: bool) -> Self {
        Self { schema: self.schema.concealing_schema(!is_told), ..self }
    }

    /// The same, where the values of variables of a scalar are checked: a value that its resolvers would
    /// refuse is an error with a path.
    #[must_use]
    pub fn with_scalar(self, name: &'static str, check: ScalarCheck) -> Self {
        Self { schema: self.schema.with_scalar(name, check), ..self }
    }

    /// The same, whose executions are observed.
    #[must_use]
    pub fn with_observer(self, observer: Option<Arc<dyn HttpObserver>>) -> Self {
        Self { observer: ObserverHandle(observer), ..self }
    }

    /// The same, with documents that are known by their hashes from the start; with `trusted_only`, nothing
    /// else runs.
    ///
    /// # Errors
    /// A document that does not parse, is beyond a limit, or does not fit the schema.
    pub fn with_trusted(self, trusted: &TrustedDocuments, trusted_only: bool) -> Result<Self, TrustError> {
        let check = |document: &Document| self.check_trusted(document);
        let persisted = PersistedDocuments::new().trusting(trusted, trusted_only, &self.documents, check)?;
        Ok(Self { persisted, ..self })
    }

    /// Without variables a page has its default size.
    fn check_trusted(&self, document: &Document) -> Result<(), ServerError> {
        for (_, operation) in document.definitions.operations.iter() {
            self.service.complexity(document, &operation.node, &Variables::default())?;
        }
        let validated = self.service.validate(document, None, &Variables::default());
        validated.map(drop).map_err(first_of)
    }

    /// The memory of all request bodies.
    pub(crate) fn bodies(&self) -> &BodyMemory {
        &self.bodies
    }

    /// The fair queue of preparation, and its charges.
    pub(crate) fn preparations(&self) -> &Preparations {
        &self.preparations
    }

    /// The concurrency limit.
    pub fn concurrency_limit(&self) -> &ConcurrencyLimit {
        &self.concurrency_limit
    }

    /// Concurrency limit of requests.
    pub(crate) fn executing_max(&self) -> usize {
        self.limits.admission.executing_max
    }

    /// The quota of a request with these headers.
    pub fn request_quota(&self, headers: &HeaderMap, extensions: &Extensions) -> RequestQuota {
        let client = self.limiter.client(headers, extensions);
        self.quota_of(client, !headers.contains_key(AUTHORIZATION))
    }

    /// The quota of the requests of a known client.
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

    /// The index of the schema.
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

    /// The observer of executions.
    pub(crate) fn observer(&self) -> &ObserverHandle {
        &self.observer
    }

    /// The entity tags.
    pub(crate) fn tags(&self) -> &EntityTags {
        &self.tags
    }

    /// Read-your-writes.
    pub(crate) fn read_your_writes(&self) -> &ReadYourWrites {
        &self.read_your_writes
    }

    /// The memory of all responses.
    pub fn responses(&self) -> &ResponseMemory {
        &self.responses
    }

    /// The service that executes requests.
    pub(crate) fn service(&self) -> &Arc<dyn GraphqlService> {
        &self.service
    }

    /// The limits of bodies, and of messages in the place of a body.
    pub(crate) fn body_limits(&self) -> &BodyLimits {
        &self.limits.body
    }

    /// The representation for a client with these headers, in the media type that it accepts.
    pub(crate) fn representation(&self, media_type: ResponseType, headers: &HeaderMap) -> Representation {
        Representation::negotiated(media_type, headers, self.limits.compress_bytes_min > 0)
    }

    /// From how many bytes on the answers of queries are compressed; 0 for none.
    pub(crate) fn compress_bytes_min(&self) -> usize {
        self.limits.compress_bytes_min
    }

    /// The origins whose pages may send cross-site requests.
    pub(crate) fn allowed_origins(&self) -> &[HeaderValue] {
        &self.allowed_origins
    }
}

/// The first of some errors, of which there is at least one.
fn first_of(errors: Vec<ServerError>) -> ServerError {
    let none = || ServerError::new("The document is not valid.", None);
    errors.into_iter().next().unwrap_or_else(none)
}
