//! Reads: point reads, queries and counts, each on one snapshot. Readers never wait for the writer.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::iter::Rev;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use fjall::Slice;

use super::edits::{WholeItems, value_at, value_with_any_edit};
use super::engine::{Engine, KeyValue, View};
use super::header::{ItemLocation, VALUE_PREFIX_BYTES, decode_value_prefix, is_edited};
use super::key_space::KeySpace;
use super::keys::{self, ContainerId, prefix_end};
use crate::charges::OrderedPageClient;
use crate::{Direction, ETag, Fault, FaultKind, Item, Keyset, OrderIndex};

/// An item in the engine's bytes, if it is there at this instant.
pub(super) fn parse_item(value: Bytes, now_ms: i64) -> Result<Option<Item>, Fault> {
    Ok(parse_expiring_item(value, now_ms)?.map(|(_, item)| item))
}

/// The same with the time when it expires (Unix ms; [`i64::MAX`] for never).
fn parse_expiring_item(mut value: Bytes, now_ms: i64) -> Result<Option<(i64, Item)>, Fault> {
    let (sequence, timestamp_ms, expires_at_ms) = decode_value_prefix(&value)
        .ok_or_else(|| Fault::new(FaultKind::Corrupt, "an item's value is too short"))?;
    let expires_at_ms = if expires_at_ms == 0 { i64::MAX } else { expires_at_ms };
    if expires_at_ms <= now_ms {
        return Ok(None);
    }
    value.advance(VALUE_PREFIX_BYTES);
    Ok(Some((expires_at_ms, Item { body: value, etag: ETag::from_number(sequence), timestamp_ms })))
}

/// The key, the entry in `ids` and the value of an item.
pub(super) struct StoredItem {
    pub(super) header: Slice,
    /// The value as a whole, also of an item with an edit.
    pub(super) value: Bytes,
}

/// Reads one item by its key in `ids`.
pub(super) fn stored(
    view: &View,
    container: ContainerId,
    partition_key: &str,
    id: &str,
    id_key: &[u8],
) -> Result<Option<StoredItem>, Fault> {
    let Some(header) = view.get(KeySpace::Ids, id_key)? else { return Ok(None) };
    let place = ItemLocation::decode(&header)
        .ok_or_else(|| Fault::new(FaultKind::Corrupt, "an entry of the id index cannot be read"))?;
    let key = keys::item_key(container, partition_key, place, id);
    let value = value_at(view, &key, is_edited(&header))?
        .ok_or_else(|| Fault::new(FaultKind::Corrupt, "the id index names an item that is not there"))?;
    Ok(Some(StoredItem { header, value }))
}

/// The range of keys under a prefix that lies behind a keyset, in a direction.
fn bounds(prefix: &[u8], after: Option<Vec<u8>>, direction: Direction) -> (Vec<u8>, Vec<u8>) {
    match (after, direction) {
        (None, _) => (prefix.to_vec(), prefix_end(prefix)),
        (Some(after), Direction::OldestFirst) => (prefix_end(&after), prefix_end(prefix)),
        (Some(after), Direction::NewestFirst) => (prefix.to_vec(), after),
    }
}

/// Entries in one of two directions.
enum DirectedEntries<I> {
    Forward(I),
    Backward(Rev<I>),
}

impl<I: DoubleEndedIterator> DirectedEntries<I> {
    fn new(entries: I, direction: Direction) -> Self {
        match direction {
            Direction::OldestFirst => Self::Forward(entries),
            Direction::NewestFirst => Self::Backward(entries.rev()),
        }
    }
}

impl<I: DoubleEndedIterator> Iterator for DirectedEntries<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        match self {
            Self::Forward(entries) => entries.next(),
            Self::Backward(entries) => entries.next(),
        }
    }
}

/// Items of a type in one logical partition.
pub(super) struct PartitionPage {
    pub(super) items: Vec<Item>,
    /// Whether there are more than the limit.
    pub(super) has_more: bool,
    /// Unix ms: when the page changes because an item expires, one of its own or the one by which there are
    /// more.
    pub(super) expires_at_ms: i64,
}

/// Items of a type in one logical partition: up to `limit`.
pub(super) fn partition_page(
    engine: &Engine,
    prefix: &[u8],
    direction: Direction,
    after: Option<&Keyset>,
    limit: usize,
    now_ms: i64,
) -> Result<PartitionPage, Fault> {
    let known_end = match direction {
        Direction::NewestFirst => engine.ends().known(prefix),
        Direction::OldestFirst => None,
    };
    let view = engine.view()?;
    let after = after.map(|keyset| keys::with_keyset(prefix.to_vec(), &keyset.order_value, &keyset.id));
    let (mut from, to) = match (after, direction) {
        (Some(after), Direction::OldestFirst) => (keys::behind_item(&after), prefix_end(prefix)),
        (after, direction) => bounds(prefix, after, direction),
    };
    if let Some(oldest) = known_end.as_ref().and_then(|known| engine.ends().oldest_in_view(prefix, known)) {
        from = oldest.min(to.clone());
    }
    let items = Vec::with_capacity(limit.min(128));
    let mut page = PartitionPage { items, has_more: false, expires_at_ms: i64::MAX };
    let mut last_key = None;
    let entries = DirectedEntries::new(view.range(KeySpace::Items, &from, &to), direction);
    for entry in WholeItems::new(entries, direction) {
        let (key, value) = entry?;
        if let Some((expires_at_ms, item)) = parse_expiring_item(value, now_ms)? {
            // Also of the item behind the page: `has_more` rests on it.
            page.expires_at_ms = page.expires_at_ms.min(expires_at_ms);
            if page.items.len() == limit {
                page.has_more = true;
                return Ok(page);
            }
            page.items.push(item);
            last_key = Some(key);
        }
    }
    if let (Some(known), Some(key)) = (known_end, last_key) {
        engine.ends().remember(prefix, &known, key.to_vec());
    }
    Ok(page)
}

/// The number of live items under a prefix.
pub(super) fn count(engine: &Engine, prefix: &[u8], now_ms: i64) -> Result<u64, Fault> {
    let mut items = 0;
    for entry in engine.view()?.range(KeySpace::Items, prefix, &prefix_end(prefix)) {
        let (key, value) = entry.pair()?;
        // An edit expires with its item.
        if !keys::is_edit_key(&key) && parse_item(value.into(), now_ms)?.is_some() {
            items += 1;
        }
    }
    Ok(items)
}

/// Items whose time is over, by container, partition key and id, up to `at_most`. Entries that cannot be read
/// are left out: they would keep all later items for ever.
pub(super) fn expired(
    engine: &Engine,
    now_ms: i64,
    at_most: usize,
) -> Result<Vec<(ContainerId, String, String)>, Fault> {
    let (from, to) = keys::expiry_range(now_ms);
    let view = engine.view()?;
    let mut expired = Vec::new();
    for entry in view.range(KeySpace::Index, &from, &to).take(at_most) {
        match entry.key() {
            Ok(key) => expired.extend(keys::parse_expiry_entry(&key)),
            Err(fault) if fault.kind == FaultKind::Corrupt => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(expired)
}

/// The next entry of one physical partition's part of an index.
struct NextEntry {
    /// Order value, id and partition key, as the key has them.
    suffix: Vec<u8>,
    partition: usize,
    direction: Direction,
}

impl Ord for NextEntry {
    fn cmp(&self, other: &Self) -> Ordering {
        // A binary heap gives out the greatest: the first entry in the wanted direction.
        let order = self.suffix.cmp(&other.suffix);
        match self.direction {
            Direction::NewestFirst => order,
            Direction::OldestFirst => order.reverse(),
        }
    }
}

impl PartialOrd for NextEntry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for NextEntry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for NextEntry {}

/// A page over an index of all physical partitions: each is visited, and their entries are merged in order.
/// `prefixes` holds the index prefix of each physical partition; all have the same length.
pub(super) struct FanOutQuery<'a> {
    pub engine: &'a Engine,
    /// The client, which decides the number of items asked of each partition.
    pub client: OrderedPageClient,
    pub container: ContainerId,
    pub item_type: &'a str,
    pub order: OrderIndex,
    pub prefixes: Vec<Vec<u8>>,
    pub direction: Direction,
    pub after: Option<&'a Keyset>,
    pub limit: usize,
    pub now_ms: i64,
}

/// A page, and how many items the physical partitions returned for it.
#[derive(Default)]
pub(super) struct PartitionMerge {
    pub items: Arc<[Item]>,
    pub has_more: bool,
    pub returned: usize,
}

impl FanOutQuery<'_> {
    pub(super) fn page(&self) -> Result<PartitionMerge, Fault> {
        let view = self.engine.view()?;
        let mut partitions = Vec::with_capacity(self.prefixes.len());
        let mut heads = BinaryHeap::with_capacity(self.prefixes.len());
        for (partition, prefix) in self.prefixes.iter().enumerate() {
            let after = self
                .after
                .map(|keyset| keys::index_entry(prefix.clone(), &keyset.order_value, &keyset.id, ""));
            let (from, to) = bounds(prefix, after, self.direction);
            let mut entries = DirectedEntries::new(view.range(KeySpace::Index, &from, &to), self.direction);
            heads.extend(self.next_head(&mut entries, partition)?);
            partitions.push(entries);
        }
        // The first entry of each partition that has one was taken as its head.
        let mut taken = vec![0; partitions.len()];
        for head in &heads {
            taken[head.partition] = 1;
        }
        let mut items = Vec::with_capacity(self.limit.min(128));
        let mut has_more = false;
        while let Some(head) = heads.pop() {
            let next = self.next_head(&mut partitions[head.partition], head.partition)?;
            taken[head.partition] += usize::from(next.is_some());
            heads.extend(next);
            if let Some(item) = self.fetch(&view, &head.suffix)? {
                if items.len() == self.limit {
                    has_more = true;
                    break;
                }
                items.push(item);
            }
        }
        let returned = if has_more { self.returned(partitions, &taken) } else { items.len() };
        Ok(PartitionMerge { items: items.into(), has_more, returned })
    }

    /// The number of items that the partitions return for a client to merge this page out of, as far as they
    /// have them.
    fn returned(&self, partitions: Vec<impl Iterator<Item = KeyValue>>, taken: &[usize]) -> usize {
        let physical_partitions = u32::try_from(partitions.len()).unwrap_or(u32::MAX);
        let asked = self.client.items_per_partition(physical_partitions, self.limit);
        // Only counted: an entry that cannot be read is for the query that reaches it to report.
        let rest = |(rest, taken): (_, usize)| {
            // The merge looks at one entry more than the page has.
            let taken = taken.min(asked);
            taken + Iterator::take(rest, asked - taken).count()
        };
        partitions.into_iter().zip(taken.iter().copied()).map(rest).sum()
    }

    fn next_head(
        &self,
        entries: &mut impl Iterator<Item = KeyValue>,
        partition: usize,
    ) -> Result<Option<NextEntry>, Fault> {
        let Some(entry) = entries.next() else { return Ok(None) };
        let key = entry.key()?;
        let suffix = key[self.prefixes[partition].len()..].to_vec();
        Ok(Some(NextEntry { suffix, partition, direction: self.direction }))
    }

    fn fetch(&self, view: &View, suffix: &[u8]) -> Result<Option<Item>, Fault> {
        let corrupt = || Fault::new(FaultKind::Corrupt, "an index entry cannot be read");
        let (order_value, id, partition_key) = keys::parse_index_entry(suffix).ok_or_else(corrupt)?;
        let value = if self.order == OrderIndex::Main {
            let prefix = keys::live_prefix(self.container, &partition_key, self.item_type);
            value_with_any_edit(view, &keys::with_keyset(prefix, &order_value, &id))?
        } else {
            let id_key = keys::id_key(self.container, &partition_key, &id);
            stored(view, self.container, &partition_key, &id, &id_key)?.map(|stored| stored.value)
        };
        let Some(value) = value else {
            return Err(Fault::new(FaultKind::Corrupt, "an index entry names an item that is not there"));
        };
        parse_item(value, self.now_ms)
    }
}
