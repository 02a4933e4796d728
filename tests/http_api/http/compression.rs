//! Answers of queries are compressed for clients that take it, and no other answers are.

use onehop_graphql_server::endpoint::RequestLimits;
use serde_json::{Value, json};

use crate::http::client::{Exchange, get, post, request};
use crate::http::toy::{Options, Toy};

/// Answers so many characters, and some more.
fn long(chars: usize) -> Value {
    let query = "query($name: String!, $times: Int!) { greet(greeting: { name: $name, times: $times }) }";
    json!({ "query": query, "variables": { "name": "Ada and ", "times": chars / 8 } })
}

fn taking(coding: &str, exchange: Exchange) -> Exchange {
    exchange.header("Accept-Encoding", coding)
}

/// A server that compresses from so many bytes on.
async fn toy(compress_bytes_min: usize) -> Toy {
    let limits = RequestLimits { compress_bytes_min, ..RequestLimits::default() };
    Toy::start_with(Options { limits, ..Options::default() }).await
}

#[tokio::test]
async fn the_answer_of_a_query_is_the_same_in_every_coding() {
    let toy = Toy::start().await;
    for chars in [2_000, 1_000_000] {
        let plain = post(long(chars)).send(toy.address).await;
        assert_eq!((plain.header("content-encoding"), plain.header("vary")), (None, Some("accept-encoding")));
        for coding in ["gzip", "br, GZIP;q=0.5", "deflate, gzip"] {
            let answer = taking(coding, post(long(chars))).send(toy.address).await;
            assert_eq!(answer.header("content-encoding"), Some("gzip"), "{coding}");
            assert_eq!(answer.header("vary"), Some("accept-encoding"));
            assert_eq!(answer.header("content-length"), Some(answer.body_bytes.to_string().as_str()));
            assert!(answer.body_bytes * 4 < plain.body_bytes, "{coding}: {}", answer.body_bytes);
            assert!(answer.text == plain.text, "{coding}");
        }
        for coding in ["br", "gzip;q=0", "identity", "*"] {
            let answer = taking(coding, post(long(chars))).send(toy.address).await;
            assert_eq!((answer.header("content-encoding"), answer.body_bytes), (None, plain.body_bytes));
        }
    }
}

#[tokio::test]
async fn short_responses_are_not_compressed() {
    for (bytes_min, chars, coding) in
        [(1_024, 800, None), (1_024, 1_200, Some("gzip")), (50_000, 1_200, None), (0, 100_000, None)]
    {
        let answer = taking("gzip", post(long(chars))).send(toy(bytes_min).await.address).await;
        assert_eq!(answer.header("content-encoding"), coding, "{bytes_min} {chars}");
        assert_eq!(answer.header("vary").is_some(), bytes_min > 0);
    }
}

#[tokio::test]
async fn what_is_no_answer_of_a_query_is_never_compressed() {
    let toy = toy(1).await;
    let query = json!({ "query": "{ viewer }" });
    let mutation = json!({ "query": "mutation { count }" });
    let either = "application/json, text/event-stream";
    for (exchange, status) in [
        (post(mutation.clone()), 200),
        (post(mutation.clone()).accept(either), 200),
        (post(json!({ "query": "{ nothing" })).accept("application/json"), 200),
        (post(query.clone()).header("Authorization", "Bearer forged"), 401),
        (post(query.clone()).accept("text/event-stream"), 200),
        (post(json!({ "query": "subscription { countsTo(last: 3) }" })).accept("text/event-stream"), 200),
    ] {
        let answer = taking("gzip", exchange).send(toy.address).await;
        assert_eq!((answer.status, answer.header("content-encoding")), (status, None), "{answer:?}");
    }
    for exchange in [post(query.clone()), post(query).accept(either), get(&[("query", "{ viewer }")])] {
        let answer = taking("gzip", exchange).send(toy.address).await;
        assert_eq!(answer.header("content-encoding"), Some("gzip"));
        assert!(answer.has_data());
    }
}

#[tokio::test]
async fn each_content_coding_has_its_own_entity_tag() {
    let toy = toy(1).await;
    // The reads of the first are known, and of the second only its bytes.
    for query in ["{ item(id: \"x\") }", "{ page(first: 3) }"] {
        let ask = |coding: &str| taking(coding, get(&[("query", query)]));
        let (plain, coded) = (ask("").send(toy.address).await, ask("gzip").send(toy.address).await);
        assert_eq!(plain.text, coded.text);
        assert!(plain.header("etag").is_some());
        assert_ne!(plain.header("etag"), coded.header("etag"));
        for (coding, first, status) in [("", &plain, 304), ("gzip", &coded, 304), ("gzip", &plain, 200)] {
            let tag = first.header("etag").unwrap();
            let again = ask(coding).header("If-None-Match", tag).send(toy.address).await;
            assert_eq!(again.status, status, "{query} {coding}");
            assert_eq!(again.header("vary"), Some("accept, accept-encoding, authorization, onehop-position"));
            if status == 304 {
                assert_eq!((again.header("etag"), again.body_bytes), (Some(tag), 0));
            }
        }
    }
}

#[tokio::test]
async fn a_head_says_how_long_the_compressed_answer_is() {
    let toy = toy(1).await;
    let target = "/graphql?query=%7B%20viewer%20%7D";
    let [answer, head] = [request("GET", target), request("HEAD", target)].map(|sent| taking("gzip", sent));
    let (answer, head) = (answer.send(toy.address).await, head.send(toy.address).await);
    assert_eq!((head.header("content-encoding"), head.body_bytes), (Some("gzip"), 0));
    assert_eq!(head.header("content-length"), answer.header("content-length"));
}
