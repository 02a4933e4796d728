//! The app of a served model: the store with its containers, its projections, commands and verification.

use std::collections::HashSet;
use std::sync::Arc;

use uuid::Uuid;

use super::engine::{AppOptions, Engine, tail_settings};
use super::member::Member;
use super::open_store::OpenStore;
use crate::config::StoreChoice;
use crate::domain::ids::RandomIds;
use crate::served::live::{ServedLive, ServedLiveParts};
use crate::served::{ServedCommandParts, ServedCommands, ServedModel, projections, verifier};
use onehop_read_models::verify::{Settle, VerificationReport};
use onehop_store::{Ledger, Store};

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
}

impl ServedApp {
    /// Opens the store with the containers of a model. Nothing runs in the background yet.
    ///
    /// # Errors
    /// When the store cannot be opened, or the change feed processor cannot read its state.
    pub async fn open(
        model: Arc<ServedModel>,
        choice: &StoreChoice,
        options: AppOptions,
    ) -> anyhow::Result<Self> {
        let store = OpenStore::open_with(choice, model.containers(), &options.clock).await?;
        Self::over(model, &store, Member::of(choice), options).await
    }

    /// Verification: counts, copies, lists and reservations against the write side, and their repair.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn verify(&self, repair: bool) -> anyhow::Result<VerificationReport> {
        let settle: Arc<dyn Settle> = Arc::clone(&self.engine.processor) as _;
        let verifier = verifier(&self.model, Arc::clone(&self.engine.background), settle);
        Ok(if repair { verifier.repair(|_| {}).await? } else { verifier.verify(|_| {}).await? })
    }

    /// The accounts of the members of staff, by their logins.
    ///
    /// # Errors
    /// A login that no account has, if all must exist; a fault of the store.
    pub async fn staff(&self, logins: &[String], must_exist: bool) -> anyhow::Result<HashSet<Uuid>> {
        let mut staff = HashSet::new();
        for login in logins.iter().map(|login| login.trim()) {
            let found = self.commands.account_with(login, &Ledger::new()).await?;
            match found.and_then(|place| Uuid::try_parse(&place.id).ok()) {
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
        let engine =
            Arc::new(Engine::over(open, member, projections(&model), model.containers(), options).await?);
        let over = |store: &Arc<dyn Store>| {
            ServedCommands::new(ServedCommandParts {
                store: Arc::clone(store),
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
        Ok(Self { engine, model, commands, recent_commands, live })
    }
}
