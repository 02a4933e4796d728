//! Faults of the simulated account: latency always, lag and failures in storms.

use std::collections::BTreeMap;
use std::time::Duration;

use onehop_testing::account_model::{
    AccountFaults, AccountRequest, FaultPoint, InjectedFault, ModelConsistency, Outcome, TimedOutWrite,
};
use parking_lot::Mutex;

use crate::dice::Dice;
use crate::trace;

/// The kinds of faults, which a run can leave out.
pub const KINDS: [&str; 8] =
    ["429", "408", "449", "503", "410", "lost answer", "sent again", "not connected"];

/// The faults of a run.
pub struct Faults {
    dice: Dice,
    state: Mutex<State>,
}

struct State {
    /// By process, how many requests in a hundred fail.
    storms: BTreeMap<u64, u64>,
    kinds: Vec<&'static str>,
    /// The same where there is no storm.
    failing: u64,
    /// How many reads in a hundred a lagging replica answers.
    lagging: u64,
    is_over: bool,
}

impl Faults {
    pub fn new(dice: Dice, kinds: Vec<&'static str>, (failing, lagging): (u64, u64)) -> Self {
        Self {
            dice,
            state: Mutex::new(State { storms: BTreeMap::new(), kinds, failing, lagging, is_over: false }),
        }
    }

    /// Has this share of a process's requests fail, in percent.
    pub fn storm(&self, process: u64, percent: u64) {
        self.state.lock().storms.insert(process, percent);
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
        let state = self.state.lock();
        if state.is_over {
            return Outcome::default();
        }
        let storm = state.storms.get(&point.process).copied().unwrap_or(state.failing);
        let lagging = if point.consistency == ModelConsistency::Latest { 0 } else { state.lagging };
        let kind = (!state.kinds.is_empty()).then(|| *self.dice.pick(&state.kinds));
        drop(state);
        let outcome = self.outcome(storm, lagging, kind, point.request);
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
    fn outcome(&self, storm: u64, lagging: u64, kind: Option<&str>, request: AccountRequest) -> Outcome {
        let slow = if self.dice.percent(3) { 400 } else { 12 };
        Outcome {
            before: Duration::from_millis(self.dice.below(slow)),
            after: Duration::from_millis(self.dice.below(8)),
            fault: kind.filter(|_| self.dice.percent(storm)).map(|kind| self.fault(kind, request)),
            lag: Duration::from_millis(if self.dice.percent(40) { self.dice.below(3_000) } else { 0 }),
            is_lagging: self.dice.percent(lagging),
            lands_after_drop: self.dice.percent(50).then(|| Duration::from_millis(self.dice.below(5_000))),
        }
    }
}
