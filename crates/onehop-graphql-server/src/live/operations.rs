//! The operations of one WebSocket: the next event of each, and the ids in use. Knows neither messages nor
//! the socket.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{AbortHandle, BoxStream, SelectAll, StreamExt, abortable, once, unfold};

use super::permits::SubscriptionPermit;
use super::shared_subscription::SubscriptionEvent;
use super::subscription_sharing::Member;
use crate::response::Encoded;

/// The id that a client gave to an operation.
pub(super) type OperationId = Arc<str>;

/// An event of an operation.
#[derive(Debug)]
pub(super) enum OperationEvent {
    /// The only result of a query or a mutation.
    Single(Encoded),
    /// One of the results of a subscription.
    Result(Bytes),
    /// A subscription has ended.
    End,
    /// A subscription was so slow that results were passed over.
    Lagged,
    /// A subscription has ended by an error.
    Refused(Encoded),
}

/// The operations that run.
#[derive(Default)]
pub(super) struct Operations {
    said: SelectAll<BoxStream<'static, (OperationId, OperationEvent)>>,
    running: HashMap<OperationId, AbortHandle>,
}

impl Operations {
    pub(super) fn contains(&self, id: &str) -> bool {
        self.running.contains_key(id)
    }

    pub(super) fn len(&self) -> usize {
        self.running.len()
    }

    /// Runs a query or a mutation.
    pub(super) fn run(&mut self, id: OperationId, execution: BoxFuture<'static, Encoded>) {
        let of = Arc::clone(&id);
        self.insert(id, once(async move { (of, OperationEvent::Single(execution.await)) }).boxed());
    }

    /// Follows a subscription.
    pub(super) fn follow(&mut self, id: OperationId, member: Member, permit: SubscriptionPermit) {
        let of = Arc::clone(&id);
        let said = unfold(Some((member, permit)), move |following| {
            let of = Arc::clone(&of);
            async move {
                let (mut member, permit) = following?;
                Some(match member.next().await {
                    SubscriptionEvent::Result(result) => {
                        ((of, OperationEvent::Result(result)), Some((member, permit)))
                    }
                    SubscriptionEvent::End => ((of, OperationEvent::End), None),
                    SubscriptionEvent::Lagged => ((of, OperationEvent::Lagged), None),
                    SubscriptionEvent::OverQuota(refusal) => ((of, OperationEvent::Refused(refusal)), None),
                })
            }
        });
        self.insert(id, said.boxed());
    }

    fn insert(&mut self, id: OperationId, said: BoxStream<'static, (OperationId, OperationEvent)>) {
        let (said, handle) = abortable(said);
        self.said.push(said.boxed());
        self.running.insert(id, handle);
    }

    /// Ends an operation; nothing more is heard of it.
    pub(super) fn end(&mut self, id: &str) {
        if let Some(handle) = self.running.remove(id) {
            handle.abort();
        }
    }

    /// The next event of any operation. Never comes while no operation runs.
    pub(super) async fn next(&mut self) -> (OperationId, OperationEvent) {
        match self.said.next().await {
            Some((id, said)) => {
                if !matches!(said, OperationEvent::Result(_)) {
                    self.running.remove(&id);
                }
                (id, said)
            }
            None => std::future::pending().await,
        }
    }
}
