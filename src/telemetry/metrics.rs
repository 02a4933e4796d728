//! Metrics of this process: counters that grow with events, and gauges that are read at each scrape.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;

use super::families::{
    ChargeLabels, CircuitLabels, CommitPhaseLabels, ContainerLabels, ErrorLabels, Families, GraphqlLabels,
    HttpLabels, OUTCOMES, ProjectionLabels, StallLabels, StoreLabels,
};
use super::names::OperationNames;
use super::process::ProcessCollector;
use onehop_change_feed::{LeaseStatus, ProcessorStatus, ProjectionStatus, StallCause};
use onehop_graphql_server::observer::{Answered, Executed};
use onehop_store::embedded::{Blocks, Statistics};
use onehop_store::{CircuitKind, CommitPhase, ContainerName, FaultKind, ObservedOperation};

/// Counts the events of this process.
pub struct Metrics {
    registry: Registry,
    families: Families,
    names: OperationNames,
}

/// Gauges, read at each scrape.
#[derive(Debug, Default)]
pub struct Gauges {
    pub requests_executing: usize,
    pub requests_waiting: usize,
    pub commands_waiting: usize,
    pub live_connections: usize,
    pub live_subscriptions: usize,
    /// `None` where the store does not say: their gauges are left out then.
    pub projections: Option<ProcessorStatus>,
    /// When the projections were last looked at with success, Unix ms.
    pub projections_seen_ms: i64,
    /// Whether the process serves.
    pub is_ready: bool,
    /// Whether writes are refused for want of room.
    pub is_full: bool,
    /// Whether each circuit of the store's circuit breaker is open.
    pub circuits: Vec<(ContainerName, CircuitKind, bool)>,
    /// Of the embedded store.
    pub embedded: Option<EmbeddedGauges>,
}

/// The embedded store's figures about itself.
#[derive(Debug)]
pub struct EmbeddedGauges {
    pub statistics: Statistics,
    pub blocks: Blocks,
    pub disk_bytes: u64,
    /// Free for this process on the disk; `None` where the system does not say.
    pub disk_free_bytes: Option<u64>,
    pub disk_reserve_bytes: u64,
    pub memory_bytes: u64,
    /// The age of the log archive's end; `None` without an archive.
    pub archive_age_ms: Option<i64>,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let families = Families::register(&mut registry);
        Self { registry, families, names: OperationNames::default() }
    }
}

impl Metrics {
    /// All metrics in the text format of OpenMetrics.
    #[must_use]
    pub fn encode(&self, gauges: &Gauges) -> String {
        self.set(gauges);
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("a string takes every write");
        text
    }

    fn set(&self, gauges: &Gauges) {
        let families = &self.families;
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        families.requests_executing.set(count(gauges.requests_executing));
        families.requests_waiting.set(count(gauges.requests_waiting));
        families.commands_waiting.set(count(gauges.commands_waiting));
        families.live_connections.set(count(gauges.live_connections));
        families.live_subscriptions.set(count(gauges.live_subscriptions));
        families.ready.set(i64::from(gauges.is_ready));
        families.store_full.set(i64::from(gauges.is_full));
        families.projections_seen.set(gauges.projections_seen_ms as f64 / 1000.0);
        match &gauges.projections {
            Some(ProcessorStatus { projections, leases }) => {
                // The cause of a stall is a label: a former cause leaves no series behind.
                families.projection_stalled.clear();
                projections.iter().for_each(|status| self.set_projection(status, leases));
            }
            None => families.forget_projections(),
        }
        for (container, kind, is_open) in &gauges.circuits {
            let labels = CircuitLabels { db_collection_name: container.0, operations: kind.name() };
            families.store_circuits.get_or_create(&labels).set(i64::from(*is_open));
        }
        if let Some(embedded) = &gauges.embedded {
            self.set_embedded(embedded);
        }
        let process = ProcessCollector::look();
        families.process_memory.set(signed(process.resident_memory_bytes));
        families.process_files.set(signed(process.open_files));
        families.process_files_max.set(signed(process.open_files_max));
        raise_float(&families.process_cpu, process.cpu_seconds);
        families.process_start.set(process.start_time_seconds);
    }

    fn set_projection(&self, status: &ProjectionStatus, leases: &[LeaseStatus]) {
        let (families, projection) = (&self.families, status.projection);
        let own = || leases.iter().filter(|lease| lease.container == status.source);
        let labels = ProjectionLabels { projection };
        if own().next().is_some() {
            families.projection_lag.get_or_create(&labels).set(status.lag_ms as f64 / 1000.0);
            families.projection_pending.get_or_create(&labels).set(signed(status.pending_changes));
        } else {
            // The waiting changes are unknown.
            families.projection_lag.remove(&labels);
            families.projection_pending.remove(&labels);
        }
        families.projection_dead_letters.get_or_create(&labels).set(signed(status.dead_letters));
        families.projection_running.get_or_create(&labels).set(i64::from(status.running));
        let held = own().filter(|lease| lease.mine).count();
        families.projection_leases.get_or_create(&labels).set(i64::try_from(held).unwrap_or(i64::MAX));
        let error_type = status.stall_cause.map_or("", StallCause::name);
        let stalled = families.projection_stalled.get_or_create(&StallLabels { projection, error_type });
        stalled.set(status.stalled_ms as f64 / 1000.0);
        drop(stalled);
        raise(&families.projection_changes.get_or_create(&labels), status.changes);
        raise_float(&families.projection_charge.get_or_create(&labels), status.request_charge.0);
    }

    fn set_embedded(&self, embedded: &EmbeddedGauges) {
        let families = &self.families;
        raise(&families.store_blocks_read, embedded.blocks.read);
        raise(&families.store_blocks_cached, embedded.blocks.cached);
        families.store_disk.set(signed(embedded.disk_bytes));
        families.store_disk_free.set(embedded.disk_free_bytes.map_or(i64::MAX, signed));
        families.store_disk_reserve.set(signed(embedded.disk_reserve_bytes));
        families.store_memory.set(signed(embedded.memory_bytes));
        families.store_archive_age.set(embedded.archive_age_ms.unwrap_or(0) as f64 / 1000.0);
    }
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Raises a counter to a count from elsewhere.
fn raise(counter: &Counter, counted: u64) {
    counter.inner().fetch_max(counted, Ordering::Relaxed);
}

fn raise_float(counter: &Counter<f64, AtomicU64>, counted: f64) {
    counter.inner().store(counted.to_bits(), Ordering::Relaxed);
}

/// Counters of events as they happen.
impl Metrics {
    pub(super) fn answered(&self, answered: &Answered) {
        let Answered { method, route, status, duration, .. } = *answered;
        let labels =
            HttpLabels { http_request_method: method, http_route: route, http_response_status_code: status };
        self.families.http_duration.get_or_create(&labels).observe(duration.as_secs_f64());
    }

    pub(super) fn executed(&self, executed: &Executed<'_>) {
        let record = |name: &str| self.record_execution(executed, name);
        self.names.record(executed.operation_name, |name| self.families.drop_operation(name), record);
    }

    fn record_execution(&self, executed: &Executed<'_>, name: &str) {
        let (graphql_operation_type, name) = (executed.operation_type, name.to_owned());
        let labels = ChargeLabels { graphql_operation_type, graphql_operation_name: name.clone() };
        self.families.graphql_charge.get_or_create(&labels).inc_by(executed.request_charge.max(0.0));
        if executed.has_errors {
            // Codes are the server's own, so there are few.
            let error_code = executed.error_code.unwrap_or("_OTHER").to_owned();
            self.families
                .graphql_errors
                .get_or_create(&ErrorLabels { graphql_operation_type, error_code })
                .inc();
        }
        let outcome = outcome_of(executed);
        let labels = GraphqlLabels { graphql_operation_type, graphql_operation_name: name, outcome };
        self.families.graphql_duration.get_or_create(&labels).observe(executed.duration.as_secs_f64());
    }

    pub(super) fn on_commit(&self, duration: Duration) {
        self.families.store_commit_duration.observe(duration.as_secs_f64());
    }

    pub(super) fn on_commit_phase(&self, phase: CommitPhase, duration: Duration) {
        let labels = CommitPhaseLabels { phase: phase.name() };
        self.families.store_commit_phases.get_or_create(&labels).observe(duration.as_secs_f64());
    }

    pub(super) fn on_operation(&self, operated: &ObservedOperation<'_>) {
        let ObservedOperation { container, kind, duration, records, failed, .. } = *operated;
        let error_type = failed.map_or("", FaultKind::name);
        let (db_collection_name, db_operation_name) = (container.0, kind.name());
        let labels = StoreLabels { db_collection_name, db_operation_name, error_type };
        self.families.store_duration.get_or_create(&labels).observe(duration.as_secs_f64());
        let labels = ContainerLabels { db_collection_name, db_operation_name };
        let charges = self.families.store_charge.get_or_create(&labels);
        for record in records {
            charges.observe(record.charge.0);
        }
    }
}

/// Whether a response has errors, as a label.
fn outcome_of(executed: &Executed<'_>) -> &'static str {
    if executed.has_errors { OUTCOMES[1] } else { OUTCOMES[0] }
}

#[cfg(test)]
mod tests {
    use onehop_store::RequestCharge;

    use super::*;

    fn status(stalled_ms: u64, stall_cause: Option<StallCause>) -> Gauges {
        let projection = ProjectionStatus {
            projection: "feed",
            source: "posts",
            running: true,
            pending_changes: 0,
            lag_ms: 0,
            dead_letters: 0,
            changes: 0,
            request_charge: RequestCharge(0.0),
            last_error: None,
            stalled_ms,
            stall_cause,
        };
        let projections = Some(ProcessorStatus { projections: vec![projection], leases: Vec::new() });
        Gauges { projections, ..Gauges::default() }
    }

    #[test]
    fn a_stalled_projection_has_one_series_which_names_the_cause() {
        let metrics = Metrics::default();
        let stalled = |gauges: &Gauges| {
            let text = metrics.encode(gauges);
            let lines = text.lines().filter(|line| line.starts_with("onehop_projection_stalled_seconds{"));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let series = |error_type: &str, seconds: &str| {
            let labels = format!("projection=\"feed\",error_type=\"{error_type}\"");
            vec![format!("onehop_projection_stalled_seconds{{{labels}}} {seconds}")]
        };
        assert_eq!(stalled(&status(0, None)), series("", "0.0"));
        let throttled = StallCause::Fault(FaultKind::Throttled);
        assert_eq!(stalled(&status(90_500, Some(throttled))), series("throttled", "90.5"));
        assert_eq!(stalled(&status(95_000, Some(StallCause::Contention))), series("contention", "95.0"));
        assert_eq!(stalled(&status(0, None)), series("", "0.0"));
    }
}
