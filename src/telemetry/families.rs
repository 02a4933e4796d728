//! Metric families: names, units, labels and buckets.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

use onehop_graphql_server::observer::OPERATION_TYPES;

/// Seconds: requests take from tens of microseconds to the limit of a request.
const DURATION_BUCKETS: [f64; 17] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
    30.0,
];
/// The profile that the program was built with.
const PROFILE: &str = env!("ONEHOP_PROFILE");

/// Request units: from a point read to a query across all physical partitions.
const CHARGE_BUCKETS: [f64; 12] =
    [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0];

/// Whether a response has errors.
pub(super) const OUTCOMES: [&str; 2] = ["ok", "error"];

type Seconds = Gauge<f64, AtomicU64>;
type SecondsSum = Counter<f64, AtomicU64>;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct HttpLabels {
    pub http_request_method: &'static str,
    pub http_route: &'static str,
    pub http_response_status_code: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct GraphqlLabels {
    pub graphql_operation_type: &'static str,
    pub graphql_operation_name: String,
    /// `ok`, or `error` where the response has errors.
    pub outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ErrorLabels {
    pub graphql_operation_type: &'static str,
    pub error_code: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ChargeLabels {
    pub graphql_operation_type: &'static str,
    pub graphql_operation_name: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct StoreLabels {
    pub db_collection_name: &'static str,
    pub db_operation_name: &'static str,
    /// Empty where the operation did not fail.
    pub error_type: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ContainerLabels {
    pub db_collection_name: &'static str,
    pub db_operation_name: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ProjectionLabels {
    pub projection: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct StallLabels {
    pub projection: &'static str,
    /// Empty where the projection does not stand still.
    pub error_type: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct CommitPhaseLabels {
    pub phase: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct CircuitLabels {
    pub db_collection_name: &'static str,
    /// `reads` or `writes`.
    pub operations: &'static str,
}

type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

pub(super) struct Families {
    pub http_duration: Histograms<HttpLabels>,
    pub graphql_duration: Histograms<GraphqlLabels>,
    pub graphql_errors: Family<ErrorLabels, Counter>,
    pub graphql_charge: Family<ChargeLabels, SecondsSum>,
    pub store_duration: Histograms<StoreLabels>,
    pub store_charge: Histograms<ContainerLabels>,
    pub ready: Gauge,
    pub store_full: Gauge,
    pub store_circuits: Family<CircuitLabels, Gauge>,
    pub projections_seen: Seconds,
    pub projection_lag: Family<ProjectionLabels, Seconds>,
    pub projection_stalled: Family<StallLabels, Seconds>,
    pub projection_pending: Family<ProjectionLabels, Gauge>,
    pub projection_dead_letters: Family<ProjectionLabels, Gauge>,
    pub projection_running: Family<ProjectionLabels, Gauge>,
    pub projection_leases: Family<ProjectionLabels, Gauge>,
    pub projection_changes: Family<ProjectionLabels, Counter>,
    pub projection_charge: Family<ProjectionLabels, SecondsSum>,
    pub requests_executing: Gauge,
    pub requests_waiting: Gauge,
    pub commands_waiting: Gauge,
    pub live_connections: Gauge,
    pub live_subscriptions: Gauge,
    pub store_commit_duration: Histogram,
    pub store_commit_phases: Histograms<CommitPhaseLabels>,
    pub store_disk: Gauge,
    pub store_disk_free: Gauge,
    pub store_disk_reserve: Gauge,
    pub store_memory: Gauge,
    pub store_archive_age: Seconds,
    pub store_blocks_read: Counter,
    pub store_blocks_cached: Counter,
    pub process_memory: Gauge,
    pub process_files: Gauge,
    pub process_files_max: Gauge,
    pub process_cpu: SecondsSum,
    pub process_start: Seconds,
}

fn durations() -> Histogram {
    Histogram::new(DURATION_BUCKETS)
}

fn charges() -> Histogram {
    Histogram::new(CHARGE_BUCKETS)
}

impl Families {
    /// Drops every series of the operations with this name.
    pub(super) fn drop_operation(&self, name: &str) {
        for graphql_operation_type in OPERATION_TYPES {
            let graphql_operation_name = name.to_owned();
            self.graphql_charge.remove(&ChargeLabels { graphql_operation_type, graphql_operation_name });
            for outcome in OUTCOMES {
                let graphql_operation_name = name.to_owned();
                let labels = GraphqlLabels { graphql_operation_type, graphql_operation_name, outcome };
                self.graphql_duration.remove(&labels);
            }
        }
    }

    pub(super) fn register(registry: &mut Registry) -> Self {
        let families = Self {
            http_duration: Family::new_with_constructor(durations),
            graphql_duration: Family::new_with_constructor(durations),
            graphql_errors: Family::default(),
            graphql_charge: Family::default(),
            store_duration: Family::new_with_constructor(durations),
            store_charge: Family::new_with_constructor(charges),
            ready: Gauge::default(),
            store_full: Gauge::default(),
            store_circuits: Family::default(),
            projections_seen: Seconds::default(),
            projection_lag: Family::default(),
            projection_stalled: Family::default(),
            projection_pending: Family::default(),
            projection_dead_letters: Family::default(),
            projection_running: Family::default(),
            projection_leases: Family::default(),
            projection_changes: Family::default(),
            projection_charge: Family::default(),
            requests_executing: Gauge::default(),
            requests_waiting: Gauge::default(),
            commands_waiting: Gauge::default(),
            live_connections: Gauge::default(),
            live_subscriptions: Gauge::default(),
            store_commit_duration: durations(),
            store_commit_phases: Family::new_with_constructor(durations),
            store_disk: Gauge::default(),
            store_disk_free: Gauge::default(),
            store_disk_reserve: Gauge::default(),
            store_memory: Gauge::default(),
            store_archive_age: Seconds::default(),
            store_blocks_read: Counter::default(),
            store_blocks_cached: Counter::default(),
            process_memory: Gauge::default(),
            process_files: Gauge::default(),
            process_files_max: Gauge::default(),
            process_cpu: SecondsSum::default(),
            process_start: Seconds::default(),
        };
        families.register_requests(registry);
        families.register_projections(registry);
        families.register_process(registry);
        families
    }

    fn register_requests(&self, registry: &mut Registry) {
        let seconds = || Unit::Seconds;
        registry.register_with_unit(
            "http_server_request_duration",
            "Time from the head of a request to its answer",
            seconds(),
            self.http_duration.clone(),
        );
        registry.register_with_unit(
            "graphql_operation_duration",
            "Time from the turn of a query or mutation to its result",
            seconds(),
            self.graphql_duration.clone(),
        );
        registry.register(
            "graphql_operation_errors",
            "Queries and mutations whose response has errors, by the gravest code",
            self.graphql_errors.clone(),
        );
        registry.register(
            "graphql_operation_request_charge",
            "Request units that queries and mutations were charged",
            self.graphql_charge.clone(),
        );
        registry.register_with_unit(
            "db_client_operation_duration",
            "Time of an operation on the store",
            seconds(),
            self.store_duration.clone(),
        );
        registry.register(
            "azure_cosmosdb_client_operation_request_charge",
            "Request units of an operation on the store: measured on Azure Cosmos DB, estimated on the embedded store",
            self.store_charge.clone(),
        );
        registry.register(
            "onehop_store_circuit_open",
            "1 where operations fail at once, since the store does not answer",
            self.store_circuits.clone(),
        );
        for (name, help, gauge) in [
            ("onehop_ready", "1 where /readyz answers 200", &self.ready),
            ("onehop_store_full", "1 where writes are refused for want of room", &self.store_full),
            ("onehop_requests_executing", "GraphQL requests that execute", &self.requests_executing),
            ("onehop_requests_waiting", "GraphQL requests that wait for their turn", &self.requests_waiting),
            ("onehop_commands_waiting", "Commands that wait for their post", &self.commands_waiting),
            ("onehop_live_connections", "WebSockets and event streams that are open", &self.live_connections),
            ("onehop_live_subscriptions", "Subscriptions that go on", &self.live_subscriptions),
        ] {
            registry.register(name, help, gauge.clone());
        }
    }

    /// Drops the gauges of projections: stale values are not repeated.
    pub(super) fn forget_projections(&self) {
        self.projection_lag.clear();
        self.projection_stalled.clear();
        self.projection_pending.clear();
        self.projection_dead_letters.clear();
        self.projection_running.clear();
        self.projection_leases.clear();
    }

    fn register_projections(&self, registry: &mut Registry) {
        registry.register_with_unit(
            "onehop_projection_status_timestamp",
            "When the store last said where the projections stand",
            Unit::Seconds,
            self.projections_seen.clone(),
        );
        registry.register_with_unit(
            "onehop_projection_lag",
            "Age of the oldest change that waits for the projection",
            Unit::Seconds,
            self.projection_lag.clone(),
        );
        registry.register_with_unit(
            "onehop_projection_stalled",
            "How long the projection has not got past a page of the change feed in this process, and why; 0 where it does",
            Unit::Seconds,
            self.projection_stalled.clone(),
        );
        for (name, help, gauges) in [
            (
                "onehop_projection_pending_changes",
                "Changes that wait for the projection",
                &self.projection_pending,
            ),
            (
                "onehop_projection_dead_letters",
                "Logical partitions with parked changes",
                &self.projection_dead_letters,
            ),
            (
                "onehop_projection_running",
                "1 where every feed range has a reader somewhere",
                &self.projection_running,
            ),
            (
                "onehop_projection_leases",
                "Leases of the projection that this process holds",
                &self.projection_leases,
            ),
        ] {
            registry.register(name, help, gauges.clone());
        }
        registry.register(
            "onehop_projection_changes",
            "Changes that this process has projected",
            self.projection_changes.clone(),
        );
        registry.register(
            "onehop_projection_request_charge",
            "Request units that this process was charged for the projection",
            self.projection_charge.clone(),
        );
    }

    fn register_process(&self, registry: &mut Registry) {
        registry.register_with_unit(
            "onehop_store_commit_duration",
            "Time that commits to the disk took, with their fsync",
            Unit::Seconds,
            self.store_commit_duration.clone(),
        );
        registry.register_with_unit(
            "onehop_store_commit_phase_duration",
            "Time of a commit by phase: the first request's wait for the writer, free space, checks, backpressure, journal \
             with fsync, publication, rotation of full memtables",
            Unit::Seconds,
            self.store_commit_phases.clone(),
        );
        registry.register_with_unit(
            "onehop_store_archive_age",
            "Age of the time up to which the log archive has every commit; 0 without an archive",
            Unit::Seconds,
            self.store_archive_age.clone(),
        );
        for (name, help, counter) in [
            ("onehop_store_blocks_read", "Blocks that reads took from files", &self.store_blocks_read),
            ("onehop_store_blocks_cached", "Blocks that reads found in the cache", &self.store_blocks_cached),
        ] {
            registry.register(name, help, counter.clone());
        }
        for (name, help, gauge) in [
            ("onehop_store_disk_free", "Room on the disk that holds the data", &self.store_disk_free),
            (
                "onehop_store_disk_reserve",
                "Room that is kept on the disk: writes that would leave less are refused",
                &self.store_disk_reserve,
            ),
            ("onehop_store_disk", "What the data takes on the disk", &self.store_disk),
            ("onehop_store_memory", "Writes that are in the journal and in memory", &self.store_memory),
            ("process_resident_memory", "Memory of this process", &self.process_memory),
        ] {
            registry.register_with_unit(name, help, Unit::Bytes, gauge.clone());
        }
        registry.register("process_open_fds", "Open file descriptors", self.process_files.clone());
        registry.register(
            "process_max_fds",
            "Limit of open file descriptors",
            self.process_files_max.clone(),
        );
        registry.register_with_unit(
            "process_cpu",
            "CPU time of this process",
            Unit::Seconds,
            self.process_cpu.clone(),
        );
        registry.register_with_unit(
            "process_start_time",
            "When this process started",
            Unit::Seconds,
            self.process_start.clone(),
        );
        let build = [("version", env!("CARGO_PKG_VERSION")), ("profile", PROFILE)];
        registry.register("onehop_build", "The program", Info::new(build.to_vec()));
    }
}
