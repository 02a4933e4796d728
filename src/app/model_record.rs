//! Record of the served model in the store: the model that wrote the data. A changed model is compared with
//! it before the data is touched, and its new read models are answered when they are complete.

use std::collections::BTreeSet;
use std::sync::Arc;

use onehop_change_feed::{LEASES, SPECS};
use onehop_model::{Effect, Model, Severity};
use onehop_runtime::clock::Clock;
use onehop_store::{ETag, Ledger, NewItem, PartitionKey, Store, WriteOp};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::open_store::OpenStore;
use crate::config::StoreChoice;
use crate::domain::conditional_write::{self, WriteAttempt};
use crate::domain::error::contended;
use crate::served::FieldsInBuilding;

/// The id of the record, and its partition key.
const ID: &str = "served-model";
/// The name under which the stored model is read again.
const STORED_MODEL: &str = "the model of the data";

/// The changes of a model that may be made over data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AcceptedChanges {
    /// Changes that no request of present clients notices.
    Compatible,
    /// Also changes after which requests of present clients fail or mean something else.
    Breaking,
}

/// A changed model that cannot serve the data.
#[derive(Debug, thiserror::Error)]
pub enum RefusedChange {
    /// Stored data do not fit, or requests of present clients would fail.
    #[error(
        "{}{}{}",
        Self::REFUSED, lines(.refused), Self::hint(.refused)
    )]
    Refused {
        /// The effects of the changes, each with its place.
        refused: Vec<Effect>,
    },
    /// Another domain.
    #[error("the data are of the model {stored:?}, not of {wanted:?}: name another directory or database")]
    OtherModel {
        /// The name of the stored model.
        stored: String,
        /// The name of the model that was to be served.
        wanted: String,
    },
}

impl RefusedChange {
    /// The words before the refused effects.
    pub const REFUSED: &'static str =
        "the model differs from the one that the data are of, and these changes are refused:";

    /// The next step after refused effects; empty without one.
    #[must_use]
    pub fn hint(refused: &[Effect]) -> &'static str {
        match refused.iter().all(|effect| effect.severity == Severity::Breaking) {
            true => {
                "\n`onehop serve --accept-breaking` makes them: requests of present clients fail or mean something else"
            }
            false => "",
        }
    }
}

/// The stored record.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ModelRecord {
    id: String,
    #[serde(rename = "type")]
    item_type: String,
    /// The model in its canonical form.
    model: String,
    /// The fields whose read models are not complete, as `Type.field`.
    #[serde(default)]
    building: BTreeSet<String>,
}

impl ModelRecord {
    /// The record of a store that is not open yet; `None` for new data.
    ///
    /// # Errors
    /// The store cannot be opened or read.
    pub(super) async fn before_opening(
        choice: &StoreChoice,
        clock: &Arc<dyn Clock>,
    ) -> anyhow::Result<Option<Self>> {
        if let StoreChoice::Embedded(config) = choice
            && !config.path.exists()
        {
            return Ok(None);
        }
        let open = OpenStore::open_with(choice, SPECS, clock).await?;
        refuse_built_in(&*open.recent()).await?;
        Ok(Self::read(&*open.recent()).await?.map(|(record, _)| record))
    }

    /// Refuses the data of a served model, of which the built-in domains see their own containers alone.
    ///
    /// # Errors
    /// The store has a record of a model, or cannot be read.
    async fn refuse_served(store: &dyn Store) -> anyhow::Result<()> {
        let found =
            Self::read(store).await?.and_then(|(record, _)| Model::read(STORED_MODEL, &record.model).ok());
        match found {
            Some(model) => anyhow::bail!(
                "these are the data of the model `{}`: commands with --model FILE work on them",
                model.name()
            ),
            None => Ok(()),
        }
    }

    /// The record after a change of the model.
    ///
    /// # Errors
    /// [`RefusedChange`].
    pub(super) fn changed(
        before: Option<&Self>,
        model: &Model,
        accepted: AcceptedChanges,
    ) -> Result<Self, RefusedChange> {
        let mut record = Self {
            id: ID.to_owned(),
            item_type: "servedModel".to_owned(),
            model: model.print(),
            building: before.map(|before| before.building.clone()).unwrap_or_default(),
        };
        let Some(before) = before else { return Ok(record) };
        // A model that this release cannot read has nothing to compare with.
        let Ok(stored) = Model::read(STORED_MODEL, &before.model).map(Model::for_serving) else {
            return Ok(record);
        };
        if stored.name() != model.name() {
            let (stored, wanted) = (stored.name().to_owned(), model.name().to_owned());
            return Err(RefusedChange::OtherModel { stored, wanted });
        }
        let diff = stored.diff(model);
        let is_refused = |effect: &&Effect| match effect.severity {
            Severity::Refused => true,
            Severity::Breaking => accepted == AcceptedChanges::Compatible,
            Severity::Rebuild | Severity::None => false,
        };
        let refused: Vec<Effect> = diff.effects().iter().filter(is_refused).cloned().collect();
        if !refused.is_empty() {
            return Err(RefusedChange::Refused { refused });
        }
        let rebuilt = diff.effects().iter().filter(|effect| effect.severity == Severity::Rebuild);
        record
            .building
            .extend(rebuilt.map(|effect| effect.place.clone()).filter(|place| place.contains('.')));
        Ok(record)
    }

    /// Requires that the data are of exactly this model.
    ///
    /// # Errors
    /// They are of another one, or of another version of it.
    pub(super) fn require(&self, model: &Model) -> anyhow::Result<()> {
        Self::changed(Some(self), model, AcceptedChanges::Breaking)?;
        anyhow::ensure!(
            self.model == model.print(),
            "the data are of another version of the model {:?}: serve this one on them first",
            model.name()
        );
        Ok(())
    }

    /// The fields whose read models are not complete.
    pub(super) fn fields_in_building(&self) -> FieldsInBuilding {
        FieldsInBuilding::new(self.building.clone())
    }

    /// Compares a model with the stored record, and writes the record of this one unless it is equal.
    ///
    /// # Errors
    /// [`RefusedChange`]; a fault of the store.
    pub(super) async fn succeeding(
        store: &dyn Store,
        model: &Model,
        accepted: AcceptedChanges,
    ) -> anyhow::Result<Self> {
        for _ in 0..conditional_write::ATTEMPTS_MAX {
            let (before, etag) = Self::read(store).await?.unzip();
            let record = Self::changed(before.as_ref(), model, accepted)?;
            let is_same = |before: &Self| before.model == record.model && before.building == record.building;
            if before.as_ref().is_some_and(is_same) {
                return Ok(record);
            }
            let item = NewItem::encode(ID, &record);
            let write = match etag {
                Some(etag) => WriteOp::Replace { item, if_match: Some(etag) },
                None => WriteOp::Create(item),
            };
            let (key, ledger) = (PartitionKey::from(ID), Ledger::new());
            // A process with another model may start at the same moment.
            if conditional_write::attempt(store, LEASES, &key, write, &ledger).await? == WriteAttempt::Written
            {
                return Ok(record);
            }
        }
        Err(contended("the record of the model").into())
    }

    /// Says that all read models are complete, unless the model has changed since.
    ///
    /// # Errors
    /// A fault of the store.
    pub(super) async fn complete(
        mut self,
        store: &dyn Store,
        fields: &FieldsInBuilding,
    ) -> anyhow::Result<()> {
        let present = Self::read(store).await?;
        if let Some((_, etag)) = present.filter(|(present, _)| present.model == self.model) {
            self.building.clear();
            let item = NewItem::encode(ID, &self);
            let replace = WriteOp::Replace { item, if_match: Some(etag) };
            store.write(LEASES, &PartitionKey::from(ID), replace, &Ledger::new()).await?;
        }
        fields.clear();
        Ok(())
    }

    async fn read(store: &dyn Store) -> anyhow::Result<Option<(Self, ETag)>> {
        let found = store.read(LEASES, &PartitionKey::from(ID), ID, &Ledger::new()).await?;
        Ok(found.map(|item| Ok::<_, onehop_store::Fault>((item.decode()?, item.etag.clone()))).transpose()?)
    }
}

/// The id of the mark of the built-in domains' data, and its partition key.
const BUILT_IN: &str = "built-in-domains";

/// Marks the data of the built-in domains, so that no model takes them for its own.
///
/// # Errors
/// The store has a record of a model; a fault of the store.
pub(super) async fn mark_built_in(store: &dyn Store) -> anyhow::Result<()> {
    ModelRecord::refuse_served(store).await?;
    let (key, ledger) = (PartitionKey::from(BUILT_IN), Ledger::new());
    if store.read(LEASES, &key, BUILT_IN, &ledger).await?.is_none() {
        let mark = json!({ "id": BUILT_IN, "type": "builtInDomains" });
        let create = WriteOp::Create(NewItem::encode(BUILT_IN, &mark));
        // Another process may write it at the same moment. Where the disk is full, a later start does.
        if let Err(fault) = conditional_write::attempt(store, LEASES, &key, create, &ledger).await {
            tracing::warn!(%fault, "the data of the built-in domains are not marked as theirs yet");
        }
    }
    Ok(())
}

async fn refuse_built_in(store: &dyn Store) -> anyhow::Result<()> {
    let found = store.read(LEASES, &PartitionKey::from(BUILT_IN), BUILT_IN, &Ledger::new()).await?;
    anyhow::ensure!(
        found.is_none(),
        "these are the data of the built-in domains: commands without --model work on them"
    );
    Ok(())
}

fn lines(effects: &[Effect]) -> String {
    effects
        .iter()
        .map(|effect| format!("\n  {} {}: {}", effect.severity, effect.place, effect.sentence))
        .collect()
}
