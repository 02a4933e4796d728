//! Work on the data, by whoever holds the directory: a server for its control clients, or the command itself.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::demo_users::lock_demo_accounts;
use crate::accounts::password::Password;
use crate::app::operations::KeepGoing;
use crate::app::{App, Drained};
use crate::blog::study::dataset::{DEFAULT_END_MS, DEMO_USERNAMES, Dataset};
use crate::blog::study::seed::{SeedProgress, Seeder};
use crate::blog::verify::{Report, Verifier, VerifyProgress};
use crate::control::{ControlServer, Progress, Work, Worker};
use onehop_change_feed::RebuildProgress;

/// The password of the demo users. It is public: whoever makes a demo blog shares it.
pub const DEMO_PASSWORD: &str = "one-hop-at-a-time";

/// Reports and progress are not sent more often than this many items apart.
const PROGRESS_STEP: u64 = 997;
/// Drifts that a report names; the others are only counted.
const DRIFTS_NAMED_MAX: usize = 1000;

/// Does work with the parts of an app.
pub struct AppWorker {
    pub app: Arc<App>,
    /// Whether the data set of the demo may be written: it has users with a published password.
    pub allows_demo: bool,
}

/// Does the work of those who ask at the socket in the data directory, until the app stops. Where processes share the
/// data there is no such directory, and whoever wants work done does it.
///
/// # Errors
/// When the socket cannot be made.
pub fn serve_control(app: &Arc<App>, allows_demo: bool) -> io::Result<()> {
    let Some(directory) = app.data_directory() else { return Ok(()) };
    let control = ControlServer::bind(directory)?;
    let worker = Arc::new(AppWorker { app: Arc::clone(app), allows_demo });
    let (tasks, stop) = (app.tasks.clone(), app.tasks.soft_stop());
    app.tasks.spawn("control", async move { control.serve(worker, tasks, stop).await });
    Ok(())
}

#[async_trait]
impl Worker for AppWorker {
    async fn perform(&self, work: Work, progress: mpsc::Sender<Progress>) -> Result<Value, String> {
        let outcome = match work {
            Work::Verify { repair } => self.verify(repair, progress).await,
            Work::Rebuild { read_model } => self.rebuild(read_model, progress).await,
            Work::Replay { read_model } => self.replay(read_model).await,
            Work::DeadLetters => self.dead_letters().await,
            Work::DeadLetter { id } => self.dead_letter(&id).await,
            Work::ReplayDeadLetter { id } => self.replay_dead_letter(&id).await,
            Work::Backup { directory } => self.backup(&directory, progress).await,
            Work::Check => self.check(progress).await,
            Work::LockDemoUsers => self.lock_demo_users().await,
            Work::Seed { .. } if !self.allows_demo => Err(anyhow::anyhow!(
                "the server runs with --production: seeding would make users with a published password"
            )),
            Work::Seed { users, rng_seed, texts } => {
                let dataset = Dataset::new(users, rng_seed, DEFAULT_END_MS).with_texts(texts);
                self.seed(dataset, progress).await
            }
        };
        outcome.map_err(|error| format!("{error:#}"))
    }
}

impl AppWorker {
    async fn verify(&self, repair: bool, progress: mpsc::Sender<Progress>) -> anyhow::Result<Value> {
        let app = &self.app;
        let verifier = Verifier::new(Arc::clone(&app.recent), Arc::new(Drained(Arc::clone(&app.processor))));
        let report = |VerifyProgress { done }| tell(&progress, "verifying", done, None);
        let mut report: Report =
            if repair { verifier.repair(report).await? } else { verifier.verify(report).await? };
        let unnamed = report.drifts.len().saturating_sub(DRIFTS_NAMED_MAX);
        if unnamed > 0 {
            tracing::warn!(unnamed, "more drifts than a report names");
            report.drifts.truncate(DRIFTS_NAMED_MAX);
        }
        Ok(serde_json::to_value(report)?)
    }

    async fn rebuild(
        &self,
        read_model: Option<String>,
        progress: mpsc::Sender<Progress>,
    ) -> anyhow::Result<Value> {
        let (mut changes, mut unreadable) = (0, BTreeSet::new());
        for name in self.projections(read_model).await? {
            let step = format!("rebuilding {name}");
            let report = |RebuildProgress { done, total }| tell(&progress, &step, done, Some(total));
            let rebuilt = self.app.processor.rebuild(&name, &report).await?;
            changes += rebuilt.done;
            unreadable.extend(rebuilt.unreadable);
        }
        match self.app.processor.drain().await {
            Err(error) if !error.is_damage() => return Err(error.into()),
            _ => {}
        }
        Ok(json!({"changes": changes, "parked": self.parked().await?, "unreadable": unreadable}))
    }

    async fn replay(&self, read_model: Option<String>) -> anyhow::Result<Value> {
        if read_model.is_some() {
            self.projections(read_model.clone()).await?;
        }
        let report = self.app.processor.replay(read_model.as_deref()).await?;
        Ok(json!({"changes": report.items_replayed, "parked": report.partitions_parked}))
    }

    async fn dead_letters(&self) -> anyhow::Result<Value> {
        Ok(serde_json::to_value(self.app.processor.dead_letters().await?)?)
    }

    async fn dead_letter(&self, id: &str) -> anyhow::Result<Value> {
        Ok(serde_json::to_value(self.app.processor.dead_letter(id).await?)?)
    }

    async fn replay_dead_letter(&self, id: &str) -> anyhow::Result<Value> {
        let report = self.app.processor.replay_dead_letter(id).await?;
        Ok(json!({"changes": report.items_replayed, "parked": report.partitions_parked}))
    }

    async fn backup(&self, directory: &Path, progress: mpsc::Sender<Progress>) -> anyhow::Result<Value> {
        let note = self.app.backup(directory, while_listened_to("copying entries", progress)).await?;
        Ok(serde_json::to_value(note)?)
    }

    async fn check(&self, progress: mpsc::Sender<Progress>) -> anyhow::Result<Value> {
        let found = self.app.check(while_listened_to("checking", progress)).await?;
        Ok(serde_json::to_value(found)?)
    }

    async fn lock_demo_users(&self) -> anyhow::Result<Value> {
        Ok(json!({ "usernames": lock_demo_accounts(&self.app).await? }))
    }

    /// The named projection, or all of them.
    async fn projections(&self, wanted: Option<String>) -> anyhow::Result<Vec<String>> {
        let known = self.app.processor.status().await?;
        let known: Vec<String> = known.into_iter().map(|status| status.projection.to_owned()).collect();
        match wanted {
            None => Ok(known),
            Some(name) if known.contains(&name) => Ok(vec![name]),
            Some(name) => {
                anyhow::bail!("--read-model: there is no read model {name:?}; there are {}", known.join(", "))
            }
        }
    }

    async fn parked(&self) -> anyhow::Result<u64> {
        Ok(self.app.processor.status().await?.iter().map(|status| status.dead_letters).sum())
    }

    async fn seed(&self, dataset: Dataset, progress: mpsc::Sender<Progress>) -> anyhow::Result<Value> {
        let app = &self.app;
        let start = Instant::now();
        let hash = app.passwords.hash(Password::parse(DEMO_PASSWORD)?).await?;
        let seeder = Seeder { store: Arc::clone(&app.store), dataset, demo_password_hash: hash.to_stored() };
        // The projections follow while the data set is written.
        app.start_readers();
        let mut told = 0;
        let written = seeder
            .run(|SeedProgress { done, total }| {
                if done >= told + PROGRESS_STEP || done == total {
                    told = done;
                    tell(&progress, "writing", done, Some(total));
                }
            })
            .await?;
        tell(&progress, "waiting for the read models", 0, None);
        app.processor.drain().await?;
        let demo_users: Vec<&str> = DEMO_USERNAMES.into_iter().take(dataset.users() as usize).collect();
        Ok(json!({
            "items": written.done,
            "seconds": start.elapsed().as_secs_f64(),
            "demoUsers": demo_users,
            "demoPassword": DEMO_PASSWORD,
        }))
    }
}

/// Says how far the work has got, and to go on for as long as somebody listens.
pub(super) fn while_listened_to(step: &'static str, progress: mpsc::Sender<Progress>) -> KeepGoing {
    Box::new(move |done| {
        tell(&progress, step, done, None);
        !progress.is_closed()
    })
}

/// Says how far the work has got; a listener that is slow or gone misses it.
fn tell(progress: &mpsc::Sender<Progress>, step: &str, done: u64, total: Option<u64>) {
    let _ = progress.try_send(Progress { step: step.to_owned(), done, total });
}
