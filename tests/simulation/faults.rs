//! Faults of the simulated account: latency always, lag and failures in storms.

use std::collections::BTreeMap;
use std::time::Duration;

use onehop_testing::account_model::{
    AccountFaults, AccountRequest, FaultPoint, InjectedFault, ModelConsistency, Outcome, TimedOutWrite,
};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::dice::Dice;
use crate::phase::Phase;
use crate::trace;

/// The kinds of faults, which a run can leave out.
pub const KINDS: [&str; 8] =
    ["429", "408", "449", "503", "410", "lost answer", "sent again", "not connected"];

/// The duration of a write that hangs: longer than a lease lives.
const HANG_MIN: Duration = Duration::from_secs(60);
pub const HANG_MAX: Duration = Duration::from_secs(120);
/// The percentage of writes that a full container refuses: deletions make room.
const FULL_PERCENT: u64 = 80;
/// The latency of a request is below this, in milliseconds, unless its process is slow.
const LATENCY_MS: u64 = 12;

/// Commits that replicas show later.
#[derive(Debug, Clone, Copy)]
pub struct Lag {
    /// Their percentage.
    percent: u64,
    /// The longest delay, in milliseconds.
    pub ms_max: u64,
}

pub const LAG: Lag = Lag { percent: 40, ms_max: 3_000 };
pub const LONG_LAG: Lag = Lag { percent: 90, ms_max: 8_000 };

/// The faults of a run.
pub struct Faults {
    dice: Dice,
    state: Mutex<State>,
}

struct State {
    /// By process, how many requests in a hundred fail.
    storms: BTreeMap<u64, u64>,
    /// By process, the longest latency of most of its requests, in milliseconds.
    latencies_ms: BTreeMap<u64, u64>,
    /// By process, how many of its next writes take longer than a lease lives.
    hanging: BTreeMap<u64, u64>,
    kinds: Vec<&'static str>,
    /// The same where there is no storm.
    failing: u64,
    /// The percentage of reads that a lagging replica answers.
    lagging: u64,
    lag: Lag,
    /// The container of a read model whose logical partitions are full.
    full: Option<&'static str>,
    /// When writes began that took longer than a lease lives.
    hung: Vec<Instant>,
    /// Whether there is a lull.
    is_calm: bool,
    is_over: bool,
}

impl Faults {
    pub fn new(dice: Dice, kinds: Vec<&'static str>, phase: &Phase) -> Self {
        Self {
            dice,
            state: Mutex::new(State {
                storms: BTreeMap::new(),
                latencies_ms: BTreeMap::new(),
                hanging: BTreeMap::new(),
                kinds,
                failing: phase.failing,
                lagging: phase.lagging,
                lag: phase.lag,
                full: None,
                hung: Vec::new(),
                is_calm: false,
                is_over: false,
            }),
        }
    }

    /// Has the failures and the replicas of a phase.
    pub fn enter(&self, phase: &Phase) {
        let mut state = self.state.lock();
        (state.failing, state.lagging, state.lag) = (phase.failing, phase.lagging, phase.lag);
    }

    /// Has this share of a process's requests fail, in percent.
    pub fn storm(&self, process: u64, percent: u64) {
        self.state.lock().storms.insert(process, percent);
    }

    /// Ends the storm of a process: its requests fail as often as those of other processes.
    pub fn end_storm(&self, process: u64) {
        self.state.lock().storms.remove(&process);
    }

    /// Has most requests of a process take up to this long.
    pub fn slow(&self, process: u64, latency_ms: u64) {
        self.state.lock().latencies_ms.insert(process, latency_ms);
    }

    /// Has the next writes of a process take longer than a lease lives.
    pub fn hang(&self, process: u64, writes: u64) {
        self.state.lock().hanging.insert(process, writes);
    }

    /// Fills the logical partitions of a container; `None` makes room again.
    pub fn fill(&self, container: Option<&'static str>) {
        self.state.lock().full = container;
    }

    /// The container whose logical partitions are full.
    pub fn full(&self) -> Option<&'static str> {
        self.state.lock().full
    }

    /// When writes began that took longer than a lease lives.
    pub fn hung(&self) -> Vec<Instant> {
        self.state.lock().hung.clone()
    }

    /// Ends faults and latency for a while, or begins them again.
    pub fn set_calm(&self, is_calm: bool) {
        self.state.lock().is_calm = is_calm;
    }

    /// Ends faults and latency for good.
    pub fn end(&self) {
        self.state.lock().is_over = true;
    }

    fn fault(&self, kind: &str, request: AccountRequest) -> InjectedFault {
        match kind {
            "429" => InjectedFault::Throttled {
                retry_after: Some(Duration::from_millis(self.dice.between(1, 2_000))),
            },
            "408" if request.writes() => InjectedFault::TimedOut(match self.dice.below(3) {
                0 => TimedOutWrite::NotDone,
                1 => TimedOutWrite::Done,
                _ => TimedOutWrite::DoneLater(Duration::from_millis(self.dice.between(1, 20_000))),
            }),
            "408" => InjectedFault::TimedOut(TimedOutWrite::NotDone),
            "449" => InjectedFault::RetryWith,
            "503" => InjectedFault::Unavailable,
            "410" => InjectedFault::Gone,
            "lost answer" => InjectedFault::LostAnswer,
            "sent again" => InjectedFault::SentAgain,
            _ => InjectedFault::NotConnected,
        }
    }
}

impl AccountFaults for Faults {
    fn next(&self, point: &FaultPoint<'_>) -> Outcome {
        let mut locked = self.state.lock();
        let state = &mut *locked;
        if state.is_over || state.is_calm {
            return Outcome::default();
        }
        let hangs = match state.hanging.get_mut(&point.process).filter(|left| **left > 0) {
            Some(left) if point.request.writes() && self.dice.percent(30) => {
                *left -= 1;
                state.hung.push(Instant::now());
                HANG_MIN
                    + (HANG_MAX - HANG_MIN) / 100 * u32::try_from(self.dice.below(101)).expect("a percentage")
            }
            _ => Duration::ZERO,
        };
        let storm = state.storms.get(&point.process).copied().unwrap_or(state.failing);
        let latency_ms = state.latencies_ms.get(&point.process).copied().unwrap_or(LATENCY_MS);
        let lagging = if point.consistency == ModelConsistency::Latest { 0 } else { state.lagging };
        let is_full = point.request.writes() && state.full == Some(point.container.as_str());
        let kind = (!state.kinds.is_empty()).then(|| *self.dice.pick(&state.kinds));
        let lag = state.lag;
        drop(locked);
        let mut outcome = self.outcome((storm, lagging, latency_ms), lag, kind, point.request);
        outcome.before += hangs;
        if is_full && self.dice.percent(FULL_PERCENT) {
            outcome.fault = Some(InjectedFault::PartitionFull);
        }
        let fault = outcome.fault.map_or("", InjectedFault::name);
        let place = point.partition_key.unwrap_or_default();
        trace::line(
            format!("store of {}", point.process + 1),
            format!("{:?} {} {place} {:?} {fault}", point.request, point.container, outcome.before),
        );
        outcome
    }
}

impl Faults {
    fn outcome(
        &self,
        (storm, lagging, latency_ms): (u64, u64, u64),
        lag: Lag,
        kind: Option<&str>,
        request: AccountRequest,
    ) -> Outcome {
        let latency_ms = if self.dice.percent(3) { latency_ms.max(400) } else { latency_ms };
        Outcome {
            before: Duration::from_millis(self.dice.below(latency_ms)),
            after: Duration::from_millis(self.dice.below(8)),
            fault: kind.filter(|_| self.dice.percent(storm)).map(|kind| self.fault(kind, request)),
            lag: Duration::from_millis(match self.dice.percent(lag.percent) {
                true => self.dice.below(lag.ms_max),
                false => 0,
            }),
            is_lagging: self.dice.percent(lagging),
            lands_after_drop: self.dice.percent(50).then(|| Duration::from_millis(self.dice.below(5_000))),
        }
    }
}
