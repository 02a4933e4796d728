//! Which subscriptions run, by what they ask: those who ask the same share one execution, those of a selection that
//! depends on its viewer only with themselves.

use std::collections::HashMap;
use std::collections::hash_map::Entry as MapEntry;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sha2::{Digest, Sha256};
use tokio::sync::{Semaphore, broadcast, watch};

use super::group::{Begun, Group, Heard, Shared, Told};
use super::payers::{EVENTS_PART, Gate, Payment};
use super::{LiveLimits, error};
use crate::callers::Bill;
use crate::graphql_http::{Checked, GraphqlEndpoint};
use crate::graphql_response::Encoded;
use crate::graphql_service::Caller;
use crate::limit_exceeded::LimitExceeded;
use onehop_runtime::tasks::Tasks;

/// The shared executions of the process.
pub(super) struct Groups {
    graphql: Arc<GraphqlEndpoint>,
    limits: LiveLimits,
    tasks: Tasks,
    /// Events of all groups that execute or wait for that in the line of requests.
    event_turns: Arc<Semaphore>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: HashMap<Key, Entry>,
    /// Bytes of what the running ones ask.
    bytes: usize,
    started: u64,
}

/// A digest of what is asked, and by whom where that matters.
type Key = [u8; 32];

struct Entry {
    number: u64,
    bytes: usize,
    members: usize,
    results: broadcast::Sender<Told>,
    begun: watch::Receiver<Begun>,
    shared: Arc<Shared>,
}

/// A subscriber's part in a group.
pub(super) struct Member {
    results: broadcast::Receiver<Told>,
    shared: Arc<Shared>,
    payment: Payment,
    _membership: Membership,
}

/// Counts a member as long as it lives; a group without members ends.
struct Membership {
    groups: Arc<Groups>,
    key: Key,
    number: u64,
}

/// Takes the group's entry out when its execution has ended, however it ended.
struct Running(Membership);

impl Groups {
    pub(super) fn new(graphql: Arc<GraphqlEndpoint>, limits: LiveLimits, tasks: Tasks) -> Self {
        let events_max = (graphql.executing_max() / EVENTS_PART).max(1);
        let event_turns = Arc::new(Semaphore::new(events_max));
        Self { graphql, limits, tasks, event_turns, state: Mutex::default() }
    }

    /// Joins those who ask the same, or begins. What is written after this returns is heard, and goes on the bill.
    pub(super) async fn join(
        self: &Arc<Self>,
        checked: Checked,
        caller: Option<&Caller>,
        bill: &Arc<Bill>,
    ) -> Result<Member, Encoded> {
        let entered = self.enter(checked, caller, bill);
        let (member, mut begun) = entered.map_err(|over| Encoded::refused(over.into()))?;
        let begun = begun.wait_for(|begun| !matches!(begun, Begun::NotYet)).await;
        match begun.as_deref() {
            Ok(Begun::Refused(refusal)) => Err(refusal.clone()),
            Ok(Begun::Yes | Begun::NotYet) => Ok(member),
            Err(_) => Err(Encoded::refused(error("INTERNAL", "Something went wrong on the server."))),
        }
    }

    /// As [`join`](Self::join), within the time that a request may take.
    pub(super) async fn join_in_time(
        self: &Arc<Self>,
        checked: Checked,
        caller: Option<&Caller>,
        bill: &Arc<Bill>,
    ) -> Result<Member, Encoded> {
        let joined = self.graphql.in_time(async { Ok(self.join(checked, caller, bill).await) }).await;
        joined.unwrap_or_else(|refusal| Err(refusal.into_encoded()))
    }

    fn enter(
        self: &Arc<Self>,
        checked: Checked,
        caller: Option<&Caller>,
        bill: &Arc<Bill>,
    ) -> Result<(Member, watch::Receiver<Begun>), LimitExceeded> {
        let Asked { key, bytes } = self.asked(&checked, caller)?;
        let mut state = self.lock();
        let State { running, bytes: all_bytes, started } = &mut *state;
        let (entry, payment) = match running.entry(key) {
            MapEntry::Occupied(entry) => {
                let entry = entry.into_mut();
                let payment = Payment::of(bill, &entry.shared);
                (entry, payment)
            }
            MapEntry::Vacant(_) if *all_bytes + bytes > self.limits.different_bytes_max => {
                return Err(self.limits.different_bytes());
            }
            MapEntry::Vacant(vacant) => {
                *all_bytes += bytes;
                *started += 1;
                let shared = Arc::<Shared>::default();
                // Before the first event.
                let payment = Payment::of(bill, &shared);
                let beginning =
                    Beginning { checked, caller: caller.cloned(), bill: Arc::clone(bill), shared };
                (vacant.insert(self.begin(beginning, key, *started, bytes)), payment)
            }
        };
        entry.members += 1;
        let member = Member {
            results: entry.results.subscribe(),
            shared: Arc::clone(&entry.shared),
            payment,
            _membership: Membership { groups: Arc::clone(self), key, number: entry.number },
        };
        Ok((member, entry.begun.clone()))
    }

    fn begin(self: &Arc<Self>, beginning: Beginning, key: Key, number: u64, bytes: usize) -> Entry {
        let Beginning { checked, caller, bill, shared } = beginning;
        let (results, _) = broadcast::channel(self.limits.results_waiting_max);
        let (begin, begun) = watch::channel(Begun::NotYet);
        let gate = Arc::new(Gate {
            group: Arc::clone(&shared),
            turns: Arc::clone(&self.event_turns),
            admission: self.graphql.admission().clone(),
            complexity: checked.complexity,
            is_closed: AtomicBool::new(false),
        });
        let group = Group {
            graphql: Arc::clone(&self.graphql),
            results: results.clone(),
            begin,
            shared: Arc::clone(&shared),
            gate,
            limits: self.limits,
        };
        let running = Running(Membership { groups: Arc::clone(self), key, number });
        self.tasks.spawn_contained("subscription", async move {
            group.run(checked, caller.as_ref(), &bill).await;
            drop(running);
        });
        Entry { number, bytes, members: 0, results, begun, shared }
    }

    /// What distinguishes a subscription from others.
    fn asked(&self, checked: &Checked, caller: Option<&Caller>) -> Result<Asked, LimitExceeded> {
        let request = &checked.request;
        // Plain values with string keys are always JSON.
        let variables = serde_json::to_string(&request.variables).unwrap_or_default();
        let extensions = serde_json::to_string(&request.extensions.0).unwrap_or_default();
        let name = request.operation_name.as_deref().unwrap_or_default();
        let bytes = request.query.len() + variables.len() + extensions.len();
        self.limits.subscription_bytes().unless(bytes <= self.limits.subscription_bytes_max)?;
        let is_personal = self.graphql.service().is_personal(&checked.document.definitions);
        let viewer = caller.filter(|_| is_personal).map_or("", |caller| &caller.id);
        let mut digest = Sha256::new();
        for part in [&*request.query, name, &variables, &extensions, viewer] {
            digest.update(part.len().to_le_bytes());
            digest.update(part);
        }
        Ok(Asked { key: digest.finalize().into(), bytes })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Asked {
    key: Key,
    bytes: usize,
}

/// What starts an execution, and who pays for the start.
struct Beginning {
    checked: Checked,
    caller: Option<Caller>,
    bill: Arc<Bill>,
    shared: Arc<Shared>,
}

impl Member {
    /// The next result.
    pub(super) async fn next(&mut self) -> Heard {
        let received = tokio::select! {
            biased;
            refusal = self.payment.over() => return Heard::OverQuota(refusal),
            received = self.results.recv() => received,
        };
        let heard = match received {
            Ok(Told { result }) => result.response().map_or(Heard::Lagged, Heard::Result),
            Err(broadcast::error::RecvError::Closed) => {
                self.payment.is_over().map_or(Heard::End, Heard::OverQuota)
            }
            Err(broadcast::error::RecvError::Lagged(_)) => Heard::Lagged,
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
            state.bytes -= entry.bytes;
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
