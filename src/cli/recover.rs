//! `onehop recover`: recovers a data directory that has lost writes.

use clap::Args;
use clap::builder::BoolishValueParser;

use super::Exit;
use super::progress::with_bar;
use crate::app::operations;
use crate::config::DataSettings;
use onehop_store::embedded::Recovery;

/// Arguments of `onehop recover`.
#[derive(Debug, Args)]
pub struct Recover {
    /// Print the report as JSON
    #[arg(long, env = "ONEHOP_JSON", value_parser = BoolishValueParser::new())]
    json: bool,

    #[command(flatten)]
    data: DataSettings,
}

impl Recover {
    pub async fn run(self) -> anyhow::Result<Exit> {
        self.data.require_directory()?;
        let config = self.data.embedded_for_scan();
        let recovery = with_bar("recovering", |keep_going| operations::recover(config, keep_going)).await?;
        if self.json {
            println!("{}", serde_json::to_string_pretty(&recovery)?);
        } else {
            print(&recovery);
        }
        Ok(Exit::Success)
    }
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
