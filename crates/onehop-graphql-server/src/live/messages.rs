//! The messages of the protocol `graphql-transport-ws`, read strictly and written once. Knows no connection.
//!
//! <https://github.com/enisdenjo/graphql-ws/blob/master/PROTOCOL.md>

use std::borrow::Cow;
use std::fmt::Write as _;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The name of the protocol in a handshake.
pub(super) const SUBPROTOCOL: &str = "graphql-transport-ws";
/// Bytes of an operation's id.
pub(super) const OPERATION_ID_BYTES_MAX: usize = 256;
/// Bytes that the reason of a close frame may have: RFC 6455, section 5.5.
const REASON_BYTES_MAX: usize = 123;
/// The name in the payload of `connection_init`, in any case.
const AUTHORIZATION: &str = "authorization";

/// A message of a client.
#[derive(Debug)]
pub(super) enum ClientMessage {
    ConnectionInit {
        /// As in the header of this name.
        authorization: Option<String>,
    },
    Ping {
        /// JSON, to be sent back unchanged.
        payload: Option<String>,
    },
    Pong,
    Subscribe {
        id: String,
        /// A GraphQL request as in the body of a POST: JSON, and an object.
        payload: String,
    },
    Complete {
        id: String,
    },
}

/// A message that the protocol does not have. Does not repeat the content of the message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Invalid message: {0}")]
pub(super) struct InvalidMessage(Cow<'static, str>);

/// Why a connection is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Closing {
    pub(super) code: u16,
    pub(super) reason: String,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
    #[serde(borrow)]
    payload: Option<&'a RawValue>,
}

impl ClientMessage {
    /// Reads a message.
    pub(super) fn parse(text: &str) -> Result<Self, InvalidMessage> {
        let message: Message<'_> =
            serde_json::from_str(text).map_err(|_| invalid("it is not an object with a type"))?;
        match message.kind.as_str() {
            "connection_init" => Ok(Self::ConnectionInit { authorization: authorization_in(&message)? }),
            "ping" => Ok(Self::Ping { payload: message.object()?.map(|payload| payload.get().to_owned()) }),
            "pong" => message.object().map(|_| Self::Pong),
            "subscribe" => Ok(Self::Subscribe { payload: message.request()?, id: message.id()? }),
            "complete" => Ok(Self::Complete { id: message.id()? }),
            _ => Err(invalid("its type is not one that a client sends")),
        }
    }
}

impl Message<'_> {
    /// The payload, which is an object where there is one.
    fn object(&self) -> Result<Option<&RawValue>, InvalidMessage> {
        match self.payload {
            Some(payload) if !payload.get().starts_with('{') => Err(invalid("its payload is not an object")),
            payload => Ok(payload),
        }
    }

    fn id(self) -> Result<String, InvalidMessage> {
        match self.id {
            Some(id) if id.is_empty() => Err(invalid("its id is empty")),
            Some(id) if id.len() > OPERATION_ID_BYTES_MAX => {
                Err(InvalidMessage(format!("its id has more than {OPERATION_ID_BYTES_MAX} bytes").into()))
            }
            Some(id) => Ok(id),
            None => Err(invalid("it has no id")),
        }
    }

    fn request(&self) -> Result<String, InvalidMessage> {
        let payload = self.object()?.ok_or_else(|| invalid("it has no payload"))?;
        Ok(payload.get().to_owned())
    }
}

impl InvalidMessage {
    pub(super) fn binary() -> Self {
        invalid("it is not text")
    }

    /// The payload of `subscribe` is no valid body of a POST.
    pub(super) fn not_a_request() -> Self {
        invalid("its payload is not a GraphQL request")
    }
}

fn authorization_in(message: &Message<'_>) -> Result<Option<String>, InvalidMessage> {
    let Some(payload) = message.object()? else { return Ok(None) };
    let members: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(payload.get()).map_err(|_| invalid("its payload is not an object"))?;
    let mut named = members.into_iter().filter(|(name, _)| name.eq_ignore_ascii_case(AUTHORIZATION));
    match (named.next(), named.next()) {
        (None, _) | (Some((_, serde_json::Value::Null)), None) => Ok(None),
        (Some((_, serde_json::Value::String(authorization))), None) => Ok(Some(authorization)),
        _ => Err(invalid("its authorization is not one text")),
    }
}

fn invalid(what: &'static str) -> InvalidMessage {
    InvalidMessage(Cow::Borrowed(what))
}

/// `connection_ack`
pub(super) const ACKNOWLEDGED: &str = r#"{"type":"connection_ack"}"#;

/// `pong`, with the payload of its ping.
pub(super) fn pong(payload: Option<&str>) -> String {
    match payload {
        Some(payload) => format!(r#"{{"type":"pong","payload":{payload}}}"#),
        None => r#"{"type":"pong"}"#.to_owned(),
    }
}

/// `next`, with a response in JSON.
pub(super) fn next(id: &str, response: &[u8]) -> String {
    with_payload("next", id, response)
}

/// `error`, with errors in JSON.
pub(super) fn error(id: &str, errors: &[u8]) -> String {
    with_payload("error", id, errors)
}

/// `complete`
pub(super) fn complete(id: &str) -> String {
    format!(r#"{{"id":{},"type":"complete"}}"#, quoted(id))
}

fn with_payload(kind: &str, id: &str, payload: &[u8]) -> String {
    let payload = std::str::from_utf8(payload).unwrap_or("null");
    let id = quoted(id);
    let mut message = String::with_capacity(id.len() + payload.len() + 40);
    // Writing to a string never fails.
    let _ = write!(message, r#"{{"id":{id},"type":"{kind}","payload":{payload}}}"#);
    message
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

impl Closing {
    /// The process stops.
    pub(super) fn going_away() -> Self {
        Self::new(1001, "Going away")
    }

    pub(super) fn too_big(limit_bytes: usize) -> Self {
        Self::new(1009, format!("A message may have {limit_bytes} bytes"))
    }

    /// The client sent pings and pongs faster than it may.
    pub(super) fn control_frames(per_second_max: u32) -> Self {
        Self::new(1008, format!("A client may send {per_second_max} control frames a second"))
    }

    /// The client did not finish a message.
    pub(super) fn message_timeout(limit: Duration) -> Self {
        Self::new(1008, format!("A message may take {} seconds", limit.as_secs()))
    }

    /// Too many bytes of unfinished messages are kept, of all clients or of one network.
    pub(super) fn no_room_for_messages() -> Self {
        Self::new(1013, "Too many unfinished messages: try again later")
    }

    pub(super) fn not_websocket() -> Self {
        Self::new(1002, "Protocol error")
    }

    /// A subscriber did not keep up. The protocol's own client connects again and begins anew.
    pub(super) fn too_slow() -> Self {
        Self::new(1013, "Too slow for what is written: try again later")
    }

    /// The service that authenticates callers does not answer.
    pub(super) fn unavailable() -> Self {
        Self::new(1013, "Not available right now: try again later")
    }

    /// Load shedding: the responses of the process take all the memory that they may.
    pub(super) fn overloaded() -> Self {
        Self::new(1013, "The server holds as many bytes of responses as it may: try again later")
    }

    /// The quota of the caller is spent, and a long message is not read.
    pub(super) fn over_quota() -> Self {
        Self::new(1013, "The quota is spent: try again later")
    }

    pub(super) fn invalid(invalid: &InvalidMessage) -> Self {
        Self::new(4400, invalid.to_string())
    }

    pub(super) fn unauthorized() -> Self {
        Self::new(4401, "Unauthorized")
    }

    pub(super) fn forbidden() -> Self {
        Self::new(4403, "Forbidden")
    }

    /// The access token was good once.
    pub(super) fn expired() -> Self {
        Self::new(4403, "Forbidden: the access token has expired")
    }

    /// The caller signed out, or changed the password.
    pub(super) fn session_ended() -> Self {
        Self::new(4403, "Forbidden: the session has ended")
    }

    pub(super) fn subprotocol() -> Self {
        Self::new(4406, "Subprotocol not acceptable")
    }

    pub(super) fn init_timeout() -> Self {
        Self::new(4408, "Connection initialisation timeout")
    }

    pub(super) fn exists(id: &str) -> Self {
        let reason = format!("Subscriber for {id} already exists");
        Self::new(
            4409,
            if reason.len() <= REASON_BYTES_MAX { reason } else { "Subscriber already exists".to_owned() },
        )
    }

    pub(super) fn too_many_inits() -> Self {
        Self::new(4429, "Too many initialisation requests")
    }

    fn new(code: u16, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_the_protocol_are_read() {
        let parse = |text: &str| ClientMessage::parse(text).unwrap();
        for (init, expected) in [
            (r#"{"type":"connection_init"}"#, None),
            (r#"{"type":"connection_init","payload":null}"#, None),
            (r#"{"type":"connection_init","payload":{"other":1}}"#, None),
            (r#"{"type":"connection_init","payload":{"authorization":null}}"#, None),
            (r#"{"type":"connection_init","payload":{"Authorization":"Bearer t"}}"#, Some("Bearer t")),
        ] {
            let ClientMessage::ConnectionInit { authorization } = parse(init) else { panic!("{init}") };
            assert_eq!(authorization.as_deref(), expected, "{init}");
        }
        let ClientMessage::Ping { payload } = parse(r#"{"type":"ping","payload":{"a": 1}}"#) else {
            panic!()
        };
        assert_eq!(payload.as_deref(), Some(r#"{"a": 1}"#));
        assert!(matches!(parse(r#"{"type":"pong","payload":{}}"#), ClientMessage::Pong));
        let subscribe = r#"{"id":"1","type":"subscribe","more":1,"payload":
            {"query":"{ a }","operationName":"A","variables":{"b":1},"extensions":{"c":2}}}"#;
        let ClientMessage::Subscribe { id, payload } = parse(subscribe) else { panic!() };
        assert_eq!((id.as_str(), &payload[..20]), ("1", r#"{"query":"{ a }","op"#));
        let nulls = r#"{"id":"1","type":"subscribe","payload":{"query":"","operationName":null,"variables":null,"extensions":null}}"#;
        assert!(matches!(parse(nulls), ClientMessage::Subscribe { .. }));
        assert!(
            matches!(parse(r#"{"id":"1","type":"complete"}"#), ClientMessage::Complete { id } if id == "1")
        );
    }

    #[test]
    fn anything_else_is_invalid() {
        let long = format!(r#"{{"id":"{}","type":"complete"}}"#, "x".repeat(OPERATION_ID_BYTES_MAX + 1));
        for text in [
            "",
            "no json",
            "[]",
            "\"ping\"",
            "null",
            "{}",
            r#"{"type":1}"#,
            r#"{"type":"start"}"#,
            r#"{"type":"connection_ack"}"#,
            r#"{"id":"1","type":"next","payload":{}}"#,
            r#"{"type":"connection_terminate"}"#,
            r#"{"type":"connection_init","payload":[]}"#,
            r#"{"type":"connection_init","payload":"Bearer t"}"#,
            r#"{"type":"connection_init","payload":{"authorization":1}}"#,
            r#"{"type":"connection_init","payload":{"authorization":"a","Authorization":"b"}}"#,
            r#"{"type":"ping","payload":1}"#,
            r#"{"type":"pong","payload":[]}"#,
            r#"{"type":"complete"}"#,
            r#"{"id":"","type":"complete"}"#,
            r#"{"id":1,"type":"complete"}"#,
            &long,
            r#"{"type":"subscribe","payload":{"query":"{ a }"}}"#,
            r#"{"id":"1","type":"subscribe"}"#,
            r#"{"id":"1","type":"subscribe","payload":null}"#,
            r#"{"id":"1","type":"subscribe","payload":[]}"#,
        ] {
            assert!(ClientMessage::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_was_in_an_invalid_message_is_not_repeated() {
        let invalid =
            ClientMessage::parse(r#"{"type":"connection_init","payload":{"authorization":["secret"]}}"#);
        assert!(!invalid.unwrap_err().to_string().contains("secret"));
    }

    #[test]
    fn an_id_is_text_in_json_whatever_it_holds() {
        let message: serde_json::Value = serde_json::from_str(&next("a\"\n", b"{\"data\":1}")).unwrap();
        assert_eq!(message, serde_json::json!({ "id": "a\"\n", "type": "next", "payload": { "data": 1 } }));
    }

    #[test]
    fn every_reason_fits_into_a_close_frame() {
        let long = "x".repeat(OPERATION_ID_BYTES_MAX);
        assert_eq!(Closing::exists("1").reason, "Subscriber for 1 already exists");
        let invalid = ClientMessage::parse(&format!(r#"{{"id":"{long}x","type":"complete"}}"#)).unwrap_err();
        for closing in [
            Closing::exists(&long),
            Closing::invalid(&invalid),
            Closing::too_big(usize::MAX),
            Closing::control_frames(u32::MAX),
            Closing::message_timeout(Duration::MAX),
        ] {
            assert!(closing.reason.len() <= REASON_BYTES_MAX, "{closing:?}");
        }
    }
}
