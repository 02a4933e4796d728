//! Dead letters: the poison messages of a logical partition (changes that could not be projected, with their
//! error) and every later change behind them, in order. They are stored in the dead letter container and
//! outlive the process.
//!
//! A dead letter holds ids, not bodies: the change feed promises the latest version of an item and no older
//! one, so a replay reads the item from its container. The exception is an item with a time to live, such as
//! a tombstone: `expiring_body` keeps its body. A letter holds up to [`DEAD_LETTER_ENTRIES_MAX`] items;
//! further ones go to a next letter.
//!
//! Each poison message records its cause. Earlier releases recorded no cause, and parked changes for faults
//! of the store, too: those letters are replayed without an operator (see `former_letters`).

use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::containers::{DEAD_LETTERS, digest, types};
use super::context::ProcessorContext;
use super::expiring_body::{ExpiringBody, delete_bodies};
use super::poison::{DeadLetterCause, Poison};
use super::settings::Sharing;
use onehop_runtime::clock::{format_timestamp, parse_timestamp};
use onehop_runtime::planted;
use onehop_store::{
    Change, ContainerName, Direction, ETag, Fault, FaultKind, Keyset, Ledger, NewItem, PartitionHash,
    PartitionKey, Query, WriteError, WriteOp, limits,
};

/// Items in one dead letter.
pub const DEAD_LETTER_ENTRIES_MAX: usize = 2_000;
/// Characters of an error that are kept.
const ERROR_CHARACTERS_MAX: usize = 500;
/// The attempts of a write of a letter against concurrent writers of other processes.
const WRITE_ATTEMPTS_MAX: usize = 16;

/// A dead letter, in its stored form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetterItem {
    /// The id.
    pub id: String,
    /// The value of `type`.
    #[serde(rename = "type")]
    pub item_type: String,
    /// The name of the projection.
    pub projection: String,
    /// The container.
    pub container: String,
    /// The partition key.
    pub partition_key: PartitionKey,
    /// The place of this letter among the letters of the same logical partition.
    pub number: u32,
    /// The items.
    pub items: Vec<DeadLetterEntry>,
    /// Grows with each entry, so that a replay sees when an item was added again.
    pub next_sequence: u64,
    /// RFC 3339.
    pub first_parked_at: String,
    /// RFC 3339.
    pub last_parked_at: String,
}

/// An entry of a dead letter: an item whose latest version has to be projected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetterEntry {
    /// The id.
    pub id: String,
    /// The sequence number.
    pub sequence: u64,
    /// The number of attempts; 0 for a letter that only waits behind another.
    pub attempts: u32,
    /// The error, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why it cannot be projected. `None` for a letter that only waits behind another, and in letters of
    /// earlier releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<DeadLetterCause>,
    /// The latest version of an item with a time to live, which is projected after the item has expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiring: Option<Value>,
    /// The id of the item in the dead letter container that has this version, where it is longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expiring_body: Option<String>,
    /// The bytes of this version, where it is too long to be kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unkept_bytes: Option<usize>,
}

/// A change on its way to a dead letter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FailedChange {
    pub(super) id: String,
    pub(super) attempts: u32,
    pub(super) error: Option<String>,
    cause: Option<DeadLetterCause>,
    pub(super) expiring: ExpiringBody,
}

impl FailedChange {
    /// A change that failed.
    pub(super) fn failed(change: &Change, attempts: u32, poison: &Poison) -> Self {
        Self { expiring: ExpiringBody::of(&change.item), ..Self::failed_again(&change.id, attempts, poison) }
    }

    /// An entry that failed again in a replay.
    pub(super) fn failed_again(id: &str, attempts: u32, poison: &Poison) -> Self {
        let error = poison.error.chars().take(ERROR_CHARACTERS_MAX).collect();
        let cause = Some(poison.cause);
        Self { id: id.to_owned(), attempts, error: Some(error), cause, expiring: ExpiringBody::Unneeded }
    }

    /// A change that waits behind a poison message of its logical partition.
    pub(super) fn behind(change: &Change) -> Self {
        let expiring = ExpiringBody::of(&change.item);
        Self { id: change.id.clone(), attempts: 0, error: None, cause: None, expiring }
    }
}

/// The numbers of the first and the last dead letter of a logical partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LetterRange {
    pub(super) first: u32,
    pub(super) last: u32,
    /// When a change was added last (Unix ms).
    added_at_ms: i64,
    /// Whether the first letter is of a former fault, and is replayed without an operator.
    is_of_former_fault: bool,
}

/// The dead letters of one projection.
pub(super) struct DeadLetterQueue {
    context: Arc<ProcessorContext>,
    projection: &'static str,
    container: ContainerName,
    letters_by_partition: RwLock<HashMap<PartitionKey, LetterRange>>,
    /// Locked while a letter and `letters_by_partition` are changed together.
    gate: tokio::sync::Mutex<()>,
}

impl DeadLetterQueue {
    pub(super) async fn load(
        context: Arc<ProcessorContext>,
        projection: &'static str,
        container: ContainerName,
        ledger: &Ledger,
    ) -> Result<Self, Fault> {
        let (letters_by_partition, gate) = (RwLock::default(), tokio::sync::Mutex::new(()));
        let letters = Self { context, projection, container, letters_by_partition, gate };
        letters.reload(ledger).await?;
        Ok(letters)
    }

    /// Reads the logical partitions with dead letters, including letters that other processes wrote or
    /// replayed.
    pub(super) async fn reload(&self, ledger: &Ledger) -> Result<(), Fault> {
        let _gate = self.gate.lock().await;
        let mut letters_by_partition: HashMap<PartitionKey, LetterRange> = HashMap::new();
        self.for_each(ledger, |letter| {
            let added_at_ms = parse_timestamp(&letter.last_parked_at).unwrap_or(0);
            let is_of_former_fault = letter.is_of_former_fault();
            let (first, last) = (letter.number, letter.number);
            let letters = LetterRange { first, last, added_at_ms, is_of_former_fault };
            let known = letters_by_partition.entry(letter.partition_key).or_insert(letters);
            if letter.number < known.first {
                known.is_of_former_fault = is_of_former_fault;
            }
            known.first = known.first.min(letter.number);
            known.last = known.last.max(letter.number);
            known.added_at_ms = known.added_at_ms.max(added_at_ms);
        })
        .await?;
        *self.letters_by_partition.write() = letters_by_partition;
        Ok(())
    }

    /// Reads every letter of the projection, the oldest first.
    pub(super) async fn for_each(
        &self,
        ledger: &Ledger,
        mut look: impl FnMut(DeadLetterItem) + Send,
    ) -> Result<(), Fault> {
        let mut after: Option<Keyset> = None;
        loop {
            let query = Query::Equality {
                container: DEAD_LETTERS,
                path: "projection",
                value: self.projection,
                item_type: types::DEAD_LETTER,
                direction: Direction::OldestFirst,
                after: after.as_ref(),
                limit: limits::PAGE_ITEMS_MAX,
                order_by: None,
            };
            let page = self.context.store.query(&query, ledger).await?;
            for item in &*page.items {
                let letter: DeadLetterItem = item.decode()?;
                after = Some(Keyset { order_value: letter.first_parked_at.clone(), id: letter.id.clone() });
                look(letter);
            }
            if !page.has_more {
                return Ok(());
            }
        }
    }

    /// Whether the logical partition has dead letters, so that its changes have to wait.
    pub(super) fn contains(&self, partition_key: &PartitionKey) -> bool {
        self.letters_by_partition.read().contains_key(partition_key)
    }

    /// Whether one of these logical partitions has dead letters.
    pub(super) fn contains_any(&self, partitions: &[PartitionHash]) -> bool {
        let letters_by_partition = self.letters_by_partition.read();
        letters_by_partition.keys().any(|key| partitions.contains(&PartitionHash::of(self.container, key)))
    }

    /// Whether an entry was added at this time or later (Unix ms).
    pub(super) fn added_since(&self, since_ms: i64) -> bool {
        let letters_by_partition = self.letters_by_partition.read();
        letters_by_partition.values().any(|letters| letters.added_at_ms >= since_ms)
    }

    /// The letters of a logical partition that waits.
    pub(super) fn letters(&self, partition_key: &PartitionKey) -> Option<LetterRange> {
        self.letters_by_partition.read().get(partition_key).copied()
    }

    /// The number of waiting logical partitions.
    pub(super) fn count(&self) -> u64 {
        self.letters_by_partition.read().len() as u64
    }

    /// The logical partitions whose letters are replayed without an operator.
    pub(super) fn of_former_faults(&self) -> Vec<(PartitionKey, LetterRange)> {
        let mut letters = self.all();
        letters.retain(|(_, letters)| letters.is_of_former_fault);
        letters
    }

    /// The logical partitions that wait, with their letters.
    pub(super) fn all(&self) -> Vec<(PartitionKey, LetterRange)> {
        let letters_by_partition = self.letters_by_partition.read();
        let mut all: Vec<_> =
            letters_by_partition.iter().map(|(key, letters)| (key.clone(), *letters)).collect();
        all.sort_by(|left, right| left.0.cmp(&right.0));
        all
    }

    /// Adds changes behind the dead letters of their logical partition; `false`, and adds nothing, when these
    /// have been replayed.
    pub(super) async fn append_behind(
        &self,
        partition_key: &PartitionKey,
        changes: &[FailedChange],
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        let _gate = self.gate.lock().await;
        let Some(LetterRange { last, .. }) = self.letters(partition_key) else { return Ok(false) };
        let shared = self.context.settings.sharing != Sharing::Alone;
        if shared && self.read(partition_key, last, ledger).await?.is_none() {
            // Another process has replayed it.
            self.forget_first(partition_key, last);
            return Ok(false);
        }
        if !planted!("dead-letter-forgets-followers") {
            self.append(partition_key, changes, ledger).await?;
        }
        Ok(true)
    }

    /// Adds a failed change and the changes that follow it.
    pub(super) async fn add_failed(
        &self,
        partition_key: &PartitionKey,
        changes: &[FailedChange],
        ledger: &Ledger,
    ) -> Result<(), Fault> {
        let _gate = self.gate.lock().await;
        self.append(partition_key, changes, ledger).await
    }

    /// Reads a letter.
    pub(super) async fn read(
        &self,
        partition_key: &PartitionKey,
        number: u32,
        ledger: &Ledger,
    ) -> Result<Option<(DeadLetterItem, ETag)>, Fault> {
        let id = self.id(partition_key, number);
        let found =
            self.context.store.read(DEAD_LETTERS, &PartitionKey::from(id.as_str()), &id, ledger).await?;
        found.map(|item| Ok((item.decode()?, item.etag))).transpose()
    }

    /// Removes the replayed entries from a letter and records the error of a failed one. `true` when the
    /// letter is empty and deleted; entries added since the replay read it stay.
    pub(super) async fn record_replay(
        &self,
        partition_key: &PartitionKey,
        number: u32,
        replayed: &[DeadLetterEntry],
        failed: Option<&FailedChange>,
        ledger: &Ledger,
    ) -> Result<bool, Fault> {
        let _gate = self.gate.lock().await;
        for _ in 0..WRITE_ATTEMPTS_MAX {
            let Some((mut letter, etag)) = self.read(partition_key, number, ledger).await? else {
                self.forget_first(partition_key, number);
                return Ok(true);
            };
            letter.items.retain(|item| {
                !replayed.iter().any(|done| done.id == item.id && done.sequence == item.sequence)
            });
            for item in &mut letter.items {
                if let Some(failed) = failed.filter(|failed| failed.id == item.id) {
                    item.attempts = item.attempts.saturating_add(failed.attempts);
                    item.error.clone_from(&failed.error);
                    item.cause = failed.cause;
                }
            }
            let empty = letter.items.is_empty();
            let kept: Vec<_> = letter.items.iter().filter_map(|item| item.expiring_body.clone()).collect();
            let operation = if empty {
                WriteOp::Delete { id: letter.id, if_match: Some(etag) }
            } else {
                let item = NewItem::encode(letter.id.clone(), &letter);
                WriteOp::Replace { item, if_match: Some(etag) }
            };
            if self.write(operation, ledger).await? {
                if empty {
                    self.forget_first(partition_key, number);
                } else if failed.is_some() {
                    self.keep_for_operator(partition_key);
                }
                let bodies = replayed.iter().filter_map(|done| done.expiring_body.clone());
                let unused = bodies.filter(|id| !kept.contains(id)).collect();
                delete_bodies(unused, &self.context, ledger).await;
                return Ok(empty);
            }
        }
        Err(contended())
    }

    async fn append(
        &self,
        partition_key: &PartitionKey,
        changes: &[FailedChange],
        ledger: &Ledger,
    ) -> Result<(), Fault> {
        for chunk in changes.chunks(DEAD_LETTER_ENTRIES_MAX) {
            self.append_chunk(partition_key, chunk, ledger).await?;
        }
        Ok(())
    }

    async fn append_chunk(
        &self,
        partition_key: &PartitionKey,
        changes: &[FailedChange],
        ledger: &Ledger,
    ) -> Result<(), Fault> {
        let mut number = self.letters(partition_key).map_or(0, |letters| letters.last);
        for _ in 0..WRITE_ATTEMPTS_MAX {
            let added_at_ms = self.context.clock.now_ms();
            let now = format_timestamp(added_at_ms);
            let (operation, unused) = match self.read(partition_key, number, ledger).await? {
                None => {
                    let mut letter = self.empty_letter(partition_key, number, &now);
                    letter.add(changes);
                    (WriteOp::Create(NewItem::encode(letter.id.clone(), &letter)), Vec::new())
                }
                Some((letter, _)) if letter.items.len() + changes.len() > DEAD_LETTER_ENTRIES_MAX => {
                    number += 1;
                    continue;
                }
                Some((mut letter, etag)) => {
                    let unused = letter.add(changes);
                    letter.last_parked_at = now;
                    let item = NewItem::encode(letter.id.clone(), &letter);
                    (WriteOp::Replace { item, if_match: Some(etag) }, unused)
                }
            };
            for change in changes {
                change.keep_body(operation.id(), &self.context, ledger).await?;
            }
            if self.write(operation, ledger).await? {
                delete_bodies(unused, &self.context, ledger).await;
                let mut letters_by_partition = self.letters_by_partition.write();
                let letters = letters_by_partition.entry(partition_key.clone()).or_insert(LetterRange {
                    first: number,
                    last: number,
                    added_at_ms,
                    is_of_former_fault: false,
                });
                letters.last = letters.last.max(number);
                letters.added_at_ms = added_at_ms;
                return Ok(());
            }
        }
        Err(contended())
    }

    /// `false` when another process wrote the letter meanwhile (optimistic concurrency).
    async fn write(&self, operation: WriteOp, ledger: &Ledger) -> Result<bool, Fault> {
        let partition_key = PartitionKey::from(operation.id());
        match self.context.store.write(DEAD_LETTERS, &partition_key, operation, ledger).await {
            Ok(_) => Ok(true),
            Err(WriteError::Rejected { .. }) => Ok(false),
            Err(WriteError::Fault(fault)) => Err(fault),
        }
    }

    fn empty_letter(&self, partition_key: &PartitionKey, number: u32, now: &str) -> DeadLetterItem {
        DeadLetterItem {
            id: self.id(partition_key, number),
            item_type: types::DEAD_LETTER.to_owned(),
            projection: self.projection.to_owned(),
            container: self.container.to_string(),
            partition_key: partition_key.clone(),
            number,
            items: Vec::new(),
            next_sequence: 0,
            first_parked_at: now.to_owned(),
            last_parked_at: now.to_owned(),
        }
    }

    fn id(&self, partition_key: &PartitionKey, number: u32) -> String {
        format!("{}~{}~{number}", self.projection, digest(&[self.container.as_str(), partition_key.as_str()]))
    }

    /// Its first change is a poison message: only an operator can mend the cause.
    fn keep_for_operator(&self, partition_key: &PartitionKey) {
        if let Some(letters) = self.letters_by_partition.write().get_mut(partition_key) {
            letters.is_of_former_fault = false;
        }
    }

    fn forget_first(&self, partition_key: &PartitionKey, number: u32) {
        let mut letters_by_partition = self.letters_by_partition.write();
        if let Some(letters) = letters_by_partition.get_mut(partition_key) {
            letters.first = letters.first.max(number.saturating_add(1));
            if letters.first > letters.last {
                letters_by_partition.remove(partition_key);
            }
        }
    }
}

impl DeadLetterItem {
    /// Adds changes; a change whose item waits already keeps its place. Returns the ids of the bodies to
    /// which the letter referred before.
    fn add(&mut self, changes: &[FailedChange]) -> Vec<String> {
        let mut unused = Vec::new();
        for change in changes {
            let sequence = self.next_sequence;
            self.next_sequence += 1;
            if let Some(known) = self.items.iter_mut().find(|item| item.id == change.id) {
                known.sequence = sequence;
                known.attempts = known.attempts.saturating_add(change.attempts);
                let before = known.expiring_body.take();
                change.refer_to_body(&self.id, known);
                unused.extend(before.filter(|before| known.expiring_body.as_ref() != Some(before)));
                if change.error.is_some() {
                    known.error.clone_from(&change.error);
                    known.cause = change.cause;
                }
            } else {
                let mut entry = DeadLetterEntry {
                    id: change.id.clone(),
                    sequence,
                    attempts: change.attempts,
                    error: change.error.clone(),
                    cause: change.cause,
                    expiring: None,
                    expiring_body: None,
                    unkept_bytes: None,
                };
                change.refer_to_body(&self.id, &mut entry);
                self.items.push(entry);
            }
        }
        unused
    }
}

fn contended() -> Fault {
    Fault::new(FaultKind::Unavailable, "a dead letter was written by too many at once")
}
