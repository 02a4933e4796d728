//! `onehop rebuild` and `onehop replay`: read models anew, and parked changes once more.

use clap::Args;
use serde::Deserialize;

use super::Exit;
use super::progress::perform;
use crate::config::StoreSettings;
use crate::control::Work;

/// The server keeps answering from the old copies meanwhile.
#[derive(Debug, Args)]
pub struct Rebuild {
    #[command(flatten)]
    store: StoreSettings,

    /// The read model to fill; all of them unless it is given
    #[arg(long, value_name = "NAME", env = "ONEHOP_READ_MODEL")]
    read_model: Option<String>,
}

/// Changes that could not be projected are parked with their error, and later changes of their logical partition
/// behind them.
#[derive(Debug, Args)]
pub struct Replay {
    #[command(flatten)]
    store: StoreSettings,

    /// The read model whose parked changes are tried; all of them unless it is given
    #[arg(long, value_name = "NAME", env = "ONEHOP_READ_MODEL")]
    read_model: Option<String>,
}

#[derive(Deserialize)]
struct Rebuilt {
    changes: u64,
    parked: u64,
}

/// What a replay did.
#[derive(Deserialize)]
pub(super) struct Replayed {
    changes: u64,
    /// Logical partitions that wait still.
    parked: u64,
}

impl Rebuild {
    pub async fn run(self) -> anyhow::Result<Exit> {
        let outcome: Rebuilt = perform(&self.store, Work::Rebuild { read_model: self.read_model }).await?;
        println!("{} changes projected, {} parked", outcome.changes, outcome.parked);
        Ok(Exit::Success)
    }
}

impl Replay {
    pub async fn run(self) -> anyhow::Result<Exit> {
        let replayed: Replayed = perform(&self.store, Work::Replay { read_model: self.read_model }).await?;
        replayed.print();
        Ok(Exit::Success)
    }
}

impl Replayed {
    pub(super) fn print(&self) {
        println!("{} changes projected, {} still parked", self.changes, self.parked);
    }
}
