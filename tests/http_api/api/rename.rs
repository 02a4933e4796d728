//! C1: renaming a user.

use onehop::blog::containers::{ACCOUNTS, FEED, POSTS, USERS};
use onehop_store::{FeedRequest, Ledger};
use serde_json::{Value, json};

use crate::api::server::Server;

async fn by_name(server: &Server, name: &str) -> Value {
    let query = "query($name: String!) { userByUsername(username: $name) { id username } }";
    server.anonymous().data(query, json!({ "name": name })).await["userByUsername"].take()
}

/// The bodies of all items of the store, without the users' records of their own last rename.
async fn everything_stored(server: &Server) -> String {
    let mut stored = String::new();
    for container in [USERS, POSTS, FEED, ACCOUNTS] {
        for range in server.app.store.feed_ranges(container).await.unwrap() {
            let request =
                FeedRequest { container, range: &range, continuation: None, types: None, limit: 1000 };
            let page = server.app.store.read_change_feed(&request, &Ledger::new()).await.unwrap();
            assert!(page.changes.len() < 1000);
            for change in page.changes {
                let mut body: Value = change.item.decode().unwrap();
                body.as_object_mut().unwrap().remove("formerUsername");
                stored += &body.to_string();
            }
        }
    }
    stored
}

#[tokio::test]
async fn after_a_rename_and_a_quiet_moment_the_old_name_is_nowhere() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("adalovelace").await, server.sign_up("bob").await);
    let own = ada.post("Engines").await;
    let other = bob.post("Looms").await;
    for post in [&own, &other] {
        ada.comment(post, "indeed").await;
        ada.like(post).await;
    }
    server.settle().await;
    assert!(everything_stored(&server).await.contains("adalovelace"));

    let renamed = ada.mutate("updateUser", json!({ "username": "countess" })).await;
    assert_eq!(renamed["user"], json!({ "id": ada.id, "username": "countess" }));
    server.settle().await;
    let stored = everything_stored(&server).await;
    assert!(!stored.contains("adalovelace"), "{stored}");

    let lists = "nodes { author { username }
        comments { nodes { author { username } } } likes { nodes { user { username } } } }";
    for model in ["V1", "V2", "V3"] {
        let query = format!(
            "{{ feed(model: {model}) {{ {lists} }}
               user(id: \"{}\", model: {model}) {{ username posts {{ {lists} }} }} }}",
            ada.id
        );
        let data = server.anonymous().data(&query, json!({})).await;
        assert!(!data.to_string().contains("adalovelace"), "{model}: {data}");
        assert_eq!(data["user"]["posts"]["nodes"][0]["likes"]["nodes"][0]["user"]["username"], "countess");
    }
    assert_eq!(server.verify().await.drifts, []);
}

#[tokio::test]
async fn writes_during_a_rename_end_with_the_new_name() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("adalovelace").await, server.sign_up("bob").await);
    let post = bob.post("Looms").await;
    ada.comment(&post, "before").await;
    ada.mutate("updateUser", json!({ "username": "countess" })).await;
    ada.comment(&post, "after").await;
    ada.like(&post).await;
    ada.post("Notes").await;
    server.app.processor.run_once().await.unwrap();
    ada.comment(&post, "between").await;
    ada.mutate("updateUser", json!({ "username": "enchantress" })).await;
    ada.comment(&post, "later").await;
    server.settle().await;
    let stored = everything_stored(&server).await;
    assert!(!stored.contains("adalovelace") && !stored.contains("countess"), "{stored}");
    assert_eq!(server.verify().await.drifts, []);
}

#[tokio::test]
async fn a_name_that_was_left_is_free_for_another() {
    let server = Server::start().await;
    let (ada, bob) = (server.sign_up("ada").await, server.sign_up("bob").await);
    ada.mutate("updateUser", json!({ "username": "countess" })).await;
    server.settle().await;
    assert_eq!(by_name(&server, "ada").await, Value::Null);
    bob.mutate("updateUser", json!({ "username": "Ada" })).await;
    server.settle().await;
    assert_eq!(by_name(&server, "ada").await, json!({ "id": bob.id, "username": "Ada" }));
    assert_eq!(by_name(&server, "Countess").await["id"], ada.id.as_str());
    let carol = server.sign_up("bob").await;
    assert_eq!(by_name(&server, "bob").await["id"], carol.id.as_str());
    assert_eq!(server.verify().await.drifts, []);
}

#[tokio::test]
async fn a_rename_to_another_case_of_the_same_name_is_one() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    for name in ["ADA", "Ada", "Ada"] {
        let user = ada.mutate("updateUser", json!({ "username": name })).await["user"].take();
        assert_eq!(user["username"], name);
        server.settle().await;
        assert_eq!(by_name(&server, "aDa").await, json!({ "id": ada.id, "username": name }));
        let query = "query($id: ID!) { post(id: $id) { author { username } } }";
        let data = ada.data(query, json!({ "id": post })).await;
        assert_eq!(data["post"]["author"]["username"], name);
    }
    assert_eq!(server.verify().await.drifts, []);
}

#[tokio::test]
async fn a_rename_there_and_back_ends_where_it_began() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    ada.post("Engines").await;
    for name in ["countess", "ada", "countess", "ada"] {
        ada.mutate("updateUser", json!({ "username": name })).await;
    }
    server.settle().await;
    assert_eq!(by_name(&server, "ada").await["id"], ada.id.as_str());
    assert_eq!(by_name(&server, "countess").await, Value::Null);
    assert_eq!(server.verify().await.drifts, []);
}

#[tokio::test]
async fn a_taken_name_is_refused_in_any_case_and_width() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    server.sign_up("Grace.Hopper").await;
    for name in ["Grace.Hopper", "grace.hopper", "GRACE.HOPPER", "ｇｒａｃｅ．ｈｏｐｐｅｒ"] {
        let refused = ada.refused_mutation("updateUser", json!({ "username": name })).await;
        assert_eq!(refused.of(), ("CONFLICT", Some("username")), "{name}");
    }
    assert_eq!(by_name(&server, "ada").await["id"], ada.id.as_str());
}

#[tokio::test]
async fn of_many_who_rename_to_one_name_at_once_one_gets_it() {
    let server = Server::start().await;
    let mut callers = Vec::new();
    for number in 0..6 {
        callers.push(server.sign_up(&format!("candidate{number}")).await);
    }
    let query = "mutation { updateUser(input: { username: \"winner\" }) { user { id } } }";
    let renaming = callers.iter().map(|caller| caller.ask(query, json!({})));
    let answers = futures::future::join_all(renaming).await;
    let renamed: Vec<_> = answers.iter().filter(|answer| answer.body.get("errors").is_none()).collect();
    assert_eq!(renamed.len(), 1, "{answers:?}");
    let losers = answers.iter().filter(|answer| answer.body.get("errors").is_some());
    assert!(losers.into_iter().all(|answer| answer.refused().of() == ("CONFLICT", Some("username"))));
    server.settle().await;
    let winner = &renamed[0].body["data"]["updateUser"]["user"]["id"];
    assert_eq!(by_name(&server, "winner").await["id"], *winner);
    assert_eq!(server.verify().await.drifts, []);
}
