//! The command line of the load run.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};

use crate::operations::Operation;

/// Requests over HTTP to the release server and to a bare schema, compared
#[derive(Debug, Parser)]
pub struct Arguments {
    /// Connections that each send one request at a time
    #[arg(long, default_value = "32")]
    pub connections: NonZeroUsize,

    /// A quick look before and after a change: three short rounds of each operation
    #[arg(long, conflicts_with_all = ["rounds", "round_ms"])]
    pub short: bool,

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
    #[arg(long, default_value_t = 50)]
    pub users: u32,

    /// The lengths of the texts of the data set
    #[arg(long, value_enum, default_value = "short")]
    pub texts: Texts,

    /// Comment on and like posts of all users in random order, and not the first 1,500 posts
    #[arg(long)]
    pub random: bool,

    /// Measure this release binary, too, on a copy of the data: the program before a change
    #[arg(long, value_name = "PROGRAM")]
    pub before: Option<PathBuf>,

    /// Measure on this data directory, which is written to, instead of a new one
    #[arg(long)]
    pub data: Option<PathBuf>,

    /// Measure the writes on this server, too, which runs already and answers the same mutations
    #[arg(long, value_name = "HOST:PORT", requires = "peer_processes")]
    pub peer: Option<String>,

    /// Processes of the peer, which are measured with all their descendants
    #[arg(long, value_name = "PID", value_delimiter = ',')]
    pub peer_processes: Vec<u32>,

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

/// The lengths of texts, as `onehop seed` has them.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Texts {
    Short,
    Long,
}

impl Texts {
    /// The value of the seeder's flag.
    pub fn name(self) -> &'static str {
        match self {
            Self::Short => "short",
            Self::Long => "long",
        }
    }
}

/// Rounds and their length in a short run.
const SHORT_ROUNDS: usize = 3;
const SHORT_ROUND_MS: u64 = 500;

impl Arguments {
    /// The number of rounds of each operation.
    pub fn rounds(&self) -> usize {
        if self.short { SHORT_ROUNDS } else { self.rounds.get() }
    }

    /// The duration of a round.
    pub fn round(&self) -> Duration {
        Duration::from_millis(if self.short { SHORT_ROUND_MS } else { self.round_ms })
    }

    /// Whether an operation is to be measured.
    pub fn includes(&self, operation: Operation) -> bool {
        self.only.is_empty() || self.only.contains(&operation)
    }
}
