//! `onehop copy`: copies a domain from one store to another, and verifies the copy.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;

use super::Exit;
use super::model::served_model;
use super::progress::{Bar, perform_on};
use super::verify;
use crate::app::work::Progress;
use crate::app::{AcceptedChanges, App, AppOptions, Member, OpenStore, ServedApp, write_side};
use crate::config::{DataSettings, Environment, StoreChoice, StoreKind, StoreSettings};
use crate::copy::{Copier, CopyProgress};
use crate::domain::containers::WrittenItems;
use crate::operations::{OperationRequest, VERIFY};
use onehop_read_models::verify::VerificationReport;
use onehop_store::Store;
use serde_json::Value;

/// Arguments of `onehop copy`.
#[derive(Debug, Args)]
pub struct Copy {
    /// Source: `embedded:DIRECTORY`, or `cosmos` for the account of the --cosmos-... settings. Nothing may
    /// write to it meanwhile
    #[arg(long, value_name = "STORE", env = "ONEHOP_FROM")]
    from: StoreArgument,

    /// Target, in the same form: empty, or with a part of this copy
    #[arg(long, value_name = "STORE", env = "ONEHOP_TO")]
    to: StoreArgument,

    /// Model file: copy the data of the domain that it declares
    #[arg(long, value_name = "FILE", env = "ONEHOP_MODEL")]
    model: Option<PathBuf>,

    #[command(flatten)]
    store: StoreSettings,
}

/// A store, as a word of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
enum StoreArgument {
    Embedded(PathBuf),
    Cosmos,
}

impl FromStr for StoreArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("embedded", directory)) if !directory.is_empty() => Ok(Self::Embedded(directory.into())),
            None if text == "cosmos" => Ok(Self::Cosmos),
            _ => Err("a store is `embedded:DIRECTORY` or `cosmos`".to_owned()),
        }
    }
}

impl Copy {
    pub async fn run(self) -> anyhow::Result<Exit> {
        anyhow::ensure!(
            self.from != StoreArgument::Cosmos || self.to != StoreArgument::Cosmos,
            "--from and --to are the same"
        );
        let stores = (self.source()?, self.choice(&self.to)?);
        let report = match &self.model {
            Some(file) => self.copy_model(file, &stores).await?,
            None => self.copy_built_in(&stores).await?,
        };
        let report: VerificationReport =
            serde_json::from_value(report).context("the outcome has an unexpected shape")?;
        verify::print(&report);
        Ok(verify::exit_of(&report))
    }

    /// Copies the built-in domains, and verifies the copy.
    async fn copy_built_in(&self, (from, to): &(StoreChoice, StoreChoice)) -> anyhow::Result<Value> {
        let options = AppOptions::default();
        let source = OpenStore::open(from, &options.clock).await.context("--from")?;
        self.require_other(&source)?;
        let target = OpenStore::open(to, &options.clock).await.context("--to")?;
        copy_items(source, target.background(), name_of(from), write_side().collect()).await?;
        let app = Arc::new(App::over(&target, Member::of(to), options).await?);
        app.start_readers();
        let report = perform_on(&app, &verification()).await;
        app.close().await;
        report
    }

    /// Copies the domain of a model file, and verifies the copy.
    async fn copy_model(
        &self,
        file: &Path,
        (from, to): &(StoreChoice, StoreChoice),
    ) -> anyhow::Result<Value> {
        let served = served_model(file)?;
        let write_side = served.model.write_side()?;
        let options = AppOptions::default();
        let source = ServedApp::open_source(&served.model, from, &options.clock).await;
        let source = source.map_err(|error| served.explained(error)).context("--from")?;
        self.require_other(&source)?;
        let accepted = AcceptedChanges::Compatible;
        let app = ServedApp::open(Arc::clone(&served.model), to, accepted, options).await;
        let app = app.map_err(|error| served.explained(error)).context("--to")?;
        let target = Arc::clone(&app.engine.background);
        let copied = copy_items(source, target, name_of(from), write_side).await;
        let report = match copied {
            Ok(()) => perform_on(&app, &verification()).await,
            Err(error) => Err(error),
        };
        app.engine.close().await;
        report
    }

    fn require_other(&self, source: &OpenStore) -> anyhow::Result<()> {
        if let (Some(from), StoreArgument::Embedded(to)) = (source.directory(), &self.to) {
            anyhow::ensure!(!is_same(from, to), "--from and --to are the same");
        }
        Ok(())
    }

    /// The source, which must exist: a wrong name would otherwise copy an empty directory.
    fn source(&self) -> anyhow::Result<StoreChoice> {
        if let StoreArgument::Embedded(directory) = &self.from {
            anyhow::ensure!(directory.is_dir(), "--from {}: there is no such directory", directory.display());
            // It was made with its number of physical partitions.
            let data = DataSettings {
                data: directory.clone(),
                physical_partitions: None,
                ..self.store.data.clone()
            };
            return Ok(StoreChoice::Embedded(data.embedded()));
        }
        self.choice(&self.from)
    }

    fn choice(&self, place: &StoreArgument) -> anyhow::Result<StoreChoice> {
        match place {
            StoreArgument::Embedded(directory) => {
                let data = DataSettings { data: directory.clone(), ..self.store.data.clone() };
                Ok(StoreChoice::Embedded(data.embedded()))
            }
            StoreArgument::Cosmos => {
                let settings = StoreSettings { store: StoreKind::Cosmos, ..self.store.clone() };
                Ok(settings.choice(&Environment::of_process())?)
            }
        }
    }
}

fn verification() -> OperationRequest {
    OperationRequest::new(VERIFY).with("repair", false)
}

/// Copies the items of a write side, and closes the source.
async fn copy_items(
    source: OpenStore,
    target: Arc<dyn Store>,
    source_name: String,
    write_side: Vec<WrittenItems>,
) -> anyhow::Result<()> {
    let copier = Copier { source: source.background(), target, source_name, write_side };
    let copied = copy_with_bar(&copier).await?;
    println!("{} items copied, {} before", copied.items, copied.items_before);
    Ok(())
}

async fn copy_with_bar(copier: &Copier) -> anyhow::Result<CopyProgress> {
    let (sender, mut steps) = tokio::sync::watch::channel(CopyProgress { items: 0, items_before: 0 });
    let copying = copier.run(|progress| {
        // A bar that is gone needs nothing.
        let _ = sender.send(progress);
    });
    tokio::pin!(copying);
    let mut bar = Bar::new();
    let copied = loop {
        tokio::select! {
            biased;
            copied = &mut copying => break copied,
            Ok(()) = steps.changed() => {
                let CopyProgress { items, items_before } = *steps.borrow_and_update();
                let done = items + items_before;
                bar.show(&Progress { step: "copying".to_owned(), done, total: None });
            }
        }
    };
    bar.clear();
    copied.context("the copy is not complete; the same command goes on with it")
}

fn name_of(choice: &StoreChoice) -> String {
    match choice {
        StoreChoice::Embedded(config) => {
            let path = config.path.canonicalize().unwrap_or_else(|_| config.path.clone());
            format!("embedded:{}", path.display())
        }
        StoreChoice::Cosmos(account) => {
            format!("cosmos:{}/{}", account.endpoint.trim_end_matches('/'), account.database)
        }
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().ok().zip(other.canonicalize().ok()).is_some_and(|(one, other)| one == other)
}
