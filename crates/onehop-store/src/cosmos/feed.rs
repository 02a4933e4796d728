//! The change feed: pages in latest-version mode, and feed ranges.
//!
//! A page is read with a fresh stream from the continuation before it, so nothing is kept between pages, and
//! a stream that broke off, as it does in the middle of a split, is begun again where the last page ended. A
//! continuation says for each part of the key space how far it was read; the client matches it with the
//! physical partitions there are now. That is why it outlives splits and merges, and why a continuation of a
//! range serves each of its parts.

use std::num::NonZeroU32;
use std::sync::atomic::Ordering;

use azure_core::time::OffsetDateTime;
use azure_data_cosmos::CosmosError;
use azure_data_cosmos::feed::{
    ContinuationToken, FeedPage as CosmosPage, FeedRange as CosmosRange, FeedScope,
};
use azure_data_cosmos::models::{ChangeFeedItem, ChangeFeedMetadata};
use azure_data_cosmos::options::{
    ChangeFeedOptions, ChangeFeedStartFrom, MaxItemCountHint, ReadFeedRangesOptions,
};
use futures::StreamExt;
use serde_json::{Map, Value};

use super::CosmosStore;
use super::container::CosmosContainer;
use super::document::change_of;
use super::error_mapping::{OperationContext, fault_of, refuses_continuation};
use super::feed_parts;
use super::log_sequence::{Commit, read_end};
use super::queries::{PageFailure, failed};
use super::retries::Retries;
use super::service_response::charge_of;
use crate::{
    Change, Continuation, Fault, FaultKind, FeedPage, FeedRange, FeedRequest, Ledger, OperationKind,
    RequestCharge, limits,
};

/// Items in the pages that are read to count pending changes.
const PENDING_PAGE_ITEMS: usize = 100;

type ServiceItem = ChangeFeedItem<Map<String, Value>>;

/// The result of one look at a feed range.
struct RangeLookup {
    changes: Vec<Change>,
    continuation: Continuation,
    /// Nothing was left in any of the parts.
    drained: bool,
    passed: Option<Continuation>,
    behind: Option<u64>,
}

impl CosmosStore {
    pub(super) async fn read_feed(
        &self,
        container: &CosmosContainer,
        request: &FeedRequest<'_>,
        ledger: &Ledger,
    ) -> Result<FeedPage, Fault> {
        let mut charge = RequestCharge::default();
        let looked =
            self.look(container, request, ChangeFeedStartFrom::Beginning, (&mut charge, ledger)).await;
        let items = looked.as_ref().map_or(0, |looked| looked.changes.len());
        ledger.record(container.record(OperationKind::ChangeFeed, items, charge, 1));
        let RangeLookup { changes, continuation, drained, passed, behind } = looked?;
        Ok(FeedPage { changes, continuation, drained, passed, behind })
    }

    /// Each physical partition of the range answers a first look from now on with nothing but its end.
    pub(super) async fn feed_end(
        &self,
        container: &CosmosContainer,
        range: &FeedRange,
        ledger: &Ledger,
    ) -> Result<Continuation, Fault> {
        let name = container.spec.name;
        let request = FeedRequest { container: name, range, continuation: None, types: None, limit: 1 };
        let mut charge = RequestCharge::default();
        let looked = self.look(container, &request, ChangeFeedStartFrom::Now, (&mut charge, ledger)).await;
        ledger.record(container.record(OperationKind::ChangeFeed, 0, charge, 1));
        Ok(looked?.continuation)
    }

    /// A continuation that carries a time and was never read from. Nothing is sent for it: the first page is
    /// asked for with the time.
    ///
    /// The service leaves out the time itself, and counts in seconds, so it is asked from the second before
    /// on.
    pub(super) async fn feed_since(
        &self,
        container: &CosmosContainer,
        range: &FeedRange,
        since_ms: i64,
    ) -> Result<Continuation, Fault> {
        let range: CosmosRange = range.0.parse().map_err(not_ours)?;
        let before = since_ms.div_euclid(1000).saturating_sub(1).max(0);
        let Ok(before) = OffsetDateTime::from_unix_timestamp(before) else {
            return Err(Fault::new(FaultKind::Internal, "the time to start at is out of range"));
        };
        let start = ChangeFeedStartFrom::PointInTime(before);
        let failed = |error| fault_of(error, OperationContext::ReadingFeed);
        let opened =
            container.client.query_change_feed::<Map<String, Value>>(FeedScope::range(range), start, None);
        let token = opened.await.and_then(|pages| pages.to_continuation_token()).map_err(failed)?;
        Ok(Continuation(token.as_str().to_owned()))
    }

    /// Looks again, from the same continuation, while physical partitions move.
    async fn look(
        &self,
        container: &CosmosContainer,
        request: &FeedRequest<'_>,
        start: ChangeFeedStartFrom,
        (charge, ledger): (&mut RequestCharge, &Ledger),
    ) -> Result<RangeLookup, Fault> {
        let mut retries = Retries::new(self.retry_policy);
        loop {
            match self.look_once(container, request, start.clone(), (&mut *charge, ledger)).await {
                Ok(looked) => return Ok(looked),
                Err(PageFailure::Fault(fault)) => return Err(fault),
                Err(PageFailure::Service(error)) => {
                    // A processor has retry_policy of its own: throttled requests go back to it.
                    if error.status().is_throttled() || !retries.go_on_after(&error).await {
                        return Err(fault_of(*error, OperationContext::ReadingFeed));
                    }
                    container.look_up_ranges(true).await?;
                }
            }
        }
    }

    /// Reads on until there is something, or nothing in any of the parts of the range.
    async fn look_once(
        &self,
        container: &CosmosContainer,
        request: &FeedRequest<'_>,
        start: ChangeFeedStartFrom,
        (charge, ledger): (&mut RequestCharge, &Ledger),
    ) -> Result<RangeLookup, PageFailure> {
        let range: CosmosRange = request.range.0.parse().map_err(not_ours)?;
        let leaves = container.look_up_ranges(false).await?;
        let known_parts = feed_parts::count(&range, &leaves, request.continuation);
        let leaves = leaves.iter().filter(|leaf| leaf.overlaps(&range)).count();
        let parts = known_parts.unwrap_or(leaves);
        let mut pages = {
            let limit = request.limit.clamp(1, limits::PAGE_ITEMS_MAX);
            let limit = u32::try_from(limit).ok().and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN);
            let mut options = ChangeFeedOptions::default()
                .with_operation_options(self.read_options(ledger))
                .with_max_item_count(MaxItemCountHint::Limit(limit));
            if let Some(continuation) = request.continuation {
                let token = ContinuationToken::from_string(continuation.0.clone());
                options = options.with_continuation_token(token);
            }
            let scope = FeedScope::range(range.clone());
            let opened =
                container.client.query_change_feed::<Map<String, Value>>(scope, start, Some(options));
            opened.await.map_err(|error| match request.continuation {
                // The client itself could not read it: the service was not asked yet.
                Some(_) if refuses_continuation(&error) => PageFailure::Fault(not_ours(error)),
                _ => failed(error, charge),
            })?
        };
        let mut empty = 0;
        loop {
            let page = match pages.next().await {
                Some(page) => page.map_err(|error| failed(error, charge))?,
                None => return Err(Fault::new(FaultKind::Unavailable, "the change feed broke off").into()),
            };
            charge.0 += charge_of(&page.diagnostics()).0;
            let is_empty = page.items().is_empty();
            empty += usize::from(is_empty);
            let standing = Standing::after(&page, request.limit.clamp(1, limits::PAGE_ITEMS_MAX));
            let changes = changes_of(container, request, page.into_items())?;
            if is_empty && empty < parts {
                continue;
            }
            let token = pages.to_continuation_token().map_err(|error| failed(error, charge))?;
            let continuation = Continuation(token.as_str().to_owned());
            // Of several parts a page stands for one.
            let standing = if known_parts == Some(1) { standing } else { Standing::default() };
            let drained = is_empty || standing.is_at_end();
            let passed = standing.passed.map(|commit| read_end(&range, &commit));
            let behind = if is_empty { Some(0) } else { standing.behind };
            return Ok(RangeLookup { changes, continuation, drained, passed, behind });
        }
    }

    /// Counts by reading: the service has no cheaper way that this client could ask.
    pub(super) async fn count_pending(
        &self,
        container: &CosmosContainer,
        request: &FeedRequest<'_>,
        at_most: u64,
        ledger: &Ledger,
    ) -> Result<(u64, Option<i64>), Fault> {
        let mut charge = RequestCharge::default();
        let counted = self.count_by_reading(container, request, at_most, (&mut charge, ledger)).await;
        let items =
            counted.as_ref().map_or(0, |(pending, _)| usize::try_from(*pending).unwrap_or(usize::MAX));
        ledger.record(container.record(OperationKind::ChangeFeed, items, charge, 1));
        counted
    }

    async fn count_by_reading(
        &self,
        container: &CosmosContainer,
        request: &FeedRequest<'_>,
        at_most: u64,
        (charge, ledger): (&mut RequestCharge, &Ledger),
    ) -> Result<(u64, Option<i64>), Fault> {
        let (mut pending, mut oldest_ms) = (0, None);
        let mut position = request.continuation.cloned();
        let limit = usize::try_from(at_most).unwrap_or(usize::MAX).clamp(1, PENDING_PAGE_ITEMS);
        while pending < at_most {
            let request = FeedRequest { continuation: position.as_ref(), limit, ..*request };
            let RangeLookup { changes, continuation, drained, .. } = self
                .look(container, &request, ChangeFeedStartFrom::Beginning, (&mut *charge, ledger))
                .await?;
            pending += changes.len() as u64;
            let oldest_here_ms = changes.iter().map(|change| change.item.timestamp_ms).min();
            oldest_ms = [oldest_ms, oldest_here_ms].into_iter().flatten().min();
            if drained {
                break;
            }
            position = Some(continuation);
        }
        Ok((pending.min(at_most), oldest_ms))
    }
}

impl CosmosContainer {
    /// The ranges of the physical partitions there are, from the client's memory or anew.
    ///
    /// A lookup anew whose caller is dropped leaves an empty entry in the memory of the client
    /// (`azure_data_cosmos_driver` 1.0.0, `AsyncCache::get_or_refresh_with`), and the next lookup anew waits
    /// for its value in a loop that never ends. A lookup from memory fills such an entry, so one goes before:
    /// it is a request only there.
    pub(super) async fn look_up_ranges(&self, anew: bool) -> Result<Vec<CosmosRange>, Fault> {
        let mut ranges = self.feed_ranges_of_client(false).await?;
        if anew {
            ranges = self.feed_ranges_of_client(true).await?;
        }
        self.physical_partitions.store(u32::try_from(ranges.len()).unwrap_or(u32::MAX), Ordering::Relaxed);
        Ok(ranges)
    }

    async fn feed_ranges_of_client(&self, anew: bool) -> Result<Vec<CosmosRange>, Fault> {
        let options = ReadFeedRangesOptions::default().with_force_refresh(anew);
        let ranges = self.client.read_feed_ranges(Some(options)).await;
        ranges.map_err(|error| fault_of(error, OperationContext::Reading))
    }
}

/// The end of a page, by log sequence numbers.
#[derive(Debug, Default, Clone)]
struct Standing {
    /// All writes up to this commit have been read.
    passed: Option<Commit>,
    /// Commits after the page.
    behind: Option<u64>,
}

impl Standing {
    /// A page holds the latest version of each item. So an item whose write lies within the page may come
    /// only after it, where it was written again meanwhile: only a page up to the last commit passes
    /// anything. The service never cuts a commit: a page has all items of a batch, or none of them
    /// (<https://learn.microsoft.com/azure/cosmos-db/nosql/change-feed-processor>, *Transactional scope*).
    fn after(page: &CosmosPage<ServiceItem>, limit: usize) -> Self {
        let reached = Commit::of(page.headers().lsn(), page.headers().session_token());
        let last = page.items().iter().filter_map(lsn_of).max();
        reached.map_or_else(Self::default, |reached| Self::of(reached, page.items().len(), last, limit))
    }

    /// After this many items, the last of them by this commit.
    fn of(reached: Commit, items: usize, last: Option<u64>, limit: usize) -> Self {
        if items == 0 {
            return Self { passed: Some(reached), behind: Some(0) };
        }
        let Some(last) = last else { return Self::default() };
        let behind = reached.lsn.saturating_sub(last);
        // A full page says nothing: the emulator cuts commits.
        let is_whole = behind == 0 && items < limit;
        Self { passed: is_whole.then_some(reached), behind: Some(behind) }
    }

    /// Whether nothing was left in the range when the page was read.
    fn is_at_end(&self) -> bool {
        self.passed.is_some() && self.behind == Some(0)
    }
}

/// The number of the commit that wrote an item, where the service says it.
fn lsn_of(item: &ServiceItem) -> Option<u64> {
    let of_envelope = item.metadata().and_then(ChangeFeedMetadata::lsn);
    let of_envelope = of_envelope.and_then(|lsn| u64::try_from(i64::from(lsn)).ok());
    of_envelope.or_else(|| item.current()?.get("_lsn")?.as_u64())
}

fn changes_of(
    container: &CosmosContainer,
    request: &FeedRequest<'_>,
    items: Vec<ServiceItem>,
) -> Result<Vec<Change>, Fault> {
    let wanted = |properties: &&Map<String, Value>| {
        request.types.is_none_or(|types| {
            properties.get("type").and_then(Value::as_str).is_some_and(|is| types.contains(&is))
        })
    };
    // A deleted item has no present version.
    let present = items.iter().filter_map(|item| item.current()).filter(wanted);
    present.map(|properties| change_of(&container.spec, properties.clone())).collect()
}

/// The present ranges within `whole`, if they are several and make up all of it.
pub(super) fn parts_of(whole: &FeedRange, present: &[FeedRange]) -> Option<Vec<FeedRange>> {
    let whole_range: CosmosRange = whole.0.parse().ok()?;
    let mut parts = Vec::new();
    for range in present {
        let part: CosmosRange = range.0.parse().ok()?;
        if part.is_subset_of(&whole_range) {
            parts.push((part, range.clone()));
        }
    }
    parts.sort_by(|(one, _), (other, _)| one.min_inclusive().cmp(other.min_inclusive()));
    let (first, last) = (parts.first()?, parts.last()?);
    let starts_and_ends = first.0.min_inclusive() == whole_range.min_inclusive()
        && last.0.max_exclusive() == whole_range.max_exclusive();
    let has_no_gap = parts.windows(2).all(|pair| pair[0].0.max_exclusive() == pair[1].0.min_inclusive());
    (parts.len() > 1 && starts_and_ends && has_no_gap)
        .then(|| parts.into_iter().map(|(_, range)| range).collect())
}

fn not_ours(error: CosmosError) -> Fault {
    Fault::new(FaultKind::InvalidContinuation, "a feed range or a continuation is not one of this store")
        .with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_up_to_the_last_commit_with_room_is_at_the_end() {
        let reached = Commit { partition: "0".to_owned(), lsn: 9 };
        let after = |items, last, limit| Standing::of(reached.clone(), items, last, limit);
        for (items, last, limit, expected) in [
            (0, None, 5, (true, Some(0))),
            (2, Some(9), 5, (true, Some(0))),
            (5, Some(9), 5, (false, Some(0))),
            (2, Some(7), 5, (false, Some(2))),
            // Without the numbers of the items nothing is known.
            (2, None, 5, (false, None)),
        ] {
            let standing = after(items, last, limit);
            assert_eq!((standing.is_at_end(), standing.behind), expected, "{items} items, last {last:?}");
            assert_eq!(standing.passed.is_some(), expected.0);
        }
    }
}
