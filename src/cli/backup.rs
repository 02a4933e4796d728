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
use onehop_store::embedded::BackupManifest;

/// Arguments of `onehop backup`.
#[derive(Debug, Args)]
pub struct Backup {
    /// Directory for the backup; missing or empty
    directory: PathBuf,

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
        let operation = OperationRequest::new(BACKUP).with("directory", directory);
        let note: BackupManifest = perform(&self.store, self.model.as_deref(), operation).await?;
        println!("{} items as of {} in {}", note.items, note.begun_at, self.directory.display());
        Ok(Exit::Success)
    }
}

impl Restore {
    pub async fn run(self) -> anyhow::Result<Exit> {
        let (from, to) = (&self.from, &self.data.data);
        let note = with_bar("copying bytes", |keep_going| operations::restore(from, to, keep_going)).await?;
        println!("{} items as of {} in {}", note.items, note.begun_at, to.display());
        Ok(Exit::Success)
    }
}
