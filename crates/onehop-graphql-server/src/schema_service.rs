//! A ready-made service: an async-graphql schema without accounts, quotas of its own or read positions.
//!
//! It is for programs that need no more than limits and transports, and an example for programs that write a
//! [`GraphqlService`] of their own: with authentication, request charges and read-your-writes.

use std::sync::Arc;
use std::time::Duration;

use async_graphql::extensions::{Extension, ExtensionContext, ExtensionFactory, NextExecute};
use async_graphql::parser::types::{ExecutableDocument, OperationDefinition};
use async_graphql::{ObjectType, Request, Response, Schema, ServerError, SubscriptionType, Variables};
use async_trait::async_trait;
use futures::stream::{BoxStream, StreamExt as _};
use onehop_runtime::trace_context::SpanContext;

use crate::caller::{Caller, RequestRejection};
use crate::document::Document;
use crate::limit_exceeded::LimitExceeded;
use crate::pipeline::context::RequestContext;
use crate::position::{InvalidPosition, Reach};
use crate::quota::{ChargeRecord, NoCharges};
use crate::service::{COMPLEXITY_MAX, GraphqlService};

/// Executes requests by a schema. Every caller is anonymous: a request with an access token is refused.
///
/// The complexity of a request is the number of fields that it selects. Resolvers find the
/// [`RequestContext`](crate::pipeline::context::RequestContext) as `Arc<RequestContext>` in their data.
pub struct SchemaService<Q, M, S> {
    schema: Schema<Q, M, S>,
    complexity_max: usize,
}

impl<Q, M, S> SchemaService<Q, M, S> {
    /// A service for a schema. One with subscriptions is built with the extension [`AdmitEvents`].
    #[must_use]
    pub fn new(schema: Schema<Q, M, S>) -> Self {
        Self { schema, complexity_max: COMPLEXITY_MAX }
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
    fn complexity(
        &self,
        document: &Document,
        _operation: &OperationDefinition,
        _variables: &Variables,
    ) -> Result<usize, ServerError> {
        let selections = document.size.selections;
        LimitExceeded::new("complexity-max", self.complexity_max, "The request asks for more than", "fields")
            .unless(selections <= self.complexity_max)?;
        Ok(selections)
    }

    fn validate(
        &self,
        _document: &Document,
        _operation_name: Option<&str>,
        _variables: &Variables,
    ) -> Result<bool, Vec<ServerError>> {
        // The schema validates during execution.
        Ok(false)
    }

    fn new_charge_record(&self, _span: Option<SpanContext>) -> Arc<dyn ChargeRecord> {
        Arc::new(NoCharges)
    }

    async fn authenticate(
        &self,
        _bearer: &str,
        _charges: &dyn ChargeRecord,
    ) -> Result<Caller, RequestRejection> {
        Err(RequestRejection::InvalidToken)
    }

    async fn execute(&self, request: Request, context: &Arc<RequestContext>) -> Response {
        self.schema.execute(request.data(Arc::clone(context))).await
    }

    async fn subscribe(
        &self,
        request: Request,
        context: &Arc<RequestContext>,
    ) -> Result<BoxStream<'static, Response>, Response> {
        Ok(self.schema.execute_stream(request.data(Arc::clone(context))).boxed())
    }

    async fn reach(
        &self,
        _position: &str,
        _wait_max: Duration,
        _charges: &dyn ChargeRecord,
    ) -> Result<Reach, InvalidPosition> {
        Err(InvalidPosition)
    }

    fn last_write(&self) -> Option<u64> {
        None
    }

    fn is_unwritten_since(&self, _mark: u32, _write: u64) -> bool {
        false
    }

    fn is_personal(&self, _document: &ExecutableDocument) -> bool {
        false
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
    use async_graphql::{EmptyMutation, EmptySubscription, Object};
    use axum::body::{Body, to_bytes};
    use axum::http::Request as HttpRequest;
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::endpoint::{GraphqlEndpoint, RequestLimits};

    struct Query;

    #[Object]
    impl Query {
        async fn greeting(&self, name: String) -> String {
            format!("Hello, {name}!")
        }
    }

    async fn post(query: &str, token: Option<&str>) -> (u16, Json) {
        let schema = Schema::build(Query, EmptyMutation, EmptySubscription).finish();
        let sdl = schema.sdl();
        let service = SchemaService::new(schema).with_complexity_max(2);
        let endpoint = GraphqlEndpoint::new(Arc::new(service), &sdl, RequestLimits::default()).unwrap();
        let mut request = HttpRequest::post("/graphql").header("content-type", "application/json");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let body = Body::from(json!({ "query": query }).to_string());
        let response = endpoint.handle(request.body(body).unwrap()).await;
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), 65_536).await.unwrap();
        (status, serde_json::from_slice(&bytes).unwrap())
    }

    #[tokio::test]
    async fn a_schema_is_served_within_the_limits() {
        let (status, answer) = post("{ greeting(name: \"Ada\") }", None).await;
        assert_eq!((status, &answer["data"]), (200, &json!({ "greeting": "Hello, Ada!" })));
        let three = "{ a: greeting(name: \"\") b: greeting(name: \"\") c: greeting(name: \"\") }";
        let (status, answer) = post(three, None).await;
        assert_eq!((status, &answer["errors"][0]["extensions"]["limit"]), (400, &json!("complexity-max")));
    }

    #[tokio::test]
    async fn an_access_token_is_refused_by_a_service_without_accounts() {
        let (status, answer) = post("{ greeting(name: \"Ada\") }", Some("token")).await;
        assert_eq!((status, &answer["errors"][0]["extensions"]["code"]), (401, &json!("UNAUTHENTICATED")));
    }
}
