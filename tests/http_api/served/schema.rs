//! The schema of a served model: beside the static schema of the blog, with odd descriptions, and of a large
//! model.

use std::collections::BTreeMap;

use async_graphql::parser::parse_schema;
use async_graphql::parser::types::{FieldDefinition, TypeKind, TypeSystemDefinition};
use onehop::cli::new;
use onehop::graphql::sdl;
use onehop::graphql::served::served_sdl;
use serde_json::{Value, json};

use super::server::{BIRDS, ServedServer, served_model};

/// The declared type and the arguments of each field of a type.
fn fields_of(sdl: &str, type_name: &str) -> BTreeMap<String, String> {
    let definitions = parse_schema(sdl).unwrap().definitions;
    let fields = definitions.into_iter().find_map(|definition| match definition {
        TypeSystemDefinition::Type(definition) if definition.node.name.node == type_name => {
            match definition.node.kind {
                TypeKind::Object(object) => Some(object.fields),
                _ => None,
            }
        }
        _ => None,
    });
    fields.expect(type_name).into_iter().map(|field| shown(&field.node)).collect()
}

fn shown(field: &FieldDefinition) -> (String, String) {
    let argument =
        |argument: &async_graphql::Positioned<async_graphql::parser::types::InputValueDefinition>| {
            let default = argument.node.default_value.as_ref().map(|value| format!(" = {}", value.node));
            format!("{}: {}{}", argument.node.name.node, argument.node.ty.node, default.unwrap_or_default())
        };
    let arguments: Vec<_> = field.arguments.iter().map(argument).collect();
    (field.name.node.to_string(), format!("({}): {}", arguments.join(", "), field.ty.node))
}

/// The model of the blog without its subscriptions, which are not served yet.
fn blog() -> String {
    let text = include_str!("../../../src/blog/model.graphql");
    let (start, _) = text.split_once("type Subscription").expect("the blog has subscriptions");
    start.to_owned()
}

#[test]
fn a_served_post_is_the_post_of_the_static_schema() {
    let served = fields_of(&served_sdl(&served_model(&blog())).unwrap(), "Post");
    let mut built_in = fields_of(&sdl(), "Post");
    // Rights of the viewer are written in Rust.
    for by_rust in ["viewerCanUpdate", "viewerCanDelete"] {
        assert!(built_in.remove(by_rust).is_some());
    }
    // A served connection is read from either end.
    let (start, range) =
        ("first: Int! = 20, after: String", "first: Int = 20, after: String, last: Int, before: String");
    let built_in = built_in.into_iter().map(|(name, shown)| (name, shown.replace(start, range)));
    assert_eq!(served, built_in.collect());
}

#[test]
fn descriptions_of_a_model_are_escaped() {
    let odd = r#"Says \"yes\", \\ and more: } type Evil { id: ID! }"#;
    let text = BIRDS.replace("Somebody who watches birds.", odd);
    let sdl = served_sdl(&served_model(&text)).unwrap();
    assert!(parse_schema(&sdl).is_ok(), "{sdl}");
    assert!(!fields_of(&sdl, "Observer").is_empty());
}

#[tokio::test]
async fn block_descriptions_with_quotes_do_not_break_the_server() {
    let odd = "\"\"\"\nIt \\\"\"\" ends\" with a \\\\\n\"\"\"";
    let server = ServedServer::start(&BIRDS.replace("\"Somebody who watches birds.\"", odd)).await;
    let query = "{ __type(name: \"Observer\") { description } }";
    let data = server.data(None, query, json!({})).await;
    assert_eq!(data["__type"]["description"], "It \\\"\"\" ends\" with a \\\\");
}

#[tokio::test]
async fn a_model_of_three_hundred_types_is_served() {
    let mut text =
        "extend schema @model(name: \"large\") @container(name: \"all\", key: \"/type\")\n".to_owned();
    for number in 0..300 {
        text.push_str(&format!(
            "type T{number} @item(container: \"all\", write: [CREATE, UPDATE, DELETE]) @auth(on: CREATE, allow: PUBLIC) \
             {{ id: ID! name: String! at: DateTime! @created }}\n"
        ));
    }
    let model = served_model(&text);
    assert_eq!(model.types().count(), 300);
    assert_eq!(served_sdl(&model).unwrap().matches("implements Node").count(), 300);
    let server = ServedServer::start(&text).await;
    let create = "mutation { createT299(input: { name: \"x\" }) { t299 { id name } } }";
    let data = server.data(None, create, json!({})).await;
    let id = data["createT299"]["t299"]["id"].clone();
    let found = server.data(None, "query($id: ID!) { t299(id: $id) { name } }", json!({ "id": id })).await;
    assert_eq!(found, json!({ "t299": { "name": "x" } }));
}

#[tokio::test]
async fn the_requests_of_a_new_model_run() {
    let server = ServedServer::start(&new::MODEL.replace("NAME", "club")).await;
    let requests = new::REQUESTS.replace("NAME", "club");
    let run = async |token: Option<&str>, operation: &str, variables: Value| {
        let mut response = server.operation(token, &requests, operation, variables).await;
        assert_eq!(response.get("errors"), None, "{operation}");
        response["data"].take()
    };
    let signed_up = run(None, "SignUp", json!({})).await;
    let token = signed_up["createMember"]["accessToken"].as_str();
    let book = run(token, "AddBook", json!({})).await["createBook"]["book"].take();
    assert_eq!(book["addedBy"], json!({ "name": "Ada" }));
    let review = run(token, "Review", json!({ "bookId": book["id"] })).await;
    assert_eq!(review["createReview"]["review"]["book"], json!({ "title": "Flatland", "reviewCount": 1 }));
    server.settle().await;
    let page = run(None, "BookPage", json!({ "id": book["id"] })).await;
    assert_eq!(page["book"]["reviews"]["nodes"][0]["member"], json!({ "name": "Ada" }));
    let newest = run(None, "Newest", json!({})).await;
    assert_eq!(newest["newestBooks"]["nodes"][0]["reviewCount"], 1);
    let changed = run(token, "Correct", json!({ "bookId": book["id"] })).await;
    assert_eq!(changed["updateBook"]["book"]["version"], 2);
}
