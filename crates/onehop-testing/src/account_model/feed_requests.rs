//! Requests of the change feed: pages, ends and the number of pending changes.

use onehop_store::{
    Continuation, Fault, FaultKind, FeedPage, FeedRange, FeedRequest, Ledger, OperationKind, RequestCharge,
};

use super::account::ReadAnswer;
use super::charges::{charged_as, record};
use super::client::AccountClient;
use super::faults::AccountRequest;
use super::feed::RangeLookup;
use super::hash_range::HashRange;
use super::positions::{FeedPosition, FeedStart};
use super::read_view::ReadView;

/// Items in the pages that are read to count pending changes.
const PENDING_PAGE_ITEMS: usize = 100;

impl AccountClient {
    pub(super) async fn read_feed(
        &self,
        request: &FeedRequest<'_>,
        ledger: &Ledger,
    ) -> Result<FeedPage, Fault> {
        let mut charge = RequestCharge::default();
        let looked = self.look(AccountRequest::FeedPage, request, FeedStart::Beginning, &mut charge).await;
        let items = looked.as_ref().map_or(0, |looked| looked.changes.len());
        ledger.record(record(request.container, OperationKind::ChangeFeed, (items, 1), charge));
        let RangeLookup { changes, continuation, drained, passed, behind, .. } = looked?;
        Ok(FeedPage { changes, continuation, drained, passed, behind })
    }

    pub(super) async fn feed_end(
        &self,
        request: &FeedRequest<'_>,
        ledger: &Ledger,
    ) -> Result<Continuation, Fault> {
        let mut charge = RequestCharge::default();
        let looked = self.look(AccountRequest::FeedEnd, request, FeedStart::Now, &mut charge).await;
        ledger.record(record(request.container, OperationKind::ChangeFeed, (0, 1), charge));
        Ok(looked?.continuation)
    }

    async fn look(
        &self,
        kind: AccountRequest,
        request: &FeedRequest<'_>,
        start: FeedStart,
        charge: &mut RequestCharge,
    ) -> Result<RangeLookup, Fault> {
        let container = self.account.container(request.container)?;
        let read = |view: &ReadView<'_>| match view.look(request, start) {
            Ok(looked) => {
                let places = looked.places.clone();
                ReadAnswer::of(Ok(looked), places)
            }
            Err(fault) => ReadAnswer::of(Err(fault), Vec::new()),
        };
        let looked = self.reading(kind, container, None, read).await??;
        let (items, bytes) = looked.read;
        let calibration = &self.account.calibration;
        *charge = *charge + calibration.change_feed(items, bytes, charged_as(self.consistency)).total();
        Ok(looked)
    }

    pub(super) async fn count_pending(
        &self,
        request: &FeedRequest<'_>,
        at_most: u64,
        ledger: &Ledger,
    ) -> Result<(u64, Option<i64>), Fault> {
        let mut charge = RequestCharge::default();
        let counted = self.count_by_reading(request, at_most, &mut charge).await;
        let items =
            counted.as_ref().map_or(0, |(pending, _)| usize::try_from(*pending).unwrap_or(usize::MAX));
        ledger.record(record(request.container, OperationKind::ChangeFeed, (items, 1), charge));
        counted
    }

    async fn count_by_reading(
        &self,
        request: &FeedRequest<'_>,
        at_most: u64,
        charge: &mut RequestCharge,
    ) -> Result<(u64, Option<i64>), Fault> {
        let (mut pending, mut oldest_ms) = (0, None);
        let mut position = request.continuation.cloned();
        let limit = usize::try_from(at_most).unwrap_or(usize::MAX).clamp(1, PENDING_PAGE_ITEMS);
        while pending < at_most {
            let request = FeedRequest { continuation: position.as_ref(), limit, ..*request };
            let looked =
                self.look(AccountRequest::PendingChanges, &request, FeedStart::Beginning, charge).await?;
            pending += looked.changes.len() as u64;
            let oldest_here_ms = looked.changes.iter().map(|change| change.item.timestamp_ms).min();
            oldest_ms = [oldest_ms, oldest_here_ms].into_iter().flatten().min();
            if looked.drained {
                break;
            }
            position = Some(looked.continuation);
        }
        Ok((pending.min(at_most), oldest_ms))
    }
}

/// A continuation that carries a time and was never read from. The service leaves out the time itself, and
/// counts in seconds, so it is asked from the second before on.
pub(super) fn feed_since(range: &FeedRange, since_ms: i64) -> Result<Continuation, Fault> {
    if HashRange::of(range).is_none() {
        return Err(Fault::new(FaultKind::InvalidContinuation, "a feed range is not one of this store"));
    }
    let before = since_ms.div_euclid(1000).saturating_sub(1).max(0);
    Ok(FeedPosition { start: FeedStart::After(before), parts: Vec::new() }.continuation())
}
