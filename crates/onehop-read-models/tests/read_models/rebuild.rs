//! Rebuild: a projection runs over the change feed from its beginning, while it serves and while items are
//! written.

use std::sync::Arc;

use onehop_store::ContainerName;
use serde_json::json;

use crate::library::{
    AUTHORS, BOOKS, BY_GENRE, Library, MOST_LOANS, NEWEST, NEWEST_BOOKS, OF_AUTHOR, OF_GENRE, RANKING,
    READERS, SORT_KEY, author, book, deletion, genre, reader,
};

/// Lists with their containers, logical partitions and types of items.
const LISTS: [(&str, ContainerName, &str, &str); 4] = [
    (OF_AUTHOR, AUTHORS, "ada", "book"),
    (OF_GENRE, BY_GENRE, "novel", "book"),
    (NEWEST_BOOKS, NEWEST, "book", "book"),
    (MOST_LOANS, RANKING, "reader", "reader"),
];

/// Six books of one author and genre, and five readers without loans.
async fn library() -> Library {
    let library = Library::new().await;
    let (ada, novel) = (author("ada", "Ada"), genre("novel", "Novel"));
    library.put(&ada).await;
    library.put(&novel).await;
    for day in 1..=6 {
        library.put(&book(&format!("b{day}"), &ada, &[&novel], day)).await;
    }
    for number in 0..5 {
        library.put(&reader(&format!("r{number}"), 0)).await;
    }
    library.assert_clean().await;
    library
}

/// Deletes every entry of a list. Returns their ids.
async fn lose(library: &Library, container: ContainerName, key: &str, item_type: &str) -> Vec<String> {
    let listed = library.listed(container, key, item_type).await;
    for id in &listed {
        library.delete_at(container, key, id).await;
    }
    assert!(!library.verify().await.is_clean(), "nothing is lost from {container}");
    listed
}

#[tokio::test]
async fn a_lost_list_is_rebuilt_from_nothing() {
    let library = library().await;
    for (projection, container, key, item_type) in LISTS {
        let lost = lose(&library, container, key, item_type).await;
        let report = library.processor.rebuild(projection, &|_| {}).await.expect("a rebuild");
        assert!(report.done > 0);
        assert_eq!(library.listed(container, key, item_type).await, lost, "{projection}");
        library.assert_clean().await;
    }
}

/// Writes while a rebuild stands before its first write of an entry.
#[tokio::test]
async fn a_rebuild_beside_writes_keeps_what_they_wrote() {
    for (projection, container, key, item_type) in LISTS {
        let library = library().await;
        lose(&library, container, key, item_type).await;
        let store = library.stopping_before_first_write(container);
        let processor = library.processor_over(Arc::clone(&store) as _).await;
        let meanwhile = async {
            store.until_stopped().await;
            write_everything(&library).await;
            // The live readers project it while the rebuild stands.
            library.drain().await;
            store.resume();
        };
        let (report, ()) = tokio::join!(processor.rebuild(projection, &|_| {}), meanwhile);
        report.unwrap_or_else(|error| panic!("{projection}: {error}"));
        library.drain().await;
        let report = library.verify().await;
        assert!(report.is_clean(), "{projection}: {report:#?}");
        assert_eq!(library.newest().await, ["b7", "b5", "b4"], "{projection}");
    }
}

/// Changes, deletes and adds a book; ranks and deletes a reader.
async fn write_everything(library: &Library) {
    let (ada, novel) = (author("ada", "Ada"), genre("novel", "Novel"));
    library.edit(BOOKS, "b5", "b5", json!({ "title": "Another title" })).await;
    library.edit(BOOKS, "b6", "b6", deletion()).await;
    library.put(&book("b7", &ada, &[&novel], 7)).await;
    library.edit(BOOKS, "b1", "b1", json!({ "genres": [] })).await;
    let loan = crate::library::loan("l1", "r0");
    library.put(&loan).await;
    library.edit(READERS, "r0", "r0", json!({ "loanCount": 1, "sortKey": SORT_KEY.of(1) })).await;
    library.edit(READERS, "r4", "r4", deletion()).await;
}

#[tokio::test]
async fn a_rebuild_of_copies_writes_what_is_old() {
    let library = library().await;
    library.edit(AUTHORS, "ada", "ada", json!({ "name": "Ada L." })).await;
    library.drain().await;
    // Of a source that was never changed no copy is old.
    for projection in ["author-names", "book-catch-up"] {
        library.damage(BOOKS, "b2", "b2", json!({ "authorName": "Bob" })).await;
        library.processor.rebuild(projection, &|_| {}).await.expect("a rebuild");
        assert_eq!(library.book("b2").await["authorName"], "Ada L.", "{projection}");
        library.assert_clean().await;
    }
    let before = library.store.operations().len();
    for projection in ["author-names", "genre-names", "book-catch-up", OF_AUTHOR, OF_GENRE, NEWEST_BOOKS] {
        library.processor.rebuild(projection, &|_| {}).await.expect("a rebuild");
    }
    let operations = library.store.operations();
    let domain =
        |container: ContainerName| !onehop_change_feed::SPECS.iter().any(|own| own.name == container);
    let written = operations[before..].iter().filter(|of| of.kind.writes() && domain(of.container));
    assert_eq!(written.count(), 0, "what is current is not written again");
}
