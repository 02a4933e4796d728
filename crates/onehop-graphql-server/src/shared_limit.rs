//! A limit on a sum of amounts, of which each key may have a part: bytes or subscriptions, in all and for
//! each network. Knows neither the unit nor the keys.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

/// The sum, and the part of each key in it.
pub(crate) struct SharedLimit<K> {
    max: usize,
    per_key_max: usize,
    sums: Mutex<Sums<K>>,
}

struct Sums<K> {
    all: usize,
    by_key: HashMap<K, usize>,
}

/// An amount that counts until this is dropped.
pub(crate) struct Share<K: Eq + Hash> {
    limit: Arc<SharedLimit<K>>,
    key: Option<K>,
    amount: usize,
}

/// The limit that leaves no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ShareRefusal {
    /// The sum of all.
    All,
    /// The part of one key.
    OneKey,
}

impl<K: Eq + Hash> SharedLimit<K> {
    /// This much in all, and this much for each key.
    pub(crate) fn new(max: usize, per_key_max: usize) -> Arc<Self> {
        Arc::new(Self { max, per_key_max, sums: Mutex::new(Sums { all: 0, by_key: HashMap::new() }) })
    }

    /// A share of nothing yet. Without a key only the sum limits it.
    pub(crate) fn share(self: &Arc<Self>, key: Option<K>) -> Share<K> {
        Share { limit: Arc::clone(self), key, amount: 0 }
    }

    /// The sum of all shares.
    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.lock().all
    }

    /// The sums are whole after every step.
    fn lock(&self) -> MutexGuard<'_, Sums<K>> {
        self.sums.lock()
    }
}

impl<K: Eq + Hash + Clone> Share<K> {
    /// Changes the share to this amount.
    ///
    /// # Errors
    /// There is no room; the share stays.
    pub(crate) fn resize(&mut self, amount: usize) -> Result<(), ShareRefusal> {
        if amount == self.amount {
            return Ok(());
        }
        let SharedLimit { max, per_key_max, .. } = *self.limit;
        let mut sums = self.limit.lock();
        let all = sums.all - self.amount + amount;
        let of_key = self.key.as_ref().map(|key| {
            let before = sums.by_key.get(key).copied().unwrap_or(0);
            before - self.amount + amount
        });
        if amount > self.amount {
            if of_key.is_some_and(|of_key| of_key > per_key_max) {
                return Err(ShareRefusal::OneKey);
            }
            if all > max {
                return Err(ShareRefusal::All);
            }
        }
        sums.all = all;
        if let (Some(key), Some(of_key)) = (&self.key, of_key) {
            sums.set(key, of_key);
        }
        self.amount = amount;
        Ok(())
    }
}

impl<K: Eq + Hash + Clone> Sums<K> {
    fn set(&mut self, key: &K, amount: usize) {
        match self.by_key.get_mut(key) {
            _ if amount == 0 => drop(self.by_key.remove(key)),
            Some(of_key) => *of_key = amount,
            None => drop(self.by_key.insert(key.clone(), amount)),
        }
    }
}

impl<K: Eq + Hash> Drop for Share<K> {
    fn drop(&mut self) {
        if self.amount == 0 {
            return;
        }
        let mut sums = self.limit.lock();
        sums.all -= self.amount;
        let Some(key) = &self.key else { return };
        if let Some(of_key) = sums.by_key.get_mut(key) {
            *of_key -= self.amount;
            if *of_key == 0 {
                sums.by_key.remove(key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_a_part_and_all_have_the_sum() {
        let limit = SharedLimit::new(10, 4);
        let mut shares: Vec<_> = [1, 1, 2, 3].map(|key| limit.share(Some(key))).into();
        assert_eq!(shares[0].resize(3), Ok(()));
        assert_eq!(shares[1].resize(2), Err(ShareRefusal::OneKey));
        assert_eq!(shares[1].resize(1), Ok(()));
        assert_eq!(shares[2].resize(4), Ok(()));
        assert_eq!(shares[3].resize(3), Err(ShareRefusal::All));
        assert_eq!(shares[3].resize(2), Ok(()));
        assert_eq!(limit.used(), 10);
        shares.remove(0);
        assert_eq!(shares[0].resize(4), Ok(()), "what was dropped is free again");
        assert_eq!(shares[0].resize(1), Ok(()), "a share shrinks");
        drop(shares);
        let sums = limit.lock();
        assert!(sums.all == 0 && sums.by_key.is_empty(), "no key is remembered");
    }

    #[test]
    fn without_a_key_the_sum_alone_limits() {
        let limit: Arc<SharedLimit<u8>> = SharedLimit::new(10, 1);
        let mut share = limit.share(None);
        assert_eq!((share.resize(10), share.resize(11)), (Ok(()), Err(ShareRefusal::All)));
    }
}
