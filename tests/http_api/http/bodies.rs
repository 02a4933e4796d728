//! Bodies of requests on the wire: bodies that are answered before they are read, and coded ones.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use onehop_graphql_server::endpoint::RequestLimits;
use onehop_graphql_server::pipeline::parse::BodyLimits;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http::client::{post, post_text, request};
use crate::http::toy::{Options, Toy};

async fn toy_with_bodies_of(bytes_max: usize) -> Toy {
    let body = BodyLimits { bytes_max, ..BodyLimits::default() };
    let limits = RequestLimits { body, ..RequestLimits::default() };
    Toy::start_with(Options { limits, ..Options::default() }).await
}

/// Writes all of a request before it reads, as simple clients do.
async fn status_after_writing(toy: &Toy, request: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(toy.address).await.unwrap();
    stream.write_all(request).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn a_body_far_beyond_the_limit_gets_413_and_no_reset() {
    let toy = toy_with_bodies_of(100_000).await;
    let body = vec![b' '; 20_000_000];
    let (status, answer) = status_after_writing(&toy, &post_text(body).encode("keep-alive")).await;
    assert!(status == 413 && answer.contains("body-bytes-max"), "{answer}");
}

#[tokio::test]
async fn a_multipart_body_of_many_parts_gets_415_and_no_reset() {
    let toy = Toy::start().await;
    let part = "--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n".repeat(100_000);
    let upload = request("POST", "/graphql")
        .header("Content-Type", "multipart/form-data; boundary=x")
        .header("GraphQL-Require-Preflight", "1")
        .body(part + "--x--\r\n");
    let (status, answer) = status_after_writing(&toy, &upload.encode("keep-alive")).await;
    assert_eq!(status, 415, "{answer}");
}

#[tokio::test]
async fn a_body_to_where_none_is_taken_gets_its_answer() {
    let toy = Toy::start().await;
    let upload = request("POST", "/healthz").body(vec![b'x'; 10_000_000]);
    assert_eq!(status_after_writing(&toy, &upload.encode("keep-alive")).await.0, 405);
}

#[tokio::test]
async fn a_body_in_gzip_is_read() {
    let toy = Toy::start().await;
    let body = gzip(json!({ "query": "{ item(id: 7) }" }).to_string().as_bytes());
    for coding in ["gzip", "x-gzip", "identity, gzip"] {
        let answer = post_text(body.clone()).header("Content-Encoding", coding).send(toy.address).await;
        assert_eq!(answer.json()["data"]["item"], "7", "{coding}");
    }
    let plain = post(json!({ "query": "{ viewer }" })).header("Content-Encoding", "identity");
    assert!(plain.send(toy.address).await.has_data());
}

#[tokio::test]
async fn an_unknown_coding_gets_415_and_the_known_one() {
    let toy = Toy::start().await;
    for coding in ["br", "deflate", "gzip, gzip", "GZIP, br", "nonsense"] {
        let plain = post(json!({ "query": "{ viewer }" })).header("Content-Encoding", coding);
        let answer = plain.send(toy.address).await;
        assert_eq!((answer.status, answer.header("accept-encoding")), (415, Some("gzip")), "{coding}");
    }
}

#[tokio::test]
async fn what_is_not_gzip_gets_400() {
    let toy = Toy::start().await;
    let whole = gzip(br#"{"query":"{ viewer }"}"#);
    for body in [br#"{"query":"{ viewer }"}"#.to_vec(), whole[..whole.len() - 4].to_vec()] {
        let answer = post_text(body).header("Content-Encoding", "gzip").send(toy.address).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "BAD_USER_INPUT"));
    }
}

#[tokio::test]
async fn a_body_that_grows_beyond_the_limit_gets_413() {
    let toy = toy_with_bodies_of(1_000_000).await;
    let bomb = gzip(&vec![b' '; 500_000_000]);
    assert!(bomb.len() < 1_000_000);
    let answer = post_text(bomb).header("Content-Encoding", "gzip").send(toy.address).await;
    assert_eq!((answer.status, answer.code().as_str()), (413, "LIMIT_EXCEEDED"));
}
