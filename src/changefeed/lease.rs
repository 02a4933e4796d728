//! Leases: who reads a feed range for a projection, and how far it has come.
//!
//! Every write of a lease carries the ETag of the one before, so an owner that lost its lease writes no
//! checkpoint. A write whose outcome is not known is recognised by owner and epoch when the lease is read again.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::containers::{LEASES, digest, types};
use super::host::Host;
use super::settings::Sharing;
use crate::store::{
    Change, ContainerName, Continuation, ETag, Fault, FeedRange, Item, Ledger, NewItem, PartitionKey,
    Rejection, WriteError, WriteOp, format_timestamp, parse_timestamp,
};

/// A lease as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseItem {
    pub id: String,
    #[serde(rename = "type")]
    pub item_type: String,
    pub projection: String,
    pub container: String,
    pub range: FeedRange,
    /// The checkpoint; `None` is the beginning.
    pub continuation: Option<Continuation>,
    /// `None` when it was released.
    pub owner: Option<String>,
    /// Grows each time that the lease is acquired.
    pub epoch: u64,
    /// RFC 3339; `None` when the lease does not expire.
    pub expires_at: Option<String>,
    /// The saved notes of long changes of the page after the checkpoint.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<SavedNote>,
}

impl LeaseItem {
    /// A lease that nobody has held, at the beginning of the feed.
    fn new(id: String, projection: &str, container: ContainerName, range: &FeedRange) -> Self {
        Self {
            id,
            item_type: types::LEASE.to_owned(),
            projection: projection.to_owned(),
            container: container.to_string(),
            range: range.clone(),
            continuation: None,
            owner: None,
            epoch: 0,
            expires_at: None,
            notes: Vec::new(),
        }
    }
}

/// How far a change has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedNote {
    pub partition_key: PartitionKey,
    pub id: String,
    /// Of the item as it was when the note was saved: a note says nothing about another version.
    pub etag: String,
    pub note: Value,
}

/// Why a lease could not be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum LeaseError {
    #[error("the lease belongs to another owner by now")]
    Lost,
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// A lease that this instance holds.
#[derive(Debug)]
pub(super) struct Lease {
    item: LeaseItem,
    etag: ETag,
    renewed_at_ms: i64,
}

/// What came of an attempt to acquire a lease.
#[derive(Debug)]
pub(super) enum Acquired {
    Held(Box<Lease>),
    /// Another owner holds it and has not let it expire.
    Busy,
}

impl Lease {
    /// Acquires the lease, and writes it for the first time where there is none: the start checkpoint, without which a
    /// reader that dies in its first page would be a reader that never was.
    pub(super) async fn acquire(
        host: &Host,
        projection: &str,
        container: ContainerName,
        range: &FeedRange,
        ledger: &Ledger,
    ) -> Result<Acquired, Fault> {
        let id = format!("{projection}~{container}~{}", digest(&[&range.0]));
        let partition_key = PartitionKey::from(id.as_str());
        let now_ms = host.clock.now_ms();
        let found = host.store.read(LEASES, &partition_key, &id, ledger).await?;
        let mut item = match &found {
            None => LeaseItem::new(id.clone(), projection, container, range),
            Some(found) => found.decode()?,
        };
        if !may_take_over(&item, host, now_ms) {
            return Ok(Acquired::Busy);
        }
        item.owner = Some(host.settings.owner.clone());
        item.epoch += 1;
        item.expires_at = expiry(host.settings.sharing, now_ms);
        let written = NewItem::encode(id, &item);
        let operation = match found {
            None => WriteOp::Create(written),
            Some(found) => WriteOp::Replace { item: written, if_match: Some(found.etag) },
        };
        match host.store.write(LEASES, &partition_key, operation, ledger).await {
            Ok(Some(etag)) => Ok(Acquired::Held(Box::new(Self { item, etag, renewed_at_ms: now_ms }))),
            Ok(None) => Err(no_etag()),
            Err(WriteError::Rejected { .. }) => Ok(Acquired::Busy),
            Err(WriteError::Fault(fault)) => Err(fault),
        }
    }

    /// The checkpoint; `None` is the beginning.
    pub(super) fn continuation(&self) -> Option<&Continuation> {
        self.item.continuation.as_ref()
    }

    /// The note saved for this version of an item.
    pub(super) fn note(&self, change: &Change) -> Option<Value> {
        let etag = change.item.etag.to_string();
        let same = |saved: &&SavedNote| {
            saved.id == change.id && saved.partition_key == change.partition_key && saved.etag == etag
        };
        self.item.notes.iter().find(same).map(|saved| saved.note.clone())
    }

    /// Writes a checkpoint. The notes belonged to the page before it and go.
    pub(super) async fn checkpoint(
        &mut self,
        host: &Host,
        continuation: Option<Continuation>,
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let next = LeaseItem { continuation, notes: Vec::new(), ..self.item.clone() };
        self.save(host, next, ledger).await
    }

    /// Saves how far a change has come.
    pub(super) async fn save_note(
        &mut self,
        host: &Host,
        change: &Change,
        note: &Value,
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let mut next = self.item.clone();
        next.notes.retain(|saved| saved.id != change.id || saved.partition_key != change.partition_key);
        next.notes.push(SavedNote {
            partition_key: change.partition_key.clone(),
            id: change.id.clone(),
            etag: change.item.etag.to_string(),
            note: note.clone(),
        });
        self.save(host, next, ledger).await
    }

    /// Extends the lease where it is time to.
    pub(super) async fn renew(&mut self, host: &Host, ledger: &Ledger) -> Result<(), LeaseError> {
        let Sharing::WithOthers { renew, .. } = host.settings.sharing else { return Ok(()) };
        if host.clock.now_ms() < self.renewed_at_ms.saturating_add(milliseconds(renew)) {
            return Ok(());
        }
        self.save(host, self.item.clone(), ledger).await
    }

    /// Gives the lease up, so that nobody has to wait for its expiry.
    pub(super) async fn release(mut self, host: &Host, ledger: &Ledger) -> Result<(), LeaseError> {
        let next = LeaseItem { owner: None, expires_at: None, ..self.item.clone() };
        self.write(host, next, ledger).await
    }

    async fn save(&mut self, host: &Host, mut next: LeaseItem, ledger: &Ledger) -> Result<(), LeaseError> {
        let now_ms = host.clock.now_ms();
        next.expires_at = expiry(host.settings.sharing, now_ms);
        let mut retry = 0;
        loop {
            match self.write(host, next.clone(), ledger).await {
                Ok(()) => {
                    self.renewed_at_ms = now_ms;
                    return Ok(());
                }
                Err(LeaseError::Fault(fault))
                    if fault.kind.is_transient() && retry < host.settings.fault_attempts_max =>
                {
                    if !host.pause_after_fault(retry, &fault).await {
                        return Err(LeaseError::Fault(fault));
                    }
                    retry += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn write(&mut self, host: &Host, next: LeaseItem, ledger: &Ledger) -> Result<(), LeaseError> {
        let partition_key = PartitionKey::from(self.item.id.as_str());
        let item = NewItem::encode(self.item.id.clone(), &next);
        let operation = WriteOp::Replace { item, if_match: Some(self.etag.clone()) };
        match host.store.write(LEASES, &partition_key, operation, ledger).await {
            Ok(Some(etag)) => {
                self.item = next;
                self.etag = etag;
                Ok(())
            }
            Ok(None) => Err(no_etag().into()),
            Err(WriteError::Fault(fault)) => Err(fault.into()),
            Err(WriteError::Rejected { reason: Rejection::PreconditionFailed, .. }) => {
                let found = host.store.read(LEASES, &partition_key, &self.item.id, ledger).await?;
                self.adopt(found, &next)
            }
            Err(WriteError::Rejected { .. }) => Err(LeaseError::Lost),
        }
    }

    /// A write whose answer was lost may have succeeded: then the lease says what was to be written.
    fn adopt(&mut self, found: Option<Item>, next: &LeaseItem) -> Result<(), LeaseError> {
        let Some(found) = found else { return Err(LeaseError::Lost) };
        let stored: LeaseItem = found.decode()?;
        if stored.epoch != self.item.epoch
            || stored.owner != next.owner
            || stored.continuation != next.continuation
        {
            return Err(LeaseError::Lost);
        }
        self.item = stored;
        self.etag = found.etag;
        Ok(())
    }
}

/// Whether this instance may take the lease now. Where the store admits one process only, whoever held the lease
/// before is dead.
fn may_take_over(item: &LeaseItem, host: &Host, now_ms: i64) -> bool {
    if host.settings.sharing == Sharing::Alone {
        return true;
    }
    let mine = item.owner.as_deref().is_none_or(|owner| owner == host.settings.owner);
    let expires_at_ms = item.expires_at.as_deref().and_then(parse_timestamp);
    mine || expires_at_ms.is_none_or(|expires_at_ms| expires_at_ms <= now_ms)
}

fn expiry(sharing: Sharing, now_ms: i64) -> Option<String> {
    match sharing {
        Sharing::Alone => None,
        Sharing::WithOthers { expire, .. } => {
            Some(format_timestamp(now_ms.saturating_add(milliseconds(expire))))
        }
    }
}

fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

fn no_etag() -> Fault {
    Fault::new(crate::store::FaultKind::Internal, "the store wrote a lease and returned no ETag")
}
