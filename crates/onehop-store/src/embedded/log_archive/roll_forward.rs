//! Roll forward: applies archived commits to a restored engine, up to a moment.

use std::fs;
use std::path::Path;

use onehop_runtime::clock::format_timestamp;

use super::batch_numbers::BatchNumbers;
use super::coverage::Coverage;
use super::segments::{batches, segments};
use crate::embedded::backup::BackupError;
use crate::embedded::engine::Engine;
use crate::embedded::key_space::KeyChange;
use crate::embedded::salvage::{EngineFiles, JournalBatch, settings_space};
use crate::embedded::tombstone_hints::META_LISTS;

/// A moment to which a backup is rolled forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Target {
    /// The end of the archive.
    End,
    /// Unix ms: commits of this moment are applied.
    Time(i64),
}

/// A restored engine that gets the commits of an archive.
pub(in super::super) struct RollForward<'a> {
    pub archive: &'a Path,
    pub engine: &'a Engine,
    /// The files of the backup, which tell the numbers of its key spaces.
    pub files: &'a EngineFiles,
    pub engine_path: &'a Path,
    /// The number of the last commit in the backup, and its time where it is known.
    pub last_commit: u64,
    pub last_time_ms: Option<i64>,
    pub target: Target,
}

/// The last applied commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct RolledForward {
    pub commits: u64,
    pub last_commit: u64,
    pub last_time_ms: Option<i64>,
}

impl RollForward<'_> {
    /// Applies the commits.
    ///
    /// # Errors
    /// The archive does not reach to the moment, lacks a commit, or cannot be read; the engine cannot write.
    pub(in super::super) fn run(
        &self,
        keep_going: &mut dyn FnMut(u64) -> bool,
    ) -> Result<RolledForward, BackupError> {
        let io = |source| BackupError::Io { path: self.archive.to_owned(), source };
        let coverage = Coverage::read(self.archive).map_err(io)?;
        if let Target::Time(at_ms) = self.target {
            if let Some(taken_ms) = self.last_time_ms.filter(|taken_ms| *taken_ms > at_ms) {
                return Err(BackupError::LaterThan(format_timestamp(taken_ms)));
            }
            if at_ms > coverage.until_ms {
                return Err(BackupError::NotCovered(format_timestamp(coverage.until_ms)));
            }
        }
        let settings = settings_space(self.engine_path);
        let (last_commit, last_time_ms) = (self.last_commit, self.last_time_ms);
        let mut rolled = RolledForward { commits: 0, last_commit, last_time_ms };
        // Whether the batch before was the last applied commit, or the last one of the backup.
        let mut is_reached = false;
        for path in segments(self.archive).map_err(io)?.into_values() {
            let bytes = fs::read(path).map_err(io)?;
            for (batch, ..) in batches(&bytes) {
                let numbers = BatchNumbers::of(&batch, settings);
                match numbers.commit {
                    Some(commit) if commit <= rolled.last_commit => {
                        is_reached = commit == rolled.last_commit;
                        continue;
                    }
                    None if !is_reached => continue,
                    Some(commit) if commit > rolled.last_commit + 1 => {
                        return Err(self.gap(rolled, commit));
                    }
                    Some(_) | None => {}
                }
                let is_behind = |time_ms| matches!(self.target, Target::Time(at_ms) if time_ms > at_ms);
                if numbers.time_ms.is_some_and(is_behind) {
                    return Ok(rolled);
                }
                self.apply(batch)?;
                is_reached = true;
                if let Some(commit) = numbers.commit {
                    rolled.last_commit = commit;
                    rolled.last_time_ms = numbers.time_ms.or(rolled.last_time_ms);
                    rolled.commits += 1;
                }
                if rolled.commits.is_multiple_of(100) && !keep_going(rolled.commits) {
                    return Err(BackupError::Stopped(self.engine_path.to_owned()));
                }
            }
        }
        if rolled.last_commit < coverage.last_commit {
            return Err(self.gap(rolled, coverage.last_commit));
        }
        Ok(rolled)
    }

    fn gap(&self, rolled: RolledForward, next: u64) -> BackupError {
        let reaches = rolled.last_time_ms.map(format_timestamp);
        BackupError::Gap { after: rolled.last_commit, next, reaches: reaches.unwrap_or_default() }
    }

    fn apply(&self, batch: JournalBatch) -> Result<(), BackupError> {
        let change = |(number, entry): (u64, crate::embedded::salvage::Entry)| -> Option<KeyChange> {
            let space = self.files.space_numbered(number)?;
            // The engine keeps these itself.
            (entry.key != META_LISTS).then_some((space, entry.key, entry.value))
        };
        let changes = batch.entries.into_iter().filter_map(change).collect();
        Ok(self.engine.commit(changes)?)
    }
}
