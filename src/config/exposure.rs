//! What the server shows, to whom, and under which names. `--production` switches off what only developers need, and
//! refuses settings that are fit for a trial and dangerous in service.

use std::net::SocketAddr;

use axum::http::HeaderValue;
use clap::Args;
use clap::builder::BoolishValueParser;

use super::{AccountSettings, DurabilitySetting, ServeSettings, SettingError, StoreKind, StoreSettings};
use onehop_graphql_server::hosts::Hosts;
use onehop_graphql_server::router::Exposure;

/// Settings of what is shown.
#[derive(Debug, Clone, Args)]
pub struct ExposureSettings {
    /// Serve people: introspection, suggestions and playground are off unless they are switched on, and settings that
    /// are dangerous in service are refused
    #[arg(long, env = "ONEHOP_PRODUCTION", value_parser = BoolishValueParser::new())]
    pub production: bool,

    /// Whether clients may ask for the schema [default: on, or off with --production]
    #[arg(long, value_name = "ON|OFF", env = "ONEHOP_INTROSPECTION", value_parser = BoolishValueParser::new())]
    pub introspection: Option<bool>,

    /// Whether an error suggests names that are like an unknown one [default: on, or off with --production]
    #[arg(long, value_name = "ON|OFF", env = "ONEHOP_SUGGESTIONS", value_parser = BoolishValueParser::new())]
    pub suggestions: Option<bool>,

    /// Whether the playground is served [default: on, or off with --production]
    #[arg(long, value_name = "ON|OFF", env = "ONEHOP_PLAYGROUND", value_parser = BoolishValueParser::new())]
    pub playground: Option<bool>,

    /// Whether the API tells leases and the load of logical partitions [default: on, or off with --production]
    #[arg(long, value_name = "ON|OFF", env = "ONEHOP_OPERATIONS", value_parser = BoolishValueParser::new())]
    pub operations: Option<bool>,

    /// Whether /metrics is served beside the API [default: on, or off with --production or --metrics-listen]
    #[arg(long, value_name = "ON|OFF", env = "ONEHOP_METRICS", value_parser = BoolishValueParser::new())]
    pub metrics: Option<bool>,

    /// Address of its own for /metrics, such as 127.0.0.1:9090
    #[arg(long, value_name = "ADDRESS", env = "ONEHOP_METRICS_LISTEN")]
    pub metrics_listen: Option<SocketAddr>,

    /// Origin that a browser may call from, such as https://blog.example; may be given several times
    #[arg(long = "allow-origin", value_name = "ORIGIN", env = "ONEHOP_ALLOW_ORIGINS", value_delimiter = ',')]
    pub allow_origins: Vec<String>,

    /// Name that a request may have in its Host header, without a port; may be given several times. Without any, a
    /// server on a loopback address answers to names of this machine, and any other to every name
    #[arg(long = "allow-host", value_name = "HOST", env = "ONEHOP_ALLOW_HOSTS", value_delimiter = ',')]
    pub allow_hosts: Vec<String>,

    /// Seconds for which browsers shall come back over HTTPS only (Strict-Transport-Security); 0 to say nothing
    #[arg(long, value_name = "SECONDS", env = "ONEHOP_HSTS_SECONDS", default_value_t = 0)]
    pub hsts_seconds: u32,
}

impl ExposureSettings {
    /// Whether clients may ask for the schema.
    #[must_use]
    pub fn introspection(&self) -> bool {
        self.introspection.unwrap_or(!self.production)
    }

    /// Whether errors suggest names.
    #[must_use]
    pub fn suggestions(&self) -> bool {
        self.suggestions.unwrap_or(!self.production)
    }

    /// Whether the playground is served.
    #[must_use]
    pub fn playground(&self) -> bool {
        self.playground.unwrap_or(!self.production)
    }

    /// Whether the API tells leases and the load of logical partitions.
    #[must_use]
    pub fn operations(&self) -> bool {
        self.operations.unwrap_or(!self.production)
    }

    /// Whether metrics are served beside the API.
    #[must_use]
    pub fn metrics(&self) -> bool {
        self.metrics.unwrap_or(!self.production && self.metrics_listen.is_none())
    }

    /// Who may reach a server that listens here.
    ///
    /// # Errors
    /// An origin or a host that is none.
    pub fn exposure(&self, listen: SocketAddr) -> Result<Exposure, SettingError> {
        for host in &self.allow_hosts {
            let is_host = !host.is_empty()
                && host
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'));
            if !is_host {
                return Err(SettingError::new(format!(
                    "--allow-host {host:?} is not a host such as blog.example, without scheme and port"
                )));
            }
        }
        let allowed_origins =
            self.allow_origins.iter().map(|origin| parse_origin(origin)).collect::<Result<_, _>>()?;
        Ok(Exposure {
            allowed_origins,
            hosts: Hosts::of(&self.allow_hosts, listen),
            hsts_seconds: self.hsts_seconds,
        })
    }

    /// Refuses, in production, what is dangerous there.
    ///
    /// # Errors
    /// The first setting that has to be changed.
    pub fn refuse_dangers(
        &self,
        serve: &ServeSettings,
        store: &StoreSettings,
        accounts: &AccountSettings,
    ) -> Result<(), SettingError> {
        if !self.production {
            return Ok(());
        }
        let is_embedded = store.store == StoreKind::Embedded;
        let plain_origin = self.allow_origins.iter().any(|origin| !origin.starts_with("https://"));
        let plain_endpoint =
            store.cosmos.cosmos_endpoint.as_deref().is_some_and(|url| !url.starts_with("https://"));
        let dangers = [
            (serve.demo, "--demo makes users whose password everybody knows"),
            (
                is_embedded && store.data.durability == DurabilitySetting::Relaxed,
                "--durability relaxed loses acknowledged writes with the power",
            ),
            (
                !is_embedded && plain_endpoint,
                "--cosmos-endpoint is not https: keys and data travel in the clear",
            ),
            (plain_origin, "--allow-origin is not https: whoever is on the way can be that page"),
            (
                accounts.jwt_issuer.is_some() && accounts.jwt_audience.is_none(),
                "--jwt-issuer without --jwt-audience takes tokens that were made for other applications",
            ),
        ];
        match dangers.into_iter().find(|(is_there, _)| *is_there) {
            Some((_, danger)) => Err(SettingError::new(format!("--production refuses this: {danger}"))),
            None => Ok(()),
        }
    }
}

fn parse_origin(origin: &str) -> Result<HeaderValue, SettingError> {
    let is_origin = origin.split_once("://").is_some_and(|(scheme, host)| {
        matches!(scheme, "http" | "https") && !host.is_empty() && !host.contains('/')
    });
    let value = HeaderValue::from_str(origin).ok().filter(|_| is_origin);
    value.ok_or_else(|| {
        SettingError::new(format!("--allow-origin {origin:?} is not an origin such as https://blog.example"))
    })
}
