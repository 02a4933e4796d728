//! Leases: who reads a feed range for a projection, and how far it has come.
//!
//! Every write of a lease carries the ETag of the one before, so an owner that lost its lease writes no
//! checkpoint. A write whose outcome is not known is recognised by owner and epoch when the lease is read again.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::containers::{LEASES, lease_id, types};
use super::host::Host;
use super::settings::{Sharing, milliseconds};
use onehop_runtime::clock::{format_timestamp, parse_timestamp};
use onehop_store::{
    Change, ContainerName, Continuation, Direction, ETag, Fault, FeedRange, Item, Keyset, Ledger, NewItem,
    PartitionKey, Query, Rejection, WriteError, WriteOp, limits,
};

/// A lease as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseItem {
    pub id: String,
    #[serde(rename = "type")]
    pub item_type: String,
    /// The processor whose instances share the lease. Leases from before there was this property lack it, and get it
    /// when their range is looked for.
    #[serde(default)]
    pub processor: String,
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
    pub(super) fn unowned(
        processor: &str,
        projection: &str,
        container: ContainerName,
        range: &FeedRange,
    ) -> Self {
        Self {
            id: lease_id(projection, container, range),
            item_type: types::LEASE.to_owned(),
            processor: processor.to_owned(),
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

    /// As it is when this instance has just acquired it.
    pub(super) fn acquired_by(self, host: &Host) -> Self {
        Self {
            processor: host.settings.processor.clone(),
            owner: Some(host.settings.owner.clone()),
            epoch: self.epoch + 1,
            expires_at: expiry(host),
            ..self
        }
    }

    /// The lease of a part of its range, which goes on where this one stands.
    fn of_part(&self, container: ContainerName, part: &FeedRange, host: &Host) -> Self {
        let item = Self::unowned(&self.processor, &self.projection, container, part).acquired_by(host);
        Self { continuation: self.continuation.clone(), notes: self.notes.clone(), ..item }
    }

    /// The instance that holds it and has not let it expire.
    #[must_use]
    pub fn live_owner(&self, now_ms: i64) -> Option<&str> {
        let expires_at_ms = self.expires_at.as_deref().and_then(parse_timestamp)?;
        self.owner.as_deref().filter(|_| expires_at_ms > now_ms)
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

/// A lease as it was read or written last, whoever holds it.
#[derive(Debug, Clone)]
pub(super) struct Stored {
    pub(super) item: LeaseItem,
    etag: ETag,
}

impl Stored {
    /// All leases of this processor, in one question.
    pub(super) async fn list(host: &Host, ledger: &Ledger) -> Result<Vec<Self>, Fault> {
        let mut leases = Vec::new();
        let mut after: Option<Keyset> = None;
        loop {
            let query = Query::Equality {
                container: LEASES,
                path: "processor",
                value: &host.settings.processor,
                item_type: types::LEASE,
                direction: Direction::OldestFirst,
                after: after.as_ref(),
                limit: limits::PAGE_ITEMS_MAX,
            };
            let page = host.store.query(&query, ledger).await?;
            for item in page.items {
                leases.push(Self::decode(item)?);
            }
            let Some(last) = leases.last().filter(|_| page.has_more) else { return Ok(leases) };
            after = Some(Keyset { order_value: String::new(), id: last.item.id.clone() });
        }
    }

    /// Writes a lease for the first time: the start checkpoint, without which a reader that dies in its first page
    /// would be a reader that never was. `None` when there is one already.
    pub(super) async fn create(host: &Host, item: LeaseItem, ledger: &Ledger) -> Result<Option<Self>, Fault> {
        let partition_key = PartitionKey::from(item.id.as_str());
        let operation = WriteOp::Create(NewItem::encode(item.id.clone(), &item));
        match host.store.write(LEASES, &partition_key, operation, ledger).await {
            Ok(Some(etag)) => Ok(Some(Self { item, etag })),
            Ok(None) => Err(no_etag()),
            Err(WriteError::Rejected { .. }) => Ok(None),
            Err(WriteError::Fault(fault)) => Err(fault),
        }
    }

    /// Reads a lease that the listing did not have, and writes the processor's name into it, so that the next one has.
    /// `None` when it is gone, or was written meanwhile: the next listing tells.
    pub(super) async fn adopt(host: &Host, id: &str, ledger: &Ledger) -> Result<Option<Self>, Fault> {
        let partition_key = PartitionKey::from(id);
        let Some(found) = host.store.read(LEASES, &partition_key, id, ledger).await? else { return Ok(None) };
        let mut stored = Self::decode(found)?;
        // Alone, the lease is taken and thereby written at once.
        if stored.item.processor == host.settings.processor || host.settings.sharing == Sharing::Alone {
            return Ok(Some(stored));
        }
        stored.item.processor.clone_from(&host.settings.processor);
        let item = NewItem::encode(id, &stored.item);
        let operation = WriteOp::Replace { item, if_match: Some(stored.etag) };
        match host.store.write(LEASES, &partition_key, operation, ledger).await {
            Ok(Some(etag)) => Ok(Some(Self { item: stored.item, etag })),
            Ok(None) => Err(no_etag()),
            Err(WriteError::Rejected { .. }) => Ok(None),
            Err(WriteError::Fault(fault)) => Err(fault),
        }
    }

    fn decode(item: Item) -> Result<Self, Fault> {
        Ok(Self { item: item.decode()?, etag: item.etag })
    }
}

/// A lease that this instance holds.
#[derive(Debug)]
pub(super) struct Lease {
    stored: Stored,
    renewed_at_ms: i64,
}

impl Lease {
    /// A lease that was written as this instance's.
    pub(super) fn held(host: &Host, stored: Stored) -> Self {
        Self { stored, renewed_at_ms: host.clock.now_ms() }
    }

    /// Acquires a lease as it was read, whoever holds it. `None` when somebody wrote it since.
    pub(super) async fn take(host: &Host, stored: Stored, ledger: &Ledger) -> Result<Option<Self>, Fault> {
        let next = stored.item.clone().acquired_by(host);
        let mut lease = Self { stored, renewed_at_ms: 0 };
        match lease.save(host, next, ledger).await {
            Ok(()) => Ok(Some(lease)),
            Err(LeaseError::Lost) => Ok(None),
            Err(LeaseError::Fault(fault)) => Err(fault),
        }
    }

    pub(super) fn item(&self) -> &LeaseItem {
        &self.stored.item
    }

    /// The note saved for this version of an item.
    pub(super) fn note(&self, change: &Change) -> Option<Value> {
        let etag = change.item.etag.to_string();
        let same = |saved: &&SavedNote| {
            saved.id == change.id && saved.partition_key == change.partition_key && saved.etag == etag
        };
        self.item().notes.iter().find(same).map(|saved| saved.note.clone())
    }

    /// Writes a checkpoint. The notes belonged to the page before it and go.
    pub(super) async fn checkpoint(
        &mut self,
        host: &Host,
        continuation: Option<Continuation>,
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let next = LeaseItem { continuation, notes: Vec::new(), ..self.item().clone() };
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
        let mut next = self.item().clone();
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
        let Some(renew) = host.settings.sharing.renew() else { return Ok(()) };
        if host.clock.now_ms() < self.renewed_at_ms.saturating_add(milliseconds(renew)) {
            return Ok(());
        }
        self.save(host, self.item().clone(), ledger).await
    }

    /// Gives the lease up, so that nobody has to wait for its expiry.
    pub(super) async fn release(&mut self, host: &Host, ledger: &Ledger) -> Result<(), LeaseError> {
        let next = LeaseItem { owner: None, expires_at: None, ..self.item().clone() };
        self.write(host, next, ledger).await
    }

    /// Divides the lease: creates those of the parts, then deletes this one. A part that has a lease already, from a
    /// split that was interrupted, keeps it: it stands nowhere behind which anything was not projected. Returns the
    /// leases created.
    pub(super) async fn split(
        &mut self,
        host: &Host,
        container: ContainerName,
        parts: &[FeedRange],
        ledger: &Ledger,
    ) -> Result<Vec<Self>, LeaseError> {
        let mut created = Vec::new();
        for part in parts {
            let item = self.item().of_part(container, part, host);
            let stored = host.with_retries(|| Stored::create(host, item.clone(), ledger)).await?;
            created.extend(stored.map(|stored| Self::held(host, stored)));
        }
        let partition_key = PartitionKey::from(self.item().id.as_str());
        let deleted = host.with_retries(async || {
            let operation =
                WriteOp::Delete { id: self.item().id.clone(), if_match: Some(self.stored.etag.clone()) };
            match host.store.write(LEASES, &partition_key, operation, ledger).await {
                Ok(_) | Err(WriteError::Rejected { reason: Rejection::NotFound, .. }) => Ok(true),
                Err(WriteError::Rejected { .. }) => Ok(false),
                Err(WriteError::Fault(fault)) => Err(fault),
            }
        });
        if deleted.await? { Ok(created) } else { Err(LeaseError::Lost) }
    }

    async fn save(&mut self, host: &Host, mut next: LeaseItem, ledger: &Ledger) -> Result<(), LeaseError> {
        let now_ms = host.clock.now_ms();
        next.expires_at = expiry(host);
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
        let id = next.id.clone();
        let partition_key = PartitionKey::from(id.as_str());
        let item = NewItem::encode(id.clone(), &next);
        let operation = WriteOp::Replace { item, if_match: Some(self.stored.etag.clone()) };
        match host.store.write(LEASES, &partition_key, operation, ledger).await {
            Ok(Some(etag)) => {
                self.stored = Stored { item: next, etag };
                Ok(())
            }
            Ok(None) => Err(no_etag().into()),
            Err(WriteError::Fault(fault)) => Err(fault.into()),
            Err(WriteError::Rejected { reason: Rejection::PreconditionFailed, .. }) => {
                let found = host.store.read(LEASES, &partition_key, &id, ledger).await?;
                self.recognise(found, &next)
            }
            Err(WriteError::Rejected { .. }) => Err(LeaseError::Lost),
        }
    }

    /// A write whose answer was lost may have succeeded: then the lease says what was to be written.
    fn recognise(&mut self, found: Option<Item>, next: &LeaseItem) -> Result<(), LeaseError> {
        let Some(found) = found else { return Err(LeaseError::Lost) };
        let stored = Stored::decode(found)?;
        if stored.item != *next {
            return Err(LeaseError::Lost);
        }
        self.stored = stored;
        Ok(())
    }
}

fn expiry(host: &Host) -> Option<String> {
    let expire = host.settings.sharing.expire()?;
    Some(format_timestamp(host.clock.now_ms().saturating_add(milliseconds(expire))))
}

fn no_etag() -> Fault {
    Fault::new(onehop_store::FaultKind::Internal, "the store wrote a lease and returned no ETag")
}
