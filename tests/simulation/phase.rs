//! Phases of a run: preferred acts of clients, their pace, and late or failing answers of the store. A run
//! has a few phases one after the other, so that it meets more mixtures over the same items.

use crate::dice::Dice;
use crate::faults::{LAG, LONG_LAG, Lag};

/// Factors by which a phase does some acts far more often than others, and some rarely. A mix of all acts
/// hides defects that only many acts of one kind show.
///
/// Source: Groce, Zhang, Eide, Chen, Regehr, "Swarm Testing", 2012.
const ACT_FACTORS: [u64; 5] = [1, 10, 10, 30, 100];
/// Numbers of phases.
const PHASES: [usize; 4] = [1, 2, 3, 5];
/// Acts that change the same items. Some phases do hardly anything else.
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
const DESK_ACTS: [(&str, u64); 23] = [
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
    ("write twice and read", 6),
    ("sign out", 2),
];

/// Acts of these clients that change the same items.
const DESK_FOCUSES: [&[&str]; 10] = [
    &["watch", "unwatch", "create ticket", "delete ticket", "read ticket"],
    &["create desk", "update desk", "rename", "create ticket"],
    &["live query", "create label", "update ticket", "close ticket", "create ticket"],
    &["create ticket", "update ticket", "edit a title", "read list", "write twice and read"],
    &["create ticket", "close ticket", "update ticket", "read list"],
    &["create note", "update note", "delete note", "delete ticket", "read ticket"],
    &["create desk", "update desk", "delete desk"],
    &["rename", "create ticket", "create note", "read list"],
    &["rename label", "update ticket", "create ticket", "delete ticket"],
    &["create ticket", "delete ticket", "create note", "read list"],
];

/// Acts of a phase with their weights.
#[derive(Debug, Clone)]
pub struct Acts {
    pub blog: Vec<(&'static str, u64)>,
    pub customers: Vec<(&'static str, u64)>,
    pub staff: Vec<(&'static str, u64)>,
    pub moderators: Vec<(&'static str, u64)>,
    pub desk: Vec<(&'static str, u64)>,
}

/// The preferred acts of a phase.
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

/// A part of a run.
#[derive(Debug, Clone)]
pub struct Phase {
    pub act_weights: Acts,
    /// The percentage of requests that fail where there is no storm.
    pub failing: u64,
    /// The percentage of reads that a lagging replica answers.
    pub lagging: u64,
    /// The replicas behind the latest commit.
    pub lag: Lag,
    /// The percentage of acts that users of the blog do on another device.
    pub other_devices: u64,
    /// The percentage of acts beside which other devices of the user act at once.
    pub bursts: u64,
    /// The percentage of requests that go to another process than the one before.
    pub switching: u64,
    /// The percentage of requests on which a client hangs up early.
    pub hanging_up: u64,
    /// Whether most acts of clients meet on the latest post.
    pub has_hot_post: bool,
    /// The mean distance between two acts, in milliseconds.
    pub pace_ms: u64,
}

impl Phase {
    /// The phases of a run. Acts in the served model have dice of their own.
    pub fn all_of(dice: &Dice, of_model: &Dice) -> Vec<Self> {
        let count = *dice.pick(&PHASES);
        (0..count).map(|_| Self::of(dice, of_model)).collect()
    }

    fn of(dice: &Dice, of_model: &Dice) -> Self {
        Self {
            act_weights: Acts::of(dice, of_model),
            failing: *dice.pick(&[0, 2, 5, 10, 15]),
            lagging: *dice.pick(&[0, 20, 40, 80]),
            lag: *dice.pick(&[LAG, LAG, LONG_LAG]),
            other_devices: *dice.pick(&[12, 12, 50]),
            bursts: *dice.pick(&[0, 0, 10, 30]),
            switching: *dice.pick(&[5, 20, 60]),
            hanging_up: *dice.pick(&[5, 10, 10, 40]),
            has_hot_post: dice.percent(30),
            pace_ms: *dice.pick(&[5, 50, 500, 3_000]),
        }
    }
}
