//! The high-water mark of a directory, as it is checked and kept: a file beside the engine's own that holds
//! the number of the last commit known to be on the disk.
//!
//! The engine takes a journal that is gone or shorter for one in which nothing was written. The mark shows
//! the difference: a directory that holds less than its mark has lost writes. The mark never exceeds the
//! commits that an fsync has brought to the disk. It is written seldom: when a directory is opened and
//! closed, each [`COMMITS_BETWEEN_MARKS`], and when a server asks for it. Knows nothing of items.

use std::fs;
use std::io;
use std::path::Path;

use parking_lot::{Mutex, MutexGuard};

use super::database;
use super::durability::Durability;
use super::engine::Engine;
use super::high_water_mark::{CommitNumbers, HighWaterMark, JournalEnd, MARK_FILE};
use super::journal_files::{JOURNAL_EXTENSION, journals};
use super::layout::{engine_path, sync_directory};
use super::open_error::OpenError;
use super::store_files::StoreFiles;
use crate::{Fault, FaultKind};
use onehop_runtime::private_files;

/// Commits after which the mark is written again.
pub(super) const COMMITS_BETWEEN_MARKS: u64 = 10_000;

/// The mark of a directory, and the files that are missing by it. Looks at names and lengths, before the
/// engine changes any.
pub(super) fn look(path: &Path) -> Result<(Option<HighWaterMark>, Vec<String>), OpenError> {
    let io = |source| OpenError::Io { path: path.to_owned(), source };
    let (mark, mut losses) = match HighWaterMark::read(path) {
        Ok(mark) => (mark, Vec::new()),
        Err(error) => (None, vec![format!("{MARK_FILE} cannot be read ({error})")]),
    };
    let engine = engine_path(path);
    let found = journals(&engine).map_err(io)?;
    let name = |journal: u64| format!("engine/{journal}.{JOURNAL_EXTENSION}");
    match mark.as_ref().map(|mark| (mark.journal, &mark.closed)) {
        Some((_, Some(ends))) => {
            for JournalEnd { journal, data_bytes } in ends {
                let Some(file) = found.get(journal) else {
                    losses.push(format!("{} is missing ({data_bytes} bytes)", name(*journal)));
                    continue;
                };
                let bytes = file.metadata().map_err(io)?.len();
                if bytes < *data_bytes {
                    losses.push(format!("{} has {bytes} bytes of {data_bytes}", name(*journal)));
                }
            }
        }
        Some((journal, None)) if found.keys().next_back().is_none_or(|last| *last < journal) => {
            losses.push(format!("{} is missing, or a later one", name(journal)));
        }
        _ if found.is_empty() && database::is_made(&engine).map_err(io)? => {
            losses.push(format!("there is no journal engine/*.{JOURNAL_EXTENSION}"));
        }
        _ => {}
    }
    Ok((mark, losses))
}

/// The commits of a mark that the engine lacks.
pub(super) fn missing_commits(mark: Option<&HighWaterMark>, found: CommitNumbers) -> Option<String> {
    let marked = mark?.numbers;
    let is_less = found.last_commit < marked.last_commit || found.last_write < marked.last_write;
    is_less.then(|| {
        format!(
            "the last commit that is there has number {} (its last write {}), and commit {} (write {}) was on the disk",
            found.last_commit, found.last_write, marked.last_commit, marked.last_write
        )
    })
}

/// Withdraws the statement of a closed directory's mark about its journals, before the engine is opened and
/// changes them. Where that cannot be written, on a full disk for example, the mark is removed. Returns the
/// mark that the file holds then.
pub(super) fn mark_open(
    path: &Path,
    mark: Option<HighWaterMark>,
) -> Result<Option<HighWaterMark>, OpenError> {
    let Some(closed @ HighWaterMark { closed: Some(_), .. }) = mark else { return Ok(mark) };
    let open = HighWaterMark { closed: None, ..closed };
    if let Err(error) = open.write(path) {
        tracing::warn!(path = %path.display(), %error, "the high-water mark cannot be written and is removed");
        let removed = fs::remove_file(path.join(MARK_FILE)).and_then(|()| sync_directory(path));
        removed.map_err(|source| OpenError::Io { path: path.to_owned(), source })?;
        return Ok(None);
    }
    Ok(Some(open))
}

/// Makes an empty journal if an engine has no journal. Otherwise the engine (fjall 3.1) would begin to count
/// anew, below the numbers in its tables, and see nothing of them.
pub(super) fn ensure_journal(engine: &Path) -> io::Result<()> {
    if journals(engine)?.is_empty() && database::is_made(engine)? {
        let journal = engine.join(format!("1.{JOURNAL_EXTENSION}"));
        private_files::file_options().write(true).create_new(true).open(journal)?.sync_all()?;
        sync_directory(engine)?;
    }
    Ok(())
}

/// The mark of an open directory, as the writer gets on.
pub(super) struct HighWaterTracker {
    files: StoreFiles,
    durability: Durability,
    /// A mark with the settings of the directory's creation.
    made_with: HighWaterMark,
    state: Mutex<HighWaterState>,
}

struct HighWaterState {
    /// The last commit that was acknowledged.
    acknowledged: CommitNumbers,
    /// The content of the file.
    written: Option<HighWaterMark>,
    /// Whether all acknowledged writes are on the disk, and no more will come.
    is_finished: bool,
}

impl HighWaterTracker {
    /// `found` holds the numbers in the engine of a directory that has just been opened, and `written` the
    /// content of the file.
    pub(super) fn new(
        files: StoreFiles,
        durability: Durability,
        found: HighWaterMark,
        written: Option<HighWaterMark>,
    ) -> Self {
        let state = HighWaterState { acknowledged: found.numbers, written, is_finished: false };
        Self { files, durability, made_with: found, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, HighWaterState> {
        self.state.lock()
    }

    /// A mark with the settings of the directory's creation.
    pub(super) fn made_with(&self) -> HighWaterMark {
        self.made_with.clone()
    }

    /// The last commit that was acknowledged.
    pub(super) fn acknowledged(&self) -> CommitNumbers {
        self.state().acknowledged
    }

    /// Notes a commit that was acknowledged, as durable as configured. Writes nothing.
    pub(super) fn acknowledge(&self, numbers: CommitNumbers) {
        self.state().acknowledged = numbers;
    }

    /// Writes the mark if there is news, after an fsync where commits do without.
    ///
    /// # Errors
    /// The journal may not be on the disk, or cannot be brought there, or the mark cannot be written; the
    /// mark before stays.
    pub(super) fn write(&self, engine: &Engine) -> Result<(), Fault> {
        let failed = |error: io::Error| {
            Fault::new(FaultKind::Internal, format!("the high-water mark cannot be written: {error}"))
        };
        let numbers = self.state().acknowledged;
        if self.durability == Durability::Relaxed {
            engine.persist()?;
        }
        // After a failed fsync a further one says nothing. Commits that an opening found may be lost then.
        if engine.is_journal_suspect() {
            return Err(failed(io::Error::other("the journal may not be on the disk")));
        }
        let mut state = self.state();
        let journal = self.files.last_journal().map_err(failed)?;
        let mark = HighWaterMark { numbers, journal, closed: None, ..self.made_with() };
        if state.written.as_ref() != Some(&mark) {
            self.files.write_mark(&mark).map_err(failed)?;
            state.written = Some(mark);
        }
        Ok(())
    }

    /// Writes the first mark of an opening. The commits found in the engine are brought to the disk before.
    pub(super) fn begin(&self, engine: &Engine) {
        let written = engine.persist().and_then(|()| self.write(engine));
        if let Err(error) = written {
            tracing::warn!(%error, "a journal that goes missing may not be noticed");
        }
    }

    /// Everything that was acknowledged is on the disk, and there will be no more: [`close`](Self::close) may
    /// say so.
    pub(super) fn finish(&self) {
        self.state().is_finished = true;
    }

    /// Marks the directory as closed, once the engine has let go of it. Does nothing unless all was brought
    /// to the disk.
    pub(super) fn close(&self) {
        let state = self.state();
        if !state.is_finished {
            return;
        }
        let mark = HighWaterMark { numbers: state.acknowledged, ..self.made_with() };
        if let Err(error) = self.files.closed_mark(mark).and_then(|mark| self.files.write_mark(&mark)) {
            tracing::debug!(%error, "the high-water mark stays that of an open directory");
        }
    }
}
