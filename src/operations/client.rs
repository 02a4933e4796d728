//! Client of the operations API, for the command line: over the socket of a running server, or in this
//! process.

use std::io;
use std::path::Path;

use async_graphql::{Request, Variables};
use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use thiserror::Error;
use tokio::net::UnixStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::error::Error as WebSocketError;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use uuid::Uuid;

use super::documents::{OperationRequest, PROGRESS};
use super::limits::{ANSWER_BYTES_MAX, CLIENTS_MAX};
use super::socket::{STOPPING, TOO_MANY_CLIENTS, short_address};
use super::{OperationsSchema, PATH};
use crate::app::work::Progress;

/// The WebSocket subprotocol.
const PROTOCOL: &str = "graphql-transport-ws";
/// The id of the progress subscription on a connection.
const PROGRESS_ID: &str = "progress";
/// The id of the operation on a connection.
const OPERATION_ID: &str = "operation";

/// Why an operation has no outcome.
#[derive(Debug, Error)]
pub enum ClientError {
    #[error("the connection to the server failed: {0}")]
    Io(#[from] io::Error),
    #[error("the connection to the server failed: {0}")]
    WebSocket(Box<WebSocketError>),
    #[error("the server does not serve the operations API of this version of onehop: {0}")]
    Handshake(String),
    #[error("the server's answer cannot be read: {0}")]
    Answer(#[from] serde_json::Error),
    #[error("the server stopped before the work was done")]
    Stopped,
    #[error("{0}")]
    Refused(String),
}

/// Runs an operation on the server that holds a data directory. `None` when no server holds it.
///
/// # Errors
/// See [`ClientError`].
pub async fn ask(
    data_directory: &Path,
    operation: &OperationRequest,
    mut progress: impl FnMut(Progress),
) -> Result<Option<Value>, ClientError> {
    let Some(stream) = connect(data_directory).await? else { return Ok(None) };
    let mut connection = Connection::open(stream).await?;
    let work = work_name();
    connection.subscribe(PROGRESS_ID, PROGRESS, json!({ "work": work })).await?;
    connection.subscribe(OPERATION_ID, operation.document, operation.variables_of_work(&work)).await?;
    loop {
        let mut message = connection.next().await?;
        let payload = message["payload"].take();
        match (message["id"].as_str(), message["type"].as_str()) {
            (Some(OPERATION_ID), Some("next")) => return outcome_of(payload).map(Some),
            (Some(OPERATION_ID), Some("error")) => return outcome_of(json!({ "errors": payload })).map(Some),
            (Some(OPERATION_ID), Some("complete")) => return Err(ClientError::Stopped),
            (Some(PROGRESS_ID), Some("next")) => progress_of(payload).into_iter().for_each(&mut progress),
            _ => {}
        }
    }
}

/// Runs an operation on a schema of this process.
///
/// # Errors
/// See [`ClientError`].
pub async fn execute(
    schema: &OperationsSchema,
    operation: &OperationRequest,
    mut progress: impl FnMut(Progress),
) -> Result<Value, ClientError> {
    let work = work_name();
    let request =
        |document: &str, variables| Request::new(document).variables(Variables::from_json(variables));
    let mut steps = schema.execute_stream(request(PROGRESS, json!({ "work": work })));
    let executing = schema.execute(request(operation.document, operation.variables_of_work(&work)));
    tokio::pin!(executing);
    let response = loop {
        tokio::select! {
            biased;
            response = &mut executing => break response,
            Some(step) = steps.next() => {
                progress_of(serde_json::to_value(step)?).into_iter().for_each(&mut progress);
            }
        }
    };
    outcome_of(serde_json::to_value(response)?)
}

/// A name for the progress of one operation that no other client has.
fn work_name() -> String {
    Uuid::now_v7().to_string()
}

/// The value of the only field, or the reason of a refusal.
fn outcome_of(mut response: Value) -> Result<Value, ClientError> {
    if let Some(reason) = response["errors"][0]["message"].as_str() {
        return Err(ClientError::Refused(reason.to_owned()));
    }
    let field = response["data"].as_object_mut().and_then(|data| data.values_mut().next().map(Value::take));
    field.ok_or(ClientError::Stopped)
}

/// The progress in a response. A server of another version may have no progress.
fn progress_of(mut response: Value) -> Option<Progress> {
    serde_json::from_value(response["data"]["progress"].take()).ok()
}

async fn connect(data_directory: &Path) -> io::Result<Option<UnixStream>> {
    let (_directory, address) = match short_address(data_directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        address => address?,
    };
    match UnixStream::connect(address).await {
        Ok(stream) => Ok(Some(stream)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// A connection that speaks `graphql-transport-ws`.
struct Connection(WebSocketStream<UnixStream>);

impl Connection {
    async fn open(stream: UnixStream) -> Result<Self, ClientError> {
        let mut request = format!("ws://localhost{PATH}").into_client_request()?;
        request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static(PROTOCOL));
        let config = WebSocketConfig::default()
            .max_message_size(Some(ANSWER_BYTES_MAX))
            .max_frame_size(Some(ANSWER_BYTES_MAX));
        let opened = tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await;
        let mut connection = Self(opened.map_err(ClientError::of_handshake)?.0);
        connection.send(json!({ "type": "connection_init" })).await?;
        match connection.next().await? {
            message if message["type"] == "connection_ack" => Ok(connection),
            message => Err(ClientError::Handshake(message.to_string())),
        }
    }

    async fn subscribe(&mut self, id: &str, document: &str, variables: Value) -> Result<(), ClientError> {
        let payload = json!({ "query": document, "variables": variables });
        self.send(json!({ "id": id, "type": "subscribe", "payload": payload })).await
    }

    async fn send(&mut self, message: Value) -> Result<(), ClientError> {
        Ok(self.0.send(Message::text(message.to_string())).await?)
    }

    /// The next message that is one of the protocol.
    async fn next(&mut self) -> Result<Value, ClientError> {
        loop {
            match self.0.next().await {
                Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(Utf8Bytes::as_str(&text))?),
                Some(Ok(Message::Close(Some(frame)))) if !frame.reason.is_empty() => {
                    return Err(ClientError::Refused(frame.reason.to_string()));
                }
                Some(Ok(Message::Close(_))) | None => return Err(ClientError::Stopped),
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(error.into()),
            }
        }
    }
}

impl ClientError {
    fn of_handshake(error: WebSocketError) -> Self {
        match error {
            WebSocketError::Http(response) if response.status() == TOO_MANY_CLIENTS => {
                let clients = format!("the server has {CLIENTS_MAX} clients on its operations socket");
                Self::Refused(format!("{clients}: try again later"))
            }
            WebSocketError::Http(response) if response.status() == STOPPING => Self::Stopped,
            error => Self::Handshake(error.to_string()),
        }
    }
}

impl From<WebSocketError> for ClientError {
    /// A server that ends drops its connections.
    fn from(error: WebSocketError) -> Self {
        match error {
            WebSocketError::ConnectionClosed
            | WebSocketError::AlreadyClosed
            | WebSocketError::Protocol(_) => Self::Stopped,
            WebSocketError::Io(error) => Self::Io(error),
            error => Self::WebSocket(Box::new(error)),
        }
    }
}
