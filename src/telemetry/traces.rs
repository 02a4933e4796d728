//! Traces: the spans of requests, of their executions, and of the operations on the store behind them, handed
//! to the OpenTelemetry SDK when they have ended. It sends them in batches from a thread of its own, and
//! drops spans that do not fit its queue. Names follow the semantic conventions for HTTP servers, GraphQL
//! servers, database clients and Azure Cosmos DB.

use std::time::{Duration, SystemTime};

use opentelemetry::trace::{
    SpanContext as SdkSpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{ExporterBuildError, Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkError;
use opentelemetry_sdk::trace::{
    BatchSpanProcessor, IdGenerator as _, RandomIdGenerator, Sampler, SamplingDecision, ShouldSample as _,
    SpanData, SpanEvents, SpanLinks, SpanProcessor as _,
};

use super::names::traced;
use onehop_graphql_server::observer::{Answered, Executed, RequestSpan};
use onehop_runtime::trace_context::{RemoteParent, SpanContext};
use onehop_store::{ChargeSource, ObservedOperation};

/// The name of the process, unless `OTEL_SERVICE_NAME` says otherwise.
const SERVICE_NAME: &str = "onehop";
/// Timeout of sending the last spans when the process stops.
const LAST_SPANS_MAX: Duration = Duration::from_secs(2);
/// Asked by machines every few seconds, and of no interest.
const UNTRACED_ROUTES: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// Where traces go, and how many there are.
#[derive(Debug, Clone, PartialEq)]
pub struct TraceSettings {
    /// Of the collector: the URL that takes spans by OTLP over HTTP.
    pub endpoint: String,
    /// The share of traces that is recorded, from 0 to 1.
    pub sample_ratio: f64,
    /// The name of the store: `db.system.name`.
    pub store_system: &'static str,
}

/// Why spans are not sent.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("spans cannot be sent there")]
    Exporter(#[from] ExporterBuildError),
    #[error("the last spans could not be sent")]
    Last(#[from] OTelSdkError),
}

/// Makes spans and has them sent.
#[derive(Debug)]
pub struct Traces {
    processor: BatchSpanProcessor,
    sampler: Sampler,
    ids: RandomIdGenerator,
    scope: InstrumentationScope,
    store_system: &'static str,
}

/// The attributes of one span.
struct SpanAttributes {
    span: SpanContext,
    parent: Option<u64>,
    parent_is_remote: bool,
    kind: SpanKind,
    name: String,
    duration: Duration,
    attributes: Vec<KeyValue>,
    has_failed: bool,
}

impl Traces {
    /// Starts the thread that sends. The environment's attributes of the resource and its headers hold, too:
    /// <https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/>.
    ///
    /// # Errors
    /// The endpoint is no URL, or no HTTP client can be made.
    pub fn start(settings: &TraceSettings) -> Result<Self, TraceError> {
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(&settings.endpoint)
            .build()?;
        let ids = RandomIdGenerator::default();
        let mut processor = BatchSpanProcessor::builder(exporter).build();
        let resource = Resource::builder().with_attributes(resource(&ids)).build();
        processor.set_resource(&resource);
        Ok(Self {
            processor,
            sampler: Sampler::TraceIdRatioBased(settings.sample_ratio),
            ids,
            scope: InstrumentationScope::builder(SERVICE_NAME)
                .with_version(env!("CARGO_PKG_VERSION"))
                .build(),
            store_system: settings.store_system,
        })
    }

    /// Sends the remaining spans, for a short while, and ends. Blocks.
    ///
    /// # Errors
    /// Some spans were not taken.
    pub fn stop(&self) -> Result<(), TraceError> {
        Ok(self.processor.shutdown_with_timeout(LAST_SPANS_MAX)?)
    }

    /// A caller's trace goes on where the caller records it, and this process records its share of traces at
    /// most, so no client decides how much is sent.
    pub(super) fn request_span(&self, route: &str, traceparent: Option<&str>) -> Option<RequestSpan> {
        if UNTRACED_ROUTES.contains(&route) {
            return None;
        }
        let remote = traceparent.and_then(RemoteParent::parse);
        if remote.is_some_and(|remote| !remote.is_sampled) {
            return None;
        }
        let trace_id = remote.map_or_else(|| self.ids.new_trace_id(), |remote| id(remote.span.trace_id));
        let sampled = self.sampler.should_sample(None, trace_id, "", &SpanKind::Server, &[], &[]);
        if sampled.decision != SamplingDecision::RecordAndSample {
            return None;
        }
        let trace_id = u128::from_be_bytes(trace_id.to_bytes());
        let span = SpanContext { trace_id, span_id: self.new_span_id() };
        Some(RequestSpan { span, remote_parent: remote.map(|remote| remote.span.span_id) })
    }

    pub(super) fn child_span(&self, parent: SpanContext) -> SpanContext {
        SpanContext { span_id: self.new_span_id(), ..parent }
    }

    pub(super) fn answered(&self, answered: &Answered) {
        let Answered { method, route, status, duration, span, .. } = *answered;
        let Some(RequestSpan { span, remote_parent }) = span else { return };
        let has_failed = status >= 500;
        let mut attributes = vec![
            KeyValue::new("http.request.method", method),
            KeyValue::new("http.route", route),
            KeyValue::new("url.scheme", "http"),
            KeyValue::new("http.response.status_code", i64::from(status)),
        ];
        if has_failed {
            attributes.push(KeyValue::new("error.type", status.to_string()));
        }
        self.end(SpanAttributes {
            span,
            parent: remote_parent,
            parent_is_remote: true,
            kind: SpanKind::Server,
            name: format!("{method} {route}"),
            duration,
            attributes,
            has_failed,
        });
    }

    pub(super) fn executed(&self, executed: &Executed<'_>) {
        let Some(span) = executed.span else { return };
        let mut attributes = vec![
            KeyValue::new("graphql.operation.type", executed.operation_type),
            KeyValue::new("graphql.operation.name", traced(executed.operation_name).to_owned()),
            KeyValue::new("onehop.request_charge", executed.request_charge),
        ];
        if executed.has_errors {
            attributes.push(KeyValue::new("error.type", executed.error_code.unwrap_or("_OTHER").to_owned()));
        }
        self.end(SpanAttributes {
            span,
            parent: executed.parent.map(|parent| parent.span_id),
            parent_is_remote: false,
            kind: SpanKind::Internal,
            name: executed.operation_type.to_owned(),
            duration: executed.duration,
            attributes,
            has_failed: executed.has_errors,
        });
    }

    pub(super) fn on_operation(&self, operated: &ObservedOperation<'_>) {
        let Some(parent) = operated.span else { return };
        let (container, operation) = (operated.container.0, operated.kind.name());
        let (charge, items) = operated.records.iter().fold((0.0, 0), |(charge, items), record| {
            (charge + record.charge.0, items + i64::from(record.items))
        });
        let is_estimated = operated.records.iter().any(|record| record.source == ChargeSource::Estimated);
        let mut attributes = vec![
            KeyValue::new("db.system.name", self.store_system),
            KeyValue::new("db.collection.name", container),
            KeyValue::new("db.operation.name", operation),
            KeyValue::new("azure.cosmosdb.operation.request_charge", charge),
            KeyValue::new("onehop.request_charge.is_estimated", is_estimated),
        ];
        if !operated.kind.writes() {
            attributes.push(KeyValue::new("db.response.returned_rows", items));
        }
        if let Some(kind) = operated.failed {
            attributes.push(KeyValue::new("error.type", kind.name()));
        }
        self.end(SpanAttributes {
            span: self.child_span(parent),
            parent: Some(parent.span_id),
            parent_is_remote: false,
            kind: SpanKind::Client,
            name: format!("{operation} {container}"),
            duration: operated.duration,
            attributes,
            has_failed: operated.failed.is_some(),
        });
    }

    fn new_span_id(&self) -> u64 {
        u64::from_be_bytes(self.ids.new_span_id().to_bytes())
    }

    fn end(&self, ended: SpanAttributes) {
        let SpanAttributes { span, parent, parent_is_remote, kind, name, duration, attributes, has_failed } =
            ended;
        let end_time = now();
        self.processor.on_end(SpanData {
            span_context: SdkSpanContext::new(
                id(span.trace_id),
                SpanId::from_bytes(span.span_id.to_be_bytes()),
                TraceFlags::SAMPLED,
                false,
                TraceState::NONE,
            ),
            parent_span_id: parent.map_or(SpanId::INVALID, |id| SpanId::from_bytes(id.to_be_bytes())),
            parent_span_is_remote: parent_is_remote && parent.is_some(),
            span_kind: kind,
            name: name.into(),
            start_time: end_time.checked_sub(duration).unwrap_or(end_time),
            end_time,
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: if has_failed { Status::error("") } else { Status::Unset },
            instrumentation_scope: self.scope.clone(),
        });
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a span is a matter of microseconds, which Clock does not measure"
)]
fn now() -> SystemTime {
    SystemTime::now()
}

fn id(trace_id: u128) -> TraceId {
    TraceId::from_bytes(trace_id.to_be_bytes())
}

/// The attributes of the process, where the environment has no others.
fn resource(ids: &RandomIdGenerator) -> Vec<KeyValue> {
    let instance = uuid::Builder::from_random_bytes(ids.new_trace_id().to_bytes()).into_uuid();
    let mut attributes = vec![
        KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
        KeyValue::new("service.instance.id", instance.to_string()),
    ];
    if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
        attributes.push(KeyValue::new("service.name", SERVICE_NAME));
    }
    attributes
}
