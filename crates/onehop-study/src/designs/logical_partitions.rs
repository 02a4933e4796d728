//! Logical partitions of a container: their number, and the items and bytes of each, from the sampled groups
//! of its types and lists.

use std::collections::{BTreeMap, BTreeSet};

use onehop_model::ItemType;

use super::design_data::{DesignData, is_single};
use crate::data::{FoundGroup, GroupSketch, TypeSurvey, key_fields, sample_share};

/// The logical partitions of a container.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LogicalPartitions {
    /// Their number, estimated where not all are sampled.
    pub number: f64,
    /// The sampled ones, in the order of their bytes.
    pub sampled: Vec<PartitionSize>,
}

/// The content of one logical partition.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PartitionSize {
    /// Items and entries.
    pub items: f64,
    /// Of JSON.
    pub bytes: f64,
}

/// The items of one type, or the entries of one list, in the container.
struct Part<'a> {
    groups: Groups<'a>,
    /// Of one item or entry.
    bytes: f64,
    /// The most entries of a group.
    keep: f64,
    /// The factor by which groups grow with the data.
    growth: f64,
}

/// The logical partitions of a part, by their key.
enum Groups<'a> {
    /// One: its name, and the number of its items.
    One(String, f64),
    /// One for each item: the sampled ids, and the survey.
    Ids(BTreeSet<&'a str>, &'a TypeSurvey),
    Sketch(&'a GroupSketch),
}

impl DesignData<'_> {
    /// The logical partitions of a container at this multiple of the data.
    #[must_use]
    pub fn logical_partitions(&self, container: &str, scale: f64) -> LogicalPartitions {
        let items = self.design.model.items().iter().filter(|item| &*item.container == container);
        let of_types = items.filter_map(|item| self.part_of_type(item, scale));
        let lists = self.lists().into_iter().filter(|found| &*found.list.container == container);
        let of_lists = lists.filter_map(|found| {
            let survey = self.survey.of(&found.related.item_type)?;
            let all = survey.items as f64 * self.growth_of(&found.related.item_type, scale);
            let growth = self.growth_of(&found.related.item_type, scale);
            Some(Part {
                groups: match survey.grouped(&found.list.by) {
                    Some(sketch) => Groups::Sketch(sketch),
                    None => Groups::One(found.list.projection.to_string(), all),
                },
                bytes: self.entry_bytes(&found.list.projection),
                keep: found.list.keep.map_or(f64::INFINITY, f64::from),
                growth: if self.grows(&found.related.item_type, &found.list.by) { growth } else { 1.0 },
            })
        });
        let parts: Vec<Part<'_>> = of_types.chain(of_lists).collect();
        let grows_in_number = parts.iter().all(|part| part.growth <= 1.0 && !part.groups.is_one());
        let number = if grows_in_number { scale } else { 1.0 };
        merged(&parts, number)
    }

    fn part_of_type(&self, item: &ItemType, scale: f64) -> Option<Part<'_>> {
        let survey = self.survey.of(&item.name)?;
        let growth = self.growth_of(&item.name, scale);
        let groups = if is_single(item) {
            Groups::One(item.type_value.clone(), survey.items as f64 * growth)
        } else {
            survey.grouped(&key_fields(item)).map_or_else(|| Groups::of_ids(survey), Groups::Sketch)
        };
        let grows = self.key_share(item).grows;
        let is_grouped = matches!(groups, Groups::Sketch(_));
        let growth = if grows && is_grouped { growth } else { 1.0 };
        Some(Part { groups, bytes: self.item_bytes(&item.name), keep: f64::INFINITY, growth })
    }
}

impl<'a> Groups<'a> {
    fn of_ids(survey: &'a TypeSurvey) -> Self {
        Self::Ids(survey.sample.iter().map(|(id, _)| id.as_str()).collect(), survey)
    }

    fn is_one(&self) -> bool {
        matches!(self, Self::One(..))
    }

    /// The share of all keys that is sampled.
    fn sampled_share(&self) -> f64 {
        match self {
            Self::One(..) => 1.0,
            Self::Ids(ids, survey) if ids.len() as u64 >= survey.items => 1.0,
            Self::Ids(_, survey) => survey.sample.last().map_or(1.0, |(id, _)| sample_share(id)),
            Self::Sketch(sketch) => sketch.sampled_share(),
        }
    }

    /// The number of partitions, where it is known.
    fn number(&self) -> Option<f64> {
        match self {
            Self::Ids(_, survey) => Some(survey.items as f64),
            Self::One(..) | Self::Sketch(_) => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        match self {
            Self::One(name, _) => vec![name],
            Self::Ids(ids, _) => ids.iter().copied().collect(),
            Self::Sketch(sketch) => sketch.groups().map(|group| group.key.as_str()).collect(),
        }
    }

    /// The items of a sampled key.
    fn items(&self, key: &str) -> f64 {
        match self {
            Self::One(name, items) => {
                if name == key {
                    *items
                } else {
                    0.0
                }
            }
            Self::Ids(ids, _) => f64::from(u8::from(ids.contains(key))),
            Self::Sketch(sketch) => match sketch.group(key) {
                FoundGroup::Known(group) => group.items as f64,
                FoundGroup::Empty | FoundGroup::Unknown => 0.0,
            },
        }
    }
}

/// The partitions that are sampled in all parts, and the number of all.
fn merged(parts: &[Part<'_>], growth_of_number: f64) -> LogicalPartitions {
    let share = parts.iter().map(|part| part.groups.sampled_share()).fold(1.0, f64::min);
    let keys = parts.iter().flat_map(|part| part.groups.keys());
    let keys: BTreeSet<&str> = keys.filter(|key| share >= 1.0 || sample_share(key) < share).collect();
    let mut sizes: BTreeMap<&str, PartitionSize> = BTreeMap::new();
    for part in parts {
        for key in &keys {
            let items = (part.groups.items(key) * part.growth).min(part.keep);
            let size = sizes.entry(key).or_default();
            size.items += items;
            size.bytes += items * part.bytes;
        }
    }
    let mut sampled: Vec<PartitionSize> = sizes.into_values().collect();
    sampled.sort_by(|one, other| one.bytes.total_cmp(&other.bytes));
    // Items that are a partition each are counted, and others refer to them.
    let counted = parts.iter().filter_map(|part| part.groups.number()).reduce(f64::max);
    let number = counted.unwrap_or(sampled.len() as f64 / share);
    LogicalPartitions { number: number * growth_of_number, sampled }
}
