//! Hot partitions: the load of the server on logical partitions, and the keys that it shows.

use serde_json::{Value, json};

use crate::api::server::{PASSWORD, Server};

const PARTITIONS: &str = "{ partitions { container physicalPartitions operations requestCharge requestChargeAcross \
                          chargeSource keysTold hottest(first: 100) { key id operations requestCharge \
                          requestChargeMax share } } }";

async fn partitions(server: &Server) -> Value {
    server.operations(PARTITIONS).await["partitions"].clone()
}

async fn of(server: &Server, container: &str) -> Value {
    let partitions = partitions(server).await;
    let found = partitions.as_array().unwrap().iter().find(|found| found["container"] == container);
    found.unwrap_or_else(|| panic!("no {container} in {partitions}")).clone()
}

/// The operations on the logical partition of a user or a post.
fn operations(container: &Value, id: &str) -> f64 {
    let hottest = container["hottest"].as_array().unwrap();
    let found = hottest.iter().find(|hot| hot["id"] == id);
    found.map_or(0.0, |hot| hot["operations"].as_f64().unwrap())
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[tokio::test]
async fn the_most_read_post_is_the_hottest_logical_partition() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let (read, unread) = (ada.post("Engines").await, ada.post("Looms").await);
    server.settle().await;
    let before = of(&server, "posts").await;
    for _ in 0..30 {
        server
            .anonymous()
            .data("query($id: ID!) { post(id: $id) { title } }", json!({ "id": read.as_str() }))
            .await;
    }
    let posts = of(&server, "posts").await;
    let more = |id: &str| operations(&posts, id) - operations(&before, id);
    assert_eq!([more(&read), more(&unread)], [30.0, 0.0], "{posts}");
    assert_eq!(number(&posts["operations"]) - number(&before["operations"]), 30.0);
    assert_eq!(posts["hottest"][0]["id"], read);
    assert_eq!((&posts["physicalPartitions"], &posts["keysTold"]), (&json!(4), &json!(true)));
    let source = if crate::support::store::is_cosmos() { "MEASURED" } else { "ESTIMATED" };
    assert_eq!(posts["chargeSource"], source);
    let hottest = &posts["hottest"][0];
    assert_eq!(hottest["requestCharge"], hottest["requestChargeMax"], "few keys are counted exactly");
    let share = number(&hottest["requestCharge"]) / number(&posts["requestCharge"]);
    assert!((number(&hottest["share"]) - share).abs() < 0.01 && share > 0.2, "{posts}");
}

#[tokio::test]
async fn a_batch_read_counts_for_each_logical_partition() {
    let server = Server::start().await;
    let ada = server.sign_up("ada").await;
    let posts = [ada.post("Engines").await, ada.post("Looms").await];
    server.settle().await;
    let before = of(&server, "posts").await;
    server.anonymous().data("{ feed(first: 2) { nodes { content } } }", json!({})).await;
    let after = of(&server, "posts").await;
    for post in &posts {
        assert_eq!(operations(&after, post) - operations(&before, post), 1.0, "{after}");
    }
}

#[tokio::test]
async fn a_query_of_all_logical_partitions_counts_for_none_of_them() {
    let server = Server::start().await;
    let post = server.sign_up("ada").await.post("Engines").await;
    server.settle().await;
    let before = of(&server, "posts").await;
    server.anonymous().data("{ feed(model: V2) { nodes { title } } }", json!({})).await;
    let after = of(&server, "posts").await;
    assert!(number(&after["requestChargeAcross"]) > number(&before["requestChargeAcross"]), "{after}");
    assert_eq!(operations(&after, &post), operations(&before, &post));
}

#[tokio::test]
async fn hot_partitions_expose_no_text_of_users() {
    let server = Server::start().await;
    server.sign_up("lovelace").await;
    let sign_in = "mutation($input: SignInInput!) { signIn(input: $input) { accessToken } }";
    let nobody = json!({ "input": { "username": "mistyped", "password": PASSWORD } });
    server.anonymous().ask(sign_in, nobody).await;
    server.anonymous().data("{ userByUsername(username: \"askedfor\") { id } }", json!({})).await;
    server.settle().await;
    let accounts = of(&server, "accounts").await;
    assert!(number(&accounts["operations"]) >= 3.0, "{accounts}");
    let partitions = partitions(&server).await;
    for container in ["accounts", "leases", "dead-letters"] {
        let found =
            partitions.as_array().unwrap().iter().find(|found| found["container"] == container).unwrap();
        assert_eq!((&found["keysTold"], &found["hottest"]), (&json!(false), &json!([])));
    }
    let told = partitions.to_string();
    for typed in ["lovelace", "mistyped", "askedfor"] {
        assert!(!told.contains(typed), "{told}");
    }
    let keys = |container: &Value| container["hottest"].as_array().unwrap().clone();
    let told: Vec<Value> = partitions.as_array().unwrap().iter().flat_map(keys).collect();
    for hot in told {
        assert!(hot["key"] == "post" || hot["id"].is_string(), "{hot}");
    }
}

#[tokio::test]
async fn the_feed_has_a_single_logical_partition() {
    let server = Server::start().await;
    server.sign_up("ada").await.post("Engines").await;
    server.settle().await;
    server.anonymous().data("{ feed { nodes { title } } }", json!({})).await;
    let feed = of(&server, "feed").await;
    let keys: Vec<&Value> = feed["hottest"].as_array().unwrap().iter().map(|hot| &hot["key"]).collect();
    assert_eq!(keys, ["post"]);
    assert_eq!(feed["hottest"][0]["id"], Value::Null);
}
