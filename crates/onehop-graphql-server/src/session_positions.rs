//! Session consistency: the position of each user's last write, in bounded memory of this process. A query of the user waits
//! for it as if the client had sent it, until it is reached once.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use onehop_runtime::clock::Clock;
use parking_lot::{Mutex, MutexGuard};

/// Users whose last write is remembered, unless the configuration says otherwise. Each takes about 400 bytes.
pub const SESSION_POSITIONS_MAX: usize = 16_384;

/// How long a write is remembered that no query has reached: projections that stand still do not slow their users down
/// for longer.
const REMEMBERED_FOR: Duration = Duration::from_secs(60);

/// The positions of last writes that no query of their user has reached yet. The least recent ones go first.
pub(super) struct SessionPositions {
    users_max: usize,
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    by_user: HashMap<Arc<str>, Remembered>,
    /// By the number of the write.
    users: BTreeMap<u64, Arc<str>>,
    writes: u64,
}

struct Remembered {
    write: u64,
    position: Arc<str>,
    /// Monotonic ms.
    until_ms: i64,
}

impl SessionPositions {
    /// An empty memory for this many users; for none it remembers nothing.
    pub(super) fn new(users_max: usize, clock: Arc<dyn Clock>) -> Self {
        Self { users_max, clock, state: Mutex::default() }
    }

    /// Remembers the position of a user's last write.
    pub(super) fn remember(&self, user: &str, position: &str) {
        if self.users_max == 0 {
            return;
        }
        let now_ms = self.clock.monotonic_ms();
        let kept_ms = i64::try_from(REMEMBERED_FOR.as_millis()).unwrap_or(i64::MAX);
        let mut state = self.lock();
        state.forget(user);
        state.make_room(self.users_max, now_ms);
        state.writes += 1;
        let (write, user) = (state.writes, Arc::<str>::from(user));
        state.users.insert(write, Arc::clone(&user));
        let remembered =
            Remembered { write, position: position.into(), until_ms: now_ms.saturating_add(kept_ms) };
        state.by_user.insert(user, remembered);
    }

    /// The position of the user's last write, if no query has reached it.
    pub(super) fn last(&self, user: &str) -> Option<Arc<str>> {
        let mut state = self.lock();
        let remembered = state.by_user.get(user)?;
        if remembered.until_ms > self.clock.monotonic_ms() {
            return Some(Arc::clone(&remembered.position));
        }
        state.forget(user);
        None
    }

    /// Forgets a position, unless the user has written since.
    pub(super) fn forget(&self, user: &str, position: &str) {
        let mut state = self.lock();
        if state.by_user.get(user).is_some_and(|remembered| &*remembered.position == position) {
            state.forget(user);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    fn forget(&mut self, user: &str) {
        if let Some(remembered) = self.by_user.remove(user) {
            self.users.remove(&remembered.write);
        }
    }

    /// Forgets what is over, and the least recent write where one more would be too many.
    fn make_room(&mut self, users_max: usize, now_ms: i64) {
        while let Some((_, user)) = self.users.first_key_value() {
            let is_over = self.by_user.get(user).is_none_or(|remembered| remembered.until_ms <= now_ms);
            if !is_over && self.by_user.len() < users_max {
                return;
            }
            let user = Arc::clone(user);
            self.forget(&user);
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
    use super::*;
    use onehop_runtime::clock::ManualClock;

    fn positions(users_max: usize) -> (SessionPositions, Arc<ManualClock>) {
        let clock = Arc::new(ManualClock::new(1_800_000_000_000));
        (SessionPositions::new(users_max, clock.clone()), clock)
    }

    #[test]
    fn the_last_write_of_a_user_is_remembered_until_reached() {
        let (positions, _) = positions(2);
        positions.remember("ada", "1");
        positions.remember("ada", "2");
        assert_eq!(positions.last("ada").as_deref(), Some("2"));
        assert_eq!(positions.last("grace"), None);
        positions.forget("ada", "1");
        assert_eq!(positions.last("ada").as_deref(), Some("2"));
        positions.forget("ada", "2");
        assert_eq!(positions.last("ada"), None);
    }

    #[test]
    fn the_least_recent_write_makes_room() {
        let (positions, _) = positions(2);
        for user in ["ada", "grace", "ada", "alan"] {
            positions.remember(user, "1");
        }
        let remembered = ["ada", "grace", "alan"].map(|user| positions.last(user).is_some());
        assert_eq!(remembered, [true, false, true]);
        assert_eq!(positions.lock().users.len(), 2);
    }

    #[test]
    fn a_write_is_not_remembered_for_ever() {
        let (positions, clock) = positions(10);
        positions.remember("ada", "1");
        positions.remember("grace", "1");
        clock.advance_ms(60_000);
        assert_eq!(positions.last("ada"), None);
        positions.remember("alan", "1");
        let state = positions.lock();
        assert_eq!((state.by_user.len(), state.users.len()), (1, 1));
    }

    #[test]
    fn a_write_is_remembered_for_a_minute_whatever_the_clock_does() {
        for step_ms in [-3_600_000, 3_600_000] {
            let (positions, clock) = positions(10);
            positions.remember("ada", "1");
            clock.step_wall_ms(step_ms);
            clock.advance_ms(59_999);
            assert_eq!(positions.last("ada").as_deref(), Some("1"));
            clock.advance_ms(1);
            assert_eq!(positions.last("ada"), None);
        }
    }

    #[test]
    fn without_room_nothing_is_remembered() {
        let (positions, _) = positions(0);
        positions.remember("ada", "1");
        assert_eq!(positions.last("ada"), None);
    }
}
