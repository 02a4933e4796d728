//! Removals of deleted accounts, as far as they may be incomplete.
//!
//! Two minutes after a deletion its process removes the late items of other processes. A process that ends
//! earlier leaves these to verification, and so does a request of the user with a longer delay.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::world::World;

/// The time after a deletion within which its process has looked for items once more, in milliseconds.
const COMPLETE_AFTER_MS: i64 = 150_000;
/// Shorter delays keep no request from ending before that, in milliseconds.
const DELAY_MS_MIN: i64 = 30_000;
/// The time for which a process goes on with a command after its client has hung up, and for which a process
/// may take the token of an ended session, in milliseconds.
const GOES_ON_MS: i64 = 60_000;

/// Requests to delete an account, other requests of its user, and the delays of a run.
#[derive(Debug, Clone, Default)]
pub struct Removals {
    /// User, process, and the end of the request or its last try (virtual ms).
    deletions: Vec<(String, u32, i64)>,
    requests: Vec<UserRequest>,
    delays: Vec<Delay>,
    cut_off: BTreeSet<String>,
    /// By user, when the first request to delete began (virtual ms).
    began_ms: BTreeMap<String, i64>,
}

/// A request of a signed-in user.
#[derive(Debug, Clone)]
struct UserRequest {
    user: String,
    process: u32,
    began_ms: i64,
    /// `None` while it is under way.
    ended_ms: Option<i64>,
}

/// A long delay.
#[derive(Debug, Clone, Copy)]
struct Delay {
    /// The delayed process; `None` where it may be any.
    process: Option<u32>,
    from_ms: i64,
    to_ms: i64,
}

/// A request of a user until its task ends, or is dropped.
pub struct UnderWay {
    world: Arc<World>,
    place: usize,
}

impl UnderWay {
    /// Notes that a request of a user begins.
    pub fn begin(world: &Arc<World>, user: String, process: u32) -> Self {
        let request = UserRequest { user, process, began_ms: world.elapsed_ms(), ended_ms: None };
        let mut removals = world.removals.lock();
        removals.requests.push(request);
        Self { world: Arc::clone(world), place: removals.requests.len() - 1 }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let now_ms = self.world.elapsed_ms();
        self.world.removals.lock().requests[self.place].ended_ms = Some(now_ms);
    }
}

impl Removals {
    /// A request to delete began, or was sent to another process.
    pub fn requested(&mut self, user: &str, process: u32, now_ms: i64) {
        self.deletions.push((user.to_owned(), process, now_ms));
        self.began_ms.entry(user.to_owned()).or_insert(now_ms);
    }

    /// A process ends.
    pub fn cut_off(&mut self, process: u32, now_ms: i64) {
        let is_open = |at_ms: i64| now_ms < at_ms + COMPLETE_AFTER_MS;
        let open = self.deletions.iter().filter(|(_, by, at_ms)| *by == process && is_open(*at_ms));
        self.cut_off.extend(open.map(|(user, ..)| user.clone()));
    }

    /// Tasks of a process stand still, or writes of any process are on their way, for this long.
    pub fn delayed(&mut self, process: Option<u32>, now_ms: i64, delay: Duration) {
        let delay_ms = i64::try_from(delay.as_millis()).expect("a short delay");
        if delay_ms >= DELAY_MS_MIN {
            self.delays.push(Delay { process, from_ms: now_ms, to_ms: now_ms + delay_ms });
        }
    }

    /// Whether items of a deleted account may be left.
    pub fn may_be_incomplete(&self, user: &str) -> bool {
        let Some(began_ms) = self.began_ms.get(user) else { return false };
        let of_user = || self.deletions.iter().filter(|(of, ..)| of == user);
        let last_ms = of_user().map(|(.., at_ms)| *at_ms).max().unwrap_or(*began_ms);
        let deletes = |process: u32| of_user().any(|(_, by, _)| *by == process);
        let was_asked = |delay: &Delay| {
            self.requests.iter().any(|request| {
                request.user == user
                    && delay.process.is_none_or(|process| process == request.process)
                    && request.began_ms < delay.to_ms.min(last_ms + GOES_ON_MS)
                    && request.ended_ms.is_none_or(|ended_ms| ended_ms + GOES_ON_MS > delay.from_ms)
            })
        };
        let counts = |delay: &Delay| {
            let overlaps = delay.from_ms < last_ms + COMPLETE_AFTER_MS && delay.to_ms > *began_ms;
            overlaps && (delay.process.is_some_and(deletes) || was_asked(delay))
        };
        self.cut_off.contains(user) || self.delays.iter().any(counts)
    }
}
