//! A ready-made service: an async-graphql schema, with the accounts and the read-your-writes of the program
//! where it has them.
//!
//! A program that states request charges, compiles plans or serves live queries writes a [`GraphqlService`]
//! of its own.

use std::sync::Arc;

use async_graphql::extensions::{Extension, ExtensionContext, ExtensionFactory, NextExecute};
use async_graphql::parser::types::{ExecutableDocument, OperationDefinition};
use async_graphql::{ObjectType, Request, Response, Schema, ServerError, SubscriptionType, Value, Variables};
use async_trait::async_trait;
use futures::stream::{BoxStream, StreamExt as _};

use crate::authentication::{Authentication, NoAccounts};
use crate::document::Document;
use crate::pipeline::context::RequestContext;
use crate::position::{NoPositions, POSITION, Positions, WrittenPositions};
use crate::service::{COMPLEXITY_MAX, GraphqlService, selected_fields};

/// Executes requests by a schema. Without accounts every caller is anonymous, and a request with an access
/// token is refused.
///
/// The complexity of a request is the number of fields that it selects. Resolvers find the
/// [`RequestContext`], which has the caller, as `Arc<RequestContext>` in their data, and those of mutations
/// [`WrittenPositions`].
pub struct SchemaService<Q, M, S> {
    schema: Schema<Q, M, S>,
    complexity_max: usize,
    /// `None` without accounts.
    authentication: Option<Arc<dyn Authentication>>,
    positions: Arc<dyn Positions>,
}

impl<Q, M, S> SchemaService<Q, M, S> {
    /// A service for a schema. One with subscriptions is built with the extension [`AdmitEvents`].
    #[must_use]
    pub fn new(schema: Schema<Q, M, S>) -> Self {
        let positions = Arc::new(NoPositions);
        Self { schema, complexity_max: COMPLEXITY_MAX, authentication: None, positions }
    }

    /// The same, for the callers that these accounts know by their access tokens.
    #[must_use]
    pub fn with_auth(self, authentication: impl Authentication) -> Self {
        Self { authentication: Some(Arc::new(authentication)), ..self }
    }

    /// The same, with read-your-writes: a query waits for the positions that mutations gave.
    #[must_use]
    pub fn with_positions(self, positions: impl Positions) -> Self {
        Self { positions: Arc::new(positions), ..self }
    }

    /// The same, for requests of at most this many fields.
    #[must_use]
    pub fn with_complexity_max(self, complexity_max: usize) -> Self {
        Self { complexity_max, ..self }
    }
}

#[async_trait]
impl<Q, M, S> GraphqlService for SchemaService<Q, M, S>
where
    Q: ObjectType + 'static,
    M: ObjectType + 'static,
    S: SubscriptionType + 'static,
{
    async fn execute(&self, request: Request, context: &Arc<RequestContext>) -> Response {
        let written = WrittenPositions::default();
        let request = request.data(Arc::clone(context)).data(written.clone());
        let mut response = self.schema.execute(request).await;
        if let Some(waited) = context.waited {
            waited.state_in(&mut response.extensions);
        }
        if let Some(position) = written.joined(&*self.positions) {
            response.extensions.insert(POSITION.to_owned(), Value::from(position));
        }
        response
    }

    async fn subscribe(
        &self,
        request: Request,
        context: &Arc<RequestContext>,
    ) -> Result<BoxStream<'static, Response>, Response> {
        Ok(self.schema.execute_stream(request.data(Arc::clone(context))).boxed())
    }

    fn complexity(
        &self,
        document: &Document,
        _operation: &OperationDefinition,
        _variables: &Variables,
    ) -> Result<usize, ServerError> {
        selected_fields(document, self.complexity_max)
    }

    fn authentication(&self) -> &dyn Authentication {
        self.authentication.as_deref().unwrap_or(&NoAccounts)
    }

    fn positions(&self) -> &dyn Positions {
        &*self.positions
    }

    fn is_personal(&self, _document: &ExecutableDocument) -> bool {
        self.authentication.is_some()
    }
}

/// Extension of async-graphql: each event of a subscription is rate limited and admitted before it is
/// executed.
#[derive(Debug, Clone, Copy, Default)]
pub struct AdmitEvents;

impl ExtensionFactory for AdmitEvents {
    fn create(&self) -> Arc<dyn Extension> {
        Arc::new(Self)
    }
}

#[async_trait]
impl Extension for AdmitEvents {
    async fn execute(
        &self,
        ctx: &ExtensionContext<'_>,
        operation_name: Option<&str>,
        next: NextExecute<'_>,
    ) -> Response {
        let context = ctx.data_opt::<Arc<RequestContext>>();
        // The permit is kept until the event is executed.
        let _permit = match context.and_then(|context| context.event_admission.as_ref()) {
            Some(admission) => match admission.admit().await {
                Ok(permit) => Some(permit),
                Err(refusal) => return Response::from_errors(vec![refusal]),
            },
            None => None,
        };
        next.run(ctx, operation_name).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use async_graphql::{Context, EmptySubscription, Object};
    use axum::body::{Body, to_bytes};
    use axum::http::Request as HttpRequest;
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::caller::{Caller, RequestRejection};
    use crate::endpoint::{GraphqlEndpoint, RequestLimits};
    use crate::position::{InvalidPosition, NotReached, Reach};
    use crate::quota::ChargeRecord;

    struct Query;

    #[Object]
    impl Query {
        async fn greeting(&self, ctx: &Context<'_>, name: Option<String>) -> String {
            let caller = ctx.data_unchecked::<Arc<RequestContext>>().caller.as_ref();
            let name = name.or(caller.map(|caller| caller.id.clone()));
            format!("Hello, {}!", name.unwrap_or_default())
        }
    }

    struct Mutation;

    #[Object]
    impl Mutation {
        /// Two writes.
        async fn write(&self, ctx: &Context<'_>) -> bool {
            let written = ctx.data_unchecked::<WrittenPositions>();
            written.add("3");
            written.add("7");
            true
        }
    }

    /// A token is the name of its bearer.
    struct Names;

    #[async_trait]
    impl Authentication for Names {
        async fn authenticate(
            &self,
            bearer: &str,
            _charges: &dyn ChargeRecord,
        ) -> Result<Caller, RequestRejection> {
            let is_known = bearer == "ada";
            let caller = Caller {
                id: bearer.to_owned(),
                valid_for: Duration::from_secs(60),
                session: None,
                is_new: false,
                rights: 0,
            };
            is_known.then_some(caller).ok_or(RequestRejection::InvalidToken)
        }
    }

    /// A position is a number; reads have reached those up to this one.
    struct Numbers {
        reached: u64,
        asked: Arc<Mutex<Vec<u64>>>,
    }

    #[async_trait]
    impl Positions for Numbers {
        async fn reach(
            &self,
            position: &str,
            _wait_max: Duration,
            _charges: &dyn ChargeRecord,
        ) -> Result<Reach, InvalidPosition> {
            let position = position.parse().map_err(|_| InvalidPosition)?;
            self.asked.lock().unwrap().push(position);
            let is_reached = position <= self.reached;
            Ok(if is_reached { Reach::Reached } else { Reach::NotReached(NotReached::TimedOut) })
        }

        fn join(&self, one: &str, other: &str) -> Option<String> {
            Some(one.parse::<u64>().ok()?.max(other.parse().ok()?).to_string())
        }
    }

    type TestService = SchemaService<Query, Mutation, EmptySubscription>;

    fn service() -> TestService {
        SchemaService::new(Schema::new(Query, Mutation, EmptySubscription)).with_complexity_max(2)
    }

    fn endpoint(service: TestService) -> GraphqlEndpoint {
        let sdl = service.schema.sdl();
        GraphqlEndpoint::new(Arc::new(service), &sdl, RequestLimits::default()).unwrap()
    }

    async fn post(endpoint: &GraphqlEndpoint, body: Json, token: Option<&str>) -> (u16, Json) {
        let mut request = HttpRequest::post("/graphql").header("content-type", "application/json");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let response = endpoint.handle(request.body(Body::from(body.to_string())).unwrap()).await;
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), 65_536).await.unwrap();
        (status, serde_json::from_slice(&bytes).unwrap())
    }

    #[tokio::test]
    async fn a_schema_is_served_within_the_limits() {
        let endpoint = endpoint(service());
        let body = json!({ "query": "{ greeting(name: \"Ada\") }" });
        let (status, answer) = post(&endpoint, body, None).await;
        assert_eq!((status, &answer["data"]), (200, &json!({ "greeting": "Hello, Ada!" })));
        let three = json!({ "query": "{ a: greeting b: greeting c: greeting }" });
        let (status, answer) = post(&endpoint, three, None).await;
        assert_eq!((status, &answer["errors"][0]["extensions"]["limit"]), (400, &json!("complexity-max")));
    }

    #[tokio::test]
    async fn an_access_token_is_refused_by_a_service_without_accounts() {
        let (status, answer) =
            post(&endpoint(service()), json!({ "query": "{ greeting }" }), Some("ada")).await;
        assert_eq!((status, &answer["errors"][0]["extensions"]["code"]), (401, &json!("UNAUTHENTICATED")));
    }

    #[tokio::test]
    async fn resolvers_know_the_bearer_of_a_token() {
        let endpoint = endpoint(service().with_auth(Names));
        let body = json!({ "query": "{ greeting }" });
        let (status, answer) = post(&endpoint, body.clone(), Some("ada")).await;
        assert_eq!((status, &answer["data"]), (200, &json!({ "greeting": "Hello, ada!" })));
        let (status, _) = post(&endpoint, body.clone(), Some("eve")).await;
        assert_eq!(status, 401);
        let (status, answer) = post(&endpoint, body, None).await;
        assert_eq!((status, &answer["data"]), (200, &json!({ "greeting": "Hello, !" })));
    }

    #[tokio::test]
    async fn a_query_waits_for_the_union_of_a_mutations_writes() {
        let asked = Arc::<Mutex<Vec<u64>>>::default();
        let positions = Numbers { reached: 7, asked: Arc::clone(&asked) };
        let endpoint = endpoint(service().with_auth(Names).with_positions(positions));
        let (_, written) = post(&endpoint, json!({ "query": "mutation { write }" }), None).await;
        assert_eq!(written["extensions"]["position"], "7");

        let query =
            |position: &str| json!({ "query": "{ greeting }", "extensions": { "position": position } });
        let (_, answer) = post(&endpoint, query("7"), None).await;
        assert_eq!(answer["extensions"]["reached"], true);
        let (_, answer) = post(&endpoint, query("8"), None).await;
        assert_eq!(answer["extensions"], json!({ "reached": false, "notReached": "TIMED_OUT" }));
        let (status, _) = post(&endpoint, query("x"), None).await;
        assert_eq!(status, 400);
        assert_eq!(asked.lock().unwrap().drain(..).collect::<Vec<_>>(), [7, 8]);

        // A caller's own writes need not be named.
        post(&endpoint, json!({ "query": "mutation { write }" }), Some("ada")).await;
        post(&endpoint, json!({ "query": "{ greeting }" }), Some("ada")).await;
        assert_eq!(*asked.lock().unwrap(), [7]);
    }
}
