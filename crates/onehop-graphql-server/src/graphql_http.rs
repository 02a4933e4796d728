//! `GET` and `POST /graphql` as the GraphQL over HTTP specification (draft of 2025) has it.
//!
//! A request passes content negotiation, the question of where it comes from, its parameters, its document, its
//! operation, its variables and its complexity, in that order. Then its caller is authenticated and its bill opened, a query
//! waits for the position that it names, the request waits for its turn, and only then it reaches the service. What the fields mean is the service's affair. The media types are in [`media_type`](super::media_type), the
//! statuses in [`graphql_response`](super::graphql_response).

use std::{sync::Arc, time::Duration};

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

use futures::{FutureExt as _, future::BoxFuture, stream::BoxStream};

use super::{
    admission::{Admission, AdmissionLimits},
    answer::COMPRESS_BYTES_MIN,
    bearer::bearer_token,
    callers::{Bill, Budgets, CallerLimits},
    client_address::Origin,
    completion::OutputTypes,
    content_coding::coding_of,
    cross_site::is_forged,
    document::{Document, Documents, select_operation},
    document_limits::DocumentLimits,
    document_size::DocumentSize,
    etag::Tags,
    graphql_request::{Asked, BodyLimits, POSITION, Parameters},
    graphql_response::{Encoded, ExecutedResponse, Refusal},
    graphql_service::{Account as _, Caller, EventGate, GraphqlService, Waited},
    media_type::{ResponseType, is_json_request},
    observer::{Executing, HttpObserver, Observation},
    persisted::{Found, PersistedDocuments, TrustError, TrustedDocuments},
    position_waits::{PositionLimits, PositionWaits, WaitDeadline},
    response_budget::{ResponseBudget, ResponseLimits, ResponseMemory},
    session_positions::SessionPositions,
    spent::Spent,
    variables::{InputTypes, SdlError},
};
use onehop_runtime::clock::{Clock, SystemClock};
use onehop_runtime::sealed::Sealer;

/// How long a request may take from its head to its answer.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// What one request may take.
#[derive(Debug, Clone, Copy)]
pub struct RequestLimits {
    pub body: BodyLimits,
    pub documents: DocumentLimits,
    pub admission: AdmissionLimits,
    pub callers: CallerLimits,
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
            admission: AdmissionLimits::default(),
            callers: CallerLimits::default(),
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
    input_types: InputTypes,
    output_types: OutputTypes,
    limits: RequestLimits,
    admission: Admission,
    budgets: Arc<Budgets>,
    responses: ResponseMemory,
    allowed_origins: Vec<HeaderValue>,
    /// Makes and reads entity tags.
    tags: Tags,
    position_waits: Arc<PositionWaits>,
    session_positions: SessionPositions,
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
    /// What came of waiting for a position, once it has.
    pub(super) waited: Option<Waited>,
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
            tags: Tags::new(Sealer::random().expect("the system gives random bytes")),
            position_waits: Arc::default(),
            session_positions: SessionPositions::new(limits.positions.sessions_max, Arc::new(SystemClock)),
            observation: Observation::default(),
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
        Self { tags: Tags::new(sealer), ..self }
    }

    /// The same, with budgets that fill by this clock.
    #[must_use]
    pub fn with_clock(self, clock: Arc<dyn Clock>) -> Self {
        let budgets = Arc::new(Budgets::new(self.limits.callers, Arc::clone(&clock)));
        let session_positions = SessionPositions::new(self.limits.positions.sessions_max, clock);
        Self { budgets, session_positions, ..self }
    }

    /// The same, whose errors tell no names and types that a client did not write, unless it may know the schema.
    #[must_use]
    pub fn with_schema_told(self, is_told: bool) -> Self {
        Self { input_types: self.input_types.concealing_schema(!is_told), ..self }
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

    /// How many requests execute at once.
    pub(super) fn executing_max(&self) -> usize {
        self.limits.admission.executing_max
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
    pub fn bill(&self, headers: &HeaderMap, extensions: &Extensions) -> Bill {
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
        let Received { asked, is_read_only, bearer, headers } = received;
        let bearer = bearer.as_deref();
        match asked {
            Asked::One(request) => {
                let mut checked = self.check_for_one_answer(*request, is_read_only)?;
                self.service.read_headers(&headers, &mut checked.request);
                Ok(Sent::One(checked.kind, self.execute(checked, bearer, bill).await))
            }
            Asked::Batch(requests) => self.answer_batch(requests, bearer, bill).await.map(Sent::Batch),
        }
    }

    /// Gives something the time that a request may take.
    pub async fn in_time<T>(&self, answer: impl Future<Output = Result<T, Refusal>>) -> Result<T, Refusal> {
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
        Ok(Received { asked, is_read_only, bearer, headers: head.headers })
    }

    async fn read(&self, head: &Parts, body: Body, is_read_only: bool) -> Result<Asked, Refusal> {
        if is_read_only {
            return Ok(self.limits.body.parse_uri(&head.uri)?);
        }
        if !is_json_request(&head.headers) {
            return Err(Refusal::UnsupportedMediaType);
        }
        let coding = coding_of(&head.headers).ok_or(Refusal::UnsupportedCoding)?;
        let body = self.limits.body.decode(self.limits.body.read(body).await?, coding).await?;
        Ok(self.limits.body.parse(&body)?)
    }

    /// Executes the requests of a batch one after the other, as one request: together they keep the limits of one.
    async fn answer_batch(
        &self,
        requests: Vec<Parameters>,
        bearer: Option<&str>,
        bill: &Bill,
    ) -> Result<Vec<Result<ExecutedResponse, Refusal>>, Refusal> {
        let check = |request| self.check_for_one_answer(request, false);
        let mut checked: Vec<_> = requests.into_iter().map(check).collect();
        let complexity = self.check_together(&checked)?;
        let spent = Spent::on(bill, &*self.service);
        let caller = self.caller(bearer, &spent).await?;
        open(bill, caller.as_ref())?;
        let mut deadline = WaitDeadline::default();
        for one in &mut checked {
            if let Ok(query) = one
                && let Err(refusal) = self.at_position(query, caller.as_ref(), &spent, &mut deadline).await
            {
                *one = Err(refusal);
            }
        }
        let mut admitted = Some(self.admission.admit(complexity).await?);
        let mut responses = Vec::with_capacity(checked.len());
        let mut bytes_left = self.limits.responses.bytes_max;
        for checked in checked {
            let mut checked = match checked {
                Ok(checked) => checked,
                Err(refusal) => {
                    responses.push(Err(refusal));
                    continue;
                }
            };
            if checked.kind == OperationType::Query && self.last_write_of(caller.as_ref()).is_some() {
                // A mutation of this batch has written. A query that waits for a projection takes no other's turn.
                admitted = None;
                self.at_last_write(&mut checked, caller.as_ref(), &spent, &mut deadline).await;
            }
            if admitted.is_none() {
                match self.admission.admit(complexity).await {
                    Ok(again) => admitted = Some(again),
                    Err(overloaded) => {
                        responses.push(Err(overloaded.into()));
                        continue;
                    }
                }
            }
            let budget = Arc::new(self.responses.begin_within(bytes_left)?);
            let response = self.execute_admitted(checked, caller.as_ref(), bill, &spent, budget).await;
            bytes_left = bytes_left.saturating_sub(response.body.len());
            responses.push(Ok(response));
        }
        Ok(responses)
    }

    /// How complex the requests of a batch are, which keep the limits of one together.
    fn check_together(&self, checked: &[Result<Checked, Refusal>]) -> Result<usize, Refusal> {
        let fitting = || checked.iter().filter_map(|checked| checked.as_ref().ok());
        let size = fitting().fold(DocumentSize::default(), |size, checked| size.and(checked.document.size));
        self.documents.limits().check(&size)?;
        let complexity = fitting().fold(0_usize, |sum, checked| sum.saturating_add(checked.complexity));
        self.service.check_complexity(complexity)?;
        Ok(complexity)
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
        Ok(Checked { request, document, kind, complexity, waited: None })
    }

    /// Executes a query or a mutation for the bearer of a token, when it is its turn.
    pub(super) async fn execute(
        &self,
        checked: Checked,
        bearer: Option<&str>,
        bill: &Bill,
    ) -> Result<ExecutedResponse, Refusal> {
        let spent = Spent::on(bill, &*self.service);
        let caller = self.caller(bearer, &spent).await?;
        self.execute_spent(checked, caller.as_ref(), bill, &spent).await
    }

    /// Executes a query or a mutation for a caller who is known already, when it is its turn.
    pub(super) async fn execute_for(
        &self,
        checked: Checked,
        caller: Option<&Caller>,
        bill: &Bill,
    ) -> Result<ExecutedResponse, Refusal> {
        self.execute_spent(checked, caller, bill, &Spent::on(bill, &*self.service)).await
    }

    /// As [`execute_for`](Self::execute_for), where something was spent before.
    pub(super) async fn execute_spent(
        &self,
        mut checked: Checked,
        caller: Option<&Caller>,
        bill: &Bill,
        spent: &Spent<'_>,
    ) -> Result<ExecutedResponse, Refusal> {
        open(bill, caller)?;
        self.at_position(&mut checked, caller, spent, &mut WaitDeadline::default()).await?;
        self.execute_waited(checked, caller, bill, spent).await
    }

    /// As [`execute_spent`](Self::execute_spent), where the bill is open and the position was waited for.
    pub(super) async fn execute_waited(
        &self,
        checked: Checked,
        caller: Option<&Caller>,
        bill: &Bill,
        spent: &Spent<'_>,
    ) -> Result<ExecutedResponse, Refusal> {
        let _admitted = self.admission.admit(checked.complexity).await?;
        let budget = Arc::new(self.responses.begin()?);
        Ok(self.execute_admitted(checked, caller, bill, spent, budget).await)
    }

    async fn execute_admitted(
        &self,
        checked: Checked,
        caller: Option<&Caller>,
        bill: &Bill,
        spent: &Spent<'_>,
        budget: Arc<ResponseBudget>,
    ) -> ExecutedResponse {
        let (kind, executing) = (checked.kind, self.observation.executing(bill.origin().span));
        let (request, completion) = checked.into_parts();
        let request = told(request, bill, &executing).data(spent.charge()).data(Arc::clone(&budget));
        let mut charge = SizeCharge { bill, budget: &budget, bytes_written: 0 };
        let execution = self.service.execute_for(request, caller, bill).await;
        self.observation.executed(kind, completion.operation_name(), &executing, &execution);
        if let (OperationType::Mutation, Some(caller)) = (kind, caller)
            && let Some(Value::String(position)) = execution.extensions.get(POSITION)
        {
            self.session_positions.remember(&caller.id, position);
        }
        charge.written(self.write(&completion, execution, &budget))
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
        bill: &Bill,
        gate: EventGate,
    ) -> Result<(BoxStream<'static, Execution>, Completion), Encoded> {
        let admitted = self.admission.admit(checked.complexity).await;
        let _admitted = admitted.map_err(|overloaded| Refusal::from(overloaded).into_encoded())?;
        let (request, completion) = checked.into_parts();
        let request = request.data(Arc::new(self.responses.idle())).data(gate);
        match self.service.subscribe(request, caller, bill).await {
            Ok(executions) => Ok((executions, completion)),
            Err(refusal) => Err(Encoded::refusal(refusal)),
        }
    }

    /// Who bears a token, for a connection that outlives a request.
    pub(super) async fn authenticate(&self, bearer: &str) -> Result<Caller, Refusal> {
        self.in_time(async {
            Ok(self.service.authenticate(bearer, &*self.service.new_charge_record(None)).await?)
        })
        .await
    }

    /// Authentication: the caller who bears a token; `None` is an anonymous one, who names no token.
    pub(super) async fn caller(
        &self,
        bearer: Option<&str>,
        spent: &Spent<'_>,
    ) -> Result<Option<Caller>, Refusal> {
        let Some(bearer) = bearer else { return Ok(None) };
        Ok(Some(self.service.authenticate(bearer, &*spent.record()).await?))
    }

    /// Waits until the session of a caller has ended.
    pub(super) fn session_ended(&self, caller: Arc<Caller>) -> BoxFuture<'static, ()> {
        let service = Arc::clone(&self.service);
        async move { service.session_ended(&caller).await }.boxed()
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

    /// What makes and reads entity tags.
    pub(super) fn tags(&self) -> &Tags {
        &self.tags
    }

    /// The queries that wait for a position.
    pub(super) fn position_waits(&self) -> &Arc<PositionWaits> {
        &self.position_waits
    }

    /// The last writes of users.
    pub(super) fn session_positions(&self) -> &SessionPositions {
        &self.session_positions
    }

    /// How long queries wait for a position.
    pub(super) fn position_limits(&self) -> PositionLimits {
        self.limits.positions
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
    pub(super) headers: HeaderMap,
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
        let Self { mut request, document, waited, .. } = self;
        let operation_name = request.operation_name.clone();
        request.set_parsed_query(ExecutableDocument::clone(&document.definitions));
        request.data.insert(Arc::clone(&document));
        if let Some(waited) = waited {
            request.data.insert(waited);
        }
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

/// Opens the bill of a caller; `None` is an anonymous one.
pub(super) fn open(bill: &Bill, caller: Option<&Caller>) -> Result<(), Refusal> {
    Ok(bill.open(caller.map(|caller| caller.id.as_str()))?)
}
