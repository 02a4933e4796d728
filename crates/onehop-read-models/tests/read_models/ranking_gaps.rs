//! Gaps in a ranking: a ranked item changes, or the process dies, between the write of an entry and the
//! comparison with its source.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onehop_store::{OperationKind, PartitionKey};
use onehop_testing::stepped_store::{PendingOperation, SteppedStore};

use crate::library::{Library, RANKING, READERS, SORT_KEY, deletion};
use serde_json::json;

/// The library's store, but that the first point read of a reader after a write of an entry waits until the
/// test resumes it.
fn stopping_before_comparison(library: &Library, id: &'static str) -> Arc<SteppedStore> {
    let (is_written, stopped) = (AtomicBool::new(false), AtomicBool::new(false));
    SteppedStore::new(library.store.clone(), move |operation: PendingOperation<'_>| {
        if operation.container == RANKING && operation.kind.writes() {
            is_written.store(true, Ordering::SeqCst);
        }
        operation.kind == OperationKind::PointRead
            && operation.is_in(READERS, &PartitionKey::from(id))
            && is_written.load(Ordering::SeqCst)
            && !stopped.swap(true, Ordering::SeqCst)
    })
}

/// Brings the ranking up to date, and has something happen before the comparison of a reader's entry with its
/// source.
async fn drain_beside(library: &Library, compared: &'static str, meanwhile: impl Future<Output = ()>) {
    let store = stopping_before_comparison(library, compared);
    let processor = library.processor_over(Arc::clone(&store) as _).await;
    let mut draining = std::pin::pin!(processor.drain());
    tokio::select! {
        _ = &mut draining => panic!("{compared} was not compared"),
        () = store.until_stopped() => {}
    }
    meanwhile.await;
    store.resume();
    draining.await.expect("the change feed is drained");
}

/// r3 rises into the list, where r2 makes room for it, and falls again.
#[tokio::test]
async fn an_item_that_rises_and_falls_at_once_leaves_no_gap() {
    let library = Library::with_readers(&[9, 7, 5, 4]).await;
    library.set_loans("r3", 5).await;
    drain_beside(&library, "r3", library.set_loans("r3", 4)).await;
    library.assert_ranked(&["r0", "r1", "r2"]).await;
}

/// r2 falls, r3 takes its place as one of the highest, and falls.
#[tokio::test]
async fn an_item_that_follows_and_falls_leaves_no_gap() {
    let library = Library::with_readers(&[9, 7, 6, 5, 4]).await;
    library.set_loans("r2", 1).await;
    drain_beside(&library, "r3", library.set_loans("r3", 3)).await;
    library.assert_ranked(&["r0", "r1", "r4"]).await;
}

#[tokio::test]
async fn an_item_that_rises_and_is_deleted_leaves_no_gap() {
    let library = Library::with_readers(&[9, 7, 5, 4]).await;
    library.set_loans("r3", 6).await;
    drain_beside(&library, "r3", library.edit(READERS, "r3", "r3", deletion())).await;
    library.assert_ranked(&["r0", "r1", "r2"]).await;
}

#[tokio::test]
async fn an_item_that_is_gone_before_its_comparison_leaves_no_gap() {
    let library = Library::with_readers(&[9, 7, 5, 4]).await;
    library.set_loans("r3", 6).await;
    drain_beside(&library, "r3", library.delete_at(READERS, "r3", "r3")).await;
    library.assert_ranked(&["r0", "r1", "r2"]).await;
}

/// r4 and r3 rise to the same place as the last one, before which both come by their ids, and both fall.
#[tokio::test]
async fn two_items_that_rise_to_a_tie_and_fall_leave_no_gap() {
    let library = Library::with_readers(&[9, 5, 5, 4, 4]).await;
    library.set_loans("r3", 5).await;
    library.set_loans("r4", 5).await;
    let fall = async {
        library.set_loans("r3", 4).await;
        library.set_loans("r4", 4).await;
    };
    drain_beside(&library, "r4", fall).await;
    library.assert_ranked(&["r0", "r2", "r1"]).await;
}

/// r3 enters, and while it is compared a listed item falls, too.
#[tokio::test]
async fn an_item_that_enters_while_another_falls_leaves_no_gap() {
    let library = Library::with_readers(&[9, 7, 5, 4]).await;
    library.set_loans("r3", 6).await;
    let fall = async {
        library.set_loans("r3", 3).await;
        library.set_loans("r0", 1).await;
    };
    drain_beside(&library, "r3", fall).await;
    library.assert_ranked(&["r1", "r2", "r3"]).await;
}

/// The process dies after it has taken r2 out and before it has asked for the highest. Then the reader
/// changes once more.
#[tokio::test]
async fn a_death_after_a_fall_leaves_no_gap() {
    let later = [json!({ "loanCount": 2, "sortKey": SORT_KEY.of(2) }), json!({ "name": "Eva" }), deletion()];
    for change in later {
        let library = Library::with_readers(&[9, 7, 6, 5, 4]).await;
        library.set_loans("r2", 1).await;
        let store = SteppedStore::new(library.store.clone(), |operation: PendingOperation<'_>| {
            operation.container == READERS && operation.kind == OperationKind::Query
        });
        let processor = library.processor_over(Arc::clone(&store) as _).await;
        tokio::select! {
            _ = processor.drain() => panic!("nothing has stopped"),
            () = store.until_stopped() => {}
        }
        drop(processor);
        library.edit(READERS, "r2", "r2", change).await;
        let next = library.processor_over(library.store.clone()).await;
        next.drain().await.expect("the change feed is drained");
        library.assert_ranked(&["r0", "r1", "r3"]).await;
    }
}

/// An item that falls without leaving its place before the last one costs no query of the highest.
#[tokio::test]
async fn a_fall_before_the_last_one_is_written_in_place() {
    let library = Library::with_readers(&[9, 7, 5, 4]).await;
    library.set_loans("r0", 6).await;
    let before = library.store.operations().len();
    library.assert_ranked(&["r1", "r0", "r2"]).await;
    let operations = library.store.operations();
    let queries = operations[before..].iter().filter(|of| of.kind == OperationKind::Query);
    let verified = 1;
    assert_eq!(queries.filter(|of| of.container == READERS).count(), verified);
}
