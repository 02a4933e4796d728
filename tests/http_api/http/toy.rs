//! A server of a toy schema.

mod schema;

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_graphql::{
    Request, Response, Schema, ServerError, Value, Variables,
    parser::types::{ExecutableDocument, OperationDefinition},
};
use async_trait::async_trait;
use axum::Router;
use futures::{
    FutureExt, StreamExt,
    stream::{BoxStream, iter, once},
};
use onehop::http::page_routes;
use onehop::http::pages::{
    Content, PageContents, PageHead, PageKind, PageQueries, PageQuery, PageSubject, Pages, ShownPage,
    SiteFile, WrittenFile,
};
use onehop::http::session_cookie::SESSION_PATH;
use onehop::http::static_files::{StaticFiles, WebFile};
use onehop_graphql_server::authentication::Authentication;
use onehop_graphql_server::caller::{Caller, RequestRejection};
use onehop_graphql_server::document::Document;
use onehop_graphql_server::endpoint::{GraphqlEndpoint, RequestLimits};
use onehop_graphql_server::health::{Readiness, ReadinessReport, UnreadyPart};
use onehop_graphql_server::live::LiveLimits;
use onehop_graphql_server::pipeline::admit::ConcurrencyLimit;
use onehop_graphql_server::pipeline::context::RequestContext;
use onehop_graphql_server::position::{InvalidPosition, NotReached, Positions, Reach};
use onehop_graphql_server::quota::ChargeRecord;
use onehop_graphql_server::response_budget::ResponseMemory;
use onehop_graphql_server::router::{Exposure, HttpParts, router};
use onehop_graphql_server::schema_service::AdmitEvents;
use onehop_graphql_server::server::{ConnectionLimits, Server};
use onehop_graphql_server::service::{GraphqlService, selected_fields};
use onehop_graphql_server::trusted_documents::TrustedDocuments;
use onehop_runtime::clock::ManualClock;
use onehop_runtime::tasks::Tasks;
use tokio::sync::{Notify, broadcast};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use self::schema::{Mutation, Query, Subscription};

pub const LONG: Duration = Duration::from_secs(3600);

/// The id of every fault.
pub const ERROR_ID: Uuid = Uuid::from_u128(7);

/// A server that lives as long as this value.
pub struct Toy {
    pub address: SocketAddr,
    pub state: Arc<State>,
    pub tasks: Tasks,
    pub admission: ConcurrencyLimit,
    pub responses: ResponseMemory,
}

/// State shared by the resolvers and the tests.
#[derive(Default)]
pub struct State {
    pub mutations: AtomicUsize,
    /// Queries and mutations that were executed, and positions that were waited for.
    pub executed: AtomicUsize,
    pub waited: AtomicUsize,
    /// Whether no position is reached.
    pub lags: AtomicBool,
    /// Told when the field `waits` has begun; awaited by it before it answers.
    pub begun: Notify,
    pub released: Notify,
    /// Numbers that subscriptions hear.
    pub numbers: Numbers,
    /// Executions of subscriptions that have begun, and that go on.
    pub begun_subscriptions: AtomicUsize,
    pub subscriptions: AtomicUsize,
    /// The number of times that a number was resolved.
    pub resolved: AtomicUsize,
}

pub struct Numbers(pub broadcast::Sender<i32>);

impl Default for Numbers {
    fn default() -> Self {
        Self(broadcast::channel(1024).0)
    }
}

impl State {
    /// Tells every subscription of numbers.
    pub fn tell(&self, number: i32) {
        self.numbers.0.send(number).expect("somebody listens");
    }
}

#[derive(Clone)]
pub struct Options {
    pub limits: RequestLimits,
    pub live: LiveLimits,
    pub connections: ConnectionLimits,
    pub stop_deadline: Duration,
    pub unready: Vec<UnreadyPart>,
    pub exposure: Exposure,
    pub trusted: TrustedDocuments,
    pub trusted_only: bool,
    /// The build of the web.
    pub web: fn(&str) -> Option<WebFile>,
    /// By which budgets fill.
    pub clock: Arc<ManualClock>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: RequestLimits::default(),
            live: LiveLimits::default(),
            connections: ConnectionLimits::default(),
            stop_deadline: LONG,
            unready: Vec::new(),
            exposure: Exposure::default(),
            trusted: TrustedDocuments::default(),
            trusted_only: false,
            web: |_| None,
            clock: Arc::new(ManualClock::new(1_800_000_000_000)),
        }
    }
}

impl Toy {
    pub async fn start() -> Self {
        Self::start_with(Options::default()).await
    }

    pub async fn start_with(options: Options) -> Self {
        let state = Arc::new(State::default());
        let graphql = toy_endpoint(&state, &options);
        let admission = graphql.concurrency_limit().clone();
        let responses = graphql.responses().clone();
        let tasks = Tasks::new();
        let router = toy_router(graphql, &options, &tasks);
        let server = Server::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let server = server.with_limits(options.connections).with_drain(tasks.draining());
        let address = server.local_address();
        let (stop, deadline) = (tasks.soft_stop(), options.stop_deadline);
        tasks.spawn("http", async move {
            server.serve(router, stop, deadline).await;
            Ok::<_, Infallible>(())
        });
        Self { address, state, tasks, admission, responses }
    }
}

/// All routes over an endpoint.
pub fn toy_router(graphql: GraphqlEndpoint, options: &Options, tasks: &Tasks) -> Router {
    let graphql = Arc::new(graphql);
    let pages = Pages::new(StaticFiles::from_source(options.web), Arc::new(Posts));
    router(HttpParts {
        routes: page_routes(pages, None, &graphql),
        labelled_paths: &[SESSION_PATH],
        graphql,
        live: options.live,
        tasks: tasks.clone(),
        readiness: Arc::new(Parts { unready: options.unready.clone(), draining: tasks.draining() }),
        exposure: options.exposure.clone(),
        error_ids: Arc::new(|| ERROR_ID),
        live_load: Arc::default(),
        observer: None,
        metrics: None,
    })
}

/// There is every post, by a query that is charged 1 RU, and no user.
struct Posts;

#[async_trait]
impl PageContents for Posts {
    async fn page(&self, subject: PageSubject<'_>, queries: &dyn PageQueries) -> Content<Box<ShownPage>> {
        let id = match subject {
            PageSubject::Post(id) => id,
            PageSubject::Feed => return Content::Unavailable,
            _ => return Content::Nothing,
        };
        let query = PageQuery { document: "{ viewer }", variables: serde_json::Value::Null };
        if queries.ask(&query).await.is_none() {
            return Content::Unavailable;
        }
        let head = PageHead {
            title: id.to_owned(),
            description: String::new(),
            kind: PageKind::Article,
            path: format!("/posts/{id}"),
            place: "/",
            image: None,
            properties: Vec::new(),
            linked_data: None,
            has_reading_font: true,
        };
        Content::Shown(Box::new(ShownPage { head, html: String::new(), embedded: Vec::new() }))
    }

    async fn file(&self, _: SiteFile<'_>, _: &str, _: &dyn PageQueries) -> Content<WrittenFile> {
        Content::Nothing
    }
}

/// The endpoint alone, for tests without sockets.
pub fn toy_endpoint(state: &Arc<State>, options: &Options) -> GraphqlEndpoint {
    let schema = Schema::build(Query, Mutation, Subscription);
    let schema = schema.data(Arc::clone(state)).limit_depth(5).extension(AdmitEvents).finish();
    let sdl = schema.sdl();
    let service = Service { schema, state: Arc::clone(state) };
    GraphqlEndpoint::new(Arc::new(service), &sdl, options.limits)
        .unwrap()
        .with_clock(options.clock.clone())
        .with_allowed_origins(options.exposure.allowed_origins.clone())
        .with_trusted(&options.trusted, options.trusted_only)
        .unwrap()
}

struct Viewer(Option<String>);

struct Service {
    schema: Schema<Query, Mutation, Subscription>,
    state: Arc<State>,
}

/// A token of this kind is good for as long as its text says in milliseconds: `brief-20`.
const BRIEF: &str = "brief-";

/// The session of this access token ends after the token was read.
pub const ENDING: &str = "ending";

/// A subscription with this extension is charged for each of its events.
pub const CHARGED: &str = "charged";
pub const EVENT_CHARGE: u32 = 8;

/// The complexity limit of a request.
pub const COMPLEXITY_MAX: usize = 40;

fn viewer(context: &RequestContext) -> Viewer {
    Viewer(context.caller.as_ref().map(|caller| caller.id.clone()))
}

#[async_trait]
impl GraphqlService for Service {
    fn complexity(
        &self,
        document: &Document,
        _operation: &OperationDefinition,
        _variables: &Variables,
    ) -> Result<usize, ServerError> {
        selected_fields(document, COMPLEXITY_MAX)
    }

    fn authentication(&self) -> &dyn Authentication {
        self
    }

    fn positions(&self) -> &dyn Positions {
        self
    }

    async fn execute(&self, request: Request, context: &Arc<RequestContext>) -> Response {
        self.state.executed.fetch_add(1, Ordering::SeqCst);
        if context.caller.as_ref().is_some_and(|caller| caller.id == ENDING) {
            let mut error = ServerError::new("The session has ended.", None);
            error.extensions.get_or_insert_default().set("code", "UNAUTHENTICATED");
            return Response::from_errors(vec![error]);
        }
        let (has_trace, is_mutation) =
            (!request.query.contains("untraced"), request.query.contains("mutation"));
        let request = request.data(viewer(context)).data(Arc::clone(context));
        let mut response = self.schema.execute(request).await;
        context.quota.charge(1.0);
        if let Some(trace) = context.read_trace.as_ref().filter(|_| has_trace) {
            trace.set(vec![1]);
        }
        if let Some(waited) = context.waited {
            waited.state_in(&mut response.extensions);
        }
        if is_mutation {
            let position = self.state.mutations.load(Ordering::SeqCst).to_string();
            response = response.extension("position", Value::from(position));
        }
        response.extension("requestCharge", Value::from(1))
    }

    async fn subscribe(
        &self,
        request: Request,
        context: &Arc<RequestContext>,
    ) -> Result<BoxStream<'static, Response>, Response> {
        self.state.begun_subscriptions.fetch_add(1, Ordering::SeqCst);
        let numbers = std::sync::Mutex::new(Some(self.state.numbers.0.subscribe()));
        let counted = Counted::new(&self.state);
        let request = request.data(viewer(context)).data(Arc::clone(context)).data(numbers).data(counted);
        let is_charged = request.extensions.contains_key(CHARGED);
        let responses = self.schema.execute_stream(request);
        let mut responses = responses.map(move |response| match is_charged {
            true => response.extension("requestCharge", Value::from(EVENT_CHARGE)),
            false => response,
        });
        match responses.next().now_or_never() {
            None => Ok(responses.boxed()),
            Some(Some(first)) if first.errors.is_empty() => {
                Ok(once(async { first }).chain(responses).boxed())
            }
            Some(Some(refusal)) => Err(refusal),
            Some(None) => Ok(iter([]).boxed()),
        }
    }

    fn is_personal(&self, document: &ExecutableDocument) -> bool {
        format!("{document:?}").contains("viewer")
    }
}

#[async_trait]
impl Authentication for Service {
    async fn authenticate(
        &self,
        bearer: &str,
        _charges: &dyn ChargeRecord,
    ) -> Result<Caller, RequestRejection> {
        match bearer {
            "forged" => Err(RequestRejection::InvalidToken),
            "overloaded" => {
                Err(RequestRejection::Unavailable { retry_after: Some(Duration::from_millis(1500)) })
            }
            bearer => {
                let valid_for_ms = bearer.strip_prefix(BRIEF).map(|ms| ms.parse().unwrap());
                let valid_for = valid_for_ms.map_or(LONG, Duration::from_millis);
                let is_new = bearer.starts_with("new");
                Ok(Caller { id: bearer.to_owned(), valid_for, session: None, is_new, rights: 0 })
            }
        }
    }
}

#[async_trait]
impl Positions for Service {
    async fn reach(
        &self,
        position: &str,
        _wait_max: Duration,
        _charges: &dyn ChargeRecord,
    ) -> Result<Reach, InvalidPosition> {
        let position = position.parse::<usize>().map_err(|_| InvalidPosition)?;
        self.state.waited.fetch_add(1, Ordering::SeqCst);
        let lags = self.state.lags.load(Ordering::SeqCst);
        if !lags && position <= self.state.mutations.load(Ordering::SeqCst) {
            Ok(Reach::Reached)
        } else {
            Ok(Reach::NotReached(NotReached::TimedOut))
        }
    }

    /// A position is the number of mutations.
    fn join(&self, one: &str, other: &str) -> Option<String> {
        Some(one.parse::<usize>().ok()?.max(other.parse().ok()?).to_string())
    }

    fn last_write(&self) -> Option<u64> {
        Some(self.state.mutations.load(Ordering::SeqCst) as u64)
    }

    /// Everything depends on mutations.
    fn is_unwritten_since(&self, _mark: u32, write: u64) -> bool {
        self.state.mutations.load(Ordering::SeqCst) as u64 <= write
    }
}

/// Counts a subscription as long as it lives.
struct Counted(Arc<State>);

impl Counted {
    fn new(state: &Arc<State>) -> Self {
        state.subscriptions.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(state))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.subscriptions.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Parts {
    unready: Vec<UnreadyPart>,
    draining: CancellationToken,
}

#[async_trait]
impl Readiness for Parts {
    async fn condition(&self) -> ReadinessReport {
        let stopping = UnreadyPart { part: "process".to_owned(), reason: "it is stopping".to_owned() };
        let stopping = self.draining.is_cancelled().then_some(stopping);
        ReadinessReport {
            unready: self.unready.iter().cloned().chain(stopping).collect(),
            limited: Vec::new(),
        }
    }
}
