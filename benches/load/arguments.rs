//! The command line of the load run.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Parser;

use crate::operations::Operation;

/// Requests over HTTP to the release server and to a bare schema, compared
#[derive(Debug, Parser)]
pub struct Arguments {
    /// Connections that each send one request at a time
    #[arg(long, default_value = "32")]
    pub connections: NonZeroUsize,

    /// Requests in a round; without it as many as fit into the time of a round
    #[arg(long)]
    pub requests: Option<NonZeroUsize>,

    /// Rounds of each operation on each server, in turns; the medians are reported
    #[arg(long, default_value = "5")]
    pub rounds: NonZeroUsize,

    /// Milliseconds that a round takes
    #[arg(long, default_value_t = 800)]
    pub round_ms: u64,

    /// Users of the data set
    #[arg(long, default_value_t = 200)]
    pub users: u32,

    /// Measure on this data directory, which is written to, instead of a new one
    #[arg(long)]
    pub data: Option<PathBuf>,

    /// Measure these operations only, such as Q6 or Q1,C4
    #[arg(long, value_enum, value_delimiter = ',', ignore_case = true)]
    pub only: Vec<Operation>,

    /// Print JSON instead of a table
    #[arg(long)]
    pub json: bool,

    /// Given by `cargo bench`, and not by `cargo test`
    #[arg(long, hide = true)]
    pub bench: bool,

    /// Serve the bare schema with the data of this file
    #[arg(long, hide = true)]
    pub serve_bare: Option<PathBuf>,
}

impl Arguments {
    /// Whether an operation is to be measured.
    pub fn includes(&self, operation: Operation) -> bool {
        self.only.is_empty() || self.only.contains(&operation)
    }
}
