//! Change feed on the change log, which holds one entry for each item, at the number of its last write.

use super::edits::value_at;
use super::engine::{Engine, View};
use super::item_entries::META_SEQUENCE;
use super::key_space::KeySpace;
use super::keys::{self, ContainerId};
use super::read_caches::ReadCaches;
use super::reader::parse_item;
use crate::{Change, Continuation, Fault, FaultKind, FeedPage, FeedRange, FeedRequest, limits};

/// Entries of other types, and of items whose time is over, that a page passes over before it ends early.
const PASSED_OVER_MAX: usize = 20_000;

const RANGE_PREFIX: &str = "physical:";
const CONTINUATION_PREFIX: &str = "sequence:";

/// The feed range of a physical partition.
pub(super) fn range_of(physical: u16) -> FeedRange {
    FeedRange(format!("{RANGE_PREFIX}{physical}"))
}

/// The physical partition behind a feed range.
pub(super) fn parse_range(range: &FeedRange, partitions: u16) -> Result<u16, Fault> {
    let physical = range.0.strip_prefix(RANGE_PREFIX).and_then(|number| number.parse::<u16>().ok());
    physical.filter(|physical| *physical < partitions).ok_or_else(|| {
        Fault::new(FaultKind::InvalidContinuation, format!("{:?} is no feed range of this store", range.0))
    })
}

/// Whether a continuation is not before another.
pub(super) fn is_past(at: &Continuation, end: &Continuation) -> bool {
    match (number_of(at), number_of(end)) {
        (Some(at), Some(end)) => at >= end,
        _ => false,
    }
}

fn number_of(continuation: &Continuation) -> Option<u64> {
    continuation.0.strip_prefix(CONTINUATION_PREFIX)?.parse().ok()
}

/// The number behind a continuation. A number ahead of the last write comes from another store: reading on
/// from there would silently skip the changes up to it.
fn parse_continuation(view: &View, continuation: Option<&Continuation>) -> Result<u64, Fault> {
    let Some(continuation) = continuation else { return Ok(0) };
    let last = last_sequence(view)?;
    number_of(continuation).filter(|sequence| *sequence <= last).ok_or_else(|| {
        let text = &continuation.0;
        Fault::new(FaultKind::InvalidContinuation, format!("{text:?} is no continuation of this store"))
    })
}

/// The number of the last write, 0 before the first.
fn last_sequence(view: &View) -> Result<u64, Fault> {
    let last = view.get(KeySpace::Meta, META_SEQUENCE)?;
    Ok(last.and_then(|bytes| bytes.as_ref().try_into().map(u64::from_be_bytes).ok()).unwrap_or(0))
}

/// Where every change feed ends at this moment.
pub(super) fn end(engine: &Engine) -> Result<Continuation, Fault> {
    let sequence = last_sequence(&engine.view()?)?;
    Ok(Continuation(format!("{CONTINUATION_PREFIX}{sequence}")))
}

/// Where the feed stood at a time: before the first change written at that time or later. It looks at all
/// changes before that one, because the clock may have been set back between them.
pub(super) fn since(
    engine: &Engine,
    container: ContainerId,
    physical: u16,
    since_ms: i64,
) -> Result<Continuation, Fault> {
    let view = engine.view()?;
    let from = keys::log_key(container, physical, 0);
    let to = keys::log_key(container, physical, u64::MAX);
    for entry in view.range(KeySpace::Log, &from, &to) {
        let (key, item_key) = entry.pair()?;
        let written_ms = written_ms(&view, container, &item_key)?;
        // An unreadable item is for its reader to report.
        if written_ms.is_none_or(|written_ms| written_ms >= since_ms) {
            let sequence = keys::log_sequence(&key).ok_or_else(unreadable_entry)?;
            return Ok(continuation_of(sequence.saturating_sub(1)));
        }
    }
    Ok(continuation_of(last_sequence(&view)?))
}

/// When the item that an entry of the change log names was written (Unix ms); `None` where it cannot be read.
fn written_ms(view: &View, container: ContainerId, item_key: &[u8]) -> Result<Option<i64>, Fault> {
    let mut full_key = vec![container];
    full_key.extend_from_slice(item_key);
    let value = view.get(KeySpace::Items, &full_key)?;
    Ok(value.and_then(|value| super::header::decode_value_prefix(&value)).map(|prefix| prefix.1))
}

/// A page of changes after the continuation. Items that were read or written lately come from the caches.
pub(super) fn page(
    (engine, caches): (&Engine, &ReadCaches),
    container: ContainerId,
    physical: u16,
    request: &FeedRequest<'_>,
    now_ms: i64,
) -> Result<FeedPage, Fault> {
    let view = engine.view()?;
    let mut sequence = parse_continuation(&view, request.continuation)?;
    let from = keys::log_key(container, physical, sequence.saturating_add(1));
    let to = keys::log_key(container, physical, u64::MAX);
    let mut page = FeedPage {
        changes: Vec::new(),
        continuation: Continuation(String::new()),
        drained: true,
        passed: None,
        behind: None,
    };
    let limit = request.limit.clamp(1, limits::PAGE_ITEMS_MAX);
    let mut passed_over = 0;
    for entry in view.range(KeySpace::Log, &from, &to) {
        if page.changes.len() == limit || passed_over == PASSED_OVER_MAX {
            page.drained = false;
            break;
        }
        let (key, item_key) = entry.pair()?;
        let before = sequence;
        sequence = keys::log_sequence(&key).ok_or_else(unreadable_entry)?;
        if request.types.is_some_and(|types| !keys::log_value_has_type(&item_key, types)) {
            passed_over += 1;
            continue;
        }
        match change((&view, caches), (container, sequence), request, &item_key, now_ms) {
            Ok(Some(change)) => page.changes.push(change),
            Ok(None) => passed_over += 1,
            Err(fault) if fault.kind == FaultKind::Corrupt && !page.changes.is_empty() => {
                // All earlier changes are read; the next page begins with this one.
                page.drained = false;
                sequence = before;
                break;
            }
            Err(fault) => return Err(fault.before(continuation_of(sequence))),
        }
    }
    page.continuation = continuation_of(sequence);
    // An item before the end of a page may have been written again, and comes after it.
    page.passed = page.drained.then(|| page.continuation.clone());
    Ok(page)
}

fn continuation_of(sequence: u64) -> Continuation {
    Continuation(format!("{CONTINUATION_PREFIX}{sequence}"))
}

fn unreadable_entry() -> Fault {
    Fault::new(FaultKind::Corrupt, "an entry of the change log cannot be read")
}

/// The change that an entry of the change log names, by the number of its write; `None` for an item whose
/// time is over.
fn change(
    (view, caches): (&View, &ReadCaches),
    (container, sequence): (ContainerId, u64),
    request: &FeedRequest<'_>,
    item_key: &[u8],
    now_ms: i64,
) -> Result<Option<Change>, Fault> {
    let (partition_key, id) = keys::parse_item_key(item_key).ok_or_else(unreadable_entry)?;
    let read = || {
        let id_key = keys::id_key(container, &partition_key, &id);
        if let Some(value) = caches.value_of_write(&id_key, sequence) {
            return parse_item(value, now_ms);
        }
        let mut full_key = Vec::with_capacity(item_key.len() + 1);
        full_key.push(container);
        full_key.extend_from_slice(item_key);
        let is_edited = keys::is_edit_key(&full_key);
        let item_key = keys::base_key(&full_key).unwrap_or(full_key);
        let value = value_at(view, &item_key, is_edited)?.ok_or_else(unreadable_entry)?;
        parse_item(value, now_ms)
    };
    let found = read().map_err(|fault| fault.of_item(request.container, &partition_key, &id))?;
    Ok(found.map(|item| Change { partition_key: partition_key.as_str().into(), id, item }))
}

/// The number of changes after the continuation, counted up to `at_most`, and the time of the oldest.
pub(super) fn pending(
    engine: &Engine,
    container: ContainerId,
    physical: u16,
    request: &FeedRequest<'_>,
    at_most: u64,
) -> Result<(u64, Option<i64>), Fault> {
    let view = engine.view()?;
    let sequence = parse_continuation(&view, request.continuation)?;
    let from = keys::log_key(container, physical, sequence.saturating_add(1));
    let to = keys::log_key(container, physical, u64::MAX);
    let (mut changes, mut oldest) = (0, None);
    for entry in view.range(KeySpace::Log, &from, &to) {
        if changes == at_most {
            break;
        }
        let item_key = entry.value()?;
        if request.types.is_some_and(|types| !keys::log_value_has_type(&item_key, types)) {
            continue;
        }
        if changes == 0 {
            // An unreadable item is counted, and the reader of the feed reports it.
            oldest = written_ms(&view, container, &item_key).unwrap_or_default();
        }
        changes += 1;
    }
    Ok((changes, oldest))
}
