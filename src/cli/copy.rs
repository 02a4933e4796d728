//! `onehop copy`: copies a blog from one store to another, and verifies the copy.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;

use super::Exit;
use super::progress::{Bar, perform_on};
use super::verify;
use crate::app::work::Progress;
use crate::app::{App, AppOptions, Member, OpenStore};
use crate::config::{DataSettings, Environment, StoreChoice, StoreKind, StoreSettings};
use crate::copy::{Copier, CopyProgress};
use crate::operations::{OperationRequest, VERIFY};
use onehop_read_models::verify::VerificationReport;

/// Arguments of `onehop copy`.
#[derive(Debug, Args)]
pub struct Copy {
    /// Source: `embedded:DIRECTORY`, or `cosmos` for the account of the --cosmos-... settings. Nothing may
    /// write to it meanwhile
    #[arg(long, value_name = "STORE", env = "ONEHOP_FROM")]
    from: Place,

    /// Target, in the same form: empty, or with a part of this copy
    #[arg(long, value_name = "STORE", env = "ONEHOP_TO")]
    to: Place,

    #[command(flatten)]
    store: StoreSettings,
}

/// A store, as a word of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    Embedded(PathBuf),
    Cosmos,
}

impl FromStr for Place {
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
            self.from != Place::Cosmos || self.to != Place::Cosmos,
            "--from and --to are the same"
        );
        let (source_choice, target_choice) = (self.source()?, self.choice(&self.to)?);
        let options = AppOptions::default();
        let source = OpenStore::open(&source_choice, &options.clock).await.context("--from")?;
        if let (Some(from), Place::Embedded(to)) = (source.directory(), &self.to) {
            anyhow::ensure!(!is_same(from, to), "--from and --to are the same");
        }
        let target = OpenStore::open(&target_choice, &options.clock).await.context("--to")?;
        let copier = Copier {
            source: source.background(),
            target: target.background(),
            source_name: name_of(&source_choice),
        };
        let copied = copy_with_bar(&copier).await?;
        println!("{} items copied, {} before", copied.items, copied.items_before);
        drop((copier, source));

        let app = Arc::new(App::over(&target, Member::of(&target_choice), options).await?);
        app.start_readers();
        let report = perform_on(&app, &OperationRequest::new(VERIFY).with("repair", false)).await;
        app.close().await;
        let report: VerificationReport =
            serde_json::from_value(report?).context("the outcome has an unexpected shape")?;
        verify::print(&report);
        Ok(verify::exit_of(&report))
    }

    /// The source, which must exist: a wrong name would otherwise copy an empty directory.
    fn source(&self) -> anyhow::Result<StoreChoice> {
        if let Place::Embedded(directory) = &self.from {
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

    fn choice(&self, place: &Place) -> anyhow::Result<StoreChoice> {
        match place {
            Place::Embedded(directory) => {
                let data = DataSettings { data: directory.clone(), ..self.store.data.clone() };
                Ok(StoreChoice::Embedded(data.embedded()))
            }
            Place::Cosmos => {
                let settings = StoreSettings { store: StoreKind::Cosmos, ..self.store.clone() };
                Ok(settings.choice(&Environment::of_process())?)
            }
        }
    }
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
