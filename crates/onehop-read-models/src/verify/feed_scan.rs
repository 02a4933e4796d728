//! Feed scan: the whole change feed of a container, page by page.

use onehop_runtime::planted::size;
use onehop_store::{Change, ContainerName, Fault, FeedRequest, Ledger, Store};

const PAGE_ITEMS: usize = 500;

/// Reads the whole change feed of a container.
///
/// # Errors
/// A fault of the store, or of the visitor.
pub async fn for_each_change(
    store: &dyn Store,
    container: ContainerName,
    mut visit: impl FnMut(&Change) -> Result<(), Fault>,
) -> Result<(), Fault> {
    for_each_result(store, container, |result| result.and_then(&mut visit)).await
}

/// Reads the whole change feed of a container, and goes on behind unreadable changes where the visitor
/// accepts them. Where the store does not know how to go on, it goes on with the next feed range.
pub(super) async fn for_each_result(
    store: &dyn Store,
    container: ContainerName,
    mut visit: impl FnMut(Result<&Change, Fault>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let ledger = Ledger::new();
    for range in store.feed_ranges(container).await? {
        let mut continuation = None;
        loop {
            let request = FeedRequest {
                container,
                range: &range,
                continuation: continuation.as_ref(),
                types: None,
                limit: size(PAGE_ITEMS, 4),
            };
            let page = match store.read_change_feed(&request, &ledger).await {
                Ok(page) => page,
                Err(fault) => {
                    let beyond = fault.damage().and_then(|damage| damage.beyond.clone());
                    visit(Err(fault))?;
                    let Some(beyond) = beyond else { break };
                    continuation = Some(beyond);
                    continue;
                }
            };
            page.changes.iter().try_for_each(|change| visit(Ok(change)))?;
            if page.drained {
                break;
            }
            continuation = Some(page.continuation);
            onehop_runtime::tasks::yield_now().await;
        }
    }
    Ok(())
}
