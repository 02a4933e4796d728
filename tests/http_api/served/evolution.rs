//! A changed model over data: additions are built beside the old and answered when they are complete;
//! changes that break clients or do not fit the data are refused before the data is touched.

use std::collections::HashSet;
use std::path::Path;

use onehop::accounts::password::HashingCost;
use onehop::app::{AcceptedChanges, AppOptions, RefusedChange, ServedApp};
use onehop::config::StoreChoice;
use onehop::served::ItemPlace;
use onehop_store::embedded::{Durability, EmbeddedConfig};
use onehop_store::{Ledger, NewItem, WriteOp};
use serde_json::{Value, json};

use super::server::{Client, PASSWORD, served_model};

const OLD: &str = r#"
extend schema
  @model(name: "club")
  @container(name: "members", key: "/id")
  @container(name: "books", key: "/bookId")
  @container(name: "lists", key: "/type")

type Member @item(container: "members", write: UPDATE) @account(login: "name") @auth(on: UPDATE, allow: OWNER, owner: "id") {
  id: ID!
  name: String! @unique
}
type Book @item(container: "books", partition: "id", write: [CREATE, UPDATE, DELETE]) {
  id: ID!
  title: String! @length(max: 100)
  pages: Int!
  addedBy: Member! @reference @caller
  reviews: [Review!]! @partition(by: "book") @order(by: "at")
  at: DateTime! @created
}
type Review @item(container: "books", partition: "book", write: CREATE) {
  id: ID!
  book: Book! @reference
  stars: Int!
  at: DateTime! @created
}
type Query {
  viewer: Member @caller
  book(id: ID!): Book
  newest: [Book!]! @list(into: "lists", fields: ["title"]) @order(by: "at", desc: true)
}
"#;

/// The old model with a list in another order, a count, a copy, an optional field and a query across
/// partitions.
fn additions() -> String {
    OLD.replace(
        "newest:",
        "longest: [Book!]! @list(into: \"lists\", type: \"longBook\", fields: [\"title\", \"reviewCount\"]) \
         @order(by: \"pages\", desc: true) @order(by: \"title\")\n  \
         all: [Book!]! @find @order(by: \"title\")\n  newest:",
    )
    .replace(
        "addedBy: Member! @reference @caller",
        "addedBy: Member! @reference @caller @copy(fields: [\"name\"])",
    )
    .replace("pages: Int!", "pages: Int!\n  subtitle: String\n  reviewCount: Int! @count(of: \"reviews\")")
}

fn choice(path: &Path) -> StoreChoice {
    let config =
        EmbeddedConfig { durability: Durability::Relaxed, cache_bytes: 1 << 20, ..EmbeddedConfig::new(path) };
    StoreChoice::Embedded(config)
}

/// A model whose next version renames properties of values, references, counts and objects.
const SHELF: &str = r#"
extend schema
  @model(name: "shelf")
  @container(name: "members", key: "/id")
  @container(name: "books", key: "/bookId")
  @container(name: "lists", key: "/type")

type Member @item(container: "members", write: UPDATE) @account(login: "name") @auth(on: UPDATE, allow: OWNER, owner: "id") {
  id: ID!
  name: String! @unique
}
type Book @item(container: "books", partition: "id", write: [CREATE, UPDATE, DELETE]) {
  id: ID!
  title: String! @stored(as: "name")
  isbn: String! @unique @stored(as: "number")
  pages: Int! @stored(as: "/size/pages")
  addedBy: Member! @reference @caller @copy(fields: ["name"]) @stored(as: "creatorId")
  reviews: [Review!]! @partition(by: "book")
  reviewCount: Int! @count(of: "reviews") @stored(as: "count")
  editions: [Edition!]! @stored(as: "printings")
  at: DateTime! @created
}
type Edition @embedded {
  year: Int! @stored(as: "y")
  cover: Cover
}
type Cover @embedded { colour: String! @stored(as: "c") }
type Review @item(container: "books", partition: "book", write: CREATE) {
  id: ID!
  book: Book! @reference
  stars: Int!
}
type Query {
  viewer: Member @caller
  book(id: ID!): Book
  newest: [Book!]! @list(into: "lists", fields: ["title", "reviewCount"]) @order(by: "at", desc: true)
  longest: [Book!]! @find @order(by: "pages", desc: true)
  long: [Book!]! @find @where(field: "pages", atLeast: 200)
}
"#;

/// The next version: all properties have names of their own.
fn renamed_shelf() -> String {
    SHELF
        .replace("@stored(as: \"name\")", "@stored(former: [\"name\", \"label\", \"type\"])")
        .replace("@stored(as: \"number\")", "@stored(as: \"/codes/isbn\", former: \"number\")")
        .replace("@stored(as: \"/size/pages\")", "@stored(as: \"length\", former: \"/size/pages\")")
        .replace("@stored(as: \"creatorId\")", "@stored(former: \"creatorId\")")
        .replace("@stored(as: \"count\")", "@stored(former: \"count\")")
        .replace("@stored(as: \"printings\")", "@stored(former: \"printings\")")
        .replace("@stored(as: \"y\")", "@stored(former: \"y\")")
        .replace("@stored(as: \"c\")", "@stored(former: \"c\")")
}

async fn open(path: &Path, text: &str, accepted: AcceptedChanges) -> anyhow::Result<ServedApp> {
    let options = AppOptions { hashing: HashingCost::CHEAP, ..AppOptions::default() };
    ServedApp::open(served_model(text), &choice(path), accepted, options).await
}

async fn opened(path: &Path, text: &str) -> (ServedApp, Client) {
    let app = open(path, text, AcceptedChanges::Compatible).await.unwrap();
    let client = Client::of(&app, HashSet::new()).await;
    (app, client)
}

/// The effects for which a model is refused.
async fn refused(path: &Path, text: &str, accepted: AcceptedChanges) -> Vec<String> {
    let error = open(path, text, accepted).await.map(drop).expect_err("it is refused");
    match error.downcast::<RefusedChange>().unwrap() {
        RefusedChange::Refused { refused } => {
            refused.iter().map(|effect| format!("{} {}", effect.severity, effect.place)).collect()
        }
        RefusedChange::OtherModel { stored, wanted } => vec![format!("{stored} {wanted}")],
    }
}

/// Three books with their reviews: 2, 1 and 0.
async fn fill(client: &Client) -> String {
    let input = json!({ "input": { "name": "Ada", "password": PASSWORD } });
    let sign_up = "mutation($input: CreateMemberInput!) { createMember(input: $input) { accessToken } }";
    let token = client.data(None, sign_up, input).await["createMember"]["accessToken"].take();
    let token = token.as_str().unwrap().to_owned();
    for (title, pages, reviews) in [("A", 100, 2), ("B", 300, 1), ("C", 100, 0)] {
        let create = "mutation($input: CreateBookInput!) { createBook(input: $input) { book { id } } }";
        let input = json!({ "input": { "title": title, "pages": pages } });
        let book = client.data(Some(&token), create, input).await["createBook"]["book"]["id"].take();
        for stars in 0..reviews {
            let create =
                "mutation($input: CreateReviewInput!) { createReview(input: $input) { review { id } } }";
            client.data(Some(&token), create, json!({ "input": { "bookId": book, "stars": stars } })).await;
        }
    }
    token
}

#[tokio::test]
async fn additions_are_answered_when_they_are_complete() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (app, client) = opened(path, OLD).await;
    let token = fill(&client).await;
    app.engine.processor.drain().await.unwrap();
    app.engine.close().await;
    drop((app, client));

    let new = additions();
    let longest = "{ longest { nodes { title subtitle reviewCount addedBy { name } } } }";
    // The process ends before it has built anything, and the next one goes on.
    for _ in 0..2 {
        let (app, client) = opened(path, &new).await;
        let fields = app.in_building.names();
        assert_eq!(fields, ["Book.addedBy", "Book.reviewCount", "Query.longest"]);
        assert_eq!(client.refusal(None, longest, json!({})).await.0, "UNAVAILABLE");
        let present = client
            .data(None, "{ newest { nodes { title } } all { nodes { title pages } } }", json!({}))
            .await;
        assert_eq!(present["newest"]["nodes"], json!([{ "title": "C" }, { "title": "B" }, { "title": "A" }]));
        assert_eq!(present["all"]["nodes"][2], json!({ "title": "C", "pages": 100 }));
        app.engine.close().await;
    }
    let (app, client) = opened(path, &new).await;
    // A write while the read models are being built.
    let books = client.data(None, "{ newest { nodes { id } } }", json!({})).await["newest"]["nodes"].take();
    let create = "mutation($input: CreateReviewInput!) { createReview(input: $input) { review { id } } }";
    client.data(Some(&token), create, json!({ "input": { "bookId": books[0]["id"], "stars": 5 } })).await;
    app.build().await.unwrap();
    assert!(app.in_building.is_empty());
    let found = client.data(None, longest, json!({})).await;
    let node = |title: &str, reviews: u32| json!({ "title": title, "subtitle": null, "reviewCount": reviews, "addedBy": { "name": "Ada" } });
    assert_eq!(found["longest"]["nodes"], json!([node("B", 1), node("A", 2), node("C", 1)]));
    assert!(app.verify(false).await.unwrap().is_clean());
    app.engine.close().await;
    drop((app, client));
    let (app, _client) = opened(path, &new).await;
    assert!(app.in_building.is_empty(), "they stay complete");
}

#[tokio::test]
async fn changes_that_data_or_clients_do_not_fit_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (app, client) = opened(path, OLD).await;
    fill(&client).await;
    app.engine.close().await;
    drop((app, client));

    let needed =
        OLD.replace("pages: Int!", "pages: Int!\n  isbn: String!").replace("stars: Int!", "stars: String!");
    for accepted in [AcceptedChanges::Compatible, AcceptedChanges::Breaking] {
        let mut found = refused(path, &needed, accepted).await;
        found.retain(|effect| effect.starts_with("refused"));
        assert_eq!(found, ["refused Book.isbn", "refused Review.stars"]);
    }
    let other = OLD.replace("\"club\"", "\"library\"");
    assert_eq!(refused(path, &other, AcceptedChanges::Breaking).await, ["club library"]);
    let removed = OLD.replace("  pages: Int!\n", "");
    assert_eq!(refused(path, &removed, AcceptedChanges::Compatible).await, ["breaking Book.pages"]);

    let (app, client) = opened(path, OLD).await;
    app.engine.processor.drain().await.unwrap();
    assert!(app.in_building.is_empty());
    let books = client.data(None, "{ newest { nodes { title pages } } }", json!({})).await;
    assert_eq!(books["newest"]["nodes"].as_array().map(Vec::len), Some(3), "nothing was changed");
    app.engine.close().await;
    drop((app, client));
    let app = open(path, &removed, AcceptedChanges::Breaking).await.unwrap();
    let client = Client::of(&app, HashSet::new()).await;
    let books: Value = client.data(None, "{ newest { nodes { title } } }", json!({})).await;
    assert_eq!(books["newest"]["nodes"].as_array().map(Vec::len), Some(3));
}

/// A book of the shelf.
async fn add_book(client: &Client, token: &str, number: u32) -> Value {
    let create = "mutation($input: CreateBookInput!) { createBook(input: $input) { book { id } } }";
    let editions =
        json!([{ "year": 1900 + number, "cover": { "colour": "red" } }, { "year": 2000 + number }]);
    let input = json!({
        "title": format!("Book {number}"), "isbn": format!("isbn-{number}"), "pages": 100 * number, "editions": editions,
    });
    client.data(Some(token), create, json!({ "input": input })).await["createBook"]["book"]["id"].take()
}

async fn sign_up(client: &Client) -> String {
    let input = json!({ "input": { "name": "Ada", "password": PASSWORD } });
    let sign_up = "mutation($input: CreateMemberInput!) { createMember(input: $input) { accessToken } }";
    let token = client.data(None, sign_up, input).await["createMember"]["accessToken"].take();
    token.as_str().unwrap().to_owned()
}

/// The stored books, without the properties that a new model renames not.
async fn stored_books(app: &ServedApp, ids: &[Value]) -> Vec<Value> {
    let mut books = Vec::new();
    for id in ids {
        let place = ItemPlace::decode(&app.model, id.as_str().unwrap()).unwrap();
        let container = app.model.ty(place.ty).container;
        let found = app.engine.recent.read(container, &place.partition, &place.id, &Ledger::new()).await;
        let mut book: Value = found.unwrap().unwrap().decode().unwrap();
        let body = book.as_object_mut().unwrap();
        for property in ["id", "type", "bookId", "at", "causedBy", "addedById", "creatorId"] {
            body.remove(property);
        }
        books.push(book);
    }
    books
}

#[tokio::test]
async fn values_move_to_renamed_properties() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (app, client) = opened(path, SHELF).await;
    let token = sign_up(&client).await;
    let mut ids = Vec::new();
    for number in 1..=3 {
        ids.push(add_book(&client, &token, number).await);
    }
    let review = "mutation($input: CreateReviewInput!) { createReview(input: $input) { review { id } } }";
    client.data(Some(&token), review, json!({ "input": { "bookId": ids[0], "stars": 5 } })).await;
    app.engine.processor.drain().await.unwrap();
    let all = "{ newest { nodes { title reviewCount } } longest { nodes { title isbn pages reviewCount \
               addedBy { name } editions { year cover { colour } } } } long { nodes { title } } }";
    let before = client.data(None, all, json!({})).await;
    assert_eq!(
        before["longest"]["nodes"][0]["editions"][0],
        json!({ "year": 1903, "cover": { "colour": "red" } })
    );
    app.engine.close().await;
    drop((app, client));

    let without_former = SHELF.replace("@stored(as: \"name\")", "");
    assert_eq!(refused(path, &without_former, AcceptedChanges::Breaking).await, ["refused Book.title"]);

    let (app, client) = opened(path, &renamed_shelf()).await;
    let fields = app.in_building.names();
    assert_eq!(
        fields,
        [
            "Book.addedBy",
            "Book.editions",
            "Book.isbn",
            "Book.pages",
            "Book.reviewCount",
            "Book.title",
            "Cover.colour",
            "Edition.year",
            "Query.long",
            "Query.longest",
        ]
    );
    let longest = "{ longest { nodes { at } } }";
    assert_eq!(client.refusal(None, longest, json!({})).await.0, "UNAVAILABLE");
    // Writes while the values move: of one value of an item, and of an item that refers to it.
    let update = "mutation($input: UpdateBookInput!) { updateBook(input: $input) { book { id } } }";
    client.data(Some(&token), update, json!({ "input": { "bookId": ids[1], "pages": 150 } })).await;
    client.data(Some(&token), review, json!({ "input": { "bookId": ids[1], "stars": 4 } })).await;
    let taken = json!({ "input": { "title": "Twice", "isbn": "isbn-3", "pages": 1, "editions": [] } });
    let create = "mutation($input: CreateBookInput!) { createBook(input: $input) { book { id } } }";
    assert_eq!(client.refusal(Some(&token), create, taken).await.0, "CONFLICT");
    app.build().await.unwrap();
    assert!(app.in_building.is_empty());

    let mut expected = before;
    expected["longest"]["nodes"][1]["pages"] = json!(150);
    expected["longest"]["nodes"][1]["reviewCount"] = json!(1);
    expected["newest"]["nodes"][1]["reviewCount"] = json!(1);
    expected["long"]["nodes"] = json!([{ "title": "Book 3" }]);
    assert_eq!(client.data(None, all, json!({})).await, expected);
    let book = |number: u32, pages: u32, reviews: u32, version: u32| {
        let first = json!({ "year": 1900 + number, "cover": { "colour": "red" } });
        json!({
            "title": format!("Book {number}"), "codes": { "isbn": format!("isbn-{number}") }, "length": pages,
            "editions": [first, { "year": 2000 + number }], "addedByName": "Ada", "reviewCount": reviews,
            "version": version,
        })
    };
    let stored = stored_books(&app, &ids).await;
    assert_eq!(stored, [book(1, 100, 1, 3), book(2, 150, 1, 3), book(3, 300, 0, 2)]);
    assert!(app.verify(false).await.unwrap().is_clean());

    // A process with the older model goes on for a while.
    let place = ItemPlace::decode(&app.model, ids[2].as_str().unwrap()).unwrap();
    let container = app.model.ty(place.ty).container;
    let mut book = app
        .model
        .decoded(
            place.ty,
            &app.engine
                .recent
                .read(container, &place.partition, &place.id, &Ledger::new())
                .await
                .unwrap()
                .unwrap(),
        )
        .unwrap();
    book.insert("name".to_owned(), json!("Renamed by it"));
    book.insert("version".to_owned(), json!(3));
    let upsert = WriteOp::Upsert(NewItem::encode(place.id.clone(), &book));
    app.engine.recent.write(container, &place.partition, upsert, &Ledger::new()).await.unwrap();
    app.engine.processor.drain().await.unwrap();
    let found = client.data(None, "{ newest { nodes { title } } }", json!({})).await;
    assert_eq!(found["newest"]["nodes"][0]["title"], "Renamed by it");
    assert!(app.verify(false).await.unwrap().is_clean());
}

/// Books with a shelf and a rank, as far as items have them.
fn ranked(rank: u32, shelf: &str) -> String {
    OLD.replace(
        "pages: Int!",
        &format!(
            "pages: Int!\n  rank: Int! @default(value: {rank})\n  shelf: String! @default(value: \"{shelf}\")"
        ),
    )
    .replace("@container(name: \"lists\"", "@container(name: \"shelves\", key: \"/shelf\")\n  @container(name: \"lists\"")
    .replace(
        "newest:",
        "ranked: [Book!]! @list(into: \"lists\", type: \"ranked\", fields: [\"title\"]) @order(by: \"rank\") @order(by: \"title\")
  low: [Book!]! @list(into: \"lists\", type: \"low\", fields: [\"title\"]) @where(field: \"rank\", below: 3) @order(by: \"title\")
  shelf(shelf: String!): [Book!]! @list(into: \"shelves\", by: \"shelf\", fields: [\"title\"]) @order(by: \"title\")
  newest:",
    )
}

#[tokio::test]
async fn another_default_is_in_the_lists_of_older_items() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (app, client) = opened(path, OLD).await;
    let token = fill(&client).await;
    app.engine.close().await;
    drop((app, client));
    let read = "{ ranked { nodes { title rank } } low { nodes { title } }
        a: shelf(shelf: \"a\") { nodes { title } } b: shelf(shelf: \"b\") { nodes { title } } }";
    let titles = |list: &[&str]| json!({ "nodes": list.iter().map(|title| json!({ "title": title })).collect::<Vec<_>>() });
    let ranks = |list: &[(&str, u32)]| {
        let node = |(title, rank): &(&str, u32)| json!({ "title": title, "rank": rank });
        json!({ "nodes": list.iter().map(node).collect::<Vec<_>>() })
    };

    let (app, client) = opened(path, &ranked(0, "a")).await;
    app.build().await.unwrap();
    let create = "mutation($input: CreateBookInput!) { createBook(input: $input) { book { rank } } }";
    let input = json!({ "input": { "title": "D", "pages": 9, "rank": 2, "shelf": "b" } });
    client.data(Some(&token), create, input).await;
    app.engine.processor.drain().await.unwrap();
    let found = client.data(None, read, json!({})).await;
    assert_eq!(found["ranked"], ranks(&[("A", 0), ("B", 0), ("C", 0), ("D", 2)]));
    assert_eq!((&found["a"], &found["b"]), (&titles(&["A", "B", "C"]), &titles(&["D"])));
    app.engine.close().await;
    drop((app, client));

    let (app, client) = opened(path, &ranked(5, "b")).await;
    assert_eq!(app.in_building.names(), ["Query.low", "Query.ranked", "Query.shelf"]);
    app.build().await.unwrap();
    let found = client.data(None, read, json!({})).await;
    assert_eq!(found["ranked"], ranks(&[("D", 2), ("A", 5), ("B", 5), ("C", 5)]));
    assert_eq!(found["low"], titles(&["D"]));
    assert_eq!((&found["a"], &found["b"]), (&titles(&[]), &titles(&["A", "B", "C", "D"])));
    assert!(app.verify(false).await.unwrap().is_clean());
    app.engine.close().await;
}
