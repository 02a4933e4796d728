//! Accounts of a served model: signing up, in and out, and rights of owners and staff.

use serde_json::json;

use super::server::{BIRDS, PASSWORD, ServedServer};

const SIGN_IN: &str = "mutation($input: SignInInput!) { signIn(input: $input) { accessToken refreshToken observer { name email } } }";

#[tokio::test]
async fn people_sign_up_in_and_out() {
    let server = ServedServer::start(BIRDS).await;
    let (_, id) = server.sign_up("Ada", "ada@example.com").await;
    let input = json!({ "input": { "email": "ADA@example.com", "password": PASSWORD } });
    let data = server.data(None, SIGN_IN, input).await;
    assert_eq!(data["signIn"]["observer"], json!({ "name": "Ada", "email": "ada@example.com" }));
    let token = data["signIn"]["accessToken"].as_str().unwrap().to_owned();
    let viewer = server.data(Some(&token), "{ viewer { id } }", json!({})).await;
    assert_eq!(viewer, json!({ "viewer": { "id": id } }));
    let out = server.data(Some(&token), "mutation { signOut { observerId } }", json!({})).await;
    assert_eq!(out, json!({ "signOut": { "observerId": id } }));
    let refresh = json!({ "input": { "refreshToken": data["signIn"]["refreshToken"] } });
    let renew = "mutation($input: RenewSessionInput!) { renewSession(input: $input) { accessToken } }";
    assert_eq!(server.refusal(None, renew, refresh).await.0, "UNAUTHENTICATED");
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_login_look_alike() {
    let server = ServedServer::start(BIRDS).await;
    server.sign_up("Ada", "ada@example.com").await;
    let mut responses = Vec::new();
    for email in ["ada@example.com", "eve@example.com"] {
        let input = json!({ "input": { "email": email, "password": "not the password" } });
        let mut response = server.send(None, SIGN_IN, input).await;
        response["extensions"]["position"].take();
        responses.push(response);
    }
    assert_eq!(responses[0], responses[1]);
    assert_eq!(responses[0]["errors"][0]["extensions"]["code"], "INVALID_CREDENTIALS");
}

#[tokio::test]
async fn a_login_belongs_to_one_account() {
    let server = ServedServer::start(BIRDS).await;
    server.sign_up("Ada", "ada@example.com").await;
    let query = "mutation($input: CreateObserverInput!) { createObserver(input: $input) { accessToken } }";
    let input = json!({ "input": { "name": "Eve", "email": "Ada@Example.com", "password": PASSWORD } });
    assert_eq!(server.refusal(None, query, input).await, ("CONFLICT".to_owned(), json!("email")));
}

#[tokio::test]
async fn a_new_password_ends_the_sessions_of_the_old_one() {
    let server = ServedServer::start(BIRDS).await;
    let (token, _) = server.sign_up("Ada", "ada@example.com").await;
    let change = "mutation($input: ChangePasswordInput!) { changePassword(input: $input) { accessToken } }";
    let input = json!({ "input": { "currentPassword": PASSWORD, "newPassword": "another long secret 9" } });
    let data = server.data(Some(&token), change, input).await;
    let renewed = data["changePassword"]["accessToken"].as_str().unwrap();
    let viewer = server.data(Some(renewed), "{ viewer { name } }", json!({})).await;
    assert_eq!(viewer, json!({ "viewer": { "name": "Ada" } }));
    let old = json!({ "input": { "email": "ada@example.com", "password": PASSWORD } });
    assert_eq!(server.refusal(None, SIGN_IN, old).await.0, "INVALID_CREDENTIALS");
}

#[tokio::test]
async fn a_protected_field_is_for_its_owner_and_staff() {
    let server = ServedServer::start_with_staff(BIRDS, &["staff@example.com"]).await;
    let (ada, id) = server.sign_up("Ada", "ada@example.com").await;
    let (bob, _) = server.sign_up("Bob", "bob@example.com").await;
    let query = "query($id: ID!) { observer(id: $id) { name email } }";
    let own = server.data(Some(&ada), query, json!({ "id": id })).await;
    assert_eq!(own["observer"]["email"], "ada@example.com");
    let response = server.send(Some(&bob), query, json!({ "id": id })).await;
    assert_eq!(response["data"], json!({ "observer": null }));
    assert_eq!(response["errors"][0]["path"], json!(["observer", "email"]));
    assert_eq!(response["errors"][0]["extensions"]["code"], "FORBIDDEN");
}

#[tokio::test]
async fn staff_may_write_what_others_may_not() {
    let server = ServedServer::start_with_staff(BIRDS, &["staff@example.com"]).await;
    let (ada, _) = server.sign_up("Ada", "ada@example.com").await;
    let input = json!({ "input": { "email": "staff@example.com", "password": PASSWORD } });
    let staff = server.data(None, SIGN_IN, input).await["signIn"]["accessToken"].as_str().unwrap().to_owned();
    let create =
        "mutation($input: CreateSpeciesInput!) { createSpecies(input: $input) { species { name } } }";
    let wren = json!({ "input": { "name": "Wren" } });
    assert_eq!(server.refusal(Some(&ada), create, wren.clone()).await.0, "FORBIDDEN");
    assert_eq!(server.refusal(None, create, wren.clone()).await.0, "UNAUTHENTICATED");
    server.data(Some(&staff), create, wren).await;
    server.data(Some(&staff), create, json!({ "input": { "name": "avocet" } })).await;
    let species = server.data(None, "{ species { name } }", json!({})).await;
    assert_eq!(species, json!({ "species": [{ "name": "avocet" }, { "name": "Wren" }] }));
}
