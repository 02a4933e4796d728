//! A changed model over data: additions are built beside the old and answered when they are complete;
//! changes that break clients or do not fit the data are refused before the data is touched.

use std::collections::HashSet;
use std::path::Path;

use onehop::accounts::password::HashingCost;
use onehop::app::{AcceptedChanges, AppOptions, RefusedChange, ServedApp};
use onehop::config::StoreChoice;
use onehop_store::embedded::{Durability, EmbeddedConfig};
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
