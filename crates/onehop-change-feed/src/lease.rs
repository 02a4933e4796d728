//! Leases: the right of an instance to read a feed range for a projection, with the checkpoint.
//!
//! Every write of a lease carries the ETag of the one before (optimistic concurrency), so an owner that lost its lease writes no
//! checkpoint: the epoch is the fencing token. A write whose outcome is unknown is recognised when the lease is read again.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::containers::{LEASES, lease_id, types};
use super::context::ProcessorContext;
use super::settings::{Sharing, milliseconds};
use onehop_runtime::clock::{format_timestamp, parse_timestamp};
use onehop_store::{
    Change, ContainerName, Continuation, Direction, ETag, Fault, FeedRange, Item, Keyset, Ledger, NewItem,
    PartitionKey, Query, Rejection, WriteError, WriteOp, limits,
};

/// A lease, in its stored form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LeaseItem {
    /// The id.
    pub id: String,
    /// The value of `type`.
    #[serde(rename = "type")]
    pub item_type: String,
    /// The processor whose instances share the lease. Leases from before there was this property lack it, and get it
    /// when their range is looked for.
    #[serde(default)]
    pub processor: String,
    /// The name of the projection.
    pub projection: String,
    /// The container.
    pub container: String,
    /// The feed range.
    pub range: FeedRange,
    /// The checkpoint; `None` is the beginning.
    pub continuation: Option<Continuation>,
    /// `None` when it was released.
    pub owner: Option<String>,
    /// Grows each time that the lease is acquired.
    pub epoch: u64,
    /// RFC 3339; `None` when the lease does not expire.
    pub expires_at: Option<String>,
    /// Checkpoints within changes of the page after the checkpoint. Stored as `notes`.
    #[serde(default, rename = "notes", skip_serializing_if = "Vec::is_empty")]
    pub change_checkpoints: Vec<ChangeCheckpoint>,
}

impl LeaseItem {
    /// A lease without an owner, at the beginning of the feed.
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
            change_checkpoints: Vec::new(),
        }
    }

    /// The lease after this instance has acquired it.
    pub(super) fn acquired_by(self, context: &ProcessorContext) -> Self {
        Self {
            processor: context.settings.processor.clone(),
            owner: Some(context.settings.owner.clone()),
            epoch: self.epoch + 1,
            expires_at: expiry(context),
            ..self
        }
    }

    /// The lease of a part of its range, which goes on where this one stands.
    fn of_part(&self, container: ContainerName, part: &FeedRange, context: &ProcessorContext) -> Self {
        let item = Self::unowned(&self.processor, &self.projection, container, part).acquired_by(context);
        Self {
            continuation: self.continuation.clone(),
            change_checkpoints: self.change_checkpoints.clone(),
            ..item
        }
    }

    /// The owner, unless the lease has expired.
    #[must_use]
    pub fn live_owner(&self, now_ms: i64) -> Option<&str> {
        let expires_at_ms = self.expires_at.as_deref().and_then(parse_timestamp)?;
        self.owner.as_deref().filter(|_| expires_at_ms > now_ms)
    }
}

/// A checkpoint within one change: the state of a projection half way through a long change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeCheckpoint {
    /// The partition key.
    pub partition_key: PartitionKey,
    /// The id.
    pub id: String,
    /// The ETag of the version for which the state was saved. It is not used for another version.
    pub etag: String,
    /// The saved state.
    #[serde(rename = "note")]
    pub state: Value,
}

/// Why a lease could not be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum LeaseError {
    #[error("the lease belongs to another owner by now")]
    Lost,
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// A lease of any owner, with the ETag of its last read or write.
#[derive(Debug, Clone)]
pub(super) struct StoredLease {
    pub(super) item: LeaseItem,
    etag: ETag,
}

impl StoredLease {
    /// Lists all leases of this processor.
    pub(super) async fn list(context: &ProcessorContext, ledger: &Ledger) -> Result<Vec<Self>, Fault> {
        let mut leases = Vec::new();
        let mut after: Option<Keyset> = None;
        loop {
            let query = Query::Equality {
                container: LEASES,
                path: "processor",
                value: &context.settings.processor,
                item_type: types::LEASE,
                direction: Direction::OldestFirst,
                after: after.as_ref(),
                limit: limits::PAGE_ITEMS_MAX,
            };
            let page = context.store.query(&query, ledger).await?;
            for item in page.items {
                leases.push(Self::decode(item)?);
            }
            let Some(last) = leases.last().filter(|_| page.has_more) else { return Ok(leases) };
            after = Some(Keyset { order_value: String::new(), id: last.item.id.clone() });
        }
    }

    /// Writes a lease for the first time: the start checkpoint, without which a reader that dies in its first page
    /// would be a reader that never was. `None` when there is one already.
    pub(super) async fn create(
        context: &ProcessorContext,
        item: LeaseItem,
        ledger: &Ledger,
    ) -> Result<Option<Self>, Fault> {
        let partition_key = PartitionKey::from(item.id.as_str());
        let operation = WriteOp::Create(NewItem::encode(item.id.clone(), &item));
        match context.store.write(LEASES, &partition_key, operation, ledger).await {
            Ok(Some(etag)) => Ok(Some(Self { item, etag })),
            Ok(None) => Err(no_etag()),
            Err(WriteError::Rejected { .. }) => Ok(None),
            Err(WriteError::Fault(fault)) => Err(fault),
        }
    }

    /// Reads a lease that the listing did not have, and writes the processor's name into it, so that the next one has.
    /// `None` when it is deleted, or was written meanwhile: the next listing has it.
    pub(super) async fn adopt(
        context: &ProcessorContext,
        id: &str,
        ledger: &Ledger,
    ) -> Result<Option<Self>, Fault> {
        let partition_key = PartitionKey::from(id);
        let Some(found) = context.store.read(LEASES, &partition_key, id, ledger).await? else {
            return Ok(None);
        };
        let mut stored = Self::decode(found)?;
        // Alone, the lease is taken and thereby written at once.
        if stored.item.processor == context.settings.processor || context.settings.sharing == Sharing::Alone {
            return Ok(Some(stored));
        }
        stored.item.processor.clone_from(&context.settings.processor);
        let item = NewItem::encode(id, &stored.item);
        let operation = WriteOp::Replace { item, if_match: Some(stored.etag) };
        match context.store.write(LEASES, &partition_key, operation, ledger).await {
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

/// A lease that this instance owns.
#[derive(Debug)]
pub(super) struct OwnedLease {
    stored: StoredLease,
    renewed_at_ms: i64,
}

impl OwnedLease {
    /// A lease that was created with this instance as its owner.
    pub(super) fn created(context: &ProcessorContext, stored: StoredLease) -> Self {
        Self { stored, renewed_at_ms: context.clock.now_ms() }
    }

    /// Acquires a lease, also from another owner. `None` when it was written since it was read.
    pub(super) async fn take(
        context: &ProcessorContext,
        stored: StoredLease,
        ledger: &Ledger,
    ) -> Result<Option<Self>, Fault> {
        let next = stored.item.clone().acquired_by(context);
        let mut lease = Self { stored, renewed_at_ms: 0 };
        match lease.save(context, next, ledger).await {
            Ok(()) => Ok(Some(lease)),
            Err(LeaseError::Lost) => Ok(None),
            Err(LeaseError::Fault(fault)) => Err(fault),
        }
    }

    pub(super) fn item(&self) -> &LeaseItem {
        &self.stored.item
    }

    /// The state saved for this version of an item.
    pub(super) fn state(&self, change: &Change) -> Option<Value> {
        let etag = change.item.etag.to_string();
        let same = |saved: &&ChangeCheckpoint| {
            saved.id == change.id && saved.partition_key == change.partition_key && saved.etag == etag
        };
        self.item().change_checkpoints.iter().find(same).map(|saved| saved.state.clone())
    }

    /// Writes a checkpoint. Change checkpoints belong to the page before it and are removed.
    pub(super) async fn checkpoint(
        &mut self,
        context: &ProcessorContext,
        continuation: Option<Continuation>,
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let next = LeaseItem { continuation, change_checkpoints: Vec::new(), ..self.item().clone() };
        self.save(context, next, ledger).await
    }

    /// Writes a checkpoint within a change.
    pub(super) async fn save_state(
        &mut self,
        context: &ProcessorContext,
        change: &Change,
        state: &Value,
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let mut next = self.item().clone();
        next.change_checkpoints
            .retain(|saved| saved.id != change.id || saved.partition_key != change.partition_key);
        next.change_checkpoints.push(ChangeCheckpoint {
            partition_key: change.partition_key.clone(),
            id: change.id.clone(),
            etag: change.item.etag.to_string(),
            state: state.clone(),
        });
        self.save(context, next, ledger).await
    }

    /// Renews the lease if that is due.
    pub(super) async fn renew(
        &mut self,
        context: &ProcessorContext,
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let Some(renew) = context.settings.sharing.renew() else { return Ok(()) };
        if context.clock.now_ms() < self.renewed_at_ms.saturating_add(milliseconds(renew)) {
            return Ok(());
        }
        self.save(context, self.item().clone(), ledger).await
    }

    /// Releases the lease, so that another instance does not wait for its expiry.
    pub(super) async fn release(
        &mut self,
        context: &ProcessorContext,
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let next = LeaseItem { owner: None, expires_at: None, ..self.item().clone() };
        self.write(context, next, ledger).await
    }

    /// Divides the lease: creates those of the parts, then deletes this one. A part that has a lease already, from a
    /// split that was interrupted, keeps it: it stands nowhere behind which anything was not projected. Returns the
    /// leases created.
    pub(super) async fn split(
        &mut self,
        context: &ProcessorContext,
        container: ContainerName,
        parts: &[FeedRange],
        ledger: &Ledger,
    ) -> Result<Vec<Self>, LeaseError> {
        let mut created = Vec::new();
        for part in parts {
            let item = self.item().of_part(container, part, context);
            let stored = context.with_retries(|| StoredLease::create(context, item.clone(), ledger)).await?;
            created.extend(stored.map(|stored| Self::created(context, stored)));
        }
        let partition_key = PartitionKey::from(self.item().id.as_str());
        let deleted = context.with_retries(async || {
            let operation =
                WriteOp::Delete { id: self.item().id.clone(), if_match: Some(self.stored.etag.clone()) };
            match context.store.write(LEASES, &partition_key, operation, ledger).await {
                Ok(_) | Err(WriteError::Rejected { reason: Rejection::NotFound, .. }) => Ok(true),
                Err(WriteError::Rejected { .. }) => Ok(false),
                Err(WriteError::Fault(fault)) => Err(fault),
            }
        });
        if deleted.await? { Ok(created) } else { Err(LeaseError::Lost) }
    }

    async fn save(
        &mut self,
        context: &ProcessorContext,
        mut next: LeaseItem,
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let now_ms = context.clock.now_ms();
        next.expires_at = expiry(context);
        let mut retry = 0;
        loop {
            match self.write(context, next.clone(), ledger).await {
                Ok(()) => {
                    self.renewed_at_ms = now_ms;
                    return Ok(());
                }
                Err(LeaseError::Fault(fault))
                    if fault.kind.is_transient() && retry < context.settings.fault_attempts_max =>
                {
                    if !context.pause_after_fault(retry, &fault).await {
                        return Err(LeaseError::Fault(fault));
                    }
                    retry += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn write(
        &mut self,
        context: &ProcessorContext,
        next: LeaseItem,
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let id = next.id.clone();
        let partition_key = PartitionKey::from(id.as_str());
        let item = NewItem::encode(id.clone(), &next);
        let operation = WriteOp::Replace { item, if_match: Some(self.stored.etag.clone()) };
        match context.store.write(LEASES, &partition_key, operation, ledger).await {
            Ok(Some(etag)) => {
                self.stored = StoredLease { item: next, etag };
                Ok(())
            }
            Ok(None) => Err(no_etag().into()),
            Err(WriteError::Fault(fault)) => Err(fault.into()),
            Err(WriteError::Rejected { reason: Rejection::PreconditionFailed, .. }) => {
                let found = context.store.read(LEASES, &partition_key, &id, ledger).await?;
                self.recognise(found, &next)
            }
            Err(WriteError::Rejected { .. }) => Err(LeaseError::Lost),
        }
    }

    /// A write whose response was lost may have succeeded: then the lease equals what was to be written.
    fn recognise(&mut self, found: Option<Item>, next: &LeaseItem) -> Result<(), LeaseError> {
        let Some(found) = found else { return Err(LeaseError::Lost) };
        let stored = StoredLease::decode(found)?;
        if stored.item != *next {
            return Err(LeaseError::Lost);
        }
        self.stored = stored;
        Ok(())
    }
}

fn expiry(context: &ProcessorContext) -> Option<String> {
    let expire = context.settings.sharing.expire()?;
    Some(format_timestamp(context.clock.now_ms().saturating_add(milliseconds(expire))))
}

fn no_etag() -> Fault {
    Fault::new(onehop_store::FaultKind::Internal, "the store wrote a lease and returned no ETag")
}
