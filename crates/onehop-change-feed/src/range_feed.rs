//! Range feed: the change feed of one feed range, with the item types that are read of it.

use std::sync::Arc;

use super::context::ProcessorContext;
use super::runner::Runner;
use super::source::FeedSource;
use onehop_store::{
    ContainerName, Continuation, Fault, FeedPage, FeedRange, FeedRequest, Ledger, SignalScope,
};
use tokio::sync::watch;

pub(super) struct RangeFeed {
    context: Arc<ProcessorContext>,
    container: ContainerName,
    types: Option<Arc<[&'static str]>>,
    pub(super) range: FeedRange,
}

impl RangeFeed {
    /// The needs of all projections of a source.
    pub(super) fn of_source(source: &FeedSource, range: FeedRange) -> Self {
        let context = Arc::clone(&source.context);
        Self { context, container: source.container, types: source.types.clone(), range }
    }

    /// The needs of one projection.
    pub(super) fn of_projection(runner: &Runner, range: FeedRange) -> Self {
        let (context, projection) = (Arc::clone(&runner.context), &runner.projection);
        Self { context, container: projection.source(), types: projection.types().map(Arc::from), range }
    }

    /// A page after a position; `None` is the beginning.
    pub(super) async fn page(
        &self,
        position: Option<&Continuation>,
        ledger: &Ledger,
    ) -> Result<FeedPage, Fault> {
        self.context.store.read_change_feed(&self.request(position), ledger).await
    }

    /// The number of changes that wait after a position, up to `at_most`, and when the oldest was written
    /// (Unix ms).
    pub(super) async fn pending(
        &self,
        position: Option<&Continuation>,
        at_most: u64,
        ledger: &Ledger,
    ) -> Result<(u64, Option<i64>), Fault> {
        self.context.store.pending_changes(&self.request(position), at_most, ledger).await
    }

    /// Changes with each write of this process that the feed has; `None` where the store has no such signal.
    pub(super) fn change_signal(&self) -> Option<watch::Receiver<u64>> {
        let types = self.types.as_deref();
        let scope = SignalScope { container: self.container, range: Some(&self.range), types };
        self.context.store.change_signal(&scope)
    }

    /// The parts into which the range was split by now, if it was.
    pub(super) async fn parts(&self) -> Result<Option<Vec<FeedRange>>, Fault> {
        let store = &self.context.store;
        let present = store.feed_ranges(self.container).await?;
        Ok(store.parts_of(&self.range, &present))
    }

    fn request<'a>(&'a self, continuation: Option<&'a Continuation>) -> FeedRequest<'a> {
        FeedRequest {
            container: self.container,
            range: &self.range,
            continuation,
            types: self.types.as_deref(),
            limit: self.context.settings.page_items_max,
        }
    }
}
