//! Maintenance work on the data of an app: verification, repair, rebuild, replay, seeding. Each reports its
//! progress.
//!
//! Its callers are the operations API and the command line.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{App, Engine};
use crate::accounts::password::Password;
use crate::blog::study::dataset::{DEMO_USERNAMES, Dataset};
use crate::blog::study::seed::{SeedProgress, Seeder};
use crate::blog::verify::verifier;
use crate::webstore;
use crate::webstore::dataset::WebstoreDataset;
use crate::webstore::seeder::WebstoreSeeder;
use onehop_change_feed::{RebuildProgress, ReplayReport};
use onehop_read_models::verify::{Settle, VerificationReport, Verifier, VerifyProgress};
use onehop_store::Fault;

/// The password of the demo users. It is published in the documentation.
pub const DEMO_PASSWORD: &str = "one-hop-at-a-time";

/// Items between two reports of progress.
const PROGRESS_STEP: u64 = 997;
/// Drifts that a report names; the others are only counted.
const DRIFTS_NAMED_MAX: usize = 1000;

/// Receives the progress of the work, and decides whether it goes on.
pub type KeepGoing = Box<dyn FnMut(u64) -> bool + Send>;

/// The progress of a piece of work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// The current step, in words.
    pub step: String,
    pub done: u64,
    /// `None` when it is not known.
    pub total: Option<u64>,
}

/// Where a piece of work reports its progress, and learns that it is cancelled.
#[derive(Debug, Clone)]
pub struct ProgressSink {
    sender: mpsc::Sender<Progress>,
    cancelled: CancellationToken,
}

impl ProgressSink {
    /// A sink into this channel. Blocking work is cancelled when the guard is dropped.
    #[must_use]
    pub fn new(sender: mpsc::Sender<Progress>) -> (Self, DropGuard) {
        let cancelled = CancellationToken::new();
        let guard = cancelled.clone().drop_guard();
        (Self { sender, cancelled }, guard)
    }

    /// A sink without a receiver, of work that is never cancelled.
    #[must_use]
    pub fn none() -> Self {
        Self { sender: mpsc::channel(1).0, cancelled: CancellationToken::new() }
    }

    /// Reports progress. A full or closed channel misses it.
    pub fn report(&self, step: &str, done: u64, total: Option<u64>) {
        let _ = self.sender.try_send(Progress { step: step.to_owned(), done, total });
    }

    /// Reports a count, and asks blocking work to go on until it is cancelled.
    #[must_use]
    pub fn while_wanted(&self, step: &'static str) -> KeepGoing {
        let sink = self.clone();
        Box::new(move |done| {
            sink.report(step, done, None);
            !sink.cancelled.is_cancelled()
        })
    }
}

/// The repair of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repair {
    /// Drifts are reported.
    None,
    /// Drifts are repaired. Owned items without an owner are deleted.
    All,
    /// The same, and owned items without an owner are kept: the owner may be lost.
    KeepingUnowned,
}

impl From<bool> for Repair {
    fn from(is_asked: bool) -> Self {
        if is_asked { Self::All } else { Self::None }
    }
}

impl Repair {
    pub(super) async fn run(
        self,
        verifier: Verifier,
        step: impl FnMut(VerifyProgress) + Send,
    ) -> Result<VerificationReport, Fault> {
        match self {
            Self::None => verifier.verify(step).await,
            Self::All => verifier.repair(step).await,
            Self::KeepingUnowned => verifier.keeping_unowned().repair(step).await,
        }
    }
}

/// The outcome of a rebuild.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuilt {
    pub changes: u64,
    /// Changes that are parked now.
    pub parked: u64,
    /// Items that could not be read and are left out.
    pub unreadable: BTreeSet<String>,
}

/// The outcome of seeding.
#[derive(Debug, Clone, PartialEq)]
pub struct Seeded {
    pub items: u64,
    pub seconds: f64,
    /// The demo users, whose password is [`DEMO_PASSWORD`].
    pub demo_users: Vec<&'static str>,
}

/// The outcome of seeding the web store.
#[derive(Debug, Clone, PartialEq)]
pub struct WebstoreSeeded {
    pub items: u64,
    pub seconds: f64,
}

/// A report that names the first drifts. The others are in the log as a number.
pub(super) fn name_first(mut report: VerificationReport) -> VerificationReport {
    let unnamed = report.drifts.len().saturating_sub(DRIFTS_NAMED_MAX);
    if unnamed > 0 {
        tracing::warn!(unnamed, "the report leaves drifts out");
        report.drifts.truncate(DRIFTS_NAMED_MAX);
    }
    report
}

impl App {
    /// Verifies the read models, or repairs them and verifies again.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn verify(
        &self,
        repair: impl Into<Repair>,
        progress: &ProgressSink,
    ) -> anyhow::Result<VerificationReport> {
        let repair = repair.into();
        let settle: Arc<dyn Settle> = Arc::clone(&self.processor) as _;
        let verifiers = [
            verifier(Arc::clone(&self.background), Arc::clone(&settle)),
            webstore::verify::verifier(Arc::clone(&self.background), settle),
        ];
        let mut report = VerificationReport::default();
        for verifier in verifiers {
            let before = report.items.iter().map(|count| count.items).sum::<u64>();
            let step =
                |VerifyProgress { done }: VerifyProgress| progress.report("verifying", before + done, None);
            report.append(repair.run(verifier, step).await?);
        }
        Ok(name_first(report))
    }

    /// Writes a data set, and waits until the read models have caught up.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn seed(&self, dataset: Dataset, progress: &ProgressSink) -> anyhow::Result<Seeded> {
        let start = Instant::now();
        let hash = self.passwords.hash(Password::parse(DEMO_PASSWORD)?).await?;
        let seeder = Seeder { store: Arc::clone(&self.store), dataset, demo_password_hash: hash.to_stored() };
        // The projections follow while the data set is written.
        self.start_readers();
        let mut reported = 0;
        let written = seeder
            .run(|SeedProgress { done, total }| {
                if done >= reported + PROGRESS_STEP || done == total {
                    reported = done;
                    progress.report("writing", done, Some(total));
                }
            })
            .await?;
        progress.report("waiting for the read models", 0, None);
        self.processor.drain().await?;
        let demo_users = DEMO_USERNAMES.into_iter().take(dataset.users() as usize).collect();
        Ok(Seeded { items: written.done, seconds: start.elapsed().as_secs_f64(), demo_users })
    }

    /// Writes a data set of the web store, and waits until the read models have caught up.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn seed_webstore(
        &self,
        dataset: WebstoreDataset,
        progress: &ProgressSink,
    ) -> anyhow::Result<WebstoreSeeded> {
        let start = Instant::now();
        let seeder = WebstoreSeeder::new(Arc::clone(&self.store), dataset)?;
        self.start_readers();
        let mut reported = 0;
        let items = seeder
            .run(|done| {
                if done >= reported + PROGRESS_STEP {
                    reported = done;
                    progress.report("writing", done, None);
                }
            })
            .await?;
        progress.report("waiting for the read models", 0, None);
        self.processor.drain().await?;
        Ok(WebstoreSeeded { items, seconds: start.elapsed().as_secs_f64() })
    }
}

impl Engine {
    /// Fills a read model again from the beginning of the change feed, or all of them.
    ///
    /// # Errors
    /// There is no such read model; a fault of the store.
    pub async fn rebuild(
        &self,
        read_model: Option<String>,
        progress: &ProgressSink,
    ) -> anyhow::Result<Rebuilt> {
        let (mut changes, mut unreadable) = (0, BTreeSet::new());
        for name in self.projections_named(read_model).await? {
            let step = format!("rebuilding {name}");
            let report = |RebuildProgress { done, total }| progress.report(&step, done, total);
            let rebuilt = self.processor.rebuild(&name, &report).await?;
            changes += rebuilt.done;
            unreadable.extend(rebuilt.unreadable);
        }
        match self.processor.drain().await {
            Err(error) if !error.is_damage() => return Err(error.into()),
            _ => {}
        }
        Ok(Rebuilt { changes, parked: self.dead_letter_count().await?, unreadable })
    }

    /// Projects parked changes again, of one read model or of all.
    ///
    /// # Errors
    /// There is no such read model; a fault of the store.
    pub async fn replay(&self, read_model: Option<String>) -> anyhow::Result<ReplayReport> {
        if read_model.is_some() {
            self.projections_named(read_model.clone()).await?;
        }
        Ok(self.processor.replay(read_model.as_deref()).await?)
    }

    /// The named projection, or all of them.
    async fn projections_named(&self, wanted: Option<String>) -> anyhow::Result<Vec<String>> {
        let known = self.processor.status().await?;
        let known: Vec<String> = known.into_iter().map(|status| status.projection.to_owned()).collect();
        match wanted {
            None => Ok(known),
            Some(name) if known.contains(&name) => Ok(vec![name]),
            Some(name) => {
                anyhow::bail!("--read-model: there is no read model {name:?}; there are {}", known.join(", "))
            }
        }
    }

    async fn dead_letter_count(&self) -> anyhow::Result<u64> {
        Ok(self.processor.status().await?.iter().map(|status| status.dead_letters).sum())
    }
}
