//! Bounded lists: the newest items by an immutable value, and the highest by a changing one.

use serde_json::json;

use crate::library::{BOOKS, LISTED_MAX, Library, NEWEST, RANKING, READERS, author, book, deletion};

async fn with_books(days: impl IntoIterator<Item = u32>) -> Library {
    let library = Library::new().await;
    let ada = author("ada", "Ada");
    library.put(&ada).await;
    for day in days {
        library.put(&book(&format!("b{day}"), &ada, &[], day)).await;
    }
    library.drain().await;
    library
}

/// Gives a reader another number of loans.
async fn set_loans(library: &Library, id: &str, loans: u64) {
    library.set_loans(id, loans).await;
    library.drain().await;
}

#[tokio::test]
async fn the_newest_are_listed_in_whatever_order_they_come() {
    let library = with_books([2, 5, 1, 4, 3]).await;
    assert_eq!(library.newest().await, ["b5", "b4", "b3"]);
    library.assert_clean().await;
    library.put(&book("b6", &author("ada", "Ada"), &[], 6)).await;
    library.assert_clean().await;
    assert_eq!(library.newest().await, ["b6", "b5", "b4"]);
}

#[tokio::test]
async fn an_older_item_takes_the_place_of_a_deleted_one() {
    let library = with_books(1..=6).await;
    for id in ["b6", "b4"] {
        library.edit(BOOKS, id, id, deletion()).await;
    }
    library.assert_clean().await;
    assert_eq!(library.newest().await, ["b5", "b3", "b2"]);
    for id in ["b5", "b3", "b2"] {
        library.edit(BOOKS, id, id, deletion()).await;
    }
    library.assert_clean().await;
    assert_eq!(library.newest().await, ["b1"]);
}

#[tokio::test]
async fn a_change_of_a_listed_item_changes_its_entry() {
    let library = with_books(1..=4).await;
    for id in ["b1", "b3"] {
        library.edit(BOOKS, id, id, json!({ "title": "Another title" })).await;
    }
    library.assert_clean().await;
    assert_eq!(library.item(NEWEST, "book", "b3").await["title"], "Another title");
    assert_eq!(library.find(NEWEST, "book", "b1").await, None);
}

#[tokio::test]
async fn the_highest_are_ranked() {
    let library = Library::with_readers(&[5, 1, 9, 3, 7]).await;
    assert_eq!(library.ranking().await, ["r2", "r4", "r0"]);
    let verified = library.verify().await.drifts;
    let ranked =
        |of: &&onehop_read_models::verify::Drift| serde_json::to_value(of).unwrap()["kind"] == "entry";
    assert_eq!(verified.iter().filter(ranked).count(), 0, "{verified:?}");
}

#[tokio::test]
async fn a_ranking_follows_values_that_rise_and_fall() {
    let library = Library::with_readers(&[5, 1, 9, 3, 7]).await;
    set_loans(&library, "r1", 8).await;
    assert_eq!(library.ranking().await, ["r2", "r1", "r4"]);
    set_loans(&library, "r2", 0).await;
    assert_eq!(library.ranking().await, ["r1", "r4", "r0"]);
    set_loans(&library, "r1", 4).await;
    assert_eq!(library.ranking().await, ["r4", "r0", "r1"]);
    set_loans(&library, "r1", 2).await;
    assert_eq!(library.ranking().await, ["r4", "r0", "r3"]);
    assert_eq!(library.item(RANKING, "reader", "r4").await["loanCount"], 7);
}

#[tokio::test]
async fn equal_values_are_ranked_by_id_and_none_is_over() {
    let library = Library::with_readers(&[2, 2, 2, 2, 2]).await;
    assert_eq!(library.ranking().await, ["r4", "r3", "r2"]);
    library.edit(READERS, "r3", "r3", deletion()).await;
    library.drain().await;
    assert_eq!(library.ranking().await, ["r4", "r2", "r1"]);
    assert_eq!(library.ranking().await.len(), LISTED_MAX);
}
