//! C1: signing up.

use futures::future::join_all;
use serde_json::json;

use crate::api::caller::mutation_of;
use crate::api::server::{PASSWORD, Server};

#[tokio::test]
async fn who_signs_up_is_signed_in() {
    let server = Server::start().await;
    let ada = server.sign_up("Ada.Lovelace").await;
    let data = ada.data("{ viewer { id username } }", json!({})).await;
    assert_eq!(data, json!({ "viewer": { "id": ada.id, "username": "Ada.Lovelace" } }));
}

#[tokio::test]
async fn a_name_is_kept_as_typed_in_any_script() {
    let server = Server::start().await;
    for name in ["Ünal", "Зоя-1", "山田太郎", "שלום", "l_o-n.g"] {
        let user = server.anonymous().sign_up(name, PASSWORD).await["user"].take();
        assert_eq!(user["username"], name);
    }
}

#[tokio::test]
async fn a_name_is_taken_whatever_its_case_or_width() {
    let server = Server::start().await;
    for (taken, others) in [
        ("Ada", ["Ada", "ada", "ADA", "Ａｄａ"]),
        ("Straße", ["strasse", "STRASSE", "straße", "Strasse"]),
        ("Ünal", ["ünal", "ÜNAL", "U\u{308}nal", "u\u{308}nal"]),
    ] {
        server.sign_up(taken).await;
        for other in others {
            let input = json!({ "username": other, "password": PASSWORD });
            let refused = server.anonymous().refused_mutation("createUser", input).await;
            assert_eq!(refused.of(), ("CONFLICT", Some("username")), "{other}");
        }
    }
}

#[tokio::test]
async fn common_passwords_are_refused() {
    let server = Server::start().await;
    for password in ["1111111111", "qwertyuiop", "Password123!", "ada.lovelace", "ada.lovelace1"] {
        let input = json!({ "username": "ada.lovelace", "password": password });
        let refused = server.anonymous().refused_mutation("createUser", input).await;
        assert_eq!(refused.of(), ("BAD_USER_INPUT", Some("password")), "{password}");
    }
    server.anonymous().sign_up("ada.lovelace", "correct horse").await;
}

#[tokio::test]
async fn names_that_imitate_are_refused() {
    let server = Server::start().await;
    server.sign_up("lena").await;
    let marks = format!("a{}", "\u{316}".repeat(28));
    for (name, code) in [
        ("\u{430}d\u{430}", "BAD_USER_INPUT"),
        ("gr\u{430}ce", "BAD_USER_INPUT"),
        ("...", "BAD_USER_INPUT"),
        ("admin", "BAD_USER_INPUT"),
        (&marks, "BAD_USER_INPUT"),
        ("Iena", "CONFLICT"),
    ] {
        let input = json!({ "username": name, "password": PASSWORD });
        let refused = server.anonymous().refused_mutation("createUser", input).await;
        assert_eq!(refused.of(), (code, Some("username")), "{name}");
    }
    server.settle().await;
    assert_eq!(server.verify().await.drifts, []);
}

#[tokio::test]
async fn of_many_who_want_one_name_at_once_one_gets_it() {
    let server = Server::start().await;
    let signing_up = (0..12).map(|number| {
        let username = if number % 2 == 0 { "grace" } else { "GRACE" };
        let input = json!({ "username": username, "password": PASSWORD });
        let ((query, variables), server) = (mutation_of("createUser", input), &server);
        async move { server.anonymous().send(json!({ "query": query, "variables": variables })).await }
    });
    let (granted, refused): (Vec<_>, Vec<_>) =
        join_all(signing_up).await.into_iter().partition(|answer| answer.body.get("errors").is_none());
    assert_eq!(granted.len(), 1);
    assert!(refused.iter().all(|answer| answer.refused().of() == ("CONFLICT", Some("username"))));
    let found = server.anonymous().data("{ userByUsername(username: \"grace\") { id } }", json!({})).await;
    assert_eq!(found["userByUsername"]["id"], granted[0].body["data"]["createUser"]["user"]["id"]);
    server.settle().await;
    assert_eq!(server.verify().await.drifts, []);
}
