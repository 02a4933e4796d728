//! `onehop backup` and `onehop restore`: online backup of a data directory, and a data directory from a
//! backup.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::Exit;
use super::progress::{perform, with_bar};
use crate::app::operations;
use crate::config::{DataSettings, StoreKind, StoreSettings};
use crate::operations::{BACKUP, OperationRequest};
use onehop_runtime::clock::parse_timestamp;
use onehop_store::embedded::{BackupManifest, RestoreLog, Restored};

/// Arguments of `onehop backup`.
#[derive(Debug, Args)]
pub struct Backup {
    /// Directory for the backup; missing or empty
    directory: PathBuf,

    /// An earlier backup on the same file system: its unchanged files are linked, and only new ones are
    /// copied
    #[arg(long, value_name = "DIRECTORY", env = "ONEHOP_AFTER")]
    after: Option<PathBuf>,

    /// Model file: the domain of the data, in place of the built-in domains. A server on the data directory
    /// needs no file
    #[arg(long, value_name = "FILE", env = "ONEHOP_MODEL")]
    model: Option<PathBuf>,

    #[command(flatten)]
    store: StoreSettings,
}

/// Arguments of `onehop restore`.
#[derive(Debug, Args)]
pub struct Restore {
    /// Directory of a finished backup; it is not changed
    #[arg(long, value_name = "DIRECTORY", env = "ONEHOP_FROM")]
    from: PathBuf,

    /// Rolls the backup forward by --log-archive to a moment, such as 2026-01-31T09:30:00Z, or to the `end`
    /// of the archive (point-in-time recovery)
    #[arg(long, value_name = "TIME", env = "ONEHOP_AT", value_parser = moment, requires = "log_archive")]
    at: Option<Moment>,

    #[command(flatten)]
    data: DataSettings,
}

impl Backup {
    pub async fn run(self) -> anyhow::Result<Exit> {
        if self.store.store == StoreKind::Cosmos {
            anyhow::bail!("--store cosmos: an account on Azure Cosmos DB has backups of its own");
        }
        // A server has another working directory.
        let directory = std::path::absolute(&self.directory).context("the directory of the backup")?;
        let directory = directory.to_str().context("the directory of the backup is not UTF-8")?;
        let mut operation = OperationRequest::new(BACKUP).with("directory", directory);
        if let Some(after) = &self.after {
            let after = std::path::absolute(after).context("--after")?;
            operation = operation.with("after", after.to_str().context("--after is not UTF-8")?);
        }
        let note: BackupManifest = perform(&self.store, self.model.as_deref(), operation).await?;
        println!("{} items as of {} in {}", note.items, note.begun_at, self.directory.display());
        println!("{} bytes copied, {} linked", note.bytes_copied, note.bytes_linked);
        Ok(Exit::Success)
    }
}

impl Restore {
    pub async fn run(self) -> anyhow::Result<Exit> {
        let (from, to) = (&self.from, &self.data.data);
        let log = self.at.zip(self.data.log_archive.clone()).map(|(at, archive)| {
            let at_ms = match at {
                Moment::End => None,
                Moment::Time(at_ms) => Some(at_ms),
            };
            RestoreLog { archive, at_ms }
        });
        let restored =
            with_bar("copying bytes", |keep_going| operations::restore(from, to, log, keep_going)).await?;
        let Restored { backup, commits, last_commit_at } = restored;
        println!("{} items as of {} in {}", backup.items, backup.begun_at, to.display());
        if self.at.is_some() {
            let last = last_commit_at.unwrap_or_else(|| "an unknown time".to_owned());
            println!("rolled forward by {commits} commits; the last commit is of {last}");
        }
        Ok(Exit::Success)
    }
}

/// A moment to which a backup is rolled forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// The end of the archive.
    End,
    /// Unix ms.
    Time(i64),
}

fn moment(text: &str) -> Result<Moment, String> {
    if text == "end" {
        return Ok(Moment::End);
    }
    let time = parse_timestamp(text).map(Moment::Time);
    time.ok_or_else(|| "a time is `end` or RFC 3339, such as 2026-01-31T09:30:00Z".to_owned())
}
