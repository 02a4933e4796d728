//! Tokens of an OpenID Connect provider for a model without accounts: who signs in, and by which claims.

use onehop_runtime::clock::Clock as _;
use serde_json::{Value, json};

use super::server::{Client, ServedServer};
use crate::api::provider::Provider;

const DOCS: &str = r#"
extend schema @model(name: "docs") @container(name: "docs", key: "/id")

type Doc @item(container: "docs", write: [CREATE, UPDATE, DELETE])
  @auth(on: UPDATE, claim: "roles", has: "editor") @auth(on: DELETE, claim: "realm_access.roles", has: "admin") {
  id: ID!
  title: String!
  salary: Int @auth(claim: "level", has: 3) @auth(on: UPDATE, claim: "roles", has: "editor")
}

type Query {
  doc(id: ID!): Doc
  docs: [Doc!]! @find @order(by: "title")
  mine: [Doc!]! @find @order(by: "title") @auth(allow: SIGNED_IN)
}

type Subscription { docChanged(id: ID!): Doc! @live(on: CHANGED) @auth(claim: "scope", has: "docs:follow") }
"#;
const CREATE: &str = "mutation($input: CreateDocInput!) { createDoc(input: $input) { doc { id } } }";
const UPDATE: &str = "mutation($input: UpdateDocInput!) { updateDoc(input: $input) { doc { title } } }";
const DELETE: &str = "mutation($input: DeleteDocInput!) { deleteDoc(input: $input) { deletedDocId } }";

fn token(server: &ServedServer, provider: &Provider, others: &Value) -> String {
    let now_s = server.clock.now_ms() / 1000;
    let mut claims = provider.claims("subject-1", "ada");
    (claims["iat"], claims["exp"]) = (json!(now_s), json!(now_s + 3600));
    for (name, value) in others.as_object().unwrap() {
        claims[name] = value.clone();
    }
    provider.token_with(&json!({ "alg": "EdDSA", "kid": "first" }), &claims)
}

#[tokio::test]
async fn claims_of_a_provider_grant_what_the_model_says() {
    let (server, provider) = (ServedServer::start(DOCS).await, Provider::start().await);
    let client = Client::with_provider(&server.app, &provider.issuer()).await;
    let plain = token(&server, &provider, &json!({}));
    let editor = token(&server, &provider, &json!({ "roles": ["reader", "editor"] }));
    let admin = token(&server, &provider, &json!({ "realm_access": { "roles": ["admin"] }, "level": 3 }));

    let input = json!({ "input": { "title": "Plan", "salary": 7 } });
    assert_eq!(client.refusal(None, CREATE, input.clone()).await.0, "UNAUTHENTICATED");
    let created = client.data(Some(&plain), CREATE, input).await;
    let id = created["createDoc"]["doc"]["id"].as_str().unwrap();

    let change = json!({ "input": { "docId": id, "title": "Plans" } });
    for token in [&plain, &admin] {
        assert_eq!(client.refusal(Some(token), UPDATE, change.clone()).await.0, "FORBIDDEN");
    }
    client.data(Some(&editor), UPDATE, change).await;

    let salary = "{ docs { nodes { title salary } } }";
    let seen = client.data(Some(&admin), salary, json!({})).await;
    assert_eq!(seen["docs"]["nodes"], json!([{ "title": "Plans", "salary": 7 }]));
    for token in [None, Some(&plain), Some(&editor)] {
        let response = client.send(token.map(String::as_str), salary, json!({})).await;
        assert_eq!(response["data"]["docs"]["nodes"][0]["salary"], Value::Null, "{response}");
    }
    assert_eq!(client.refusal(None, "{ mine { nodes { id } } }", json!({})).await.0, "UNAUTHENTICATED");
    client.data(Some(&plain), "{ mine { nodes { id } } }", json!({})).await;

    let delete = json!({ "input": { "docId": id } });
    assert_eq!(client.refusal(Some(&editor), DELETE, delete.clone()).await.0, "FORBIDDEN");
    client.data(Some(&admin), DELETE, delete).await;
}

#[tokio::test]
async fn a_token_without_the_provider_is_refused() {
    let (server, provider) = (ServedServer::start(DOCS).await, Provider::start().await);
    let editor = token(&server, &provider, &json!({ "roles": "editor" }));
    assert_eq!(
        server.refusal(Some(&editor), "{ docs { nodes { id } } }", json!({})).await.0,
        "UNAUTHENTICATED"
    );
    let client = Client::with_provider(&server.app, &provider.issuer()).await;
    let stranger = Provider::start().await;
    let forged = token(&server, &stranger, &json!({ "iss": provider.issuer(), "roles": "editor" }));
    assert_eq!(
        client.refusal(Some(&forged), "{ docs { nodes { id } } }", json!({})).await.0,
        "UNAUTHENTICATED"
    );
}
