//! Group sketch: the items of a type by the values of some fields, in bounded memory. A bottom-k sample of
//! the values is counted exactly; heavy hitters show the largest groups.

use std::collections::{BTreeMap, HashMap, HashSet};

use onehop_runtime::space_saving::SpaceSaving;

use super::{GROUP_ITEMS_MAX, SAMPLE_BYTES_MAX, SAMPLED_GROUPS_MAX, sample_hash};

/// Counters of heavy hitters.
const COUNTERS: usize = 256;
/// Fewest groups that a byte limit leaves.
const GROUPS_MIN: usize = 32;

/// The groups of a type's items.
#[derive(Debug)]
pub struct GroupSketch {
    /// By hash, the smallest of all.
    groups: BTreeMap<u64, Group>,
    keeps_items: bool,
    /// Groups with a larger hash were dropped.
    threshold: u64,
    sampled_bytes: usize,
    heaviest: SpaceSaving,
    names: HashMap<u128, Box<str>>,
    /// Items that are in a group.
    pub items: u64,
    /// Bytes of these items in the data files.
    pub bytes: u64,
}

/// One group.
#[derive(Debug, Clone, Default)]
pub struct Group {
    /// The value, or the values with a line feed between.
    pub key: String,
    /// Its items.
    pub items: u64,
    /// Bytes of its items in the data files.
    pub bytes: u64,
    /// The first of its items, as JSON with the names of fields.
    pub sample: Vec<Box<str>>,
}

/// A group that was looked for.
#[derive(Debug, Clone, Copy)]
pub enum FoundGroup<'a> {
    /// Counted exactly.
    Known(&'a Group),
    /// No item has this value.
    Empty,
    /// Not sampled.
    Unknown,
}

/// The largest group.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HeaviestGroup {
    /// Its value.
    pub key: String,
    /// Its share of all grouped items, at least.
    pub share: f64,
}

impl GroupSketch {
    pub(super) fn new(keeps_items: bool) -> Self {
        Self {
            groups: BTreeMap::new(),
            keeps_items,
            threshold: u64::MAX,
            sampled_bytes: 0,
            heaviest: SpaceSaving::new(COUNTERS),
            names: HashMap::new(),
            items: 0,
            bytes: 0,
        }
    }

    pub(super) fn add(&mut self, key: &str, bytes: u64, item: impl FnOnce() -> Box<str>) {
        self.items += 1;
        self.bytes += bytes;
        let hash = sample_hash(key);
        self.heaviest.add(u128::from(hash), 1.0);
        self.names.entry(u128::from(hash)).or_insert_with(|| key.into());
        if self.names.len() > 4 * COUNTERS {
            self.forget_light_names();
        }
        if hash > self.threshold {
            return;
        }
        let group =
            self.groups.entry(hash).or_insert_with(|| Group { key: key.to_owned(), ..Group::default() });
        group.items += 1;
        group.bytes += bytes;
        if self.keeps_items && group.sample.len() < GROUP_ITEMS_MAX && self.sampled_bytes < SAMPLE_BYTES_MAX {
            let item = item();
            self.sampled_bytes += item.len();
            group.sample.push(item);
        }
        while self.is_full() {
            self.drop_last();
        }
    }

    fn is_full(&self) -> bool {
        self.groups.len() > SAMPLED_GROUPS_MAX
            || (self.sampled_bytes >= SAMPLE_BYTES_MAX && self.groups.len() > GROUPS_MIN)
    }

    fn drop_last(&mut self) {
        let Some((hash, group)) = self.groups.pop_last() else { return };
        self.threshold = hash.saturating_sub(1);
        self.sampled_bytes -= group.sample.iter().map(|item| item.len()).sum::<usize>();
    }

    fn forget_light_names(&mut self) {
        let heavy: HashSet<u128> = self.heaviest.keys().collect();
        self.names.retain(|key, _| heavy.contains(key));
    }

    /// The number of different values, estimated where not all groups are sampled.
    #[must_use]
    pub fn values(&self) -> u64 {
        if self.threshold == u64::MAX {
            return self.groups.len() as u64;
        }
        // A float to an integer saturates.
        (self.groups.len() as f64 / self.sampled_share()).round() as u64
    }

    /// The share of the values whose groups are sampled.
    #[must_use]
    pub fn sampled_share(&self) -> f64 {
        self.threshold as f64 / u64::MAX as f64
    }

    /// Whether all groups are sampled.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.threshold == u64::MAX
    }

    /// The sampled groups, in the order of their hashes.
    pub fn groups(&self) -> impl ExactSizeIterator<Item = &Group> {
        self.groups.values()
    }

    /// The group of a value.
    #[must_use]
    pub fn group(&self, key: &str) -> FoundGroup<'_> {
        let hash = sample_hash(key);
        match self.groups.get(&hash) {
            Some(group) => FoundGroup::Known(group),
            None if hash <= self.threshold => FoundGroup::Empty,
            None => FoundGroup::Unknown,
        }
    }

    /// Items of a group in the mean.
    #[must_use]
    pub fn items_mean(&self) -> f64 {
        self.items as f64 / (self.values().max(1)) as f64
    }

    /// The largest group, as far as it is certain.
    #[must_use]
    pub fn heaviest(&self) -> HeaviestGroup {
        let sampled = self.groups.values().max_by_key(|group| group.items);
        let sampled = sampled.map(|group| (group.items as f64, group.key.clone()));
        let hitter = self.heaviest.heaviest(1).first().map(|heavy| {
            let name = self.names.get(&heavy.key).map(|name| name.to_string());
            (heavy.weight_min, name.unwrap_or_default())
        });
        let heaviest = sampled.into_iter().chain(hitter).max_by(|one, other| one.0.total_cmp(&other.0));
        heaviest.map_or_else(HeaviestGroup::default, |(items, key)| HeaviestGroup {
            key,
            share: items / self.items.max(1) as f64,
        })
    }
}
