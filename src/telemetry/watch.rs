//! Telemetry observer: passes requests and store operations to the metrics, and to the traces where they are
//! enabled.

use std::time::Duration;

use super::{Metrics, RequestLog, Traces};
use onehop_graphql_server::observer::{Answered, Executed, HttpObserver, RequestSpan};
use onehop_runtime::trace_context::SpanContext;
use onehop_store::{CommitPhase, ObservedOperation, StoreObserver};

/// The telemetry of a process.
#[derive(Default)]
pub struct Telemetry {
    pub metrics: Metrics,
    pub traces: Option<Traces>,
    pub requests: RequestLog,
}

impl HttpObserver for Telemetry {
    fn request_span(&self, route: &'static str, traceparent: Option<&str>) -> Option<RequestSpan> {
        self.traces.as_ref()?.request_span(route, traceparent)
    }

    fn child_span(&self, parent: SpanContext) -> Option<SpanContext> {
        Some(self.traces.as_ref()?.child_span(parent))
    }

    fn answered(&self, answered: &Answered) {
        self.metrics.answered(answered);
        self.requests.answered(answered);
        if let Some(traces) = &self.traces {
            traces.answered(answered);
        }
    }

    fn executed(&self, executed: &Executed<'_>) {
        self.metrics.executed(executed);
        self.requests.executed(executed);
        if let Some(traces) = &self.traces {
            traces.executed(executed);
        }
    }
}

impl StoreObserver for Telemetry {
    fn on_commit(&self, duration: Duration) {
        self.metrics.on_commit(duration);
    }

    fn on_commit_phase(&self, phase: CommitPhase, duration: Duration) {
        self.metrics.on_commit_phase(phase, duration);
    }

    fn on_operation(&self, operated: &ObservedOperation<'_>) {
        self.metrics.on_operation(operated);
        if let Some(traces) = &self.traces {
            traces.on_operation(operated);
        }
    }
}
