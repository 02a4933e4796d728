//! The rules of GraphQL over server-sent events in the mode of distinct connections, one by one:
//! <https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md>.

use std::sync::atomic::Ordering;
use std::time::Duration;

use onehop_graphql_server::live::LiveLimits;
use serde_json::{Value, json};

use crate::http::toy::{LONG, Options, Toy};
use onehop_testing::event_stream::{EventStream, ServerSentEvent};

const EVENT_STREAM: &str = "text/event-stream";
const AT_ONCE: Duration = Duration::from_millis(1);

fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

async fn send(toy: &Toy, body: &Value, headers: &[(&str, &str)]) -> reqwest::Response {
    let url = format!("http://{}/graphql", toy.address);
    let mut request = client().post(url).header("content-type", "application/json").body(body.to_string());
    if !headers.iter().any(|(name, _)| *name == "accept") {
        request = request.header("accept", EVENT_STREAM);
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap()
}

async fn stream(toy: &Toy, query: &str) -> EventStream {
    EventStream::of(send(toy, &json!({ "query": query }), &[]).await)
}

async fn toy_with(live: LiveLimits) -> Toy {
    Toy::start_with(Options { live, ..Options::default() }).await
}

fn code(result: &Value) -> &str {
    result["errors"][0]["extensions"]["code"].as_str().unwrap()
}

#[tokio::test]
async fn a_subscription_is_a_stream_of_results() {
    let toy = Toy::start().await;
    let mut stream = stream(&toy, "subscription { numbers { value odd } }").await;
    toy.state.tell(1);
    assert_eq!(stream.result().await, json!({ "data": { "numbers": { "value": 1, "odd": true } } }));
    toy.state.tell(2);
    let result = stream.result().await;
    assert_eq!(
        (&result["data"]["numbers"]["odd"], &result["errors"][0]["path"]),
        (&Value::Null, &json!(["numbers", "odd"]))
    );
}

#[tokio::test]
async fn the_stream_says_that_it_is_one_and_is_not_stored() {
    let toy = Toy::start().await;
    let response = send(&toy, &json!({ "query": "subscription { numbers { value } }" }), &[]).await;
    let header = |name: &str| response.headers()[name].to_str().unwrap();
    assert_eq!(header("content-type"), "text/event-stream; charset=utf-8");
    assert_eq!((header("cache-control"), header("x-accel-buffering")), ("no-store", "no"));
    // The head comes at once, and something after it.
    assert_eq!(EventStream::of(response).raw().await, Some(ServerSentEvent::Comment));
}

#[tokio::test]
async fn a_subscription_ends_with_complete_and_the_stream_with_it() {
    let toy = Toy::start().await;
    let results = stream(&toy, "subscription { countsTo(last: 2) }").await.rest().await;
    assert_eq!(results, [1, 2].map(|number| json!({ "data": { "countsTo": number } })));
}

#[tokio::test]
async fn a_query_and_a_mutation_are_one_result_and_complete() {
    let toy = Toy::start().await;
    let expected = json!({ "data": { "viewer": null }, "extensions": { "requestCharge": 1 } });
    assert_eq!(stream(&toy, "{ viewer }").await.rest().await, [expected]);
    assert_eq!(stream(&toy, "mutation { count }").await.rest().await[0]["data"]["count"], 1);
}

#[tokio::test]
async fn an_operation_by_get_works_as_by_post() {
    let toy = Toy::start().await;
    let get = async |query: &str, variables: &str| {
        let url = reqwest::Url::parse_with_params(
            &format!("http://{}/graphql", toy.address),
            [("query", query), ("variables", variables)],
        );
        client().get(url.unwrap()).header("accept", EVENT_STREAM).send().await.unwrap()
    };
    let query = "subscription($last: Int!) { countsTo(last: $last) }";
    let response = get(query, r#"{"last":1}"#).await;
    assert_eq!(EventStream::of(response).rest().await, [json!({ "data": { "countsTo": 1 } })]);
    assert_eq!(EventStream::of(get("{ viewer }", "").await).rest().await.len(), 1);
    let mutation = get("mutation { count }", "").await;
    assert_eq!((mutation.status().as_u16(), mutation.headers()["allow"].to_str().unwrap()), (405, "POST"));
}

#[tokio::test]
async fn a_request_that_cannot_be_executed_gets_an_error_event() {
    let toy = Toy::start().await;
    for (body, expected) in [
        (json!({ "query": "{ unclosed" }), "GRAPHQL_PARSE_FAILED"),
        (json!({ "query": "{ nothing }" }), "GRAPHQL_VALIDATION_FAILED"),
        (json!({ "query": "query A { viewer } query B { viewer }" }), "BAD_USER_INPUT"),
        (json!({ "query": "query($a: ID!) { item(id: $a) }" }), "BAD_USER_INPUT"),
        (json!({ "query": "subscription { nothing }" }), "GRAPHQL_VALIDATION_FAILED"),
        (json!({ "query": "subscription { refused }" }), "NOT_FOUND"),
    ] {
        let results = EventStream::of(send(&toy, &body, &[]).await).rest().await;
        assert_eq!((results.len(), code(&results[0])), (1, expected), "{body}");
        assert!(results[0].get("data").is_none(), "nothing was executed");
    }
}

#[tokio::test]
async fn a_request_that_is_none_is_refused_by_its_status() {
    let toy = Toy::start().await;
    let url = format!("http://{}/graphql", toy.address);
    let post = |content_type: &str, body: &str| {
        client()
            .post(&url)
            .header("accept", EVENT_STREAM)
            .header("content-type", content_type)
            .body(body.to_owned())
    };
    for (request, expected) in [
        (post("application/json", "no json"), 400),
        (post("application/json", "{}"), 400),
        (post("text/plain", "{}"), 403),
        (post("application/graphql", "{}"), 415),
        (client().put(&url).header("accept", EVENT_STREAM), 405),
        (post("application/json", r#"{"query":"{ viewer }"}"#).bearer_auth("forged"), 401),
        (
            post("application/json", r#"{"query":"subscription { numbers { value } }"}"#)
                .bearer_auth("forged"),
            401,
        ),
        (
            post("application/json", r#"{"query":"subscription { numbers { value } }"}"#)
                .bearer_auth("overloaded"),
            503,
        ),
    ] {
        let response = request.send().await.unwrap();
        let content_type = response.headers()["content-type"].to_str().unwrap().to_owned();
        assert_eq!((response.status().as_u16(), &content_type[..16]), (expected, "application/json"));
    }
}

#[tokio::test]
async fn the_caller_is_that_of_the_authorization_header() {
    let toy = Toy::start().await;
    let body = json!({ "query": "subscription { numbers { viewer } }" });
    let mut stream = EventStream::of(send(&toy, &body, &[("authorization", "Bearer ada")]).await);
    toy.state.tell(1);
    assert_eq!(stream.result().await["data"]["numbers"]["viewer"], "ada");
    let body = json!({ "query": "{ viewer }" });
    let stream = EventStream::of(send(&toy, &body, &[("authorization", "Bearer ada")]).await);
    assert_eq!(stream.rest().await[0]["data"]["viewer"], "ada");
}

#[tokio::test]
async fn a_client_that_accepts_both_gets_streams_for_subscriptions() {
    let toy = Toy::start().await;
    let both = [("accept", "application/json, text/event-stream, multipart/mixed")];
    let single = send(&toy, &json!({ "query": "{ viewer }" }), &both).await;
    assert_eq!(single.headers()["content-type"], "application/json; charset=utf-8");
    let refused = send(&toy, &json!({ "query": "{ unclosed" }), &both).await;
    assert_eq!(refused.headers()["content-type"], "application/json; charset=utf-8");
    let body = json!({ "query": "subscription { countsTo(last: 1) }" });
    assert_eq!(EventStream::of(send(&toy, &body, &both).await).rest().await.len(), 1);
}

#[tokio::test]
async fn a_subscription_without_an_event_stream_is_refused() {
    let toy = Toy::start().await;
    let json = [("accept", "application/json")];
    let refused = send(&toy, &json!({ "query": "subscription { countsTo(last: 1) }" }), &json).await;
    let body: Value = refused.json().await.unwrap();
    assert!(body["errors"][0]["message"].as_str().unwrap().contains("text/event-stream"), "{body}");
}

#[tokio::test]
async fn a_stream_on_which_nothing_happens_is_kept_alive() {
    let toy = toy_with(LiveLimits { keep_alive: AT_ONCE, ..LiveLimits::default() }).await;
    let mut stream = stream(&toy, "subscription { numbers { value } }").await;
    for _ in 0..10 {
        assert_eq!(stream.raw().await, Some(ServerSentEvent::Comment));
    }
    toy.state.tell(1);
    assert_eq!(stream.result().await["data"]["numbers"]["value"], 1);
}

#[tokio::test]
async fn a_stream_ends_with_its_token() {
    let toy = Toy::start().await;
    let body = json!({ "query": "subscription { numbers { value } }" });
    let stream = EventStream::of(send(&toy, &body, &[("authorization", "Bearer brief-20")]).await);
    let results = stream.rest().await;
    assert_eq!((results.len(), code(&results[0])), (1, "UNAUTHENTICATED"));
}

#[tokio::test]
async fn every_stream_is_completed_when_the_process_stops() {
    let toy = Toy::start().await;
    let stream = stream(&toy, "subscription { numbers { value } }").await;
    toy.tasks.stop();
    assert!(stream.rest().await.is_empty());
    let (_no_signals, signals) = tokio::sync::mpsc::channel(1);
    toy.tasks.run_until(signals, LONG).await.unwrap();
}

#[tokio::test]
async fn a_client_that_leaves_ends_its_subscription() {
    let toy = toy_with(LiveLimits { keep_alive: AT_ONCE, ..LiveLimits::default() }).await;
    drop(stream(&toy, "subscription { numbers { value } }").await);
    while toy.state.subscriptions.load(Ordering::SeqCst) > 0 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn streams_are_limited_as_sockets_are() {
    let live = LiveLimits { connections_max: 2, subscriptions_per_user_max: 1, ..LiveLimits::default() };
    let toy = toy_with(live).await;
    let body = json!({ "query": "subscription { numbers { value } }" });
    let ada = [("authorization", "Bearer ada")];
    let _first = EventStream::of(send(&toy, &body, &ada).await);
    let results = EventStream::of(send(&toy, &body, &ada).await).rest().await;
    assert_eq!(code(&results[0]), "LIMIT_EXCEEDED");
    let _second = EventStream::of(send(&toy, &body, &[]).await);
    let refused = send(&toy, &body, &[]).await;
    assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].to_str().unwrap()), (503, "5"));
}
