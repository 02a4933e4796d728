//! Repair: corrects drifts, also while the domain is in use.
//!
//! Counts and copies are corrected in the items of the write side, from where the projections carry them on;
//! entries are written anew from their items. Every write creates, or replaces or deletes an item unchanged
//! since it was read (If-Match). An entry is read before its item, is never replaced by an older version, and
//! is compared with the item once more after it was written. So no entry goes back in time, and no entry of a
//! deleted item stays.

use super::exact::Stored;
use super::findings::{DriftSubject, unexpected_shape};
use super::invariant::VerifyProgress;
use super::report::{Drift, VerificationReport};
use super::verifier::{Suspect, Verifier};
use crate::body::Body;
use crate::entry::Entry;
use crate::item_type::VERSION;
use crate::list_elements::removal;
use crate::rule::{CountRule, ListRule, OwnsRule};
use crate::source_value::copied_value;
use crate::stored_count::StoredCount;
use crate::target_copy::TargetCopy;
use onehop_change_feed::{Cause, ProjectionError};
use onehop_store::{
    Batch, ContainerName, Fault, FaultKind, Item, Ledger, NewItem, PartitionKey, Rejection, WriteError,
    WriteOp,
};

/// The attempts of a write that met a concurrent one.
pub(super) const TRIES_MAX: u32 = 8;

impl Verifier {
    /// Verifies, repairs drifts where it can, and verifies again: the drifts of the report are the remaining
    /// ones.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn repair(
        &self,
        mut progress: impl FnMut(VerifyProgress) + Send,
    ) -> Result<VerificationReport, Fault> {
        let (found, drifted) = self.confirmed(&mut progress).await?;
        if found.is_clean() {
            return Ok(found);
        }
        let mut repaired = 0;
        for suspect in &drifted {
            match self.repair_one(suspect).await {
                Ok(is_repaired) => repaired += u64::from(is_repaired),
                // The second verification names unreadable items.
                Err(fault) if fault.kind == FaultKind::Corrupt => {}
                Err(fault) => return Err(fault),
            }
        }
        let mut report = self.verify(&mut progress).await?;
        report.repaired = repaired;
        Ok(report)
    }

    /// Repairs one drift; says whether something was written.
    async fn repair_one(&self, suspect: &Suspect) -> Result<bool, Fault> {
        match (&suspect.subject, &suspect.drift) {
            (DriftSubject::Count { rule, partition_key, id }, _) => {
                self.repair_count(self.count_rule(*rule), partition_key, id).await
            }
            (DriftSubject::Copy { copy, partition_key, id }, _) => {
                self.repair_copy(self.target_copy(*copy), partition_key, id).await
            }
            (DriftSubject::Entry { list, partition_key, id, source_key }, _) => {
                self.repair_entry(self.list_rule(*list), partition_key, id, source_key.as_ref()).await
            }
            (DriftSubject::Owned { .. }, _) if self.keeps_unowned => Ok(false),
            (DriftSubject::Invariant { place, .. }, _)
                if self.keeps_unowned && self.invariants[*place].is_repaired_by_deletion() =>
            {
                Ok(false)
            }
            (DriftSubject::Owned { rule, partition_key, id }, _) => {
                self.delete_owned(self.owns_rule(*rule), partition_key, id).await
            }
            (DriftSubject::Bounded { list }, Drift::Entry { id, .. }) => {
                self.repair_bounded(self.list_rule(*list), id).await
            }
            (DriftSubject::Bounded { .. }, _) => Ok(false),
            (DriftSubject::Invariant { place, partition_key, id }, _) => {
                self.invariants[*place].repair(partition_key, id).await
            }
        }
    }

    async fn repair_count(&self, rule: &CountRule, key: &PartitionKey, id: &str) -> Result<bool, Fault> {
        for _ in 0..TRIES_MAX {
            let Some((parent, counted)) = self.counted(rule, key, id).await? else { return Ok(false) };
            let expected = StoredCount::expected(rule, counted);
            if StoredCount::of(rule, &parent.body) == expected {
                return Ok(false);
            }
            let Stored { mut body, item } = parent;
            expected.store(rule, &mut body);
            if self.replace(rule.parent.container, key, body, &item).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn repair_copy(&self, copy: &TargetCopy, key: &PartitionKey, id: &str) -> Result<bool, Fault> {
        for _ in 0..TRIES_MAX {
            let Some(target) = self.read_live(&copy.item_type, key, id).await? else { return Ok(false) };
            let mut corrected = target.body.clone();
            let mut is_changed = false;
            for keyed in target.body.keyed(copy.path, copy.by) {
                let source_key = copy.source_key(&keyed).map_err(unexpected_shape)?;
                let read = self.read_live(&copy.rule.source, &source_key, keyed.id).await?;
                if let Some(value) = read.as_ref().and_then(|source| copied_value(&copy.rule, &source.body)) {
                    let source = copy.place(keyed.id, &source_key);
                    is_changed |= corrected.set_copies(copy.path, copy.by, source, &value);
                }
            }
            if !is_changed {
                return Ok(false);
            }
            if self.replace(copy.item_type.container, key, corrected, &target.item).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Brings an entry of a complete list up to date with its item.
    async fn repair_entry(
        &self,
        rule: &ListRule,
        key: &PartitionKey,
        id: &str,
        source_key: Option<&PartitionKey>,
    ) -> Result<bool, Fault> {
        let mut written = false;
        for _ in 0..TRIES_MAX {
            let entry = self.read(rule.container, key, id).await?;
            let source = self.source_of(rule, id, entry.as_ref(), source_key).await?;
            // Entries of elements are deleted with their item: their container has no soft-deleted items.
            let has_entry = |source: &Stored| {
                let is_gone = rule.element.is_some() && source.body.is_deleted();
                !is_gone && rule.partitions(&source.body).iter().any(|listed| listed == key.as_str())
            };
            let source = source.filter(has_entry);
            match self.entry_write(rule, key, entry.as_ref(), source).await? {
                EntryWrite::None => return Ok(written),
                EntryWrite::Write(operation) => written |= self.write(rule.container, key, operation).await?,
                EntryWrite::Again => {}
            }
        }
        Ok(written)
    }

    /// The write that brings an entry up to date with its item. The entry was read first.
    pub(super) async fn entry_write(
        &self,
        rule: &ListRule,
        key: &PartitionKey,
        entry: Option<&Stored>,
        source: Option<Stored>,
    ) -> Result<EntryWrite, Fault> {
        let Some(source) = source else {
            let live = entry.filter(|entry| !entry.body.is_deleted());
            let Some(live) = live else { return Ok(EntryWrite::None) };
            let operation = removal(rule, &live.body, &live.item).map_err(unexpected_shape)?;
            return Ok(EntryWrite::Write(operation));
        };
        if let Some(entry) = entry.filter(|entry| entry.body.version() > source.body.version()) {
            // No item was ever of this version: the entry is damaged. The item overtakes it.
            let Stored { mut body, item } = source;
            body.0.insert(VERSION.to_owned(), entry.body.version().into());
            let source_key = body.partition_key(&rule.source).map_err(unexpected_shape)?;
            self.replace(rule.source.container, &source_key, body, &item).await?;
            return Ok(EntryWrite::Again);
        }
        let update = |source: &Body| -> Result<Option<WriteOp>, ProjectionError> {
            Entry::of_element(rule, source, key.as_str())?.update(entry.map(|entry| &entry.item))
        };
        let write = update(&source.body).map_err(unexpected_shape)?;
        Ok(write.map_or(EntryWrite::None, EntryWrite::Write))
    }

    /// Deletes an owned item whose owner is not there.
    async fn delete_owned(&self, rule: &OwnsRule, key: &PartitionKey, id: &str) -> Result<bool, Fault> {
        let container = rule.owner.container;
        let Some(owned) = self.read(container, key, id).await? else { return Ok(false) };
        let Some(of_type) = rule.owned_type(owned.body.item_type()) else { return Ok(false) };
        let owner_id = owned.body.text(of_type.by).map_err(unexpected_shape)?;
        if self.read_live(&rule.owner, key, owner_id).await?.is_some() {
            return Ok(false);
        }
        let cause = Cause::Projection(rule.name.to_owned());
        let operation = of_type.deletion(&owned.item, &cause).map_err(unexpected_shape)?;
        self.write(container, key, operation).await
    }

    /// Replaces an unchanged item by its next version; `false` when it has changed.
    async fn replace(
        &self,
        container: ContainerName,
        key: &PartitionKey,
        body: Body,
        unchanged: &Item,
    ) -> Result<bool, Fault> {
        let item: NewItem = body.into_next_version(&Cause::Repair).map_err(unexpected_shape)?;
        self.write(container, key, WriteOp::Replace { item, if_match: Some(unchanged.etag.clone()) }).await
    }

    /// Writes; `false` when the write was refused because of a concurrent one.
    async fn write(
        &self,
        container: ContainerName,
        key: &PartitionKey,
        operation: WriteOp,
    ) -> Result<bool, Fault> {
        unless_refused(self.store.write(container, key, operation, &Ledger::new()).await)
    }

    /// Writes together; `false` when the batch was refused because of a concurrent write.
    pub(super) async fn batch(
        &self,
        container: ContainerName,
        key: &PartitionKey,
        operations: Vec<WriteOp>,
    ) -> Result<bool, Fault> {
        let batch = Batch { container, partition_key: key.clone(), operations };
        unless_refused(self.store.batch(batch, &Ledger::new()).await)
    }
}

/// The correction of an entry.
pub(super) enum EntryWrite {
    /// It has its expected state.
    None,
    Write(WriteOp),
    /// The item was written: both have to be read again.
    Again,
}

pub(super) fn delete(unchanged: &Stored) -> Result<WriteOp, Fault> {
    let id = unchanged.body.id().map_err(unexpected_shape)?.to_owned();
    Ok(WriteOp::Delete { id, if_match: Some(unchanged.item.etag.clone()) })
}

fn unless_refused<T>(outcome: Result<T, WriteError>) -> Result<bool, Fault> {
    match outcome {
        Ok(_) => Ok(true),
        Err(WriteError::Rejected {
            reason: Rejection::PreconditionFailed | Rejection::NotFound | Rejection::Conflict,
            ..
        }) => Ok(false),
        Err(WriteError::Rejected { reason, .. }) => {
            Err(Fault::new(FaultKind::Internal, format!("a repair was refused: {reason}")))
        }
        Err(WriteError::Fault(fault)) => Err(fault),
    }
}
