//! A client of GraphQL over server-sent events. Test binaries that need it include this file.

use serde_json::Value;

/// One event, or a comment.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerSentEvent {
    Next(Value),
    Complete,
    /// A comment, which keeps the connection alive.
    Comment,
}

pub struct EventStream {
    response: reqwest::Response,
    unread: String,
}

impl EventStream {
    /// The stream in this response.
    pub fn of(response: reqwest::Response) -> Self {
        let content_type = response.headers()["content-type"].to_str().expect("text");
        assert!(response.status() == 200 && content_type.starts_with("text/event-stream"), "{response:?}");
        Self { response, unread: String::new() }
    }

    /// The next event or comment; `None` at the end of the stream.
    pub async fn raw(&mut self) -> Option<ServerSentEvent> {
        let length = loop {
            if let Some(length) = self.unread.find("\n\n") {
                break length;
            }
            let chunk = self.response.chunk().await.ok()??;
            self.unread += std::str::from_utf8(&chunk).expect("text");
        };
        let event: String = self.unread.drain(..length + 2).collect();
        Some(match event.trim_end_matches('\n').split_once('\n') {
            None if event == ":\n\n" => ServerSentEvent::Comment,
            Some(("event: next", data)) => {
                let data = data.strip_prefix("data: ").expect("data");
                ServerSentEvent::Next(serde_json::from_str(data).expect("JSON on one line"))
            }
            Some(("event: complete", "data: ")) => ServerSentEvent::Complete,
            _ => panic!("not an event: {event:?}"),
        })
    }

    /// The next event.
    pub async fn event(&mut self) -> Option<ServerSentEvent> {
        loop {
            match self.raw().await? {
                ServerSentEvent::Comment => {}
                event => return Some(event),
            }
        }
    }

    /// The next result.
    pub async fn result(&mut self) -> Value {
        match self.event().await {
            Some(ServerSentEvent::Next(result)) => result,
            other => panic!("not a result: {other:?}"),
        }
    }

    /// The results up to the end.
    pub async fn rest(mut self) -> Vec<Value> {
        let mut results = Vec::new();
        loop {
            match self.event().await {
                Some(ServerSentEvent::Next(result)) => results.push(result),
                Some(ServerSentEvent::Complete) => break,
                other => panic!("no end: {other:?}"),
            }
        }
        assert_eq!(self.event().await, None, "nothing comes after the end");
        results
    }
}
