//! The request charge in a response.

use std::sync::{Arc, Mutex};

use async_graphql::Request;
use onehop_graphql_server::caller::{Caller, RequestRejection};
use onehop_graphql_server::quota::QuotaAccount;
use serde_json::{Value, json};

use crate::support::blog::{NOW_MS, execute, small, user_id, user_node};

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
async fn operations_are_in_the_response_on_request() {
    let blog = small().await;
    let query = format!("{{ user(id: \"{}\", model: V1) {{ posts {{ nodes {{ id }} }} }} }}", user_node(0));
    let mut request = Request::new(query);
    request.extensions.insert("operations".to_owned(), async_graphql::Value::from(true));
    let response = crate::support::blog::execute_as(&blog.executor, request, None).await;
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

/// An account that remembers its opener and its charges.
#[derive(Default)]
struct Remembering {
    opened: Mutex<Vec<Option<String>>>,
    charged: Mutex<Vec<f64>>,
}

impl QuotaAccount for Remembering {
    fn open(&self, caller: Option<&Caller>) -> Result<(), RequestRejection> {
        self.opened.lock().unwrap().push(caller.map(|caller| caller.id.clone()));
        Ok(())
    }

    fn check(&self) -> Result<(), RequestRejection> {
        Ok(())
    }

    fn charge(&self, request_charge: f64) {
        self.charged.lock().unwrap().push(request_charge);
    }
}

#[tokio::test]
async fn the_quota_of_the_tokens_user_is_charged_as_stated() {
    let blog = small().await;
    let token = blog.token_of(0, NOW_MS).await;
    for bearer in [Some(token.as_str()), None] {
        let account = Arc::new(Remembering::default());
        let query = format!("{{ user(id: \"{}\") {{ posts {{ nodes {{ id }} }} }} }}", user_node(0));
        let response =
            execute(&blog.executor, Request::new(query), bearer, Arc::clone(&account) as _).await.unwrap();
        let caller = bearer.map(|_| user_id(0).to_string());
        assert_eq!(*account.opened.lock().unwrap(), [caller]);
        let told = serde_json::to_value(&response.extensions).unwrap()["requestCharge"].as_f64().unwrap();
        let charged = account.charged.lock().unwrap().clone();
        assert!(charged.len() == 1 && told > 1.0 && (charged[0] - told).abs() < 0.01, "{charged:?} {told}");
    }
}

#[tokio::test]
async fn a_cancelled_request_is_charged_for_its_operations() {
    let blog = small().await;
    blog.store.hold();
    let account = Arc::new(Remembering::default());
    let query = format!("{{ user(id: \"{}\", model: V1) {{ posts {{ nodes {{ id }} }} }} }}", user_node(0));
    tokio::select! {
        _ = execute(&blog.executor, Request::new(query), None, Arc::clone(&account) as _) => panic!("it was answered"),
        () = blog.store.held.notified() => {}
    }
    // A point read, and an operation with an unknown charge.
    assert_eq!(*account.charged.lock().unwrap(), [1.0 + 10.0]);
}
