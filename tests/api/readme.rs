//! The operations of the README, as they stand there.

use serde_json::json;

use crate::server::Server;
use crate::websocket::Socket;

const README: &str = include_str!("../../README.md");

#[tokio::test]
async fn every_operation_of_the_readme_works() {
    let server = Server::start().await;
    let author = server.sign_up("author").await;
    let (_, after) = README.split_once("```graphql\n").unwrap();
    let (block, _) = after.split_once("```").unwrap();
    let operations: Vec<&str> =
        block.lines().filter(|line| line.starts_with("mutation") || line.starts_with("query")).collect();
    assert!(operations.len() >= 10, "{operations:?}");
    for operation in operations {
        let post = author.post("Engines").await;
        let operation = operation
            .replace("user(id: \"...\"", &format!("user(id: \"{}\"", author.id))
            .replace("\"...\"", &format!("\"{post}\""));
        author.data(&operation, json!({})).await;
    }
}

#[tokio::test]
async fn every_subscription_of_the_readme_begins() {
    let server = Server::start().await;
    let author = server.sign_up("author").await;
    let post = author.post("Engines").await;
    let subscriptions: Vec<&str> = README.lines().filter(|line| line.starts_with("subscription")).collect();
    assert_eq!(subscriptions.len(), 3, "{subscriptions:?}");
    let mut socket = Socket::open(server.address()).await;
    for (id, subscription) in subscriptions.iter().enumerate() {
        socket.subscribe(&id.to_string(), &subscription.replace("\"...\"", &format!("\"{post}\""))).await;
    }
    socket.settle().await;
}
