//! Session consistency: one position of all writes of a user that no query of the user has reached yet, in
//! bounded memory of this process. A query of the user waits for it as if the client had sent it.
//!
//! Positions of several writes are joined by the service. Joining does not depend on the order, so it does
//! not matter which of two concurrent mutations is remembered first. A query takes the present position; once
//! reached, it is dropped, and later writes stay.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use onehop_runtime::clock::Clock;
use onehop_runtime::planted;
use parking_lot::{Mutex, MutexGuard};

/// Users whose writes are remembered, unless the configuration says otherwise.
pub const SESSION_POSITIONS_MAX: usize = 16_384;

/// Bytes of positions for each of these users, on average. A position of one write takes about 300 bytes, and
/// a user has up to three positions.
const POSITION_BYTES_PER_USER: usize = 1024;

/// The time for which a user's writes are remembered after the last one, if no query reaches them:
/// projections that stand still do not slow their users down for longer.
const REMEMBERED_FOR: Duration = Duration::from_secs(60);

/// The positions of writes that no query of their user has reached yet. The users who wrote least recently go
/// first.
pub(super) struct SessionPositions {
    users_max: usize,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    by_user: HashMap<Arc<str>, Unreached>,
    /// By the number of the last write.
    users: BTreeMap<u64, Arc<str>>,
    writes: u64,
    /// Of all positions.
    bytes: usize,
}

/// The writes of a user that no query has reached.
struct Unreached {
    last_write: u64,
    /// Monotonic ms.
    until_ms: i64,
    /// Of all of them.
    all: Arc<str>,
    /// The position that the last query took to wait for.
    taken: Option<Arc<str>>,
    /// Of the writes since then.
    since_taken: Option<Arc<str>>,
}

impl Unreached {
    fn bytes(&self) -> usize {
        let positions = [Some(&self.all), self.taken.as_ref(), self.since_taken.as_ref()];
        positions.into_iter().flatten().map(|position| position.len()).sum()
    }
}

impl SessionPositions {
    /// An empty memory for this many users; for none it remembers nothing.
    pub(super) fn new(users_max: usize, clock: Arc<dyn Clock>) -> Self {
        Self { users_max, clock, state: Mutex::default() }
    }

    /// Remembers the position of a user's write. Returns the position of all writes of the user that are not
    /// reached. `join` makes one position of two; where it cannot, the later one takes the place of both.
    pub(super) fn remember(
        &self,
        user: &str,
        position: &str,
        join: impl Fn(&str, &str) -> Option<String>,
    ) -> Arc<str> {
        let position = Arc::<str>::from(position);
        if self.users_max == 0 {
            return position;
        }
        let now_ms = self.clock.monotonic_ms();
        let kept_ms = i64::try_from(REMEMBERED_FOR.as_millis()).unwrap_or(i64::MAX);
        let joined = |earlier: Option<&Arc<str>>| match earlier {
            Some(_) if planted!("last-write-position-alone") => Arc::clone(&position),
            Some(earlier) => join(earlier, &position).map_or_else(|| Arc::clone(&position), Arc::from),
            None => Arc::clone(&position),
        };
        let mut state = self.lock();
        let before = state.take(user).filter(|before| before.until_ms > now_ms);
        let all = joined(before.as_ref().map(|before| &before.all));
        let since_taken = joined(before.as_ref().and_then(|before| before.since_taken.as_ref()));
        state.writes += 1;
        let unreached = Unreached {
            last_write: state.writes,
            until_ms: now_ms.saturating_add(kept_ms),
            all: Arc::clone(&all),
            taken: before.and_then(|before| before.taken),
            since_taken: Some(since_taken),
        };
        state.put(user, unreached);
        state.make_room(self.users_max, now_ms);
        all
    }

    /// Takes the position of all writes of a user that no query has reached, to wait for it.
    pub(super) fn take(&self, user: &str) -> Option<Arc<str>> {
        let mut state = self.lock();
        let mut unreached = state.take(user)?;
        if unreached.until_ms <= self.clock.monotonic_ms() {
            return None;
        }
        let all = Arc::clone(&unreached.all);
        unreached.taken = Some(Arc::clone(&all));
        unreached.since_taken = None;
        state.put(user, unreached);
        Some(all)
    }

    /// Drops a position that a query has reached: all writes of a user, or the writes up to the last query's
    /// position.
    pub(super) fn reached(&self, user: &str, position: &str) {
        let mut state = self.lock();
        let Some(unreached) = state.take(user) else { return };
        if *unreached.all == *position {
            return;
        }
        let is_taken = unreached.taken.as_deref() == Some(position);
        let left = match unreached {
            Unreached { since_taken: Some(since_taken), .. } if is_taken => Unreached {
                all: Arc::clone(&since_taken),
                taken: None,
                since_taken: Some(since_taken),
                ..unreached
            },
            unreached => unreached,
        };
        state.put(user, left);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    fn take(&mut self, user: &str) -> Option<Unreached> {
        let unreached = self.by_user.remove(user)?;
        self.users.remove(&unreached.last_write);
        self.bytes -= unreached.bytes();
        Some(unreached)
    }

    fn put(&mut self, user: &str, unreached: Unreached) {
        let user = Arc::<str>::from(user);
        self.bytes += unreached.bytes();
        self.users.insert(unreached.last_write, Arc::clone(&user));
        self.by_user.insert(user, unreached);
    }

    /// Forgets expired positions, and the users who wrote least recently where there are too many, or their
    /// positions are too long. The last one stays.
    fn make_room(&mut self, users_max: usize, now_ms: i64) {
        let bytes_max = users_max.saturating_mul(POSITION_BYTES_PER_USER);
        while let Some((_, user)) = self.users.first_key_value() {
            let is_over = self.by_user.get(user).is_none_or(|unreached| unreached.until_ms <= now_ms);
            let fits = self.by_user.len() <= users_max && self.bytes <= bytes_max;
            if !is_over && (fits || self.by_user.len() == 1) {
                return;
            }
            let user = Arc::clone(user);
            self.take(&user);
        }
    }
}

impl fmt::Debug for SessionPositions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("SessionPositions").field("users_max", &self.users_max).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use onehop_runtime::clock::ManualClock;

    fn positions(users_max: usize) -> (SessionPositions, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::new(1_800_000_000_000));
        (SessionPositions::new(users_max, clock.clone()), clock)
    }

    /// Positions are writes, as letters: both are reached where the letters of both are.
    fn join(one: &str, other: &str) -> Option<String> {
        Some(one.chars().chain(other.chars()).collect::<BTreeSet<_>>().into_iter().collect())
    }

    impl SessionPositions {
        fn wrote(&self, user: &str, position: &str) -> String {
            self.remember(user, position, join).to_string()
        }

        fn taken(&self, user: &str) -> Option<String> {
            self.take(user).map(|position| position.to_string())
        }
    }

    #[test]
    fn all_writes_of_a_user_are_remembered_until_reached() {
        let (positions, _) = positions(2);
        assert_eq!(positions.wrote("ada", "a"), "a");
        assert_eq!(positions.wrote("ada", "b"), "ab", "the earlier write is not forgotten");
        assert_eq!(positions.taken("ada").as_deref(), Some("ab"));
        assert_eq!(positions.taken("grace"), None);
        positions.reached("ada", "a");
        assert_eq!(positions.taken("ada").as_deref(), Some("ab"));
        positions.reached("ada", "ab");
        assert_eq!(positions.taken("ada"), None);
        assert_eq!(positions.lock().bytes, 0);
    }

    #[test]
    fn the_order_of_concurrent_writes_does_not_matter() {
        for order in [["a", "b"], ["b", "a"]] {
            let (positions, _) = positions(2);
            for write in order {
                positions.wrote("ada", write);
            }
            assert_eq!(positions.taken("ada").as_deref(), Some("ab"));
        }
    }

    #[test]
    fn a_query_drops_what_it_reached_and_nothing_later() {
        let (positions, _) = positions(2);
        positions.wrote("ada", "a");
        let first = positions.taken("ada").unwrap();
        positions.wrote("ada", "b");
        positions.wrote("ada", "c");
        positions.reached("ada", &first);
        assert_eq!(positions.taken("ada").as_deref(), Some("bc"));
        // After two queries, the earlier one cannot know the position of the later one.
        positions.wrote("ada", "d");
        let later = positions.taken("ada").unwrap();
        positions.reached("ada", "bc");
        assert_eq!((later.as_str(), positions.taken("ada").as_deref()), ("bcd", Some("bcd")));
        positions.reached("ada", &later);
        assert_eq!(positions.taken("ada"), None);
    }

    #[test]
    fn a_client_that_reaches_the_position_of_its_last_write_waits_no_more() {
        let (positions, _) = positions(2);
        positions.wrote("ada", "a");
        let given = positions.wrote("ada", "b");
        positions.reached("ada", &given);
        assert_eq!(positions.taken("ada"), None);
    }

    #[test]
    fn positions_that_cannot_be_joined_leave_the_later_one() {
        let (positions, _) = positions(2);
        positions.wrote("ada", "a");
        assert_eq!(&*positions.remember("ada", "b", |_, _| None), "b");
        assert_eq!(positions.taken("ada").as_deref(), Some("b"));
    }

    #[test]
    fn the_least_recent_write_makes_room() {
        let (positions, _) = positions(2);
        for user in ["ada", "grace", "ada", "alan"] {
            positions.wrote(user, "a");
        }
        let remembered = ["ada", "grace", "alan"].map(|user| positions.taken(user).is_some());
        assert_eq!(remembered, [true, false, true]);
        assert_eq!(positions.lock().users.len(), 2);
    }

    #[test]
    fn long_positions_make_room_too() {
        let (positions, _) = positions(3);
        let long = "x".repeat(POSITION_BYTES_PER_USER);
        for user in ["ada", "grace", "alan"] {
            positions.remember(user, &long, join_long);
        }
        let remembered = ["ada", "grace", "alan"].map(|user| positions.taken(user).is_some());
        assert_eq!(remembered, [false, false, true], "each is remembered twice");
        positions.remember("ada", &"x".repeat(10 * long.len()), join_long);
        assert!(positions.taken("ada").is_some(), "the last one stays");
        assert_eq!(positions.lock().by_user.len(), 1);
    }

    fn join_long(_: &str, later: &str) -> Option<String> {
        Some(later.to_owned())
    }

    #[test]
    fn a_write_is_not_remembered_for_ever() {
        let (positions, clock) = positions(10);
        positions.wrote("ada", "a");
        positions.wrote("grace", "a");
        clock.advance_ms(60_000);
        assert_eq!(positions.taken("ada"), None);
        assert_eq!(positions.wrote("alan", "a"), "a");
        let state = positions.lock();
        assert_eq!((state.by_user.len(), state.users.len()), (1, 1));
        drop(state);
        positions.wrote("alan", "b");
        clock.advance_ms(60_000);
        assert_eq!(positions.wrote("alan", "c"), "c", "what is over is not joined");
    }

    #[test]
    fn a_write_is_remembered_for_a_minute_whatever_the_clock_does() {
        for step_ms in [-3_600_000, 3_600_000] {
            let (positions, clock) = positions(10);
            positions.wrote("ada", "a");
            clock.step_wall_ms(step_ms);
            clock.advance_ms(59_999);
            assert_eq!(positions.taken("ada").as_deref(), Some("a"));
            clock.advance_ms(1);
            assert_eq!(positions.taken("ada"), None);
        }
    }

    #[test]
    fn without_room_nothing_is_remembered() {
        let (positions, _) = positions(0);
        assert_eq!(positions.wrote("ada", "a"), "a");
        assert_eq!(positions.taken("ada"), None);
    }
}
