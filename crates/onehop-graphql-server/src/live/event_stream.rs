//! GraphQL over server-sent events, in the mode of distinct connections: each operation is a request, and its answer a
//! stream of `next` events with a `complete` at the end.
//!
//! <https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md>. A request that is well-formed and cannot be executed is
//! told by an event, since a client could not read it from a status; one that is not, by the status.

use std::convert::Infallible;
use std::sync::Arc;

use async_graphql::ServerError;
use async_graphql::parser::types::OperationType;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, Request, Response};
use bytes::{BufMut, Bytes, BytesMut};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::{iter, unfold};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};
use tokio_util::sync::CancellationToken;

use super::group::Heard;
use super::groups::Member;
use super::permits::{ConnectionPermit, SubscriptionPermit};
use super::{LiveEndpoint, TOO_SLOW, error};
use crate::answer::{Form, refused};
use crate::callers::Bill;
use crate::graphql_http::{Checked, Received, Sent, open};
use crate::graphql_request::Asked;
use crate::graphql_response::{Encoded, Refusal};
use crate::media_type::ResponseType;
use crate::spent::Spent;

/// A comment: it keeps proxies from taking the connection for dead, and makes browsers see the head of the answer.
const KEEP_ALIVE: Bytes = Bytes::from_static(b":\n\n");
/// The data is empty and not missing, or browsers would pass the event over.
const COMPLETE: Bytes = Bytes::from_static(b"event: complete\ndata: \n\n");

const BEFORE_RESULT: &[u8] = b"event: next\ndata: ";
const AFTER_RESULT: &[u8] = b"\n\n";
/// The longest result that is copied into its event.
const COPIED_BYTES_MAX: usize = 16 * 1024;

/// The parts of what is sent, of which some may be empty.
type Event = [Bytes; 3];

/// A subscription as it is sent.
struct Sending {
    member: Member,
    keep_alive: Interval,
    expires_at: Option<Instant>,
    /// Ready when the session of the caller has ended.
    ended: Option<BoxFuture<'static, ()>>,
    stop: CancellationToken,
    _connection: ConnectionPermit,
    _permit: SubscriptionPermit,
}

impl LiveEndpoint {
    /// Answers a request by an event stream; where a single response is as welcome, only subscriptions.
    pub(crate) async fn event_stream(
        self: Arc<Self>,
        request: Request<Body>,
        single: Option<ResponseType>,
    ) -> Response<Body> {
        let bill = self.graphql.bill(request.headers(), request.extensions());
        let bill = Arc::new(bill);
        let single = single.map(|media_type| self.graphql.form(media_type, request.headers()));
        let mut response = self.answer(request, single, &bill).await;
        bill.tell(response.headers_mut());
        response
    }

    async fn answer(&self, request: Request<Body>, single: Option<Form>, bill: &Arc<Bill>) -> Response<Body> {
        let received = self.graphql.in_time(self.graphql.receive(request)).await;
        let (checked, bearer) = match (received, single) {
            (Ok(received @ Received { asked: Asked::Batch(_), .. }), Some(form)) => {
                let answer = self.graphql.in_time(self.graphql.answer_received(received, bill)).await;
                return self.graphql.answer_with(answer, form).await;
            }
            (received, single) => match received.and_then(|received| self.one(received)) {
                Ok(one) => one,
                Err(refusal) => return self.refuse(refusal, single),
            },
        };
        let (bearer, kind) = (bearer.as_deref(), checked.kind);
        if kind == OperationType::Subscription {
            let subscribed = self.subscribe(checked, bearer, bill).await;
            return subscribed.unwrap_or_else(|refusal| self.refuse(refusal, None));
        }
        match (self.graphql.in_time(self.graphql.execute(checked, bearer, bill)).await, single) {
            (Ok(executed), None) => only(&executed.into_encoded()),
            (Ok(executed), Some(form)) => {
                self.graphql.answer_with(Ok(Sent::One(kind, Ok(executed))), form).await
            }
            (Err(refusal), single) => self.refuse(refusal, single),
        }
    }

    /// The only request that was sent.
    fn one(&self, received: Received) -> Result<(Checked, Option<String>), Refusal> {
        let Received { asked, is_read_only, bearer, .. } = received;
        match asked {
            Asked::One(request) => Ok((self.graphql.check(*request, is_read_only)?, bearer)),
            Asked::Batch(_) => Err(Refusal::BatchOfStreams),
        }
    }

    fn refuse(&self, refusal: Refusal, single: Option<Form>) -> Response<Body> {
        if single.is_none() && refusal.is_request_error() {
            return only(&refusal.into_encoded());
        }
        refused(refusal, single.map_or(ResponseType::Json, |form| form.media_type))
    }

    async fn subscribe(
        &self,
        checked: Checked,
        bearer: Option<&str>,
        bill: &Arc<Bill>,
    ) -> Result<Response<Body>, Refusal> {
        let spent = Spent::on(bill, &**self.graphql.service());
        let caller = self.graphql.in_time(self.graphql.caller(bearer, &spent)).await?;
        open(bill, caller.as_ref())?;
        drop(spent);
        let connection = self.permits.connection(bill.origin().network)?;
        let permit = match self.permits.subscription(caller.as_ref().map(|caller| caller.id.as_str())) {
            Ok(permit) => permit,
            Err(exceeded) => return Ok(only(&Encoded::refused(exceeded.into()))),
        };
        let member = match self.groups.join_in_time(checked, caller.as_ref(), bill).await {
            Ok(member) => member,
            Err(refusal) => return Ok(only(&refusal)),
        };
        let now = Instant::now();
        let mut keep_alive = interval_at(now, self.limits.keep_alive);
        keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let sending = Sending {
            member,
            keep_alive,
            expires_at: caller.as_ref().and_then(|caller| now.checked_add(caller.valid_for)),
            ended: caller.map(|caller| self.graphql.session_ended(Arc::new(caller))),
            stop: self.stop.clone(),
            _connection: connection,
            _permit: permit,
        };
        let events = unfold(Some(sending), async |sending| {
            let (events, sending) = sending?.next().await;
            let parts = events.into_iter().filter(|part| !part.is_empty());
            Some((iter(parts.map(Ok::<_, Infallible>)), sending))
        });
        Ok(respond(Body::from_stream(events.flatten())))
    }
}

impl Sending {
    /// The next events, and the rest unless they were the last.
    async fn next(mut self) -> (Event, Option<Self>) {
        let events = tokio::select! {
            biased;
            () = self.stop.cancelled() => return (whole(COMPLETE), None),
            () = until(self.expires_at) => {
                return (last_words(error("UNAUTHENTICATED", "The access token has expired: sign in again.")), None);
            }
            () = ended(self.ended.as_mut()) => {
                return (last_words(error("UNAUTHENTICATED", "The session has ended: sign in again.")), None);
            }
            // The first tick comes at once.
            _ = self.keep_alive.tick() => whole(KEEP_ALIVE),
            heard = self.member.next() => match heard {
                Heard::Result(response) => next(&response),
                Heard::End => return (whole(COMPLETE), None),
                Heard::Lagged => return (last_words(error("LIMIT_EXCEEDED", TOO_SLOW)), None),
                Heard::OverQuota(refusal) => return (whole(with_end(&refusal.response)), None),
            },
        };
        (events, Some(self))
    }
}

/// A stream with a single result.
fn only(encoded: &Encoded) -> Response<Body> {
    if encoded.response.len() <= COPIED_BYTES_MAX {
        return respond(Body::from(with_end(&encoded.response)));
    }
    let events = next(&encoded.response).into_iter().chain([COMPLETE]);
    respond(Body::from_stream(iter(events.map(Ok::<_, Infallible>))))
}

/// An error after which nothing more comes.
fn last_words(error: ServerError) -> Event {
    whole(with_end(&Encoded::refused(error).response))
}

fn with_end(response: &[u8]) -> Bytes {
    let mut events = copied(response);
    events.put(COMPLETE);
    events.freeze()
}

/// A result, and what is sent before and after it. A large one is shared by all who get it and not copied.
fn next(response: &Bytes) -> Event {
    if response.len() <= COPIED_BYTES_MAX {
        return whole(copied(response).freeze());
    }
    [Bytes::from_static(BEFORE_RESULT), response.clone(), Bytes::from_static(AFTER_RESULT)]
}

fn whole(event: Bytes) -> Event {
    [event, Bytes::new(), Bytes::new()]
}

/// Responses are written without line breaks, so each is one line of data.
fn copied(response: &[u8]) -> BytesMut {
    let mut event = BytesMut::with_capacity(BEFORE_RESULT.len() + response.len() + AFTER_RESULT.len());
    for part in [BEFORE_RESULT, response, AFTER_RESULT] {
        event.put(part);
    }
    event
}

fn respond(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    for (name, value) in [
        (CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (CACHE_CONTROL, "no-store"),
        // Proxies that would collect the stream are asked not to.
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn ended(ended: Option<&mut BoxFuture<'static, ()>>) {
    match ended {
        Some(ended) => ended.await,
        None => std::future::pending().await,
    }
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
