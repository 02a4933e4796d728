//! `onehop import`: imports files into the store of a served model.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;

use super::Exit;
use super::model::open_served;
use super::progress::Bar;
use crate::app::ServedApp;
use crate::app::work::Progress;
use crate::config::StoreSettings;
use crate::served::import::{ImportEvent, Reject, TypeReport, files_of, import};

/// The rejected rows that are printed.
const REJECTS_PRINTED: u64 = 20;
/// The rows between two looks at the progress bar.
const ROWS_SHOWN: u64 = 100;

/// Arguments of `onehop import`.
#[derive(Debug, Args)]
pub struct Import {
    /// Model file: the domain of the data. No server may run on the data directory
    #[arg(long, value_name = "FILE", env = "ONEHOP_MODEL")]
    model: PathBuf,

    /// Directory with files of rows: Type.jsonl or Type.csv, with .gz where they are compressed
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    /// File for the rejected rows: JSON lines with file, line and reason
    #[arg(long, value_name = "FILE", env = "ONEHOP_REJECTS")]
    rejects: Option<PathBuf>,

    #[command(flatten)]
    store: StoreSettings,
}

impl Import {
    pub async fn run(self) -> anyhow::Result<Exit> {
        let app = open_served(&self.model, &self.store).await?;
        let imported = import_directory(&app, &self.directory, self.rejects.as_ref()).await;
        app.engine.close().await;
        Ok(imported?.exit)
    }
}

/// Imports the files of a directory, waits for the read models, and prints the number of rows of each type.
pub(super) async fn import_directory(
    app: &ServedApp,
    directory: &Path,
    rejects: Option<&PathBuf>,
) -> anyhow::Result<ImportOutcome> {
    let files = files_of(&app.model, directory)?;
    let mut output = Rejects::new(rejects)?;
    let mut bar = Bar::new();
    let mut written = Ok(());
    let imported = import(&app.commands, &files, |event| match event {
        ImportEvent::Progress { type_name, rows } if rows % ROWS_SHOWN == 0 => {
            bar.show(&Progress { step: type_name.to_owned(), done: rows, total: None });
        }
        ImportEvent::Progress { .. } => {}
        ImportEvent::Rejected(reject) => {
            if let Err(error) = output.add(&reject) {
                written = Err(error);
            }
        }
    });
    let imported = imported.await;
    bar.clear();
    let drained = app.engine.processor.drain().await;
    written.and_then(|()| output.flush())?;
    let reports = imported?;
    drained.context("the items are there, and their read models follow when a server runs")?;
    for (name, TypeReport { created, existed, rejected }) in &reports {
        println!("{name}: {created} created, {existed} existed, {rejected} rejected");
    }
    let exit = if output.count == 0 { Exit::Success } else { Exit::Drifted };
    Ok(ImportOutcome { exit, reports })
}

/// The outcome of an import.
pub(super) struct ImportOutcome {
    pub(super) exit: Exit,
    /// The rows of each type.
    pub(super) reports: Vec<(&'static str, TypeReport)>,
}

/// The rejected rows: the first on standard error, all in a file where one is named.
struct Rejects {
    file: Option<BufWriter<File>>,
    count: u64,
}

impl Rejects {
    fn new(path: Option<&PathBuf>) -> anyhow::Result<Self> {
        let create = |path: &PathBuf| {
            let file = File::create(path).with_context(|| format!("{} cannot be written", path.display()))?;
            anyhow::Ok(BufWriter::new(file))
        };
        Ok(Self { file: path.map(create).transpose()?, count: 0 })
    }

    fn add(&mut self, reject: &Reject) -> anyhow::Result<()> {
        self.count += 1;
        if self.count <= REJECTS_PRINTED {
            eprintln!("{}:{}: {}", reject.file, reject.line, reject.reason);
        }
        if let Some(file) = &mut self.file {
            writeln!(file, "{}", serde_json::to_string(reject)?)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> anyhow::Result<()> {
        if self.count > REJECTS_PRINTED {
            let more = self.count - REJECTS_PRINTED;
            eprintln!("and {more} more rejected rows: --rejects FILE lists them all");
        }
        if let Some(file) = &mut self.file {
            file.flush()?;
        }
        Ok(())
    }
}
