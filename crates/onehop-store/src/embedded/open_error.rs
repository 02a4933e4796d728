//! Errors of opening a data directory.

use std::path::PathBuf;

use thiserror::Error;

/// Why a data directory cannot be opened.
#[derive(Debug, Error)]
pub enum OpenError {
    #[error(
        "the data directory {} is in use by another process{}; stop it, or name another directory with --data",
        path.display(), holder.as_ref().map_or_else(String::new, |pid| format!(" (process {pid})"))
    )]
    InUse { path: PathBuf, holder: Option<String> },
    #[error(
        "the data directory {} has format {found}, and this program reads format {known} alone: \
         use a newer onehop, or name another directory with --data", path.display()
    )]
    NewerFormat { path: PathBuf, found: u32, known: u32 },
    #[error(
        "the data directory {} has format {found}, and this program reads format {known} alone: use the onehop \
         that wrote it, or name another directory with --data", path.display()
    )]
    OlderFormat { path: PathBuf, found: u32, known: u32 },
    #[error("the file {} does not hold a format number: this is not a data directory of onehop", path.display())]
    NotADataDirectory { path: PathBuf },
    #[error(
        "the file {} is missing, though the directory holds data: put it back (it holds the number {known}), or \
         restore a backup", path.display()
    )]
    FormatMissing { path: PathBuf, known: u32 },
    #[error(
        "the data directory {} has lost writes: {losses}. Put back what is missing, or restore a backup; \
         `onehop recover --data {}` goes on without it and says what was dropped", path.display(), path.display()
    )]
    Lost { path: PathBuf, losses: LostWrites },
    #[error(
        "the data directory {} was made with {stored} physical partitions, and the setting asks for {wanted}: \
         the number is fixed when a directory is made", path.display()
    )]
    PhysicalPartitions { path: PathBuf, stored: u16, wanted: u16 },
    #[error("physical partitions must be 1 to {max}, not {wanted}")]
    PhysicalPartitionsLimit { wanted: u16, max: u16 },
    #[error(
        "the container {container} in the data directory {} was made with another partition key than this program \
         uses, or has texts that are too long for its indexes: name another directory with --data", path.display()
    )]
    ContainerChanged { path: PathBuf, container: String },
    #[error("the data directory {} is damaged: {what} cannot be read", path.display())]
    Damaged { path: PathBuf, what: &'static str },
    #[error(
        "the directory {} holds an unfinished backup, or one that was not restored to its end: delete it and \
         begin again", path.display()
    )]
    Unfinished { path: PathBuf },
    #[error(
        "the recovery of {} makes a copy of its engine and needs {needed} bytes, and {free} are free: make room on \
         the disk", path.display()
    )]
    NoRoomForCopy { path: PathBuf, needed: u64, free: u64 },
    #[error(
        "the data directory {} holds the container {container}, which is not as this program or the model declares \
         it: recover the directory with the release or the model that wrote it (--model)", path.display()
    )]
    UnknownContainer { path: PathBuf, container: String },
    #[error("cannot use the log archive {}: {source}", path.display())]
    LogArchive { path: PathBuf, source: std::io::Error },
    #[error("cannot use the data directory {}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("the storage engine cannot open {}: {}", path.display(), engine_reason(source))]
    Engine { path: PathBuf, source: Box<fjall::Error> },
}

/// The reason of the engine, with the next step.
fn engine_reason(error: &fjall::Error) -> String {
    match error {
        fjall::Error::Unrecoverable | fjall::Error::Storage(fjall::LsmError::Unrecoverable) => format!(
            "{error}: a file below keyspaces/*/tables is missing or damaged. Put it back from a copy of the disk, or restore \
             a backup with `onehop restore`; `onehop recover` keeps the readable items and names the others"
        ),
        error => error.to_string(),
    }
}

/// The losses of a data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostWrites(pub(super) Vec<String>);

impl std::fmt::Display for LostWrites {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0.join("; "))
    }
}
