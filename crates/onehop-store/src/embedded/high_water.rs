//! The high-water mark: a file beside the engine's own that holds the number of the last commit known to be on the disk.
//!
//! The engine takes a journal that is gone or shorter for one in which nothing was written. The mark shows the difference: a
//! directory that holds less than its mark has lost writes. It never claims more than what an fsync has brought to the disk, and it
//! is written seldom: when a directory is opened and closed, each [`COMMITS_BETWEEN_MARKS`], and when a server asks for it.
//! Knows nothing of items.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use super::database;
use super::engine::{Durability, Engine};
use super::layout::{engine_path, sync_directory};
use super::open_error::OpenError;
use super::store_files::StoreFiles;
use super::stored_container::StoredContainer;
use crate::{Fault, FaultKind};
use onehop_runtime::private_files;

/// Commits after which the mark is written again.
pub(super) const COMMITS_BETWEEN_MARKS: u64 = 10_000;

/// The file with the mark.
pub(super) const MARK_FILE: &str = "high-water.json";
const MARK_FILE_UNFINISHED: &str = "high-water.json.unfinished";
const JOURNAL_EXTENSION: &str = "jnl";
/// Bytes that are read at a time to find the end of the data in a journal.
const BLOCK_BYTES: usize = 1 << 20;

/// How many commits and writes there are: the numbers of the last ones.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CommitNumbers {
    pub last_commit: u64,
    pub last_write: u64,
}

/// What the file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct HighWaterMark {
    #[serde(flatten)]
    pub numbers: CommitNumbers,
    /// The highest number of a journal at that time. Numbers of journals only grow.
    pub journal: u64,
    pub physical_partitions: u16,
    pub containers: Vec<StoredContainer>,
    /// Every journal of a directory that was closed. Absent while it is open: then the engine makes and deletes journals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<Vec<JournalEnd>>,
}

/// A journal and where the data in it ends. The engine sets zeros aside behind that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JournalEnd {
    journal: u64,
    data_bytes: u64,
}

impl HighWaterMark {
    /// The mark of a directory; `None` where there is none, as in one of an earlier version.
    ///
    /// # Errors
    /// It is there and cannot be read.
    fn read(path: &Path) -> io::Result<Option<Self>> {
        match fs::read(path.join(MARK_FILE)) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes the file under another name first: a crash leaves the mark before or this one.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let unfinished = path.join(MARK_FILE_UNFINISHED);
        let mut file =
            private_files::file_options().write(true).create(true).truncate(true).open(&unfinished)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()?;
        fs::rename(&unfinished, path.join(MARK_FILE))?;
        sync_directory(path)
    }

    /// The mark with the journals that a closed directory has now.
    pub(super) fn closed(self, path: &Path) -> io::Result<Self> {
        let end = |(journal, file): (u64, PathBuf)| -> io::Result<JournalEnd> {
            Ok(JournalEnd { journal, data_bytes: data_end(&file)? })
        };
        let ends = journals(&engine_path(path))?.into_iter().map(end).collect::<io::Result<Vec<_>>>()?;
        Ok(Self { journal: ends.last().map_or(0, |end| end.journal), closed: Some(ends), ..self })
    }
}

/// The mark of a directory, and what its files lack by it. Looks at names and lengths, before the engine changes any.
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

/// What a mark has that was not found in the engine.
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

/// Takes back what the mark of a closed directory says of its journals, before the engine is opened and changes them. Where
/// that cannot be written, on a full disk for example, the mark is removed. Returns the mark that the file holds then.
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

/// Makes an empty journal where an engine has none. Without one the engine (fjall 3.1) would begin to count anew, below what
/// its tables hold, and see nothing of them.
pub(super) fn ensure_journal(engine: &Path) -> io::Result<()> {
    if journals(engine)?.is_empty() && database::is_made(engine)? {
        let journal = engine.join(format!("1.{JOURNAL_EXTENSION}"));
        private_files::file_options().write(true).create_new(true).open(journal)?.sync_all()?;
        sync_directory(engine)?;
    }
    Ok(())
}

/// The highest number of a journal of an engine, 0 where there is none.
pub(super) fn last_journal(engine: &Path) -> io::Result<u64> {
    Ok(journals(engine)?.into_keys().next_back().unwrap_or(0))
}

/// The journals of an engine by their numbers.
pub(super) fn journals(engine: &Path) -> io::Result<BTreeMap<u64, PathBuf>> {
    let entries = match fs::read_dir(engine) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(error),
    };
    let mut found = BTreeMap::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == JOURNAL_EXTENSION)
            && let Some(number) = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok())
        {
            found.insert(number, path);
        }
    }
    Ok(found)
}

/// Where the data of a journal ends: behind its last byte that is not zero.
fn data_end(journal: &Path) -> io::Result<u64> {
    let zeros = vec![0; BLOCK_BYTES];
    let file = File::open(journal)?;
    let (mut block, mut end) = (vec![0; BLOCK_BYTES], file.metadata()?.len());
    while end > 0 {
        let start = end.saturating_sub(BLOCK_BYTES as u64);
        let block = &mut block[..usize::try_from(end - start).unwrap_or(BLOCK_BYTES)];
        file.read_exact_at(block, start)?;
        if *block != zeros[..block.len()] {
            let last = block.iter().rposition(|byte| *byte != 0).unwrap_or(0);
            return Ok(start + last as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

/// The mark of an open directory, as the writer gets on.
pub(super) struct HighWaterTracker {
    files: StoreFiles,
    durability: Durability,
    /// A mark with what the directory was made with.
    made_with: HighWaterMark,
    state: Mutex<HighWaterState>,
}

struct HighWaterState {
    /// The last commit that was acknowledged.
    acknowledged: CommitNumbers,
    /// What is in the file.
    written: Option<HighWaterMark>,
    /// Whether all that was acknowledged is on the disk, and nothing will be any more.
    is_finished: bool,
}

impl HighWaterTracker {
    /// `found` holds what is in the engine of a directory that has just been opened, and `written` what is in the file.
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

    /// A mark with what the directory was made with.
    pub(super) fn made_with(&self) -> HighWaterMark {
        self.made_with.clone()
    }

    /// Notes a commit that was acknowledged, as durable as configured. Writes nothing.
    pub(super) fn acknowledge(&self, numbers: CommitNumbers) {
        self.state().acknowledged = numbers;
    }

    /// Writes the mark if there is news, after an fsync where commits do without.
    ///
    /// # Errors
    /// The journal cannot be brought to the disk, or the mark cannot be written; the mark before stays.
    pub(super) fn write(&self, engine: &Engine) -> Result<(), Fault> {
        let failed = |error: io::Error| {
            Fault::new(FaultKind::Internal, format!("the high-water mark cannot be written: {error}"))
        };
        let numbers = self.state().acknowledged;
        if self.durability == Durability::Relaxed {
            engine.persist()?;
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

    /// Writes the first mark of an opening: what was found in the engine is brought to the disk before.
    pub(super) fn begin(&self, engine: &Engine) {
        let written = engine.persist().and_then(|()| self.write(engine));
        if let Err(error) = written {
            tracing::warn!(%error, "a journal that goes missing may not be noticed");
        }
    }

    /// Everything that was acknowledged is on the disk, and there will be no more: [`close`](Self::close) may say so.
    pub(super) fn finish(&self) {
        self.state().is_finished = true;
    }

    /// Marks the directory as closed, once the engine has let go of it. Does nothing unless all was brought to the disk.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_of_a_journal_ends_at_its_last_byte() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("0.jnl");
        for (data, length) in [(0, 0), (0, 64 << 20), (5, 5), (5, (3 << 20) + 7), (BLOCK_BYTES, 2 << 20)] {
            fs::write(&file, vec![7; data]).expect("written");
            File::options().write(true).open(&file).expect("a file").set_len(length).expect("zeros");
            assert_eq!(data_end(&file).expect("read"), data as u64, "{data} of {length}");
        }
    }
}
