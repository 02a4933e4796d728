//! Hidden keys: the ranges of a key space in which damage may hide an entry or a deletion.

/// Ranges of keys. A missing entry within one may have been there, and an entry may have had a newer version
/// or a deletion.
#[derive(Debug, Default)]
pub(in super::super) struct HiddenKeys {
    /// Disjoint and in order once [`settle`](Self::settle) was called. A range excludes its lower end.
    ranges: Vec<KeyInterval>,
}

/// Keys behind one up to another one, inclusive. `None` stands for no bound.
#[derive(Debug, Clone, PartialEq, Eq)]
struct KeyInterval {
    after: Option<Vec<u8>>,
    up_to: Option<Vec<u8>>,
}

impl KeyInterval {
    fn is_behind(&self, key: &[u8]) -> bool {
        self.after.as_deref().is_some_and(|after| after >= key)
    }

    fn is_before(&self, key: &[u8]) -> bool {
        self.up_to.as_deref().is_some_and(|up_to| up_to < key)
    }
}

impl HiddenKeys {
    /// Every key.
    pub(in super::super) fn all() -> Self {
        Self { ranges: vec![KeyInterval { after: None, up_to: None }] }
    }

    /// Adds the keys behind one up to another one, inclusive.
    pub(super) fn add(&mut self, after: Option<Vec<u8>>, up_to: Option<Vec<u8>>) {
        self.ranges.push(KeyInterval { after, up_to });
    }

    /// Adds the ranges of others.
    pub(super) fn append(&mut self, mut others: Self) {
        self.ranges.append(&mut others.ranges);
    }

    /// Puts the ranges in order and joins overlapping ones.
    pub(super) fn settle(&mut self) {
        self.ranges.sort_by(|one, other| one.after.cmp(&other.after));
        let mut joined: Vec<KeyInterval> = Vec::with_capacity(self.ranges.len());
        for range in self.ranges.drain(..) {
            match joined.last_mut() {
                Some(last) if last.up_to.is_none() || range.after <= last.up_to => {
                    let is_longer =
                        last.up_to.is_some() && (range.up_to.is_none() || range.up_to > last.up_to);
                    if is_longer {
                        last.up_to = range.up_to;
                    }
                }
                _ => joined.push(range),
            }
        }
        self.ranges = joined;
    }

    /// Whether nothing is hidden.
    pub(in super::super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether a key lies in one of the ranges.
    pub(in super::super) fn contains(&self, key: &[u8]) -> bool {
        let place = self.ranges.partition_point(|range| range.is_before(key));
        self.ranges.get(place).is_some_and(|range| !range.is_behind(key))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn joined_ranges_contain_the_same_keys(
            ends in proptest::collection::vec((proptest::option::of(0_u8..30), proptest::option::of(0_u8..30)), 0..6),
        ) {
            let key = |number: u8| vec![number];
            let mut hidden = HiddenKeys::default();
            let is_range = |(after, up_to): &(Option<u8>, Option<u8>)| {
                after.is_none_or(|after| up_to.is_none_or(|up_to| after < up_to))
            };
            let ends: Vec<_> = ends.into_iter().filter(is_range).collect();
            for (after, up_to) in &ends {
                hidden.add(after.map(key), up_to.map(key));
            }
            hidden.settle();
            for number in 0..32 {
                let expected = ends.iter().any(|(after, up_to)| {
                    after.is_none_or(|after| after < number) && up_to.is_none_or(|up_to| number <= up_to)
                });
                prop_assert_eq!(hidden.contains(&key(number)), expected, "{} in {:?}", number, hidden);
            }
        }
    }
}
