//! `onehop check`: integrity check of a data directory.

use clap::Args;
use clap::builder::BoolishValueParser;

use super::Exit;
use super::progress::{ask_holder, with_bar};
use crate::app::operations;
use crate::config::DataSettings;
use crate::operations::{CHECK, OperationRequest};
use onehop_store::embedded::IntegrityReport;

/// Arguments of `onehop check`.
#[derive(Debug, Args)]
pub struct Check {
    /// Print the report as JSON
    #[arg(long, env = "ONEHOP_JSON", value_parser = BoolishValueParser::new())]
    json: bool,

    #[command(flatten)]
    data: DataSettings,
}

impl Check {
    pub async fn run(self) -> anyhow::Result<Exit> {
        self.data.require_directory()?;
        let found: IntegrityReport = match ask_holder(&self.data.data, &OperationRequest::new(CHECK)).await? {
            Some(found) => serde_json::from_value(found)?,
            None => {
                let config = self.data.embedded_for_scan();
                with_bar("checking", |keep_going| operations::check_directory(config, keep_going)).await?
            }
        };
        if self.json {
            println!("{}", serde_json::to_string_pretty(&found)?);
        } else {
            print(&found);
        }
        Ok(if found.is_sound() { Exit::Success } else { Exit::Drifted })
    }
}

fn print(found: &IntegrityReport) {
    let IntegrityReport { items, entries, problems, unnamed } = found;
    println!("{items} items, {entries} entries of indexes and of the change log");
    for problem in problems {
        println!("problem: {problem}");
    }
    match problems.len() as u64 + unnamed {
        0 => println!("sound"),
        1 => println!("1 problem"),
        number => println!("{number} problems"),
    }
}
