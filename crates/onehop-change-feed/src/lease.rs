//! Leases: the right of an instance to read a feed range of a source container for its projections, with the
//! checkpoint.
//!
//! Every write of a lease carries the ETag of the one before (optimistic concurrency), so an owner that lost
//! its lease writes no checkpoint: the epoch is the fencing token. A lease is written when it changes hands,
//! makes progress or is released, and not to show that its owner lives: that is the owner's heartbeat. A
//! write whose outcome is unknown is recognised when the lease is read again.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::containers::{LEASES, lease_id, types};
use super::context::ProcessorContext;
use super::feed_place::{Backfill, FeedPlace};
use super::lease_scope::LeaseScope;
use super::page_error::PageError;
use super::read_progress::ReadProgress;
use onehop_runtime::planted;
use onehop_store::{
    Change, Continuation, Direction, ETag, Fault, FeedRange, Item, Keyset, Ledger, NewItem, PartitionKey,
    Query, Rejection, WriteError, WriteOp, limits,
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
    /// The processor whose instances share the lease.
    pub processor: String,
    /// The source container.
    pub container: String,
    /// The feed range.
    pub range: FeedRange,
    /// The names of the projections that the checkpoint holds for: they have completed everything before it.
    pub projections: Vec<String>,
    /// The checkpoint; `None` is the beginning.
    pub continuation: Option<Continuation>,
    /// The progress of the reader at the checkpoint.
    #[serde(default)]
    pub progress: ReadProgress,
    /// `None` when it was released.
    pub owner: Option<String>,
    /// Grows each time that the lease is acquired.
    pub epoch: u64,
    /// Checkpoints within changes of the page after the checkpoint. Stored as `notes`.
    #[serde(default, rename = "notes", skip_serializing_if = "Vec::is_empty")]
    pub change_checkpoints: Vec<ChangeCheckpoint>,
    /// The projections that have yet to complete something before the checkpoint, each with its own position.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backfills: Vec<Backfill>,
}

impl LeaseItem {
    /// A lease without an owner, at the beginning of the feed.
    pub(super) fn unowned(scope: &LeaseScope, range: &FeedRange) -> Self {
        let processor = &scope.context.settings.processor;
        Self {
            id: lease_id(processor, scope.container, range),
            item_type: types::LEASE.to_owned(),
            processor: processor.clone(),
            container: scope.container.to_string(),
            range: range.clone(),
            projections: scope.projections.clone(),
            continuation: None,
            progress: ReadProgress::default(),
            owner: None,
            epoch: 0,
            change_checkpoints: Vec::new(),
            backfills: Vec::new(),
        }
    }

    /// The lease after this instance has acquired it. A projection that the checkpoint does not hold for has
    /// not seen the changes before it: a backfill brings them. A projection that this instance does not know
    /// keeps its position for another one.
    pub(super) fn acquired_for(self, scope: &LeaseScope) -> Self {
        let backfills = self.backfills_for(scope);
        let mut projections = scope.projections.clone();
        projections.retain(|name| !backfills.iter().any(|backfill| backfill.projection == *name));
        Self {
            owner: Some(scope.context.settings.owner.clone()),
            epoch: if planted!("takeover-keeps-the-epoch") { self.epoch } else { self.epoch + 1 },
            projections,
            backfills,
            ..self
        }
    }

    /// The lease of a part of its range, which goes on where this one stands.
    fn of_part(&self, scope: &LeaseScope, part: &FeedRange) -> Self {
        let item = Self::unowned(scope, part).acquired_for(scope);
        Self {
            continuation: self.continuation.clone(),
            progress: self.progress.clone(),
            change_checkpoints: self.change_checkpoints.clone(),
            projections: self.projections.clone(),
            backfills: self.backfills.clone(),
            ..item
        }
    }
}

/// A checkpoint within one change: the state of a projection half way through a long change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeCheckpoint {
    /// The name of the projection.
    pub projection: String,
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

impl ChangeCheckpoint {
    fn is_of(&self, projection: &str, change: &Change) -> bool {
        self.projection == projection && self.id == change.id && self.partition_key == change.partition_key
    }
}

/// Why a lease could not be written.
#[derive(Debug, thiserror::Error)]
pub(super) enum LeaseError {
    #[error("the lease belongs to another owner by now")]
    Lost,
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl From<LeaseError> for PageError {
    fn from(error: LeaseError) -> Self {
        match error {
            LeaseError::Lost => Self::LeaseLost,
            LeaseError::Fault(fault) => Self::Fault(fault),
        }
    }
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
                order_by: None,
            };
            let page = context.store.query(&query, ledger).await?;
            for item in page.items.iter().cloned() {
                leases.push(Self::decode(item)?);
            }
            let Some(last) = leases.last().filter(|_| page.has_more) else { return Ok(leases) };
            after = Some(Keyset { order_value: String::new(), id: last.item.id.clone() });
        }
    }

    /// Writes a lease for the first time: the start checkpoint, without which a reader that dies in its first
    /// page would be a reader that never was. `None` when there is one already.
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

    /// Reads a lease that the listing did not have. `None` when it is deleted.
    pub(super) async fn read(
        context: &ProcessorContext,
        id: &str,
        ledger: &Ledger,
    ) -> Result<Option<Self>, Fault> {
        let found = context.store.read(LEASES, &PartitionKey::from(id), id, ledger).await?;
        found.map(Self::decode).transpose()
    }

    /// Reads the leases with these ids that are there.
    pub(super) async fn read_many(
        context: &ProcessorContext,
        ids: &[&str],
        ledger: &Ledger,
    ) -> Result<Vec<Self>, Fault> {
        let keys: Vec<_> = ids.iter().map(|id| (PartitionKey::from(*id), (*id).to_owned())).collect();
        let found = context.store.read_many(LEASES, &keys, ledger).await?;
        found.into_iter().flatten().map(Self::decode).collect()
    }

    fn decode(item: Item) -> Result<Self, Fault> {
        Ok(Self { item: item.decode()?, etag: item.etag })
    }
}

/// A lease that this instance owns.
#[derive(Debug)]
pub(super) struct OwnedLease {
    stored: StoredLease,
}

impl OwnedLease {
    /// A lease that was created with this instance as its owner.
    pub(super) fn created(stored: StoredLease) -> Self {
        Self { stored }
    }

    /// Acquires a lease, also from another owner. `None` when it was written since it was read.
    pub(super) async fn take(
        scope: &LeaseScope,
        stored: StoredLease,
        ledger: &Ledger,
    ) -> Result<Option<Self>, Fault> {
        let next = stored.item.clone().acquired_for(scope);
        let mut lease = Self { stored };
        match lease.save(&scope.context, next, ledger).await {
            Ok(()) => Ok(Some(lease)),
            Err(LeaseError::Lost) => Ok(None),
            Err(LeaseError::Fault(fault)) => Err(fault),
        }
    }

    pub(super) fn item(&self) -> &LeaseItem {
        &self.stored.item
    }

    /// The state that a projection saved for this version of an item.
    pub(super) fn state(&self, projection: &str, change: &Change) -> Option<Value> {
        let etag = change.item.etag.to_string();
        let same = |saved: &&ChangeCheckpoint| saved.is_of(projection, change) && saved.etag == etag;
        self.item().change_checkpoints.iter().find(same).map(|saved| saved.state.clone())
    }

    /// Writes a checkpoint. Change checkpoints belong to the page before it and are removed.
    pub(super) async fn checkpoint(
        &mut self,
        context: &ProcessorContext,
        (continuation, progress): (Option<Continuation>, ReadProgress),
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let change_checkpoints = Vec::new();
        let next = LeaseItem { continuation, progress, change_checkpoints, ..self.item().clone() };
        self.save(context, next, ledger).await
    }

    /// Writes the positions of backfills.
    pub(super) async fn save_backfills(
        &mut self,
        context: &ProcessorContext,
        present: &[Backfill],
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let next = self.item().with_backfills_at(present);
        self.save(context, next, ledger).await
    }

    /// Writes that projections have come as far as the live reader.
    pub(super) async fn join(
        &mut self,
        context: &ProcessorContext,
        projections: &[String],
        place: &FeedPlace,
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let next = self.item().joined(projections, place);
        self.save(context, next, ledger).await
    }

    /// Writes that all projections begin at the beginning.
    pub(super) async fn restart(&mut self, scope: &LeaseScope, ledger: &Ledger) -> Result<(), LeaseError> {
        let next = self.item().restarted(scope);
        self.save(&scope.context, next, ledger).await
    }

    /// Writes a checkpoint within a change.
    pub(super) async fn save_state(
        &mut self,
        context: &ProcessorContext,
        projection: &str,
        change: &Change,
        state: &Value,
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let mut next = self.item().clone();
        next.change_checkpoints.retain(|saved| !saved.is_of(projection, change));
        next.change_checkpoints.push(ChangeCheckpoint {
            projection: projection.to_owned(),
            partition_key: change.partition_key.clone(),
            id: change.id.clone(),
            etag: change.item.etag.to_string(),
            state: state.clone(),
        });
        self.save(context, next, ledger).await
    }

    /// Releases the lease, so that another instance does not wait for its expiry.
    pub(super) async fn release(
        &mut self,
        context: &ProcessorContext,
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let next = LeaseItem { owner: None, ..self.item().clone() };
        self.write(context, next, ledger).await
    }

    /// Divides the lease: creates the leases of the parts, then deletes this one. A part that has a lease
    /// already, from a split that was interrupted, keeps it: it stands nowhere behind which anything was not
    /// projected. Returns the leases created.
    pub(super) async fn split(
        &mut self,
        scope: &LeaseScope,
        parts: &[FeedRange],
        ledger: &Ledger,
    ) -> Result<Vec<Self>, LeaseError> {
        let (context, mut created) = (&*scope.context, Vec::new());
        for part in parts {
            let mut item = self.item().of_part(scope, part);
            if planted!("split-skips-changes") {
                let end = context.store.change_feed_end(scope.container, part, ledger).await?;
                item.continuation = Some(end);
            }
            let stored = context.with_retries(|| StoredLease::create(context, item.clone(), ledger)).await?;
            created.extend(stored.map(Self::created));
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
        next: LeaseItem,
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        let mut retry = 0;
        loop {
            match self.write(context, next.clone(), ledger).await {
                Ok(()) => return Ok(()),
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
        let mut operation = WriteOp::Replace { item, if_match: Some(self.stored.etag.clone()) };
        if planted!("expired-lease-writes") {
            operation = operation.without_if_match();
        }
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

    /// A write whose response was lost may have succeeded: then the lease equals the intended write.
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

fn no_etag() -> Fault {
    Fault::new(onehop_store::FaultKind::Internal, "the store wrote a lease and returned no ETag")
}
