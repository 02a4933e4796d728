//! `onehop verify`: verifies every count, copy, summary and reservation against the write side.

use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;

use super::Exit;
use super::progress::perform;
use super::rebuild::NEXT_AFTER_DAMAGE;
use crate::config::StoreSettings;
use crate::operations::{OperationRequest, VERIFY};
use onehop_read_models::verify::{ItemCount, Unreadable, VerificationReport};

/// Arguments of `onehop verify`.
#[derive(Debug, Args)]
pub struct Verify {
    /// Repair each drift, then verify again. It may run beside writes
    #[arg(long, env = "ONEHOP_REPAIR", value_parser = BoolishValueParser::new())]
    repair: bool,

    /// Print the report as JSON
    #[arg(long, env = "ONEHOP_JSON", value_parser = BoolishValueParser::new())]
    json: bool,

    /// Model file: verify the domain that it declares. A server on the data directory needs no file
    #[arg(long, value_name = "FILE", env = "ONEHOP_MODEL")]
    model: Option<PathBuf>,

    #[command(flatten)]
    store: StoreSettings,
}

impl Verify {
    pub async fn run(self) -> anyhow::Result<Exit> {
        let operation = OperationRequest::new(VERIFY).with("repair", self.repair);
        let report = perform(&self.store, self.model.as_deref(), operation).await?;
        if self.json {
            println!("{}", serde_json::to_string_pretty(&report)?);
        } else {
            print(&report);
        }
        Ok(exit_of(&report))
    }
}

/// The exit status of a command with these findings.
pub(super) fn exit_of(report: &VerificationReport) -> Exit {
    if report.is_clean() { Exit::Success } else { Exit::Drifted }
}

/// Prints a report for a person.
pub(super) fn print(report: &VerificationReport) {
    let VerificationReport { items, drifts, unreadable, repaired } = report;
    let of_type =
        |ItemCount { container, item_type, items }: &ItemCount| format!("{items} {item_type} in {container}");
    println!("{}", items.iter().map(of_type).collect::<Vec<_>>().join(", "));
    if *repaired > 0 {
        println!("{repaired} drifts repaired");
    }
    for drift in drifts {
        println!("drift: {}", serde_json::to_string(drift).unwrap_or_else(|_| format!("{drift:?}")));
    }
    for Unreadable { container, problem, .. } in unreadable {
        println!("unreadable: {container}: {problem}");
    }
    if !unreadable.is_empty() {
        println!("{NEXT_AFTER_DAMAGE}");
    }
    match drifts.len() {
        0 if !unreadable.is_empty() => println!("no drifts in what could be read"),
        0 => println!("clean"),
        1 => println!("1 drift"),
        number => println!("{number} drifts"),
    }
}
