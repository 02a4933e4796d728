//! Plan of a run: how many clients and processes, which faults, how long. The seed decides, and a run that is shrunk leaves parts out.

use crate::dice::Dice;
use crate::faults::KINDS;

/// What disturbs a run beside the faults of its store.
pub const DISTURBANCES: [&str; 9] =
    ["kill", "start", "stop", "pause", "split", "merge", "storm", "clock step", "maintenance"];

#[derive(Debug, Clone)]
pub struct Plan {
    pub seed: u64,
    /// `blog`, `shop` or `both`.
    pub domain: &'static str,
    /// Whether the store is the embedded one, which has one process at a time.
    pub is_embedded: bool,
    pub clients: usize,
    pub acts: usize,
    pub processes_max: usize,
    pub faults: Vec<&'static str>,
    pub disturbances: Vec<&'static str>,
    /// How many requests in a hundred fail where there is no storm.
    pub failing: u64,
    /// How many reads in a hundred a lagging replica answers.
    pub lagging: u64,
    /// How far apart acts are, in milliseconds.
    pub pace_ms: u64,
}

impl Plan {
    pub fn of(seed: u64) -> Self {
        let dice = Dice::of(seed, 1);
        let some = |all: &[&'static str], percent| -> Vec<&'static str> {
            all.iter().copied().filter(|_| dice.percent(percent)).collect()
        };
        let is_embedded = dice.percent(35);
        let processes_max = usize::try_from(dice.between(1, 4)).expect("few processes");
        Self {
            seed,
            is_embedded,
            domain: *dice.pick::<&str>(&["blog", "blog", "both", "shop"]),
            clients: usize::try_from(dice.between(2, 16)).expect("few clients"),
            acts: usize::try_from(dice.between(30, 160)).expect("few acts"),
            processes_max: if is_embedded { 1 } else { processes_max },
            faults: some(&KINDS, 70),
            disturbances: some(&DISTURBANCES, 75),
            failing: *dice.pick(&[0, 2, 5, 10]),
            lagging: *dice.pick(&[0, 20, 40, 80]),
            pace_ms: *dice.pick(&[5, 50, 500, 3_000]),
        }
    }

    /// The same with this many acts at most.
    pub fn with_acts(mut self, acts: usize) -> Self {
        self.acts = self.acts.min(acts);
        self
    }

    /// The same without these faults and disturbances.
    pub fn without(mut self, names: &[String]) -> Self {
        let is_kept = |name: &&'static str| !names.iter().any(|left_out| left_out == name);
        self.faults.retain(is_kept);
        self.disturbances.retain(is_kept);
        self
    }
}
