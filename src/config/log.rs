//! Log settings: filter and format. The log goes to standard error.

use std::io::IsTerminal;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use tracing_subscriber::fmt::writer::MakeWriterExt as _;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, fmt};

use crate::telemetry::{RecentLines, RepeatedLines, RequestLogSettings};

/// The clients of Azure log every connection; they are quiet unless the filter names them.
const QUIET: &str =
    "azure_core=warn,azure_data_cosmos=warn,azure_data_cosmos_driver=warn,azure_identity=warn,rmcp=warn";

/// Format of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Text, one line for each entry
    Human,
    /// JSON, one object for each line
    Json,
}

impl LogFormat {
    /// Prints a line for the program that started this one: text, or an object with the message and the
    /// address.
    pub fn print(self, message: &str, address: &str) {
        match self {
            Self::Human => println!("{message} {address}"),
            Self::Json => {
                println!(
                    "{}",
                    serde_json::json!({ "message": format!("{message} {address}"), "address": address })
                );
            }
        }
    }
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

/// Settings of the log of requests.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Log")]
pub struct RequestLogArguments {
    /// Access log: a line for each request but health checks and metrics, with its operation name, status,
    /// milliseconds, request charge and request id
    #[arg(long, env = "ONEHOP_ACCESS_LOG", value_parser = BoolishValueParser::new())]
    pub access_log: bool,

    /// Slow request log: requests that take this many milliseconds or longer have a line each, 8 a minute at
    /// most; further ones are counted [default: none]
    #[arg(
        long,
        value_name = "MILLISECONDS",
        env = "ONEHOP_SLOW_MS",
        value_parser = clap::value_parser!(u64).range(1..=3_600_000)
    )]
    pub slow_ms: Option<u64>,
}

impl RequestLogArguments {
    /// The settings of the log of requests.
    #[must_use]
    pub fn settings(&self) -> RequestLogSettings {
        RequestLogSettings { access_log: self.access_log, slow_min: self.slow_ms.map(Duration::from_millis) }
    }
}

/// The log of the process.
#[derive(Debug, Clone)]
pub struct ProcessLog {
    /// Leaves repeated lines out.
    pub repeated: RepeatedLines,
    /// The last lines.
    pub recent: RecentLines,
}

impl LogSettings {
    /// Starts the log of the process. The returned filter leaves no line out until it is told to; the ring
    /// has the last lines.
    ///
    /// # Errors
    /// A filter that cannot be parsed; the text names the setting.
    pub fn start(&self) -> Result<ProcessLog, String> {
        let filter = EnvFilter::try_new(format!("{QUIET},{}", self.log))
            .map_err(|error| format!("--log {:?} is not a filter: {error}", self.log))?;
        let (repeated, recent) = (RepeatedLines::default(), RecentLines::default());
        let writer = std::io::stderr.and(recent.clone());
        let lines = fmt::layer().with_writer(writer).with_ansi(std::io::stderr().is_terminal());
        let lines = match self.log_format {
            LogFormat::Human => lines.with_target(false).boxed(),
            // The current span is the request's, with its id and its trace.
            LogFormat::Json => {
                lines.json().flatten_event(true).with_current_span(true).with_span_list(false).boxed()
            }
        };
        let lines = lines.with_filter(repeated.clone());
        tracing_subscriber::registry().with(lines).with(filter).init();
        Ok(ProcessLog { repeated, recent })
    }
}
