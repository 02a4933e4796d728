//! The schema as clients read it from the API itself.

use serde_json::{Value, json};

use crate::api::server::Server;

/// The introspection query of GraphiQL 5.
const GRAPHIQL: &str = include_str!("introspection/graphiql.graphql");
/// Everything that graphql-js can ask for, as tools such as Relay's do.
const EVERYTHING: &str = include_str!("introspection/everything.graphql");

fn types(schema: &Value) -> impl Iterator<Item = &Value> {
    let types = schema["__schema"]["types"].as_array().unwrap().iter();
    types.filter(|named| !named["name"].as_str().unwrap().starts_with("__"))
}

fn members<'a>(named: &'a Value, what: &str) -> impl Iterator<Item = &'a Value> {
    named[what].as_array().into_iter().flatten()
}

#[tokio::test]
async fn introspection_as_tools_send_it_is_within_the_limits() {
    let server = Server::start().await;
    for query in [GRAPHIQL, EVERYTHING] {
        let request = json!({ "query": query, "operationName": "IntrospectionQuery" });
        let answer = server.anonymous().send(request).await;
        assert_eq!((answer.status, answer.body.get("errors")), (200, None), "{query}");
        let schema = &answer.body["data"];
        assert_eq!(schema["__schema"]["queryType"]["name"], "Query");
        assert_eq!(schema["__schema"]["mutationType"]["name"], "Mutation");
        assert!(types(schema).any(|named| named["name"] == "Post"));
        assert_eq!(answer.body["extensions"]["requestCharge"], 0.0);
    }
}

#[tokio::test]
async fn everything_that_introspection_shows_is_described() {
    let server = Server::start().await;
    let schema = server.anonymous().data(EVERYTHING, json!({})).await;
    let mut looked_at = 0;
    let own = |named: &&Value| {
        !["ID", "String", "Int", "Float", "Boolean"].contains(&named["name"].as_str().unwrap())
    };
    for named in types(&schema).filter(own) {
        let mut shown = vec![named];
        for what in ["fields", "inputFields", "enumValues"] {
            shown.extend(members(named, what));
        }
        for field in members(named, "fields") {
            shown.extend(members(field, "args"));
        }
        looked_at += shown.len();
        for each in shown {
            let description = each["description"].as_str().unwrap_or_default();
            assert!(!description.is_empty(), "{} in {} has no description", each["name"], named["name"]);
        }
    }
    assert!(looked_at > 100, "{looked_at}");
}

#[tokio::test]
async fn every_type_that_is_referred_to_is_listed() {
    let server = Server::start().await;
    let schema = server.anonymous().data(EVERYTHING, json!({})).await;
    let known: Vec<&Value> = types(&schema).map(|named| &named["name"]).collect();
    for named in types(&schema) {
        let fields = members(named, "fields").chain(members(named, "inputFields"));
        for field in fields {
            let mut referred = &field["type"];
            while !referred["ofType"].is_null() {
                referred = &referred["ofType"];
            }
            assert!(known.contains(&&referred["name"]), "{}.{}", named["name"], field["name"]);
        }
    }
}
