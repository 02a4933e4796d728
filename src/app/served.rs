//! The app of a served model: the store with its containers, its projections, commands and verification.

use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use onehop_runtime::clock::Clock;
use uuid::Uuid;

use super::engine::{AppOptions, Engine, EngineContainers, tail_settings};
use super::member::Member;
use super::model_record::{AcceptedChanges, ModelRecord};
use super::open_store::OpenStore;
use super::partitions::unexposed;
use super::work::{ProgressSink, Repair, name_first};
use crate::config::StoreChoice;
use crate::domain::ids::RandomIds;
use crate::served::live::{ServedLive, ServedLiveParts};
use crate::served::{
    FieldsInBuilding, ServedCommandParts, ServedCommands, ServedModel, projections, verifier,
};
use onehop_read_models::verify::{Settle, VerificationReport, VerifyProgress};
use onehop_store::{Ledger, Store};

/// The time between two rounds of building, after a fault.
const BUILDING_INTERVAL: Duration = Duration::from_secs(5);

/// The parts of a process that works on the data of a served model.
pub struct ServedApp {
    /// The parts that no domain has of its own.
    pub engine: Arc<Engine>,
    /// The model.
    pub model: Arc<ServedModel>,
    /// The write side.
    pub commands: ServedCommands,
    /// Its look-ups, which see commits of other processes.
    pub recent_commands: ServedCommands,
    /// The events of subscriptions.
    pub live: ServedLive,
    /// The fields whose read models are not complete yet.
    pub in_building: FieldsInBuilding,
    /// The record of the model; `None` over a store that was open before.
    record: Option<ModelRecord>,
}

impl ServedApp {
    /// Opens the store with the containers of a model, if the data fit it. Nothing runs in the background
    /// yet.
    ///
    /// # Errors
    /// [`RefusedChange`](super::RefusedChange), before the data is touched; when the store cannot be
    /// opened, or the change feed processor cannot read its state.
    pub async fn open(
        model: Arc<ServedModel>,
        choice: &StoreChoice,
        accepted: AcceptedChanges,
        options: AppOptions,
    ) -> anyhow::Result<Self> {
        let before = ModelRecord::before_opening(choice, &options.clock).await?;
        ModelRecord::changed(before.as_ref(), model.model(), accepted)?;
        let store = OpenStore::open_with(choice, model.containers(), &options.clock).await?;
        Self::succeeding(model, &store, accepted, (Member::of(choice), options)).await
    }

    /// The parts over a store that is open already, whose data may be of an earlier model.
    ///
    /// # Errors
    /// [`RefusedChange`](super::RefusedChange); a fault of the store.
    pub async fn succeeding(
        model: Arc<ServedModel>,
        open: &OpenStore,
        accepted: AcceptedChanges,
        (member, options): (Member, AppOptions),
    ) -> anyhow::Result<Self> {
        // Before anything is written, so that a process that ends now goes on with building.
        let record = ModelRecord::succeeding(&*open.recent(), model.model(), accepted).await?;
        let in_building = record.fields_in_building();
        let app = Self::over(model, open, member, options).await?;
        Ok(Self { in_building, record: Some(record), ..app })
    }

    /// Opens the store of data that are of exactly this model, to read them.
    ///
    /// # Errors
    /// The data are of no served model, or of another version of it; the store cannot be opened.
    pub async fn open_source(
        model: &ServedModel,
        choice: &StoreChoice,
        clock: &Arc<dyn Clock>,
    ) -> anyhow::Result<OpenStore> {
        let record = ModelRecord::before_opening(choice, clock).await?;
        record.context("there are no data of a served model")?.require(model.model())?;
        OpenStore::open_with(choice, model.containers(), clock).await
    }

    /// Builds the read models of a changed model from the stored items, until they are complete.
    ///
    /// # Errors
    /// A fault of the store. Finished parts stay, and another call goes on from there.
    pub async fn build(&self) -> anyhow::Result<()> {
        match &self.record {
            Some(record) => build(&self.engine, &self.model, record, &self.in_building).await,
            None => Ok(()),
        }
    }

    /// Starts to build the read models of a changed model in the background.
    pub fn start_building(&self) {
        let Some(record) = self.record.clone().filter(|_| !self.in_building.is_empty()) else { return };
        tracing::info!(fields = ?self.in_building.names(), "read models of the changed model are being built");
        let (engine, model) = (Arc::clone(&self.engine), Arc::clone(&self.model));
        let (fields, stop) = (self.in_building.clone(), self.engine.tasks.soft_stop());
        self.engine.tasks.spawn("model changes", async move {
            let building = async {
                while let Err(error) = build(&engine, &model, &record, &fields).await {
                    tracing::warn!(%error, "read models are not complete yet; the next round goes on");
                    tokio::time::sleep(BUILDING_INTERVAL).await;
                }
            };
            stop.run_until_cancelled(building).await;
            Ok::<(), Infallible>(())
        });
    }

    /// Verification: counts, copies, lists and reservations against the write side, and their repair.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn verify(&self, repair: bool) -> anyhow::Result<VerificationReport> {
        verify_model(&self.engine, &self.model, repair.into(), &ProgressSink::none()).await
    }

    /// The accounts of the members of staff, by their logins.
    ///
    /// # Errors
    /// A login that no account has, if all must exist, or that has passed to another account; a fault of the
    /// store.
    pub async fn staff(&self, logins: &[String], must_exist: bool) -> anyhow::Result<HashSet<Uuid>> {
        let mut staff = HashSet::new();
        for login in logins.iter().map(|login| login.trim()) {
            let found = self.commands.staff_account(login, &Ledger::new()).await;
            match found.with_context(|| format!("--staff: {login:?} cannot be resolved"))? {
                Some(account) => drop(staff.insert(account)),
                None if must_exist => {
                    anyhow::bail!(
                        "--staff: --production refuses {login:?}, which no account has as its login"
                    )
                }
                None => {
                    tracing::warn!(login, "--staff lists a login that no account has until the next start")
                }
            }
        }
        Ok(staff)
    }

    /// The parts over a store that is open already with the containers of the model.
    ///
    /// # Errors
    /// When the change feed processor cannot read its state.
    pub async fn over(
        model: Arc<ServedModel>,
        open: &OpenStore,
        member: Member,
        options: AppOptions,
    ) -> anyhow::Result<Self> {
        let tail = tail_settings(&member, options.live_poll);
        let containers = EngineContainers {
            specs: model.containers(),
            exposures: &unexposed(model.containers()),
            with_deletions: model.containers_with_deletions(),
        };
        let engine = Arc::new(Engine::over(open, member, projections(&model), containers, options).await?);
        let over = |store: &Arc<dyn Store>| {
            ServedCommands::new(ServedCommandParts {
                store: Arc::clone(store),
                latest: Arc::clone(&engine.latest),
                model: Arc::clone(&model),
                clock: Arc::clone(&engine.clock),
                ids: Arc::new(RandomIds),
                passwords: engine.passwords.clone(),
            })
        };
        let (commands, recent_commands) = (over(&engine.decisive), over(&engine.recent));
        let live = ServedLive::new(ServedLiveParts {
            store: Arc::clone(&engine.recent),
            model: Arc::clone(&model),
            watches: Arc::clone(&engine.watches),
            tasks: engine.tasks.clone(),
            tail,
        });
        let in_building = FieldsInBuilding::default();
        Ok(Self { engine, model, commands, recent_commands, live, in_building, record: None })
    }
}

/// Verifies the read models of a model, or repairs them and verifies again.
///
/// # Errors
/// A fault of the store.
pub(super) async fn verify_model(
    engine: &Engine,
    model: &Arc<ServedModel>,
    repair: Repair,
    progress: &ProgressSink,
) -> anyhow::Result<VerificationReport> {
    let settle: Arc<dyn Settle> = Arc::clone(&engine.processor) as _;
    let verifier = verifier(model, Arc::clone(&engine.background), settle);
    let step = |VerifyProgress { done }: VerifyProgress| progress.report("verifying", done, None);
    Ok(name_first(repair.run(verifier, step).await?))
}

/// Fills lists, copies and counts, and says so in the record.
async fn build(
    engine: &Engine,
    model: &Arc<ServedModel>,
    record: &ModelRecord,
    fields: &FieldsInBuilding,
) -> anyhow::Result<()> {
    if fields.is_empty() {
        return Ok(());
    }
    // Items whose values are at former properties are no drifts.
    engine.processor.drain().await?;
    let progress = ProgressSink::none();
    let mut report = verify_model(engine, model, Repair::All, &progress).await?;
    // An entry may need a count or a copy that its item did not have before.
    if engine.processor.replay(None).await?.items_replayed > 0 {
        report = verify_model(engine, model, Repair::All, &progress).await?;
    }
    anyhow::ensure!(
        report.is_clean(),
        "{} differences and {} unreadable items are left",
        report.drifts.len(),
        report.unreadable.len()
    );
    record.clone().complete(&*engine.recent, fields).await?;
    tracing::info!("the read models of the changed model are complete");
    Ok(())
}
