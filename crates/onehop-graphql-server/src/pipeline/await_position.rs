//! Await position, for read-your-writes: has queries wait for the position that they name, and for their
//! caller's own writes. Owns how many may wait, for each caller and together. The service defines positions
//! and when they are reached.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_graphql::{Value, parser::types::OperationType};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::context::RequestContext;
use super::rate_limit::RateLimitKey;
use crate::caller::Caller;
use crate::position::{InvalidPosition, NotReached, POSITION, Reach, Waited};
use crate::service::GraphqlService;
use crate::session_positions::{SESSION_POSITIONS_MAX, SessionPositions};
use onehop_runtime::clock::Clock;

/// The wait of a query for a position, unless the configuration says otherwise.
pub const POSITION_WAIT: Duration = Duration::from_secs(2);

/// Queries that wait for a position at once; further queries are answered with the present data.
pub const POSITION_WAITS_MAX: usize = 256;
/// Waiting queries of anonymous callers among them, so that users read their own writes under any load of
/// anonymous callers.
pub const POSITION_WAITS_ANONYMOUS_MAX: usize = 128;
/// Waiting queries of one caller among them.
pub const POSITION_WAITS_PER_CALLER_MAX: usize = 16;

/// The limits of waits for positions, and of remembered positions of users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PositionLimits {
    /// The wait of one request, all its queries together.
    pub wait_max: Duration,
    /// Users whose writes are remembered until they are reached; 0 for none.
    pub sessions_max: usize,
}

impl Default for PositionLimits {
    fn default() -> Self {
        Self { wait_max: POSITION_WAIT, sessions_max: SESSION_POSITIONS_MAX }
    }
}

/// Read-your-writes: the queries that wait for positions, and the writes of users that are not reached.
pub(crate) struct ReadYourWrites {
    service: Arc<dyn GraphqlService>,
    limits: PositionLimits,
    waits: Arc<PositionWaits>,
    own_writes: SessionPositions,
}

/// The queries that wait, by who asks.
#[derive(Debug, Default)]
struct PositionWaits(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    anonymous: usize,
    by_caller: HashMap<RateLimitKey, usize>,
}

/// The right of one query to wait.
#[derive(Debug)]
struct PositionWait {
    waits: Arc<PositionWaits>,
    key: RateLimitKey,
}

impl PositionWaits {
    /// The right to wait; `None` when too many do.
    fn begin(self: &Arc<Self>, key: RateLimitKey) -> Option<PositionWait> {
        let mut counts = self.lock();
        let is_anonymous = key.is_anonymous();
        let of_caller = counts.by_caller.get(&key).copied().unwrap_or(0);
        let has_room = counts.all < POSITION_WAITS_MAX
            && of_caller < POSITION_WAITS_PER_CALLER_MAX
            && (!is_anonymous || counts.anonymous < POSITION_WAITS_ANONYMOUS_MAX);
        if !has_room {
            return None;
        }
        counts.all += 1;
        counts.anonymous += usize::from(is_anonymous);
        counts.by_caller.insert(key.clone(), of_caller + 1);
        Some(PositionWait { waits: Arc::clone(self), key })
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock()
    }
}

impl Drop for PositionWait {
    fn drop(&mut self) {
        let mut counts = self.waits.lock();
        counts.all -= 1;
        counts.anonymous -= usize::from(self.key.is_anonymous());
        match counts.by_caller.get_mut(&self.key) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(counts.by_caller.remove(&self.key)),
        }
    }
}

/// Until when one request may wait, once it has begun to.
#[derive(Debug, Default)]
pub(crate) struct WaitDeadline(Option<Instant>);

impl WaitDeadline {
    fn left(&mut self, wait_max: Duration) -> Duration {
        let now = Instant::now();
        let deadline = *self.0.get_or_insert_with(|| now.checked_add(wait_max).unwrap_or(now));
        deadline.saturating_duration_since(now)
    }
}

impl ReadYourWrites {
    /// Waits for positions of a service, within these limits.
    pub(crate) fn new(
        service: Arc<dyn GraphqlService>,
        limits: PositionLimits,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let own_writes = SessionPositions::new(limits.sessions_max, clock);
        Self { service, limits, waits: Arc::default(), own_writes }
    }

    /// The position that a mutation's response gives: of its own writes, of the position that the request
    /// names, and of all writes of the caller that no query has reached yet. A named position that the
    /// service did not give out is left out.
    pub(crate) fn position_after(
        &self,
        position: &str,
        named: Option<&Value>,
        caller: Option<&Caller>,
    ) -> String {
        let join = |one: &str, other: &str| self.service.positions().join(one, other);
        let joined = match named {
            Some(Value::String(named)) => join(named, position),
            _ => None,
        };
        let position = joined.unwrap_or_else(|| position.to_owned());
        match caller {
            Some(caller) => self.own_writes.remember(&caller.id, &position, join).to_string(),
            None => position,
        }
    }

    /// Has a query wait for the position that it names, and for its caller's own writes. Its quota is open.
    ///
    /// # Errors
    /// This server did not give out the position.
    pub(crate) async fn await_position(&self, context: &mut RequestContext) -> Result<(), InvalidPosition> {
        if context.kind() != OperationType::Query {
            return Ok(());
        }
        let named = match context.request.extensions.get(POSITION) {
            None => None,
            Some(Value::String(position)) => Some(position.clone()),
            Some(_) => return Err(InvalidPosition),
        };
        let mut deadline = WaitDeadline::default();
        if named.is_none() || named.as_deref() != self.own_writes_of(context).as_deref() {
            self.await_own_writes(context, &mut deadline).await;
        }
        if let Some(named) = named {
            let reach = self.reach(&named, context, &mut deadline).await?;
            context.waited = Some(Waited { reach, is_told: true });
        }
        Ok(())
    }

    /// Session consistency: has a query wait for its caller's own writes. The response says so only where
    /// they are not reached, or where it says so of a position that it was sent.
    pub(crate) async fn await_own_writes(&self, context: &mut RequestContext, deadline: &mut WaitDeadline) {
        if context.kind() != OperationType::Query {
            return;
        }
        let Some(position) = self.own_writes_of(context) else { return };
        // A position that this process gave out is always valid.
        let Ok(reach) = self.reach(&position, context, deadline).await else { return };
        if context.waited.is_none() || !context.request.extensions.contains_key(POSITION) {
            context.waited = Some(Waited { reach, is_told: reach != Reach::Reached });
        }
    }

    /// The position of a caller's own writes that no query of this caller has reached, to wait for it.
    pub(crate) fn own_writes_of(&self, context: &RequestContext) -> Option<Arc<str>> {
        self.own_writes.take(&context.caller.as_ref()?.id)
    }

    async fn reach(
        &self,
        position: &str,
        context: &RequestContext,
        deadline: &mut WaitDeadline,
    ) -> Result<Reach, InvalidPosition> {
        let wait = self.waits.begin(context.rate_limit_key());
        let left = wait.as_ref().map_or(Duration::ZERO, |_| deadline.left(self.limits.wait_max));
        let charges = context.prior_charges.record(|span| self.service.new_charge_record(span));
        let reach = self.service.positions().reach(position, left, &*charges).await?;
        let is_final = matches!(reach, Reach::Reached | Reach::NotReached(NotReached::Parked));
        if let Some(caller) = context.caller.as_ref().filter(|_| is_final) {
            self.own_writes.reached(&caller.id, position);
        }
        Ok(match reach {
            Reach::NotReached(NotReached::TimedOut) if wait.is_none() => {
                Reach::NotReached(NotReached::TooManyWaiting)
            }
            reach => reach,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client_address::Network;

    #[test]
    fn one_caller_takes_no_more_than_its_own_places() {
        let waits = Arc::<PositionWaits>::default();
        let begin = |user: &str| waits.begin(RateLimitKey::User(user.into()));
        let mut of_one: Vec<_> = (0..POSITION_WAITS_PER_CALLER_MAX).map(|_| begin("one").unwrap()).collect();
        assert!(begin("one").is_none());
        assert!(begin("other").is_some());
        of_one.pop();
        assert!(begin("one").is_some());
    }

    #[test]
    fn anonymous_callers_leave_places_for_users() {
        let waits = Arc::<PositionWaits>::default();
        let anonymous = |number: u64| waits.begin(RateLimitKey::Network(Network::V6(number)));
        let taken: Vec<_> = (0..1_000).filter_map(anonymous).collect();
        assert_eq!(taken.len(), POSITION_WAITS_ANONYMOUS_MAX);
        let users: Vec<_> =
            (0..1_000).filter_map(|user| waits.begin(RateLimitKey::User(user.to_string().into()))).collect();
        assert_eq!(users.len(), POSITION_WAITS_MAX - POSITION_WAITS_ANONYMOUS_MAX);
        drop((taken, users));
        let counts = waits.lock();
        assert_eq!((counts.all, counts.anonymous, counts.by_caller.len()), (0, 0, 0));
    }
}
