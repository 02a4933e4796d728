//! One execution of a subscription, for all who ask the same: each result is encoded once, and handed to all.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use futures::StreamExt;
use parking_lot::Mutex;
use tokio::sync::{Notify, broadcast, watch};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::limits::LiveLimits;
use super::live_query::SharedExecution;
use super::pending_results::{WaitingResult, WaitingResults};
use super::slow_subscriber_budget::SlowSubscriberBudget;
use super::subscription_quota::{EventPayers, Gate};
use crate::endpoint::GraphqlEndpoint;
use crate::pipeline::context::RequestContext;
use crate::quota::charge_of;
use crate::response::Encoded;

pub(super) struct SharedSubscription {
    pub(super) graphql: Arc<GraphqlEndpoint>,
    /// The results that some member has not taken yet.
    pub(super) results: broadcast::Sender<SharedResult>,
    pub(super) begin: watch::Sender<Begun>,
    pub(super) shared: Arc<Shared>,
    pub(super) gate: Arc<Gate>,
    pub(super) limits: LiveLimits,
}

/// The signals between an execution and its members.
#[derive(Default)]
pub(super) struct Shared {
    pub(super) payers: Arc<EventPayers>,
    /// A member has taken a result.
    pub(super) taken: Notify,
    /// The last answer; `None` for subscriptions.
    pub(super) last: Mutex<Option<LastAnswer>>,
    /// No member is left.
    pub(super) abandoned: CancellationToken,
}

/// A result for all members.
#[derive(Debug, Clone)]
pub(super) struct SharedResult {
    pub(super) result: Arc<WaitingResult>,
    /// Its place among the results.
    pub(super) number: u64,
}

/// The last answer of a live query, with which later members begin.
#[derive(Debug, Clone)]
pub(super) struct LastAnswer {
    pub(super) response: Bytes,
    pub(super) number: u64,
}

/// Whether an execution has begun.
pub(super) enum Begun {
    NotYet,
    Yes,
    /// It cannot begin.
    Refused(Encoded),
}

/// An event for a member.
#[derive(Debug)]
pub(super) enum SubscriptionEvent {
    Result(Bytes),
    /// There is nothing more to come.
    End,
    /// It is so far behind that results were passed over.
    Lagged,
    /// Its quota is spent.
    OverQuota(Encoded),
}

impl SharedSubscription {
    /// Executes until the end, or until no member is left.
    pub(super) async fn run(self, context: RequestContext) {
        let abandoned = self.shared.abandoned.clone();
        abandoned.run_until_cancelled(self.execute(context)).await;
    }

    async fn execute(&self, context: RequestContext) {
        let is_live = context.wants_live();
        let (mut results, context) = match self.graphql.subscribe(context, Arc::clone(&self.gate) as _).await
        {
            Ok(begun) => begun,
            Err(refusal) => {
                self.begin.send_replace(Begun::Refused(refusal));
                return;
            }
        };
        self.begin.send_replace(Begun::Yes);
        let mut patience = SlowSubscriberBudget::new(self.limits.patience, Instant::now());
        let mut waiting = WaitingResults::new(self.limits.results_waiting_bytes_max);
        let mut number = 0;
        while let Some(SharedExecution { execution, is_unchanged }) = results.next().await {
            if self.gate.is_closed.load(Ordering::Acquire) {
                self.shared.payers.end();
                return;
            }
            let charge = charge_of(&execution.extensions);
            let memory = self.graphql.responses();
            if is_unchanged {
                self.shared.payers.charge(charge, 0.0);
                continue;
            }
            let response = self.graphql.write(&context, execution, &memory.begin_or_refuse()).body;
            self.shared.payers.charge(charge, memory.limits().size_charge(response.len()));
            number += 1;
            if is_live {
                *self.shared.last.lock() = Some(LastAnswer { response: response.clone(), number });
            }
            self.publish(response, number, &mut patience, &mut waiting).await;
        }
    }

    /// Hands a result to all members, and waits before that a while for slow ones.
    async fn publish(
        &self,
        response: Bytes,
        number: u64,
        patience: &mut SlowSubscriberBudget,
        waiting: &mut WaitingResults,
    ) {
        while self.results.len() >= self.limits.results_waiting_max || !waiting.has_room_for(response.len()) {
            let now = Instant::now();
            let left = patience.left(now);
            if left.is_zero() {
                break;
            }
            // Whether a member has taken a result or the time is over shows at the next look.
            let _ = timeout(left, self.shared.taken.notified()).await;
            patience.spend(now.elapsed(), Instant::now());
        }
        let result = Arc::new(WaitingResult::new(response));
        waiting.push(&result);
        // Without members the group is about to be abandoned.
        let _ = self.results.send(SharedResult { result, number });
    }
}
