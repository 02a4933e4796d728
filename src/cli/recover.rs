//! `onehop recover`: recovers a data directory that has lost writes.

use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;
use serde::Serialize;

use super::Exit;
use super::model::containers_of;
use super::progress::with_bar;
use crate::app::operations;
use crate::config::DataSettings;
use onehop_store::embedded::{IntegrityReport, Recovery};

/// Arguments of `onehop recover`.
#[derive(Debug, Args)]
pub struct Recover {
    /// Print the report as JSON
    #[arg(long, env = "ONEHOP_JSON", value_parser = BoolishValueParser::new())]
    json: bool,

    /// Model file: the domain of the data, in place of the built-in domains
    #[arg(long, value_name = "FILE", env = "ONEHOP_MODEL")]
    model: Option<PathBuf>,

    #[command(flatten)]
    data: DataSettings,
}

impl Recover {
    pub async fn run(self) -> anyhow::Result<Exit> {
        self.data.require_directory()?;
        let specs = containers_of(self.model.as_deref())?;
        let config = self.data.embedded_for_scan();
        let recovered =
            with_bar("recovering", |keep_going| operations::recover(config, specs, keep_going)).await?;
        let (recovery, found) = recovered;
        if self.json {
            let report = Report { recovery: &recovery, problems: &found.problems, unnamed: found.unnamed };
            println!("{}", serde_json::to_string_pretty(&report)?);
        } else if recovery.losses.is_empty() && !found.is_sound() {
            print_damage(&found);
        } else {
            print(&recovery);
            if !found.is_sound() {
                print_damage(&found);
            }
        }
        Ok(if found.is_sound() { Exit::Success } else { Exit::Drifted })
    }
}

/// The report as JSON.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    recovery: &'a Recovery,
    /// Problems that are left.
    problems: &'a [String],
    unnamed: u64,
}

fn print_damage(found: &IntegrityReport) {
    for problem in &found.problems {
        println!("damaged: {problem}");
    }
    if found.unnamed > 0 {
        println!("damaged: {} more", found.unnamed);
    }
    println!(
        "a recovery makes a directory consistent after the loss of a journal, and cannot mend damaged files. Next: keep a \
         copy of the directory, and restore a backup with `onehop restore`"
    );
}

fn print(recovery: &Recovery) {
    let Recovery {
        losses,
        last_commit,
        expected_commit,
        items,
        items_dropped,
        entries_made,
        entries_dropped,
    } = recovery;
    if losses.is_empty() {
        println!("nothing is missing");
        return;
    }
    for loss in losses {
        println!("lost: {loss}");
    }
    if expected_commit > last_commit {
        println!("dropped: the commits {} to {expected_commit}, with every write in them", last_commit + 1);
    }
    println!("{items} items are left, {items_dropped} were older versions or could not be read");
    println!(
        "{entries_made} entries of ids, indexes and the change log were made again, {entries_dropped} dropped"
    );
    println!("next: onehop verify --repair");
}
