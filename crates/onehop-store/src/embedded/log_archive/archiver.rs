//! Archiver: copies acknowledged batches from the journals into the segments of an archive.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use onehop_runtime::private_files;

use super::LogArchiveConfig;
use super::batch_numbers::BatchNumbers;
use super::coverage::Coverage;
use super::segments::{OpenSegment, batches, segments};
use crate::embedded::journal_files::journals;
use crate::embedded::salvage::{JournalBatches, settings_space, take_batch};

/// Bytes of a journal that are read at a time. A longer batch is read as a whole.
const READ_BYTES: usize = 1 << 20;

/// The archiver of an open store.
#[derive(Debug)]
pub(in super::super) struct LogArchiver {
    engine: PathBuf,
    archive: PathBuf,
    kept_ms: i64,
    segment_bytes: u64,
    settings_space: u64,
    /// Where each journal is read next.
    places: BTreeMap<u64, u64>,
    segment: Option<OpenSegment>,
    /// The engine's number of the last batch in the archive.
    last_number: Option<u64>,
    /// The same of the last batch that is on the disk.
    synced_number: Option<u64>,
    coverage: Coverage,
    /// When segments were last looked over, Unix ms.
    pruned_ms: i64,
}

impl LogArchiver {
    /// Opens the archive of a lineage and copies the batches of the journals, before the engine is opened and
    /// may delete them.
    ///
    /// # Errors
    /// The archive cannot be read or written.
    pub(in super::super) fn open(
        engine: &Path,
        config: &LogArchiveConfig,
        lineage: &str,
        now_ms: i64,
    ) -> io::Result<Self> {
        let archive = config.directory.join(lineage);
        fs::create_dir_all(&config.directory)?;
        private_files::make_directory(&archive)?;
        let mut archiver = Self {
            engine: engine.to_owned(),
            kept_ms: i64::try_from(config.kept.as_millis()).unwrap_or(i64::MAX),
            segment_bytes: config.segment_bytes,
            settings_space: settings_space(engine),
            places: BTreeMap::new(),
            segment: None,
            last_number: None,
            synced_number: None,
            coverage: Coverage::read(&archive)?,
            pruned_ms: now_ms,
            archive,
        };
        archiver.find_end()?;
        archiver.copy(u64::MAX, now_ms)?;
        Ok(archiver)
    }

    /// Finds the last whole batch in the archive.
    fn find_end(&mut self) -> io::Result<()> {
        let Some((_, path)) = segments(&self.archive)?.pop_last() else { return Ok(()) };
        let bytes = fs::read(&path)?;
        let mut end = 0;
        for (batch, place, length) in batches(&bytes) {
            self.last_number = Some(batch.number);
            end = place + length;
        }
        self.synced_number = self.last_number;
        self.segment = Some(OpenSegment::append_to(&path, end as u64)?);
        Ok(())
    }

    /// Drops batches behind the last commit of the store: they were lost with the power, and their numbers
    /// are given to others.
    pub(in super::super) fn forget_after(&mut self, last_commit: u64) -> io::Result<()> {
        for (_, path) in segments(&self.archive)?.into_iter().rev() {
            let bytes = fs::read(&path)?;
            let (mut end, mut is_behind, mut last) = (0, false, None);
            for (batch, place, length) in batches(&bytes) {
                let numbers = BatchNumbers::of(&batch, self.settings_space);
                if numbers.commit.is_some_and(|commit| commit > last_commit) {
                    is_behind = true;
                    break;
                }
                (end, last) = (place + length, Some(batch.number));
            }
            if !is_behind {
                return Ok(());
            }
            tracing::warn!(
                last_commit,
                "the archive of the log has commits that the store has lost; they are dropped"
            );
            self.segment = Some(OpenSegment::append_to(&path, end as u64)?);
            (self.last_number, self.synced_number) = (last, last);
            self.coverage.last_commit = self.coverage.last_commit.min(last_commit);
            if end > 0 {
                return Ok(());
            }
            self.segment = None;
            fs::remove_file(&path)?;
        }
        Ok(())
    }

    /// Copies the batches up to a commit, which are on the disk, and deletes segments that are older than the
    /// archive keeps.
    ///
    /// # Errors
    /// A journal cannot be read, or the archive cannot be written. The next call goes on.
    pub(in super::super) fn copy(&mut self, acknowledged: u64, now_ms: i64) -> io::Result<()> {
        let found = journals(&self.engine)?;
        self.places.retain(|number, _| found.contains_key(number));
        for (number, path) in &found {
            if !self.copy_journal(*number, path, acknowledged)? {
                break;
            }
        }
        self.sync()?;
        let is_behind = acknowledged != u64::MAX && self.coverage.last_commit < acknowledged;
        if is_behind {
            let missing = format!("the commits behind {} are in no journal", self.coverage.last_commit);
            return Err(io::Error::other(missing));
        }
        self.coverage.until_ms = self.coverage.until_ms.max(now_ms);
        self.coverage.write(&self.archive)?;
        if now_ms - self.pruned_ms >= PRUNE_INTERVAL_MS.min(self.kept_ms) {
            self.pruned_ms = now_ms;
            self.prune(now_ms)?;
        }
        Ok(())
    }

    /// Brings the segment to the disk. After a failure its last batches are copied again, into another one:
    /// the system may take pages for written that are not.
    fn sync(&mut self) -> io::Result<()> {
        let synced = self.segment.as_ref().map_or(Ok(()), OpenSegment::sync);
        if synced.is_err() {
            self.last_number = self.synced_number;
            self.segment = None;
            self.places.clear();
        }
        synced?;
        self.synced_number = self.last_number;
        Ok(())
    }

    /// Copies from one journal; says whether all of its batches are acknowledged.
    fn copy_journal(&mut self, number: u64, path: &Path, acknowledged: u64) -> io::Result<bool> {
        let file = match File::open(path) {
            Ok(file) => file,
            // Its batches are in tables: the engine deleted it since.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        let mut at = self.places.get(&number).copied().unwrap_or(0).min(length);
        let (mut bytes, mut wanted) = (Vec::new(), READ_BYTES);
        loop {
            bytes.resize(usize::try_from(length - at).unwrap_or(wanted).min(wanted), 0);
            file.read_exact_at(&mut bytes, at)?;
            let mut taken = 0;
            while let Some((batch, batch_length)) = take_batch(&bytes[taken..]) {
                let numbers = BatchNumbers::of(&batch, self.settings_space);
                if numbers.commit.is_some_and(|commit| commit > acknowledged) {
                    self.places.insert(number, at + taken as u64);
                    return Ok(false);
                }
                if self.last_number.is_none_or(|last| batch.number > last) {
                    self.append(batch.number, numbers, &bytes[taken..taken + batch_length])?;
                }
                taken += batch_length;
            }
            at += taken as u64;
            self.places.insert(number, at);
            // Zeros are room that the engine has set aside.
            let is_at_end = bytes.get(taken).is_none_or(|byte| *byte == 0);
            if is_at_end && taken < bytes.len() || at == length {
                return Ok(true);
            }
            if taken == 0 {
                if bytes.len() as u64 == length - at {
                    // A batch that is being written, or the torn end of one.
                    return Ok(true);
                }
                wanted *= 2;
            }
        }
    }

    fn append(&mut self, number: u64, numbers: BatchNumbers, bytes: &[u8]) -> io::Result<()> {
        if self.segment.as_ref().is_none_or(|segment| segment.is_full(self.segment_bytes)) {
            self.sync()?;
            self.segment = Some(OpenSegment::begin(&self.archive, number)?);
        }
        if let Some(segment) = &mut self.segment {
            segment.append(bytes)?;
        }
        self.last_number = Some(number);
        self.coverage.last_commit = numbers.commit.unwrap_or(self.coverage.last_commit);
        Ok(())
    }

    /// Deletes segments of which all commits are older than the archive keeps: the next segment begins before
    /// that time.
    fn prune(&self, now_ms: i64) -> io::Result<()> {
        let found: Vec<PathBuf> = segments(&self.archive)?.into_values().collect();
        for pair in found.windows(2) {
            let begins_ms = first_time(&pair[1], self.settings_space)?;
            if begins_ms.is_none_or(|begins_ms| begins_ms >= now_ms - self.kept_ms) {
                break;
            }
            fs::remove_file(&pair[0])?;
        }
        Ok(())
    }

    /// The time up to which the archive has every acknowledged commit, Unix ms.
    pub(in super::super) fn until_ms(&self) -> i64 {
        self.coverage.until_ms
    }

    /// The number of the last archived commit.
    pub(in super::super) fn last_commit(&self) -> u64 {
        self.coverage.last_commit
    }
}

/// Between two looks for old segments.
const PRUNE_INTERVAL_MS: i64 = 60_000;

/// The time of the first commit in a segment.
fn first_time(path: &Path, settings_space: u64) -> io::Result<Option<i64>> {
    let mut batches = JournalBatches::open(path)?;
    while let Some((batch, _)) = batches.next_batch()? {
        if let Some(time_ms) = BatchNumbers::of(&batch, settings_space).time_ms {
            return Ok(Some(time_ms));
        }
    }
    Ok(None)
}
