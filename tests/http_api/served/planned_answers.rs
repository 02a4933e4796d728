//! Answers of a served model by plans, over HTTP: entity tags follow the writes, registered documents are
//! answered, and the charge and the state of a position are as in the answers of the general executor.

use reqwest::StatusCode;
use reqwest::header::{ETAG, IF_NONE_MATCH};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::server::ServedServer;

const LEAGUE: &str = include_str!("models/league.graphql");
/// A query with a plan, and one of the same reads that only the general executor answers.
const PLANNED: &str = "query($id: ID!) { club(id: $id) { name } }";
const UNPLANNED: &str = "query($id: ID!) { club(id: $id) { name } __schema { queryType { name } } }";

async fn club(server: &ServedServer, name: &str) -> String {
    let query = "mutation($input: CreateClubInput!) { createClub(input: $input) { club { id } } }";
    let data = server.data(None, query, json!({ "input": { "name": name } })).await;
    data["createClub"]["club"]["id"].as_str().unwrap().to_owned()
}

async fn get(server: &ServedServer, parameters: &[(&str, String)], tag: Option<&str>) -> reqwest::Response {
    let address = format!("http://{}/graphql", server.address());
    let url = reqwest::Url::parse_with_params(&address, parameters).unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = http.get(url);
    let request = tag.into_iter().fold(request, |request, tag| request.header(IF_NONE_MATCH, tag));
    request.send().await.unwrap()
}

fn tag_of(response: &reqwest::Response) -> String {
    response.headers()[ETAG].to_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_entity_tag_of_a_plan_follows_its_reads() {
    let server = ServedServer::start(LEAGUE).await;
    if server.app.engine.store.write_marks().is_none() {
        return;
    }
    let (id, other) = (club(&server, "Turm").await, club(&server, "Springer").await);
    let of = |id: &str| [("query", PLANNED.to_owned()), ("variables", json!({ "id": id }).to_string())];
    let (first, second) = (get(&server, &of(&id), None).await, get(&server, &of(&id), None).await);
    let tag = tag_of(&first);
    assert_eq!((first.status(), &tag), (StatusCode::OK, &tag_of(&second)));
    let tag_of_other = tag_of(&get(&server, &of(&other), None).await);
    assert_eq!(get(&server, &of(&id), Some(&tag)).await.status(), StatusCode::NOT_MODIFIED);
    let query = "mutation($input: UpdateClubInput!) { updateClub(input: $input) { club { name } } }";
    server.data(None, query, json!({ "input": { "clubId": id, "name": "Dame" } })).await;
    let changed = get(&server, &of(&id), Some(&tag)).await;
    assert_eq!(changed.status(), StatusCode::OK);
    assert!(changed.text().await.unwrap().contains("Dame"));
    let unchanged = get(&server, &of(&other), Some(&tag_of_other)).await;
    assert_eq!(unchanged.status(), StatusCode::NOT_MODIFIED);
}

#[tokio::test]
async fn a_registered_document_has_a_plan() {
    let server = ServedServer::start(LEAGUE).await;
    let id = club(&server, "Turm").await;
    let hash: String = Sha256::digest(PLANNED).iter().map(|byte| format!("{byte:02x}")).collect();
    let extensions = json!({ "persistedQuery": { "version": 1, "sha256Hash": hash } }).to_string();
    let variables = json!({ "id": id }).to_string();
    server.data(None, PLANNED, json!({ "id": id })).await;
    let by_text =
        [("query", PLANNED.to_owned()), ("variables", variables.clone()), ("extensions", extensions.clone())];
    let by_hash = [("variables", variables), ("extensions", extensions)];
    for parameters in [&by_text[..], &by_hash[..]] {
        let answer = get(&server, parameters, None).await.text().await.unwrap();
        assert!(answer.starts_with(r#"{"data":{"club":{"name":"Turm"}}"#), "{answer}");
    }
}

#[tokio::test]
async fn a_plan_states_charge_and_position_as_the_executor_does() {
    let server = ServedServer::start(LEAGUE).await;
    let query = "mutation($input: CreateClubInput!) { createClub(input: $input) { club { id } } }";
    let created = server.send(None, query, json!({ "input": { "name": "Turm" } })).await;
    let (id, position) = (&created["data"]["createClub"]["club"]["id"], &created["extensions"]["position"]);
    server.settle().await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let ask = async |query: &str| -> Value {
        let extensions = json!({ "position": position, "operations": true });
        let body = json!({ "query": query, "variables": { "id": id }, "extensions": extensions });
        let request = http.post(format!("http://{}/graphql", server.address())).json(&body);
        request.send().await.unwrap().json::<Value>().await.unwrap()["extensions"].take()
    };
    let (by_plan, by_executor) = (ask(PLANNED).await, ask(UNPLANNED).await);
    assert_eq!(by_plan, by_executor);
    assert_eq!(by_plan["reached"], true, "{by_plan}");
    assert!(by_plan["requestCharge"].as_f64() >= Some(1.0), "{by_plan}");
}
