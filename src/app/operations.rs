//! Operations on a data directory: online backup, restore, integrity check and recovery.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;

use super::work::{KeepGoing, ProgressSink, Repair};
use super::{Engine, OperatedDomain};
use onehop_read_models::verify::VerificationReport;
use onehop_store::embedded::{
    self, BackupManifest, EmbeddedConfig, IntegrityReport, ItemFate, LostItem, Recovery, RestoreLog, Restored,
};
use onehop_store::{ContainerName, ContainerSpec, Ledger, PartitionKey};

impl Engine {
    /// Online backup: copies the data directory of this moment, while it is written to. Files that an earlier
    /// backup has are linked.
    ///
    /// # Errors
    /// There is no data directory, the target is not empty, or the copy cannot be written.
    pub async fn backup(
        &self,
        target: &Path,
        after: Option<&Path>,
        mut keep_going: KeepGoing,
    ) -> anyhow::Result<BackupManifest> {
        let store = self.embedded().context("there is no data directory to back up")?;
        let (store, target, after) = (Arc::clone(store), target.to_owned(), after.map(Path::to_owned));
        let copy = move || store.backup(&target, after.as_deref(), &mut keep_going);
        Ok(tokio::task::spawn_blocking(copy).await??)
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

/// Restores a finished backup into a new data directory, and rolls it forward by a log archive, if one is
/// given.
///
/// # Errors
/// It is no finished backup, the directory is not empty or cannot be written, or the archive lacks commits.
pub async fn restore(
    from: &Path,
    to: &Path,
    log: Option<RestoreLog>,
    mut keep_going: KeepGoing,
) -> anyhow::Result<Restored> {
    let (from, to) = (from.to_owned(), to.to_owned());
    let restore = move || embedded::restore(&from, &to, log.as_ref(), &mut keep_going);
    Ok(tokio::task::spawn_blocking(restore).await??)
}

/// Recovers a data directory that has lost writes or has damaged files, and checks the outcome. Where each
/// file is as it was written and entries do not fit the items, the entries are made anew.
///
/// # Errors
/// Another process has it open, or it cannot be written.
pub async fn recover(
    config: EmbeddedConfig,
    specs: Vec<ContainerSpec>,
    mut keep_going: KeepGoing,
) -> anyhow::Result<(Recovery, IntegrityReport)> {
    let recover = move || -> anyhow::Result<_> {
        let mut progress = |done| {
            keep_going(done);
        };
        let mut recovery = embedded::recover(&config, &specs, &mut progress)?;
        let check = || -> anyhow::Result<IntegrityReport> {
            let found = embedded::check_directory(&config, &specs, &mut |_| true)?;
            found.context("the check was cancelled")
        };
        let mut found = check()?;
        if !found.is_sound() && recovery.is_empty() {
            recovery = embedded::recover_entries(&config, &specs, &mut progress)?;
            recovery.damage.append(&mut found.problems);
            found = check()?;
        }
        Ok((recovery, found))
    };
    tokio::task::spawn_blocking(recover).await?
}

/// The outcome of deriving read models again behind a recovery.
#[derive(Debug)]
pub struct DerivedAgain {
    /// The remaining drifts.
    pub report: VerificationReport,
    /// The items that stay lost.
    pub lost: Vec<LostItem>,
    /// Lost items that were made again.
    pub made_again: usize,
}

/// Derives read models, counts and copies again from their sources. Owned items whose owner is lost are kept.
/// The list of lost items in the data directory keeps those that cannot be derived.
///
/// # Errors
/// A fault of the store; the list cannot be read or written.
pub async fn derive_again(
    domain: &OperatedDomain,
    data: &Path,
    progress: &ProgressSink,
) -> anyhow::Result<DerivedAgain> {
    let report = domain.verify(Repair::KeepingUnowned, progress).await?;
    let listed = embedded::read_lost_items(data).context("the list of lost items")?.unwrap_or_default();
    let (before, mut lost) = (listed.len(), Vec::new());
    let names: Vec<ContainerName> = domain.containers().iter().map(|spec| spec.name).collect();
    for item in listed {
        let container = names.iter().copied().find(|name| name.as_str() == item.container);
        if !is_there_again(domain.engine(), container, &item).await? {
            lost.push(item);
        }
    }
    embedded::write_lost_items(data, &lost).context("the list of lost items")?;
    Ok(DerivedAgain { report, made_again: before - lost.len(), lost })
}

/// Whether a lost item was made again. The change feed processor makes its own items when it starts.
async fn is_there_again(
    engine: &Engine,
    container: Option<ContainerName>,
    item: &LostItem,
) -> anyhow::Result<bool> {
    let Some(container) = container else { return Ok(false) };
    if onehop_change_feed::SPECS.iter().any(|spec| spec.name == container) {
        return Ok(true);
    }
    if !matches!(item.fate, ItemFate::Lost | ItemFate::PerhapsLost) {
        return Ok(false);
    }
    let key = PartitionKey::from(item.partition_key.as_str());
    Ok(engine.store.read(container, &key, &item.id, &Ledger::new()).await?.is_some())
}
