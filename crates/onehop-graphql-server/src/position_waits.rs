//! Read-your-writes: has queries wait for the position that they name, and for their caller's own last write. Owns how many
//! may wait, for each caller and together. What a position is and when it is reached is the service's affair.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_graphql::{Value, parser::types::OperationType};
use tokio::time::Instant;

use super::callers::Payer;
use super::graphql_http::{Checked, GraphqlEndpoint};
use super::graphql_request::POSITION;
use super::graphql_response::Refusal;
use super::graphql_service::{Caller, InvalidPosition, NotReached, Reach, Waited};
use super::session_positions::SESSION_POSITIONS_MAX;
use super::spent::Spent;

/// How long a query waits for a position, unless the configuration says otherwise.
pub const POSITION_WAIT: Duration = Duration::from_secs(2);

/// Queries that wait for a position at once; further ones are answered with what there is.
pub const POSITION_WAITS_MAX: usize = 256;
/// Those of anonymous callers among them: users read their own writes whatever anonymous callers ask.
pub const POSITION_WAITS_ANONYMOUS_MAX: usize = 128;
/// Those of one caller among them.
pub const POSITION_WAITS_PER_CALLER_MAX: usize = 16;

/// How long queries wait for positions, and how many positions of users are remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PositionLimits {
    /// How long one request waits, all its queries together.
    pub wait_max: Duration,
    /// Users whose last write is remembered; 0 for none.
    pub sessions_max: usize,
}

impl Default for PositionLimits {
    fn default() -> Self {
        Self { wait_max: POSITION_WAIT, sessions_max: SESSION_POSITIONS_MAX }
    }
}

/// The queries that wait, by who asks.
#[derive(Debug, Default)]
pub(super) struct PositionWaits(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    anonymous: usize,
    by_caller: HashMap<Payer, usize>,
}

/// The right of one query to wait.
#[derive(Debug)]
pub(super) struct PositionWait {
    waits: Arc<PositionWaits>,
    payer: Payer,
}

impl PositionWaits {
    /// The right to wait; `None` when too many do.
    fn begin(self: &Arc<Self>, payer: Payer) -> Option<PositionWait> {
        let mut counts = self.lock();
        let is_anonymous = payer.is_anonymous();
        let of_caller = counts.by_caller.get(&payer).copied().unwrap_or(0);
        let has_room = counts.all < POSITION_WAITS_MAX
            && of_caller < POSITION_WAITS_PER_CALLER_MAX
            && (!is_anonymous || counts.anonymous < POSITION_WAITS_ANONYMOUS_MAX);
        if !has_room {
            return None;
        }
        counts.all += 1;
        counts.anonymous += usize::from(is_anonymous);
        counts.by_caller.insert(payer.clone(), of_caller + 1);
        Some(PositionWait { waits: Arc::clone(self), payer })
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for PositionWait {
    fn drop(&mut self) {
        let mut counts = self.waits.lock();
        counts.all -= 1;
        counts.anonymous -= usize::from(self.payer.is_anonymous());
        match counts.by_caller.get_mut(&self.payer) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(counts.by_caller.remove(&self.payer)),
        }
    }
}

/// Until when one HTTP request may wait, once it has begun to.
#[derive(Debug, Default)]
pub(super) struct WaitDeadline(Option<Instant>);

impl WaitDeadline {
    fn left(&mut self, wait_max: Duration) -> Duration {
        let now = Instant::now();
        let deadline = *self.0.get_or_insert_with(|| now.checked_add(wait_max).unwrap_or(now));
        deadline.saturating_duration_since(now)
    }
}

impl GraphqlEndpoint {
    /// Has a query wait for the position that it names, and for its caller's last write. Its bill is open.
    pub(super) async fn at_position(
        &self,
        checked: &mut Checked,
        caller: Option<&Caller>,
        spent: &Spent<'_>,
        deadline: &mut WaitDeadline,
    ) -> Result<(), Refusal> {
        if checked.kind != OperationType::Query {
            return Ok(());
        }
        let named = match checked.request.extensions.get(POSITION) {
            None => None,
            Some(Value::String(position)) => Some(position.clone()),
            Some(_) => return Err(InvalidPosition.into()),
        };
        if named.is_none() || named.as_deref() != self.last_write_of(caller).as_deref() {
            self.at_last_write(checked, caller, spent, deadline).await;
        }
        if let Some(named) = named {
            let reach = self.reach(&named, caller, spent, deadline).await?;
            checked.waited = Some(Waited { reach, is_told: true });
        }
        Ok(())
    }

    /// Session consistency: has a query wait for its caller's last write. The response says so only where the write is not
    /// reached, or where it says so of a position that it was sent.
    pub(super) async fn at_last_write(
        &self,
        checked: &mut Checked,
        caller: Option<&Caller>,
        spent: &Spent<'_>,
        deadline: &mut WaitDeadline,
    ) {
        if checked.kind != OperationType::Query {
            return;
        }
        let Some(position) = self.last_write_of(caller) else { return };
        // What this process gave out it reads, too.
        let Ok(reach) = self.reach(&position, caller, spent, deadline).await else { return };
        if checked.waited.is_none() || !checked.request.extensions.contains_key(POSITION) {
            checked.waited = Some(Waited { reach, is_told: reach != Reach::Reached });
        }
    }

    /// The position of a caller's last write, if no query of this caller has reached it.
    pub(super) fn last_write_of(&self, caller: Option<&Caller>) -> Option<Arc<str>> {
        self.session_positions().last(&caller?.id)
    }

    async fn reach(
        &self,
        position: &str,
        caller: Option<&Caller>,
        spent: &Spent<'_>,
        deadline: &mut WaitDeadline,
    ) -> Result<Reach, InvalidPosition> {
        let wait = spent.payer().and_then(|payer| self.position_waits().begin(payer.clone()));
        let left = wait.as_ref().map_or(Duration::ZERO, |_| deadline.left(self.position_limits().wait_max));
        let reach = self.service().reach(position, left, &*spent.record()).await?;
        let is_final = matches!(reach, Reach::Reached | Reach::NotReached(NotReached::Parked));
        if let Some(caller) = caller.filter(|_| is_final) {
            self.session_positions().forget(&caller.id, position);
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
    use super::super::client_address::Network;
    use super::*;

    #[test]
    fn one_caller_takes_no_more_than_its_own_places() {
        let waits = Arc::<PositionWaits>::default();
        let begin = |user: &str| waits.begin(Payer::User(user.into()));
        let mut of_one: Vec<_> = (0..POSITION_WAITS_PER_CALLER_MAX).map(|_| begin("one").unwrap()).collect();
        assert!(begin("one").is_none());
        assert!(begin("other").is_some());
        of_one.pop();
        assert!(begin("one").is_some());
    }

    #[test]
    fn anonymous_callers_leave_places_for_users() {
        let waits = Arc::<PositionWaits>::default();
        let anonymous = |number: u64| waits.begin(Payer::Network(Network::V6(number)));
        let taken: Vec<_> = (0..1_000).filter_map(anonymous).collect();
        assert_eq!(taken.len(), POSITION_WAITS_ANONYMOUS_MAX);
        let users: Vec<_> =
            (0..1_000).filter_map(|user| waits.begin(Payer::User(user.to_string().into()))).collect();
        assert_eq!(users.len(), POSITION_WAITS_MAX - POSITION_WAITS_ANONYMOUS_MAX);
        drop((taken, users));
        let counts = waits.lock();
        assert_eq!((counts.all, counts.anonymous, counts.by_caller.len()), (0, 0, 0));
    }
}
