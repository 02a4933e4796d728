//! Stored forms of a model in its read models: properties below objects, arrays of references without copies,
//! and copies that no list finds.

use onehop_read_models::{ReadModels, container_specs};
use onehop_store::{ContainerName, key_text};
use serde_json::json;

use super::from_model::{Served, model, with};

const SHELVES: ContainerName = ContainerName("shelves");
const BOOKS: ContainerName = ContainerName("books");
const BOARD: ContainerName = ContainerName("board");
const BY_SHELF: ContainerName = ContainerName("byShelf");
const LIBRARY: &str = r#"
extend schema @model(name: "library")
  @container(name: "shelves", key: "/shelfId")
  @container(name: "books", key: "/bookId")
  @container(name: "board", key: "/type")
  @container(name: "byShelf", key: "/k")
type Shelf @item(container: "shelves", partition: "id", write: [CREATE, UPDATE]) @auth(on: [CREATE, UPDATE], allow: PUBLIC) {
  id: ID!
  label: String! @stored(as: "/sign/label")
  rare: [Book!]! @list(into: "byShelf", by: "shelves", fields: ["title"]) @where(field: "pages", atLeast: 500)
}
type Book @item(container: "books", partition: "id", write: [CREATE, UPDATE]) @auth(on: [CREATE, UPDATE], allow: PUBLIC) {
  id: ID!
  title: String! @stored(as: "/texts/title")
  pages: Int! @stored(as: "/numbers/pages")
  shelves: [Shelf!]! @reference COPIES
}
type Query {
  board: [Book!]! @list(into: "board", fields: ["title"]) @where(field: "pages", below: 900) @order(by: "pages", desc: true)
}
"#;

fn library(copies: &str) -> String {
    LIBRARY.replace("COPIES", copies)
}

fn book(shelves: &serde_json::Value) -> serde_json::Value {
    json!({
        "id": "b1", "type": "book", "bookId": "b1", "version": 1, "texts": { "title": "Flatland", "blurb": "…" },
        "numbers": { "pages": 600 }, "shelves": shelves,
    })
}

#[tokio::test]
async fn an_entry_has_properties_below_objects_and_an_order_by_them() {
    let library = Served::new(&model(&library(""))).await;
    let book = book(&json!(["s1", "s2"]));
    library.put(BOOKS, "b1", &book).await;
    library.assert_clean().await;
    let entry = json!({
        "id": "b1", "type": "book", "version": 1, "texts": { "title": "Flatland" }, "numbers": { "pages": 600 },
    });
    assert_eq!(library.find(BOARD, "book", "b1").await, Some(entry));
    // The condition is on a property below an object, too.
    library.put(BOOKS, "b1", &with(&book, json!({ "numbers": { "pages": 950 }, "version": 2 }))).await;
    library.assert_clean().await;
    assert_eq!(library.find(BOARD, "book", "b1").await, None);
}

#[tokio::test]
async fn an_array_of_ids_has_an_entry_for_each() {
    let library = Served::new(&model(&library(""))).await;
    library.put(BOOKS, "b1", &book(&json!(["s1", "s2"]))).await;
    library.assert_clean().await;
    for shelf in ["s1", "s2"] {
        let entry = library.find(BY_SHELF, shelf, "b1").await.expect("an entry");
        assert_eq!((&entry["k"], &entry["texts"]["title"]), (&json!(shelf), &json!("Flatland")));
    }
}

#[tokio::test]
async fn copies_follow_in_items_that_a_list_with_conditions_leaves_out() {
    let library = Served::new(&model(&library("@copy(fields: \"label\")"))).await;
    let shelf = |label: &str, version: u32| {
        json!({
            "id": "s1", "type": "shelf", "shelfId": "s1", "sign": { "label": label }, "version": version,
        })
    };
    library.put(SHELVES, "s1", &shelf("A", 1)).await;
    let thin = with(&book(&json!([{ "id": "s1", "label": "A" }])), json!({ "numbers": { "pages": 90 } }));
    library.put(BOOKS, "b1", &thin).await;
    library.assert_clean().await;
    assert_eq!(library.find(BY_SHELF, "s1", "b1").await, None);
    library.put(SHELVES, "s1", &shelf("B", 2)).await;
    library.assert_clean().await;
    let copied = library.find(BOOKS, "b1", "b1").await.expect("a book")["shelves"][0]["label"].clone();
    assert_eq!(copied, "B");
}

#[tokio::test]
async fn an_item_that_is_older_than_a_field_is_listed_by_its_default() {
    let text = library("").replace("pages: Int!", "shelf: Int! @default(value: 7)\n  pages: Int!");
    let by_shelf = "@list(into: \"byShelf\", by: \"shelf\", type: \"shelved\") @order(by: \"shelf\")";
    let text =
        text.replace("type Query {", &format!("type Query {{\n  shelved(shelf: Int!): [Book!]! {by_shelf}"));
    let library = Served::new(&model(&text)).await;
    library.put(BOOKS, "b1", &book(&json!([]))).await;
    library.assert_clean().await;
    let number = json!(7);
    let key = key_text(&number).expect("a value of a key");
    let entry = library.find(BY_SHELF, &key, "b1").await.expect("an entry");
    assert_eq!((&entry["k"], &entry["shelf"]), (&json!(7), &json!(7)));
}

#[test]
fn a_key_below_an_object_and_a_key_with_two_values_are_named() {
    let errors = |text: &str| -> Vec<String> {
        let model = model(text);
        let errors = ReadModels::from_model(&model).err().unwrap_or_default();
        let of_containers = container_specs(&model).err().unwrap_or_default();
        let mut texts: Vec<String> = errors.iter().chain(&of_containers).map(ToString::to_string).collect();
        texts.dedup();
        texts
    };
    assert_eq!(errors(&library("")), Vec::<String>::new());
    let nested = library("").replace("key: \"/bookId\"", "key: \"/numbers/pages\"");
    let nested =
        nested.replace("\"books\", partition: \"id\", write: [CREATE, UPDATE]", "\"books\", write: CREATE");
    let reason = "@stored: is at the root of the item or element, and `numbers/pages` is in an object";
    let found = errors(&nested);
    assert!(found.iter().any(|text| text.ends_with(&reason.replace("numbers", "/numbers"))), "{found:#?}");
    let clash = library("").replace("key: \"/k\"", "key: \"/bookId\"");
    let clash = clash
        .replace("by: \"shelves\", fields: [\"title\"]", "by: \"shelves\", fields: [\"title\", \"shelves\"]");
    assert_eq!(errors(&clash), Vec::<String>::new(), "an id as the key is no field of entries");
    let clash = library("")
        .replace("key: \"/k\"", "key: \"/texts\"")
        .replace("as: \"/texts/title\"", "as: \"texts\"");
    assert_eq!(
        errors(&clash),
        [
            "Shelf.rare: @list: the key `/texts` of its container is a property of the entries, too, with another value: give the container another key"
        ]
    );
}
