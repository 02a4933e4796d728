//! HTTP batches: several GraphQL requests in one HTTP request are refused, even valid ones.

use std::sync::atomic::Ordering;

use serde_json::json;

use crate::http::client::post;
use crate::http::toy::{Options, Toy};

#[tokio::test]
async fn a_batch_is_refused_and_none_of_it_runs() {
    let toy = Toy::start_with(Options::default()).await;
    let request = json!({ "query": "mutation { count }" });
    for body in [json!([]), json!([request]), json!([request, request])] {
        let answer = post(body).send(toy.address).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "BAD_USER_INPUT"));
        let message = answer.json()["errors"][0]["message"].clone();
        assert_eq!(message, "The body is a batch: send its requests one by one.");
    }
    assert_eq!(toy.state.mutations.load(Ordering::Relaxed), 0);
}
