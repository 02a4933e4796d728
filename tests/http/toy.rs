//! A toy schema with one field for each way a request can go, and a server that serves it.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_graphql::{
    Context, EmptySubscription, Enum, ErrorExtensions, ID, InputObject, Object, Request, Response, Schema,
    ServerError, Value, Variables, parser::types::OperationDefinition,
};
use async_trait::async_trait;
use axum::Router;
use onehop::{
    http::{
        admission::Admission,
        document::Document,
        graphql_http::{GraphqlEndpoint, RequestLimits},
        graphql_service::{GraphqlService, RequestRejection},
        health::{Readiness, UnreadyPart},
        limit_exceeded::LimitExceeded,
        router::{Exposure, HttpParts, router},
        server::{ConnectionLimits, Server},
        static_files::StaticFiles,
    },
    lifecycle::Tasks,
};
use tokio::sync::Notify;
use uuid::Uuid;

pub const LONG: Duration = Duration::from_secs(3600);

/// The id of every fault.
pub const ERROR_ID: Uuid = Uuid::from_u128(7);

/// A server that lives as long as this value.
pub struct Toy {
    pub address: SocketAddr,
    pub state: Arc<State>,
    pub tasks: Tasks,
    pub admission: Admission,
}

/// What the resolvers and the tests share.
#[derive(Default)]
pub struct State {
    pub mutations: AtomicUsize,
    /// Told when the field `waits` has begun; awaited by it before it answers.
    pub begun: Notify,
    pub released: Notify,
}

#[derive(Clone)]
pub struct Options {
    pub limits: RequestLimits,
    pub connections: ConnectionLimits,
    pub stop_deadline: Duration,
    pub unready: Vec<UnreadyPart>,
    pub exposure: Exposure,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            limits: RequestLimits::default(),
            connections: ConnectionLimits::default(),
            stop_deadline: LONG,
            unready: Vec::new(),
            exposure: Exposure::default(),
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
        let admission = graphql.admission().clone();
        let router = toy_router(graphql, &options);
        let server = Server::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let server = server.with_limits(options.connections);
        let (address, tasks) = (server.local_address(), Tasks::new());
        let (stop, deadline) = (tasks.soft_stop(), options.stop_deadline);
        tasks.spawn("http", async move {
            server.serve(router, stop, deadline).await;
            Ok::<_, Infallible>(())
        });
        Self { address, state, tasks, admission }
    }
}

/// All routes over an endpoint.
pub fn toy_router(graphql: GraphqlEndpoint, options: &Options) -> Router {
    router(HttpParts {
        graphql: Arc::new(graphql),
        readiness: Arc::new(Parts(options.unready.clone())),
        static_files: StaticFiles::from_source(|_| None),
        exposure: options.exposure.clone(),
        error_ids: Arc::new(|| ERROR_ID),
    })
}

/// The endpoint alone, for tests without sockets.
pub fn toy_endpoint(state: &Arc<State>, options: &Options) -> GraphqlEndpoint {
    let schema =
        Schema::build(Query, Mutation, EmptySubscription).data(Arc::clone(state)).limit_depth(5).finish();
    let sdl = schema.sdl();
    GraphqlEndpoint::new(Arc::new(Service { schema }), &sdl, options.limits)
        .unwrap()
        .with_allowed_origins(options.exposure.allowed_origins.clone())
}

struct Viewer(Option<String>);

struct Service {
    schema: Schema<Query, Mutation, EmptySubscription>,
}

/// What a request may select.
pub const COMPLEXITY_MAX: usize = 40;

#[async_trait]
impl GraphqlService for Service {
    fn complexity(
        &self,
        document: &Document,
        _operation: &OperationDefinition,
        _variables: &Variables,
    ) -> Result<usize, ServerError> {
        self.check_complexity(document.size.selections)?;
        Ok(document.size.selections)
    }

    fn check_complexity(&self, complexity: usize) -> Result<(), LimitExceeded> {
        LimitExceeded::new("complexity-max", COMPLEXITY_MAX, "The request asks for more than", "fields")
            .unless(complexity <= COMPLEXITY_MAX)
    }

    async fn execute(&self, request: Request, bearer: Option<&str>) -> Result<Response, RequestRejection> {
        match bearer {
            Some("forged") => Err(RequestRejection::InvalidToken),
            Some("overloaded") => {
                Err(RequestRejection::Unavailable { retry_after: Some(Duration::from_millis(1500)) })
            }
            bearer => {
                let request = request.data(Viewer(bearer.map(str::to_owned)));
                let response = self.schema.execute(request).await;
                Ok(response.extension("requestCharge", Value::from(1)))
            }
        }
    }
}

struct Parts(Vec<UnreadyPart>);

#[async_trait]
impl Readiness for Parts {
    async fn unready_parts(&self) -> Vec<UnreadyPart> {
        self.0.clone()
    }
}

#[derive(Enum, Copy, Clone, PartialEq, Eq)]
enum Tone {
    Warm,
    Cold,
}

#[derive(InputObject)]
struct Greeting {
    name: String,
    #[graphql(default_with = "Tone::Warm")]
    tone: Tone,
    times: Option<i32>,
}

struct Query;

#[Object]
impl Query {
    async fn greet(&self, greeting: Greeting) -> String {
        let name = greeting.name.repeat(greeting.times.unwrap_or(1).try_into().unwrap_or(0));
        match greeting.tone {
            Tone::Warm => format!("Welcome, {name}!"),
            Tone::Cold => name,
        }
    }

    async fn item(&self, id: ID) -> String {
        id.to_string()
    }

    async fn page(&self, #[graphql(default = 20)] first: i32, after: Option<String>) -> String {
        format!("{first} after {after:?}")
    }

    async fn viewer(&self, context: &Context<'_>) -> Option<String> {
        context.data_unchecked::<Viewer>().0.clone()
    }

    async fn nested(&self) -> Query {
        Query
    }

    async fn fails(&self) -> async_graphql::Result<Option<String>> {
        Err(async_graphql::Error::new("out of order")
            .extend_with(|_, error| error.set("code", "UNAVAILABLE")))
    }

    async fn fails_without_null(&self) -> async_graphql::Result<String> {
        Err(async_graphql::Error::new("out of order"))
    }

    async fn panics(&self) -> String {
        fault()
    }

    async fn waits(&self, context: &Context<'_>) -> String {
        let state = context.data_unchecked::<Arc<State>>();
        state.begun.notify_one();
        state.released.notified().await;
        "done".to_owned()
    }
}

fn fault() -> String {
    panic!("a secret of the server")
}

struct Mutation;

#[Object]
impl Mutation {
    async fn count(&self, context: &Context<'_>) -> usize {
        context.data_unchecked::<Arc<State>>().mutations.fetch_add(1, Ordering::Relaxed) + 1
    }
}
