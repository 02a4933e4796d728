//! Framing of requests on the wire (RFC 9112): a request with two readings gets 400, nothing behind it is
//! answered, and the connection is closed.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::http::toy::Toy;

const BODY: &str = r#"{"query":"{ viewer }"}"#;
const JSON: &str = "Content-Type: application/json\r\n";
/// A request that a proxy with the other reading would let pass.
const SMUGGLED: &str = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";

/// All answers to these bytes until the connection ends.
async fn answered(toy: &Toy, request: &str) -> String {
    let mut stream = TcpStream::connect(toy.address).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

/// The statuses of all answers.
fn statuses(answer: &str) -> Vec<&str> {
    answer.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect()
}

fn in_chunks(body: &str) -> String {
    format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len())
}

#[tokio::test]
async fn requests_with_two_readings_get_400_and_the_end() {
    let toy = Toy::start().await;
    let (length, chunks) = (format!("Content-Length: {}\r\n", BODY.len()), in_chunks(BODY));
    let post =
        |headers: &str, body: &str| format!("POST /graphql HTTP/1.1\r\nHost: a\r\n{JSON}{headers}\r\n{body}");
    for request in [
        "GET /healthz HTTP/1.1\nHost: a\n\n".to_owned(),
        "GET /healthz HTTP/1.1\r\nHost: a\n\r\n".to_owned(),
        "GET /healthz HTTP/1.1\r\nHost: a\r\n\n".to_owned(),
        "\nGET /healthz HTTP/1.1\r\nHost: a\r\n\r\n".to_owned(),
        "GET /healthz HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n".to_owned(),
        "GET /healthz HTTP/1.1\r\nHost: a\r\nX : a\r\n\r\n".to_owned(),
        "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n".to_owned(),
        post(&format!("{length}{length}"), BODY),
        post("Content-Length: 1\r\nContent-Length: 2\r\n", BODY),
        post(&format!("Content-Length: {0}, {0}\r\n", BODY.len()), BODY),
        post(&format!("Content-Length: +{}\r\n", BODY.len()), BODY),
        post(&format!("{length}Transfer-Encoding: chunked\r\n"), &chunks),
        post(&format!("Transfer-Encoding: chunked\r\n{length}"), &chunks),
        post("Transfer-Encoding: identity, chunked\r\n", &chunks),
        post("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", &chunks),
        post("Transfer-Encoding: chunked, identity\r\n", &chunks),
        post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", &chunks),
        post("Transfer-Encoding: xchunked\r\n", &chunks),
        post("Transfer-Encoding: chunked\r\n", &chunks.replace("\r\n", "\n")),
        post("Transfer-Encoding: chunked\r\n", &format!("{:x};a\n{BODY}\r\n0\r\n\r\n", BODY.len())),
    ] {
        let answer = answered(&toy, &format!("{request}{SMUGGLED}")).await;
        assert_eq!(statuses(&answer), ["400"], "{request:?}: {answer}");
        assert!(answer.to_ascii_lowercase().contains("connection: close"), "{request:?}: {answer}");
    }
}

#[tokio::test]
async fn requests_with_one_reading_follow_each_other() {
    let toy = Toy::start().await;
    let head = format!("POST /graphql HTTP/1.1\r\nHost: a\r\n{JSON}");
    let by_length = format!("{head}Content-Length: {}\r\n\r\n{BODY}", BODY.len());
    let (first, rest) = BODY.split_at(5);
    let by_chunks = format!(
        "{head}Transfer-Encoding: chunked\r\n\r\n5;name=value\r\n{first}\r\n{:X}\r\n{rest}\r\n0\r\nX: y\r\n\r\n",
        rest.len()
    );
    let answer = answered(&toy, &format!("{by_length}{by_chunks}\r\n{SMUGGLED}{by_length}")).await;
    assert_eq!(statuses(&answer), ["200", "200", "200", "200"], "{answer}");
}

#[tokio::test]
async fn a_request_that_is_not_upgraded_is_the_last_one() {
    let toy = Toy::start().await;
    let upgrade = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n";
    let answer = answered(&toy, &format!("{upgrade}GET /healthz HTTP/1.1\nHost: a\n\n")).await;
    assert_eq!(statuses(&answer), ["200"], "{answer}");
}
