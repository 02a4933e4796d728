//! Known networks: from where each username was signed in to before, in bounded memory. Brute-force
//! protection reserves attempts for them, and password hashing has a lane for them. They are forgotten when
//! the process ends.

use parking_lot::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::sync::Arc;

use super::network_prefixes::Prefix;

/// Pairs of a name and a network that are remembered. Each takes about 250 bytes.
pub const KNOWN_NETWORKS_MAX: usize = 65_536;
/// Networks that are remembered of one name, so that one name cannot fill the memory.
pub const KNOWN_NETWORKS_PER_NAME_MAX: usize = 8;

type Pair = (Arc<str>, Prefix);

/// The networks that have signed in, by name. The pair that was used longest ago is forgotten first.
#[derive(Debug, Default)]
pub struct KnownNetworks {
    book: Mutex<Book>,
}

#[derive(Debug, Default)]
struct Book {
    last_use: BTreeMap<Pair, u64>,
    by_use: BTreeMap<u64, Pair>,
    uses: u64,
}

impl KnownNetworks {
    /// Whether a sign-in to this name from this network succeeded before.
    #[must_use]
    pub fn contains(&self, name: &Arc<str>, network: Prefix) -> bool {
        self.lock().last_use.contains_key(&(Arc::clone(name), network))
    }

    /// Remembers a sign-in.
    pub fn remember(&self, name: &Arc<str>, network: Prefix) {
        let mut book = self.lock();
        book.touch((Arc::clone(name), network));
        book.forget_beyond(name);
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock()
    }
}

impl Book {
    fn touch(&mut self, pair: Pair) {
        self.uses += 1;
        if let Some(earlier) = self.last_use.insert(pair.clone(), self.uses) {
            self.by_use.remove(&earlier);
        }
        self.by_use.insert(self.uses, pair);
    }

    fn forget_beyond(&mut self, name: &Arc<str>) {
        let of_name = self.last_use.range((Arc::clone(name), Prefix::V4(0))..);
        let of_name = of_name.take_while(|((other, _), _)| other == name);
        let (count, oldest) =
            of_name.fold((0, u64::MAX), |(count, oldest), (_, last_use)| (count + 1, oldest.min(*last_use)));
        if count > KNOWN_NETWORKS_PER_NAME_MAX {
            self.forget(oldest);
        }
        if self.last_use.len() > KNOWN_NETWORKS_MAX
            && let Some(oldest) = self.by_use.keys().next().copied()
        {
            self.forget(oldest);
        }
    }

    fn forget(&mut self, last_use: u64) {
        if let Some(pair) = self.by_use.remove(&last_use) {
            self.last_use.remove(&pair);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_the_networks_it_used_last() {
        let (known, ada) = (KnownNetworks::default(), Arc::from("ada"));
        for network in 0..=KNOWN_NETWORKS_PER_NAME_MAX as u32 {
            known.remember(&ada, Prefix::V4(0));
            known.remember(&ada, Prefix::V4(network));
        }
        let kept: Vec<u32> = (0..10).filter(|network| known.contains(&ada, Prefix::V4(*network))).collect();
        assert_eq!(kept, [0, 2, 3, 4, 5, 6, 7, 8]);
        assert!(!known.contains(&Arc::from("grace"), Prefix::V4(0)));
    }

    #[test]
    fn the_memory_is_bounded_over_all_names() {
        let known = KnownNetworks::default();
        let name = |number: usize| Arc::<str>::from(format!("user{number}"));
        for number in 0..=KNOWN_NETWORKS_MAX {
            known.remember(&name(number), Prefix::Unknown);
        }
        assert_eq!(known.lock().last_use.len(), KNOWN_NETWORKS_MAX);
        assert_eq!(known.lock().by_use.len(), KNOWN_NETWORKS_MAX);
        assert!(!known.contains(&name(0), Prefix::Unknown));
        assert!(known.contains(&name(KNOWN_NETWORKS_MAX), Prefix::Unknown));
    }
}
