//! Computed values that items store: they follow copies, and change with the model.

use std::path::Path;

use onehop::accounts::password::HashingCost;
use onehop::app::{AcceptedChanges, AppOptions, ServedApp};
use onehop::config::StoreChoice;
use onehop_store::embedded::{Durability, EmbeddedConfig};
use serde_json::{Value, json};

use super::server::{Client, ServedServer, served_model};

const NOTES: &str = r#"
extend schema
  @model(name: "notes")
  @container(name: "authors", key: "/id")
  @container(name: "notes", key: "/id")
  @container(name: "lists", key: "/type")
  @container(name: "byName", key: "/name")

type Author @item(container: "authors", write: [CREATE, UPDATE]) @auth(on: [CREATE, UPDATE], allow: PUBLIC) {
  id: ID!
  name: String!
  weight: Float!
}

type Note @item(container: "notes", write: [CREATE, UPDATE]) @auth(on: [CREATE, UPDATE], allow: PUBLIC) {
  id: ID!
  number: Int!
  padded: String! @computed(by: PADDED, from: "number", length: 4)
  author: Author! @reference
  authorName: String @copy(from: "author.name")
  weight: Float @copy(from: "author.weight")
  name: String! @computed(by: LOWER, from: "authorName", stored: true)
  lines: [Line!]
  total: Float @computed(by: PRODUCT, from: ["weight", "number"], stored: true)
}

type Line @embedded {
  count: Int!
  twice: Int! @computed(by: PRODUCT, from: ["count", "count"])
}

type Query {
  note(id: ID!): Note
  all: [Note!]! @list(into: "lists", fields: ["total"]) @order(by: "name")
  named(name: String!): [Note!]! @list(into: "byName", by: "name", fields: ["number"]) @order(by: "number")
}
"#;

const CREATE_AUTHOR: &str =
    "mutation($input: CreateAuthorInput!) { createAuthor(input: $input) { author { id } } }";
const CREATE_NOTE: &str =
    "mutation($input: CreateNoteInput!) { createNote(input: $input) { note { id name } } }";

async fn create_author(client: &Client, name: &str) -> Value {
    let input = json!({ "input": { "name": name, "weight": 1.5 } });
    client.data(None, CREATE_AUTHOR, input).await["createAuthor"]["author"]["id"].take()
}

async fn create_note(client: &Client, author: &Value, number: u32) -> Value {
    let input = json!({ "input": { "authorId": author, "number": number, "lines": [{ "count": number }] } });
    client.data(None, CREATE_NOTE, input).await["createNote"]["note"]["id"].take()
}

#[tokio::test]
async fn stored_values_follow_the_copies_that_they_are_computed_from() {
    let server = ServedServer::start(NOTES).await;
    let author = create_author(&server, "ADA").await;
    let note = create_note(&server, &author, 2).await;
    let update = "mutation($input: UpdateAuthorInput!) { updateAuthor(input: $input) { author { name } } }";
    let input = json!({ "input": { "authorId": author, "name": "Bob", "weight": 3 } });
    server.data(None, update, input).await;
    server.settle().await;
    let read = "query($id: ID!) { note(id: $id) { name total } all { nodes { name total } }
        old: named(name: \"ada\") { nodes { number } } new: named(name: \"bob\") { nodes { number } } }";
    let found = server.data(None, read, json!({ "id": note })).await;
    let expected = json!({ "name": "bob", "total": 6.0 });
    assert_eq!(found["note"], expected);
    assert_eq!(found["all"]["nodes"], json!([expected]));
    assert_eq!((&found["old"]["nodes"], &found["new"]["nodes"]), (&json!([]), &json!([{ "number": 2 }])));
}

#[tokio::test]
async fn computed_texts_that_name_lists_fit_in_a_key() {
    let server = ServedServer::start(&NOTES.replace(
        "  authorName: String @copy(from: \"author.name\")",
        "  title: Title!\n  authorName: String @computed(by: SAME, from: \"title.text\", stored: true)",
    ).replace("from: \"authorName\", stored: true", "from: \"title.text\", stored: true").replace(
        "type Line @embedded",
        "type Title @embedded { text: String! }\n\ntype Line @embedded",
    ))
    .await;
    let author = create_author(&server, "ADA").await;
    let create =
        |title: String| json!({ "input": { "authorId": author, "number": 1, "title": { "text": title } } });
    for title in [String::new(), "x".repeat(3_000)] {
        let refused = server.refusal(None, CREATE_NOTE, create(title)).await;
        assert_eq!(refused, ("BAD_USER_INPUT".to_owned(), json!("title")));
    }
    server.data(None, CREATE_NOTE, create("Tea".to_owned())).await;
    server.settle().await;
    let found = server.data(None, "{ named(name: \"tea\") { nodes { number } } }", json!({})).await;
    assert_eq!(found["named"]["nodes"], json!([{ "number": 1 }]));
}

async fn open(path: &Path, text: &str) -> (ServedApp, Client) {
    let config =
        EmbeddedConfig { durability: Durability::Relaxed, cache_bytes: 1 << 20, ..EmbeddedConfig::new(path) };
    let options = AppOptions { hashing: HashingCost::CHEAP, ..AppOptions::default() };
    let choice = StoreChoice::Embedded(config);
    let app = ServedApp::open(served_model(text), &choice, AcceptedChanges::Breaking, options).await.unwrap();
    let client = Client::of(&app, Default::default()).await;
    (app, client)
}

/// The answer of a changed model over the data, once it is complete.
async fn built(path: &Path, text: &str, query: &str) -> Value {
    let (app, client) = open(path, text).await;
    app.build().await.unwrap();
    let answer = client.data(None, query, json!({})).await;
    assert!(app.verify(false).await.unwrap().is_clean());
    app.engine.close().await;
    answer
}

#[tokio::test]
async fn stored_values_change_with_the_model() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (app, client) = open(path, NOTES).await;
    let author = create_author(&client, "Ada").await;
    for number in [3, 20, 1] {
        create_note(&client, &author, number).await;
    }
    app.engine.processor.drain().await.unwrap();
    app.engine.close().await;
    drop((app, client));

    // A list stores the value that items computed when they were read.
    let listed = |length: u32| {
        let query = "type Query {\n  byNumber: [Note!]! @list(into: \"lists\", type: \"n\", fields: [\"padded\"]) @order(by: \"padded\")\n";
        NOTES.replace("type Query {\n", query).replace("length: 4", &format!("length: {length}"))
    };
    let read = "{ byNumber { nodes { padded } } }";
    let nodes =
        |texts: [&str; 3]| json!({ "byNumber": { "nodes": texts.map(|text| json!({ "padded": text })) } });
    assert_eq!(built(path, &listed(4), read).await, nodes(["0001", "0003", "0020"]));
    // Another function, and again the first one.
    assert_eq!(built(path, &listed(6), read).await, nodes(["000001", "000003", "000020"]));
    assert_eq!(built(path, &listed(4), read).await, nodes(["0001", "0003", "0020"]));

    // Stored by a query across partitions, and in objects.
    let stored = NOTES
        .replace("length: 4)", "length: 4, stored: true)")
        .replace("[\"count\", \"count\"])", "[\"count\", \"count\"], stored: true)")
        .replace(
            "  note(id: ID!): Note\n",
            "  note(id: ID!): Note\n  found: [Note!]! @find @order(by: \"padded\", desc: true)\n",
        );
    let read = "{ found { nodes { padded lines { twice } } } }";
    let node =
        |number: u32| json!({ "padded": format!("{number:04}"), "lines": [{ "twice": number * number }] });
    assert_eq!(
        built(path, &stored, read).await,
        json!({ "found": { "nodes": [node(20), node(3), node(1)] } })
    );

    // No longer stored: what items have of it is removed, and each read computes it.
    let unstored = NOTES.replace("length: 4)", "length: 5)").replace(
        "  note(id: ID!): Note\n",
        "  note(id: ID!): Note\n  found: [Note!]! @find @order(by: \"number\")\n",
    );
    let read = "{ found { nodes { padded lines { twice } } } }";
    let node =
        |number: u32| json!({ "padded": format!("{number:05}"), "lines": [{ "twice": number * number }] });
    assert_eq!(
        built(path, &unstored, read).await,
        json!({ "found": { "nodes": [node(1), node(3), node(20)] } })
    );

    // Items store a computed value with copies.
    let copied = NOTES
        .replace(
            "  weight: Float!\n}",
            "  weight: Float!\n  short: String! @computed(by: EXCERPT, from: \"name\", length: 40)\n}",
        )
        .replace(
            "  author: Author! @reference\n",
            "  author: Author! @reference @copy(fields: [\"short\"])\n",
        )
        .replace("fields: [\"total\"]", "fields: [\"total\", \"author\"]");
    let read = "{ all(first: 1) { nodes { author { short } } } }";
    assert_eq!(
        built(path, &copied, read).await,
        json!({ "all": { "nodes": [{ "author": { "short": "Ada" } }] } })
    );
}
