//! `onehop study mcp`: an MCP server (Model Context Protocol) over standard input and output, by which agents
//! that design schemas see plans, charges, bills and keys. Only protocol messages go to standard output.

mod answers;
mod server;
mod surveys;
mod tools;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;
use rmcp::service::{ServerInitializeError, serve_server};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::stdio_pipes;

use self::server::StudyServer;
use crate::cli::Exit;
use crate::config::CalibrationSettings;
use onehop_study::directory::StudyBoundary;

/// Bytes of one message of the client. A longer one is discarded.
const MESSAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Arguments of `onehop study mcp`.
#[derive(Debug, Args)]
pub struct Mcp {
    /// Directory of a study, or of several studies; no file outside of it is read
    #[arg(value_name = "DIR")]
    directory: PathBuf,

    #[command(flatten)]
    calibration: CalibrationSettings,
}

impl Mcp {
    /// Serves until standard input ends.
    ///
    /// # Errors
    /// A directory that cannot be read; a session that does not begin as the protocol wants.
    pub async fn run(self) -> anyhow::Result<Exit> {
        let boundary = StudyBoundary::new(&self.directory)
            .with_context(|| format!("the directory {} cannot be read", self.directory.display()))?;
        let server = StudyServer::new(boundary, self.calibration.calibration());
        let (input, output) = stdio_pipes();
        let transport = AsyncRwTransport::new_server(input, output).with_max_line_length(MESSAGE_BYTES_MAX);
        match serve_server(server, transport).await {
            // The client left before it began.
            Err(ServerInitializeError::ConnectionClosed(_)) => {}
            Err(error) => return Err(error).context("the session did not begin"),
            Ok(session) => {
                session.waiting().await.context("the session failed")?;
            }
        }
        Ok(Exit::Success)
    }
}
