//! Circuit breaker: a decorator that fails operations at once while the store does not answer, so that no
//! request waits for a timeout that others have waited for already.
//!
//! Each container has a circuit for reads and one for writes. A circuit opens after some failures without an
//! answer in between. While it is open, operations fail with [`FaultKind::Unavailable`] and the time until
//! the next probe. A probe is one operation that is let through; its answer closes the circuit. An answer is
//! each decision of the store: a refused write, a throttled request (429) and a full disk are answers.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use super::{ContainerName, ContainerSpec, Fault, FaultKind, Ledger, Store, StoreCall, StoreDecorator};

/// The limits of a circuit breaker.
#[derive(Debug, Clone, Copy)]
pub struct CircuitSettings {
    /// Failures without an answer in between that open a circuit.
    pub failures_max: u32,
    /// The time after which an operation counts as a failure, though it goes on.
    pub overdue_after: Duration,
    /// The wait of an open circuit before its first probe. Each failed probe doubles it.
    pub rest_min: Duration,
    /// The longest wait between two probes.
    pub rest_max: Duration,
}

impl Default for CircuitSettings {
    fn default() -> Self {
        Self {
            failures_max: 5,
            overdue_after: Duration::from_secs(3),
            rest_min: Duration::from_secs(1),
            rest_max: Duration::from_secs(8),
        }
    }
}

/// The operations of a circuit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CircuitKind {
    Reads,
    Writes,
}

impl CircuitKind {
    /// The kind in one word, for metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
        }
    }
}

/// The state of a circuit.
#[derive(Debug, Clone, Copy)]
enum CircuitState {
    Closed {
        failures: u32,
    },
    Open {
        until: Instant,
        rest: Duration,
    },
    /// One operation is under way.
    Probing {
        rest: Duration,
    },
}

/// A circuit. The flag keeps the lock out of the way of a store that answers.
struct Circuit {
    has_failures: AtomicBool,
    state: Mutex<CircuitState>,
}

impl Circuit {
    fn new() -> Self {
        let state = Mutex::new(CircuitState::Closed { failures: 0 });
        Self { has_failures: AtomicBool::new(false), state }
    }

    /// Admits an operation; says whether it is a probe.
    ///
    /// # Errors
    /// The circuit is open: the time until the next probe.
    fn admit(&self, settings: &CircuitSettings, now: Instant) -> Result<bool, Duration> {
        if !self.has_failures.load(Ordering::Acquire) {
            return Ok(false);
        }
        let mut state = self.state.lock();
        match *state {
            CircuitState::Closed { .. } => Ok(false),
            CircuitState::Open { until, rest } if until <= now => {
                *state = CircuitState::Probing { rest };
                Ok(true)
            }
            CircuitState::Open { until, .. } => Err(until - now),
            CircuitState::Probing { .. } => Err(settings.rest_min),
        }
    }

    /// Notes an answer; says whether it has closed the circuit.
    fn answered(&self) -> bool {
        if !self.has_failures.load(Ordering::Acquire) {
            return false;
        }
        let mut state = self.state.lock();
        let was_open = !matches!(*state, CircuitState::Closed { .. });
        *state = CircuitState::Closed { failures: 0 };
        self.has_failures.store(false, Ordering::Release);
        was_open
    }

    /// Notes a failure; says whether it has opened the circuit for the first time.
    fn failed(&self, is_probe: bool, settings: &CircuitSettings, now: Instant) -> bool {
        let mut state = self.state.lock();
        self.has_failures.store(true, Ordering::Release);
        match *state {
            CircuitState::Closed { failures } if failures + 1 < settings.failures_max => {
                *state = CircuitState::Closed { failures: failures + 1 };
                false
            }
            CircuitState::Closed { .. } => {
                let rest = settings.rest_min;
                *state = CircuitState::Open { until: now + rest, rest };
                true
            }
            CircuitState::Probing { rest } if is_probe => {
                let rest = (rest * 2).min(settings.rest_max);
                *state = CircuitState::Open { until: now + rest, rest };
                false
            }
            // Of an operation that began before.
            CircuitState::Open { .. } | CircuitState::Probing { .. } => false,
        }
    }

    /// A probe was given up by its caller: the next operation is one.
    fn abandoned(&self, now: Instant) {
        let mut state = self.state.lock();
        if let CircuitState::Probing { rest } = *state {
            *state = CircuitState::Open { until: now, rest };
        }
    }

    fn is_open(&self) -> bool {
        self.has_failures.load(Ordering::Acquire)
            && !matches!(*self.state.lock(), CircuitState::Closed { .. })
    }
}

/// The circuits of a store, for all its decorators and for metrics.
pub struct CircuitBreakers {
    settings: CircuitSettings,
    circuits: HashMap<(ContainerName, CircuitKind), Circuit>,
}

impl CircuitBreakers {
    /// Closed circuits for these containers.
    #[must_use]
    pub fn new(specs: &[ContainerSpec], settings: CircuitSettings) -> Arc<Self> {
        let keys = specs
            .iter()
            .flat_map(|spec| [CircuitKind::Reads, CircuitKind::Writes].map(|kind| (spec.name, kind)));
        Arc::new(Self { settings, circuits: keys.map(|key| (key, Circuit::new())).collect() })
    }

    /// Whether each circuit is open, in the order of containers.
    #[must_use]
    pub fn states(&self) -> Vec<(ContainerName, CircuitKind, bool)> {
        let state = |(&(container, kind), circuit): (&(ContainerName, CircuitKind), &Circuit)| {
            (container, kind, circuit.is_open())
        };
        let mut states: Vec<_> = self.circuits.iter().map(state).collect();
        states.sort_by_key(|(container, kind, _)| (container.as_str(), *kind));
        states
    }
}

/// A store whose operations fail at once while it does not answer.
pub struct CircuitBreakerStore {
    store: Arc<dyn Store>,
    breakers: Arc<CircuitBreakers>,
}

impl CircuitBreakerStore {
    /// The same store, behind these circuits.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, breakers: Arc<CircuitBreakers>) -> Self {
        Self { store, breakers }
    }
}

impl StoreDecorator for CircuitBreakerStore {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        let settings = &self.breakers.settings;
        let kind = if call.writes().is_empty() { CircuitKind::Reads } else { CircuitKind::Writes };
        let container = call.container();
        let Some(circuit) = self.breakers.circuits.get(&(container, kind)) else {
            return call.run(&*self.store, ledger).await;
        };
        let is_probe = circuit.admit(settings, Instant::now()).map_err(|wait| open(container, kind, wait))?;
        let mut admitted = AdmittedCall { circuit, settings, container, kind, is_probe, is_noted: false };
        let running = call.run(&*self.store, ledger);
        tokio::pin!(running);
        let outcome = tokio::select! {
            biased;
            outcome = &mut running => outcome,
            () = sleep(settings.overdue_after) => {
                admitted.fail();
                running.await
            }
        };
        match outcome.as_ref().err().and_then(C::fault).map(|fault| fault.kind) {
            Some(FaultKind::Unavailable | FaultKind::Ambiguous) => admitted.fail(),
            _ => admitted.answer(),
        }
        outcome
    }
}

fn open(container: ContainerName, kind: CircuitKind, wait: Duration) -> Fault {
    let message = format!("the store has not answered {} of {container} lately", kind.name());
    Fault::new(FaultKind::Unavailable, message).with_retry_after(wait)
}

/// An operation under way. Dropped before its end, it says nothing about the store.
struct AdmittedCall<'a> {
    circuit: &'a Circuit,
    settings: &'a CircuitSettings,
    container: ContainerName,
    kind: CircuitKind,
    is_probe: bool,
    is_noted: bool,
}

impl AdmittedCall<'_> {
    /// Notes the failure once: an overdue operation may fail later, too.
    fn fail(&mut self) {
        if !std::mem::replace(&mut self.is_noted, true)
            && self.circuit.failed(self.is_probe, self.settings, Instant::now())
        {
            let (container, operations) = (self.container, self.kind.name());
            tracing::warn!(%container, operations, "the store does not answer: operations fail at once until a probe is answered");
        }
    }

    fn answer(&mut self) {
        self.is_noted = true;
        if self.circuit.answered() {
            let (container, operations) = (self.container, self.kind.name());
            tracing::info!(%container, operations, "the store answers again");
        }
    }
}

impl Drop for AdmittedCall<'_> {
    fn drop(&mut self) {
        if self.is_probe && !self.is_noted {
            self.circuit.abandoned(Instant::now());
        }
    }
}
