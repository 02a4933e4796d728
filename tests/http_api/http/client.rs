//! An HTTP/1.1 client that sends exactly the given bytes, with no header of its own choice but `Host`.

use std::net::SocketAddr;

use flate2::read::GzDecoder;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

pub const GRAPHQL_RESPONSE: &str = "application/graphql-response+json";
pub const JSON: &str = "application/json";

/// A request to send.
pub struct Exchange {
    method: &'static str,
    target: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    headers: Vec<(String, String)>,
    /// Without the coding in which it came.
    pub text: String,
    /// As they came, the bytes of the body.
    pub body_bytes: usize,
}

/// A GraphQL request by POST, with no `Accept` header yet.
pub fn post(body: Value) -> Exchange {
    post_text(body.to_string())
}

pub fn post_text(body: impl Into<Vec<u8>>) -> Exchange {
    request("POST", "/graphql").header("Content-Type", JSON).body(body)
}

/// A GraphQL request by GET.
pub fn get(parameters: &[(&str, &str)]) -> Exchange {
    let pairs: Vec<String> =
        parameters.iter().map(|(name, value)| format!("{name}={}", percent_encode(value))).collect();
    request("GET", &format!("/graphql?{}", pairs.join("&")))
}

pub fn request(method: &'static str, target: &str) -> Exchange {
    Exchange { method, target: target.to_owned(), headers: Vec::new(), body: Vec::new() }
}

impl Exchange {
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub fn accept(self, media_type: &str) -> Self {
        self.header("Accept", media_type)
    }

    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub async fn send(self, address: SocketAddr) -> Answer {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(&self.encode("close")).await.unwrap();
        read_answer(&mut stream).await
    }

    /// The bytes on the wire.
    pub fn encode(&self, connection: &str) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\nHost: onehop.test\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if self.method == "POST" {
            head += &format!("Content-Length: {}\r\n", self.body.len());
        }
        head += &format!("Connection: {connection}\r\n\r\n");
        [head.into_bytes(), self.body.clone()].concat()
    }
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(candidate, _)| candidate.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn content_type(&self) -> &str {
        self.header("content-type").unwrap_or_default()
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub fn has_data(&self) -> bool {
        self.json().get("data").is_some()
    }

    pub fn has_errors(&self) -> bool {
        self.json().get("errors").is_some()
    }

    /// The code of the first error.
    pub fn code(&self) -> String {
        self.json()["errors"][0]["extensions"]["code"].as_str().unwrap_or_default().to_owned()
    }

    pub fn message(&self) -> String {
        self.json()["errors"][0]["message"].as_str().unwrap_or_default().to_owned()
    }
}

/// Reads one answer, by its length where it has one and else to the end of the connection.
pub async fn read_answer(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let head_length = loop {
        if let Some(position) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break position + 4;
        }
        assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "no answer: {bytes:?}");
    };
    let head = String::from_utf8(bytes[..head_length].to_vec()).unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let closes = headers.iter().any(|(name, value)| name == "connection" && value == "close");
    let length = headers.iter().find(|(name, _)| name == "content-length");
    match length {
        Some((_, length)) if !closes => {
            let length = head_length + length.parse::<usize>().unwrap();
            while bytes.len() < length {
                assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "the body was cut short");
            }
        }
        _ => while stream.read_buf(&mut bytes).await.unwrap() > 0 {},
    }
    let body = &bytes[head_length..];
    let text = match headers.iter().find(|(name, _)| name == "content-encoding") {
        Some((_, coding)) if coding == "gzip" && !body.is_empty() => {
            std::io::read_to_string(GzDecoder::new(body)).unwrap()
        }
        _ => String::from_utf8(body.to_vec()).unwrap(),
    };
    Answer { status, headers, text, body_bytes: body.len() }
}

fn percent_encode(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}
