//! Commits: transactional batches on the side of the service. All operations of a batch happen in one commit,
//! or nothing does.

use std::collections::BTreeMap;
use std::sync::Arc;

use onehop_store::adapter_rules::KeyProperties;
use onehop_store::{ETag, Item, NewItem, PartitionKey, Rejection, WriteOp};

use super::container::{AccountContainer, Content, LogicalPartition, Version};
use super::hash_range::point_of;
use super::partition::LogEntry;
use super::positions::{Commit, LogPosition};

/// Operations on one logical partition, checked by the adapter.
#[derive(Debug, Clone)]
pub(super) struct CheckedBatch {
    pub(super) partition_key: PartitionKey,
    /// Each with the properties of its item; `None` for a delete.
    pub(super) operations: Vec<(WriteOp, Option<KeyProperties>)>,
}

/// The answer to a batch.
#[derive(Debug)]
pub(super) struct Committed {
    /// The commit of the batch, or the commit by which the batch was refused.
    pub(super) commit: Commit,
    pub(super) outcome: Result<Vec<Option<ETag>>, (usize, Rejection)>,
}

/// The time of a commit.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommitTime {
    /// Unix ms.
    pub(super) now_ms: i64,
    /// When lagging replicas have it, monotonic ms.
    pub(super) replicated_at_ms: i64,
}

/// The latest contents that a batch reads and writes.
type Overlay<'a> = BTreeMap<&'a str, Option<Arc<Content>>>;

impl AccountContainer {
    /// Carries out a batch. `etags` numbers the ETags of the account.
    pub(super) fn apply(&mut self, batch: &CheckedBatch, time: CommitTime, etags: &mut u64) -> Committed {
        let point = point_of(self.spec.name, &batch.partition_key);
        let place = self.place_of(point);
        let judged = self.judge(batch, time.now_ms, etags);
        let partition = &mut self.partitions[place];
        let number = partition.number;
        let contents = match judged {
            Ok(contents) => contents,
            Err(refusal) => {
                let commit = Commit { partition: number, lsn: partition.lsn };
                return Committed { commit, outcome: Err(refusal) };
            }
        };
        let lsn = partition.commit(time.replicated_at_ms);
        let etags = contents
            .iter()
            .map(|content| content.as_ref().map(|content| content.item.etag.clone()))
            .collect();
        let ids = batch.operations.iter().map(|(operation, _)| operation.id());
        self.append((place, lsn, point), batch.partition_key.as_str(), ids.zip(contents));
        Committed { commit: Commit { partition: number, lsn }, outcome: Ok(etags) }
    }

    /// The contents after each operation, or the first refusal.
    fn judge(
        &self,
        batch: &CheckedBatch,
        now_ms: i64,
        etags: &mut u64,
    ) -> Result<Vec<Option<Arc<Content>>>, (usize, Rejection)> {
        let logical = self.logical.get(batch.partition_key.as_str());
        let stored = |id: &str| {
            let chain = logical?.items.get(id)?;
            chain.content_at(u64::MAX, now_ms).cloned()
        };
        let mut overlay = Overlay::new();
        let mut contents = Vec::with_capacity(batch.operations.len());
        for (position, (operation, properties)) in batch.operations.iter().enumerate() {
            let id = operation.id();
            let current = overlay.get(id).cloned().unwrap_or_else(|| stored(id));
            judge_one(operation, current.as_deref()).map_err(|reason| (position, reason))?;
            let content = operation.item().map(|item| {
                *etags += 1;
                let properties = properties.clone().unwrap_or_default();
                Arc::new(content_of(item, properties, *etags, now_ms))
            });
            overlay.insert(id, content.clone());
            contents.push(content);
        }
        Ok(contents)
    }

    /// Appends versions to the log of the physical partition at a place.
    fn append<'a>(
        &mut self,
        (place, lsn, point): (usize, u64, u64),
        partition_key: &str,
        writes: impl Iterator<Item = (&'a str, Option<Arc<Content>>)>,
    ) {
        let key: Arc<str> = partition_key.into();
        let logical = self.logical.entry(Arc::clone(&key)).or_insert_with(|| LogicalPartition {
            point,
            key,
            items: BTreeMap::new(),
        });
        for (index, (id, content)) in (0..).zip(writes) {
            let id: Arc<str> = id.into();
            let chain = logical.items.entry(Arc::clone(&id)).or_default();
            chain.0.push(Version { lsn, content });
            self.partitions[place].log.push(LogEntry {
                position: LogPosition { lsn, index },
                point,
                partition_key: Arc::clone(&logical.key),
                id,
                version: chain.0.len() - 1,
            });
        }
    }

    /// Deletes the items whose time is over, and returns their number.
    pub(super) fn purge_expired(&mut self, time: CommitTime) -> usize {
        let is_over =
            |version: &Version| version.content.as_ref().is_some_and(|content| !content.is_live(time.now_ms));
        let mut expired: Vec<(u64, Arc<str>, Arc<str>)> = Vec::new();
        for logical in self.logical.values() {
            for (id, _) in logical.items.iter().filter(|(_, chain)| chain.0.last().is_some_and(is_over)) {
                expired.push((logical.point, Arc::clone(&logical.key), Arc::clone(id)));
            }
        }
        for (point, key, id) in &expired {
            let place = self.place_of(*point);
            let lsn = self.partitions[place].commit(time.replicated_at_ms);
            self.append((place, lsn, *point), key, [(&**id, None)].into_iter());
        }
        expired.len()
    }
}

fn judge_one(operation: &WriteOp, current: Option<&Content>) -> Result<(), Rejection> {
    let (WriteOp::Replace { if_match, .. } | WriteOp::Delete { if_match, .. }) = operation else {
        let is_create = matches!(operation, WriteOp::Create(_));
        return if is_create && current.is_some() { Err(Rejection::Conflict) } else { Ok(()) };
    };
    let current = current.ok_or(Rejection::NotFound)?;
    match if_match {
        Some(etag) if *etag != current.item.etag => Err(Rejection::PreconditionFailed),
        _ => Ok(()),
    }
}

fn content_of(item: &NewItem, properties: KeyProperties, etag: u64, now_ms: i64) -> Content {
    let written_s = now_ms.div_euclid(1000);
    let expires_at_ms =
        properties.ttl.map(|ttl_s| written_s.saturating_add(i64::from(ttl_s)).saturating_mul(1000));
    let etag = ETag::from_text(format!("\"{etag:08x}\""));
    let item = Item { body: item.body.clone(), etag, timestamp_ms: written_s.saturating_mul(1000) };
    Content { item, properties, expires_at_ms }
}
