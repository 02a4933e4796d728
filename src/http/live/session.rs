//! One WebSocket from its handshake to its end: the rules of `graphql-transport-ws`, its timers, and what it says.
//!
//! Messages are worked on one after the other, and a subscription has begun before the next message is read: whatever a
//! client sends after it, a mutation or a ping, comes after the beginning.

use std::sync::Arc;

use async_graphql::parser::types::OperationType;
use axum::Error;
use axum::extract::ws::{CloseFrame, Message, WebSocket};
use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until, timeout};
use tokio_tungstenite::tungstenite;

use super::LiveEndpoint;
use super::groups::Member;
use super::messages::{self, ClientMessage, Closing, InvalidMessage, SUBPROTOCOL};
use super::operations::{OperationId, Operations, Said};
use super::permits::{ConnectionPermit, SubscriptionPermit};
use crate::http::bearer::bearer_of;
use crate::http::callers::Bill;
use crate::http::client_address::Origin;
use crate::http::graphql_http::Checked;
use crate::http::graphql_request::{Asked, MalformedRequest, Parameters};
use crate::http::graphql_response::{Encoded, ExecutedResponse, Refusal};
use crate::http::graphql_service::{Account as _, Caller, RequestRejection};
use crate::http::limit_exceeded::LimitExceeded;

/// How often a result is in memory while it is sent: in the message, and in the write buffer of the socket.
const MESSAGE_COPIES: usize = 2;

/// One WebSocket.
pub(super) struct Session {
    live: Arc<LiveEndpoint>,
    _permit: ConnectionPermit,
    /// From where the socket was opened.
    origin: Origin,
    /// The token of the handshake, for `connection_init` without one.
    bearer: Option<String>,
    stage: Stage,
    caller: Option<Arc<Caller>>,
    expires_at: Option<Instant>,
    operations: Operations,
    /// What has to be finished before the next message is read.
    starting: Option<BoxFuture<'static, Started>>,
}

/// How far the connection within the socket is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Opened,
    InitReceived,
    Acknowledged,
}

enum Started {
    Connection(Result<Option<Caller>, Refusal>),
    Subscription { id: OperationId, permit: SubscriptionPermit, joined: Result<Member, Encoded> },
}

enum Happened {
    Started(Started),
    Frame(Option<Result<Message, Error>>),
    Said(OperationId, Said),
    KeepAlive,
}

/// How a socket ends.
enum Ended {
    /// It is to be closed for this reason.
    Closing(Closing),
    /// Its client has closed it, or is gone.
    Gone,
}

impl From<Closing> for Ended {
    fn from(closing: Closing) -> Self {
        Self::Closing(closing)
    }
}

impl Session {
    pub(super) fn new(
        live: Arc<LiveEndpoint>,
        permit: ConnectionPermit,
        origin: Origin,
        bearer: Option<String>,
    ) -> Self {
        Self {
            live,
            _permit: permit,
            origin,
            bearer,
            stage: Stage::Opened,
            caller: None,
            expires_at: None,
            operations: Operations::default(),
            starting: None,
        }
    }

    /// Serves the socket to its end.
    pub(super) async fn serve(mut self, mut socket: WebSocket) {
        let speaks = socket.protocol().is_some_and(|protocol| protocol == SUBPROTOCOL);
        let Err(ended) =
            (if speaks { self.exchange(&mut socket).await } else { Err(Closing::subprotocol().into()) })
        else {
            return;
        };
        // Nothing is executed for a socket that is closing.
        self.operations = Operations::default();
        let close = async {
            if let Ended::Closing(Closing { code, reason }) = ended {
                tracing::debug!(code, reason, "a WebSocket is closed");
                let frame = CloseFrame { code, reason: reason.into() };
                if socket.send(Message::Close(Some(frame))).await.is_err() {
                    return;
                }
            }
            // Until the client has answered, or read that its own closing was answered.
            while let Some(Ok(_)) = socket.recv().await {}
        };
        let _ = timeout(self.live.limits.close_timeout, close).await;
    }

    /// Exchanges messages until there is a reason to end.
    async fn exchange(&mut self, socket: &mut WebSocket) -> Result<(), Ended> {
        let stop = self.live.stop.clone();
        let limits = self.live.limits;
        let init_by = Instant::now() + limits.init_timeout;
        let mut keep_alive = interval_at(Instant::now() + limits.keep_alive, limits.keep_alive);
        keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut has_spoken = true;
        loop {
            let happened = tokio::select! {
                biased;
                () = stop.cancelled() => return Err(Closing::going_away().into()),
                () = until(self.expires_at) => return Err(Closing::expired().into()),
                () = sleep_until(init_by), if self.stage == Stage::Opened => {
                    return Err(Closing::init_timeout().into());
                }
                started = started(self.starting.as_mut()) => Happened::Started(started),
                frame = socket.recv(), if self.starting.is_none() => Happened::Frame(frame),
                (id, said) = self.operations.next() => Happened::Said(id, said),
                _ = keep_alive.tick() => Happened::KeepAlive,
            };
            match happened {
                Happened::Started(started) => {
                    self.starting = None;
                    if let Some(reply) = self.on_started(started)? {
                        self.send(socket, text(reply)).await?;
                    }
                }
                Happened::Frame(frame) => {
                    has_spoken = true;
                    if let Some(reply) = self.on_frame(frame)? {
                        self.send(socket, text(reply)).await?;
                    }
                }
                Happened::Said(id, said) => self.say(socket, &id, said).await?,
                Happened::KeepAlive if has_spoken || self.starting.is_some() => {
                    has_spoken = false;
                    self.send(socket, Message::Ping(Bytes::new())).await?;
                }
                Happened::KeepAlive => return Err(Ended::Gone),
            }
        }
    }

    fn on_frame(&mut self, frame: Option<Result<Message, Error>>) -> Result<Option<String>, Ended> {
        let limit_bytes = self.live.message_bytes_max();
        match frame {
            Some(Ok(Message::Text(text))) if text.len() > limit_bytes => {
                Err(Closing::too_big(limit_bytes).into())
            }
            Some(Ok(Message::Text(text))) => {
                let message = ClientMessage::parse(&text).map_err(|invalid| Closing::invalid(&invalid))?;
                Ok(self.on_message(message)?)
            }
            Some(Ok(Message::Binary(_))) => Err(Closing::invalid(&InvalidMessage::binary()).into()),
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(None),
            Some(Ok(Message::Close(_))) | None => Err(Ended::Gone),
            Some(Err(error)) => Err(self.on_broken_frame(error)),
        }
    }

    fn on_broken_frame(&self, error: Error) -> Ended {
        match error.into_inner().downcast_ref() {
            Some(tungstenite::Error::Capacity(_)) => Closing::too_big(self.live.message_bytes_max()).into(),
            Some(tungstenite::Error::Protocol(_) | tungstenite::Error::Utf8(_)) => {
                Closing::not_websocket().into()
            }
            _ => Ended::Gone,
        }
    }

    fn on_message(&mut self, message: ClientMessage) -> Result<Option<String>, Closing> {
        match message {
            ClientMessage::ConnectionInit { authorization } => {
                if self.stage != Stage::Opened {
                    return Err(Closing::too_many_inits());
                }
                self.stage = Stage::InitReceived;
                self.connect(authorization)?;
                Ok(None)
            }
            ClientMessage::Ping { payload } => Ok(Some(messages::pong(payload.as_deref()))),
            ClientMessage::Pong => Ok(None),
            ClientMessage::Subscribe { .. } if self.stage != Stage::Acknowledged => {
                Err(Closing::unauthorized())
            }
            ClientMessage::Subscribe { id, .. } if self.operations.contains(&id) => Err(Closing::exists(&id)),
            ClientMessage::Subscribe { id, payload } => {
                let started = match self.live.graphql.body_limits().parse(payload.as_bytes()) {
                    Ok(Asked::One(request)) => self.start(id.as_str().into(), *request),
                    Err(MalformedRequest::OverLimit(exceeded)) => Err(Encoded::refused(exceeded.into())),
                    Ok(Asked::Batch(_)) | Err(_) => {
                        return Err(Closing::invalid(&InvalidMessage::not_a_request()));
                    }
                };
                Ok(started.err().map(|refusal| refused(&id, &refusal)))
            }
            ClientMessage::Complete { id } => {
                self.operations.end(&id);
                Ok(None)
            }
        }
    }

    /// Finds out who the caller is. A client that names no token is anonymous, unless its handshake named one.
    fn connect(&mut self, authorization: Option<String>) -> Result<(), Closing> {
        let bearer = match authorization {
            Some(authorization) => Some(bearer_of(&authorization).ok_or_else(Closing::forbidden)?.to_owned()),
            None => self.bearer.take(),
        };
        let live = Arc::clone(&self.live);
        let connection = async move {
            let Some(bearer) = bearer else { return Ok(None) };
            live.graphql.authenticate(&bearer).await.map(Some)
        };
        self.starting = Some(connection.map(Started::Connection).boxed());
        Ok(())
    }

    /// Starts an operation.
    fn start(&mut self, id: OperationId, request: Parameters) -> Result<(), Encoded> {
        let limits = self.live.limits;
        let has_room = self.operations.len() < limits.operations_per_connection_max;
        let over = |exceeded: LimitExceeded| Encoded::refused(exceeded.into());
        limits.operations_per_connection().unless(has_room).map_err(over)?;
        let checked = self.live.graphql.check(request, false).map_err(Refusal::into_encoded)?;
        let (live, caller) = (Arc::clone(&self.live), self.caller.clone());
        let bill = live.graphql.bill_for(self.origin, caller.is_none());
        if checked.kind != OperationType::Subscription {
            let execution = async move { execute(&live, checked, caller.as_deref(), &bill).await };
            self.operations.run(id, execution.boxed());
            return Ok(());
        }
        let user = caller.as_ref().map(|caller| caller.id.as_str());
        bill.open(user).map_err(|rejection| Refusal::from(rejection).into_encoded())?;
        let permit = live.permits.subscription(user).map_err(over)?;
        let bill = Arc::new(bill);
        let subscription = async move {
            let joined = live.groups.join_in_time(checked, caller.as_deref(), &bill).await;
            Started::Subscription { id, permit, joined }
        };
        self.starting = Some(subscription.boxed());
        Ok(())
    }

    fn on_started(&mut self, started: Started) -> Result<Option<String>, Closing> {
        match started {
            Started::Connection(Ok(caller)) => {
                self.stage = Stage::Acknowledged;
                self.expires_at =
                    caller.as_ref().and_then(|caller| Instant::now().checked_add(caller.valid_for));
                self.caller = caller.map(Arc::new);
                Ok(Some(messages::ACKNOWLEDGED.to_owned()))
            }
            Started::Connection(Err(Refusal::Rejected(RequestRejection::InvalidToken))) => {
                Err(Closing::forbidden())
            }
            Started::Connection(Err(_)) => Err(Closing::unavailable()),
            Started::Subscription { id, permit, joined: Ok(member) } => {
                self.operations.follow(id, member, permit);
                Ok(None)
            }
            Started::Subscription { id, joined: Err(refusal), .. } => Ok(Some(refused(&id, &refusal))),
        }
    }

    async fn say(&mut self, socket: &mut WebSocket, id: &str, said: Said) -> Result<(), Ended> {
        match said {
            Said::Result(response) => self.send_result(socket, id, &response).await,
            Said::Single(Encoded { request_errors: Some(errors), .. }) => {
                self.send(socket, text(messages::error(id, &errors))).await
            }
            Said::Single(Encoded { response, .. }) => {
                self.send_result(socket, id, &response).await?;
                drop(response);
                self.send(socket, text(messages::complete(id))).await
            }
            Said::End => self.send(socket, text(messages::complete(id))).await,
            Said::Lagged => Err(Closing::too_slow().into()),
        }
    }

    /// Sends a result. Its copies in the message and in the write buffer are response memory, too; without that the
    /// client has to come again later.
    async fn send_result(&mut self, socket: &mut WebSocket, id: &str, response: &[u8]) -> Result<(), Ended> {
        let copies = self.live.graphql.responses().reserve(response.len().saturating_mul(MESSAGE_COPIES));
        let Some(_copies) = copies else { return Err(Closing::overloaded().into()) };
        self.send(socket, text(messages::next(id, response))).await
    }

    /// Sends a message; a client that takes none does not hold up the stop.
    async fn send(&mut self, socket: &mut WebSocket, message: Message) -> Result<(), Ended> {
        match self.live.stop.run_until_cancelled(socket.send(message)).await {
            Some(Ok(())) => Ok(()),
            Some(Err(_)) => Err(Ended::Gone),
            None => Err(Closing::going_away().into()),
        }
    }
}

async fn execute(live: &LiveEndpoint, checked: Checked, caller: Option<&Caller>, bill: &Bill) -> Encoded {
    let execution = live.graphql.in_time(live.graphql.execute_for(checked, caller, bill)).await;
    execution.map_or_else(Refusal::into_encoded, ExecutedResponse::into_encoded)
}

fn refused(id: &str, refusal: &Encoded) -> String {
    messages::error(id, refusal.request_errors.as_deref().unwrap_or(b"[]"))
}

fn text(message: String) -> Message {
    Message::Text(message.into())
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

async fn started(starting: Option<&mut BoxFuture<'static, Started>>) -> Started {
    match starting {
        Some(starting) => starting.await,
        None => std::future::pending().await,
    }
}
