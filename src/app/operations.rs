//! Operations on a data directory: online backup, restore, integrity check and recovery.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;

use super::Engine;
use onehop_store::ContainerSpec;
use onehop_store::embedded::{self, BackupManifest, EmbeddedConfig, IntegrityReport, Recovery};

/// Receives the progress of the work, and decides whether it goes on.
pub type KeepGoing = Box<dyn FnMut(u64) -> bool + Send>;

impl Engine {
    /// Online backup: copies the data directory of this moment, while it is written to.
    ///
    /// # Errors
    /// There is no data directory, the target is not empty, or the copy cannot be written.
    pub async fn backup(&self, target: &Path, mut keep_going: KeepGoing) -> anyhow::Result<BackupManifest> {
        let store = self.embedded().context("there is no data directory to back up")?;
        let (store, target) = (Arc::clone(store), target.to_owned());
        Ok(tokio::task::spawn_blocking(move || store.backup(&target, &mut keep_going)).await??)
    }

    /// Online integrity check: reads everything in the data directory, while it is written to.
    ///
    /// # Errors
    /// There is no data directory, or the check was cancelled.
    pub async fn check(&self, mut keep_going: KeepGoing) -> anyhow::Result<IntegrityReport> {
        let store = self.embedded().context("there is no data directory to check")?;
        let store = Arc::clone(store);
        let found = tokio::task::spawn_blocking(move || store.check(&mut keep_going)).await??;
        found.context("the check was cancelled")
    }
}

/// Integrity check of a data directory that no process has open; it changes nothing.
///
/// # Errors
/// The directory cannot be read, or the check was cancelled.
pub async fn check_directory(
    config: EmbeddedConfig,
    specs: Vec<ContainerSpec>,
    mut keep_going: KeepGoing,
) -> anyhow::Result<IntegrityReport> {
    let check = move || embedded::check_directory(&config, &specs, &mut keep_going);
    tokio::task::spawn_blocking(check).await??.context("the check was cancelled")
}

/// Restores a finished backup into a new data directory.
///
/// # Errors
/// It is no finished backup, or the directory is not empty or cannot be written.
pub async fn restore(from: &Path, to: &Path, mut keep_going: KeepGoing) -> anyhow::Result<BackupManifest> {
    let (from, to) = (from.to_owned(), to.to_owned());
    Ok(tokio::task::spawn_blocking(move || embedded::restore(&from, &to, &mut keep_going)).await??)
}

/// Recovers a data directory that has lost writes, from the items that are left, and checks the outcome: a
/// recovery cannot mend damaged files.
///
/// # Errors
/// Another process has it open, or it cannot be written.
pub async fn recover(
    config: EmbeddedConfig,
    specs: Vec<ContainerSpec>,
    mut keep_going: KeepGoing,
) -> anyhow::Result<(Recovery, IntegrityReport)> {
    let recover = move || -> anyhow::Result<_> {
        let recovery = embedded::recover(&config, &specs, &mut |done| {
            keep_going(done);
        })?;
        let found = embedded::check_directory(&config, &specs, &mut |_| true)?;
        Ok((recovery, found.context("the check was cancelled")?))
    };
    tokio::task::spawn_blocking(recover).await?
}
