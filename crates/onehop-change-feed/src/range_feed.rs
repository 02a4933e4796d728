//! Range feed: the change feed of one feed range, read for one projection.

use std::sync::Arc;

use super::runner::Runner;
use onehop_store::{Continuation, Fault, FeedPage, FeedRange, FeedRequest, Ledger};

pub(super) struct RangeFeed {
    pub(super) runner: Arc<Runner>,
    pub(super) range: FeedRange,
}

impl RangeFeed {
    /// A page after a position; `None` is the beginning.
    pub(super) async fn page(
        &self,
        position: Option<&Continuation>,
        ledger: &Ledger,
    ) -> Result<FeedPage, Fault> {
        self.runner.context.store.read_change_feed(&self.request(position), ledger).await
    }

    /// How many changes wait after a position, up to `at_most`, and when the oldest was written (Unix ms).
    pub(super) async fn pending(
        &self,
        position: Option<&Continuation>,
        at_most: u64,
        ledger: &Ledger,
    ) -> Result<(u64, Option<i64>), Fault> {
        self.runner.context.store.pending_changes(&self.request(position), at_most, ledger).await
    }

    /// What the range was split into by now, if it was.
    pub(super) async fn parts(&self) -> Result<Option<Vec<FeedRange>>, Fault> {
        let store = &self.runner.context.store;
        let present = store.feed_ranges(self.runner.projection.source()).await?;
        Ok(store.parts_of(&self.range, &present))
    }

    fn request<'a>(&'a self, continuation: Option<&'a Continuation>) -> FeedRequest<'a> {
        let Runner { context, projection, .. } = &*self.runner;
        FeedRequest {
            container: projection.source(),
            range: &self.range,
            continuation,
            types: projection.types(),
            limit: context.settings.page_items_max,
        }
    }
}
