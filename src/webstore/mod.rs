//! The web store domain: commands and reads over the store port. It knows no GraphQL, no HTTP and no other
//! domain.

pub mod api_additions;
pub mod commands;
pub mod containers;
pub mod dataset;
pub mod ids;
pub mod items;
pub mod model;
pub mod read_models;
pub mod reads;
pub mod seeder;
pub mod verify;
pub mod write_limits;

use commands::WebstoreCommands;
use reads::WebstoreReads;

/// The web store of a process.
#[derive(Debug, Clone)]
pub struct Webstore {
    pub reads: WebstoreReads,
    /// Reads that see commits of other processes.
    pub live_reads: WebstoreReads,
    pub commands: WebstoreCommands,
}

impl Webstore {
    /// The same, whose reads see commits of other processes.
    #[must_use]
    pub fn live(&self) -> Self {
        Self { reads: self.live_reads.clone(), ..self.clone() }
    }
}
