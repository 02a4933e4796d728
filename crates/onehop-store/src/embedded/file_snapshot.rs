//! File snapshot: the files of an open engine at one moment, for a copy beside writes.
//!
//! Tables and manifests are never changed once they are written, and journals only grow. So a snapshot opens
//! the journals, then the manifest and the tables of each key space, then the journals that are new. An open
//! file stays readable when the engine deletes it. The journals hold every commit that was in no table when
//! the first of them was opened, and all later ones up to the moment at which the last of them is read. An
//! engine over these files replays them, as after the end of a process.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use onehop_runtime::private_files;
use xxhash_rust::xxh3::Xxh3;

use super::database::{SPACES_DIRECTORY, VERSION_FILE};
use super::journal_files::journals;
use super::layout::sync_directory;
use super::salvage::{CURRENT_FILE, JournalBatches, Manifest, TABLES_DIRECTORY, file_checksum};

/// Attempts to open the tables of a manifest before the engine deletes one of them.
const ATTEMPTS_MAX: u32 = 16;
const BLOCK_BYTES: usize = 1 << 20;
/// The file that the engine locks.
const LOCK_FILE: &str = "lock";

/// The open files of an engine.
pub(super) struct FileSnapshot {
    engine: PathBuf,
    version: Vec<u8>,
    spaces: Vec<SpaceSnapshot>,
    journals: BTreeMap<u64, File>,
}

/// The open files of a key space.
struct SpaceSnapshot {
    name: String,
    manifest: Manifest,
    tables: Vec<File>,
}

/// The bytes of a copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CopiedBytes {
    pub copied: u64,
    /// Of tables that an earlier copy has, and that were linked.
    pub linked: u64,
}

/// Why a copy was not made.
#[derive(Debug)]
pub(super) enum CopyError {
    Io(io::Error),
    /// A table or a journal is not as it was written.
    Damaged(PathBuf),
    Stopped,
}

impl From<io::Error> for CopyError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl FileSnapshot {
    /// Opens the files.
    ///
    /// # Errors
    /// A file cannot be opened, or a manifest is damaged.
    pub(super) fn take(engine: &Path) -> io::Result<Self> {
        let mut opened = BTreeMap::new();
        open_journals(engine, &mut opened)?;
        let mut spaces = Vec::new();
        for entry in fs::read_dir(engine.join(SPACES_DIRECTORY))? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                spaces.push(SpaceSnapshot::take(&entry.path())?);
            }
        }
        open_journals(engine, &mut opened)?;
        let version = fs::read(engine.join(VERSION_FILE))?;
        Ok(Self { engine: engine.to_owned(), version, spaces, journals: opened })
    }

    /// Copies the files into the directory of another engine. Tables that an earlier copy has are linked.
    /// Each table is compared with its checksum.
    ///
    /// # Errors
    /// See [`CopyError`].
    pub(super) fn copy_to(
        self,
        engine: &Path,
        earlier: Option<&Path>,
        keep_going: &mut dyn FnMut(u64) -> bool,
    ) -> Result<CopiedBytes, CopyError> {
        let mut bytes = CopiedBytes::default();
        private_files::make_directory(engine)?;
        for space in self.spaces {
            let directory = Path::new(SPACES_DIRECTORY).join(&space.name);
            let tables = engine.join(&directory).join(TABLES_DIRECTORY);
            private_files::make_directory(&engine.join(SPACES_DIRECTORY))?;
            private_files::make_directory(&engine.join(&directory))?;
            private_files::make_directory(&tables)?;
            for (table, file) in space.manifest.tables.iter().zip(space.tables) {
                let Some(name) = table.path.file_name() else { continue };
                let length = file.metadata()?.len();
                let candidate =
                    earlier.map(|earlier| earlier.join(&directory).join(TABLES_DIRECTORY).join(name));
                if candidate
                    .is_some_and(|candidate| is_linked(&candidate, &tables.join(name), table.checksum))
                {
                    bytes.linked += length;
                } else {
                    let checksum = copy(file, &tables.join(name))?;
                    if table.checksum != Some(checksum) {
                        return Err(CopyError::Damaged(table.path.clone()));
                    }
                    bytes.copied += length;
                }
                if !keep_going(bytes.copied + bytes.linked) {
                    return Err(CopyError::Stopped);
                }
            }
            sync_directory(&tables)?;
            write(&engine.join(&directory).join(&space.manifest.name), &space.manifest.content)?;
            write(&engine.join(&directory).join(CURRENT_FILE), &space.manifest.current)?;
            sync_directory(&engine.join(&directory))?;
        }
        sync_directory(&engine.join(SPACES_DIRECTORY))?;
        for (number, journal) in self.journals {
            let name = format!("{number}.jnl");
            let copied = copy_batches(journal, &engine.join(&name));
            bytes.copied += copied.map_err(|error| match error {
                CopyError::Damaged(_) => CopyError::Damaged(self.engine.join(&name)),
                other => other,
            })?;
            if !keep_going(bytes.copied + bytes.linked) {
                return Err(CopyError::Stopped);
            }
        }
        // The engine expects its lock file.
        write(&engine.join(LOCK_FILE), &[])?;
        write(&engine.join(VERSION_FILE), &self.version)?;
        sync_directory(engine)?;
        Ok(bytes)
    }
}

impl SpaceSnapshot {
    fn take(directory: &Path) -> io::Result<Self> {
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let damaged =
            || io::Error::other(format!("the list of tables in {} is damaged", directory.display()));
        for _ in 0..ATTEMPTS_MAX {
            // The engine replaces the manifest after each merge.
            let Some(manifest) = Manifest::read(directory) else { continue };
            let tables = manifest.tables.iter().map(|table| File::open(&table.path));
            match tables.collect::<io::Result<Vec<_>>>() {
                Ok(tables) => return Ok(Self { name, manifest, tables }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Err(damaged())
    }
}

fn open_journals(engine: &Path, opened: &mut BTreeMap<u64, File>) -> io::Result<()> {
    for (number, path) in journals(engine)? {
        if opened.contains_key(&number) {
            continue;
        }
        match File::open(path) {
            Ok(file) => drop(opened.insert(number, file)),
            // Its batches are in tables.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Links a table of an earlier copy that has this checksum; says whether it did.
fn is_linked(candidate: &Path, target: &Path, checksum: Option<u128>) -> bool {
    let is_same = checksum.is_some() && file_checksum(candidate) == checksum;
    // Another file system takes no link: the table is copied.
    is_same && fs::hard_link(candidate, target).is_ok()
}

/// Copies a file onto the disk; returns its checksum.
fn copy(mut from: File, to: &Path) -> io::Result<u128> {
    let mut target = private_files::file_options().write(true).create_new(true).open(to)?;
    let (mut hasher, mut block) = (Xxh3::new(), vec![0; BLOCK_BYTES]);
    loop {
        let bytes = from.read(&mut block)?;
        if bytes == 0 {
            break;
        }
        hasher.update(&block[..bytes]);
        target.write_all(&block[..bytes])?;
    }
    target.sync_all()?;
    Ok(hasher.digest128())
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = private_files::file_options().write(true).create_new(true).open(path)?;
    file.write_all(content)?;
    file.sync_all()
}

/// Copies the whole batches of a journal up to now onto the disk; returns their length. A batch that is being
/// written is left out.
fn copy_batches(journal: File, to: &Path) -> Result<u64, CopyError> {
    let mut target = private_files::file_options().write(true).create_new(true).open(to)?;
    let (mut batches, mut copied) = (JournalBatches::of(journal)?, 0);
    while let Some((_, batch)) = batches.next_batch()? {
        target.write_all(&batch)?;
        copied += batch.len() as u64;
    }
    if batches.gaps() > 0 {
        return Err(CopyError::Damaged(to.to_owned()));
    }
    target.sync_all()?;
    Ok(copied)
}
