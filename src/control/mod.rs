//! How the command line talks to a running server: a Unix socket in the data directory, one JSON object a line.
//!
//! The client sends one line, the work it wants done. The server answers with lines of progress, and ends with one
//! line that holds the outcome or the reason why there is none. Only those who may write to the data directory can
//! connect: the socket is made with mode 0600.

mod client;
mod server;

use std::path::PathBuf;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::blog::study::dataset::Texts;

pub use client::{ControlError, ask};
pub use server::ControlServer;

/// The socket's name in the data directory.
pub const SOCKET_FILE: &str = "control.sock";
/// Bytes of a line in either direction; a report is cut before it reaches this.
pub const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Clients served at once.
pub const CLIENTS_MAX: usize = 8;
/// Lines of progress that may wait for a slow client before older ones are left out.
pub const PROGRESS_WAITING_MAX: usize = 64;

/// Work that needs the data, done by whoever holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", tag = "work", deny_unknown_fields)]
pub enum Work {
    Verify { repair: bool },
    Rebuild { read_model: Option<String> },
    Replay { read_model: Option<String> },
    DeadLetters,
    DeadLetter { id: String },
    ReplayDeadLetter { id: String },
    Backup { directory: PathBuf },
    Check,
    LockDemoUsers,
    Seed { users: u32, rng_seed: u64, texts: Texts },
}

/// How far a piece of work has got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// What is being done, for a person.
    pub step: String,
    pub done: u64,
    /// `None` when it is not known.
    pub total: Option<u64>,
}

/// A line from the server.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Line {
    Progress(Progress),
    Outcome(Value),
    Error(String),
}

/// Whoever does the work.
#[async_trait]
pub trait Worker: Send + Sync + 'static {
    /// Does the work and says how far it has got; the outcome depends on the work. An error is a sentence for a
    /// person.
    async fn perform(&self, work: Work, progress: mpsc::Sender<Progress>) -> Result<Value, String>;
}
