//! Work before an execution, even for refused requests: it is charged to the caller, and no body is read of a
//! caller without quota.

use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::fair_queue::FairQueueLimits;
use onehop_graphql_server::pipeline::prepare::{
    DECODED_BYTES_PER_RU, PARSED_TOKENS_PER_RU, PreparationLimits, REQUEST_RU, VALIDATED_FIELDS_PER_RU,
};
use onehop_graphql_server::pipeline::rate_limit::RateLimits;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::http::client::{Answer, Exchange, GRAPHQL_RESPONSE, post, post_text, read_answer};
use crate::http::toy::{Options, Toy};
use onehop_testing::websocket::WebSocketClient;

/// The capacity of a quota.
const QUOTA_RU: u32 = 10_000;

/// A server whose clock stands still, so that quotas show the charges.
async fn toy() -> Toy {
    let callers = RateLimits { ru_per_second: QUOTA_RU, burst_seconds: 1, ..RateLimits::default() };
    let preparation = PreparationLimits::default();
    let limits = RequestLimits { callers, preparation, ..RequestLimits::default() };
    Toy::start_with(Options { limits, ..Options::default() }).await
}

/// The rest of the quota, in whole request units.
fn left(answer: &Answer) -> u32 {
    let limit = answer.header("ratelimit").unwrap_or_else(|| panic!("no quota: {answer:?}"));
    let left = limit.split_once("r=").and_then(|(_, rest)| rest.split_once(';')).expect("what is left").0;
    left.parse().expect("a number")
}

/// The request charge in an answer of a new server, rounded up.
async fn charged(request: Exchange) -> (Answer, u32) {
    let toy = toy().await;
    let answer = request.send(toy.address).await;
    let charged = QUOTA_RU - left(&answer);
    (answer, charged)
}

fn rounded(charge: f64) -> u32 {
    charge.ceil() as u32
}

fn body_charge(body: &str) -> f64 {
    REQUEST_RU + body.len() as f64 / f64::from(DECODED_BYTES_PER_RU)
}

#[tokio::test]
async fn what_cannot_be_parsed_is_charged_for_its_bytes_and_tokens() {
    let document = format!("{{ a(b: [{}]) ", "1 ".repeat(2_000));
    let body = json!({ "query": document }).to_string();
    let (answer, charge) = charged(post_text(body.clone()).accept(GRAPHQL_RESPONSE)).await;
    assert_eq!((answer.status, answer.code().as_str()), (400, "GRAPHQL_PARSE_FAILED"));
    assert_eq!(answer.json()["extensions"]["requestCharge"], json!(0.0), "the store charged nothing");
    let tokens = 2_000.0 + 8.0;
    assert_eq!(charge, rounded(body_charge(&body) + tokens / f64::from(PARSED_TOKENS_PER_RU)));
}

#[tokio::test]
async fn what_is_not_valid_is_charged_for_its_fields() {
    let document = format!("{{ nested {{ {} }} }}", "none ".repeat(30));
    let body = json!({ "query": document }).to_string();
    let (answer, charge) = charged(post_text(body.clone()).accept(GRAPHQL_RESPONSE)).await;
    assert_eq!(answer.status, 400, "{answer:?}");
    let (tokens, fields) = (35.0, 31.0);
    let expected = body_charge(&body)
        + tokens / f64::from(PARSED_TOKENS_PER_RU)
        + fields / f64::from(VALIDATED_FIELDS_PER_RU);
    assert!((rounded(expected)..=rounded(expected + 1.0)).contains(&charge), "{charge} {expected}");
}

#[tokio::test]
async fn a_body_in_gzip_is_charged_for_what_it_becomes() {
    let body = format!("{{\"query\":\"{{ viewer }}\",\"variables\":{{\"a\":\"{}\"}}}}", "a".repeat(700_000));
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(body.as_bytes()).unwrap();
    let coded = post_text(encoder.finish().unwrap()).header("Content-Encoding", "gzip");
    let (answer, charge) = charged(coded).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    // The toy charges 1 RU for the execution.
    let decoded = rounded(body_charge(&body));
    assert!((decoded..=decoded + 2).contains(&charge), "{charge} {decoded}");
}

#[tokio::test]
async fn a_document_is_charged_once_for_being_parsed() {
    let toy = toy().await;
    // It parses, and the schema refuses it: a list is no id.
    let document = format!("{{ item(id: [{}]) }}", "1 ".repeat(2_000));
    let mut charges = Vec::new();
    let mut before = QUOTA_RU;
    for comment in ["first", "second", "third"] {
        let answer = post(json!({ "query": format!("{document} # {comment}") })).send(toy.address).await;
        assert_eq!(answer.code(), "GRAPHQL_VALIDATION_FAILED");
        charges.push(before - left(&answer));
        before = left(&answer);
    }
    let parsing = rounded(2_000.0 / f64::from(PARSED_TOKENS_PER_RU));
    assert!(charges[0] >= parsing && charges[1] < parsing && charges[2] < parsing, "{charges:?}");
}

#[tokio::test]
async fn no_body_is_read_of_a_caller_without_quota() {
    let callers = RateLimits { ru_per_second: 1, burst_seconds: 1, ..RateLimits::default() };
    let limits = RequestLimits { callers, ..RequestLimits::default() };
    let toy = Toy::start_with(Options { limits, ..Options::default() }).await;
    assert_eq!(post(json!({ "query": "{ viewer }" })).send(toy.address).await.status, 200);
    for token in ["", "Authorization: Bearer ada\r\n"] {
        let mut stream = TcpStream::connect(toy.address).await.unwrap();
        let head = format!(
            "POST /graphql HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{token}Content-Length: 9\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        // The body never comes.
        if token.is_empty() {
            let refused = read_answer(&mut stream).await;
            assert_eq!((refused.status, refused.code().as_str()), (429, "LIMIT_EXCEEDED"));
        } else {
            stream.write_all(b"not json!").await.unwrap();
            assert_eq!(read_answer(&mut stream).await.status, 400, "a user has another quota");
        }
    }
}

#[tokio::test]
async fn small_requests_need_no_turn_among_large_ones() {
    let queue = FairQueueLimits { at_once: 0, waiting_max: 1 };
    let preparation = PreparationLimits { queue, ..PreparationLimits::default() };
    let limits = RequestLimits { preparation, timeout: Duration::from_millis(1), ..RequestLimits::default() };
    let toy = Toy::start_with(Options { limits, ..Options::default() }).await;
    let large = json!({ "query": "{ viewer }", "variables": { "a": "x".repeat(200_000) } });
    let answer = post(large).send(toy.address).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "UNAVAILABLE"));
}

#[tokio::test]
async fn unknown_members_of_a_request_are_small() {
    let toy = Toy::start().await;
    let with = |value: Value| post(json!({ "query": "{ viewer }", "more": value, "id": "mine" }));
    assert_eq!(with(json!({ "a": [1, 2] })).send(toy.address).await.status, 200);
    let refused = with(json!("x".repeat(5_000))).accept(GRAPHQL_RESPONSE).send(toy.address).await;
    let extensions = refused.json()["errors"][0]["extensions"].take();
    assert_eq!((refused.status, &extensions["limit"]), (400, &json!("unknown-members-bytes-max")));
}

#[tokio::test]
async fn operations_on_a_websocket_are_charged_too() {
    let toy = toy().await;
    let mut socket = WebSocketClient::open(toy.address).await;
    let document = format!("{{ a(b: [{}]) ", "1 ".repeat(2_000));
    socket.subscribe("1", &document).await;
    let errors = socket.hear_of("error", "1").await;
    assert_eq!(errors[0]["extensions"]["code"], "GRAPHQL_PARSE_FAILED");
    let answer = post(json!({ "query": "{ viewer }" })).send(toy.address).await;
    assert!(QUOTA_RU - left(&answer) >= rounded(2_000.0 / f64::from(PARSED_TOKENS_PER_RU)), "{answer:?}");
}
