//! The session cache: which sessions users have, as far as this process has read or written. Bounded; what is forgotten is read
//! again.
//!
//! A read of the store that began before a write of this process ended may have seen the state before it. Ticks order them, so
//! that such a read does not bring a session back that has ended here.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use quick_cache::{Weighter, unsync::Cache};

use crate::accounts::session::SessionId;
use crate::blog::ids::UserId;

/// How many users and sessions are remembered together. Each takes about 100 bytes.
const REMEMBERED_MAX: u64 = 131_072;
/// How many users that usually are.
const USERS_EXPECTED: usize = 1024;

/// A moment in the order of reads and writes of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LogicalTime(u64);

/// A session that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CachedSession {
    pub(super) id: SessionId,
    pub(super) expires_at_ms: i64,
}

/// The sessions of a user at one moment.
#[derive(Debug)]
pub(super) struct SessionSnapshot {
    sessions: Box<[CachedSession]>,
    tick: LogicalTime,
    pub(super) read_at_ms: i64,
}

impl SessionSnapshot {
    /// How old this is. A clock that was set back makes it old.
    pub(super) fn age_ms(&self, now_ms: i64) -> i64 {
        let age_ms = now_ms.saturating_sub(self.read_at_ms);
        if age_ms < 0 { i64::MAX } else { age_ms }
    }

    pub(super) fn holds(&self, id: SessionId, now_ms: i64) -> bool {
        self.expiry(id, now_ms).is_some()
    }

    /// When a session expires; `None` if there is no such session, or it has expired.
    pub(super) fn expiry(&self, id: SessionId, now_ms: i64) -> Option<i64> {
        let held = self.sessions.iter().find(|held| held.id == id)?;
        (held.expires_at_ms > now_ms).then_some(held.expires_at_ms)
    }
}

#[derive(Clone)]
struct SessionCountWeighter;

impl Weighter<UserId, Arc<SessionSnapshot>> for SessionCountWeighter {
    fn weight(&self, _user: &UserId, known: &Arc<SessionSnapshot>) -> u64 {
        1 + known.sessions.len() as u64
    }
}

/// The time of a read that has to be repeated before anything is known.
const UNKNOWN_AT_MS: i64 = i64::MIN;

/// The sessions that this process knows of.
pub(super) struct SessionCache {
    users: Mutex<Cache<UserId, Arc<SessionSnapshot>, SessionCountWeighter>>,
    ticks: AtomicU64,
}

impl Default for SessionCache {
    fn default() -> Self {
        let users = Cache::with_weighter(USERS_EXPECTED, REMEMBERED_MAX, SessionCountWeighter);
        Self { users: Mutex::new(users), ticks: AtomicU64::new(0) }
    }
}

impl SessionCache {
    /// The moment before a read, or after a write.
    pub(super) fn tick(&self) -> LogicalTime {
        LogicalTime(self.ticks.fetch_add(1, Ordering::SeqCst))
    }

    /// What is known of a user.
    pub(super) fn get(&self, user: UserId) -> Option<Arc<SessionSnapshot>> {
        self.users.lock().get(&user).map(Arc::clone)
    }

    /// Remembers the sessions of a user, and returns them; what is known of a later moment is kept and returned instead.
    pub(super) fn remember(
        &self,
        user: UserId,
        sessions: Vec<CachedSession>,
        tick: LogicalTime,
        read_at_ms: i64,
    ) -> Arc<SessionSnapshot> {
        let mut users = self.users.lock();
        if let Some(known) = users.get(&user)
            && known.tick > tick
        {
            let is_unknown = known.read_at_ms == UNKNOWN_AT_MS;
            return if is_unknown {
                Arc::new(SessionSnapshot { sessions: sessions.into(), tick, read_at_ms })
            } else {
                Arc::clone(known)
            };
        }
        let known = Arc::new(SessionSnapshot { sessions: sessions.into(), tick, read_at_ms });
        users.insert(user, Arc::clone(&known));
        known
    }
}

impl SessionCache {
    /// Remembers the sessions of a user as they were written by a change that began to read at this moment. Where another
    /// read or write was remembered meanwhile, their order is not known: then the next check asks the store.
    pub(super) fn remember_written(
        &self,
        user: UserId,
        sessions: Vec<CachedSession>,
        began: LogicalTime,
        written_at_ms: i64,
    ) {
        let mut users = self.users.lock();
        let tick = self.tick();
        let is_contended = users.get(&user).is_some_and(|known| known.tick > began);
        let (sessions, read_at_ms) =
            if is_contended { (Vec::new(), UNKNOWN_AT_MS) } else { (sessions, written_at_ms) };
        users.insert(user, Arc::new(SessionSnapshot { sessions: sessions.into(), tick, read_at_ms }));
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn id(number: u8) -> SessionId {
        let text = format!("{}A", char::from(b'A' + number).to_string().repeat(21));
        SessionId::parse(&text).unwrap()
    }

    fn held(number: u8) -> CachedSession {
        CachedSession { id: id(number), expires_at_ms: 1000 }
    }

    #[test]
    fn writes_that_are_remembered_out_of_order_are_asked_for_again() {
        let (memory, user) = (SessionCache::default(), UserId(Uuid::from_u128(1)));
        let (first, second) = (memory.tick(), memory.tick());
        memory.remember_written(user, vec![held(1), held(2)], second, 5);
        assert!(memory.get(user).unwrap().holds(id(2), 6));
        memory.remember_written(user, vec![held(1)], first, 5);
        assert!(memory.get(user).unwrap().age_ms(6) > 1_000_000_000);
        let early = memory.remember(user, vec![held(1)], second, 5);
        assert!(early.holds(id(1), 6) && !memory.get(user).unwrap().holds(id(1), 6));
        memory.remember(user, vec![held(1), held(2)], memory.tick(), 7);
        assert!(memory.get(user).unwrap().holds(id(2), 8));
    }

    #[test]
    fn a_read_that_began_before_a_write_does_not_undo_it() {
        let (memory, user) = (SessionCache::default(), UserId(Uuid::from_u128(1)));
        let read = memory.tick();
        memory.remember(user, Vec::new(), memory.tick(), 5);
        let known = memory.remember(user, vec![held(1)], read, 0);
        assert!(!known.holds(id(1), 10) && !memory.get(user).unwrap().holds(id(1), 10));
        let known = memory.remember(user, vec![held(2)], memory.tick(), 6);
        assert!(known.holds(id(2), 10) && !known.holds(id(2), 1000));
    }

    #[test]
    fn memory_is_bounded() {
        let memory = SessionCache::default();
        let sessions: Vec<CachedSession> = (0..20).map(held).collect();
        for number in 0..20_000 {
            memory.remember(UserId(Uuid::from_u128(number)), sessions.clone(), memory.tick(), 0);
        }
        let users = memory.users.lock();
        assert!(users.weight() <= REMEMBERED_MAX && users.len() > 1000, "{}", users.len());
    }

    #[test]
    fn a_clock_that_was_set_back_has_everything_read_again() {
        let (memory, user) = (SessionCache::default(), UserId(Uuid::from_u128(1)));
        let known = memory.remember(user, Vec::new(), memory.tick(), 500);
        assert_eq!((known.age_ms(700), known.age_ms(499)), (200, i64::MAX));
    }
}
