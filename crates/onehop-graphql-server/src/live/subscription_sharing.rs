//! The running subscriptions, by their requests: equal requests share one execution, but requests whose
//! selection depends on the viewer only with requests of the same viewer.

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use sha2::{Digest, Sha256};
use tokio::sync::{Semaphore, broadcast, watch};

use super::caller_shares::{CallerNetwork, CallerShare, CallerShares};
use super::event_errors::error;
use super::limits::LiveLimits;
use super::shared_subscription::{
    Begun, LastAnswer, Shared, SharedResult, SharedSubscription, SubscriptionEvent,
};
use super::subscription_quota::{EVENTS_PART, Gate, Payment};
use crate::endpoint::GraphqlEndpoint;
use crate::limit_exceeded::LimitExceeded;
use crate::pipeline::context::RequestContext;
use crate::pipeline::rate_limit::RequestQuota;
use crate::position::POSITION;
use crate::quota::QuotaAccount as _;
use crate::refusal::Refusal;
use crate::response::Encoded;
use crate::shared_limit::ShareRefusal;
use onehop_runtime::tasks::Tasks;

/// The shared executions of the process.
pub(super) struct SubscriptionSharing {
    graphql: Arc<GraphqlEndpoint>,
    limits: LiveLimits,
    tasks: Tasks,
    /// Bytes of the requests of the running subscriptions.
    bytes: CallerShares,
    /// Events of all groups that execute or wait for that in the line of requests.
    event_turns: Arc<Semaphore>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: HashMap<Key, Entry>,
    started: u64,
}

/// A digest of the request, and of its caller where the caller matters.
type Key = [u8; 32];

struct Entry {
    number: u64,
    /// The share of the caller who began it, for as long as it runs.
    _bytes: CallerShare,
    members: usize,
    results: broadcast::Sender<SharedResult>,
    begun: watch::Receiver<Begun>,
    shared: Arc<Shared>,
}

/// A subscriber's part in a group.
pub(super) struct Member {
    results: broadcast::Receiver<SharedResult>,
    /// The answer of a live query that ran before this member came.
    first: Option<Bytes>,
    /// The number of the last result that this member has had.
    answered: u64,
    shared: Arc<Shared>,
    payment: Payment,
    _membership: Membership,
}

/// Counts a member as long as it lives; a group without members ends.
struct Membership {
    groups: Arc<SubscriptionSharing>,
    key: Key,
    number: u64,
}

/// Takes the group's entry out when its execution has ended, however it ended.
struct Running(Membership);

impl SubscriptionSharing {
    pub(super) fn new(graphql: Arc<GraphqlEndpoint>, limits: LiveLimits, tasks: Tasks) -> Self {
        let events_max = (graphql.executing_max() / EVENTS_PART).max(1);
        let event_turns = Arc::new(Semaphore::new(events_max));
        let bytes = CallerShares::new(limits.different_bytes_max, limits.different_bytes_per_network_max);
        Self { graphql, limits, tasks, bytes, event_turns, state: Mutex::default() }
    }

    /// Joins the group of an equal request, or begins a new one. Writes after this returns are heard, and go
    /// on the bill.
    pub(super) async fn join(
        self: &Arc<Self>,
        mut context: RequestContext,
        quota: &Arc<RequestQuota>,
    ) -> Result<Member, Encoded> {
        if context.wants_live() {
            self.prepare_live(&mut context).await?;
        }
        let entered = self.enter(context, quota);
        let (member, mut begun) = entered.map_err(|over| Encoded::refused(over.into()))?;
        let begun = begun.wait_for(|begun| !matches!(begun, Begun::NotYet)).await;
        match begun.as_deref() {
            Ok(Begun::Refused(refusal)) => Err(refusal.clone()),
            Ok(Begun::Yes | Begun::NotYet) => Ok(member),
            Err(_) => Err(Encoded::refused(error("INTERNAL", "Something went wrong on the server."))),
        }
    }

    /// Has a live query wait for the position that it names and for its caller's own writes. Its answers do
    /// not report it, so that equal queries at different positions share one execution.
    async fn prepare_live(&self, context: &mut RequestContext) -> Result<(), Encoded> {
        let waited = self.graphql.read_your_writes().await_position(context).await;
        waited.map_err(|invalid| Refusal::from(invalid).into_encoded())?;
        context.prior_charges.settle();
        context.request.extensions.remove(POSITION);
        context.waited = None;
        Ok(())
    }

    /// As [`join`](Self::join), within the time that a request may take.
    pub(super) async fn join_in_time(
        self: &Arc<Self>,
        context: RequestContext,
        quota: &Arc<RequestQuota>,
    ) -> Result<Member, Encoded> {
        let joined = self.graphql.in_time(async { Ok(self.join(context, quota).await) }).await;
        joined.unwrap_or_else(|refusal| Err(refusal.into_encoded()))
    }

    fn enter(
        self: &Arc<Self>,
        mut context: RequestContext,
        quota: &Arc<RequestQuota>,
    ) -> Result<(Member, watch::Receiver<Begun>), LimitExceeded> {
        let SubscriptionKey { key, bytes } = self.key_of(&context)?;
        let mut state = self.lock();
        let State { running, started } = &mut *state;
        let (entry, payment) = match running.entry(key) {
            MapEntry::Occupied(entry) => {
                let entry = entry.into_mut();
                let payment = Payment::of(quota, &entry.shared.payers);
                (entry, payment)
            }
            MapEntry::Vacant(vacant) => {
                let caller =
                    CallerNetwork { network: context.client.network, is_user: context.caller.is_some() };
                let bytes = self.bytes.take(caller, bytes).map_err(|refusal| match refusal {
                    ShareRefusal::All => self.limits.different_bytes(),
                    ShareRefusal::OneKey => self.limits.different_bytes_per_network(),
                })?;
                // An answer for all callers is executed for none of them.
                if context.wants_live() && !self.is_personal(&context) {
                    context.caller = None;
                }
                *started += 1;
                let shared = Arc::<Shared>::default();
                // Before the first event.
                let payment = Payment::of(quota, &shared.payers);
                let beginning = Beginning { context, shared };
                (vacant.insert(self.begin(beginning, key, *started, bytes)), payment)
            }
        };
        entry.members += 1;
        // Before the last answer is looked at: a later one comes on the channel, perhaps a second time.
        let results = entry.results.subscribe();
        let first = entry.shared.last.lock().clone();
        if let Some(LastAnswer { response, .. }) = &first {
            quota.charge(self.graphql.responses().limits().size_charge(response.len()));
        }
        let member = Member {
            results,
            answered: first.as_ref().map_or(0, |last| last.number),
            first: first.map(|last| last.response),
            shared: Arc::clone(&entry.shared),
            payment,
            _membership: Membership { groups: Arc::clone(self), key, number: entry.number },
        };
        Ok((member, entry.begun.clone()))
    }

    fn begin(self: &Arc<Self>, beginning: Beginning, key: Key, number: u64, bytes: CallerShare) -> Entry {
        let Beginning { context, shared } = beginning;
        let (results, _) = broadcast::channel(self.limits.results_waiting_max);
        let (begin, begun) = watch::channel(Begun::NotYet);
        let gate = Arc::new(Gate {
            payers: Arc::clone(&shared.payers),
            turns: Arc::clone(&self.event_turns),
            limit: self.graphql.concurrency_limit().clone(),
            complexity: context.complexity,
            is_closed: AtomicBool::new(false),
        });
        let group = SharedSubscription {
            graphql: Arc::clone(&self.graphql),
            results: results.clone(),
            begin,
            shared: Arc::clone(&shared),
            gate,
            limits: self.limits,
        };
        let running = Running(Membership { groups: Arc::clone(self), key, number });
        self.tasks.spawn_contained("subscription", async move {
            group.run(context).await;
            drop(running);
        });
        Entry { number, _bytes: bytes, members: 0, results, begun, shared }
    }

    /// The key that distinguishes a subscription from others.
    fn key_of(&self, context: &RequestContext) -> Result<SubscriptionKey, LimitExceeded> {
        let request = &context.request;
        // Plain values with string keys are always JSON.
        let variables = serde_json::to_string(&request.variables).unwrap_or_default();
        let extensions = serde_json::to_string(&request.extensions.0).unwrap_or_default();
        let name = request.operation_name.as_deref().unwrap_or_default();
        // Texts with one normal form ask the same.
        let text = &*context.document.text;
        let bytes = text.len() + variables.len() + extensions.len();
        self.limits.subscription_bytes().unless(bytes <= self.limits.subscription_bytes_max)?;
        let caller = context.caller.as_ref().filter(|_| self.is_personal(context));
        let viewer = caller.map_or("", |caller| &caller.id);
        let rights = caller.map_or(0, |caller| caller.rights).to_string();
        let mut digest = Sha256::new();
        for part in [text, name, &variables, &extensions, viewer, &rights] {
            digest.update(part.len().to_le_bytes());
            digest.update(part);
        }
        Ok(SubscriptionKey { key: digest.finalize().into(), bytes })
    }

    /// Whether the caller matters to the results.
    fn is_personal(&self, context: &RequestContext) -> bool {
        let (service, document) = (self.graphql.service(), &context.document.definitions);
        match context.wants_live() {
            true => service.is_personal_query(document),
            false => service.is_personal(document),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

/// The key that distinguishes a subscription from others, and its size.
struct SubscriptionKey {
    key: Key,
    bytes: usize,
}

/// The start of an execution; its quota is charged for the start.
struct Beginning {
    context: RequestContext,
    shared: Arc<Shared>,
}

impl Member {
    /// The next result.
    pub(super) async fn next(&mut self) -> SubscriptionEvent {
        if let Some(first) = self.first.take() {
            return SubscriptionEvent::Result(first);
        }
        let received = loop {
            let received = tokio::select! {
                biased;
                refusal = self.payment.over() => return SubscriptionEvent::OverQuota(refusal),
                received = self.results.recv() => received,
            };
            if !matches!(&received, Ok(SharedResult { number, .. }) if *number <= self.answered) {
                break received;
            }
        };
        let heard = match received {
            Ok(SharedResult { result, .. }) => {
                result.response().map_or(SubscriptionEvent::Lagged, SubscriptionEvent::Result)
            }
            Err(broadcast::error::RecvError::Closed) => {
                self.payment.is_over().map_or(SubscriptionEvent::End, SubscriptionEvent::OverQuota)
            }
            Err(broadcast::error::RecvError::Lagged(_)) => SubscriptionEvent::Lagged,
        };
        self.shared.taken.notify_one();
        heard
    }
}

impl Membership {
    /// The entry of this group, unless another has taken its place.
    fn entry<'a>(&self, state: &'a mut State) -> Option<&'a mut Entry> {
        state.running.get_mut(&self.key).filter(|entry| entry.number == self.number)
    }

    fn remove(&self, state: &mut State) {
        if let Some(entry) = state.running.remove(&self.key) {
            entry.shared.abandoned.cancel();
        }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        let mut state = self.groups.lock();
        let Some(entry) = self.entry(&mut state) else { return };
        entry.members = entry.members.saturating_sub(1);
        if entry.members == 0 {
            self.remove(&mut state);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut state = self.0.groups.lock();
        if self.0.entry(&mut state).is_some() {
            self.0.remove(&mut state);
        }
    }
}
