//! Log settings: filter and format. The log goes to standard error.

use std::io::IsTerminal;

use clap::{Args, ValueEnum};
use tracing_subscriber::EnvFilter;

/// The clients of Azure log every connection; they are quiet unless the filter names them.
const QUIET: &str =
    "azure_core=warn,azure_data_cosmos=warn,azure_data_cosmos_driver=warn,azure_identity=warn";

/// Format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Text, one line for each entry
    Human,
    /// JSON, one object for each line
    Json,
}

/// Settings of the log.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Log")]
pub struct LogSettings {
    /// Format of the log on standard error
    #[arg(long, value_enum, env = "ONEHOP_LOG_FORMAT", default_value = "human", global = true)]
    pub log_format: LogFormat,

    /// Log filter: error, warn, info, debug, trace, or a filter such as `onehop_change_feed=debug,info`
    #[arg(long, value_name = "FILTER", env = "ONEHOP_LOG", default_value = "info", global = true)]
    pub log: String,
}

impl LogSettings {
    /// Starts the log of the process.
    ///
    /// # Errors
    /// A filter that cannot be parsed; the text names the setting.
    pub fn start(&self) -> Result<(), String> {
        let filter = EnvFilter::try_new(format!("{QUIET},{}", self.log))
            .map_err(|error| format!("--log {:?} is not a filter: {error}", self.log))?;
        let builder = tracing_subscriber::fmt()
            .with_env_filter(filter)
            .with_writer(std::io::stderr)
            .with_ansi(std::io::stderr().is_terminal());
        match self.log_format {
            LogFormat::Human => builder.with_target(false).init(),
            // The current span is the request's, with its trace.
            LogFormat::Json => {
                builder.json().flatten_event(true).with_current_span(true).with_span_list(false).init();
            }
        }
        Ok(())
    }
}
