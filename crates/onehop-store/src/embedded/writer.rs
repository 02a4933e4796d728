//! Writer with group commit: takes requests in order, checks each against the state after the earlier ones,
//! and commits all waiting requests with one fsync. A thread of its own runs it; a simulation runs it as a
//! task.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::change_signals::{ChangeSignals, WrittenItems};
use super::disk_space::DiskSpace;
use super::engine::Engine;
use super::header::{Header, ItemLocation, encode_value};
use super::high_water::{COMMITS_BETWEEN_MARKS, HighWaterTracker};
use super::high_water_mark::CommitNumbers;
use super::item_entries::{commit_entries, commit_time_entry, entries, value_entries};
use super::key_space::{KeyChange, KeySpace};
use super::keys::{self, ContainerId};
use super::phase_timer::PhaseTimer;
use super::read_caches::{ItemCopy, ReadCaches};
use super::reopenings::Reopenings;
use super::write_requests::{ItemChange, WriteRequest};
use super::writer_counters::WriterCounters;
use crate::{CommitPhase, ETag, Fault, FaultKind, WriteError, WriteMarks};
use onehop_runtime::clock::Clock;
use onehop_runtime::planted;

/// Requests that may wait for the writer before senders wait, too.
pub(super) const QUEUE_REQUESTS_MAX: usize = 1024;
/// Requests committed with one fsync.
const GROUP_REQUESTS_MAX: usize = 256;
/// Bytes of bodies committed with one fsync; a group may pass it by one request.
const GROUP_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The writer's data about a container.
pub(super) struct WriterContainer {
    pub newest_types: &'static [&'static str],
    pub signals: Arc<ChangeSignals>,
}

/// The item as this group leaves it.
#[derive(Debug, Clone)]
struct PendingItem {
    header: Header,
    /// `None` where only the header is known: the item was there before this group.
    value: Option<PendingValue>,
}

/// The bytes of an item that this group writes.
#[derive(Debug, Clone)]
enum PendingValue {
    Whole(Vec<u8>),
    Edit {
        stored: Vec<u8>,
        /// The value as a whole, for the cache, where the item was cached when it was checked.
        whole: Option<Vec<u8>>,
    },
}

/// An item that this group touches.
struct TouchedItem {
    container: ContainerId,
    partition_key: Arc<str>,
    physical: u16,
    id: String,
    before: Option<Header>,
    after: Option<PendingItem>,
}

impl PendingValue {
    /// The bytes for `items`.
    fn stored(&self) -> &Vec<u8> {
        match self {
            Self::Whole(stored) | Self::Edit { stored, .. } => stored,
        }
    }

    /// The value as a whole, unless an edit is stored of an item that was not cached.
    fn whole(&self) -> Option<&Vec<u8>> {
        match self {
            Self::Whole(value) => Some(value),
            Self::Edit { whole, .. } => whole.as_ref(),
        }
    }
}

impl TouchedItem {
    /// Its key in `items` under a header.
    fn key_under(&self, header: &Header) -> Vec<u8> {
        let place = ItemLocation::of(&header.properties);
        keys::item_key(self.container, &self.partition_key, place, &self.id)
    }
}

pub(super) struct GroupCommitWriter {
    pub engine: Arc<Engine>,
    pub room: DiskSpace,
    pub reopenings: Reopenings,
    pub containers: Arc<Vec<WriterContainer>>,
    pub clock: Arc<dyn Clock>,
    pub sequence: u64,
    /// The number of the last commit that was tried. It is never given out twice.
    pub commit_number: u64,
    pub high_water: Arc<HighWaterTracker>,
    pub counters: Arc<WriterCounters>,
    pub marks: Arc<WriteMarks>,
    pub caches: Arc<ReadCaches>,
    /// Commits since the store was opened, including failed commits.
    pub commits: u64,
}

impl GroupCommitWriter {
    /// Works until the last sender is gone.
    pub(super) async fn run(mut self, mut requests: mpsc::Receiver<WriteRequest>) {
        while let Some(first) = requests.recv().await {
            let mut group = vec![first];
            let mut bytes = group[0].body_bytes();
            while group.len() < GROUP_REQUESTS_MAX && bytes < GROUP_BYTES_MAX {
                let Ok(next) = requests.try_recv() else { break };
                bytes += next.body_bytes();
                group.push(next);
            }
            self.commit_group(group, bytes).await;
        }
        match self.engine.persist() {
            // A further fsync does not bring pages to the disk that a failed one has dropped.
            Ok(()) if self.engine.is_journal_suspect() => {
                tracing::error!("the last writes may not be on the disk: an fsync had failed");
            }
            Ok(()) => self.high_water.finish(),
            Err(fault) => tracing::error!(error = %fault, "the last writes could not be synced to the disk"),
        }
    }

    /// Refuses all writes of a group while there is no room for them, and sees to it that the engine can
    /// write.
    fn admit(&mut self, bytes: usize) -> Result<(), Fault> {
        self.room.check(bytes)?;
        if self.engine.can_write() {
            return Ok(());
        }
        self.room.check_for_reopening()?;
        self.reopenings.admit(self.clock.monotonic_ms())?;
        tracing::warn!("the storage engine has failed to write, and is opened again");
        let reopened = self.engine.reopen();
        // The journal may have held a commit whose outcome was not known. Reads show it also where writes
        // stay refused.
        for container in self.containers.iter() {
            container.signals.announce_all();
        }
        reopened?;
        tracing::info!("the storage engine is open again");
        Ok(())
    }

    async fn commit_group(&mut self, group: Vec<WriteRequest>, bytes: usize) {
        self.counters.on_requests(group.len() as u64);
        let mut timer = PhaseTimer::since(group[0].queued_at);
        let admitted = self.admit(bytes);
        timer.end(CommitPhase::Admission);
        if let Err(fault) = admitted {
            for request in group {
                // A caller that has hung up wants no answer.
                let _ = request.reply.send(Err(fault.again().into()));
            }
            return;
        }
        let now_ms = self.clock.now_ms();
        // In the order of their keys, so that equal groups make equal commits.
        let mut touched: BTreeMap<Vec<u8>, TouchedItem> = BTreeMap::new();
        let mut answers = Vec::with_capacity(group.len());
        for request in group {
            let outcome = self.evaluate(&request, &mut touched, now_ms);
            answers.push((WrittenItems::of(&request), request.reply, request.container, outcome));
        }
        if planted!("signal-before-commit") {
            answers.iter().for_each(|(written, _, container, _)| self.signal(*container, written));
        }
        timer.end(CommitPhase::Check);
        let committed = self.commit_touched(touched, now_ms, &mut timer).await;
        #[cfg(feature = "simulation")]
        self.engine.interruption("writer: before the signals").await;
        for (written, reply, container, outcome) in answers {
            let outcome = match (&committed, outcome) {
                (Ok(()), outcome) => outcome,
                (Err(fault), Ok(_)) if fault.kind == FaultKind::Full => Err(fault.again().into()),
                // The journal may hold the commit or not: the next opening will show.
                (Err(fault), Ok(_)) => Err(Fault::new(FaultKind::Ambiguous, fault.to_string()).into()),
                (Err(_), refused) => refused,
            };
            if outcome.as_ref().is_ok_and(|etags| !etags.is_empty()) && !planted!("signal-before-commit") {
                self.signal(container, &written);
            }
            #[cfg(feature = "simulation")]
            self.engine.interruption("writer: before an answer").await;
            // A caller that has hung up wants no answer.
            let _ = reply.send(outcome);
        }
    }

    /// Wakes readers that wait for changes of a container.
    fn signal(&self, container: ContainerId, written: &WrittenItems) {
        self.containers[usize::from(container)].signals.announce(written);
    }

    /// Checks a request against the state that the group so far leaves behind, and adds it to that state
    /// unless one of its operations is refused.
    fn evaluate(
        &mut self,
        request: &WriteRequest,
        touched: &mut BTreeMap<Vec<u8>, TouchedItem>,
        now_ms: i64,
    ) -> Result<Vec<Option<ETag>>, WriteError> {
        let mut local: Vec<(Vec<u8>, Option<Header>, Option<PendingItem>)> =
            Vec::with_capacity(request.operations.len());
        let mut etags = Vec::with_capacity(request.operations.len());
        for (position, operation) in request.operations.iter().enumerate() {
            let key = keys::id_key(request.container, &request.partition_key, &operation.id);
            let earlier = local.iter().rposition(|(other, _, _)| *other == key);
            let (before, current) = match earlier {
                Some(index) => (local[index].1.clone(), local[index].2.clone()),
                None => self.current(&key, touched)?,
            };
            let live = current.as_ref().filter(|pending| pending.header.is_live_at(now_ms));
            operation
                .change
                .check(live.map(|pending| &pending.header))
                .map_err(|reason| WriteError::Rejected { operation: position, reason })?;
            let after = match &operation.change {
                ItemChange::Put { properties, body, edit, .. } => {
                    self.sequence += 1;
                    let sequence = self.sequence;
                    let expires_at_ms = properties.ttl.map_or(0, |ttl| now_ms + i64::from(ttl) * 1000);
                    let properties = properties.clone();
                    let mut header = Header { sequence, expires_at_ms, edited: false, properties };
                    etags.push(Some(ETag::from_number(sequence)));
                    let whole = encode_value(sequence, now_ms, expires_at_ms, body);
                    let edit = edit.as_ref().filter(|edit| {
                        live.is_some_and(|stored| {
                            edit.fits(&stored.header) && header.has_keys_of(&stored.header)
                        })
                    });
                    let value = match edit {
                        Some(edit) => {
                            header.edited = true;
                            let stored = edit.encode(sequence, now_ms, expires_at_ms);
                            PendingValue::Edit { stored, whole: self.caches.has(&key).then_some(whole) }
                        }
                        None => PendingValue::Whole(whole),
                    };
                    Some(PendingItem { header, value: Some(value) })
                }
                ItemChange::Purge if live.is_some() && !planted!("purge-takes-a-rewrite") => {
                    etags.push(None);
                    current
                }
                ItemChange::Delete { .. } | ItemChange::Purge => {
                    etags.push(None);
                    None
                }
            };
            match earlier {
                Some(index) => local[index].2 = after,
                None => local.push((key, before, after)),
            }
        }
        let partition_key: Arc<str> = Arc::from(request.partition_key.as_str());
        for ((key, before, after), operation) in local.into_iter().zip(request.unique_ids()) {
            match touched.get_mut(&key) {
                Some(entry) => entry.after = after,
                None => {
                    let entry = TouchedItem {
                        container: request.container,
                        partition_key: Arc::clone(&partition_key),
                        physical: request.physical,
                        id: operation.to_owned(),
                        before,
                        after,
                    };
                    touched.insert(key, entry);
                }
            }
        }
        Ok(etags)
    }

    fn current(
        &self,
        key: &[u8],
        touched: &BTreeMap<Vec<u8>, TouchedItem>,
    ) -> Result<(Option<Header>, Option<PendingItem>), WriteError> {
        if let Some(entry) = touched.get(key) {
            return Ok((entry.before.clone(), entry.after.clone()));
        }
        let cached = self.caches.header(key);
        let stored =
            if cached.is_some() { cached } else { self.engine.get(KeySpace::Ids, key)?.map(Bytes::from) };
        let Some(bytes) = stored else { return Ok((None, None)) };
        let header = Header::decode(&bytes)
            .ok_or_else(|| Fault::new(FaultKind::Corrupt, "an entry of the id index cannot be read"))?;
        Ok((Some(header.clone()), Some(PendingItem { header, value: None })))
    }

    /// Commits items, index entries and change log entries of the whole group at once.
    async fn commit_touched(
        &mut self,
        touched: BTreeMap<Vec<u8>, TouchedItem>,
        now_ms: i64,
        timer: &mut PhaseTimer,
    ) -> Result<(), Fault> {
        self.commits += 1;
        let mut changes: Vec<KeyChange> = Vec::with_capacity(touched.len() * 6);
        let mut written: Vec<ItemCopy> = Vec::with_capacity(touched.len());
        for (id_key, item) in touched {
            let unchanged = matches!(&item.after, Some(pending) if pending.value.is_none());
            if unchanged || (item.before.is_none() && item.after.is_none()) {
                continue;
            }
            self.marks.write(item.container, &item.partition_key, self.commits);
            self.marks.write_item(&id_key, self.commits);
            let id_value = match &item.after {
                Some(PendingItem { header, value: Some(value) }) => {
                    let header = header.encode();
                    if self.caches.has(&id_key)
                        && let Some(value) = value.whole()
                    {
                        written.push(ItemCopy::of(&id_key, &header, value));
                    }
                    Some(header)
                }
                _ => None,
            };
            self.push_entries(&item, &mut changes);
            changes.push((KeySpace::Ids, id_key, id_value));
        }
        if changes.is_empty() {
            return Ok(());
        }
        self.commit_number += 1;
        let numbers = CommitNumbers { last_commit: self.commit_number, last_write: self.sequence };
        changes.extend(commit_entries(numbers));
        changes.push(commit_time_entry(now_ms));
        self.counters.on_commit_begun();
        #[cfg(feature = "simulation")]
        self.engine.interrupted_commit(&changes).await;
        let start = Instant::now();
        timer.end(CommitPhase::Check);
        self.engine.commit_timed(changes, timer)?;
        self.counters.on_commit(start.elapsed());
        #[cfg(feature = "simulation")]
        self.engine.interruption("writer: after the commit").await;
        self.marks.finish(self.commits);
        #[cfg(feature = "simulation")]
        self.engine.interruption("writer: before the caches").await;
        for item in written {
            self.caches.remember_item(item, self.commits);
        }
        timer.end(CommitPhase::Publication);
        self.counters.on_phases(timer);
        self.high_water.acknowledge(numbers);
        if self.commit_number.is_multiple_of(COMMITS_BETWEEN_MARKS)
            && let Err(fault) = self.high_water.write(&self.engine)
        {
            tracing::debug!(error = %fault, "the high-water mark stays behind");
        }
        Ok(())
    }

    /// The changes of every entry that an item has outside `ids`. Index entries that stay as they were are
    /// not written again.
    fn push_entries(&self, item: &TouchedItem, changes: &mut Vec<KeyChange>) {
        let first = changes.len();
        let TouchedItem { container, partition_key, physical, id, .. } = item;
        if let Some(PendingItem { header, value: Some(value) }) = &item.after {
            let stored = Some(value.stored());
            if let Some(before) = item.before.as_ref().filter(|before| header.has_keys_of(before)) {
                let log = keys::log_key(*container, *physical, before.sequence);
                changes.push((KeySpace::Log, log, None));
                changes.extend(value_entries(*container, *physical, partition_key, id, header, stored));
                if before.edited && !header.edited && !planted!("edit-outlives-its-base") {
                    changes.push((KeySpace::Items, keys::edit_key(&item.key_under(before)), None));
                }
                return;
            }
            changes.extend(self.entries(item, header, stored));
        }
        let last = changes.len();
        let Some(header) = &item.before else { return };
        // The entries of an item with an edit name the edit, and the base is one more.
        let base = header.edited.then(|| (KeySpace::Items, item.key_under(header), None));
        for entry in self.entries(item, header, None).into_iter().chain(base) {
            let written = changes[first..last].iter().any(|put| put.0 == entry.0 && put.1 == entry.1);
            if !written {
                changes.push(entry);
            }
        }
    }

    fn entries(&self, item: &TouchedItem, header: &Header, value: Option<&Vec<u8>>) -> Vec<KeyChange> {
        let newest_types = self.containers[usize::from(item.container)].newest_types;
        let TouchedItem { container, partition_key, physical, id, .. } = item;
        entries(newest_types, *container, *physical, partition_key, id, header, value)
    }
}

#[cfg(test)]
mod tests;
