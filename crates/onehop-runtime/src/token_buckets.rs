//! Token buckets, one for each key, in bounded memory. A bucket holds so much, fills at a rate, and may be
//! overdrawn. Knows neither the meaning of keys nor the unit of the charges; times are arguments.
//!
//! A bucket is kept as the moment at which it will be full, which does not change as time goes by. A full
//! bucket is not kept at all. When there are too many, the bucket that would be full first is forgotten. Its
//! owner gains the least. A client that wants its own overdrawn bucket forgotten has to overdraw as many
//! others as there may be.

use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::hash::Hash;
use std::time::Duration;

/// The most full buckets that one look forgets, so that no look takes long.
const FORGOTTEN_AT_ONCE_MAX: usize = 8;

const NS_PER_MS: i64 = 1_000_000;
const NS_PER_SECOND: f64 = 1e9;

/// The capacity and the fill rate of a bucket.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BucketRate {
    /// More than 0.
    pub per_second: f64,
    /// At least 1.
    pub capacity: f64,
}

/// Buckets of one rate.
pub struct TokenBuckets<K> {
    rate: BucketRate,
    keys_max: usize,
    book: Mutex<BucketTable<K>>,
}

struct BucketTable<K> {
    /// When each bucket will be full (ns since the Unix epoch); full buckets are missing.
    full_at: HashMap<K, i64>,
    by_time: BTreeSet<(i64, K)>,
    /// The latest moment so far, and how far the clock was set back since (ns).
    latest: i64,
    set_back: i64,
}

impl<K: Clone + Eq + Hash + Ord> TokenBuckets<K> {
    /// Buckets that are full, of which at most this many are kept.
    #[must_use]
    pub fn new(rate: BucketRate, keys_max: usize) -> Self {
        let book =
            BucketTable { full_at: HashMap::new(), by_time: BTreeSet::new(), latest: i64::MIN, set_back: 0 };
        Self { rate, keys_max, book: Mutex::new(book) }
    }

    /// The tokens left in a bucket; less than 0 for an overdrawn bucket.
    #[must_use]
    pub fn left(&self, key: &K, now_ms: i64) -> f64 {
        let mut book = self.lock();
        let now = book.at(now_ms);
        let missing = book.missing(key, now) as f64 / NS_PER_SECOND * self.rate.per_second;
        self.rate.capacity - missing
    }

    /// The time until there is anything in a bucket; `None` when there is.
    #[must_use]
    pub fn empty_for(&self, key: &K, now_ms: i64) -> Option<Duration> {
        let mut book = self.lock();
        let now = book.at(now_ms);
        let over = book.missing(key, now).saturating_sub(self.ns(self.rate.capacity));
        // At 0 there is nothing yet.
        (over >= 0).then(|| Duration::from_nanos(over.unsigned_abs().saturating_add(1)))
    }

    /// Takes so much out of a bucket, even beyond its content.
    pub fn spend(&self, key: &K, amount: f64, now_ms: i64) {
        self.change(key, self.ns(amount), now_ms);
    }

    /// Puts so much back.
    pub fn give_back(&self, key: &K, amount: f64, now_ms: i64) {
        self.change(key, -self.ns(amount), now_ms);
    }

    /// Takes so much out of a bucket that holds it.
    ///
    /// # Errors
    /// It does not, and will after this time.
    pub fn take(&self, key: &K, amount: f64, now_ms: i64) -> Result<(), Duration> {
        let mut book = self.lock();
        let now = book.at(now_ms);
        let missing = book.missing(key, now).saturating_add(self.ns(amount));
        let over = missing.saturating_sub(self.ns(self.rate.capacity));
        if over > 0 {
            return Err(Duration::from_nanos(over.unsigned_abs()));
        }
        book.set(key, now, missing, self.keys_max);
        Ok(())
    }

    /// The number of kept buckets.
    #[must_use]
    pub fn kept(&self) -> usize {
        self.lock().full_at.len()
    }

    fn change(&self, key: &K, by: i64, now_ms: i64) {
        let mut book = self.lock();
        let now = book.at(now_ms);
        let missing = book.missing(key, now).saturating_add(by);
        book.set(key, now, missing, self.keys_max);
    }

    /// The time in which a bucket fills by so much.
    fn ns(&self, amount: f64) -> i64 {
        // A float beyond the range becomes its end.
        (amount / self.rate.per_second * NS_PER_SECOND).round() as i64
    }

    /// The book is whole after every step.
    fn lock(&self) -> MutexGuard<'_, BucketTable<K>> {
        self.book.lock()
    }
}

impl<K: Clone + Eq + Hash + Ord> BucketTable<K> {
    /// The moment of a clock, on a clock that is never set back: a bucket that fills later would be spent for
    /// as long.
    fn at(&mut self, now_ms: i64) -> i64 {
        let now = now_ms.saturating_mul(NS_PER_MS);
        if now.saturating_add(self.set_back) < self.latest {
            self.set_back = self.latest.saturating_sub(now);
        }
        self.latest = now.saturating_add(self.set_back);
        self.latest
    }

    /// The time until a bucket is full.
    fn missing(&self, key: &K, now: i64) -> i64 {
        self.full_at.get(key).map_or(0, |full_at| full_at.saturating_sub(now).max(0))
    }

    fn set(&mut self, key: &K, now: i64, missing: i64, keys_max: usize) {
        if let Some(full_at) = self.full_at.remove(key) {
            self.by_time.remove(&(full_at, key.clone()));
        }
        if missing > 0 {
            let full_at = now.saturating_add(missing);
            self.full_at.insert(key.clone(), full_at);
            self.by_time.insert((full_at, key.clone()));
        }
        for _ in 0..FORGOTTEN_AT_ONCE_MAX {
            let is_full = self.by_time.first().is_some_and(|(full_at, _)| *full_at <= now);
            if !is_full && self.full_at.len() <= keys_max {
                return;
            }
            if let Some((_, key)) = self.by_time.pop_first() {
                self.full_at.remove(&key);
            }
        }
    }
}

impl<K> fmt::Debug for TokenBuckets<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Buckets").field("rate", &self.rate).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW_MS: i64 = 1_800_000_000_000;

    /// 10 a second, at most 100.
    fn buckets(keys_max: usize) -> TokenBuckets<u32> {
        TokenBuckets::new(BucketRate { per_second: 10.0, capacity: 100.0 }, keys_max)
    }

    #[test]
    fn a_bucket_fills_at_its_rate_and_not_beyond_what_it_holds() {
        let buckets = buckets(10);
        buckets.spend(&1, 60.0, NOW_MS);
        assert_eq!(buckets.left(&1, NOW_MS), 40.0);
        assert_eq!(buckets.left(&1, NOW_MS + 1_000), 50.0);
        assert_eq!(buckets.left(&1, NOW_MS + 60_000), 100.0);
        assert_eq!(buckets.left(&2, NOW_MS), 100.0, "another's is untouched");
    }

    #[test]
    fn an_overdrawn_bucket_is_empty_until_its_debt_is_paid() {
        let buckets = buckets(10);
        buckets.spend(&1, 150.0, NOW_MS);
        assert_eq!(buckets.left(&1, NOW_MS), -50.0);
        let wait = buckets.empty_for(&1, NOW_MS).unwrap();
        assert!(wait > Duration::from_secs(5) && wait < Duration::from_millis(5_001), "{wait:?}");
        assert!(buckets.empty_for(&1, NOW_MS + 5_000).is_some());
        assert!(buckets.empty_for(&1, NOW_MS + 5_001).is_none());
    }

    #[test]
    fn what_is_taken_has_to_be_there() {
        let buckets = buckets(10);
        assert_eq!(buckets.take(&1, 100.0, NOW_MS), Ok(()));
        assert_eq!(buckets.take(&1, 20.0, NOW_MS), Err(Duration::from_secs(2)));
        assert_eq!(buckets.take(&1, 20.0, NOW_MS + 2_000), Ok(()), "what was refused was not taken");
        buckets.give_back(&1, 500.0, NOW_MS + 2_000);
        assert_eq!(buckets.left(&1, NOW_MS + 2_000), 100.0, "it never holds more than it can");
    }

    #[test]
    fn full_buckets_are_not_kept() {
        let buckets = buckets(1_000);
        for key in 0..100 {
            buckets.spend(&key, 1.0, NOW_MS);
        }
        assert_eq!(buckets.kept(), 100);
        for look in 0..15 {
            buckets.spend(&7, 1.0, NOW_MS + 1_000 + look);
        }
        assert_eq!(buckets.kept(), 1);
    }

    #[test]
    fn of_too_many_the_one_that_owes_least_is_forgotten() {
        let buckets = buckets(3);
        for (key, amount) in [(1, 200.0), (2, 30.0), (3, 20.0)] {
            buckets.spend(&key, amount, NOW_MS);
        }
        for stranger in 10..1_000 {
            buckets.spend(&stranger, 25.0, NOW_MS);
        }
        assert_eq!(buckets.kept(), 3);
        assert_eq!(buckets.left(&1, NOW_MS), -100.0, "the largest debt is never forgotten");
        assert_eq!(buckets.left(&2, NOW_MS), 70.0);
    }

    #[test]
    fn a_clock_that_is_set_back_neither_fills_nor_locks_a_bucket() {
        let buckets = buckets(10);
        buckets.spend(&1, 150.0, NOW_MS);
        let earlier_ms = NOW_MS - 3_600_000;
        assert_eq!(buckets.left(&1, earlier_ms), -50.0);
        assert_eq!(buckets.left(&1, earlier_ms + 10_000), 50.0);
    }

    #[test]
    fn the_largest_amount_does_not_overflow() {
        let buckets = buckets(10);
        for _ in 0..3 {
            buckets.spend(&1, f64::MAX, NOW_MS);
        }
        assert!(buckets.empty_for(&1, NOW_MS).is_some());
    }
}
