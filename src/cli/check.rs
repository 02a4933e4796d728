//! `onehop check`: integrity check of a data directory.

use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;

use super::Exit;
use super::model::containers_of;
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

    /// Model file: the domain of the data, in place of the built-in domains
    #[arg(long, value_name = "FILE", env = "ONEHOP_MODEL")]
    model: Option<PathBuf>,

    #[command(flatten)]
    data: DataSettings,
}

impl Check {
    pub async fn run(self) -> anyhow::Result<Exit> {
        self.data.require_directory()?;
        let specs = containers_of(self.model.as_deref())?;
        let found: IntegrityReport = match ask_holder(&self.data.data, &OperationRequest::new(CHECK)).await? {
            Some(found) => serde_json::from_value(found)?,
            None => {
                let config = self.data.embedded_for_scan();
                with_bar("checking", |keep_going| operations::check_directory(config, specs, keep_going))
                    .await?
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
