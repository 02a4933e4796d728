//! Causes of changes: writes of projections and repairs are distinguished from writes of commands, and a
//! created item is reported once, although its copies follow.

use onehop_change_feed::{Cause, CreatedTail, CreatedTailSettings, TailSource};
use onehop_runtime::clock::ManualClock;
use onehop_runtime::clock::parse_timestamp;
use onehop_store::{Change, ContainerName, Item, Ledger, PartitionKey, Store};
use serde_json::{Value, json};

use crate::library::{AUTHORS, BOOKS, GENRES, Library, author, book, genre, read_models};

async fn change(library: &Library, container: ContainerName, key: &str, id: &str) -> Change {
    let key = PartitionKey::from(key);
    let item: Option<Item> = library.store.read(container, &key, id, &Ledger::new()).await.expect("a read");
    Change { partition_key: key, id: id.to_owned(), item: item.expect("an item") }
}

async fn cause(library: &Library, container: ContainerName, key: &str, id: &str) -> Cause {
    let change = change(library, container, key, id).await;
    read_models().cause(container, &change).expect("a cause")
}

async fn cause_of_book(library: &Library, id: &str) -> Cause {
    cause(library, BOOKS, id, id).await
}

fn projection(name: &str) -> Cause {
    Cause::Projection(name.to_owned())
}

#[tokio::test]
async fn a_version_names_the_projection_that_wrote_it() {
    let library = Library::new().await;
    let (ada, novel) = (author("ada", "Ada"), genre("novel", "Novel"));
    for item in [&ada, &novel, &book("b1", &ada, &[&novel], 1)] {
        library.put(item).await;
    }
    library.drain().await;
    assert_eq!(cause_of_book(&library, "b1").await, Cause::Command);
    library.edit(AUTHORS, "ada", "ada", json!({ "name": "Ada L." })).await;
    library.drain().await;
    assert_eq!(cause_of_book(&library, "b1").await, projection("author-names"));
    library.edit(GENRES, "genre", "novel", json!({ "name": "Fiction" })).await;
    library.drain().await;
    assert_eq!(cause_of_book(&library, "b1").await, projection("genre-names"));
    // Written with old names: by the catch-up of the container, and by the list through which names of genres
    // follow.
    library.edit(BOOKS, "b1", "b1", json!({ "authorName": "Ada" })).await;
    assert_eq!(cause_of_book(&library, "b1").await, Cause::Command, "a command that keeps unknown fields");
    library.drain().await;
    assert_eq!(cause_of_book(&library, "b1").await, projection("book-catch-up"));
    library.edit(BOOKS, "b1", "b1", json!({ "genres": [{ "id": "novel", "name": "Novel" }] })).await;
    library.drain().await;
    assert_eq!(cause_of_book(&library, "b1").await, projection("books-of-genre"));
    library.assert_clean().await;
}

#[tokio::test]
async fn a_repair_and_an_entry_name_their_cause() {
    let library = Library::new().await;
    let ada = author("ada", "Ada");
    library.put(&ada).await;
    library.put(&book("b1", &ada, &[], 1)).await;
    library.drain().await;
    assert_eq!(cause(&library, AUTHORS, "ada", "b1").await, projection("books-of-author"));
    assert_eq!(cause(&library, AUTHORS, "ada", "ada").await, Cause::Command);
    library.damage(BOOKS, "b1", "b1", json!({ "authorName": "Bob" })).await;
    library.verifier().repair(|_| {}).await.expect("a repair");
    assert_eq!(cause_of_book(&library, "b1").await, Cause::Repair);
}

/// A tail of created books. Books of the fifth day and later were created after it was opened.
async fn created_books(library: &Library) -> CreatedTail {
    let source = TailSource { container: BOOKS, types: Some(&["book"]) };
    let settings = CreatedTailSettings::timed_by(|change| {
        let body: Value = change.item.decode().ok()?;
        parse_timestamp(&format!("{}T00:00:00.000Z", body["date"].as_str()?))
    });
    let clock = ManualClock::new(parse_timestamp("2027-01-04T12:00:00.000Z").expect("a time"));
    let ledger = Ledger::new();
    let opened = CreatedTail::open(library.store.clone(), source, settings, &clock, &ledger);
    opened.await.expect("the tail opens")
}

/// Asserts that these items are created next, and no other.
async fn assert_created(tail: &mut CreatedTail, expected: &[&str]) {
    let mut created: Vec<String> = Vec::new();
    while created.len() < expected.len() {
        created.extend(tail.next().await.into_iter().map(|change| change.id));
    }
    created.sort_unstable();
    assert_eq!(created, expected);
}

#[tokio::test]
async fn a_created_item_is_reported_once_though_its_copies_follow() {
    let library = Library::new().await;
    let ada = author("ada", "Ada");
    for item in [&ada, &book("b1", &ada, &[], 1)] {
        library.put(item).await;
    }
    library.drain().await;
    let mut tail = created_books(&library).await;
    library.put(&book("b5", &ada, &[], 5)).await;
    assert_created(&mut tail, &["b5"]).await;
    // The rename changes both books. The first version of the third is never read.
    library.put(&book("b6", &ada, &[], 6)).await;
    library.edit(AUTHORS, "ada", "ada", json!({ "name": "Ada L." })).await;
    library.drain().await;
    assert_eq!(library.book("b6").await["version"], 2);
    library.put(&book("b7", &author("ada", "Ada L."), &[], 7)).await;
    assert_created(&mut tail, &["b6", "b7"]).await;
}
