//! The session cache: which sessions accounts have, as far as this process has read or written. Bounded;
//! forgotten sessions are read again.
//!
//! A read of the store that began before a write of this process ended may have seen the state before it.
//! Ticks order them, so that such a read does not bring a session back that has ended here. While a write is
//! under way nothing is known of its account, and neither is it for a while after a write whose answer was
//! not awaited: the store may still commit it.

use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quick_cache::{Weighter, unsync::Cache};

use super::notifications::SessionNotifier;
use crate::accounts::account_id::AccountId;
use crate::accounts::session::SessionId;
use onehop_runtime::clock::Clock;

/// Limit of remembered accounts and sessions together. Each takes about 100 bytes.
const REMEMBERED_MAX: u64 = 131_072;
/// The usual number of accounts.
const ACCOUNTS_EXPECTED: usize = 1024;

/// A moment in the order of reads and writes of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LogicalTime(u64);

/// A session that exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CachedSession {
    pub(super) id: SessionId,
    pub(super) expires_at_ms: i64,
}

/// The sessions of an account at one moment.
#[derive(Debug)]
pub(super) struct SessionSnapshot {
    sessions: Box<[CachedSession]>,
    tick: LogicalTime,
    pub(super) read_at_ms: i64,
    /// Until when a write may still come (Unix ms): reads meanwhile are not remembered.
    uncertain_until_ms: i64,
}

impl SessionSnapshot {
    /// The age of this snapshot. A clock that was set back makes it old.
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

impl Weighter<AccountId, Arc<SessionSnapshot>> for SessionCountWeighter {
    fn weight(&self, _account: &AccountId, known: &Arc<SessionSnapshot>) -> u64 {
        1 + known.sessions.len() as u64
    }
}

/// The time of a read that has to be repeated before anything is known.
const UNKNOWN_AT_MS: i64 = i64::MIN;
/// The time for which a write whose answer was not awaited may still come: no operation on the store takes
/// longer than a request.
const UNCERTAIN_FOR_MS: i64 = 30_000;
/// The interval of checks of an open connection meanwhile.
const UNCERTAIN_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// The time of nothing uncertain.
const CERTAIN: i64 = i64::MIN;

/// The sessions that this process knows of.
pub(super) struct SessionCache {
    accounts: Mutex<Cache<AccountId, Arc<SessionSnapshot>, SessionCountWeighter>>,
    ticks: AtomicU64,
}

impl Default for SessionCache {
    fn default() -> Self {
        let accounts = Cache::with_weighter(ACCOUNTS_EXPECTED, REMEMBERED_MAX, SessionCountWeighter);
        Self { accounts: Mutex::new(accounts), ticks: AtomicU64::new(0) }
    }
}

impl SessionCache {
    /// The moment before a read, or after a write.
    pub(super) fn tick(&self) -> LogicalTime {
        LogicalTime(self.ticks.fetch_add(1, Ordering::SeqCst))
    }

    /// The cached sessions of an account.
    pub(super) fn get(&self, account: AccountId) -> Option<Arc<SessionSnapshot>> {
        self.accounts.lock().get(&account).map(Arc::clone)
    }

    /// Remembers the sessions of an account, and returns them; a cached state of a later moment is kept and
    /// returned instead.
    pub(super) fn remember(
        &self,
        account: AccountId,
        sessions: Vec<CachedSession>,
        tick: LogicalTime,
        read_at_ms: i64,
    ) -> Arc<SessionSnapshot> {
        let mut accounts = self.accounts.lock();
        let read =
            SessionSnapshot { sessions: sessions.into(), tick, read_at_ms, uncertain_until_ms: CERTAIN };
        let read = Arc::new(read);
        if let Some(known) = accounts.get(&account) {
            if known.tick > tick && known.read_at_ms != UNKNOWN_AT_MS {
                return Arc::clone(known);
            }
            if known.tick > tick || known.uncertain_until_ms > read_at_ms {
                return read;
            }
        }
        accounts.insert(account, Arc::clone(&read));
        read
    }

    /// The pause before the next check of an open connection, while a write of the account is uncertain.
    pub(super) fn uncertain_pause(&self, account: AccountId, now_ms: i64) -> Option<Duration> {
        let is_uncertain = self.get(account).is_some_and(|known| known.uncertain_until_ms > now_ms);
        is_uncertain.then_some(UNCERTAIN_CHECK_INTERVAL)
    }

    /// Knows nothing of an account until this moment.
    fn forget_until(&self, account: AccountId, uncertain_until_ms: i64) -> LogicalTime {
        let mut accounts = self.accounts.lock();
        let tick = self.tick();
        let unknown =
            SessionSnapshot { sessions: Box::default(), tick, read_at_ms: UNKNOWN_AT_MS, uncertain_until_ms };
        accounts.insert(account, Arc::new(unknown));
        tick
    }

    /// Remembers the sessions of an account as they were written by a write that began at this moment. Where
    /// another read or write was remembered since, their order is not known: then the next check asks the
    /// store.
    fn remember_written(
        &self,
        account: AccountId,
        sessions: Vec<CachedSession>,
        began: LogicalTime,
        written_at_ms: i64,
    ) {
        let mut accounts = self.accounts.lock();
        let tick = self.tick();
        let written = match accounts.get(&account).filter(|known| known.tick > began) {
            Some(later) => SessionSnapshot {
                sessions: Box::default(),
                tick,
                read_at_ms: UNKNOWN_AT_MS,
                uncertain_until_ms: later.uncertain_until_ms,
            },
            None => SessionSnapshot {
                sessions: sessions.into(),
                tick,
                read_at_ms: written_at_ms,
                uncertain_until_ms: CERTAIN,
            },
        };
        accounts.insert(account, Arc::new(written));
    }
}

/// A write under way, whose result is not known. Where it is dropped before its end is known, it stays so for
/// a while.
pub(super) struct UncertainWrite<'a> {
    cache: &'a SessionCache,
    watchers: &'a SessionNotifier,
    account: AccountId,
    clock: &'a dyn Clock,
    began: LogicalTime,
    is_known: bool,
}

impl<'a> UncertainWrite<'a> {
    pub(super) fn begin(
        cache: &'a SessionCache,
        watchers: &'a SessionNotifier,
        account: AccountId,
        clock: &'a dyn Clock,
    ) -> Self {
        let began = cache.forget_until(account, clock.now_ms().saturating_add(UNCERTAIN_FOR_MS));
        Self { cache, watchers, account, clock, began, is_known: false }
    }

    /// The write was done, and these are the sessions.
    pub(super) fn end(mut self, sessions: Vec<CachedSession>) {
        self.is_known = true;
        self.cache.remember_written(self.account, sessions, self.began, self.clock.now_ms());
        self.watchers.notify(self.account);
    }
}

impl Drop for UncertainWrite<'_> {
    fn drop(&mut self) {
        if !self.is_known {
            let until_ms = self.clock.now_ms().saturating_add(UNCERTAIN_FOR_MS);
            self.cache.forget_until(self.account, until_ms);
            self.watchers.notify(self.account);
        }
    }
}

#[cfg(test)]
mod tests {
    use onehop_runtime::clock::ManualClock;
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
        let (memory, user) = (SessionCache::default(), AccountId::user(Uuid::from_u128(1)));
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
        let (memory, user) = (SessionCache::default(), AccountId::user(Uuid::from_u128(1)));
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
            memory.remember(AccountId::user(Uuid::from_u128(number)), sessions.clone(), memory.tick(), 0);
        }
        let users = memory.accounts.lock();
        assert!(users.weight() <= REMEMBERED_MAX && users.len() > 1000, "{}", users.len());
    }

    #[test]
    fn a_clock_that_was_set_back_has_everything_read_again() {
        let (memory, user) = (SessionCache::default(), AccountId::user(Uuid::from_u128(1)));
        let known = memory.remember(user, Vec::new(), memory.tick(), 500);
        assert_eq!((known.age_ms(700), known.age_ms(499)), (200, i64::MAX));
    }

    #[test]
    fn a_write_is_unknown_until_it_ends_and_after_it_was_dropped() {
        let (memory, watchers) = (SessionCache::default(), SessionNotifier::default());
        let (user, clock) = (AccountId::user(Uuid::from_u128(1)), ManualClock::new(100));
        memory.remember(user, vec![held(1)], memory.tick(), 90);
        let write = UncertainWrite::begin(&memory, &watchers, user, &clock);
        assert!(!memory.get(user).unwrap().holds(id(1), 100));
        // A read before the commit is answered, and not remembered.
        assert!(memory.remember(user, vec![held(1)], memory.tick(), 100).holds(id(1), 100));
        assert!(!memory.get(user).unwrap().holds(id(1), 100));
        write.end(vec![held(2)]);
        assert!(memory.get(user).unwrap().holds(id(2), 100));

        drop(UncertainWrite::begin(&memory, &watchers, user, &clock));
        assert!(memory.uncertain_pause(user, 100).is_some());
        memory.remember(user, vec![held(2)], memory.tick(), 100 + UNCERTAIN_FOR_MS - 1);
        assert!(memory.get(user).unwrap().age_ms(101) > UNCERTAIN_FOR_MS);
        memory.remember(user, vec![held(3)], memory.tick(), 100 + UNCERTAIN_FOR_MS);
        assert!(memory.get(user).unwrap().holds(id(3), 200));
        assert_eq!(memory.uncertain_pause(user, 200), None);
    }

    #[test]
    fn a_write_beside_an_uncertain_one_makes_nothing_known() {
        let (memory, watchers) = (SessionCache::default(), SessionNotifier::default());
        let (user, clock) = (AccountId::user(Uuid::from_u128(1)), ManualClock::new(100));
        let first = UncertainWrite::begin(&memory, &watchers, user, &clock);
        let second = UncertainWrite::begin(&memory, &watchers, user, &clock);
        first.end(vec![held(1)]);
        assert!(memory.uncertain_pause(user, 100).is_some());
        second.end(vec![held(2)]);
        assert!(memory.get(user).unwrap().age_ms(100) > UNCERTAIN_FOR_MS, "their order is not known");
    }
}
