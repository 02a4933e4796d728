//! Heartbeat: the liveness of an instance, in one item for each instance that shares leases.
//!
//! An instance writes its heartbeat every renew interval. Another instance considers it dead when that item
//! has not moved for the expiry, as measured by the observer's own monotonic clock: clocks of two machines
//! are never compared, and a wall clock that is set back or forward changes nothing. An instance that could
//! not write its heartbeat for the expiry stops working on its leases. It counts from the start of its last
//! successful write, so it stops first.
//!
//! Instances at rest do not list leases. An instance that joins or takes leases *calls* the others: it writes
//! to their heartbeats, so that their next write fails on its ETag and they look.

use std::sync::atomic::{AtomicI64, Ordering};

use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

use super::containers::{LEASES, heartbeat_id, types};
use super::context::ProcessorContext;
use super::settings::milliseconds;
use onehop_store::{
    Direction, ETag, Fault, FaultKind, Item, Keyset, Ledger, NewItem, PartitionKey, Query, Rejection,
    WriteError, WriteOp, limits,
};

/// The attempts to write a heartbeat against concurrent calls.
const WRITE_ATTEMPTS_MAX: usize = 16;

/// A heartbeat, in its stored form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HeartbeatItem {
    id: String,
    #[serde(rename = "type")]
    item_type: String,
    processor: String,
    /// The name under which the instance owns leases.
    pub(super) owner: String,
    /// Grows with each start of an instance with this name.
    incarnation: u64,
    /// Grows with each heartbeat.
    beats: u64,
    /// Grows with each call by another instance.
    calls: u64,
}

impl HeartbeatItem {
    fn first(context: &ProcessorContext) -> Self {
        let (processor, owner) = (&context.settings.processor, &context.settings.owner);
        Self {
            id: heartbeat_id(processor, owner),
            item_type: types::HEARTBEAT.to_owned(),
            processor: processor.clone(),
            owner: owner.clone(),
            incarnation: 1,
            beats: 1,
            calls: 0,
        }
    }

    fn next(&self) -> Self {
        Self { beats: self.beats + 1, ..self.clone() }
    }
}

/// The progress of a heartbeat. A call does not count: a dead instance can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pulse {
    pub(super) incarnation: u64,
    beats: u64,
}

/// A heartbeat of any instance, with the ETag of its last read or write.
#[derive(Debug, Clone)]
pub(super) struct StoredHeartbeat {
    pub(super) item: HeartbeatItem,
    etag: ETag,
}

/// The outcome of a conditional write.
enum Written {
    /// It was written, and this is the ETag.
    As(ETag),
    /// The item has changed, or is there already.
    Changed,
    Gone,
}

impl StoredHeartbeat {
    /// Lists the heartbeats of all instances of this processor.
    pub(super) async fn list(context: &ProcessorContext, ledger: &Ledger) -> Result<Vec<Self>, Fault> {
        let mut heartbeats: Vec<Self> = Vec::new();
        let mut after: Option<Keyset> = None;
        loop {
            let query = Query::Equality {
                container: LEASES,
                path: "processor",
                value: &context.settings.processor,
                item_type: types::HEARTBEAT,
                direction: Direction::OldestFirst,
                after: after.as_ref(),
                limit: limits::PAGE_ITEMS_MAX,
                order_by: None,
            };
            let page = context.store.query(&query, ledger).await?;
            for item in page.items.iter().cloned() {
                heartbeats.push(Self::decode(item)?);
            }
            let Some(last) = heartbeats.last().filter(|_| page.has_more) else { return Ok(heartbeats) };
            after = Some(Keyset { order_value: String::new(), id: last.item.id.clone() });
        }
    }

    /// Reads these heartbeats again.
    pub(super) async fn read_many(
        context: &ProcessorContext,
        heartbeats: &[Self],
        ledger: &Ledger,
    ) -> Result<Vec<Option<Self>>, Fault> {
        let key = |heartbeat: &Self| (heartbeat.partition_key(), heartbeat.item.id.clone());
        let keys: Vec<_> = heartbeats.iter().map(key).collect();
        let found = context.store.read_many(LEASES, &keys, ledger).await?;
        found.into_iter().map(|item| item.map(Self::decode).transpose()).collect()
    }

    async fn read(context: &ProcessorContext, id: &str, ledger: &Ledger) -> Result<Option<Self>, Fault> {
        let found = context.store.read(LEASES, &PartitionKey::from(id), id, ledger).await?;
        found.map(Self::decode).transpose()
    }

    pub(super) fn pulse(&self) -> Pulse {
        Pulse { incarnation: self.item.incarnation, beats: self.item.beats }
    }

    /// Makes the instance look at the leases.
    pub(super) async fn call(mut self, context: &ProcessorContext, ledger: &Ledger) -> Result<(), Fault> {
        for _ in 0..WRITE_ATTEMPTS_MAX {
            let called = HeartbeatItem { calls: self.item.calls + 1, ..self.item.clone() };
            match self.replace(context, &called, ledger).await? {
                Written::As(_) | Written::Gone => return Ok(()),
                Written::Changed => match Self::read(context, &self.item.id, ledger).await? {
                    Some(found) => self = found,
                    None => return Ok(()),
                },
            }
        }
        Err(contended())
    }

    /// Deletes the heartbeat of a dead instance, unless it has moved.
    pub(super) async fn delete(&self, context: &ProcessorContext, ledger: &Ledger) -> Result<bool, Fault> {
        let operation = WriteOp::Delete { id: self.item.id.clone(), if_match: Some(self.etag.clone()) };
        match context.store.write(LEASES, &self.partition_key(), operation, ledger).await {
            Ok(_) | Err(WriteError::Rejected { reason: Rejection::NotFound, .. }) => Ok(true),
            Err(WriteError::Rejected { .. }) => Ok(false),
            Err(WriteError::Fault(fault)) => Err(fault),
        }
    }

    async fn replace(
        &self,
        context: &ProcessorContext,
        next: &HeartbeatItem,
        ledger: &Ledger,
    ) -> Result<Written, Fault> {
        let item = NewItem::encode(next.id.clone(), next);
        let operation = WriteOp::Replace { item, if_match: Some(self.etag.clone()) };
        self.write(context, operation, ledger).await
    }

    async fn write(
        &self,
        context: &ProcessorContext,
        operation: WriteOp,
        ledger: &Ledger,
    ) -> Result<Written, Fault> {
        write(context, &self.partition_key(), operation, ledger).await
    }

    fn partition_key(&self) -> PartitionKey {
        PartitionKey::from(self.item.id.as_str())
    }

    fn decode(item: Item) -> Result<Self, Fault> {
        Ok(Self { item: item.decode()?, etag: item.etag })
    }
}

async fn write(
    context: &ProcessorContext,
    partition_key: &PartitionKey,
    operation: WriteOp,
    ledger: &Ledger,
) -> Result<Written, Fault> {
    match context.store.write(LEASES, partition_key, operation, ledger).await {
        Ok(Some(etag)) => Ok(Written::As(etag)),
        Ok(None) => Err(Fault::new(FaultKind::Internal, "the store wrote a heartbeat and returned no ETag")),
        Err(WriteError::Rejected { reason: Rejection::NotFound, .. }) => Ok(Written::Gone),
        Err(WriteError::Rejected { .. }) => Ok(Written::Changed),
        Err(WriteError::Fault(fault)) => Err(fault),
    }
}

fn contended() -> Fault {
    Fault::new(FaultKind::Unavailable, "a heartbeat was written by too many at once")
}

/// The outcome of a heartbeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beat {
    /// It was not due, or nothing else happened.
    Quiet,
    /// The instance has joined the others.
    Joined,
    /// Another instance called.
    Called,
    /// It came too late, or others deleted it, or an instance with the same name has started: the leases may
    /// be lost.
    Late,
}

/// The heartbeat of this instance.
#[derive(Debug, Default)]
pub(super) struct Heartbeat {
    own: Mutex<Option<StoredHeartbeat>>,
    /// When the next one is due (monotonic ms).
    due_at_ms: AtomicI64,
    /// The heartbeat that was last tried to be written, and when the first try began (monotonic ms): its
    /// response may have been lost.
    tried: parking_lot::Mutex<(u64, i64)>,
}

impl Heartbeat {
    /// Writes the heartbeat if that is due, and nothing before the instance has joined.
    pub(super) async fn beat_if_due(
        &self,
        context: &ProcessorContext,
        ledger: &Ledger,
    ) -> Result<Beat, Fault> {
        context.with_retries(async || self.beat(context, ledger).await).await
    }

    /// Writes the heartbeat for the first time, or if that is due.
    pub(super) async fn join(&self, context: &ProcessorContext, ledger: &Ledger) -> Result<Beat, Fault> {
        if context.settings.sharing.renew().is_none() {
            return Ok(Beat::Quiet);
        }
        let join = async || {
            let mut own = self.own.lock().await;
            match &mut *own {
                Some(_) => Ok(None),
                own => self.begin(own, context, Beat::Joined, ledger).await.map(Some),
            }
        };
        match context.with_retries(join).await? {
            Some(beat) => Ok(beat),
            None => self.beat_if_due(context, ledger).await,
        }
    }

    /// Deletes the heartbeat, once the instance owns no lease any more.
    pub(super) async fn leave(&self, context: &ProcessorContext, ledger: &Ledger) -> Result<(), Fault> {
        let mut own = self.own.lock().await;
        for _ in 0..WRITE_ATTEMPTS_MAX {
            let Some(stored) = own.take() else { return Ok(()) };
            context.end_life();
            if stored.delete(context, ledger).await? {
                return Ok(());
            }
            // Another instance has called.
            let found = StoredHeartbeat::read(context, &stored.item.id, ledger).await?;
            *own = found.filter(|found| found.item.incarnation == stored.item.incarnation);
        }
        Err(contended())
    }

    async fn beat(&self, context: &ProcessorContext, ledger: &Ledger) -> Result<Beat, Fault> {
        let mut own = self.own.lock().await;
        let began_ms = context.clock.monotonic_ms();
        let Some(mut stored) = own.clone() else { return Ok(Beat::Quiet) };
        if began_ms < self.due_at_ms.load(Ordering::Relaxed) {
            return Ok(Beat::Quiet);
        }
        let mut beat = if context.is_alive() { Beat::Quiet } else { Beat::Late };
        for _ in 0..WRITE_ATTEMPTS_MAX {
            let next = stored.item.next();
            let first_tried_ms = self.first_tried(next.beats, began_ms);
            if let Written::As(etag) = stored.replace(context, &next, ledger).await? {
                *own = Some(self.written(context, StoredHeartbeat { item: next, etag }, began_ms));
                return Ok(beat);
            }
            match StoredHeartbeat::read(context, &next.id, ledger).await? {
                // An earlier try whose response was lost. It counts from its own beginning.
                Some(found) if found.item == next => {
                    *own = Some(self.written(context, found, first_tried_ms));
                    return Ok(beat);
                }
                Some(found) if found.item.incarnation == next.incarnation => {
                    if found.item.calls != next.calls && beat == Beat::Quiet {
                        beat = Beat::Called;
                    }
                    stored = found;
                }
                _ => return self.begin(&mut own, context, Beat::Late, ledger).await,
            }
        }
        Err(contended())
    }

    /// When this heartbeat was first tried to be written.
    fn first_tried(&self, beats: u64, now_ms: i64) -> i64 {
        let mut tried = self.tried.lock();
        if tried.0 != beats {
            *tried = (beats, now_ms);
        }
        tried.1
    }

    /// Writes the first heartbeat of a new incarnation.
    async fn begin(
        &self,
        own: &mut Option<StoredHeartbeat>,
        context: &ProcessorContext,
        beat: Beat,
        ledger: &Ledger,
    ) -> Result<Beat, Fault> {
        let began_ms = context.clock.monotonic_ms();
        // Observers may still remember the heartbeat of an incarnation whose item was deleted.
        let incarnation = own.as_ref().map_or(1, |stored| stored.item.incarnation + 1);
        let first = HeartbeatItem { incarnation, ..HeartbeatItem::first(context) };
        let partition_key = PartitionKey::from(first.id.as_str());
        for _ in 0..WRITE_ATTEMPTS_MAX {
            let found = StoredHeartbeat::read(context, &first.id, ledger).await?;
            let (item, written) = match found {
                None => {
                    let operation = WriteOp::Create(NewItem::encode(first.id.clone(), &first));
                    (first.clone(), write(context, &partition_key, operation, ledger).await?)
                }
                Some(found) => {
                    let incarnation = incarnation.max(found.item.incarnation + 1);
                    let item = HeartbeatItem { incarnation, ..found.item.next() };
                    let written = found.replace(context, &item, ledger).await?;
                    (item, written)
                }
            };
            if let Written::As(etag) = written {
                *own = Some(self.written(context, StoredHeartbeat { item, etag }, began_ms));
                return Ok(beat);
            }
        }
        Err(contended())
    }

    fn written(&self, context: &ProcessorContext, stored: StoredHeartbeat, began_ms: i64) -> StoredHeartbeat {
        let sharing = context.settings.sharing;
        let after = |interval| began_ms.saturating_add(milliseconds(interval));
        self.due_at_ms.store(sharing.renew().map_or(i64::MAX, after), Ordering::Relaxed);
        context.live_until(sharing.expire().map_or(i64::MAX, after));
        stored
    }
}
