//! Names of a model beside the names that the server adds: the schema is sound, or the model is refused.

use std::sync::Arc;

use async_graphql::parser::parse_schema;
use onehop::graphql::served::served_sdl;
use onehop::served::ServedModel;
use onehop_model::Model;

use super::server::ServedServer;

const FIELDS: [&str; 34] = [
    "thingId",
    "thing",
    "thingIds",
    "things",
    "thingConnection",
    "ownerId",
    "owner",
    "ifVersion",
    "idempotencyKey",
    "password",
    "currentPassword",
    "newPassword",
    "login",
    "version",
    "type",
    "deleted",
    "ttl",
    "node",
    "nodes",
    "edges",
    "pageInfo",
    "cursor",
    "totalCount",
    "deletedThingId",
    "first",
    "after",
    "last",
    "before",
    "input",
    "accessToken",
    "refreshToken",
    "expiresAt",
    "currencyCode",
    "e",
];
const TYPES: [&str; 22] = [
    "Nodes",
    "Edge",
    "Connection",
    "PageInfo",
    "Money",
    "MoneyInput",
    "Viewer",
    "Input",
    "Payload",
    "Create",
    "Session",
    "AccessToken",
    "RefreshToken",
    "ExpiresAt",
    "SignIn",
    "SignInInput",
    "Password",
    "ThingConnection",
    "ThingInput",
    "CreateThing",
    "CreateThingInput",
    "Upload",
];

/// Whether the model is served. Its schema is sound then.
fn is_served(text: &str) -> bool {
    let Ok(model) = Model::read("names.graphql", text) else { return false };
    let Ok(served) = ServedModel::new(model) else { return false };
    let sdl = served_sdl(&Arc::new(served)).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert!(parse_schema(&sdl).is_ok(), "{sdl}");
    true
}

fn model(thing: &str, field: &str, embedded: &str, root: &str) -> String {
    format!(
        r#"extend schema @model(name: "names") @container(name: "users", key: "/id") @container(name: "things", key: "/id")
type User @item(container: "users", write: [UPDATE, DELETE]) @account(login: "handle") @auth(on: [UPDATE, DELETE], allow: OWNER, owner: "id") {{
  id: ID!
  handle: String! @unique(normalize: USERNAME)
  {field}
}}
type {thing} @item(container: "things", write: [CREATE, UPDATE, DELETE]) {{
  id: ID!
  by: User! @reference @caller
  other: {thing} @reference
  box: Box!
  {field}
}}
type Box @embedded {{ size: Int! {embedded} }}
type Query {{ {root}: [{thing}!]! @find all: [{thing}!]! @find @page(connection: false) }}"#
    )
}

#[test]
fn no_name_of_a_model_breaks_the_schema() {
    let served = FIELDS.iter().map(|name| {
        let forms = [
            format!("{name}: Int"),
            format!("{name}: Thing @reference"),
            format!("{name}: [Thing!] @reference"),
            format!("{name}: Box"),
            format!("author: User @reference {name}: Int {name}Id: String {name}Ids: [String!]"),
        ];
        forms.iter().filter(|form| is_served(&model("Thing", form, "", "root"))).count()
            + usize::from(is_served(&model(
                "Thing",
                "",
                &format!("{name}: Int thing: Thing @reference"),
                "root",
            )))
            + usize::from(is_served(&model("Thing", "", "", name)))
    });
    assert!(served.sum::<usize>() > FIELDS.len() * 5, "most names are served");
    let served = TYPES.iter().filter(|name| is_served(&model(name, "", "", "root")));
    assert!(served.count() > TYPES.len() / 2, "most types are served");
}

#[test]
fn inputs_of_one_name_are_refused() {
    let refused = |text: &str| {
        let model = Model::read("names.graphql", text).unwrap_or_else(|errors| panic!("{errors}"));
        ServedModel::new(model).map(drop).unwrap_err().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let two = "owner: User @reference ownerId: String @stored(as: \"ownerNumber\") ifVersion: Int";
    let found = refused(&model(
        "Thing",
        two,
        "part: Thing @reference partId: Int @stored(as: \"partNumber\")",
        "nodes",
    ));
    for expected in [
        "Thing.ownerId: name has the input `ownerId`, as another field or the server has",
        "Thing.ifVersion: name has the input `ifVersion`, as another field or the server has",
        "Box.partId: name has the input `partId`, as another field or the server has",
        "Query.nodes: Query has a name that the server adds to the schema",
    ] {
        assert!(found.iter().any(|found| found == expected), "{expected}\n{found:#?}");
    }
}

/// Theaters whose number has the name of the input with their id, in containers that the server has, too.
const THEATERS: &str = r#"extend schema @model(name: "theaters") @container(name: "accounts", key: "/id") @container(name: "leases", key: "/theaterId")
type Theater @item(container: "accounts", write: [CREATE, UPDATE, DELETE]) @auth(on: [CREATE, UPDATE, DELETE], allow: PUBLIC) {
  id: ID!
  theaterId: Int!
  name: String!
  shows: [Show!]! @list(into: "leases", by: "theater", fields: "title") @order(by: "title")
}
type Show @item(container: "accounts", write: CREATE) @auth(on: CREATE, allow: PUBLIC) {
  id: ID!
  theater: Theater! @reference
  title: String!
}"#;

#[tokio::test]
async fn a_number_may_have_the_name_of_an_id_and_a_container_one_of_the_server() {
    let server = ServedServer::start(THEATERS).await;
    let create =
        "mutation { createTheater(input: {theaterId: 7, name: \"Globe\"}) { theater { id theaterId } } }";
    let created = server.data(None, create, serde_json::json!({})).await;
    let theater = &created["createTheater"]["theater"];
    assert_eq!(theater["theaterId"], 7);
    let variables = serde_json::json!({ "id": theater["id"] });
    let update =
        "mutation($id: ID!) { updateTheater(input: {id: $id, theaterId: 8}) { theater { theaterId name } } }";
    let updated = server.data(None, update, variables.clone()).await;
    assert_eq!(updated["updateTheater"]["theater"], serde_json::json!({ "theaterId": 8, "name": "Globe" }));
    let show =
        "mutation($id: ID!) { createShow(input: {theaterId: $id, title: \"Hamlet\"}) { show { id } } }";
    server.data(None, show, variables.clone()).await;
    server.settle().await;
    let shows = "query($id: ID!) { node(id: $id) { ... on Theater { shows { nodes { title } } } } }";
    let found = server.data(None, shows, variables.clone()).await;
    assert_eq!(found["node"]["shows"]["nodes"], serde_json::json!([{ "title": "Hamlet" }]));
    let delete = "mutation($id: ID!) { deleteTheater(input: {id: $id}) { deletedTheaterId } }";
    let deleted = server.data(None, delete, variables).await;
    assert_eq!(deleted["deleteTheater"]["deletedTheaterId"], theater["id"]);
}
