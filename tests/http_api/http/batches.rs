//! Several GraphQL requests in one HTTP request: not taken unless the configuration says so, and then held together to
//! the limits of one.

use std::sync::atomic::Ordering;

use onehop_graphql_server::graphql_http::RequestLimits;
use onehop_graphql_server::graphql_request::BodyLimits;
use serde_json::{Value, json};

use crate::http::client::{GRAPHQL_RESPONSE, JSON, post};
use crate::http::toy::{COMPLEXITY_MAX, Options, Toy};

async fn toy(batch_max: usize) -> Toy {
    let body = BodyLimits { batch_max, ..BodyLimits::default() };
    let limits = RequestLimits { body, ..RequestLimits::default() };
    Toy::start_with(Options { limits, ..Options::default() }).await
}

fn queries(number: usize, query: &str) -> Value {
    Value::Array(vec![json!({ "query": query }); number])
}

#[tokio::test]
async fn a_batch_is_refused_by_the_name_of_the_limit_unless_batches_are_allowed() {
    let toy = toy(0).await;
    for body in [json!([]), queries(1, "mutation { count }"), queries(2, "mutation { count }")] {
        let answer = post(body).send(toy.address).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "LIMIT_EXCEEDED"));
        let extensions = &answer.json()["errors"][0]["extensions"];
        assert_eq!((&extensions["limit"], &extensions["max"]), (&json!("batch-max"), &json!(0)));
    }
    assert_eq!(toy.state.mutations.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_batch_is_answered_in_its_order_and_each_request_for_itself() {
    let toy = toy(4).await;
    let batch = json!([
        { "query": "mutation { count }" },
        { "query": "{ unknown }" },
        { "query": "{" },
        { "query": "query($id: ID!) { item(id: $id) }", "variables": { "id": "x" } },
    ]);
    for accept in [GRAPHQL_RESPONSE, JSON] {
        let answer = post(batch.clone()).accept(accept).send(toy.address).await;
        assert_eq!(answer.status, 200);
        let responses = answer.json();
        assert!(responses[0]["data"]["count"].is_u64(), "{responses}");
        for refused in [&responses[1], &responses[2]] {
            assert!(
                refused.get("data").is_none() && refused["errors"][0]["message"].is_string(),
                "{responses}"
            );
        }
        assert_eq!(responses[3]["data"], json!({ "item": "x" }));
        assert_eq!(responses.as_array().unwrap().len(), 4);
    }
}

#[tokio::test]
async fn a_batch_longer_than_allowed_or_malformed_runs_nothing() {
    let toy = toy(2).await;
    for (body, code) in [
        (queries(3, "mutation { count }"), "LIMIT_EXCEEDED"),
        (queries(100_000, "mutation { count }").to_string().parse().unwrap(), "LIMIT_EXCEEDED"),
        (json!([]), "BAD_USER_INPUT"),
        (json!([{ "query": "mutation { count }" }, 7]), "BAD_USER_INPUT"),
        (json!([{ "query": "mutation { count }" }, { "variables": {} }]), "BAD_USER_INPUT"),
        (json!([[{ "query": "mutation { count }" }]]), "BAD_USER_INPUT"),
    ] {
        let answer = post(body).send(toy.address).await;
        assert_eq!((answer.status / 100, answer.code().as_str()), (4, code), "{}", answer.text);
    }
    assert_eq!(toy.state.mutations.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_batch_may_not_ask_more_than_one_request_may() {
    let toy = toy(10).await;
    let select = |fields: usize| format!("mutation {{ count {} }}", "__typename ".repeat(fields - 1));
    let at = COMPLEXITY_MAX / 10;
    let commands = onehop_graphql_server::document_limits::MUTATION_ROOT_FIELDS_MAX;
    for (batch, limit) in [
        (queries(10, &format!("query A {{ {} }}", "viewer ".repeat(at + 1))), "query-root-fields-max"),
        (queries(2, &select(commands / 2 + 1)), "mutation-root-fields-max"),
        (queries(10, &format!("{{ nested {{ {} }} }}", "viewer ".repeat(at))), "complexity-max"),
    ] {
        let answer = post(batch).send(toy.address).await;
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (400, "LIMIT_EXCEEDED"),
            "{limit}: {}",
            answer.text
        );
        assert_eq!(answer.json()["errors"][0]["extensions"]["limit"], limit);
    }
    assert_eq!(toy.state.mutations.load(Ordering::Relaxed), 0);
    let answer = post(queries(10, "{ nested { viewer } }")).send(toy.address).await;
    assert_eq!(answer.json().as_array().unwrap().len(), 10);
}

#[tokio::test]
async fn a_batch_with_a_bad_token_is_refused_as_a_whole() {
    let toy = toy(2).await;
    let exchange = post(queries(2, "mutation { count }")).header("Authorization", "Bearer forged");
    assert_eq!(exchange.send(toy.address).await.status, 401);
    assert_eq!(toy.state.mutations.load(Ordering::Relaxed), 0);
}
