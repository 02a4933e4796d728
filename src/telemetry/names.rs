//! Operation names as labels, in bounded number: clients make them up, so only the most frequent have a
//! series of their own.
//!
//! Space-Saving (Metwally, Agrawal, El Abbadi, 2005): a name without a label takes the label of the least
//! frequent one and inherits its count, and the series of the other is dropped. So a name that is used more
//! often than a 200th of all requests keeps its series, under any names of others.

use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// Names of operations with a label of their own.
pub const OPERATION_NAMES_MAX: usize = 200;
/// The longest name with a label of its own, in bytes.
const NAME_BYTES_MAX: usize = 64;
/// The shared label of longer names. No operation can have this name.
const OTHERS: &str = "(other)";
/// An operation without a name.
const NAMELESS: &str = "(anonymous)";

/// The label of a name in a trace, where nothing is kept for it.
pub(super) fn traced(name: Option<&str>) -> &str {
    match name {
        None => NAMELESS,
        Some(name) if name.len() > NAME_BYTES_MAX => OTHERS,
        Some(name) => name,
    }
}

/// The names that have a series, with how often they were used.
#[derive(Debug, Default)]
pub(super) struct OperationNames(RwLock<NameUse>);

#[derive(Debug, Default)]
struct NameUse {
    uses: HashMap<String, NameUses>,
    admitted: u64,
}

#[derive(Debug)]
struct NameUses {
    /// With those inherited from the name that was here before.
    count: AtomicU64,
    /// Its number among all admitted names.
    admitted: u64,
}

impl OperationNames {
    /// Records something under the label of a name. Drops the series of the name that has to make room first.
    pub(super) fn record(
        &self,
        name: Option<&str>,
        drop_series: impl FnOnce(&str),
        record: impl FnOnce(&str),
    ) {
        let label = traced(name);
        if label == NAMELESS || label == OTHERS {
            return record(label);
        }
        {
            let known = self.0.read();
            if let Some(uses) = known.uses.get(label) {
                uses.count.fetch_add(1, Ordering::Relaxed);
                // Under the lock: a series is not made again after it was dropped.
                return record(label);
            }
        }
        let mut known = self.0.write();
        known.admit(label, drop_series);
        record(label);
    }
}

impl NameUse {
    fn admit(&mut self, name: &str, drop_series: impl FnOnce(&str)) {
        if let Some(uses) = self.uses.get(name) {
            uses.count.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let inherited = if self.uses.len() < OPERATION_NAMES_MAX { 0 } else { self.make_room(drop_series) };
        self.admitted += 1;
        let uses = NameUses { count: AtomicU64::new(inherited + 1), admitted: self.admitted };
        self.uses.insert(name.to_owned(), uses);
    }

    /// Drops the least frequent name, of several the oldest, and returns its count.
    fn make_room(&mut self, drop_series: impl FnOnce(&str)) -> u64 {
        let weight = |uses: &NameUses| (uses.count.load(Ordering::Relaxed), uses.admitted);
        let lightest = self.uses.iter().min_by_key(|(_, uses)| weight(uses)).map(|(name, _)| name.clone());
        let Some(name) = lightest else { return 0 };
        drop_series(&name);
        self.uses.remove(&name).map_or(0, |uses| uses.count.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses a name, and returns its label and whose series was dropped for it.
    fn used(names: &OperationNames, name: Option<&str>) -> (String, Option<String>) {
        let (mut label, mut dropped) = (String::new(), None);
        names.record(name, |name| dropped = Some(name.to_owned()), |name| label = name.to_owned());
        (label, dropped)
    }

    #[test]
    fn a_name_beyond_the_limit_takes_the_place_of_the_rarest() {
        let names = OperationNames::default();
        for number in 0..OPERATION_NAMES_MAX {
            let name = format!("Name{number}");
            assert_eq!(used(&names, Some(&name)), (name, None));
        }
        used(&names, Some("Name0"));
        assert_eq!(used(&names, Some("OneMore")), ("OneMore".to_owned(), Some("Name1".to_owned())));
        assert_eq!(used(&names, Some("Name0")), ("Name0".to_owned(), None));
        assert_eq!(used(&names, None), (NAMELESS.to_owned(), None));
        assert_eq!(names.0.read().uses.len(), OPERATION_NAMES_MAX);
    }

    #[test]
    fn a_name_in_use_keeps_its_label_beside_made_up_ones() {
        let names = OperationNames::default();
        for number in 0..10 * OPERATION_NAMES_MAX {
            used(&names, Some(&format!("Evil{number}")));
            if number % 50 == 0 {
                used(&names, Some("Feed"));
            }
        }
        assert_eq!(used(&names, Some("Feed")), ("Feed".to_owned(), None));
    }

    #[test]
    fn a_long_name_is_one_of_the_others() {
        let long = "n".repeat(NAME_BYTES_MAX + 1);
        assert_eq!(used(&OperationNames::default(), Some(&long)), (OTHERS.to_owned(), None));
        assert_eq!(traced(Some(&long)), OTHERS);
    }
}
