//! The parts of an API that every schema has: options, the endpoint with its routes, metrics, readiness and
//! read-your-writes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::accounts::brute_force_protection::AttemptLimits;
use crate::accounts::staff::Staff;
use crate::accounts::write_limits::WriteLimits;
use crate::app::Engine;
use crate::domain::accounts::sessions::SessionSettings;
use crate::domain::ids::{IdSource as _, RandomIds};
use crate::graphql::served::ServedError;
use crate::graphql::{CHECKED_SCALARS, Recency, SchemaOptions, ledger_of};
use crate::http::session_cookie::SESSION_PATH;
use crate::operations::{self, OperatorKey, PublicOptions};
use crate::telemetry::{Gauges, Telemetry};
use onehop_change_feed::{Position, PositionError, ProcessorStatus, Watch, WriteScope};
use onehop_graphql_server::endpoint::{GraphqlEndpoint, RequestLimits};
use onehop_graphql_server::health::{READINESS_TIMEOUT, Readiness, ReadinessReport, UnreadyPart};
use onehop_graphql_server::live::{LiveLimits, LiveLoad};
use onehop_graphql_server::observer::MetricsSource;
use onehop_graphql_server::pipeline::admit::ConcurrencyLimit;
use onehop_graphql_server::position::{InvalidPosition, NotReached, Positions, Reach};
use onehop_graphql_server::quota::ChargeRecord;
use onehop_graphql_server::router::{Exposure, HttpParts, router};
use onehop_graphql_server::schema_index::SchemaIndex;
use onehop_graphql_server::service::GraphqlService;
use onehop_graphql_server::trusted_documents::{TrustError, TrustedDocuments};
use onehop_graphql_server::variable_coercion::SdlError;
use onehop_graphql_server::write_watch::{SharedWatch, WriteWatch};
use onehop_runtime::sealed::Sealer;
use onehop_store::{Fault, FaultKind, Ledger, Store, WriteMark};

/// The paths that have a label of their own in metrics and traces.
const LABELLED_PATHS: &[&str] = &[SESSION_PATH, "/session/customer", operations::PATH];
/// The purpose of sealing positions.
const POSITION_PURPOSE: &[u8] = b"position\0";
/// The longest position that is read, in characters. A position of many writes has some 2,700.
const POSITION_CHARS_MAX: usize = 4096;

/// The routes over an app.
pub struct Api {
    pub router: Router,
    /// The source of `/metrics`.
    pub metrics: Option<Arc<dyn MetricsSource>>,
}

/// Options of the API: limits, exposure, documents and sessions.
#[derive(Debug, Clone)]
pub struct ApiOptions {
    pub limits: RequestLimits,
    pub attempts: AttemptLimits,
    /// No limits by default; the settings of the program have limits.
    pub writes: WriteLimits,
    pub live: LiveLimits,
    pub schema: SchemaOptions,
    pub exposure: Exposure,
    /// The origin of the pages, in addresses that leave the site; by default the name in the request.
    pub public_origin: Option<String>,
    /// Documents that are known from the start.
    pub trusted: TrustedDocuments,
    /// Document allowlist: whether nothing else runs.
    pub trusted_only: bool,
    /// Whether there is a playground.
    pub playground: bool,
    /// Whether `/metrics` is one of the routes.
    pub metrics: bool,
    /// Whether the queries of the operations API are served.
    pub operations: bool,
    /// The key with which the operator reads stored items over HTTP; `None` for no access.
    pub operator_key: Option<OperatorKey>,
    /// The settings of sessions.
    pub sessions: SessionSettings,
    /// The users who may change the web store's catalogue.
    pub staff: Staff,
}

impl Default for ApiOptions {
    fn default() -> Self {
        Self {
            limits: RequestLimits::default(),
            attempts: AttemptLimits::default(),
            writes: WriteLimits::NONE,
            live: LiveLimits::default(),
            schema: SchemaOptions::default(),
            exposure: Exposure::default(),
            public_origin: None,
            trusted: TrustedDocuments::default(),
            trusted_only: false,
            playground: true,
            metrics: true,
            operations: true,
            operator_key: None,
            sessions: SessionSettings::default(),
            staff: Staff::default(),
        }
    }
}

impl ApiOptions {
    /// The visible parts of the operations API; `None` where its queries are not served.
    pub(super) fn public_operations(&self) -> Option<PublicOptions> {
        let SchemaOptions { introspection, suggestions, .. } = self.schema;
        let operator_key = self.operator_key.clone();
        self.operations.then_some(PublicOptions { introspection, suggestions, operator_key })
    }
}

/// Error of building the API.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    #[error("the schema cannot be served")]
    Schema(#[from] SdlError),
    #[error("--trusted-documents")]
    Trusted(#[from] TrustError),
    #[error(transparent)]
    Served(#[from] ServedError),
}

/// The parts of an endpoint that every schema has.
pub(super) struct EndpointParts {
    pub(super) engine: Arc<Engine>,
    pub(super) service: Arc<dyn GraphqlService>,
    pub(super) schema: SchemaIndex,
    pub(super) sealer: Sealer,
    /// The number of commands that wait for their turn.
    pub(super) commands_waiting: Box<dyn Fn() -> usize + Send + Sync>,
    pub(super) telemetry: Option<Arc<Telemetry>>,
    pub(super) options: ApiOptions,
}

impl EndpointParts {
    /// The API with these routes beside GraphQL.
    ///
    /// # Errors
    /// The schema's own text cannot be read back, or a trusted document is refused.
    pub(super) fn into_api(
        self,
        routes: impl FnOnce(&Arc<GraphqlEndpoint>) -> Router,
    ) -> Result<Api, ApiError> {
        let Self { engine, service, schema, sealer, commands_waiting, telemetry, options } = self;
        let graphql = GraphqlEndpoint::with_schema(service, schema, options.limits)
            .with_clock(Arc::clone(&engine.clock))
            .with_sealer(sealer)
            .with_schema_told(options.schema.suggestions)
            .with_allowed_origins(options.exposure.allowed_origins.clone())
            .with_observer(telemetry.clone().map(|telemetry| telemetry as _))
            .with_trusted(&options.trusted, options.trusted_only)?;
        let graphql = CHECKED_SCALARS
            .into_iter()
            .fold(graphql, |graphql, (name, check)| graphql.with_scalar(name, check));
        let live_load = Arc::<LiveLoad>::default();
        let readiness =
            Arc::new(ProcessReadiness { engine: Arc::clone(&engine), draining: engine.tasks.draining() });
        let source = telemetry.clone().map(|telemetry| -> Arc<dyn MetricsSource> {
            Arc::new(ProcessMetrics {
                engine: Arc::clone(&engine),
                commands_waiting,
                telemetry,
                admission: graphql.concurrency_limit().clone(),
                live_load: Arc::clone(&live_load),
                readiness: Arc::clone(&readiness),
                projections_seen_ms: AtomicI64::new(engine.clock.now_ms()),
                are_projections_known: AtomicBool::new(true),
            })
        });
        let clock = Arc::clone(&engine.clock);
        let graphql = Arc::new(graphql);
        let router = router(HttpParts {
            routes: routes(&graphql),
            labelled_paths: LABELLED_PATHS,
            graphql,
            live: options.live,
            tasks: engine.tasks.clone(),
            readiness,
            exposure: options.exposure,
            error_ids: Arc::new(move || RandomIds.next_id(clock.now_ms())),
            live_load,
            observer: telemetry.map(|telemetry| telemetry as _),
            metrics: source.clone().filter(|_| options.metrics),
        });
        Ok(Api { router, metrics: source })
    }
}

/// The source of `/metrics`: gauges that each scrape reads.
struct ProcessMetrics {
    engine: Arc<Engine>,
    commands_waiting: Box<dyn Fn() -> usize + Send + Sync>,
    telemetry: Arc<Telemetry>,
    admission: ConcurrencyLimit,
    live_load: Arc<LiveLoad>,
    readiness: Arc<ProcessReadiness>,
    /// When the status of the projections was last read, Unix ms.
    projections_seen_ms: AtomicI64,
    /// Whether the last read succeeded.
    are_projections_known: AtomicBool,
}

impl ProcessMetrics {
    /// The status of the projections; `None` where it cannot be read. Logged once, until it can be read
    /// again.
    async fn projections(&self) -> Option<ProcessorStatus> {
        let standing =
            tokio::time::timeout(READINESS_TIMEOUT, self.engine.processor.processor_status()).await;
        let (standing, error) = match standing {
            Ok(Ok(standing)) => (Some(standing), String::new()),
            Ok(Err(fault)) => (None, fault.to_string()),
            Err(_) => (None, format!("no answer within {READINESS_TIMEOUT:?}")),
        };
        let was_known = self.are_projections_known.swap(standing.is_some(), Ordering::Relaxed);
        if standing.is_some() {
            self.projections_seen_ms.store(self.engine.clock.now_ms(), Ordering::Relaxed);
        } else if was_known {
            tracing::warn!(error, "the metrics of projections are left out: their status cannot be read");
        }
        standing
    }
}

#[async_trait]
impl MetricsSource for ProcessMetrics {
    async fn metrics(&self) -> String {
        let load = self.admission.load();
        let (projections, condition) =
            tokio::join!(self.projections(), ReadinessReport::of(&*self.readiness));
        self.telemetry.metrics.encode(&Gauges {
            requests_executing: load.executing,
            requests_waiting: load.waiting,
            commands_waiting: (self.commands_waiting)(),
            live_connections: self.live_load.connections(),
            live_subscriptions: self.live_load.subscriptions(),
            projections,
            projections_seen_ms: self.projections_seen_ms.load(Ordering::Relaxed),
            is_ready: condition.unready.is_empty(),
            is_full: condition.limited.iter().any(|part| part.part == STORE),
            circuits: self.engine.circuits.as_ref().map_or_else(Vec::new, |circuits| circuits.states()),
            embedded: self.engine.embedded_gauges(),
        })
    }
}

/// The time between two looks for room, while a query waits for the read models.
const ROOM_LOOK_INTERVAL: Duration = Duration::from_millis(100);
/// The part of a condition that is about the store.
const STORE: &str = "store";

/// Readiness: the store answers reads, every projection runs, and the process is not stopping.
struct ProcessReadiness {
    engine: Arc<Engine>,
    draining: CancellationToken,
}

#[async_trait]
impl Readiness for ProcessReadiness {
    async fn condition(&self) -> ReadinessReport {
        let part =
            |part: &str, reason: &str| UnreadyPart { part: part.to_owned(), reason: reason.to_owned() };
        let mut condition = ReadinessReport::default();
        if self.draining.is_cancelled() {
            condition.unready.push(part("process", "it is stopping"));
        }
        match self.engine.store.ready().await {
            Ok(()) => {}
            Err(fault) if fault.kind == FaultKind::Full => {
                condition.limited.push(part(STORE, "it has no room for writes; reads go on"));
            }
            Err(_) => condition.unready.push(part(STORE, "it does not answer")),
        }
        // Without room there is nothing to project, and no room for leases.
        let is_full = !condition.limited.is_empty();
        for following in self.engine.processor.health().into_iter().filter(|following| !following.running) {
            let parts = if is_full { &mut condition.limited } else { &mut condition.unready };
            parts.push(part(following.projection, "the projection does not run"));
        }
        condition
    }
}

/// A watch of the writes to the store.
struct ProcessWatch(Watch);

#[async_trait]
impl WriteWatch for ProcessWatch {
    fn last_write(&self) -> u64 {
        self.0.last_write()
    }

    async fn written(&self, marks: &[u32], write: u64) {
        self.0.written(marks.iter().copied().map(WriteMark).collect(), write).await;
    }
}

/// Read-your-writes by the change feed processor: positions of writes, and the wait for them.
pub(super) struct ProcessorRecency {
    engine: Arc<Engine>,
    /// Positions are opaque to clients (authenticated encryption).
    sealer: Sealer,
    /// The last look for room, which all waiting queries share: its time, and whether the disk was full.
    last_look: Mutex<Option<(Instant, bool)>>,
}

impl ProcessorRecency {
    pub(super) fn new(engine: &Arc<Engine>, sealer: Sealer) -> Self {
        Self { engine: Arc::clone(engine), sealer, last_look: Mutex::default() }
    }

    fn store(&self) -> &dyn Store {
        &*self.engine.store
    }

    /// Completes when the disk of the embedded store is full. Read models cannot follow writes then.
    async fn full(&self) {
        let Some(store) = self.engine.embedded() else { return std::future::pending().await };
        loop {
            tokio::time::sleep(ROOM_LOOK_INTERVAL).await;
            let mut last_look = self.last_look.lock().await;
            let recent = last_look.filter(|(at, _)| at.elapsed() < ROOM_LOOK_INTERVAL / 2);
            let is_full = match recent {
                Some((_, is_full)) => is_full,
                None => store.ready().await.is_err_and(|fault| fault.kind == FaultKind::Full),
            };
            if recent.is_none() {
                *last_look = Some((Instant::now(), is_full));
            }
            if is_full {
                return;
            }
        }
    }

    fn seal(&self, position: &Position) -> String {
        self.sealer.seal(POSITION_PURPOSE, &position.encode())
    }

    fn open(&self, position: &str) -> Option<Position> {
        let is_short = position.len() <= POSITION_CHARS_MAX;
        let bytes = is_short.then(|| self.sealer.open(POSITION_PURPOSE, position)).flatten()?;
        Position::parse(&bytes).ok()
    }
}

#[async_trait]
impl Recency for ProcessorRecency {
    async fn position_after(&self, written: &WriteScope) -> Option<String> {
        match self.engine.processor.position_of(written).await {
            Ok(position) => position.map(|position| self.seal(&position)),
            Err(fault) => {
                tracing::warn!(error = %fault, "the position of a write cannot be read");
                None
            }
        }
    }

    async fn wait_for(
        &self,
        position: &str,
        wait_max: Duration,
        ledger: &Ledger,
    ) -> Result<Reach, InvalidPosition> {
        let position = self.open(position).ok_or(InvalidPosition)?;
        let waited = tokio::select! {
            biased;
            waited = self.engine.processor.wait_for_position(&position, wait_max, ledger) => waited,
            () = self.full() => return Ok(Reach::NotReached(NotReached::Unavailable)),
        };
        match waited {
            Ok(onehop_change_feed::PositionOutcome::Reached) => Ok(Reach::Reached),
            Ok(onehop_change_feed::PositionOutcome::TimedOut) => Ok(Reach::NotReached(NotReached::TimedOut)),
            Ok(onehop_change_feed::PositionOutcome::DeadLettered) => {
                Ok(Reach::NotReached(NotReached::Parked))
            }
            Err(PositionError::Invalid(_)) => Err(InvalidPosition),
            Err(PositionError::Fault(fault)) => {
                tracing::warn!(error = %fault, "the wait for a position failed");
                Ok(Reach::NotReached(NotReached::Unavailable))
            }
        }
    }

    async fn watch_writes(&self, ledger: &Ledger) -> Result<SharedWatch, Fault> {
        Ok(Arc::new(ProcessWatch(self.engine.watches.watch(ledger).await?)))
    }
}

#[async_trait]
impl Positions for ProcessorRecency {
    async fn reach(
        &self,
        position: &str,
        wait_max: Duration,
        charges: &dyn ChargeRecord,
    ) -> Result<Reach, InvalidPosition> {
        self.wait_for(position, wait_max, ledger_of(charges)).await
    }

    fn join(&self, one: &str, other: &str) -> Option<String> {
        let (one, other) = (self.open(one)?, self.open(other)?);
        let joined = self.engine.processor.join_positions(&one, &other).ok()?;
        Some(self.seal(&joined))
    }

    fn last_write(&self) -> Option<u64> {
        self.store().write_marks().map(|marks| marks.done())
    }

    fn is_unwritten_since(&self, mark: u32, write: u64) -> bool {
        self.store().write_marks().is_some_and(|marks| marks.is_unwritten_since(WriteMark(mark), write))
    }
}
