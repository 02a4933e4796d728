//! Items that break the rules' contract become dead letters with the reason: without a version, or in another
//! list than before.

use serde_json::{Value, json};

use crate::library::{
    AUTHORS, BOOKS, Library, MOST_LOANS, NEWEST_BOOKS, OF_AUTHOR, OF_GENRE, READERS, author, book, deletion,
    genre, reader,
};

/// The projections that see every book.
const OF_BOOKS: [&str; 5] = ["book-catch-up", OF_AUTHOR, OF_GENRE, NEWEST_BOOKS, "pages-of-deleted-books"];

/// Two books of an author and a genre.
async fn library() -> Library {
    let library = Library::new().await;
    let (ada, novel) = (author("ada", "Ada"), genre("novel", "Novel"));
    for item in
        [&ada, &author("bob", "Bob"), &novel, &book("b1", &ada, &[&novel], 1), &book("b2", &ada, &[], 2)]
    {
        library.put(item).await;
    }
    library.assert_clean().await;
    library
}

async fn assert_parked(library: &Library, projections: &[&str], reason: &str) {
    library.drain().await;
    let letters = library.dead_letters().await;
    let mut parked: Vec<_> = letters.iter().map(|(projection, ..)| projection.as_str()).collect();
    let mut expected = projections.to_vec();
    parked.sort_unstable();
    expected.sort_unstable();
    assert_eq!(parked, expected, "{letters:#?}");
    assert!(letters.iter().all(|(_, _, error)| error.contains(reason)), "{reason}: {letters:#?}");
}

/// Asserts that a replay leaves no dead letter and right read models.
async fn assert_mended(library: &Library) {
    library.processor.replay(None).await.expect("a replay");
    library.drain().await;
    assert_eq!(library.dead_letters().await, []);
    let report = library.verify().await;
    assert!(report.is_clean(), "{report:#?}");
}

#[tokio::test]
async fn an_item_without_a_version_is_parked_with_the_reason() {
    for (version, reason) in [
        (Value::Null, "the item has no `version`"),
        (json!(0), "the `version` of the item is no whole number from 1 on"),
        (json!("2"), "the `version` of the item is no whole number from 1 on"),
        (json!(1.5), "the `version` of the item is no whole number from 1 on"),
    ] {
        let library = library().await;
        let before = library.item(AUTHORS, "ada", "b1").await;
        library.damage(BOOKS, "b1", "b1", json!({ "title": "Unversioned", "version": version })).await;
        assert_parked(&library, &OF_BOOKS, reason).await;
        assert_eq!(library.item(AUTHORS, "ada", "b1").await, before);
        let unreadable = library.verify().await.unreadable;
        assert!(unreadable.iter().any(|item| item.id.as_deref() == Some("b1")), "{unreadable:#?}");

        library.damage(BOOKS, "b1", "b1", json!({ "version": 2 })).await;
        assert_mended(&library).await;
        assert_eq!(library.item(AUTHORS, "ada", "b1").await["title"], "Unversioned");
    }
}

#[tokio::test]
async fn a_source_without_a_version_is_parked() {
    let library = library().await;
    library.damage(AUTHORS, "ada", "ada", json!({ "name": "Ada L.", "version": null })).await;
    assert_parked(&library, &["author-names"], "the item has no `version`").await;
    assert_eq!(library.book("b1").await["authorName"], "Ada");
}

#[tokio::test]
async fn a_ranked_item_without_a_version_is_parked() {
    let library = Library::with_readers(&[1, 2, 3, 4]).await;
    let mut unversioned = reader("r9", 9);
    unversioned.as_object_mut().expect("an object").remove("version");
    library.put(&unversioned).await;
    assert_parked(&library, &[MOST_LOANS], "the item has no `version`").await;
    // It keeps no other from its place.
    library.set_loans("r0", 7).await;
    library.edit(READERS, "r3", "r3", deletion()).await;
    library.drain().await;
    assert_eq!(library.ranking().await[..2], ["r0", "r2"]);
}

/// The item is parked by its own change. The source's change reaches the other items.
#[tokio::test]
async fn a_copy_in_an_item_without_a_version_parks_no_source() {
    let library = library().await;
    library.damage(BOOKS, "b1", "b1", json!({ "version": null })).await;
    library.edit(AUTHORS, "ada", "ada", json!({ "name": "Ada L." })).await;
    assert_parked(&library, &OF_BOOKS, "the item has no `version`").await;
    assert_eq!(library.book("b2").await["authorName"], "Ada L.");
    library.damage(BOOKS, "b1", "b1", json!({ "version": 2 })).await;
    assert_mended(&library).await;
    assert_eq!(library.book("b1").await["authorName"], "Ada L.");
}

#[tokio::test]
async fn an_item_that_changed_before_it_was_listed_is_listed() {
    let library = library().await;
    let bob = author("bob", "Bob");
    library.put(&book("b3", &bob, &[], 3)).await;
    library.edit(BOOKS, "b3", "b3", json!({ "title": "Second edition" })).await;
    library.assert_clean().await;
    assert_eq!(library.item(AUTHORS, "bob", "b3").await["title"], "Second edition");
}
