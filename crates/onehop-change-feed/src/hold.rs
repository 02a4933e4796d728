//! A lease in this process's hands: written by the reader and by the renewal at the same time, and known to all of them
//! as lost from the moment on that one of them notices.

use serde_json::Value;
use tokio::sync::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use super::host::Host;
use super::lease::{Lease, LeaseError};
use onehop_store::{Change, ContainerName, Continuation, FeedRange, Ledger};

pub(super) struct Hold {
    pub(super) id: String,
    pub(super) epoch: u64,
    lease: Mutex<Lease>,
    lost: CancellationToken,
}

impl Hold {
    pub(super) fn new(lease: Lease) -> Self {
        let (id, epoch) = (lease.item().id.clone(), lease.item().epoch);
        Self { id, epoch, lease: Mutex::new(lease), lost: CancellationToken::new() }
    }

    /// Whether the lease is this instance's no more.
    pub(super) fn is_lost(&self) -> bool {
        self.lost.is_cancelled()
    }

    /// Says that the lease is this instance's no more.
    pub(super) fn lose(&self) {
        self.lost.cancel();
    }

    /// Comes when the lease is lost.
    pub(super) async fn lost(&self) {
        self.lost.cancelled().await;
    }

    /// The last checkpoint; `None` is the beginning.
    pub(super) async fn continuation(&self) -> Option<Continuation> {
        self.lease.lock().await.item().continuation.clone()
    }

    pub(super) async fn note(&self, change: &Change) -> Option<Value> {
        self.lease.lock().await.note(change)
    }

    pub(super) async fn save_note(
        &self,
        host: &Host,
        change: &Change,
        note: &Value,
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let mut lease = self.lock().await?;
        self.heed(lease.save_note(host, change, note, ledger).await)
    }

    pub(super) async fn checkpoint(
        &self,
        host: &Host,
        continuation: Option<Continuation>,
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let mut lease = self.lock().await?;
        self.heed(lease.checkpoint(host, continuation, ledger).await)
    }

    pub(super) async fn renew(&self, host: &Host, ledger: &Ledger) -> Result<(), LeaseError> {
        let mut lease = self.lock().await?;
        self.heed(lease.renew(host, ledger).await)
    }

    /// Gives the lease up.
    pub(super) async fn release(&self, host: &Host, ledger: &Ledger) -> Result<(), LeaseError> {
        let mut lease = self.lock().await?;
        self.lose();
        lease.release(host, ledger).await
    }

    /// Divides the lease. Afterwards this one is no more.
    pub(super) async fn split(
        &self,
        host: &Host,
        container: ContainerName,
        parts: &[FeedRange],
        ledger: &Ledger,
    ) -> Result<Vec<Lease>, LeaseError> {
        let mut lease = self.lock().await?;
        let children = self.heed(lease.split(host, container, parts, ledger).await)?;
        self.lose();
        Ok(children)
    }

    async fn lock(&self) -> Result<MutexGuard<'_, Lease>, LeaseError> {
        let lease = self.lease.lock().await;
        if self.is_lost() { Err(LeaseError::Lost) } else { Ok(lease) }
    }

    fn heed<T>(&self, outcome: Result<T, LeaseError>) -> Result<T, LeaseError> {
        if matches!(outcome, Err(LeaseError::Lost)) {
            self.lose();
        }
        outcome
    }
}
