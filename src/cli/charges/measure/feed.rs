//! Measurement of the change feed: pages of one size, and polls that find nothing.

use super::case::{Cases, MeasuredCase};
use super::containers::ORDERED;
use onehop_store::{Continuation, FeedRange, FeedRequest, Ledger, Store};

/// Changes of a page.
const PAGES: [usize; 3] = [1, 10, 100];
/// Polls of an idle range.
const POLLS: usize = 3;

/// Measures pages and idle polls of the change feed of [`ORDERED`]. `store` reads the latest commit, as
/// projections do.
pub(super) async fn measure(store: &dyn Store, cases: &mut Cases) -> anyhow::Result<()> {
    for (number, range) in store.feed_ranges(ORDERED).await?.iter().enumerate() {
        for limit in PAGES {
            page(store, (range, None), (format!("feed/{number}-{limit}"), limit), cases).await?;
        }
        let end = store.change_feed_end(ORDERED, range, &Ledger::new()).await?;
        for poll in 0..POLLS {
            let name = format!("feed/{number}-idle-{poll}");
            page(store, (range, Some(&end)), (name, 1), cases).await?;
        }
    }
    Ok(())
}

async fn page(
    store: &dyn Store,
    (range, continuation): (&FeedRange, Option<&Continuation>),
    (id, limit): (String, usize),
    cases: &mut Cases,
) -> anyhow::Result<()> {
    let ledger = Ledger::new();
    let request = FeedRequest { container: ORDERED, range, continuation, types: None, limit };
    let page = store.read_change_feed(&request, &ledger).await?;
    let bytes: usize = page.changes.iter().map(|change| change.item.body.len()).sum();
    let changes = page.changes.len();
    let case = MeasuredCase {
        id,
        operation: "changeFeed",
        consistency: "latest committed",
        item_bytes: (changes > 0).then(|| bytes as f64 / changes as f64),
        results: u32::try_from(changes).ok(),
        ..MeasuredCase::default()
    };
    cases.add(ORDERED, &ledger, case);
    Ok(())
}
