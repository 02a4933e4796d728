//! The rate limit of running subscriptions: who pays for the events of a group, and the gate that each event
//! passes before it is executed, the concurrency limit with it. Knows charges, not the content of events.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_graphql::ServerError;
use async_trait::async_trait;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::event_errors::error;
use crate::caller::RequestRejection;
use crate::pipeline::admit::ConcurrencyLimit;
use crate::pipeline::rate_limit::RequestQuota;
use crate::quota::{EventAdmission, EventPermit, QuotaAccount as _};
use crate::refusal::Refusal;
use crate::response::Encoded;

/// The part of the requests that execute at once which events may be.
pub(super) const EVENTS_PART: usize = 4;

/// The members of a group as payers.
#[derive(Default)]
pub(super) struct EventPayers {
    members: Mutex<HashMap<u64, Arc<EventPayer>>>,
    numbers: AtomicU64,
}

struct EventPayer {
    quota: Arc<RequestQuota>,
    /// Its quota is spent: it gets nothing more.
    over: CancellationToken,
}

/// A member's part in the cost of its group, for as long as this lives.
pub(super) struct Payment {
    payers: Arc<EventPayers>,
    payer: Arc<EventPayer>,
    number: u64,
}

impl EventPayers {
    /// Charges all for an event together, and each for its own copy. Whose quota was spent before gets
    /// nothing more.
    pub(super) fn charge(&self, together: f64, each: f64) {
        if together + each <= 0.0 {
            return;
        }
        let mut members = self.lock();
        members.retain(|_, payer| {
            let is_within = payer.quota.check().is_ok();
            if !is_within {
                payer.over.cancel();
            }
            is_within
        });
        let share = together / members.len().max(1) as f64 + each;
        for payer in members.values() {
            payer.quota.charge(share);
        }
    }

    /// Refuses when the quotas of all members are spent.
    fn check(&self) -> Result<(), RequestRejection> {
        let members = self.lock();
        let mut refused = None;
        for payer in members.values() {
            match payer.quota.check() {
                Ok(()) => return Ok(()),
                Err(rejection) => refused = Some(rejection),
            }
        }
        refused.map_or(Ok(()), Err)
    }

    /// Ends all.
    pub(super) fn end(&self) {
        self.lock().values().for_each(|payer| payer.over.cancel());
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Arc<EventPayer>>> {
        self.members.lock()
    }
}

impl Payment {
    /// Has a member pay from now on.
    pub(super) fn of(quota: &Arc<RequestQuota>, payers: &Arc<EventPayers>) -> Self {
        let number = payers.numbers.fetch_add(1, Ordering::Relaxed);
        let payer = Arc::new(EventPayer { quota: Arc::clone(quota), over: CancellationToken::new() });
        payers.lock().insert(number, Arc::clone(&payer));
        Self { payers: Arc::clone(payers), payer, number }
    }

    /// Comes when the quota of the member is spent.
    pub(super) async fn over(&self) -> Encoded {
        self.payer.over.cancelled().await;
        self.refusal()
    }

    /// The refusal, if the quota of the member is spent.
    pub(super) fn is_over(&self) -> Option<Encoded> {
        self.payer.over.is_cancelled().then(|| self.refusal())
    }

    fn refusal(&self) -> Encoded {
        match self.payer.quota.check() {
            Err(rejection) => Refusal::from(rejection).into_encoded(),
            Ok(()) => Encoded::refused(error(
                "LIMIT_EXCEEDED",
                "The quota was spent: begin the subscription again.",
            )),
        }
    }
}

impl Drop for Payment {
    fn drop(&mut self) {
        self.payers.lock().remove(&self.number);
    }
}

/// The gate that the events of one group pass.
pub(super) struct Gate {
    pub(super) payers: Arc<EventPayers>,
    /// So that events never fill the line in which requests wait.
    pub(super) turns: Arc<Semaphore>,
    pub(super) limit: ConcurrencyLimit,
    pub(super) complexity: usize,
    pub(super) is_closed: AtomicBool,
}

#[async_trait]
impl EventAdmission for Gate {
    async fn admit(&self) -> Result<EventPermit, ServerError> {
        // The semaphore is never closed.
        let turn = Arc::clone(&self.turns).acquire_owned().await.ok();
        let admitted = self.limit.admit_event(self.complexity).await;
        // After the waiting, in which others may have spent the same quota.
        if let Err(rejection) = self.payers.check() {
            self.is_closed.store(true, Ordering::Release);
            return Err(ServerError::new(rejection.to_string(), None));
        }
        Ok(Box::new((turn, admitted)))
    }
}
