//! One WebSocket from its handshake to its end: the rules of `graphql-transport-ws`, its timers, and its
//! messages.
//!
//! Messages are worked on one after the other, and a subscription has begun before the next message is read:
//! a later mutation or ping of the client comes after the beginning.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep_until, timeout};

use super::LiveEndpoint;
use super::keep_alive::KeepAlive;
use super::messages::{self, ClientMessage, Closing, InvalidMessage};
use super::operations::{OperationEvent, OperationId, Operations};
use super::permits::{ConnectionPermit, SubscriptionPermit};
use super::socket::{Received, Socket, SocketEnd};
use super::subscription_sharing::Member;
use crate::caller::{Caller, RequestRejection};
use crate::client_address::ClientAddress;
use crate::pipeline::authenticate::bearer_of;
use crate::pipeline::context::RequestContext;
use crate::pipeline::parse::MalformedRequest;
use crate::pipeline::prepare::PreparationWork;
use crate::pipeline::rate_limit::RequestQuota;
use crate::quota::QuotaAccount as _;
use crate::refusal::Refusal;
use crate::response::{Encoded, ExecutedResponse};

/// The copies of a result in memory while it is sent: in the message, and in the write buffer of the socket.
const MESSAGE_COPIES: usize = 2;

/// The longest message that is read although the quota of its caller is spent: `complete`, `ping` and `pong`,
/// and an operation whose refusal names its id.
const UNCHARGED_MESSAGE_BYTES_MAX: usize = 16 * 1024;

/// One WebSocket.
pub(super) struct Session {
    live: Arc<LiveEndpoint>,
    _permit: ConnectionPermit,
    /// From where the socket was opened.
    client: ClientAddress,
    /// The token of the handshake, for `connection_init` without one.
    bearer: Option<String>,
    stage: Stage,
    caller: Option<Arc<Caller>>,
    expires_at: Option<Instant>,
    /// Ready when the session of the caller has ended.
    ended: Option<BoxFuture<'static, ()>>,
    operations: Operations,
    /// The work to finish before the next message is read.
    starting: Option<BoxFuture<'static, Started>>,
}

/// The stage of the connection within the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Opened,
    InitReceived,
    Acknowledged,
}

enum Started {
    Connection(Result<Option<Caller>, Refusal>),
    /// An operation is prepared, or refused.
    Operation {
        id: OperationId,
        quota: Arc<RequestQuota>,
        prepared: Result<Box<RequestContext>, Refusal>,
    },
    Subscription {
        id: OperationId,
        permit: SubscriptionPermit,
        joined: Result<Member, Encoded>,
    },
}

enum SocketEvent {
    Started(Started),
    Received(Result<Received, SocketEnd>),
    OperationEvent(OperationId, OperationEvent),
    KeepAlive,
}

impl Session {
    pub(super) fn new(
        live: Arc<LiveEndpoint>,
        permit: ConnectionPermit,
        client: ClientAddress,
        bearer: Option<String>,
    ) -> Self {
        Self {
            live,
            _permit: permit,
            client,
            bearer,
            stage: Stage::Opened,
            caller: None,
            expires_at: None,
            ended: None,
            operations: Operations::default(),
            starting: None,
        }
    }

    /// Serves the socket to its end. A socket that does not speak the protocol is closed.
    pub(super) async fn serve<S>(mut self, mut socket: Socket<S>, speaks: bool)
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let exchanged =
            if speaks { self.exchange(&mut socket).await } else { Err(Closing::subprotocol().into()) };
        let Err(ended) = exchanged else { return };
        // Nothing is executed for a socket that is closing.
        self.operations = Operations::default();
        let close = async {
            if let SocketEnd::Closing(closing) = ended {
                tracing::debug!(code = closing.code, reason = closing.reason, "a WebSocket is closed");
                if socket.close(closing).await.is_err() {
                    return;
                }
            }
            socket.drain().await;
        };
        let _ = timeout(self.live.limits.close_timeout, close).await;
    }

    /// Exchanges messages until there is a reason to end.
    async fn exchange<S>(&mut self, socket: &mut Socket<S>) -> Result<(), SocketEnd>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let stop = self.live.stop.clone();
        let limits = self.live.limits;
        let init_by = Instant::now() + limits.init_timeout;
        let mut keep_alive = KeepAlive::new(limits.keep_alive);
        loop {
            let happened = tokio::select! {
                biased;
                () = stop.cancelled() => return Err(Closing::going_away().into()),
                () = until(self.expires_at) => return Err(Closing::expired().into()),
                () = started(self.ended.as_mut()) => return Err(Closing::session_ended().into()),
                () = sleep_until(init_by), if self.stage == Stage::Opened => {
                    return Err(Closing::init_timeout().into());
                }
                started = started(self.starting.as_mut()) => SocketEvent::Started(started),
                received = socket.recv(), if self.starting.is_none() => SocketEvent::Received(received),
                (id, said) = self.operations.next() => SocketEvent::OperationEvent(id, said),
                () = keep_alive.tick() => SocketEvent::KeepAlive,
            };
            match happened {
                SocketEvent::Started(started) => {
                    self.starting = None;
                    let reply = self.on_started(started)?;
                    if self.stage == Stage::Acknowledged {
                        socket.acknowledge();
                    }
                    if let Some(reply) = reply {
                        self.send(socket, reply).await?;
                    }
                }
                SocketEvent::Received(received) => {
                    keep_alive.heard();
                    if let Some(reply) = self.on_received(received?)? {
                        self.send(socket, reply).await?;
                    }
                }
                SocketEvent::OperationEvent(id, said) => self.say(socket, &id, said).await?,
                SocketEvent::KeepAlive if keep_alive.has_to_ping() || self.starting.is_some() => {
                    self.unless_stopped(socket.ping()).await?;
                }
                SocketEvent::KeepAlive => return Err(SocketEnd::Gone),
            }
        }
    }

    fn on_received(&mut self, received: Received) -> Result<Option<String>, SocketEnd> {
        match received {
            Received::Text(text) => {
                let quota = self.charge_message(text.len())?;
                let message = ClientMessage::parse(&text).map_err(|invalid| Closing::invalid(&invalid))?;
                Ok(self.on_message(message, quota)?)
            }
            Received::Binary => Err(Closing::invalid(&InvalidMessage::binary()).into()),
            Received::Control => Ok(None),
        }
    }

    /// Charges a message for its bytes before it is read. A long one of a caller without a quota is not read
    /// at all.
    fn charge_message(&self, bytes: usize) -> Result<Arc<RequestQuota>, Closing> {
        let graphql = &self.live.graphql;
        let quota = Arc::new(graphql.quota_of(self.client, self.caller.is_none()));
        let opened = quota.open(self.caller.as_deref());
        if opened.is_err() && bytes > UNCHARGED_MESSAGE_BYTES_MAX {
            return Err(Closing::over_quota());
        }
        quota.charge(graphql.preparations().charge(PreparationWork::decoding(bytes)));
        Ok(quota)
    }

    fn on_message(
        &mut self,
        message: ClientMessage,
        quota: Arc<RequestQuota>,
    ) -> Result<Option<String>, Closing> {
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
                let limits = self.live.limits;
                let has_room = self.operations.len() < limits.operations_per_connection_max;
                if let Err(exceeded) = limits.operations_per_connection().unless(has_room) {
                    return Ok(Some(refused(&id, &Encoded::refused(exceeded.into()))));
                }
                self.prepare(id.as_str().into(), payload, quota);
                Ok(None)
            }
            ClientMessage::Complete { id } => {
                self.operations.end(&id);
                Ok(None)
            }
        }
    }

    /// Finds out who the caller is. A client that names no token is anonymous, unless its handshake named
    /// one.
    fn connect(&mut self, authorization: Option<String>) -> Result<(), Closing> {
        let bearer = match authorization {
            Some(authorization) => Some(bearer_of(&authorization).ok_or_else(Closing::forbidden)?.to_owned()),
            None => self.bearer.take(),
        };
        let live = Arc::clone(&self.live);
        let connection = async move {
            let Some(bearer) = bearer else { return Ok(None) };
            live.graphql.authenticate_connection(&bearer).await.map(Some)
        };
        self.starting = Some(connection.map(Started::Connection).boxed());
        Ok(())
    }

    /// Prepares an operation.
    fn prepare(&mut self, id: OperationId, payload: String, quota: Arc<RequestQuota>) {
        let (live, caller) = (Arc::clone(&self.live), self.caller.clone());
        let preparation = async move {
            let graphql = &live.graphql;
            let prepared = graphql.in_time(graphql.prepare_operation(payload, caller, &quota)).await;
            Started::Operation { id, quota, prepared: prepared.map(Box::new) }
        };
        self.starting = Some(preparation.boxed());
    }

    /// Starts an operation that is prepared.
    fn start(
        &mut self,
        id: OperationId,
        context: RequestContext,
        quota: Arc<RequestQuota>,
    ) -> Result<(), Encoded> {
        let live = Arc::clone(&self.live);
        if !context.wants_stream() {
            let execution = async move { execute(&live, context).await };
            self.operations.run(id, execution.boxed());
            return Ok(());
        }
        let user = self.caller.as_ref().map(|caller| caller.id.as_str());
        let permit = live.permits.subscription(user, self.client.network);
        let permit = permit.map_err(|exceeded| Encoded::refused(exceeded.into()))?;
        let subscription = async move {
            let joined = live.groups.join_in_time(context, &quota).await;
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
                self.ended = self.caller.clone().map(|caller| self.live.graphql.session_ended(caller));
                Ok(Some(messages::ACKNOWLEDGED.to_owned()))
            }
            Started::Connection(Err(Refusal::Rejected(RequestRejection::InvalidToken))) => {
                Err(Closing::forbidden())
            }
            Started::Connection(Err(_)) => Err(Closing::unavailable()),
            Started::Operation { prepared: Err(Refusal::Malformed(malformed)), .. }
                if !matches!(malformed, MalformedRequest::OverLimit(_)) =>
            {
                Err(Closing::invalid(&InvalidMessage::not_a_request()))
            }
            Started::Operation { id, prepared: Err(refusal), .. } => {
                Ok(Some(refused(&id, &refusal.into_encoded())))
            }
            Started::Operation { id, quota, prepared: Ok(context) } => {
                let started = self.start(Arc::clone(&id), *context, quota);
                Ok(started.err().map(|refusal| refused(&id, &refusal)))
            }
            Started::Subscription { id, permit, joined: Ok(member) } => {
                self.operations.follow(id, member, permit);
                Ok(None)
            }
            Started::Subscription { id, joined: Err(refusal), .. } => Ok(Some(refused(&id, &refusal))),
        }
    }

    async fn say<S>(
        &mut self,
        socket: &mut Socket<S>,
        id: &str,
        said: OperationEvent,
    ) -> Result<(), SocketEnd>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        match said {
            OperationEvent::Result(response) => self.send_result(socket, id, &response).await,
            OperationEvent::Single(Encoded { request_errors: Some(errors), .. }) => {
                self.send(socket, messages::error(id, &errors)).await
            }
            OperationEvent::Single(Encoded { response, .. }) => {
                self.send_result(socket, id, &response).await?;
                drop(response);
                self.send(socket, messages::complete(id)).await
            }
            OperationEvent::End => self.send(socket, messages::complete(id)).await,
            OperationEvent::Lagged => Err(Closing::too_slow().into()),
            OperationEvent::Refused(refusal) => self.send(socket, refused(id, &refusal)).await,
        }
    }

    /// Sends a result. Its copies in the message and in the write buffer are response memory, too; without
    /// that the client has to come again later.
    async fn send_result<S>(
        &mut self,
        socket: &mut Socket<S>,
        id: &str,
        response: &[u8],
    ) -> Result<(), SocketEnd>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let copies = self.live.graphql.responses().reserve(response.len().saturating_mul(MESSAGE_COPIES));
        let Some(_copies) = copies else { return Err(Closing::overloaded().into()) };
        self.send(socket, messages::next(id, response)).await
    }

    async fn send<S>(&mut self, socket: &mut Socket<S>, text: String) -> Result<(), SocketEnd>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        self.unless_stopped(socket.send(text)).await
    }

    /// Waits for a write. A client that takes nothing does not delay the stop of the process.
    async fn unless_stopped(
        &mut self,
        write: impl Future<Output = Result<(), SocketEnd>>,
    ) -> Result<(), SocketEnd> {
        let written = self.live.stop.run_until_cancelled(write).await;
        written.unwrap_or_else(|| Err(Closing::going_away().into()))
    }
}

async fn execute(live: &LiveEndpoint, context: RequestContext) -> Encoded {
    let execution = live.graphql.in_time(live.graphql.answer(context)).await;
    execution.map_or_else(Refusal::into_encoded, ExecutedResponse::into_encoded)
}

fn refused(id: &str, refusal: &Encoded) -> String {
    messages::error(id, refusal.request_errors.as_deref().unwrap_or(b"[]"))
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

async fn started<T>(starting: Option<&mut BoxFuture<'static, T>>) -> T {
    match starting {
        Some(starting) => starting.await,
        None => std::future::pending().await,
    }
}
