//! Routes other than GraphQL's, panics, and origins.

use axum::http::HeaderValue;
use onehop_graphql_server::health::UnreadyPart;
use onehop_graphql_server::router::Exposure;
use serde_json::json;

use crate::http::client::{GRAPHQL_RESPONSE, post, request};
use crate::http::toy::{ERROR_ID, Options, Toy};

const ORIGIN: &str = "https://blog.example";

#[tokio::test]
async fn process_that_lives_is_healthy_and_ready_when_all_parts_are() {
    let toy = Toy::start().await;
    let answer = request("GET", "/healthz").send(toy.address).await;
    assert_eq!((answer.status, answer.json()), (200, json!({ "status": "alive" })));
    let answer = request("GET", "/readyz").send(toy.address).await;
    assert_eq!((answer.status, answer.json()), (200, json!({ "status": "ready" })));
}

#[tokio::test]
async fn an_unready_process_is_healthy_and_names_the_part() {
    let unready = vec![UnreadyPart { part: "store".to_owned(), reason: "no answer".to_owned() }];
    let toy = Toy::start_with(Options { unready, ..Options::default() }).await;
    assert_eq!(request("GET", "/healthz").send(toy.address).await.status, 200);
    let answer = request("GET", "/readyz").send(toy.address).await;
    assert_eq!(answer.status, 503);
    let reasons = json!([{ "part": "store", "reason": "no answer" }]);
    assert_eq!(answer.json(), json!({ "status": "unready", "reasons": reasons }));
}

#[tokio::test]
async fn panic_of_a_resolver_is_answered_with_a_masked_500() {
    let toy = Toy::start().await;
    let answer = post(json!({ "query": "{ panics }" })).accept(GRAPHQL_RESPONSE).send(toy.address).await;
    assert_eq!((answer.status, answer.code().as_str()), (500, "INTERNAL"));
    assert_eq!(answer.json()["errors"][0]["extensions"]["errorId"], ERROR_ID.to_string());
    assert!(!answer.text.contains("secret"), "{}", answer.text);
    assert_eq!(post(json!({ "query": "{ viewer }" })).send(toy.address).await.status, 200);
}

#[tokio::test]
async fn unknown_path_is_a_short_404_that_no_browser_sniffs() {
    let toy = Toy::start().await;
    let answer = request("GET", "/nothing").send(toy.address).await;
    assert_eq!((answer.status, answer.content_type()), (404, "text/plain; charset=utf-8"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
}

#[tokio::test]
async fn root_without_a_web_build_says_how_to_build_it() {
    let toy = Toy::start().await;
    let answer = request("GET", "/").send(toy.address).await;
    assert!(answer.status == 200 && answer.text.contains("make web"), "{answer:?}");
    let head = request("HEAD", "/").send(toy.address).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
}

#[tokio::test]
async fn no_other_origin_reads_an_answer_by_default() {
    let toy = Toy::start().await;
    let exchange = post(json!({ "query": "{ viewer }" })).header("Origin", ORIGIN);
    assert_eq!(exchange.send(toy.address).await.header("access-control-allow-origin"), None);
    let preflight = request("OPTIONS", "/graphql")
        .header("Origin", ORIGIN)
        .header("Access-Control-Request-Method", "POST")
        .header("Access-Control-Request-Headers", "content-type");
    assert_eq!(preflight.send(toy.address).await.status, 405);
}

#[tokio::test]
async fn only_an_origin_that_the_configuration_names_reads_answers() {
    let allowed_origins = vec![HeaderValue::from_static(ORIGIN)];
    let exposure = Exposure { allowed_origins, ..Exposure::default() };
    let toy = Toy::start_with(Options { exposure, ..Options::default() }).await;
    let preflight = |origin| {
        request("OPTIONS", "/graphql")
            .header("Origin", origin)
            .header("Access-Control-Request-Method", "POST")
            .header("Access-Control-Request-Headers", "authorization,content-type")
    };
    let answer = preflight(ORIGIN).send(toy.address).await;
    assert_eq!(answer.header("access-control-allow-origin"), Some(ORIGIN));
    assert!(
        answer.header("access-control-allow-headers").is_some_and(|names| names.contains("authorization"))
    );
    let exchange = post(json!({ "query": "{ viewer }" })).header("Origin", ORIGIN);
    assert_eq!(exchange.send(toy.address).await.header("access-control-allow-origin"), Some(ORIGIN));

    for other in ["https://evil.example", "https://blog.example.evil.example", "null"] {
        let answer = preflight(other).send(toy.address).await;
        assert_eq!(answer.header("access-control-allow-origin"), None, "{other}");
    }
}
