//! Plan of a run: how many clients and processes, which faults, how long. The seed decides, and a run that is
//! shrunk leaves parts out.

use onehop::app::projections;

use crate::dice::Dice;
use crate::executor::Stalls;
use crate::faults::{KINDS, LAG, LONG_LAG, Lag};

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
    "clock step",
    "maintenance",
    BIT_FLIP,
];
const BIT_FLIP: &str = "bit flip";

/// Shares of the disturbances that a run has, in percent: where these are few, each comes often.
const DISTURBANCE_PERCENTS: [u64; 3] = [85, 85, 30];
/// Factors by which a run does some acts far more often than others, and some rarely. A mix of all acts
/// hides defects that only many acts of one kind show.
///
/// Source: Groce, Zhang, Eide, Chen, Regehr, "Swarm Testing", 2012.
const ACT_FACTORS: [u64; 5] = [1, 10, 10, 30, 100];
/// Shares of polls before which a task stalls, in one of a thousand, and the longest stalls, in milliseconds:
/// shorter than the delay of a request that a removal of an account need not withstand.
const STALLS_PER_MILLE: [u64; 4] = [0, 1, 5, 20];
const STALL_MS: [u64; 3] = [40, 400, 4_000];
/// Acts that change the same items. Some runs do hardly anything else.
const FOCUSES: [&[&str]; 15] = [
    &["rename", "change password", "renew session"],
    &["create post", "delete post"],
    &["create post", "delete post", "delete account"],
    &["create post", "delete post", "update post", "write twice and read"],
    &["like", "unlike", "read post"],
    &["comment", "edit comment", "delete comment", "subscribe", "moderate comment"],
    &["rename", "create post", "comment", "read own posts"],
    &["change password", "sign out", "renew session", "suspend", "unsuspend"],
    &["delete account", "comment", "like", "create post"],
    &["delete account", "subscribe", "comment", "rename"],
    &["order", "delete order", "create product"],
    &["order", "cancel order", "ship order", "read orders"],
    &["create product", "update product", "delete product", "rename tag", "rename category"],
    &["create product", "update product", "order", "read orders"],
    &["create post", "update post", "edit a version", "comment", "edit comment"],
];

/// Acts of clients in the blog, with their weights.
const BLOG_ACTS: [(&str, u64); 23] = [
    ("create post", 14),
    ("update post", 8),
    ("edit a version", 6),
    ("live query", 3),
    ("subscribe", 12),
    ("delete post", 4),
    ("like", 12),
    ("unlike", 6),
    ("comment", 11),
    ("edit comment", 5),
    ("delete comment", 3),
    ("rename", 6),
    ("delete account", 2),
    ("trespass", 2),
    ("sign out", 2),
    ("renew session", 4),
    ("change password", 4),
    ("use cache", 5),
    ("read post", 3),
    ("read own posts", 4),
    ("write twice and read", 5),
    ("read comments", 5),
    ("read feed", 5),
];
/// Acts of customers, with their weights.
const CUSTOMER_ACTS: [(&str, u64); 9] = [
    ("order", 36),
    ("trespass", 6),
    ("sign out", 4),
    ("live query", 4),
    ("cancel order", 6),
    ("delete order", 18),
    ("change address", 10),
    ("read orders", 15),
    ("read product", 15),
];
/// Acts of staff, with their weights.
const STAFF_ACTS: [(&str, u64); 9] = [
    ("create category", 10),
    ("create tag", 12),
    ("create product", 22),
    ("rename category", 14),
    ("rename tag", 14),
    ("update product", 14),
    ("delete product", 6),
    ("ship order", 6),
    ("read product", 8),
];

/// Acts of staff in the blog, with their weights.
const MODERATOR_ACTS: [(&str, u64); 5] =
    [("suspend", 20), ("unsuspend", 30), ("moderate post", 10), ("moderate comment", 20), ("read post", 20)];

/// Acts of clients of the served model, with their weights.
const DESK_ACTS: [(&str, u64); 22] = [
    ("watch", 8),
    ("unwatch", 5),
    ("delete account", 2),
    ("create desk", 5),
    ("update desk", 6),
    ("delete desk", 2),
    ("create ticket", 14),
    ("update ticket", 12),
    ("edit a title", 6),
    ("close ticket", 6),
    ("delete ticket", 5),
    ("create note", 12),
    ("update note", 8),
    ("delete note", 5),
    ("create label", 4),
    ("rename label", 6),
    ("rename", 7),
    ("trespass", 3),
    ("live query", 6),
    ("read ticket", 8),
    ("read list", 14),
    ("sign out", 2),
];

/// Acts of these clients that change the same items.
const DESK_FOCUSES: [&[&str]; 10] = [
    &["watch", "unwatch", "create ticket", "delete ticket", "read ticket"],
    &["create desk", "update desk", "rename", "create ticket"],
    &["live query", "create label", "update ticket", "close ticket", "create ticket"],
    &["create ticket", "update ticket", "edit a title", "read list"],
    &["create ticket", "close ticket", "update ticket", "read list"],
    &["create note", "update note", "delete note", "delete ticket", "read ticket"],
    &["create desk", "update desk", "delete desk"],
    &["rename", "create ticket", "create note", "read list"],
    &["rename label", "update ticket", "create ticket", "delete ticket"],
    &["create ticket", "delete ticket", "create note", "read list"],
];

/// Acts of a run with their weights.
#[derive(Debug, Clone)]
pub struct Acts {
    pub blog: Vec<(&'static str, u64)>,
    pub customers: Vec<(&'static str, u64)>,
    pub staff: Vec<(&'static str, u64)>,
    pub moderators: Vec<(&'static str, u64)>,
    pub desk: Vec<(&'static str, u64)>,
}

/// The preferred acts of a run.
struct Preference<'a> {
    dice: &'a Dice,
    /// Whether all acts keep their weights.
    is_mixed: bool,
    focus: Option<&'static [&'static str]>,
}

impl<'a> Preference<'a> {
    fn of(dice: &'a Dice, focuses: &[&'static [&'static str]]) -> Self {
        let is_mixed = dice.percent(20);
        Self { dice, is_mixed, focus: dice.percent(50).then(|| *dice.pick(focuses)) }
    }

    fn weigh(&self, acts: &[(&'static str, u64)]) -> Vec<(&'static str, u64)> {
        let factor = |name: &str| match self.focus {
            _ if self.is_mixed => 10,
            Some(focus) => {
                if focus.contains(&name) {
                    100
                } else {
                    3
                }
            }
            None => *self.dice.pick(&ACT_FACTORS),
        };
        acts.iter().map(|(name, weight)| (*name, weight * factor(name))).collect()
    }
}

impl Acts {
    fn of(dice: &Dice, of_model: &Dice) -> Self {
        let preference = Preference::of(dice, &FOCUSES);
        Self {
            blog: preference.weigh(&BLOG_ACTS),
            customers: preference.weigh(&CUSTOMER_ACTS),
            staff: preference.weigh(&STAFF_ACTS),
            moderators: preference.weigh(&MODERATOR_ACTS),
            desk: Preference::of(of_model, &DESK_FOCUSES).weigh(&DESK_ACTS),
        }
    }
}

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
    /// The percentage of requests that fail where there is no storm.
    pub failing: u64,
    /// The percentage of reads that a lagging replica answers.
    pub lagging: u64,
    /// The replicas behind the latest commit.
    pub lag: Lag,
    /// The percentage of acts that users of the blog do on another device.
    pub other_devices: u64,
    /// The percentage of requests that go to another process than the one before.
    pub switching: u64,
    /// Whether a month passes after the first acts, and others follow.
    pub has_second_month: bool,
    pub act_weights: Acts,
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
    /// Whether most acts of clients meet on the latest post.
    pub has_hot_post: bool,
    /// The mean distance between two acts, in milliseconds.
    pub pace_ms: u64,
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
        if has_drifts {
            // A backup has the drift of its moment.
            disturbances.retain(|name| *name != "backup");
        }
        let processes_max = usize::try_from(dice.between(1, 4)).expect("few processes");
        Self {
            seed,
            is_embedded,
            domain,
            clients: usize::try_from(dice.between(2, 16)).expect("few clients"),
            acts: usize::try_from(dice.between(160, 1_000)).expect("few acts"),
            processes_max: if is_embedded { 1 } else { processes_max },
            faults: some(&KINDS, 85),
            disturbances,
            // A repair beside a command needs a gap between its read and its write.
            stalls: stalls(&rest).or(has_drifts.then_some(Stalls { per_mille: 20, ms_max: 4_000 })),
            failing: *dice.pick(&[0, 2, 5, 10, 15]),
            lagging: *dice.pick(&[0, 20, 40, 80]),
            lag: *rest.pick(&[LAG, LAG, LONG_LAG]),
            other_devices: *rest.pick(&[12, 12, 50]),
            switching: *dice.pick(&[5, 20, 60]),
            pace_ms: *dice.pick(&[5, 50, 500, 3_000]),
            act_weights: Acts::of(&dice, &of_model),
            lulls: dice.place(4).saturating_sub(1),
            has_operator: dice.percent(40) || has_drifts,
            has_drifts,
            has_leavers: dice.percent(50),
            has_small_sizes: dice.percent(90),
            has_hot_post: dice.percent(30) || has_drifts,
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
