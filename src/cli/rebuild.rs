//! `onehop rebuild` and `onehop replay`: rebuilds read models from the change feed, and replays dead letters.

use std::path::PathBuf;

use clap::Args;
use serde::Deserialize;

use super::Exit;
use super::progress::perform;
use crate::config::StoreSettings;
use crate::operations::{OperationRequest, REBUILD, REPLAY};

/// The hint that follows unreadable items.
pub(super) const NEXT_AFTER_DAMAGE: &str =
    "next: onehop check names everything that cannot be read; stop the server and restore a backup";

/// Arguments of `onehop rebuild`.
#[derive(Debug, Args)]
pub struct Rebuild {
    /// Read model to rebuild [default: all]
    #[arg(long, value_name = "NAME", env = "ONEHOP_READ_MODEL")]
    read_model: Option<String>,

    /// Model file: rebuild read models of the domain that it declares. A server on the data directory needs
    /// no file
    #[arg(long, value_name = "FILE", env = "ONEHOP_MODEL")]
    model: Option<PathBuf>,

    #[command(flatten)]
    store: StoreSettings,
}

/// Arguments of `onehop replay`.
#[derive(Debug, Args)]
pub struct Replay {
    /// Read model whose dead letters are replayed [default: all]
    #[arg(long, value_name = "NAME", env = "ONEHOP_READ_MODEL")]
    read_model: Option<String>,

    /// Model file: the domain of the data, in place of the built-in domains. A server on the data directory
    /// needs no file
    #[arg(long, value_name = "FILE", env = "ONEHOP_MODEL")]
    model: Option<PathBuf>,

    #[command(flatten)]
    store: StoreSettings,
}

#[derive(Deserialize)]
struct Rebuilt {
    changes: u64,
    parked: u64,
    /// Items that could not be read and are left out.
    #[serde(default)]
    unreadable: Vec<String>,
}

/// The outcome of a replay.
#[derive(Deserialize)]
pub(super) struct Replayed {
    changes: u64,
    /// Logical partitions with changes that are still parked.
    parked: u64,
}

impl Rebuild {
    pub async fn run(self) -> anyhow::Result<Exit> {
        let operation = OperationRequest::new(REBUILD).with("readModel", self.read_model);
        let outcome: Rebuilt = perform(&self.store, self.model.as_deref(), operation).await?;
        for problem in &outcome.unreadable {
            println!("unreadable: {problem}");
        }
        println!("{} changes projected, {} parked", outcome.changes, outcome.parked);
        if outcome.unreadable.is_empty() {
            return Ok(Exit::Success);
        }
        println!("{NEXT_AFTER_DAMAGE}");
        Ok(Exit::Drifted)
    }
}

impl Replay {
    pub async fn run(self) -> anyhow::Result<Exit> {
        let operation = OperationRequest::new(REPLAY).with("readModel", self.read_model);
        let replayed: Replayed = perform(&self.store, self.model.as_deref(), operation).await?;
        Ok(replayed.print())
    }
}

impl Replayed {
    /// Prints the outcome and returns the exit status.
    pub(super) fn print(&self) -> Exit {
        println!("{} changes projected, {} still parked", self.changes, self.parked);
        if self.parked == 0 { Exit::Success } else { Exit::Drifted }
    }
}
