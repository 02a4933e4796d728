//! Verification: each kind of drift, made behind the back of commands and projections, is found under its
//! rule and repaired.

use async_trait::async_trait;
use onehop_read_models::ItemType;
use onehop_read_models::verify::{Drift, Invariant, Violation};
use onehop_store::{ContainerName, Fault, Ledger, PartitionKey, Store};
use serde_json::{Value, json};
use std::sync::Arc;

use crate::library::{
    AUTHOR, AUTHORS, BOOKS, BY_GENRE, Library, MOST_LOANS, NEWEST, NEWEST_BOOKS, OF_AUTHOR, OF_GENRE,
    RANKING, READERS, author, book, deletion, genre, loan, page, reader,
};

/// Two authors, two genres, four books with a page each, four readers of whom one has two loans.
async fn library() -> Library {
    let library = Library::new().await;
    let (ada, bob) = (author("ada", "Ada"), author("bob", "Bob"));
    let (novel, diary) = (genre("novel", "Novel"), genre("diary", "Diary"));
    for item in [&ada, &bob, &novel, &diary] {
        library.put(item).await;
    }
    for day in 1..=4 {
        let id = format!("b{day}");
        library.put(&page(&format!("p{day}"), &id)).await;
        let mut book = book(&id, &ada, &[&novel], day);
        book["pageCount"] = json!(1);
        library.put(&book).await;
    }
    for (id, loans) in [("r1", 2), ("r2", 0), ("r3", 0), ("r4", 0)] {
        library.put(&reader(id, loans)).await;
    }
    for id in ["l1", "l2"] {
        library.put(&loan(id, "r1")).await;
    }
    library.assert_clean().await;
    library
}

/// A drift as `kind`, then the rule or field, then the problem, so far as it has them.
fn summary(drift: &Drift) -> [String; 3] {
    let drift = serde_json::to_value(drift).expect("JSON");
    let text = |field: &str| drift[field].as_str().unwrap_or_default().to_owned();
    let name = if drift["kind"] == "count" { text("field") } else { text("rule") };
    [text("kind"), name, text("problem")]
}

/// Asserts that such a drift is found, that a repair removes it, and that it does not come back.
async fn assert_repaired(library: &Library, kind: &str, name: &str, problem: &str) {
    let found = library.verify().await.drifts;
    let expected = [kind, name, problem];
    assert!(found.iter().any(|drift| summary(drift) == expected), "{expected:?} is not in {found:#?}");
    let report = library.verifier().repair(|_| {}).await.expect("a repair");
    assert!(report.repaired >= 1, "{expected:?}");
    library.assert_clean().await;
}

#[tokio::test]
async fn wrong_and_missing_copies_are_found_and_repaired() {
    let library = library().await;
    for name in [json!("Bob"), json!(7), Value::Null] {
        library.damage(BOOKS, "b1", "b1", json!({ "authorName": name })).await;
        assert_repaired(&library, "copy", "author-names", "").await;
    }
    for element in [json!({ "id": "novel", "name": "Diary" }), json!({ "id": "novel" })] {
        library.damage(BOOKS, "b1", "b1", json!({ "genres": [element] })).await;
        assert_repaired(&library, "copy", "genre-names", "").await;
    }
    assert_eq!(library.book("b1").await["authorName"], "Ada");
    assert_eq!(library.book("b1").await["genres"], json!([{ "id": "novel", "name": "Novel" }]));
}

#[tokio::test]
async fn a_copy_without_its_source_stays_in_the_report() {
    let library = library().await;
    library.put(&book("b0", &author("nobody", "Nobody"), &[], 9)).await;
    library.drain().await;
    let report = library.verifier().repair(|_| {}).await.expect("a repair");
    let [Drift::Copy { current: None, id, .. }] = &report.drifts[..] else { panic!("{report:#?}") };
    assert_eq!((id.as_str(), report.repaired), ("b0", 0));
}

/// A list: its rule, its container, and the logical partition in which the entry of an item is damaged.
struct Listed {
    rule: &'static str,
    container: ContainerName,
    key: &'static str,
    id: &'static str,
    /// A field of the entry, and another value of it.
    field: (&'static str, Value),
    /// The reported problem of an entry that does not belong there.
    surplus: &'static str,
}

fn lists() -> [Listed; 4] {
    let of_books = |rule, container, key, surplus| {
        let field = ("title", json!("Another title"));
        Listed { rule, container, key, id: "b3", field, surplus }
    };
    let not_there = "its item is not there";
    [
        of_books(OF_AUTHOR, AUTHORS, "ada", not_there),
        of_books(OF_GENRE, BY_GENRE, "novel", not_there),
        of_books(NEWEST_BOOKS, NEWEST, "book", "it is not among the newest 3"),
        Listed {
            rule: MOST_LOANS,
            container: RANKING,
            key: "reader",
            id: "r1",
            field: ("loanCount", json!(7)),
            surplus: "it is not among the highest 3",
        },
    ]
}

#[tokio::test]
async fn missing_entries_are_found_and_repaired() {
    let library = library().await;
    for Listed { rule, container, key, id, .. } in lists() {
        library.delete_at(container, key, id).await;
        assert_repaired(&library, "entry", rule, "the entry is missing").await;
    }
}

#[tokio::test]
async fn differing_entries_are_found_and_repaired() {
    let library = library().await;
    for Listed { rule, container, key, id, field: (field, value), .. } in lists() {
        for value in [value, Value::Null] {
            library.damage(container, key, id, json!({ field: value })).await;
            assert_repaired(&library, "entry", rule, &format!("the entry differs in {field}")).await;
        }
        library.damage(container, key, id, json!({ "surplusField": 1 })).await;
        assert_repaired(&library, "entry", rule, "the entry differs in surplusField").await;
    }
}

#[tokio::test]
async fn surplus_entries_are_found_and_repaired() {
    let library = library().await;
    for Listed { rule, container, key, id, surplus, .. } in lists() {
        let mut entry = library.item(container, key, id).await;
        entry["id"] = json!("x1");
        library.put_at(container, key, &entry).await;
        assert_repaired(&library, "entry", rule, surplus).await;
        assert_eq!(library.find(container, key, "x1").await, None);
    }
}

/// A store may carry out a create long after its answer was given up.
#[tokio::test]
async fn an_entry_that_came_back_after_its_item_is_repaired() {
    let library = library().await;
    let entry = library.item(BY_GENRE, "novel", "b3").await;
    library.edit(BOOKS, "b3", "b3", deletion()).await;
    library.drain().await;
    assert_eq!(library.find(BY_GENRE, "novel", "b3").await, None);
    library.put_at(BY_GENRE, "novel", &entry).await;
    assert_repaired(&library, "entry", OF_GENRE, "its item is not there").await;
}

#[tokio::test]
async fn entries_in_another_partition_are_found_and_repaired() {
    let library = library().await;
    for (rule, container, key, field, other) in
        [(OF_AUTHOR, AUTHORS, "ada", "authorId", "bob"), (OF_GENRE, BY_GENRE, "novel", "genreId", "diary")]
    {
        let mut entry = library.item(container, key, "b3").await;
        entry[field] = json!(other);
        library.put_at(container, other, &entry).await;
        assert_repaired(&library, "entry", rule, "its item is not there").await;
    }
}

#[tokio::test]
async fn entries_in_another_order_are_found_and_repaired() {
    let library = library().await;
    library.damage(NEWEST, "book", "b4", json!({ "date": "2027-01-01" })).await;
    assert_eq!(library.newest().await, ["b3", "b2", "b4"]);
    assert_repaired(&library, "entry", NEWEST_BOOKS, "the entry differs in date").await;
    assert_eq!(library.newest().await, ["b4", "b3", "b2"]);
    library.damage(RANKING, "reader", "r3", json!({ "sortKey": "0099" })).await;
    assert_repaired(&library, "entry", MOST_LOANS, "the entry differs in sortKey").await;
    assert_eq!(library.ranking().await, ["r1", "r4", "r3"]);
}

#[tokio::test]
async fn an_entry_from_the_future_is_overtaken_by_its_item() {
    let library = library().await;
    for Listed { rule, container, key, id, .. } in lists() {
        library.damage(container, key, id, json!({ "version": 1_000 })).await;
        assert_repaired(&library, "entry", rule, "the entry differs in version").await;
    }
    assert!(library.book("b3").await["version"].as_u64() > Some(1_000));
}

#[tokio::test]
async fn wrong_and_missing_counts_are_found_and_repaired() {
    let library = library().await;
    for count in [json!(7), json!("1"), Value::Null] {
        library.damage(BOOKS, "b1", "b1", json!({ "pageCount": count })).await;
        assert_repaired(&library, "count", "pageCount", "").await;
        assert_eq!(library.book("b1").await["pageCount"], 1);
    }
}

#[tokio::test]
async fn a_count_is_repaired_with_its_text() {
    let library = library().await;
    let damages = [
        (json!({ "loanCount": 9, "sortKey": "0009" }), "loanCount"),
        (json!({ "loanCount": 9 }), "loanCount"),
        (json!({ "sortKey": "0000" }), "sortKey"),
        (json!({ "sortKey": "2" }), "sortKey"),
    ];
    for (damage, field) in damages {
        library.damage(READERS, "r1", "r1", damage).await;
        assert_repaired(&library, "count", field, "").await;
        let repaired = library.item(READERS, "r1", "r1").await;
        assert_eq!((&repaired["loanCount"], &repaired["sortKey"]), (&json!(2), &json!("0002")));
        let ranked = library.item(RANKING, "reader", "r1").await;
        assert_eq!(ranked["sortKey"], "0002");
    }
}

#[tokio::test]
async fn owned_items_without_their_owner_are_found_and_repaired() {
    let library = library().await;
    library.put(&page("p9", "b9")).await;
    assert_repaired(&library, "owned", "pages-of-deleted-books", "").await;
    assert_eq!(library.find(BOOKS, "b9", "p9").await, None);
}

/// No author comes from nowhere.
struct Birthplaces(Arc<dyn Store>);

#[async_trait]
impl Invariant for Birthplaces {
    fn name(&self) -> &'static str {
        "birthplace"
    }

    fn item_type(&self) -> &ItemType {
        &AUTHOR
    }

    async fn violation(&self, _: &PartitionKey, id: &str) -> Result<Option<Violation>, Fault> {
        let item = self.0.read(AUTHORS, &PartitionKey::from(id), id, &Ledger::new()).await?;
        let Some(item) = item else { return Ok(None) };
        let author: Value = item.decode()?;
        let violation =
            || Violation { problem: "comes from nowhere".to_owned(), seen: vec![Some(item.etag.clone())] };
        Ok(author.get("birthplace").is_none().then(violation))
    }

    async fn repair(&self, _: &PartitionKey, _id: &str) -> Result<bool, Fault> {
        Ok(false)
    }
}

#[tokio::test]
async fn an_invariant_of_the_domain_is_verified_with_the_rules() {
    let library = library().await;
    library.damage(AUTHORS, "bob", "bob", json!({ "birthplace": null })).await;
    let invariants: Vec<Box<dyn Invariant>> = vec![Box::new(Birthplaces(library.store.clone()))];
    let verifier = library.verifier_over(library.store.clone(), invariants);
    for report in [verifier.verify(|_| {}).await, verifier.repair(|_| {}).await] {
        let [Drift::Invariant { invariant, id, problem }] = &report.expect("a report").drifts[..] else {
            panic!("not one violation")
        };
        assert_eq!([invariant, id, problem], ["birthplace", "bob", "comes from nowhere"]);
    }
}
