//! Public endpoint of the operations API: its queries over HTTP, under the middleware of the other routes. It
//! answers one query at a time as `application/json`, within the rate limit, the time limit and the
//! concurrency limit of `/graphql`. A request with the [`OperatorKey`] reads stored items, too.

use std::sync::Arc;

use async_graphql::{EmptyMutation, EmptySubscription, Schema, Value};
use async_graphql_axum::GraphQLResponse;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::HeaderValue;
use axum::http::header::CACHE_CONTROL;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use onehop_graphql_server::document_cache::Documents;
use onehop_graphql_server::document_limits::DocumentLimits;
use onehop_graphql_server::endpoint::GraphqlEndpoint;
use onehop_graphql_server::pipeline::parse::BodyLimits;
use onehop_graphql_server::pipeline::rate_limit::RequestQuota;
use onehop_graphql_server::quota::QuotaAccount;
use onehop_graphql_server::refusal::Refusal;
use onehop_store::Ledger;

use super::audience::Audience;
use super::context::Context;
use super::operator_key::OperatorKey;
use super::partitions::hundredths;
use super::progress_channels::ProgressChannels;
use super::query::OperationsQuery;
use super::{PATH, PublicSchema};
use crate::app::OperatedDomain;

/// Bytes of one request.
const REQUEST_BYTES_MAX: usize = 4 * 1024;
/// Levels of fields in one query. The usual introspection query has 13.
const DEPTH_MAX: usize = 16;
/// Limits of one document. async-graphql visits a fragment wherever it is spread, before it counts
/// anything: here each spread is counted expanded, before that.
const DOCUMENT_LIMITS: DocumentLimits = DocumentLimits {
    bytes_max: REQUEST_BYTES_MAX,
    depth_max: DEPTH_MAX,
    tokens_max: 1_000,
    selections_max: 300,
    aliases_max: 10,
    directives_max: 10,
    query_root_fields_max: 4,
    mutation_root_fields_max: 0,
};
/// Complexity of one query: about the number of values in its answer, and 500 for each field that reads
/// the store.
const COMPLEXITY_MAX: usize = 15_000;
/// Request units that one query is charged to its caller, beside its reads: an embedded store counts
/// pending changes.
const QUERY_REQUEST_CHARGE: f64 = 10.0;

/// The visible parts of the public endpoint.
#[derive(Debug, Clone)]
pub struct PublicOptions {
    /// Whether clients may ask for the schema.
    pub introspection: bool,
    /// Whether an error suggests names that are like an unknown one.
    pub suggestions: bool,
    /// The key with which stored items are read; `None` where none is accepted.
    pub operator_key: Option<OperatorKey>,
}

/// The context of the handler.
#[derive(Clone)]
struct Endpoint {
    schema: PublicSchema,
    documents: Arc<Documents>,
    graphql: Arc<GraphqlEndpoint>,
    operator_key: Option<OperatorKey>,
}

/// The route of the public endpoint. Its callers have the quotas of the other endpoint.
pub fn public_routes(
    domain: impl Into<OperatedDomain>,
    graphql: &Arc<GraphqlEndpoint>,
    options: PublicOptions,
) -> Router {
    let endpoint = Endpoint {
        schema: schema(domain.into(), &options),
        operator_key: options.operator_key,
        documents: Arc::new(Documents::new(DOCUMENT_LIMITS)),
        graphql: Arc::clone(graphql),
    };
    Router::new().route(PATH, post(answer).with_state(endpoint))
}

fn schema(domain: OperatedDomain, options: &PublicOptions) -> PublicSchema {
    let context = Context {
        domain,
        allows_demo: false,
        audience: Audience::Public,
        progress: Arc::<ProgressChannels>::default(),
        sources: None,
    };
    let builder = Schema::build(OperationsQuery, EmptyMutation, EmptySubscription).data(context);
    let mut builder = builder.limit_depth(DEPTH_MAX).limit_complexity(COMPLEXITY_MAX);
    if !options.introspection {
        builder = builder.disable_introspection();
    }
    if !options.suggestions {
        builder = builder.disable_suggestions();
    }
    builder.finish()
}

/// Answers one query.
async fn answer(State(endpoint): State<Endpoint>, request: Request) -> Response {
    let graphql = Arc::clone(&endpoint.graphql);
    let quota = Arc::new(graphql.request_quota(request.headers(), request.extensions()));
    let answered = graphql.in_time(endpoint.answer(request, &quota)).await;
    let mut response = answered.into_response();
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    quota.write_headers(response.headers_mut());
    response
}

impl Endpoint {
    async fn answer(&self, request: Request, quota: &Arc<RequestQuota>) -> Result<Response<Body>, Refusal> {
        let audience = match &self.operator_key {
            Some(key) if key.authorizes(request.headers()) => Audience::KeyHolder,
            _ => Audience::Public,
        };
        // A form of another site cannot have JSON's media type, and nothing is uploaded.
        let limits = BodyLimits { bytes_max: REQUEST_BYTES_MAX, ..BodyLimits::default() };
        let prepared = self.graphql.prepare_side_request(request, quota, &limits, &self.documents).await;
        let mut request = prepared?;
        let _admitted = self.graphql.concurrency_limit().admit(1).await?;
        quota.charge(QUERY_REQUEST_CHARGE);
        let ledger = Arc::new(Ledger::new());
        let data = request.take().data(Arc::clone(&ledger)).data(audience);
        let mut response = self.schema.execute(data).await;
        quota.charge(ledger.total().0);
        response.extensions.insert("requestCharge".to_owned(), Value::from(hundredths(ledger.total().0)));
        request.complete(&mut response);
        Ok(GraphQLResponse::from(response).into_response())
    }
}
