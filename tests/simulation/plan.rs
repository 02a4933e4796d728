//! Plan of a run: how many clients and processes, which faults, how long. The seed decides, and a run that is
//! shrunk leaves parts out.

use onehop::app::projections;

use crate::dice::Dice;
use crate::executor::Stalls;
use crate::faults::KINDS;
use crate::phase::Phase;

/// The domain of a served model.
pub const MODEL: &str = "model";
/// Runs of a served model, in percent.
const MODEL_PERCENT: u64 = 33;

/// Disturbances of a run beside the faults of its store.
pub const DISTURBANCES: [&str; 17] = [
    "kill",
    "kill of a writer",
    "start",
    "stop",
    "pause",
    "preemption",
    "deployment",
    "backup",
    "full partition",
    "split",
    "merge",
    "storm",
    "slow",
    "hang",
    CLOCK_STEP,
    "maintenance",
    BIT_FLIP,
];
const BIT_FLIP: &str = "bit flip";
const CLOCK_STEP: &str = "clock step";
/// Runs with steps of clocks, in percent. Sessions are judged in the other ones.
const CLOCK_STEP_PERCENT: u64 = 55;

/// Shares of the disturbances that a run has, in percent: where these are few, each comes often.
const DISTURBANCE_PERCENTS: [u64; 3] = [85, 85, 30];
/// Shares of polls before which a task stalls, in one of a thousand, and the longest stalls, in milliseconds:
/// shorter than the delay of a request that a removal of an account need not withstand.
const STALLS_PER_MILLE: [u64; 4] = [0, 1, 5, 20];
const STALL_MS: [u64; 3] = [40, 400, 4_000];
/// The projections that a later release adds, in most of the runs.
fn added_projections(dice: &Dice) -> Vec<&'static str> {
    if dice.percent(15) {
        return Vec::new();
    }
    let percent = *dice.pick(&[10, 40, 100]);
    let names = projections().into_iter().map(|projection| projection.name());
    names.filter(|_| dice.percent(percent)).collect()
}

fn stalls(dice: &Dice) -> Option<Stalls> {
    let (per_mille, ms_max) = (*dice.pick(&STALLS_PER_MILLE), *dice.pick(&STALL_MS));
    (per_mille > 0).then_some(Stalls { per_mille, ms_max })
}

#[derive(Debug, Clone)]
pub struct Plan {
    pub seed: u64,
    /// `blog`, `shop`, `both`, or [`MODEL`].
    pub domain: &'static str,
    /// Whether the store is the embedded one, which has one process at a time.
    pub is_embedded: bool,
    pub clients: usize,
    pub acts: usize,
    pub processes_max: usize,
    pub faults: Vec<&'static str>,
    pub disturbances: Vec<&'static str>,
    /// Stalls of single tasks.
    pub stalls: Option<Stalls>,
    /// Whether a month passes after the first acts, and others follow.
    pub has_second_month: bool,
    /// Its parts, one after the other, with the same number of acts each.
    pub phases: Vec<Phase>,
    /// The lulls between acts, in which verification looks at everything.
    pub lulls: usize,
    /// Whether an operator verifies, repairs, rebuilds and replays without a pause.
    pub has_operator: bool,
    /// Whether counts of posts become wrong, as by a defect of an earlier release, and an operator repairs
    /// them beside commands.
    pub has_drifts: bool,
    /// Whether some clients leave early, so that their items do not change any more.
    pub has_leavers: bool,
    /// Whether lists, pages, batches and other limits are small.
    pub has_small_sizes: bool,
    /// Whether a client of the blog is a member of staff.
    pub has_moderator: bool,
    /// Whether the write side is copied to another store at the end.
    pub is_copied: bool,
    /// The projections that an older release does not know, where the run has two releases.
    pub added_projections: Vec<&'static str>,
}

impl Plan {
    pub fn of(seed: u64) -> Self {
        let (dice, rest, of_model) = (Dice::of(seed, 1), Dice::of(seed, 5), Dice::of(seed, 7));
        let some = |all: &[&'static str], percent| -> Vec<&'static str> {
            all.iter().copied().filter(|_| dice.percent(percent)).collect()
        };
        let is_embedded = dice.percent(45);
        // A change of a damaged item is parked, and a month is too long for parked changes.
        let has_second_month = is_embedded && dice.percent(45);
        let of_store = |name: &&str| match is_embedded {
            true if has_second_month && *name == BIT_FLIP => false,
            true => !["start", "split", "merge", "hang", "full partition"].contains(name),
            false => !["kill of a writer", "bit flip", "backup"].contains(name),
        };
        let percent = *dice.pick(&DISTURBANCE_PERCENTS);
        let mut disturbances: Vec<_> = some(&DISTURBANCES, percent).into_iter().filter(of_store).collect();
        // Most flips hit nothing, so that few runs would have one.
        let may_have = is_embedded && !has_second_month && !disturbances.contains(&BIT_FLIP);
        if may_have && dice.percent(95) {
            disturbances.push(BIT_FLIP);
        }
        let built_in = *dice.pick::<&str>(&["blog", "blog", "both", "shop"]);
        let has_drifts = built_in != "shop" && rest.percent(15);
        let domain = if of_model.percent(MODEL_PERCENT) { MODEL } else { built_in };
        let has_drifts = has_drifts && domain != MODEL;
        if !rest.percent(CLOCK_STEP_PERCENT) {
            disturbances.retain(|name| *name != CLOCK_STEP);
        }
        if has_drifts {
            // A backup has the drift of its moment.
            disturbances.retain(|name| *name != "backup");
        }
        let mut phases = Phase::all_of(&Dice::of(seed, 8), &of_model);
        phases.iter_mut().for_each(|phase| phase.has_hot_post |= has_drifts);
        let processes_max = usize::try_from(dice.between(1, 4)).expect("few processes");
        Self {
            seed,
            is_embedded,
            domain,
            clients: usize::try_from(dice.between(2, 16)).expect("few clients"),
            acts: usize::try_from(dice.between(230, 1_350)).expect("few acts"),
            processes_max: if is_embedded { 1 } else { processes_max },
            faults: some(&KINDS, 85),
            disturbances,
            // A repair beside a command needs a gap between its read and its write.
            stalls: stalls(&rest).or(has_drifts.then_some(Stalls { per_mille: 20, ms_max: 4_000 })),
            phases,
            lulls: dice.place(4).saturating_sub(1),
            has_operator: dice.percent(40) || has_drifts,
            has_drifts,
            has_leavers: dice.percent(50),
            has_small_sizes: dice.percent(90),
            has_second_month,
            has_moderator: dice.percent(60),
            is_copied: dice.percent(40) && domain != MODEL,
            added_projections: added_projections(&dice),
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
