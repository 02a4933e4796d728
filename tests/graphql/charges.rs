//! What a response says of the request's charge.

use async_graphql::Request;
use serde_json::{Value, json};

use crate::blog::{small, user_node};

#[tokio::test]
async fn every_response_says_what_it_was_charged() {
    let blog = small().await;
    let response = blog.query(&format!("{{ user(id: \"{}\") {{ id }} }}", user_node(0))).await;
    let extensions = serde_json::to_value(&response.extensions).unwrap();
    assert_eq!(extensions, json!({ "requestCharge": 1.0 }));
    let refused = blog.query("{ feed(first: 0) { nodes { id } } }").await;
    assert_eq!(serde_json::to_value(&refused.extensions).unwrap(), json!({ "requestCharge": 0.0 }));
}

#[tokio::test]
async fn operations_are_told_to_those_who_ask() {
    let blog = small().await;
    let query = format!("{{ user(id: \"{}\", model: V1) {{ posts {{ nodes {{ id }} }} }} }}", user_node(0));
    let mut request = Request::new(query);
    request.extensions.insert("operations".to_owned(), async_graphql::Value::from(true));
    let response = blog.executor.execute_as(request, None).await;
    let operations = serde_json::to_value(&response.extensions["operations"]).unwrap();
    let told: Vec<Value> = operations
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            json!([row["container"], row["kind"], row["times"], row["items"], row["physicalPartitions"]])
        })
        .collect();
    assert_eq!(
        told,
        [
            json!(["users", "POINT_READ", 1, 1, 1]),
            json!(["posts", "QUERY", 1, 3, 4]),
            json!(["posts", "COUNT", 6, told[2][3], 1]),
        ]
    );
    assert!(operations[0]["requestCharge"].as_f64().unwrap() > 0.0);
}
