//! Copies: a source's change reaches them, and an item that was written with an old copy is corrected.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onehop_store::OperationKind;
use onehop_testing::stepped_store::{PendingOperation, SteppedStore};
use serde_json::json;

use crate::library::{AUTHORS, BOOKS, GENRES, Library, author, book, genre, loan, reader};

#[tokio::test]
async fn a_sources_change_reaches_every_copy_and_no_other_field() {
    let library = Library::new().await;
    let (ada, bob) = (author("ada", "Ada"), author("bob", "Bob"));
    for item in [&ada, &bob, &book("1", &ada, &[], 1), &book("2", &bob, &[], 2), &book("3", &ada, &[], 3)] {
        library.put(item).await;
    }
    library.drain().await;
    let before = library.book("2").await;
    library.edit(AUTHORS, "ada", "ada", json!({ "name": "Ada L." })).await;
    library.assert_clean().await;
    for id in ["1", "3"] {
        let mut expected = book(id, &author("ada", "Ada L."), &[], id.parse().unwrap());
        expected["version"] = json!(2);
        expected["causedBy"] = json!("author-names@2");
        assert_eq!(library.book(id).await, expected);
    }
    assert_eq!(library.book("2").await, before);
}

#[tokio::test]
async fn a_change_of_no_copied_field_writes_no_target() {
    let library = Library::new().await;
    let ada = author("ada", "Ada");
    library.put(&ada).await;
    library.put(&book("1", &ada, &[], 1)).await;
    library.assert_clean().await;
    let before = library.store.operations().len();
    library.edit(AUTHORS, "ada", "ada", json!({ "birthplace": "Marylebone" })).await;
    library.drain().await;
    let operations = library.store.operations();
    let written = operations[before..].iter().filter(|of| of.kind.writes() && of.container == BOOKS);
    assert_eq!(written.count(), 0);
    assert_eq!(library.book("1").await["version"], 1);
}

#[tokio::test]
async fn an_item_with_an_old_copy_is_corrected() {
    let library = Library::new().await;
    let ada = author("ada", "Ada");
    library.put(&ada).await;
    library.edit(AUTHORS, "ada", "ada", json!({ "name": "Ada L." })).await;
    library.drain().await;
    // A new book, and a book that is changed later by a writer with the old name.
    library.put(&book("1", &ada, &[], 1)).await;
    library.assert_clean().await;
    library.edit(BOOKS, "1", "1", json!({ "authorName": "Ada", "title": "Second edition" })).await;
    library.assert_clean().await;
    let corrected = library.book("1").await;
    assert_eq!((&corrected["authorName"], &corrected["title"]), (&json!("Ada L."), &json!("Second edition")));
}

/// Renames the author, and lets the propagation stop before its first write of a book. Meanwhile books are
/// written with the old name.
#[tokio::test]
async fn a_source_and_a_target_that_change_at_once_agree() {
    let library = Library::new().await;
    let ada = author("ada", "Ada");
    library.put(&ada).await;
    for day in 1..=3 {
        library.put(&book(&day.to_string(), &ada, &[], day)).await;
    }
    library.assert_clean().await;
    let store = library.stopping_before_first_write(BOOKS);
    let processor = library.processor_over(Arc::clone(&store) as _).await;
    library.edit(AUTHORS, "ada", "ada", json!({ "name": "Ada L." })).await;
    let meanwhile = async {
        store.until_stopped().await;
        library.put(&book("4", &ada, &[], 4)).await;
        for id in ["1", "2"] {
            library.edit(BOOKS, id, id, json!({ "title": "Second edition" })).await;
        }
        library.edit(AUTHORS, "ada", "ada", json!({ "name": "Lovelace" })).await;
        store.resume();
    };
    let (drained, ()) = tokio::join!(processor.drain(), meanwhile);
    drained.expect("the change feed is drained");
    library.assert_clean().await;
    for id in ["1", "2", "3", "4"] {
        assert_eq!(library.book(id).await["authorName"], "Lovelace");
    }
    assert_eq!(library.book("1").await["title"], "Second edition");
}

/// The library's store, but that the read of the targets of a rename waits until the test resumes it.
fn stopping_at_targets(library: &Library, by: OperationKind) -> Arc<SteppedStore> {
    let stopped = AtomicBool::new(false);
    SteppedStore::new(library.store.clone(), move |operation: PendingOperation<'_>| {
        let reads_targets = operation.container == BOOKS && operation.kind == by;
        reads_targets && !stopped.swap(true, Ordering::SeqCst)
    })
}

/// While the propagation of a rename looks for its targets, the source is renamed once more, and a book gets
/// that name by its catch-up. The first rename must not put the former name back, not even for a moment.
#[tokio::test]
async fn a_copy_never_goes_back_in_time() {
    let library = Library::new().await;
    let (ada, novel) = (author("ada", "Ada"), genre("novel", "Novel"));
    for item in [&ada, &novel, &book("1", &ada, &[&novel], 1)] {
        library.put(item).await;
    }
    library.assert_clean().await;
    let by_author = json!({ "authorName": "Lovelace" });
    let by_genre = json!({ "genres": [{ "id": "novel", "name": "Fiction" }] });
    for (container, key, id, name, copies, read) in [
        (AUTHORS, "ada", "ada", "Lovelace", by_author, OperationKind::Query),
        (GENRES, "genre", "novel", "Fiction", by_genre, OperationKind::PointRead),
    ] {
        let store = stopping_at_targets(&library, read);
        let processor = library.processor_over(Arc::clone(&store) as _).await;
        let version = library.book("1").await["version"].as_u64().unwrap();
        library.edit(container, key, id, json!({ "name": "Second" })).await;
        let meanwhile = async {
            store.until_stopped().await;
            library.edit(container, key, id, json!({ "name": name })).await;
            library.edit(BOOKS, "1", "1", copies).await;
            store.resume();
        };
        let (drained, ()) = tokio::join!(processor.drain(), meanwhile);
        drained.expect("the change feed is drained");
        assert_eq!(library.book("1").await["version"], version + 1, "{id}: another write put a name back");
        library.assert_clean().await;
    }
}

#[tokio::test]
async fn copies_in_elements_follow_their_own_source() {
    let library = Library::new().await;
    let ada = author("ada", "Ada");
    let (novel, diary) = (genre("novel", "Novel"), genre("diary", "Diary"));
    for item in [&ada, &novel, &diary, &book("1", &ada, &[&novel, &diary], 1), &book("2", &ada, &[&diary], 2)]
    {
        library.put(item).await;
    }
    library.drain().await;
    library.edit(GENRES, "genre", "novel", json!({ "name": "Fiction" })).await;
    library.assert_clean().await;
    let names = json!([{ "id": "novel", "name": "Fiction" }, { "id": "diary", "name": "Diary" }]);
    assert_eq!(library.book("1").await["genres"], names);
    assert_eq!(library.book("2").await["version"], 1);
    // An element that is added with an old name.
    library.edit(BOOKS, "2", "2", json!({ "genres": [{ "id": "novel", "name": "Novel" }] })).await;
    library.assert_clean().await;
    assert_eq!(library.book("2").await["genres"], json!([{ "id": "novel", "name": "Fiction" }]));
}

/// Adds a genre to a book with the old name, while the propagation of the new one is between its list and its
/// writes.
#[tokio::test]
async fn an_element_added_during_its_sources_change_is_corrected() {
    let library = Library::new().await;
    let (ada, novel) = (author("ada", "Ada"), genre("novel", "Novel"));
    for item in [&ada, &novel, &book("1", &ada, &[&novel], 1), &book("2", &ada, &[], 2)] {
        library.put(item).await;
    }
    library.assert_clean().await;
    let store = library.stopping_before_first_write(BOOKS);
    let processor = library.processor_over(Arc::clone(&store) as _).await;
    library.edit(GENRES, "genre", "novel", json!({ "name": "Fiction" })).await;
    let meanwhile = async {
        store.until_stopped().await;
        let genres = json!([{ "id": "novel", "name": "Novel" }]);
        library.edit(BOOKS, "2", "2", json!({ "genres": genres })).await;
        store.resume();
    };
    let (drained, ()) = tokio::join!(processor.drain(), meanwhile);
    drained.expect("the change feed is drained");
    library.assert_clean().await;
    for id in ["1", "2"] {
        assert_eq!(library.book(id).await["genres"][0]["name"], "Fiction");
    }
}

#[tokio::test]
async fn frozen_copies_stay_as_they_were_written() {
    let library = Library::new().await;
    let ada = author("ada", "Ada");
    let mut first = reader("eva", 1);
    first["name"] = json!("Eva");
    for item in [&ada, &book("1", &ada, &[], 1), &first, &loan("l1", "eva")] {
        library.put(item).await;
    }
    library.edit(BOOKS, "1", "1", json!({ "title": "Another title" })).await;
    library.assert_clean().await;
    assert_eq!(library.item(crate::library::READERS, "eva", "l1").await["title"], "Book");
}

#[tokio::test]
async fn a_deleted_target_gets_no_copy() {
    let library = Library::new().await;
    let ada = author("ada", "Ada");
    library.put(&ada).await;
    library.put(&book("1", &ada, &[], 1)).await;
    library.edit(BOOKS, "1", "1", crate::library::deletion()).await;
    library.edit(AUTHORS, "ada", "ada", json!({ "name": "Ada L." })).await;
    library.assert_clean().await;
    let deleted = library.book("1").await;
    assert_eq!((&deleted["authorName"], &deleted["version"]), (&json!("Ada"), &json!(2)));
}
