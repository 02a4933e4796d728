//! GraphQL over server-sent events, in the mode of distinct connections: each operation is a request, and its
//! answer a stream of `next` events with a `complete` at the end.
//!
//! <https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md>. A well-formed request that cannot be
//! executed is answered by an event, since a client could not read the error from a status; a malformed
//! request, by the status.

use std::convert::Infallible;
use std::sync::Arc;

use async_graphql::ServerError;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, Request, Response};
use bytes::{BufMut, Bytes, BytesMut};
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::{iter, unfold};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};
use tokio_util::sync::CancellationToken;

use super::LiveEndpoint;
use super::event_errors::{TOO_SLOW, error};
use super::permits::{ConnectionPermit, SubscriptionPermit};
use super::shared_subscription::SubscriptionEvent;
use super::subscription_sharing::Member;
use crate::media_type::ResponseType;
use crate::pipeline::context::RequestContext;
use crate::pipeline::rate_limit::RequestQuota;
use crate::refusal::Refusal;
use crate::representation::Representation;
use crate::response::Encoded;

/// A comment: it keeps proxies from taking the connection for dead, and makes browsers see the head of the
/// answer.
const KEEP_ALIVE: Bytes = Bytes::from_static(b":\n\n");
/// The data is empty and not missing, or browsers would pass the event over.
const COMPLETE: Bytes = Bytes::from_static(b"event: complete\ndata: \n\n");

const BEFORE_RESULT: &[u8] = b"event: next\ndata: ";
const AFTER_RESULT: &[u8] = b"\n\n";
/// The longest result that is copied into its event.
const COPIED_BYTES_MAX: usize = 16 * 1024;

/// The parts of an event, of which some may be empty.
type Event = [Bytes; 3];

/// A subscription that is being sent.
struct EventStreamSender {
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
        let quota = Arc::new(self.graphql.request_quota(request.headers(), request.extensions()));
        let single = single.map(|media_type| self.graphql.representation(media_type, request.headers()));
        let mut response = self.answer(request, single, &quota).await;
        quota.write_headers(response.headers_mut());
        response
    }

    async fn answer(
        &self,
        request: Request<Body>,
        single: Option<Representation>,
        quota: &Arc<RequestQuota>,
    ) -> Response<Body> {
        let context = match self.graphql.in_time(self.graphql.prepare(request, quota)).await {
            Ok(context) => context,
            Err(refusal) => return self.refuse(refusal, single),
        };
        if context.wants_stream() {
            let subscribed = self.subscribe(context, quota).await;
            return subscribed.unwrap_or_else(|refusal| self.refuse(refusal, None));
        }
        match (self.graphql.in_time(self.graphql.answer(context)).await, single) {
            (Ok(executed), None) => only(&executed.into_encoded()),
            (Ok(executed), Some(representation)) => self.graphql.render(Ok(executed), representation).await,
            (Err(refusal), single) => self.refuse(refusal, single),
        }
    }

    fn refuse(&self, refusal: Refusal, single: Option<Representation>) -> Response<Body> {
        if single.is_none() && refusal.is_request_error() {
            return only(&refusal.into_encoded());
        }
        refusal.respond(single.map_or(ResponseType::Json, |representation| representation.media_type))
    }

    async fn subscribe(
        &self,
        context: RequestContext,
        quota: &Arc<RequestQuota>,
    ) -> Result<Response<Body>, Refusal> {
        context.prior_charges.settle();
        let connection = self.permits.connection(context.client.network)?;
        let caller = context.caller.clone();
        let user = caller.as_ref().map(|caller| caller.id.as_str());
        let permit = match self.permits.subscription(user, context.client.network) {
            Ok(permit) => permit,
            Err(exceeded) => return Ok(only(&Encoded::refused(exceeded.into()))),
        };
        let member = match self.groups.join_in_time(context, quota).await {
            Ok(member) => member,
            Err(refusal) => return Ok(only(&refusal)),
        };
        let now = Instant::now();
        let mut keep_alive = interval_at(now, self.limits.keep_alive);
        keep_alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let sending = EventStreamSender {
            member,
            keep_alive,
            expires_at: caller.as_ref().and_then(|caller| now.checked_add(caller.valid_for)),
            ended: caller.map(|caller| self.graphql.session_ended(caller)),
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

impl EventStreamSender {
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
                SubscriptionEvent::Result(response) => next(&response),
                SubscriptionEvent::End => return (whole(COMPLETE), None),
                SubscriptionEvent::Lagged => return (last_words(error("LIMIT_EXCEEDED", TOO_SLOW)), None),
                SubscriptionEvent::OverQuota(refusal) => return (whole(with_end(&refusal.response)), None),
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

/// A result, and the bytes before and after it. All receivers share a large result without a copy.
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
