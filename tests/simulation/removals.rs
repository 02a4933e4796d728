//! Removals of deleted accounts, as far as they may be incomplete.
//!
//! Two minutes after a deletion its process removes the late items of other processes. A process that ends
//! earlier leaves these to verification, and so does a request with a longer delay.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The time after a deletion within which its process has looked for items once more, in milliseconds.
const COMPLETE_AFTER_MS: i64 = 150_000;
/// Shorter delays keep no request from ending before that, in milliseconds.
const DELAY_MS_MIN: i64 = 30_000;

/// Requests to delete an account, and the delays of a run.
#[derive(Debug, Clone, Default)]
pub struct Removals {
    /// User, process, and the end of the request or its last try (virtual ms).
    requests: Vec<(String, u32, i64)>,
    /// Begin and end of long delays (virtual ms).
    delays: Vec<(i64, i64)>,
    cut_off: BTreeSet<String>,
    /// By user, when the first request began (virtual ms).
    began_ms: BTreeMap<String, i64>,
}

impl Removals {
    /// A request began, or was sent to another process.
    pub fn requested(&mut self, user: &str, process: u32, now_ms: i64) {
        self.requests.push((user.to_owned(), process, now_ms));
        self.began_ms.entry(user.to_owned()).or_insert(now_ms);
    }

    /// A process ends.
    pub fn cut_off(&mut self, process: u32, now_ms: i64) {
        let is_open = |at_ms: i64| now_ms < at_ms + COMPLETE_AFTER_MS;
        let open = self.requests.iter().filter(|(_, by, at_ms)| *by == process && is_open(*at_ms));
        self.cut_off.extend(open.map(|(user, ..)| user.clone()));
    }

    /// Tasks stand still, or writes are on their way, for this long.
    pub fn delayed(&mut self, now_ms: i64, delay: Duration) {
        let delay_ms = i64::try_from(delay.as_millis()).expect("a short delay");
        if delay_ms >= DELAY_MS_MIN {
            self.delays.push((now_ms, now_ms + delay_ms));
        }
    }

    /// Whether items of a deleted account may be left.
    pub fn may_be_incomplete(&self, user: &str) -> bool {
        let Some(began_ms) = self.began_ms.get(user) else { return false };
        let last_ms = self.requests.iter().filter(|(of, ..)| of == user).map(|(.., at_ms)| *at_ms).max();
        let until_ms = last_ms.unwrap_or(*began_ms) + COMPLETE_AFTER_MS;
        let overlaps = |(from, to): &(i64, i64)| *from < until_ms && *to > *began_ms;
        self.cut_off.contains(user) || self.delays.iter().any(overlaps)
    }
}
