//! Server settings: listen address, start and stop.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::BoolishValueParser;

use crate::app::PROJECTION_POLL_DEFAULT;
use onehop_runtime::tasks::GRACEFUL_STOP_MAX;

/// The drain time of a server in service: load balancers ask for readiness every few seconds.
const DRAIN_DEFAULT: Duration = Duration::from_secs(5);

/// Settings of the server.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Server")]
pub struct ServeSettings {
    /// Address and port to listen on. Port 0 takes a free one, and the ready line names it
    #[arg(long, value_name = "ADDRESS:PORT", env = "ONEHOP_LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,

    /// Model file: serve the domain that it declares, in place of the blog and the web store. See
    /// docs/serve-your-model.md
    #[arg(long, value_name = "FILE", env = "ONEHOP_MODEL", conflicts_with = "demo")]
    pub model: Option<PathBuf>,

    /// Serve a changed model over data also where requests of present clients fail or mean something else.
    /// Changes that stored data do not fit are always refused
    #[arg(long, env = "ONEHOP_ACCEPT_BREAKING", value_parser = BoolishValueParser::new(), requires = "model")]
    pub accept_breaking: bool,

    /// Fill an empty data directory with the demo data set before the first start
    #[arg(long, env = "ONEHOP_DEMO", value_parser = BoolishValueParser::new())]
    pub demo: bool,

    /// Users of the demo data set
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_DEMO_USERS",
        default_value_t = 200,
        value_parser = clap::value_parser!(u32).range(1..=100_000)
    )]
    pub demo_users: u32,

    /// Drain time, in seconds: how long requests are still served after SIGTERM, while /readyz answers 503
    /// and each answer closes its connection. A load balancer must have asked /readyz by then. A second
    /// signal ends it early [default: 5, or 0 with --demo]
    #[arg(
        long,
        value_name = "SECONDS",
        env = "ONEHOP_DRAIN_SECONDS",
        value_parser = clap::value_parser!(u64).range(0..=3600)
    )]
    pub drain_seconds: Option<u64>,

    /// Graceful shutdown timeout, in seconds: how long requests and background work have to finish after
    /// the drain
    #[arg(
        long,
        value_name = "SECONDS",
        env = "ONEHOP_STOP_SECONDS",
        default_value_t = GRACEFUL_STOP_MAX.as_secs(),
        value_parser = clap::value_parser!(u64).range(1..=3600)
    )]
    pub stop_seconds: u64,

    /// Poll interval of the change feed for read models, in milliseconds, with --store cosmos: writes of
    /// another process reach them after this time at most. Each poll is charged about 1 RU for each physical
    /// partition of each source container
    #[arg(
        long,
        value_name = "MILLISECONDS",
        env = "ONEHOP_PROJECTION_POLL_MS",
        default_value_t = PROJECTION_POLL_DEFAULT.as_millis() as u64,
        value_parser = clap::value_parser!(u64).range(100..=3_600_000)
    )]
    pub projection_poll_ms: u64,
}

impl ServeSettings {
    /// Poll interval of the change feed for read models.
    #[must_use]
    pub fn projection_poll(&self) -> Duration {
        Duration::from_millis(self.projection_poll_ms)
    }

    /// Drain time.
    #[must_use]
    pub fn drain(&self) -> Duration {
        let default = if self.demo { Duration::ZERO } else { DRAIN_DEFAULT };
        self.drain_seconds.map_or(default, Duration::from_secs)
    }

    /// Graceful shutdown timeout.
    #[must_use]
    pub fn graceful_stop_max(&self) -> Duration {
        Duration::from_secs(self.stop_seconds)
    }
}
