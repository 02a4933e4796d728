//! The operations of the README, as they stand there.

use serde_json::json;

use crate::server::Server;

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
