//! Listings of bounded lists where other processes write too: the last entry confirms the cached listing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onehop_change_feed::Processor;
use onehop_store::OperationKind;
use onehop_testing::stepped_store::{PendingOperation, SteppedStore};
use serde_json::json;

use crate::library::{BOOKS, Library, NEWEST, author, book, deletion};

/// The logical partition of the list.
const LIST: &str = "book";

/// Reads of the list.
#[derive(Default)]
struct Reads {
    listings: AtomicUsize,
    points: AtomicUsize,
}

impl Reads {
    /// The listings and the point reads since the last call.
    fn take(&self) -> (usize, usize) {
        (self.listings.swap(0, Ordering::SeqCst), self.points.swap(0, Ordering::SeqCst))
    }
}

/// A full list of `b1`, `b2` and `b3`, brought up to date by a process that shares the change feed.
async fn shared_library() -> (Library, Processor, Arc<Reads>) {
    let library = Library::new().await;
    let counted = Arc::new(Reads::default());
    let counting = Arc::clone(&counted);
    let store = SteppedStore::new(library.store.clone(), move |operation: PendingOperation<'_>| {
        if operation.is_in(NEWEST, &LIST.into()) {
            match operation.kind {
                OperationKind::Query => drop(counting.listings.fetch_add(1, Ordering::SeqCst)),
                OperationKind::PointRead => drop(counting.points.fetch_add(1, Ordering::SeqCst)),
                _ => {}
            }
        }
        false
    });
    let processor = library.sharing_processor_over(store).await;
    let ada = author("ada", "Ada");
    library.put(&ada).await;
    for day in 1..=3 {
        library.put(&book(&format!("b{day}"), &ada, &[], day)).await;
        processor.drain().await.expect("the change feed is drained");
    }
    assert_eq!(library.newest().await, ["b3", "b2", "b1"]);
    counted.take();
    (library, processor, counted)
}

#[tokio::test]
async fn a_point_read_takes_the_place_of_a_listing() {
    let (library, processor, reads) = shared_library().await;
    library.edit(BOOKS, "b3", "b3", json!({ "title": "First" })).await;
    processor.drain().await.expect("the change feed is drained");
    reads.take();
    library.edit(BOOKS, "b3", "b3", json!({ "title": "Second" })).await;
    processor.drain().await.expect("the change feed is drained");
    assert_eq!(library.item(NEWEST, LIST, "b3").await["title"], "Second");
    assert_eq!(reads.take(), (0, 2), "the last entry, and the entry that is replaced");
}

#[tokio::test]
async fn an_entry_that_leaves_changes_the_last_one() {
    let (library, processor, _) = shared_library().await;
    let before = library.etag(NEWEST, LIST, "b1").await;
    library.edit(BOOKS, "b2", "b2", deletion()).await;
    processor.drain().await.expect("the change feed is drained");
    assert_eq!(library.newest().await, ["b3", "b1"]);
    assert_ne!(library.etag(NEWEST, LIST, "b1").await, before);
}

/// Another process has taken an entry out. An older book then takes its place, though by the cached listing
/// it is too old.
#[tokio::test]
async fn a_listing_from_before_others_wrote_is_read_again() {
    let (library, processor, reads) = shared_library().await;
    library.edit(BOOKS, "b3", "b3", json!({ "title": "First" })).await;
    processor.drain().await.expect("the change feed is drained");
    reads.take();
    library.delete_at(NEWEST, LIST, "b2").await;
    library.damage(NEWEST, LIST, "b1", json!({})).await;
    library.put(&book("b0", &author("ada", "Ada"), &[], 0)).await;
    processor.drain().await.expect("the change feed is drained");
    assert_eq!(library.newest().await, ["b3", "b1", "b0"]);
    assert!(reads.take().0 > 0);
}
