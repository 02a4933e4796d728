//! Storage engine seam: five ordered key spaces, a snapshot to read from, and an atomic commit over all of
//! them. A build without the feature `simulation` has one engine, fjall's, and each choice between engines is
//! the constant one.

use std::path::Path;

use fjall::{Guard, Iter, Slice};
use onehop_runtime::planted;
use tokio::time::Instant;

use super::database::EngineSizes;
use super::durability::{Blocks, Durability};
use super::fjall_engine::{self, FjallEngine, FjallView};
use super::key_space::{KeyChange, KeySpace};
use super::open_error::OpenError;
use super::phase_timer::PhaseTimer;
#[cfg(feature = "simulation")]
use super::simulated::{SimulatedDisk, SimulatedEngine, SimulatedEntry, SimulatedRange, SimulatedView};
use super::tombstone_hints::{META_LISTS, TombstoneHints};
use crate::{CommitPhase, Fault};

/// The storage engine.
pub(super) struct Engine {
    kind: EngineKind,
    ends: TombstoneHints,
}

enum EngineKind {
    Fjall(FjallEngine),
    #[cfg(feature = "simulation")]
    Simulated(SimulatedEngine),
}

/// Makes the same call to the engine of either kind.
macro_rules! on_engine {
    ($kind:expr, $engine:ident => $call:expr) => {
        match $kind {
            EngineKind::Fjall($engine) => $call,
            #[cfg(feature = "simulation")]
            EngineKind::Simulated($engine) => $call,
        }
    };
}

impl Engine {
    pub(super) fn open(path: &Path, sizes: EngineSizes, durability: Durability) -> Result<Self, OpenError> {
        let (engine, kept) = FjallEngine::open(path, sizes, durability)?;
        Ok(Self::of(EngineKind::Fjall(engine), kept))
    }

    /// Opens the engine on a simulated disk.
    #[cfg(feature = "simulation")]
    pub(super) fn simulated(
        path: &Path,
        disk: &SimulatedDisk,
        durability: Durability,
    ) -> Result<Self, OpenError> {
        let engine = SimulatedEngine::open(path, disk, durability)?;
        let kept = engine.get(KeySpace::Meta, META_LISTS).ok().flatten();
        Ok(Self::of(EngineKind::Simulated(engine), kept))
    }

    fn of(kind: EngineKind, kept: Option<Slice>) -> Self {
        Self { kind, ends: kept.map(|kept| TombstoneHints::restored(&kept)).unwrap_or_default() }
    }

    /// A view of the last commit that later commits do not change.
    ///
    /// # Errors
    /// The engine could not be opened again.
    pub(super) fn view(&self) -> Result<View, Fault> {
        Ok(match &self.kind {
            EngineKind::Fjall(engine) => View::Fjall(engine.view()?),
            #[cfg(feature = "simulation")]
            EngineKind::Simulated(engine) => View::Simulated(engine.view()?),
        })
    }

    /// Reads a value outside any view: for the writer, which alone changes the engine.
    pub(super) fn get(&self, space: KeySpace, key: &[u8]) -> Result<Option<Slice>, Fault> {
        on_engine!(&self.kind, engine => engine.get(space, key))
    }

    /// Writes all changes or none, as durable as configured. No key may appear twice. Only one thread may
    /// commit: the view that is published afterwards must not see a part of another commit.
    ///
    /// # Errors
    /// [`FaultKind::Full`]: nothing was written. Otherwise the journal may hold the commit or not: the next
    /// opening will show.
    pub(super) fn commit(&self, changes: Vec<KeyChange>) -> Result<(), Fault> {
        self.commit_timed(changes, &mut PhaseTimer::since(Instant::now()))
    }

    /// The same with its phases timed.
    pub(super) fn commit_timed(
        &self,
        mut changes: Vec<KeyChange>,
        timer: &mut PhaseTimer,
    ) -> Result<(), Fault> {
        on_engine!(&self.kind, engine => engine.prepare())?;
        timer.end(CommitPhase::Backpressure);
        if let Some(lists) = self.ends.expect(&changes) {
            changes.push((KeySpace::Meta, META_LISTS.to_vec(), Some(lists)));
        }
        let (batch, rest) = atomic_batch(changes);
        let mut apply = |batch| on_engine!(&self.kind, engine => engine.apply(batch, timer));
        let committed = apply(batch).and_then(|()| rest.map_or(Ok(()), apply));
        self.ends.settle();
        committed?;
        timer.end(CommitPhase::Publication);
        on_engine!(&self.kind, engine => engine.write_out());
        timer.end(CommitPhase::Rotation);
        Ok(())
    }

    /// Bytes of writes in memory that are in the journal and not yet written out.
    pub(super) fn memory_bytes(&self) -> u64 {
        on_engine!(&self.kind, engine => engine.memory_bytes())
    }

    /// Whether the engine can write. An engine that has failed to write, on a full disk for example, writes
    /// nothing more until it is opened again.
    pub(super) fn can_write(&self) -> bool {
        on_engine!(&self.kind, engine => engine.can_write())
    }

    /// Closes the engine and opens it again. Acknowledged writes are in the journal or in a table. Reads wait
    /// meanwhile; a commit must not be under way.
    ///
    /// # Errors
    /// The engine cannot be opened, and reads fail from now on; or reads did not end, and everything is as it
    /// was.
    pub(super) fn reopen(&self) -> Result<(), Fault> {
        // The journal may hold a commit that had failed: a list may end elsewhere than any view showed.
        on_engine!(&self.kind, engine => engine.reopen(|| self.ends.forget()))
    }

    /// Takes no writes until a reopening has copied the journal.
    pub(super) fn distrust_journal(&self) {
        on_engine!(&self.kind, engine => engine.distrust_journal());
    }

    /// Whether the journal may hold a commit that is not on the disk. Views show such a commit after a
    /// reopening that could not copy the journal.
    pub(super) fn is_journal_suspect(&self) -> bool {
        on_engine!(&self.kind, engine => engine.is_journal_suspect())
    }

    /// The tombstone hints.
    pub(super) fn ends(&self) -> &TombstoneHints {
        &self.ends
    }

    /// Brings everything that was acknowledged to the disk.
    pub(super) fn persist(&self) -> Result<(), Fault> {
        on_engine!(&self.kind, engine => engine.persist())
    }

    /// Blocks that reads have needed since the engine was opened.
    pub(super) fn blocks(&self) -> Blocks {
        on_engine!(&self.kind, engine => engine.blocks())
    }

    /// Bytes on the disk.
    pub(super) fn disk_bytes(&self) -> Result<u64, Fault> {
        on_engine!(&self.kind, engine => engine.disk_bytes())
    }
}

#[cfg(feature = "simulation")]
impl Engine {
    /// Interruption point: lets other tasks of a simulation run once, and the process end here.
    pub(super) async fn interruption(&self, point: &'static str) {
        if let EngineKind::Simulated(engine) = &self.kind {
            engine.interruption(point).await;
        }
    }

    /// Interruption point in the midst of a commit: the end of the process here leaves any part of the commit
    /// in the journal.
    pub(super) async fn interrupted_commit(&self, changes: &[KeyChange]) {
        if let EngineKind::Simulated(engine) = &self.kind {
            let (batch, rest) = atomic_batch(changes.to_vec());
            engine.interrupted_commit(&[Some(batch), rest].into_iter().flatten().collect::<Vec<_>>()).await;
        }
    }
}

/// The atomic unit of the engine: all changes of a commit, and no rest.
fn atomic_batch(mut changes: Vec<KeyChange>) -> (Vec<KeyChange>, Option<Vec<KeyChange>>) {
    let rest = planted!("torn-batch").then(|| changes.split_off(changes.len() / 2));
    (changes, rest)
}

/// A consistent view of the engine.
pub(super) enum View {
    Fjall(FjallView),
    #[cfg(feature = "simulation")]
    Simulated(SimulatedView),
}

impl View {
    /// Whether the engine can write. An engine that cannot write waits for its views before it is opened
    /// again, so a reader that keeps a view for long gives it up.
    pub(super) fn can_write(&self) -> bool {
        match self {
            Self::Fjall(view) => view.can_write(),
            #[cfg(feature = "simulation")]
            Self::Simulated(view) => view.can_write(),
        }
    }

    pub(super) fn get(&self, space: KeySpace, key: &[u8]) -> Result<Option<Slice>, Fault> {
        match self {
            Self::Fjall(view) => view.get(space, key),
            #[cfg(feature = "simulation")]
            Self::Simulated(view) => view.get(space, key),
        }
    }

    /// Keys and values from `from` (inclusive) up to `to` (exclusive), in either direction.
    pub(super) fn range(&self, space: KeySpace, from: &[u8], to: &[u8]) -> KeyRange {
        match self {
            Self::Fjall(view) => KeyRange::Fjall(view.range(space, from, to)),
            #[cfg(feature = "simulation")]
            Self::Simulated(view) => KeyRange::Simulated(view.range(space, from, to)),
        }
    }
}

/// The entries of a range of keys.
pub(super) enum KeyRange {
    Fjall(Iter),
    #[cfg(feature = "simulation")]
    Simulated(SimulatedRange),
}

impl Iterator for KeyRange {
    type Item = KeyValue;

    fn next(&mut self) -> Option<KeyValue> {
        match self {
            Self::Fjall(entries) => entries.next().map(KeyValue::Fjall),
            #[cfg(feature = "simulation")]
            Self::Simulated(entries) => entries.next().map(KeyValue::Simulated),
        }
    }
}

impl DoubleEndedIterator for KeyRange {
    fn next_back(&mut self) -> Option<KeyValue> {
        match self {
            Self::Fjall(entries) => entries.next_back().map(KeyValue::Fjall),
            #[cfg(feature = "simulation")]
            Self::Simulated(entries) => entries.next_back().map(KeyValue::Simulated),
        }
    }
}

/// A key and its value, not yet loaded.
pub(super) enum KeyValue {
    Fjall(Guard),
    #[cfg(feature = "simulation")]
    Simulated(SimulatedEntry),
}

impl KeyValue {
    pub(super) fn pair(self) -> Result<(Slice, Slice), Fault> {
        match self {
            Self::Fjall(entry) => fjall_engine::pair(entry),
            #[cfg(feature = "simulation")]
            Self::Simulated(entry) => entry.pair(),
        }
    }

    pub(super) fn value(self) -> Result<Slice, Fault> {
        match self {
            Self::Fjall(entry) => fjall_engine::value(entry),
            #[cfg(feature = "simulation")]
            Self::Simulated(entry) => entry.pair().map(|(_, value)| value),
        }
    }

    pub(super) fn key(self) -> Result<Slice, Fault> {
        match self {
            Self::Fjall(entry) => fjall_engine::key(entry),
            #[cfg(feature = "simulation")]
            Self::Simulated(entry) => entry.pair().map(|(key, _)| key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Direction;
    use crate::embedded::header::encode_value;
    use crate::embedded::keys::{live_prefix, with_keyset};
    use crate::embedded::reader::partition_page;

    #[test]
    fn a_list_is_read_to_its_end_after_a_commit_of_unknown_outcome() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let sizes = EngineSizes { cache_bytes: 1 << 20, memtable_bytes: 1 << 20 };
        let engine = Engine::open(directory.path(), sizes, Durability::Sync).expect("the engine opens");
        let prefix = live_prefix(1, "partition", "post");
        let key = |order_value: &str| with_keyset(prefix.clone(), order_value, "id");
        let put = |order_value: &str| (KeySpace::Items, key(order_value), Some(encode_value(1, 0, 0, b"{}")));
        let page = || {
            let read = partition_page(&engine, &prefix, Direction::NewestFirst, None, 10, 0);
            read.expect("a page").items.len()
        };
        engine.commit(vec![put("1"), put("5")]).expect("a commit");
        engine.commit(vec![(KeySpace::Items, key("1"), None)]).expect("a commit");
        // A commit that fails after it was written to the journal: readers do not see it.
        assert_eq!(engine.ends().expect(&[put("4")]), None);
        engine.ends().settle();
        assert_eq!(page(), 1);
        {
            let opened = match &engine.kind {
                EngineKind::Fjall(engine) => engine.opened().expect("the engine is open"),
                #[cfg(feature = "simulation")]
                EngineKind::Simulated(_) => panic!("the engine is fjall's"),
            };
            opened.space(KeySpace::Items).insert(key("4"), encode_value(2, 0, 0, b"{}")).expect("a write");
        }
        engine.reopen().expect("the engine opens again");
        assert_eq!(page(), 2);
    }
}
