//! Sketches of a log in bounded memory: quantiles, the number of partition keys, and the heaviest of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use onehop_runtime::space_saving::SpaceSaving;

use crate::data::sample_hash;

/// Values in one bucket differ by this factor at most, so that a quantile has an error of 2 %.
const BUCKET_FACTOR: f64 = 1.02;
/// Smallest hashes that are kept, which give the number of keys within some 3 %.
const HASHES_MAX: usize = 1_024;
/// Counters of heavy hitters.
const COUNTERS: usize = 256;
/// Characters of a key that are shown.
const KEY_CHARACTERS_MAX: usize = 80;

/// A histogram with buckets of equal ratio.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RatioHistogram {
    /// The number and the sum of the values.
    buckets: BTreeMap<i32, (u64, f64)>,
    pub values: u64,
    pub sum: f64,
}

impl RatioHistogram {
    pub fn add(&mut self, value: f64) {
        self.values += 1;
        self.sum += value;
        // Values of 0 share the lowest bucket. Values to 10^12 have some 2,800 buckets.
        let bucket = value.max(1e-12).log(BUCKET_FACTOR).floor() as i32;
        let (values, sum) = self.buckets.entry(bucket).or_default();
        *values += 1;
        *sum += value;
    }

    pub fn mean(&self) -> f64 {
        self.sum / self.values.max(1) as f64
    }

    /// The value below which this share of the values lies.
    pub fn quantile(&self, share: f64) -> f64 {
        let rank = (share * self.values as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        let found = self.buckets.values().find(|(values, _)| {
            seen += values;
            seen >= rank
        });
        // The mean of the bucket, so that equal values are exact.
        found.map_or(0.0, |(values, sum)| sum / *values as f64)
    }
}

/// The request units of logical partitions.
#[derive(Debug)]
pub(super) struct KeySketch {
    smallest: BTreeSet<u64>,
    heaviest: SpaceSaving,
    names: HashMap<u128, Box<str>>,
    pub total: f64,
}

impl Default for KeySketch {
    fn default() -> Self {
        Self {
            smallest: BTreeSet::new(),
            heaviest: SpaceSaving::new(COUNTERS),
            names: HashMap::new(),
            total: 0.0,
        }
    }
}

impl KeySketch {
    pub fn add(&mut self, key: &str, charge: f64) {
        let hash = sample_hash(key);
        self.total += charge;
        self.smallest.insert(hash);
        if self.smallest.len() > HASHES_MAX {
            self.smallest.pop_last();
        }
        let name = u128::from(hash);
        self.heaviest.add(name, charge);
        self.names.entry(name).or_insert_with(|| shown(key));
        if self.names.len() > 4 * COUNTERS {
            let heavy: BTreeSet<u128> = self.heaviest.keys().collect();
            self.names.retain(|key, _| heavy.contains(key));
        }
    }

    /// Different keys: exactly while there are few, else estimated.
    pub fn keys(&self) -> u64 {
        match self.smallest.last() {
            Some(largest) if self.smallest.len() == HASHES_MAX => {
                let share = *largest as f64 / u64::MAX as f64;
                ((HASHES_MAX - 1) as f64 / share) as u64
            }
            _ => self.smallest.len() as u64,
        }
    }

    /// The heaviest keys, each with its share of the request units, at least.
    pub fn heaviest(&self, keys_max: usize) -> Vec<(String, f64)> {
        let share = |weight: f64| if self.total > 0.0 { weight / self.total } else { 0.0 };
        let named = |heavy: &onehop_runtime::space_saving::HeavyHitter| {
            let name = self.names.get(&heavy.key).map_or_else(String::new, ToString::to_string);
            (name, share(heavy.weight_min))
        };
        let mut heaviest: Vec<(String, f64)> = self.heaviest.heaviest(COUNTERS).iter().map(named).collect();
        heaviest.sort_by(|one, other| other.1.total_cmp(&one.1));
        heaviest.truncate(keys_max);
        heaviest
    }
}

/// A key on one line without control characters.
fn shown(key: &str) -> Box<str> {
    let plain = key.chars().map(|character| if character.is_control() { ' ' } else { character });
    plain.take(KEY_CHARACTERS_MAX).collect::<String>().into()
}
