//! Lease handle: shares an owned lease between its reader, the changes of a page and the load balancer. When
//! one of them finds the lease lost, all of them see it as lost; and so they do when the instance could not
//! write its heartbeat in time.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use super::context::ProcessorContext;
use super::feed_place::{Backfill, FeedPlace};
use super::lease::{LeaseError, LeaseItem, OwnedLease};
use super::lease_scope::LeaseScope;
use super::read_progress::ReadProgress;
use onehop_store::{Change, Continuation, FeedRange, Ledger};

pub(super) struct LeaseHandle {
    pub(super) id: String,
    pub(super) epoch: u64,
    context: Arc<ProcessorContext>,
    lease: Mutex<OwnedLease>,
    lost: CancellationToken,
}

impl LeaseHandle {
    pub(super) fn new(context: Arc<ProcessorContext>, lease: OwnedLease) -> Self {
        let (id, epoch) = (lease.item().id.clone(), lease.item().epoch);
        Self { id, epoch, context, lease: Mutex::new(lease), lost: CancellationToken::new() }
    }

    /// Whether another instance owns the lease or may take it, or it was released or divided.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.is_cancelled() || !self.context.is_alive()
    }

    /// Marks the lease as lost.
    pub(super) fn mark_lost(&self) {
        self.lost.cancel();
    }

    /// Completes when the lease is lost.
    pub(super) async fn lost(&self) {
        self.lost.cancelled().await;
    }

    /// The last checkpoint; `None` is the beginning.
    pub(super) async fn continuation(&self) -> Option<Continuation> {
        self.lease.lock().await.item().continuation.clone()
    }

    pub(super) async fn state(&self, projection: &str, change: &Change) -> Option<Value> {
        self.lease.lock().await.state(projection, change)
    }

    pub(super) async fn save_state(
        &self,
        context: &ProcessorContext,
        projection: &str,
        change: &Change,
        state: &Value,
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let mut lease = self.lock().await?;
        self.check_lost(lease.save_state(context, projection, change, state, ledger).await)
    }

    pub(super) async fn checkpoint(
        &self,
        context: &ProcessorContext,
        place: (Option<Continuation>, ReadProgress),
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let mut lease = self.lock().await?;
        self.check_lost(lease.checkpoint(context, place, ledger).await)
    }

    pub(super) async fn save_backfills(
        &self,
        context: &ProcessorContext,
        present: &[Backfill],
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let mut lease = self.lock().await?;
        self.check_lost(lease.save_backfills(context, present, ledger).await)
    }

    pub(super) async fn join(
        &self,
        context: &ProcessorContext,
        projections: &[String],
        place: &FeedPlace,
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let mut lease = self.lock().await?;
        self.check_lost(lease.join(context, projections, place, ledger).await)
    }

    /// Has all projections begin at the beginning; returns the lease.
    pub(super) async fn restart(&self, scope: &LeaseScope, ledger: &Ledger) -> Result<LeaseItem, LeaseError> {
        let mut lease = self.lock().await?;
        self.check_lost(lease.restart(scope, ledger).await)?;
        Ok(lease.item().clone())
    }

    /// Releases the lease.
    pub(super) async fn release(
        &self,
        context: &ProcessorContext,
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let mut lease = self.lock().await?;
        self.mark_lost();
        lease.release(context, ledger).await
    }

    /// Divides the lease into leases of its parts, and deletes it.
    pub(super) async fn split(
        &self,
        scope: &LeaseScope,
        parts: &[FeedRange],
        ledger: &Ledger,
    ) -> Result<Vec<OwnedLease>, LeaseError> {
        let mut lease = self.lock().await?;
        let children = self.check_lost(lease.split(scope, parts, ledger).await)?;
        self.mark_lost();
        Ok(children)
    }

    async fn lock(&self) -> Result<MutexGuard<'_, OwnedLease>, LeaseError> {
        let lease = self.lease.lock().await;
        if self.is_lost() { Err(LeaseError::Lost) } else { Ok(lease) }
    }

    fn check_lost<T>(&self, outcome: Result<T, LeaseError>) -> Result<T, LeaseError> {
        if matches!(outcome, Err(LeaseError::Lost)) {
            self.mark_lost();
        }
        outcome
    }
}
