//! Telemetry: metrics for Prometheus, and traces for OpenTelemetry collectors. Names follow the semantic
//! conventions where they have one, <https://opentelemetry.io/docs/specs/semconv/>. No label and no attribute
//! ever holds a document, a variable, a token or anything else that a client wrote, but for the names of
//! operations, of which there are few.

mod families;
mod metrics;
mod names;
mod partitions;
mod process;
mod traces;
mod watch;

pub use metrics::{EmbeddedGauges, Gauges, Metrics};
pub use names::OPERATION_NAMES_MAX;
pub use partitions::{
    COUNTERS_MAX, ContainerLoad, HotKey, HotPartition, HotPartitions, PartitionKeyExposure,
};
pub use traces::{TraceError, TraceSettings, Traces};
pub use watch::Telemetry;
