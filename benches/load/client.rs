//! A client for HTTP/1.1 that does no more than a measurement needs: it keeps a connection open, sends one
//! request at a time and reads answers that say how long they are. Cheap, since it shares the cores with the
//! servers.

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The start of a response with this status.
const STATUS_OK: &[u8] = b"HTTP/1.1 200 ";
const CONTENT_LENGTH: &[u8] = b"content-length:";
/// Room for the largest answer that is measured, so that the buffer seldom grows.
const ANSWER_BYTES_EXPECTED: usize = 128 * 1024;

/// A connection to a server.
pub struct Connection {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Connection {
    /// Connects to `host:port`.
    pub async fn open(address: &str) -> Result<Self> {
        let stream =
            TcpStream::connect(address).await.with_context(|| format!("no connection to {address}"))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, received: Vec::with_capacity(ANSWER_BYTES_EXPECTED) })
    }

    /// Sends a request and gives the body of its answer, which has status 200.
    pub async fn send(&mut self, request: &[u8]) -> Result<&[u8]> {
        self.stream.write_all(request).await?;
        self.received.clear();
        let body = loop {
            if let Some(end) = find(&self.received, b"\r\n\r\n") {
                break end + 4;
            }
            self.receive().await?;
        };
        let head = &self.received[..body];
        if !head.starts_with(STATUS_OK) {
            bail!("not answered with 200: {}", String::from_utf8_lossy(&self.received));
        }
        let end = body + content_length(head).context("the length of the answer is not given")?;
        while self.received.len() < end {
            self.receive().await?;
        }
        ensure!(self.received.len() == end, "more was answered than announced");
        Ok(&self.received[body..])
    }

    /// Asks a GraphQL question and reads its `data`, of which there has to be some without errors.
    pub async fn ask<T: DeserializeOwned>(
        &mut self,
        document: &str,
        variables: &serde_json::Value,
    ) -> Result<T> {
        self.ask_at("/graphql", document, variables).await
    }

    /// The same of another endpoint.
    pub async fn ask_at<T: DeserializeOwned>(
        &mut self,
        path: &str,
        document: &str,
        variables: &serde_json::Value,
    ) -> Result<T> {
        #[derive(Deserialize)]
        struct Answer<T> {
            data: Option<T>,
            #[serde(default)]
            errors: Vec<serde_json::Value>,
        }

        let mut request = Vec::new();
        RequestTemplate::new(document).at(path).write(&variables.to_string(), None, &mut request);
        let body = self.send(&request).await?;
        let answer: Answer<T> = serde_json::from_slice(body)?;
        if let Some(error) = answer.errors.first() {
            bail!("answered with an error: {error}");
        }
        answer.data.context("answered without data")
    }

    /// The body of a page.
    pub async fn get(&mut self, path: &str) -> Result<String> {
        let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        Ok(String::from_utf8(self.send(request.as_bytes()).await?.to_vec())?)
    }

    async fn receive(&mut self) -> Result<()> {
        let count = self.stream.read_buf(&mut self.received).await?;
        ensure!(count > 0, "the server closed the connection");
        Ok(())
    }
}

/// The parts of a request that are the same for all requests with one document.
pub struct RequestTemplate {
    path: String,
    body_start: String,
}

impl RequestTemplate {
    /// A template for requests with this document.
    pub fn new(document: &str) -> Self {
        let body_start = format!(r#"{{"query":{},"variables":"#, serde_json::Value::from(document));
        Self { path: "/graphql".to_owned(), body_start }
    }

    /// The same for another endpoint.
    pub fn at(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    /// Writes a whole request. The variables are JSON.
    pub fn write(&self, variables: &str, token: Option<&str>, request: &mut Vec<u8>) {
        use std::io::Write as _;

        request.clear();
        request.extend_from_slice(b"POST ");
        request.extend_from_slice(self.path.as_bytes());
        request.extend_from_slice(
            b" HTTP/1.1\r\nhost: localhost\r\naccept: application/json\r\n\
              content-type: application/json\r\n",
        );
        if let Some(token) = token {
            write!(request, "authorization: Bearer {token}\r\n").expect("a vector takes every write");
        }
        let length = self.body_start.len() + variables.len() + 1;
        write!(request, "content-length: {length}\r\n\r\n{}{variables}}}", self.body_start)
            .expect("a vector takes every write");
    }
}

fn content_length(head: &[u8]) -> Option<usize> {
    let line = head.split(|byte| *byte == b'\n').find(|line| {
        line.get(..CONTENT_LENGTH.len()).is_some_and(|name| name.eq_ignore_ascii_case(CONTENT_LENGTH))
    })?;
    std::str::from_utf8(&line[CONTENT_LENGTH.len()..]).ok()?.trim().parse().ok()
}

/// Where a text first occurs.
pub fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    bytes.windows(text.len()).position(|window| window == text)
}
