//! Hash ranges: the part of the key space that a physical partition or a feed range holds. A logical
//! partition is a point in it.

use std::fmt;

use onehop_store::{ContainerName, FeedRange, PartitionHash, PartitionKey};

/// One more than the largest point.
const END: u64 = 1 << 32;
/// Hexadecimal digits of a place.
const DIGITS: usize = 9;

/// The points from `min` to before `max`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct HashRange {
    pub(super) min: u64,
    pub(super) max: u64,
}

/// The place of a logical partition.
pub(super) fn point_of(container: ContainerName, partition_key: &PartitionKey) -> u64 {
    u64::from(PartitionHash::of(container, partition_key).number())
}

impl HashRange {
    /// The whole key space in parts of equal size, at least one.
    pub(super) fn equal_parts(parts: u32) -> Vec<Self> {
        let parts = u64::from(parts.max(1));
        (0..parts).map(|part| Self { min: END * part / parts, max: END * (part + 1) / parts }).collect()
    }

    /// Its two halves; `None` for a range of a single point.
    pub(super) fn halves(self) -> Option<[Self; 2]> {
        let middle = self.min.midpoint(self.max);
        let halves = [Self { max: middle, ..self }, Self { min: middle, ..self }];
        (middle > self.min).then_some(halves)
    }

    pub(super) fn contains(self, point: u64) -> bool {
        self.min <= point && point < self.max
    }

    /// The common part, if any.
    pub(super) fn intersection(self, other: Self) -> Option<Self> {
        let common = Self { min: self.min.max(other.min), max: self.max.min(other.max) };
        (common.min < common.max).then_some(common)
    }

    /// Reads the text that [`Display`](fmt::Display) writes.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (min, max) = text.split_once('-')?;
        let range = Self { min: parse_place(min)?, max: parse_place(max)? };
        (range.min < range.max && range.max <= END).then_some(range)
    }

    pub(super) fn of(range: &FeedRange) -> Option<Self> {
        Self::parse(&range.0)
    }

    pub(super) fn feed_range(self) -> FeedRange {
        FeedRange(self.to_string())
    }
}

impl fmt::Display for HashRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:09x}-{:09x}", self.min, self.max)
    }
}

/// Reads a place in exactly its digits.
pub(super) fn parse_place(text: &str) -> Option<u64> {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_place = text.len() == DIGITS && text.bytes().all(is_hex);
    is_place.then(|| u64::from_str_radix(text, 16).ok()).flatten()
}

/// The present ranges within `whole`, if they are several and make up all of it.
pub(super) fn parts_of(whole: &FeedRange, present: &[FeedRange]) -> Option<Vec<FeedRange>> {
    let whole = HashRange::of(whole)?;
    let ranges: Option<Vec<_>> = present.iter().map(HashRange::of).collect();
    let mut parts: Vec<_> =
        ranges?.into_iter().filter(|part| whole.min <= part.min && part.max <= whole.max).collect();
    parts.sort_unstable();
    let (first, last) = (parts.first()?, parts.last()?);
    let is_whole = first.min == whole.min && last.max == whole.max;
    let has_no_gap = parts.windows(2).all(|pair| pair[0].max == pair[1].min);
    (parts.len() > 1 && is_whole && has_no_gap)
        .then(|| parts.into_iter().map(HashRange::feed_range).collect())
}
