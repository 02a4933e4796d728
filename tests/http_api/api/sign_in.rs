//! Signing in with a name and a password.

use serde_json::json;

use crate::api::server::{PASSWORD, Server};

#[tokio::test]
async fn a_name_in_any_case_and_its_password_sign_in() {
    let server = Server::start().await;
    let ada = server.sign_up("Ada").await;
    for name in ["Ada", "ada", "ＡＤＡ"] {
        let input = json!({ "username": name, "password": PASSWORD });
        let payload = server.anonymous().mutate("signIn", input).await;
        assert_eq!(payload["user"], json!({ "id": ada.id, "username": "Ada" }), "{name}");
        let signed_in = server.bearing(payload["accessToken"].as_str().unwrap());
        assert_eq!(signed_in.data("{ viewer { id } }", json!({})).await["viewer"]["id"], ada.id.as_str());
    }
}

#[tokio::test]
async fn a_password_is_the_same_from_every_keyboard() {
    let server = Server::start().await;
    server.anonymous().sign_up("zoé", "caf\u{e9} au lait").await;
    let input = json!({ "username": "zoé", "password": "cafe\u{301} au lait" });
    server.anonymous().mutate("signIn", input).await;
}

#[tokio::test]
async fn a_wrong_name_and_a_wrong_password_are_refused_alike() {
    let server = Server::start().await;
    server.sign_up("ada").await;
    let (too_long, bytes) = ("p".repeat(201), "p".repeat(5000));
    let mut answers = Vec::new();
    for (username, password) in [
        ("ada", "not the password"),
        ("ada", ""),
        ("ada", "short"),
        ("ada", &too_long),
        ("ada", &bytes),
        ("nobody", PASSWORD),
        ("no name at all!", PASSWORD),
        ("", PASSWORD),
        ("ada ", PASSWORD),
    ] {
        let input = json!({ "username": username, "password": password });
        answers.push(server.anonymous().refused_mutation("signIn", input).await);
    }
    assert_eq!(answers[0].of(), ("INVALID_CREDENTIALS", None));
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
}

#[tokio::test]
async fn after_a_rename_only_the_new_name_signs_in() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    ada.mutate("updateUser", json!({ "username": "countess" })).await;
    for settled in [false, true] {
        let input = json!({ "username": "countess", "password": PASSWORD });
        assert_eq!(server.anonymous().mutate("signIn", input).await["user"]["id"], ada.id.as_str());
        let input = json!({ "username": "ada", "password": PASSWORD });
        let refused = server.anonymous().refused_mutation("signIn", input).await;
        assert_eq!(refused.code, "INVALID_CREDENTIALS", "settled: {settled}");
        server.settle().await;
    }
}

#[tokio::test]
async fn operations_and_charges_of_a_failed_sign_in_are_alike() {
    let server = Server::start().await;
    server.sign_up("ada").await;
    let mut extensions = Vec::new();
    for username in ["ada", "nobody"] {
        let query = format!(
            "mutation {{ signIn(input: {{ username: \"{username}\", password: \"not the password\" }}) {{ accessToken }} }}"
        );
        let answer =
            server.anonymous().send(json!({ "query": query, "extensions": { "operations": true } })).await;
        extensions.push(answer.body["extensions"].clone());
    }
    assert!(extensions[0]["operations"].is_array(), "{extensions:?}");
    assert_eq!(extensions[0]["operations"], extensions[1]["operations"]);
    assert_eq!(extensions[0]["requestCharge"], extensions[1]["requestCharge"]);
}
