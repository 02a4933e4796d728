//! Repair beside writes: every write of a repair is refused where its item has changed, and no copy goes back
//! in time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onehop_read_models::verify::VerificationReport;
use onehop_store::{ContainerName, OperationKind, PartitionKey};
use onehop_testing::stepped_store::{PendingOperation, SteppedStore};
use serde_json::json;

use crate::library::{
    AUTHORS, BOOKS, BY_GENRE, Library, NEWEST, RANKING, READERS, SORT_KEY, author, book, deletion, genre,
    loan, page, reader,
};

/// A book of an author and a genre, with a page, and a reader.
async fn library() -> Library {
    let library = Library::new().await;
    let (ada, novel) = (author("ada", "Ada"), genre("novel", "Novel"));
    let mut first = book("b1", &ada, &[&novel], 1);
    first["pageCount"] = json!(1);
    for item in [&ada, &novel, &first, &page("p1", "b1"), &reader("r1", 0)] {
        library.put(item).await;
    }
    library.assert_clean().await;
    library
}

/// Repairs, and has something else happen just before the repair's first write to a container.
async fn repair_beside(
    library: &Library,
    container: ContainerName,
    meanwhile: impl Future<Output = ()>,
) -> VerificationReport {
    let store = library.stopping_before_first_write(container);
    let verifier = library.verifier_over(Arc::clone(&store) as _, Vec::new());
    let beside = async {
        store.until_stopped().await;
        meanwhile.await;
        store.resume();
    };
    let (report, ()) = tokio::join!(verifier.repair(|_| {}), beside);
    report.expect("a repair")
}

/// The lists that a book is in.
const LISTS: [(ContainerName, &str); 3] = [(AUTHORS, "ada"), (BY_GENRE, "novel"), (NEWEST, "book")];

#[tokio::test]
async fn a_repaired_entry_never_goes_back() {
    for (container, key) in LISTS {
        let library = library().await;
        library.damage(container, key, "b1", json!({ "title": "Damaged" })).await;
        let meanwhile = async {
            library.edit(BOOKS, "b1", "b1", json!({ "title": "Second edition" })).await;
            library.drain().await;
        };
        let report = repair_beside(&library, container, meanwhile).await;
        assert_eq!(report.drifts, [], "{container}");
        // Nothing was projected since, which would hide the effect of the repair.
        assert_eq!(library.item(container, key, "b1").await["title"], "Second edition", "{container}");
    }
}

#[tokio::test]
async fn a_repaired_ranking_never_goes_back() {
    let library = library().await;
    library.damage(RANKING, "reader", "r1", json!({ "name": "Damaged" })).await;
    let meanwhile = async {
        library.edit(READERS, "r1", "r1", json!({ "name": "Eva" })).await;
        library.drain().await;
    };
    assert_eq!(repair_beside(&library, RANKING, meanwhile).await.drifts, []);
    assert_eq!(library.item(RANKING, "reader", "r1").await["name"], "Eva");
}

/// A listed reader falls after the repair has begun. The repair sees that before the projection does.
#[tokio::test]
async fn a_repair_that_finds_a_fall_leaves_no_gap() {
    for fallen in [json!({ "loanCount": 0, "sortKey": SORT_KEY.of(0) }), deletion()] {
        let library = Library::with_readers(&[2, 1, 1, 1]).await;
        for (id, reader) in [("l0", "r0"), ("l1", "r0"), ("l2", "r1"), ("l3", "r2"), ("l4", "r3")] {
            library.put(&loan(id, reader)).await;
        }
        library.damage(RANKING, "reader", "r0", json!({ "name": "Damaged" })).await;
        let stopped = AtomicBool::new(false);
        let store = SteppedStore::new(library.store.clone(), move |operation: PendingOperation<'_>| {
            operation.kind == OperationKind::PointRead
                && operation.is_in(READERS, &PartitionKey::from("r0"))
                && !stopped.swap(true, Ordering::SeqCst)
        });
        let verifier = library.verifier_over(Arc::clone(&store) as _, Vec::new());
        let mut repairing = std::pin::pin!(verifier.repair(|_| {}));
        tokio::select! {
            _ = &mut repairing => panic!("r0 was not repaired"),
            () = store.until_stopped() => {}
        }
        library.delete_at(READERS, "r0", "l0").await;
        library.delete_at(READERS, "r0", "l1").await;
        library.edit(READERS, "r0", "r0", fallen).await;
        store.resume();
        repairing.await.expect("a repair");
        library.assert_ranked(&["r3", "r2", "r1"]).await;
    }
}

#[tokio::test]
async fn a_repair_brings_no_deleted_item_back() {
    for (container, key) in LISTS {
        for is_lost in [true, false] {
            let library = library().await;
            if is_lost {
                library.delete_at(container, key, "b1").await;
            } else {
                library.damage(container, key, "b1", json!({ "title": "Damaged" })).await;
            }
            let meanwhile = async {
                library.edit(BOOKS, "b1", "b1", deletion()).await;
                library.drain().await;
            };
            let report = repair_beside(&library, container, meanwhile).await;
            assert_eq!(report.drifts, [], "{container}");
            assert!(library.listed(container, key, "book").await.is_empty(), "{container}");
            library.assert_clean().await;
        }
    }
}

#[tokio::test]
async fn a_repaired_copy_has_its_sources_present_value() {
    let library = library().await;
    library.damage(BOOKS, "b1", "b1", json!({ "authorName": "Damaged" })).await;
    let meanwhile = async {
        library.edit(AUTHORS, "ada", "ada", json!({ "name": "Ada L." })).await;
        library.drain().await;
        library.edit(BOOKS, "b1", "b1", json!({ "text": "It was a dark night." })).await;
    };
    repair_beside(&library, BOOKS, meanwhile).await;
    let repaired = library.book("b1").await;
    assert_eq!(
        (&repaired["authorName"], &repaired["text"]),
        (&json!("Ada L."), &json!("It was a dark night."))
    );
    library.assert_clean().await;
}

#[tokio::test]
async fn a_repaired_count_counts_what_was_written_meanwhile() {
    let library = library().await;
    library.damage(BOOKS, "b1", "b1", json!({ "pageCount": 7 })).await;
    let meanwhile = async {
        library.put(&page("p2", "b1")).await;
        library.edit(BOOKS, "b1", "b1", json!({ "pageCount": 8 })).await;
    };
    repair_beside(&library, BOOKS, meanwhile).await;
    assert_eq!(library.book("b1").await["pageCount"], 2);
    library.assert_clean().await;
}

#[tokio::test]
async fn an_owned_item_whose_owner_comes_back_stays() {
    let library = library().await;
    library.delete_at(BOOKS, "b1", "b1").await;
    let found = library.verify().await.drifts.len();
    assert!(found >= 1);
    let mut again = book("b1", &author("ada", "Ada"), &[&genre("novel", "Novel")], 1);
    (again["pageCount"], again["version"]) = (json!(1), json!(2));
    library.put(&again).await;
    library.assert_clean().await;
    assert_eq!(library.listed(BOOKS, "b1", "page").await, ["p1"]);
}
