//! The request charge in a response.

use serde_json::{Value, json};

use crate::api::caller::{Answer, mutation_of};
use crate::api::server::Server;

fn charge(answer: &Answer) -> f64 {
    let charge = answer.body["extensions"]["requestCharge"].as_f64();
    charge.unwrap_or_else(|| panic!("no request charge: {answer:?}"))
}

#[tokio::test]
async fn every_response_says_what_its_reads_and_writes_were_charged() {
    let server = Server::start().await;
    let (ada, anonymous) = (server.sign_up("ada").await, server.anonymous());
    let post = ada.post("Engines").await;
    let user = json!({ "username": "bob", "password": "correct horse" });
    for (mutation, input) in [
        ("createUser", user.clone()),
        ("signIn", user),
        ("createPost", json!({ "title": "t", "content": "c" })),
        ("updatePost", json!({ "postId": post, "title": "t" })),
        ("createComment", json!({ "postId": post, "content": "c" })),
        ("likePost", json!({ "postId": post })),
        ("unlikePost", json!({ "postId": post })),
        ("updateUser", json!({ "username": "countess" })),
        ("deletePost", json!({ "postId": post })),
    ] {
        let (query, variables) = mutation_of(mutation, input);
        let answer = ada.ask(&query, variables).await;
        assert!(answer.body.get("errors").is_none() && charge(&answer) > 0.0, "{mutation}: {answer:?}");
        assert!(answer.body["extensions"].get("operations").is_none(), "operations are told on request only");
    }
    assert!(charge(&anonymous.ask("{ feed { nodes { id } } }", json!({})).await) > 0.0);
    let (query, variables) = mutation_of("likePost", json!({ "postId": post }));
    let not_found = ada.ask(&query, variables).await;
    assert!(not_found.body.get("errors").is_some() && charge(&not_found) > 0.0, "a refusal has its charge");
}

#[tokio::test]
async fn a_response_without_execution_states_no_charge() {
    let server = Server::start().await;
    for (status, request) in [
        (200, json!({ "query": "{ viewer { id } }" })),
        (200, json!({ "query": "{ feed(first: 0) { nodes { id } } }" })),
        (400, json!({ "query": "{ nothing }" })),
        (400, json!({ "query": "{ feed" })),
        (400, json!({ "query": "{ feed(first: 100) { nodes { comments(first: 100) { nodes { id } } } } }" })),
        (400, json!({ "query": "{ a: viewer { id } }", "operationName": "other" })),
        (400, json!({ "query": "query($id: ID!) { post(id: $id) { id } }" })),
        (400, json!({ "no": "query" })),
    ] {
        let answer = server.anonymous().send(request.clone()).await;
        assert_eq!((answer.status, charge(&answer)), (status, 0.0), "{request}");
    }
    let refused = server.bearing("no token").ask("{ viewer { id } }", json!({})).await;
    assert_eq!((refused.status, charge(&refused)), (401, 0.0));
}

#[tokio::test]
async fn the_operations_of_a_request_add_up_to_its_charge() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let post = ada.post("Engines").await;
    ada.comment(&post, "indeed").await;
    server.settle().await;
    let (mutation, variables) = mutation_of("createComment", json!({ "postId": post, "content": "c" }));
    for (query, variables, kinds) in [
        (
            "{ feed(model: V1) { nodes { commentCount author { username } } } }",
            json!({}),
            &["QUERY", "COUNT", "POINT_READ"][..],
        ),
        ("{ feed { nodes { commentCount } } }", json!({}), &["QUERY"]),
        (&*mutation, variables, &["BATCH", "POINT_READ"]),
    ] {
        let request = json!({ "query": query, "variables": variables, "extensions": { "operations": true } });
        let answer = ada.send(request).await;
        let operations = answer.body["extensions"]["operations"].as_array().unwrap();
        let sum: f64 = operations.iter().map(|operation| operation["requestCharge"].as_f64().unwrap()).sum();
        assert!((sum - charge(&answer)).abs() < 0.02, "{sum}: {answer:?}");
        for kind in kinds {
            assert!(operations.iter().any(|operation| operation["kind"] == *kind), "{kind}: {operations:?}");
        }
        for operation in operations {
            let keys: Vec<&String> = operation.as_object().unwrap().keys().collect();
            let expected = ["container", "items", "kind", "physicalPartitions", "requestCharge", "times"];
            assert!(keys.iter().eq(&expected), "{keys:?}");
        }
    }
}

#[tokio::test]
async fn in_v3_each_query_touches_one_physical_partition() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let mut post = String::new();
    for number in 0..5 {
        post = ada.post(&format!("post {number}")).await;
        ada.comment(&post, "indeed").await;
        ada.like(&post).await;
    }
    server.settle().await;
    let short = "id title summary creationDate commentCount likeCount author { id username }";
    for (question, container, root) in [
        ("Q1", "users", "user(id: $user) { id username }".to_owned()),
        ("Q2", "posts", format!("post(id: $post) {{ {short} content }}")),
        ("Q3", "users", format!("user(id: $user) {{ posts {{ nodes {{ {short} }} }} }}")),
        ("Q4", "posts", "post(id: $post) { comments { nodes { content author { username } } } }".to_owned()),
        ("Q5", "posts", "post(id: $post) { likes { nodes { user { username } } } }".to_owned()),
        ("Q6", "feed", format!("feed {{ nodes {{ {short} }} }}")),
    ] {
        let root = root.replace("$user", &format!("\"{}\"", ada.id)).replace("$post", &format!("\"{post}\""));
        let request = json!({ "query": format!("{{ {root} }}"), "extensions": { "operations": true } });
        let answer = ada.send(request).await;
        assert!(answer.body.get("errors").is_none(), "{question}: {answer:?}");
        let operations = answer.body["extensions"]["operations"].as_array().unwrap();
        for operation in operations {
            let touched = [&operation["container"], &operation["times"], &operation["physicalPartitions"]];
            assert_eq!(touched, [&json!(container), &json!(1), &json!(1)], "{question}: {operation}");
        }
        assert!(!operations.is_empty() && operations.len() <= 2, "{question}: {operations:?}");
    }
}

#[tokio::test]
async fn the_article_s_order_of_charges_holds() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    for number in 0..20 {
        let post = ada.post(&format!("post {number}")).await;
        ada.comment(&post, "indeed").await;
    }
    server.settle().await;
    let mut charges = Vec::new();
    for model in ["V1", "V2", "V3"] {
        let query = format!(
            "{{ feed(first: 20, model: {model}) {{ nodes {{ title commentCount author {{ username }} }} }} }}"
        );
        let answer = ada.ask(&query, Value::Null).await;
        charges.push(charge(&answer));
    }
    assert!(charges[0] > charges[1] && charges[1] > charges[2], "{charges:?}");
}
