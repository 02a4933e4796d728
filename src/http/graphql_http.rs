//! `GET` and `POST /graphql` as the GraphQL over HTTP specification (draft of 2025) has it.
//!
//! A request passes content negotiation, the question of where it comes from, its parameters, its document, its
//! operation, its variables and its complexity, in that order; then it waits for its turn, and only then reaches the
//! service. What the fields mean is the service's affair. The media types are in [`media_type`](super::media_type), the
//! statuses in [`graphql_response`](super::graphql_response).

use std::{collections::hash_map::RandomState, hash::BuildHasher, sync::Arc, time::Duration};

use async_graphql::{
    Request, Response as Execution, ServerError, Value, Variables,
    parser::types::{ExecutableDocument, OperationType},
};
use axum::{
    body::Body,
    http::{
        Extensions, HeaderMap, HeaderValue, Method, Request as HttpRequest, Response, header::AUTHORIZATION,
        request::Parts,
    },
};

use futures::stream::BoxStream;

use super::{
    admission::{Admission, AdmissionLimits},
    answer::COMPRESS_BYTES_MIN,
    bearer::bearer_token,
    callers::{Bill, Budgets, CallerLimits},
    client_address::Origin,
    completion::OutputTypes,
    cross_site::is_forged,
    document::{Document, Documents, select_operation},
    document_limits::DocumentLimits,
    document_size::DocumentSize,
    graphql_request::{Asked, BodyLimits, POSITION, Parameters},
    graphql_response::{Encoded, ExecutedResponse, Refusal},
    graphql_service::{Account as _, Caller, GraphqlService, InvalidPosition, Reached, RequestRejection},
    media_type::{ResponseType, is_json_request},
    observer::{Executing, HttpObserver, Observation},
    persisted::{Found, PersistedDocuments, TrustError, TrustedDocuments},
    response_budget::{ResponseBudget, ResponseLimits, ResponseMemory},
    variables::{InputTypes, SdlError},
};
use crate::store::{Clock, SystemClock};

/// How long a request may take from its head to its answer.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// What one request may take.
#[derive(Debug, Clone, Copy)]
pub struct RequestLimits {
    pub body: BodyLimits,
    pub documents: DocumentLimits,
    pub admission: AdmissionLimits,
    pub callers: CallerLimits,
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
            admission: AdmissionLimits::default(),
            callers: CallerLimits::default(),
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
    input_types: InputTypes,
    output_types: OutputTypes,
    limits: RequestLimits,
    admission: Admission,
    budgets: Arc<Budgets>,
    responses: ResponseMemory,
    allowed_origins: Vec<HeaderValue>,
    /// Tells the tags of this process from those of others.
    process: u64,
    observation: Observation,
}

/// What is sent for one answer: one request, or several in a batch.
pub(super) enum Sent<T> {
    One(OperationType, T),
    Batch(Vec<T>),
}

/// A request that may be executed.
pub(super) struct Checked {
    pub(super) request: Request,
    pub(super) document: Arc<Document>,
    pub(super) kind: OperationType,
    pub(super) complexity: usize,
}

impl GraphqlEndpoint {
    /// An endpoint for the schema of this SDL, executed by the service.
    pub fn new(service: Arc<dyn GraphqlService>, sdl: &str, limits: RequestLimits) -> Result<Self, SdlError> {
        Ok(Self {
            service,
            documents: Documents::new(limits.documents),
            persisted: PersistedDocuments::new(),
            input_types: InputTypes::from_sdl(sdl)?,
            output_types: OutputTypes::from_sdl(sdl)?,
            limits,
            admission: Admission::new(limits.admission),
            budgets: Arc::new(Budgets::new(limits.callers, Arc::new(SystemClock))),
            responses: ResponseMemory::new(limits.responses),
            allowed_origins: Vec::new(),
            process: RandomState::new().hash_one("process"),
            observation: Observation::default(),
        })
    }

    /// The same, with origins whose pages may send what other sites may not.
    #[must_use]
    pub fn with_allowed_origins(self, allowed_origins: Vec<HeaderValue>) -> Self {
        Self { allowed_origins, ..self }
    }

    /// The same, with budgets that fill by this clock.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        Self { budgets: Arc::new(Budgets::new(self.limits.callers, clock)), ..self }
    }

    /// The same, which tells of executions.
    #[must_use]
    pub fn with_observer(self, observer: Option<Arc<dyn HttpObserver>>) -> Self {
        Self { observation: Observation(observer), ..self }
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

    /// The line in which requests wait for execution.
    pub fn admission(&self) -> &Admission {
        &self.admission
    }

    /// Answers one HTTP request.
    pub async fn handle(&self, request: HttpRequest<Body>) -> Response<Body> {
        let bill = self.bill(request.headers(), request.extensions());
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let mut response = match ResponseType::negotiate(request.headers()) {
            Some(media_type) => {
                let form = self.form(media_type, request.headers());
                if is_read {
                    self.handle_read(request, form, &bill).await
                } else {
                    self.answer_with(self.in_time(self.answer(request, &bill)).await, form).await
                }
            }
            None => Refusal::NotAcceptable.into_response(ResponseType::Json),
        };
        bill.tell(response.headers_mut());
        response
    }

    /// A bill for a request with these headers.
    pub(super) fn bill(&self, headers: &HeaderMap, extensions: &Extensions) -> Bill {
        let origin = Origin::of(self.budgets.proxies(), headers, extensions);
        self.bill_for(origin, !headers.contains_key(AUTHORIZATION))
    }

    /// A bill for what has an origin that is known.
    pub(super) fn bill_for(&self, origin: Origin, is_anonymous: bool) -> Bill {
        Bill::new(&self.budgets, origin, is_anonymous)
    }

    async fn answer(
        &self,
        request: HttpRequest<Body>,
        bill: &Bill,
    ) -> Result<Sent<Result<ExecutedResponse, Refusal>>, Refusal> {
        self.answer_received(self.receive(request).await?, bill).await
    }

    /// Executes what was received as one answer.
    pub(super) async fn answer_received(
        &self,
        received: Received,
        bill: &Bill,
    ) -> Result<Sent<Result<ExecutedResponse, Refusal>>, Refusal> {
        let Received { asked, is_read_only, bearer } = received;
        let bearer = bearer.as_deref();
        match asked {
            Asked::One(request) => {
                let checked = self.check_for_one_answer(*request, is_read_only)?;
                Ok(Sent::One(checked.kind, self.execute(checked, bearer, bill).await))
            }
            Asked::Batch(requests) => self.answer_batch(requests, bearer, bill).await.map(Sent::Batch),
        }
    }

    /// Gives something the time that a request may take.
    pub(super) async fn in_time<T>(
        &self,
        answer: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<T, Refusal> {
        let answer = tokio::time::timeout(self.limits.timeout, answer).await;
        answer.unwrap_or(Err(Refusal::TimedOut(self.limits.timeout)))
    }

    /// Reads what is asked, and by whom.
    pub(super) async fn receive(&self, request: HttpRequest<Body>) -> Result<Received, Refusal> {
        let (head, body) = request.into_parts();
        let is_read_only = match head.method {
            Method::GET | Method::HEAD => true,
            Method::POST => false,
            _ => return Err(Refusal::MethodNotAllowed),
        };
        if is_forged(&head.method, &head.headers, &self.allowed_origins) {
            return Err(Refusal::Forged);
        }
        let asked = self.read(&head, body, is_read_only).await?.at_position_of(&head.headers)?;
        let bearer = bearer_token(&head.headers)?.map(str::to_owned);
        Ok(Received { asked, is_read_only, bearer })
    }

    async fn read(&self, head: &Parts, body: Body, is_read_only: bool) -> Result<Asked, Refusal> {
        if is_read_only {
            return Ok(self.limits.body.parse_uri(&head.uri)?);
        }
        if !is_json_request(&head.headers) {
            return Err(Refusal::UnsupportedMediaType);
        }
        Ok(self.limits.body.parse(&self.limits.body.read(body).await?)?)
    }

    /// Executes the requests of a batch one after the other, as one request: together they keep the limits of one.
    async fn answer_batch(
        &self,
        requests: Vec<Parameters>,
        bearer: Option<&str>,
        bill: &Bill,
    ) -> Result<Vec<Result<ExecutedResponse, Refusal>>, Refusal> {
        let mut checked: Vec<_> = Vec::with_capacity(requests.len());
        for request in requests {
            checked.push(match self.check_for_one_answer(request, false) {
                Ok(one) => self.at_position(one).await,
                Err(refusal) => Err(refusal),
            });
        }
        let fitting = || checked.iter().filter_map(|checked| checked.as_ref().ok());
        let size = fitting().fold(DocumentSize::default(), |size, checked| size.and(checked.document.size));
        self.documents.limits().check(&size)?;
        let complexity = fitting().fold(0_usize, |sum, checked| sum.saturating_add(checked.complexity));
        self.service.check_complexity(complexity)?;

        open_anonymous(bill, bearer)?;
        let _admitted = self.admission.admit(complexity).await?;
        let mut responses = Vec::with_capacity(checked.len());
        let mut bytes_left = self.limits.responses.bytes_max;
        for checked in checked {
            let response = match checked {
                Ok(checked) => {
                    let budget = Arc::new(self.responses.begin_within(bytes_left)?);
                    match self.execute_admitted(checked, bearer, bill, budget).await {
                        // Who asks is the same for all of them.
                        Err(refusal @ Refusal::Rejected(_)) => return Err(refusal),
                        answer => answer,
                    }
                }
                Err(refusal) => Err(refusal),
            };
            let bytes = response.as_ref().map_or(0, |response| response.body.len());
            bytes_left = bytes_left.saturating_sub(bytes);
            responses.push(response);
        }
        Ok(responses)
    }

    pub(super) fn check_for_one_answer(
        &self,
        request: Parameters,
        is_read_only: bool,
    ) -> Result<Checked, Refusal> {
        let checked = self.check(request, is_read_only)?;
        if checked.kind == OperationType::Subscription { Err(Refusal::Subscription) } else { Ok(checked) }
    }

    /// Checks all that can be checked of a request without validating its selections.
    pub(super) fn check(&self, parameters: Parameters, is_read_only: bool) -> Result<Checked, Refusal> {
        let Parameters { mut request, asking } = parameters;
        let Found { text, document, registers } = self.persisted.find(asking, &self.documents)?;
        let operation = select_operation(&document.definitions, request.operation_name.as_deref())?;
        let kind = operation.ty;
        if is_read_only && kind == OperationType::Mutation {
            return Err(Refusal::MutationOverGet);
        }
        self.input_types
            .check(&operation.variable_definitions, &request.variables)
            .map_err(Refusal::Schema)?;
        let complexity =
            self.service.complexity(&document, operation, &request.variables).map_err(Refusal::Schema)?;
        if let Some(hash) = registers {
            self.persisted.register(hash, &text);
        }
        request.query = text;
        Ok(Checked { request, document, kind, complexity })
    }

    /// Executes a query or a mutation when it is its turn.
    pub(super) async fn execute(
        &self,
        checked: Checked,
        bearer: Option<&str>,
        bill: &Bill,
    ) -> Result<ExecutedResponse, Refusal> {
        open_anonymous(bill, bearer)?;
        let checked = self.at_position(checked).await?;
        let _admitted = self.admission.admit(checked.complexity).await?;
        let budget = Arc::new(self.responses.begin()?);
        self.execute_admitted(checked, bearer, bill, budget).await
    }

    /// Has a query wait for the position that it names.
    async fn at_position(&self, mut checked: Checked) -> Result<Checked, Refusal> {
        if checked.kind == OperationType::Query
            && let Some(position) = checked.request.extensions.get(POSITION)
        {
            let Value::String(position) = position else { return Err(InvalidPosition.into()) };
            let reached = self.service.reach(position).await?;
            checked.request.data.insert(Reached(reached));
        }
        Ok(checked)
    }

    async fn execute_admitted(
        &self,
        checked: Checked,
        bearer: Option<&str>,
        bill: &Bill,
        budget: Arc<ResponseBudget>,
    ) -> Result<ExecutedResponse, Refusal> {
        let (kind, executing) = (checked.kind, self.observation.executing(bill.origin().span));
        let (request, completion) = checked.into_parts();
        let request = told(request, bill, &executing).data(Arc::clone(&budget));
        let mut charge = SizeCharge { bill, budget: &budget, bytes_written: 0 };
        let execution = self.service.execute(request, bearer, bill).await?;
        self.observation.executed(kind, completion.operation_name(), &executing, &execution);
        Ok(charge.written(self.write(&completion, execution, &budget)))
    }

    /// As [`execute`](Self::execute), for somebody who is known already.
    pub(super) async fn execute_for(
        &self,
        checked: Checked,
        caller: Option<&Caller>,
        bill: &Bill,
    ) -> Result<ExecutedResponse, Refusal> {
        bill.open(caller.map(|caller| caller.id.as_str()))?;
        let checked = self.at_position(checked).await?;
        let _admitted = self.admission.admit(checked.complexity).await?;
        let budget = Arc::new(self.responses.begin()?);
        let (kind, executing) = (checked.kind, self.observation.executing(bill.origin().span));
        let (request, completion) = checked.into_parts();
        let request = told(request, bill, &executing).data(Arc::clone(&budget));
        let mut charge = SizeCharge { bill, budget: &budget, bytes_written: 0 };
        let execution = self.service.execute_for(request, caller, bill).await;
        self.observation.executed(kind, completion.operation_name(), &executing, &execution);
        Ok(charge.written(self.write(&completion, execution, &budget)))
    }

    /// Writes what was executed, with nulls where something has failed.
    pub(super) fn write(
        &self,
        completion: &Completion,
        execution: Execution,
        budget: &ResponseBudget,
    ) -> ExecutedResponse {
        ExecutedResponse::of(self.complete(completion, execution), budget)
    }

    /// Starts a subscription when it is its turn. What is written after this returns is in the stream.
    pub(super) async fn subscribe(
        &self,
        checked: Checked,
        caller: Option<&Caller>,
    ) -> Result<(BoxStream<'static, Execution>, Completion), Encoded> {
        let admitted = self.admission.admit(checked.complexity).await;
        let _admitted = admitted.map_err(|overloaded| Refusal::from(overloaded).into_encoded())?;
        let (request, completion) = checked.into_parts();
        let request = request.data(Arc::new(self.responses.idle()));
        match self.service.subscribe(request, caller).await {
            Ok(executions) => Ok((executions, completion)),
            Err(refusal) => Err(Encoded::refusal(refusal)),
        }
    }

    /// Who bears a token.
    pub(super) async fn authenticate(&self, bearer: &str) -> Result<Caller, Refusal> {
        self.in_time(async { Ok(self.service.authenticate(bearer).await?) }).await
    }

    /// Nulls what has failed in an execution.
    fn complete(&self, completion: &Completion, mut execution: Execution) -> Execution {
        let Completion { document, operation_name } = completion;
        if !execution.errors.is_empty()
            && let Ok(operation) = select_operation(&document.definitions, operation_name.as_deref())
        {
            self.output_types.complete(&document.definitions, operation, &mut execution);
        }
        execution
    }

    /// Tells the entity tags of this process from those of others.
    pub(super) fn process(&self) -> u64 {
        self.process
    }

    /// The memory of all responses.
    pub fn responses(&self) -> &ResponseMemory {
        &self.responses
    }

    /// Who executes.
    pub(super) fn service(&self) -> &Arc<dyn GraphqlService> {
        &self.service
    }

    /// What bodies may be, and what messages may that stand for one.
    pub(super) fn body_limits(&self) -> &BodyLimits {
        &self.limits.body
    }

    /// From how many bytes on the answers of queries are compressed; 0 for none.
    pub(super) fn compress_bytes_min(&self) -> usize {
        self.limits.compress_bytes_min
    }

    /// Whose pages may send what other sites may not.
    pub(super) fn allowed_origins(&self) -> &[HeaderValue] {
        &self.allowed_origins
    }
}

/// What was read of an HTTP request.
pub(super) struct Received {
    pub(super) asked: Asked,
    /// It came by GET.
    pub(super) is_read_only: bool,
    pub(super) bearer: Option<String>,
}

/// Charges a caller's quota for the size of a response when this is dropped, also of one that is given up.
struct SizeCharge<'a> {
    bill: &'a Bill,
    budget: &'a ResponseBudget,
    bytes_written: usize,
}

impl SizeCharge<'_> {
    /// The response as it was written.
    fn written(&mut self, response: ExecutedResponse) -> ExecutedResponse {
        self.bytes_written = response.body.len();
        response
    }
}

impl Drop for SizeCharge<'_> {
    fn drop(&mut self) {
        let bytes = self.bytes_written.max(self.budget.used());
        self.bill.charge(self.budget.memory().limits().size_charge(bytes));
    }
}

/// What it takes to complete an execution.
pub(super) struct Completion {
    document: Arc<Document>,
    operation_name: Option<String>,
}

impl Completion {
    /// The name of the operation that is executed, if it has one.
    fn operation_name(&self) -> Option<&str> {
        let mut operations = self.document.definitions.operations.iter();
        let only = match (operations.next(), operations.next()) {
            (Some((name, _)), None) => name.map(|name| name.as_str()),
            _ => None,
        };
        self.operation_name.as_deref().or(only)
    }
}

impl Checked {
    /// The request as it is executed, and what completes its executions.
    pub(super) fn into_parts(self) -> (Request, Completion) {
        let Self { mut request, document, .. } = self;
        let operation_name = request.operation_name.clone();
        request.set_parsed_query(ExecutableDocument::clone(&document.definitions));
        request.data.insert(Arc::clone(&document));
        (request, Completion { document, operation_name })
    }
}

/// Tells the service where a request comes from, and under which span it is executed.
fn told(request: Request, bill: &Bill, executing: &Executing) -> Request {
    let request = request.data(bill.origin().network);
    match executing.span {
        Some(span) => request.data(span),
        None => request,
    }
}

/// What is wrong with a document, and where.
fn error_text(error: &ServerError) -> String {
    match error.locations.first() {
        Some(place) => format!("{} (line {}, column {})", error.message, place.line, place.column),
        None => error.message.clone(),
    }
}

/// Somebody anonymous is known at once, and does not have to wait in line to hear that the budget is spent.
fn open_anonymous(bill: &Bill, bearer: Option<&str>) -> Result<(), RequestRejection> {
    if bearer.is_none() { bill.open(None) } else { Ok(()) }
}
