//! Segments of an archive: files with batches as the journal has them, named by the engine's number of their
//! first batch.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use onehop_runtime::private_files;

use crate::embedded::layout::sync_directory;
use crate::embedded::salvage::{JournalBatch, take_batch};

const EXTENSION: &str = "log";
/// The segments of an archive by their first numbers.
pub(super) fn segments(archive: &Path) -> io::Result<BTreeMap<u64, PathBuf>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(archive)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == EXTENSION)
            && let Some(number) = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok())
        {
            found.insert(number, path);
        }
    }
    Ok(found)
}

/// The whole batches of a segment, each with its place and length in the file. A torn end is left out.
pub(super) fn batches(bytes: &[u8]) -> impl Iterator<Item = (JournalBatch, usize, usize)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let (batch, length) = take_batch(bytes.get(at..)?)?;
        let place = at;
        at += length;
        Some((batch, place, length))
    })
}

/// The segment that takes batches.
#[derive(Debug)]
pub(super) struct OpenSegment {
    file: File,
    bytes: u64,
}

impl OpenSegment {
    /// Opens a segment behind its last whole batch.
    pub(super) fn append_to(path: &Path, bytes: u64) -> io::Result<Self> {
        let mut file = File::options().write(true).open(path)?;
        file.set_len(bytes)?;
        io::Seek::seek(&mut file, io::SeekFrom::End(0))?;
        Ok(Self { file, bytes })
    }

    /// Begins a segment with the batch of this number.
    pub(super) fn begin(archive: &Path, number: u64) -> io::Result<Self> {
        let path = archive.join(format!("{number:020}.{EXTENSION}"));
        let file = private_files::file_options().write(true).create(true).truncate(true).open(path)?;
        sync_directory(archive)?;
        Ok(Self { file, bytes: 0 })
    }

    pub(super) fn is_full(&self, bytes_max: u64) -> bool {
        self.bytes >= bytes_max
    }

    /// Adds batches.
    pub(super) fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.file.write_all(bytes);
        if written.is_err() {
            // A part of a batch would hide later ones.
            self.file.set_len(self.bytes)?;
            io::Seek::seek(&mut self.file, io::SeekFrom::End(0))?;
        }
        written?;
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// Brings the batches to the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}
