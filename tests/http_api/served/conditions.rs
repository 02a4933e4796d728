//! Conditions of mutations.

use serde_json::json;

use super::server::ServedServer;

/// Numbers are compared by their value: a `Float` may be stored as 5.0.
#[tokio::test]
async fn a_condition_of_a_mutation_compares_numbers_by_value() {
    let model = r#"
extend schema @model(name: "games") @container(name: "games", key: "/gameId")
type Game @item(container: "games", partition: "id", write: CREATE) @auth(on: CREATE, allow: PUBLIC) {
  id: ID!
  score: Float!
  won: Boolean! @default(value: false)
}
type Mutation {
  win: Game @writes(action: UPDATE, fields: ["won"]) @where(field: "score", is: 5) @auth(allow: PUBLIC)
}
"#;
    let server = ServedServer::start(model).await;
    let create = "mutation($i: CreateGameInput!) { createGame(input: $i) { game { id } } }";
    let win = "mutation($i: WinInput!) { win(input: $i) { game { won } } }";
    for (score, code) in [(5.0, None), (5.5, Some("CONFLICT"))] {
        let created = server.data(None, create, json!({ "i": { "score": score } })).await;
        let input = json!({ "i": { "gameId": created["createGame"]["game"]["id"], "won": true } });
        let answer = server.send(None, win, input).await;
        assert_eq!(answer["errors"][0]["extensions"]["code"].as_str(), code, "{answer}");
    }
}
