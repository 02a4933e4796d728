//! Telemetry: metrics for Prometheus, and traces for OpenTelemetry collectors. Names follow the semantic
//! conventions where they have one, <https://opentelemetry.io/docs/specs/semconv/>. No label and no attribute
//! ever holds a document, a variable, a token or anything else that a client wrote, but for the names of
//! operations, of which there are few.

mod families;
#[cfg(test)]
mod kept_lines;
mod metrics;
mod names;
mod partitions;
mod process;
mod recent_lines;
mod repeated_lines;
mod request_log;
mod traces;
mod watch;

pub use metrics::{EmbeddedGauges, Gauges, Metrics};
pub use names::OPERATION_NAMES_MAX;
pub use partitions::{
    COUNTERS_MAX, ContainerLoad, HotKey, HotPartition, HotPartitions, PartitionKeyExposure,
};
pub use recent_lines::{RECENT_LINES_MAX, RecentLines};
pub use repeated_lines::{EVERY_LINE, LINES_PER_PLACE_MAX, LeftOut, RepeatedLines};
pub use request_log::{RequestLog, RequestLogSettings};
pub use traces::{TraceError, TraceSettings, Traces};
pub use watch::Telemetry;
