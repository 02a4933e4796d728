//! Complete lists, owned items and counts: every item has its entry, and a deletion takes entries and owned
//! items along.

use serde_json::{Value, json};

use crate::library::{AUTHORS, BOOKS, BY_GENRE, Library, author, book, deletion, genre, page};

#[tokio::test]
async fn a_list_has_a_short_copy_of_every_item() {
    let library = Library::new().await;
    let (ada, bob) = (author("ada", "Ada"), author("bob", "Bob"));
    for item in [&ada, &bob, &book("1", &ada, &[], 1), &book("2", &bob, &[], 2)] {
        library.put(item).await;
    }
    library.assert_clean().await;
    assert_eq!(library.listed(AUTHORS, "ada", "book").await, ["1"]);
    let entry = library.item(AUTHORS, "ada", "1").await;
    assert_eq!(
        (&entry["title"], &entry["authorName"], entry.get("text")),
        (&json!("Book 1"), &json!("Ada"), None)
    );
    library.edit(BOOKS, "1", "1", json!({ "title": "Another title" })).await;
    library.assert_clean().await;
    let entry = library.item(AUTHORS, "ada", "1").await;
    assert_eq!((&entry["title"], &entry["version"]), (&json!("Another title"), &json!(2)));
}

#[tokio::test]
async fn a_deleted_item_leaves_its_lists_for_good() {
    let library = Library::new().await;
    let (ada, novel) = (author("ada", "Ada"), genre("novel", "Novel"));
    let first = book("1", &ada, &[&novel], 1);
    for item in [&ada, &novel, &first] {
        library.put(item).await;
    }
    library.drain().await;
    library.edit(BOOKS, "1", "1", deletion()).await;
    library.assert_clean().await;
    let rebuilt = async || {
        for status in library.processor.status().await.expect("statuses") {
            library.processor.rebuild(status.projection, &|_| {}).await.expect("a rebuild");
        }
        library.assert_clean().await;
    };
    for replayed in [false, true] {
        if replayed {
            rebuilt().await;
        }
        assert!(library.listed(AUTHORS, "ada", "book").await.is_empty());
        assert!(library.listed(BY_GENRE, "novel", "book").await.is_empty());
        assert!(library.newest().await.is_empty());
    }
}

#[tokio::test]
async fn entries_by_elements_come_and_go_with_the_elements() {
    let library = Library::new().await;
    let ada = author("ada", "Ada");
    let [novel, diary, essay] = ["novel", "diary", "essay"].map(|id| genre(id, id));
    for item in [&ada, &novel, &diary, &essay, &book("1", &ada, &[&novel, &diary], 1)] {
        library.put(item).await;
    }
    library.assert_clean().await;
    let genres = async || {
        let mut of = Vec::new();
        for key in ["novel", "diary", "essay"] {
            of.push(library.listed(BY_GENRE, key, "book").await.len());
        }
        of
    };
    assert_eq!(genres().await, [1, 1, 0]);
    let changed: Value = json!([{ "id": "essay", "name": "essay" }, { "id": "novel", "name": "novel" }]);
    library.edit(BOOKS, "1", "1", json!({ "genres": changed })).await;
    library.assert_clean().await;
    assert_eq!(genres().await, [1, 0, 1]);
    let entry = library.item(BY_GENRE, "essay", "1").await;
    assert_eq!(
        (&entry["genreId"], &entry["bookId"], &entry["genres"]),
        (&json!("essay"), &json!("1"), &changed)
    );
    library.edit(BOOKS, "1", "1", json!({ "genres": [] })).await;
    library.assert_clean().await;
    assert_eq!(genres().await, [0, 0, 0]);
}

#[tokio::test]
async fn owned_items_are_deleted_with_their_owner() {
    let library = Library::new().await;
    let ada = author("ada", "Ada");
    for item in [&ada, &book("1", &ada, &[], 1), &book("2", &ada, &[], 2)] {
        library.put(item).await;
    }
    for number in 0..120 {
        library.put(&page(&format!("p{number}"), "1")).await;
    }
    library.put(&page("p", "2")).await;
    library.edit(BOOKS, "1", "1", json!({ "pageCount": 120 })).await;
    library.edit(BOOKS, "2", "2", json!({ "pageCount": 1 })).await;
    library.assert_clean().await;
    library.edit(BOOKS, "1", "1", deletion()).await;
    library.assert_clean().await;
    assert!(library.listed(BOOKS, "1", "page").await.is_empty());
    assert_eq!(library.listed(BOOKS, "2", "page").await, ["p"]);
}
