//! Generated mutations of a served model: checks, defaults, counts, versions, uniqueness, conditions and
//! deletion.

use serde_json::json;

use super::server::{BIRDS, ServedServer, site};

const CREATE_SITE: &str =
    "mutation($input: CreateSiteInput!) { createSite(input: $input) { site { id name } } }";
const SITE: &str = "query($id: ID!) { site(id: $id) { name habitat code isClosed revision createdAt changedAt
    sightingCount followerCount location { latitude longitude } hides { label seats } warden { name } } }";
const UPDATE_SITE: &str =
    "mutation($input: UpdateSiteInput!) { updateSite(input: $input) { site { name revision changedAt } } }";
const FOLLOW: &str = "mutation($input: CreateFollowInput!) { createFollow(input: $input) { follow { id site { followerCount } } } }";
const UNFOLLOW: &str =
    "mutation($input: DeleteFollowInput!) { deleteFollow(input: $input) { deletedFollowId } }";

#[tokio::test]
async fn a_created_item_has_its_defaults_counts_and_copies() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let id = server.create_site(&token, "Mere").await;
    let mut data = server.data(None, SITE, json!({ "id": id })).await;
    assert!(data["site"]["createdAt"].take().as_str().unwrap().starts_with("2027-"));
    let expected = json!({
        "name": "Mere", "habitat": "WOODLAND", "code": "AB-123", "isClosed": false, "revision": 1,
        "createdAt": null, "changedAt": null, "sightingCount": 0, "followerCount": 0,
        "location": { "latitude": 51.5, "longitude": -2.25 }, "hides": [{ "label": "North", "seats": 4 }],
        "warden": { "name": "Ada" },
    });
    assert_eq!(data["site"], expected);
}

#[tokio::test]
async fn all_invalid_fields_of_an_input_come_at_once() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let input = json!({
        "name": "", "code": "x", "location": { "latitude": 91, "longitude": 2 },
        "hides": [{ "label": "North", "seats": 3 }, { "label": "", "seats": 0 }],
    });
    let response = server.send(Some(&token), CREATE_SITE, json!({ "input": input })).await;
    let fields = response["errors"][0]["extensions"]["fields"].as_array().unwrap().clone();
    let paths: Vec<_> = fields.iter().map(|field| field["path"].clone()).collect();
    let expected = [
        json!(["name"]),
        json!(["code"]),
        json!(["location", "latitude"]),
        json!(["hides", 1, "label"]),
        json!(["hides", 1, "seats"]),
    ];
    assert_eq!(paths, expected);
    assert_eq!(fields[2]["message"], "latitude must be -90 to 90, is 91");
}

#[tokio::test]
async fn a_unique_value_belongs_to_one_item_until_it_is_left() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let id = server.create_site(&token, "Mere").await;
    let token = Some(token.as_str());
    let taken = server.refusal(token, CREATE_SITE, json!({ "input": site("MERE") })).await;
    assert_eq!(taken, ("CONFLICT".to_owned(), json!("name")));
    server.data(token, UPDATE_SITE, json!({ "input": { "siteId": id, "name": "Fen" } })).await;
    server.data(token, CREATE_SITE, json!({ "input": site("mere") })).await;
    let found = server
        .data(
            None,
            "{ a: siteByName(name: \"FEN\") { id } b: siteByName(name: \"Mere\") { name } }",
            json!({}),
        )
        .await;
    assert_eq!(found, json!({ "a": { "id": id }, "b": { "name": "mere" } }));
}

#[tokio::test]
async fn an_update_of_another_version_is_a_conflict() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let id = server.create_site(&token, "Mere").await;
    let token = Some(token.as_str());
    let input = json!({ "input": { "siteId": id, "name": "Fen", "ifVersion": 1 } });
    let data = server.data(token, UPDATE_SITE, input.clone()).await;
    assert_eq!(data["updateSite"]["site"]["revision"], 2);
    assert!(data["updateSite"]["site"]["changedAt"].is_string());
    let late = json!({ "input": { "siteId": id, "name": "Moor", "ifVersion": 1 } });
    let response = server.send(token, UPDATE_SITE, late).await;
    let extensions = &response["errors"][0]["extensions"];
    assert_eq!((&extensions["code"], &extensions["currentVersion"]), (&json!("CONFLICT"), &json!(2)));
}

#[tokio::test]
async fn a_condition_of_a_mutation_holds_or_is_a_conflict() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let id = server.create_site(&token, "Mere").await;
    let token = Some(token.as_str());
    let close = "mutation($input: CloseSiteInput!) { closeSite(input: $input) { site { isClosed } } }";
    let input = json!({ "input": { "siteId": id, "isClosed": true } });
    let data = server.data(token, close, input.clone()).await;
    assert_eq!(data["closeSite"]["site"]["isClosed"], true);
    assert_eq!(server.refusal(token, close, input).await, ("CONFLICT".to_owned(), json!("isClosed")));
}

#[tokio::test]
async fn a_count_follows_items_with_derived_ids() {
    let server = ServedServer::start(BIRDS).await;
    let (ada, _) = server.sign_up("Ada", "ada@example.com").await;
    let (bob, _) = server.sign_up("Bob", "bob@example.com").await;
    let id = server.create_site(&ada, "Mere").await;
    let input = json!({ "input": { "siteId": id } });
    let followed = server.data(Some(&ada), FOLLOW, input.clone()).await;
    server.data(Some(&bob), FOLLOW, input.clone()).await;
    let again = server.refusal(Some(&ada), FOLLOW, input.clone()).await;
    assert_eq!(again, ("CONFLICT".to_owned(), json!("siteId")));
    let follow = json!({ "input": { "followId": followed["createFollow"]["follow"]["id"] } });
    assert_eq!(server.refusal(Some(&bob), UNFOLLOW, follow.clone()).await.0, "FORBIDDEN");
    server.data(Some(&ada), UNFOLLOW, follow.clone()).await;
    assert_eq!(server.refusal(Some(&ada), UNFOLLOW, follow).await.0, "NOT_FOUND");
    let query = "query($id: ID!) { site(id: $id) { followerCount viewerFollows } }";
    let (left, stays) = (
        server.data(Some(&ada), query, json!({ "id": id })).await,
        server.data(Some(&bob), query, json!({ "id": id })).await,
    );
    assert_eq!(left, json!({ "site": { "followerCount": 1, "viewerFollows": false } }));
    assert_eq!(stays, json!({ "site": { "followerCount": 1, "viewerFollows": true } }));
    server.data(Some(&ada), FOLLOW, input).await;
    assert!(server.app.verify(false).await.unwrap().is_clean());
}

#[tokio::test]
async fn a_repeat_with_an_idempotency_key_creates_nothing() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let mut input = site("Mere");
    input["idempotencyKey"] = json!("first");
    let first = server.data(Some(&token), CREATE_SITE, json!({ "input": input })).await;
    let again = server.data(Some(&token), CREATE_SITE, json!({ "input": input })).await;
    assert_eq!(first, again);
    input["name"] = json!("Fen");
    let other = server.refusal(Some(&token), CREATE_SITE, json!({ "input": input })).await;
    assert_eq!(other, ("CONFLICT".to_owned(), json!("idempotencyKey")));
    // The name of the refused creation stays free.
    server.create_site(&token, "Fen").await;
}

#[tokio::test]
async fn a_deleted_item_takes_its_own_items_with_it() {
    let server = ServedServer::start_with_staff(BIRDS, &["staff@example.com"]).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let id = server.create_site(&token, "Mere").await;
    server.data(Some(&token), FOLLOW, json!({ "input": { "siteId": id } })).await;
    let delete = "mutation($input: DeleteSiteInput!) { deleteSite(input: $input) { deletedSiteId } }";
    let deleted = server.data(Some(&token), delete, json!({ "input": { "siteId": id } })).await;
    assert_eq!(deleted["deleteSite"]["deletedSiteId"], id.as_str());
    server.settle().await;
    let left = server.data(None, "query($id: ID!) { site(id: $id) { name } }", json!({ "id": id })).await;
    assert_eq!(left, json!({ "site": null }));
    let orphan = server.refusal(Some(&token), FOLLOW, json!({ "input": { "siteId": id } })).await;
    assert_eq!(orphan, ("NOT_FOUND".to_owned(), json!("siteId")));
    server.create_site(&token, "Mere").await;
    server.settle().await;
    assert!(server.app.verify(false).await.unwrap().is_clean());
}
