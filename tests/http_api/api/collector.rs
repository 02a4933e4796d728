//! A collector of traces, as OTLP over HTTP has it.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::routing::post;
use onehop_graphql_server::server::Server as HttpServer;
use onehop_runtime::tasks::Tasks;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

/// Takes all requests.
pub struct Collector {
    pub endpoint: String,
    taken: Arc<Mutex<Vec<Bytes>>>,
    tasks: Tasks,
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.tasks.stop();
    }
}

impl Collector {
    pub async fn start() -> Self {
        let taken: Arc<Mutex<Vec<Bytes>>> = Arc::default();
        let takes = Arc::clone(&taken);
        let take = async move |headers: HeaderMap, body: Bytes| {
            assert_eq!(headers["content-type"], "application/x-protobuf");
            takes.lock().unwrap().push(body);
        };
        let server = HttpServer::bind((Ipv4Addr::LOCALHOST, 0).into()).await.unwrap();
        let (endpoint, tasks) = (format!("http://{}", server.local_address()), Tasks::new());
        let (router, stop) = (Router::new().route("/v1/traces", post(take)), tasks.soft_stop());
        tasks.spawn("collector", async move {
            server.serve(router, stop, Duration::ZERO).await;
            Ok::<(), std::convert::Infallible>(())
        });
        Self { endpoint, taken, tasks }
    }

    /// Where it takes spans.
    pub fn traces_url(&self) -> String {
        format!("{}/v1/traces", self.endpoint)
    }

    /// All received bodies, as one text; bodies that are no text are left out.
    pub fn raw(&self) -> String {
        self.taken.lock().unwrap().iter().map(|body| String::from_utf8_lossy(body).into_owned()).collect()
    }

    fn requests(&self) -> Vec<ExportTraceServiceRequest> {
        let taken = self.taken.lock().unwrap();
        taken.iter().map(|body| ExportTraceServiceRequest::decode(body.clone()).unwrap()).collect()
    }

    /// The process's attributes of itself.
    pub fn resource(&self) -> Vec<KeyValue> {
        let requests = self.requests();
        requests[0].resource_spans[0].resource.clone().unwrap().attributes
    }

    pub fn spans(&self) -> Vec<Span> {
        let resources = self.requests().into_iter().flat_map(|request| request.resource_spans);
        resources.flat_map(|resource| resource.scope_spans).flat_map(|scope| scope.spans).collect()
    }

    /// The spans of the trace in which an operation with this name was executed.
    pub fn trace_of(&self, operation_name: &str) -> Vec<Span> {
        let spans = self.spans();
        let named = |span: &&Span| {
            text(&span.attributes, "graphql.operation.name").as_deref() == Some(operation_name)
        };
        let trace_id = spans.iter().find(named).expect("a span of the operation").trace_id.clone();
        spans.into_iter().filter(|span| span.trace_id == trace_id).collect()
    }
}

fn value(attributes: &[KeyValue], key: &str) -> Option<Value> {
    let attribute = attributes.iter().find(|attribute| attribute.key == key)?;
    attribute.value.clone().and_then(|AnyValue { value }| value)
}

/// An attribute that is a text.
pub fn text(attributes: &[KeyValue], key: &str) -> Option<String> {
    match value(attributes, key)? {
        Value::StringValue(text) => Some(text),
        other => panic!("{key}: {other:?}"),
    }
}

/// An attribute that is a number.
pub fn number(attributes: &[KeyValue], key: &str) -> Option<f64> {
    match value(attributes, key)? {
        Value::DoubleValue(number) => Some(number),
        Value::IntValue(number) => Some(number as f64),
        other => panic!("{key}: {other:?}"),
    }
}
