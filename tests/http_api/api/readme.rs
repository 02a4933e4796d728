//! The operations of README.md and docs/api.md, run as the documents show them.

use serde_json::json;

use crate::api::caller::{Caller, id_of};
use crate::api::server::Server;
use crate::webstore::shop;
use onehop_testing::websocket::WebSocketClient;

const DOCUMENTS: [&str; 2] = [include_str!("../../../README.md"), include_str!("../../../docs/api.md")];
/// Requests of the article: four commands and six queries.
const REQUESTS_MIN: usize = 10;

/// The operations in blocks of GraphQL; each begins a line, and its further lines are indented.
fn operations(is_wanted: impl Fn(&str) -> bool) -> Vec<String> {
    let blocks = DOCUMENTS.iter().flat_map(|document| document.split("```graphql\n").skip(1));
    let blocks = blocks.map(|rest| rest.split_once("```").unwrap().0);
    let mut operations: Vec<String> = Vec::new();
    for line in blocks.flat_map(str::lines).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match operations.last_mut().filter(|_| line.starts_with([' ', '}'])) {
            Some(operation) => *operation += &format!("\n{line}"),
            None => operations.push(line.to_owned()),
        }
    }
    operations.into_iter().filter(|operation| is_wanted(operation)).collect()
}

/// Puts ids where the documents have dots.
fn with_ids(operation: &str, author: &Caller<'_>, (post, comment): (&str, &str)) -> String {
    operation
        .replace("user(id: \"...\"", &format!("user(id: \"{}\"", author.id))
        .replace("commentId: \"...\"", &format!("commentId: \"{comment}\""))
        .replace("\"...\"", &format!("\"{post}\""))
}

#[tokio::test]
async fn every_operation_of_the_documents_works() {
    let server = Server::start().await;
    let author = server.sign_up("author").await;
    let of_sessions = ["renewSession", "signIn", "changePassword", "signOut"];
    let operations = operations(|operation| {
        !operation.starts_with("subscription") && !of_sessions.iter().any(|name| operation.contains(name))
    });
    assert!(operations.len() >= REQUESTS_MIN, "{operations:?}");
    for operation in operations {
        let post = author.post("Engines").await;
        let comment = author.comment(&post, "Indeed.").await;
        author.data(&with_ids(&operation, &author, (&post, &comment)), json!({})).await;
    }
}

#[tokio::test]
async fn every_subscription_of_the_documents_begins() {
    let server = shop::open().await;
    let author = server.sign_up("author").await;
    let post = author.post("Engines").await;
    let comment = author.comment(&post, "Indeed.").await;
    let staff = shop::staff_member(&server).await;
    let category = shop::category(&staff, "Bikes").await;
    let product = id_of(&shop::product(&staff, "Bell", "9.50", &category, &[]).await);
    let customer = shop::sign_up_customer(&server, "eva@example.com").await;
    let lines = json!({ "lines": [{ "productId": product, "quantity": 1 }] });
    let order = shop::mutate(&customer, "createSalesOrder", lines, "salesOrder { id }").await;
    let order = id_of(&order["salesOrder"]);
    let subscriptions = operations(|operation| operation.starts_with("subscription"));
    assert!(subscriptions.len() >= 5, "{subscriptions:?}");
    let token = json!({ "authorization": format!("Bearer {}", customer.token()) });
    let mut socket = WebSocketClient::open_with(server.address(), token).await;
    for (id, subscription) in subscriptions.iter().enumerate() {
        let subscription = subscription
            .replace("productChanged(id: \"...\"", &format!("productChanged(id: \"{product}\""))
            .replace("salesOrderChanged(id: \"...\"", &format!("salesOrderChanged(id: \"{order}\""));
        socket.subscribe(&id.to_string(), &with_ids(&subscription, &author, (&post, &comment))).await;
    }
    socket.settle().await;
}
