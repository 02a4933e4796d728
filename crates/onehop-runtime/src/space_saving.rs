//! The heaviest keys of a stream in bounded memory: the Space-Saving algorithm (Metwally, Agrawal, El Abbadi:
//! "Efficient Computation of Frequent and Top-k Elements in Data Streams", ICDT 2005), here with weights. It
//! does not know the meaning of keys and weights.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Weights of this many keys at most. A key that is not among them takes the place of the lightest, and its
/// weight too. No weight is underestimated, and the error of a weight is at most the sum of all divided by
/// the number of counters. Every key heavier than that has a counter.
#[derive(Debug)]
pub struct SpaceSaving {
    places: HashMap<u128, usize, BuildHasherDefault<FoldingHasher>>,
    counters: Vec<WeightCounter>,
    /// Of the counter at the same place. Apart, because all are compared whenever a key takes another's
    /// place.
    weights: Vec<f64>,
    counters_max: usize,
}

#[derive(Debug, Clone, Copy)]
struct WeightCounter {
    key: u128,
    /// The weight of its place when it took it.
    inherited: f64,
    times: u64,
}

/// A key that has a counter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeavyHitter {
    /// The key.
    pub key: u128,
    /// Since it has its counter: it weighs no less.
    pub weight_min: f64,
    /// It weighs no more.
    pub weight_max: f64,
    /// Since it has its counter.
    pub times: u64,
}

impl SpaceSaving {
    /// `counters_max`: at least 1.
    #[must_use]
    pub fn new(counters_max: usize) -> Self {
        Self {
            places: HashMap::with_capacity_and_hasher(counters_max, BuildHasherDefault::default()),
            counters: Vec::with_capacity(counters_max),
            weights: Vec::with_capacity(counters_max),
            counters_max,
        }
    }

    /// Adds a weight to a key.
    pub fn add(&mut self, key: u128, weight: f64) {
        if let Some(&place) = self.places.get(&key) {
            self.weights[place] += weight;
            self.counters[place].times += 1;
        } else if self.counters.len() < self.counters_max {
            self.places.insert(key, self.counters.len());
            self.counters.push(WeightCounter { key, inherited: 0.0, times: 1 });
            self.weights.push(weight);
        } else {
            let place = lightest(&self.weights);
            self.places.remove(&self.counters[place].key);
            self.places.insert(key, place);
            self.counters[place] = WeightCounter { key, inherited: self.weights[place], times: 1 };
            self.weights[place] += weight;
        }
    }

    /// The surely heaviest first.
    #[must_use]
    pub fn heaviest(&self, keys_max: usize) -> Vec<HeavyHitter> {
        let mut heaviest: Vec<HeavyHitter> = self
            .counters
            .iter()
            .zip(&self.weights)
            .map(|(counter, weight)| HeavyHitter {
                key: counter.key,
                weight_min: weight - counter.inherited,
                weight_max: *weight,
                times: counter.times,
            })
            .collect();
        let heavier_first = |one: &HeavyHitter, other: &HeavyHitter| {
            other.weight_min.total_cmp(&one.weight_min).then_with(|| one.key.cmp(&other.key))
        };
        if keys_max < heaviest.len() {
            heaviest.select_nth_unstable_by(keys_max, heavier_first);
            heaviest.truncate(keys_max);
        }
        heaviest.sort_unstable_by(heavier_first);
        heaviest
    }

    /// The keys that have a counter, in no order.
    pub fn keys(&self) -> impl Iterator<Item = u128> {
        self.counters.iter().map(|counter| counter.key)
    }
}

/// The place of the smallest weight, 0 without any.
fn lightest(weights: &[f64]) -> usize {
    /// As many comparisons at once as a processor likes.
    const LANES: usize = 8;
    let lesser = |one: f64, other: f64| if other < one { other } else { one };
    let (chunks, rest) = weights.as_chunks::<LANES>();
    let mut least = [f64::INFINITY; LANES];
    for chunk in chunks {
        for (least, weight) in least.iter_mut().zip(chunk) {
            *least = lesser(*least, *weight);
        }
    }
    let least = least.iter().chain(rest).copied().fold(f64::INFINITY, lesser);
    weights.iter().position(|weight| *weight <= least).unwrap_or(0)
}

/// A hasher for keys that are random already, mostly. Keys that are made to collide make it slow, by as many
/// comparisons as there are counters at most.
#[derive(Debug, Default)]
struct FoldingHasher(u64);

/// 2^64 divided by the golden ratio: Knuth, "The Art of Computer Programming", volume 3, 6.4.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for FoldingHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(GOLDEN);
        }
    }

    fn write_u128(&mut self, key: u128) {
        let [high, low] = [key >> 64, key & u128::from(u64::MAX)].map(|half| half as u64);
        let folded = (high.rotate_left(32) ^ low).wrapping_mul(GOLDEN);
        self.0 = folded ^ (folded >> 32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    /// Keys of which some come far more often than others, with whole weights, whose sums are exact.
    fn stream() -> impl Strategy<Value = Vec<(u128, u32)>> {
        let key = prop_oneof![3 => 0..4_u128, 1 => 4..200_u128];
        prop::collection::vec((key, 0..50_u32), 0..600)
    }

    proptest! {
        #[test]
        fn every_heavy_key_is_there_and_no_weight_is_out_of_its_bounds(
            stream in stream(),
            counters_max in 1..40_usize,
        ) {
            let mut sketch = SpaceSaving::new(counters_max);
            let mut exact: HashMap<u128, f64> = HashMap::new();
            for (key, weight) in &stream {
                sketch.add(*key, f64::from(*weight));
                *exact.entry(*key).or_default() += f64::from(*weight);
            }
            let total: f64 = exact.values().sum();
            let bound = total / counters_max as f64;
            let heaviest = sketch.heaviest(usize::MAX);
            prop_assert!(heaviest.len() <= counters_max);
            prop_assert_eq!(sketch.heaviest(3), heaviest.iter().copied().take(3).collect::<Vec<_>>());
            prop_assert_eq!(sketch.keys().count(), heaviest.len());
            for heavy in &heaviest {
                let weight = exact[&heavy.key];
                prop_assert!(heavy.weight_min <= weight && weight <= heavy.weight_max, "{heavy:?}: {weight}");
                prop_assert!(heavy.weight_max - heavy.weight_min <= bound, "{heavy:?}: {bound}");
            }
            for (key, weight) in exact {
                let is_there = heaviest.iter().any(|heavy| heavy.key == key);
                prop_assert!(is_there || weight <= bound, "{key}: {weight} of {total}");
            }
        }

        #[test]
        fn the_lightest_is_found_wherever_it_is(weights in prop::collection::vec(0.0..9.0_f64, 1..70)) {
            let least = weights.iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert_eq!(weights[lightest(&weights)], least);
        }
    }

    #[test]
    fn few_keys_are_weighed_exactly_and_the_heaviest_comes_first() {
        let mut sketch = SpaceSaving::new(3);
        for (key, weight) in [(7, 1.0), (8, 2.5), (7, 3.0), (9, 0.5)] {
            sketch.add(key, weight);
        }
        let kept: Vec<_> =
            sketch.heaviest(2).iter().map(|heavy| (heavy.key, heavy.weight_max, heavy.times)).collect();
        assert_eq!(kept, [(7, 4.0, 2), (8, 2.5, 1)]);
        assert!(sketch.heaviest(3).iter().all(|heavy| heavy.weight_min == heavy.weight_max));
    }

    #[test]
    fn a_new_key_replaces_the_lightest_and_inherits_its_weight() {
        let mut sketch = SpaceSaving::new(2);
        for (key, weight) in [(7, 5.0), (8, 2.0), (9, 1.0)] {
            sketch.add(key, weight);
        }
        let newest = HeavyHitter { key: 9, weight_min: 1.0, weight_max: 3.0, times: 1 };
        let oldest = HeavyHitter { key: 7, weight_min: 5.0, weight_max: 5.0, times: 1 };
        assert_eq!(sketch.heaviest(9), [oldest, newest]);
    }
}
