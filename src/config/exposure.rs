//! Hardening settings: the visible parts of the server, CORS and the host allowlist. `--production` switches
//! off features for developers, and refuses settings that are dangerous in service.

use std::net::SocketAddr;

use axum::http::HeaderValue;
use clap::Args;
use clap::builder::BoolishValueParser;

use super::{AccountSettings, DurabilitySetting, ServeSettings, SettingError, StoreKind, StoreSettings};
use onehop_graphql_server::host_allowlist::HostAllowlist;
use onehop_graphql_server::router::Exposure;

/// Settings of hardening, CORS and hosts.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Hardening, CORS and hosts")]
pub struct ExposureSettings {
    /// Hardening for service: introspection, playground and operations are off unless they are switched on,
    /// and metrics are served at --metrics-listen only. It refuses to start with --demo, with --durability
    /// relaxed, with an --allow-origin or a --cosmos-endpoint that is not https, with --jwt-issuer without
    /// --jwt-audience, and on data whose demo users have their published password
    #[arg(long, env = "ONEHOP_PRODUCTION", value_parser = BoolishValueParser::new())]
    pub production: bool,

    /// Introspection of the schema by clients, and suggestions of similar names in validation errors
    /// [default: on, or off with --production]
    #[arg(long, value_name = "ON|OFF", env = "ONEHOP_INTROSPECTION", value_parser = BoolishValueParser::new())]
    pub introspection: Option<bool>,

    /// Playground (GraphiQL) at /graphiql [default: on, or off with --production]
    #[arg(long, value_name = "ON|OFF", env = "ONEHOP_PLAYGROUND", value_parser = BoolishValueParser::new())]
    pub playground: Option<bool>,

    /// Operations data for clients: the queries of the operations API at /operations/graphql, the store
    /// operations of a request (`extensions.operations`), and the query `comparison` [default: on, or off
    /// with --production]
    #[arg(long, value_name = "ON|OFF", env = "ONEHOP_OPERATIONS", value_parser = BoolishValueParser::new())]
    pub operations: Option<bool>,

    /// Browsing the items of a served model at /browse, with the operator key in the address that is printed
    /// at the start. It needs --operations [default: on where the server listens on a loopback address, off
    /// with --production]
    #[arg(long, value_name = "ON|OFF", env = "ONEHOP_BROWSE", value_parser = BoolishValueParser::new())]
    pub browse: Option<bool>,

    /// Separate address for the Prometheus metrics at /metrics, such as 127.0.0.1:9090 [default: none with
    /// --production, otherwise the address of the API]
    #[arg(long, value_name = "ADDRESS", env = "ONEHOP_METRICS_LISTEN")]
    pub metrics_listen: Option<SocketAddr>,

    /// CORS: origin whose pages may call this server, such as https://blog.example; several are separated by
    /// commas or given one by one [default: none]
    #[arg(long = "allow-origin", value_name = "ORIGIN", env = "ONEHOP_ALLOW_ORIGINS", value_delimiter = ',')]
    pub allow_origins: Vec<String>,

    /// Host allowlist (DNS rebinding): name that a request may have in its Host header, without a port;
    /// several are separated by commas or given one by one. Others get 421. /metrics answers to IP addresses,
    /// too, and health checks answer other names with their status alone [default: names of this machine
    /// where the server listens on a loopback address, otherwise every name]
    #[arg(long = "allow-host", value_name = "HOST", env = "ONEHOP_ALLOW_HOSTS", value_delimiter = ',')]
    pub allow_hosts: Vec<String>,

    /// Public origin of the pages, such as https://blog.example: in canonical addresses, link previews,
    /// sitemaps and the Atom feed [default: the name in the Host header, over plain HTTP]
    #[arg(long, value_name = "ORIGIN", env = "ONEHOP_PUBLIC_ORIGIN")]
    pub public_origin: Option<String>,

    /// HTTP Strict Transport Security: seconds for which browsers use HTTPS only; 0 sends no header, for
    /// instance behind a proxy that sends it
    #[arg(long, value_name = "SECONDS", env = "ONEHOP_HSTS_SECONDS", default_value_t = 0)]
    pub hsts_seconds: u32,
}

impl ExposureSettings {
    /// Whether clients may query the schema, and errors suggest names of it.
    #[must_use]
    pub fn introspection(&self) -> bool {
        self.introspection.unwrap_or(!self.production)
    }

    /// Whether the playground is served.
    #[must_use]
    pub fn playground(&self) -> bool {
        self.playground.unwrap_or(!self.production)
    }

    /// Whether clients may query the operations API, and ask for the store operations of a request.
    #[must_use]
    pub fn operations(&self) -> bool {
        self.operations.unwrap_or(!self.production)
    }

    /// Whether the operator may browse stored items over HTTP, on a server that listens at this address.
    #[must_use]
    pub fn browse(&self, listen: SocketAddr) -> bool {
        self.operations() && self.browse.unwrap_or(!self.production && listen.ip().is_loopback())
    }

    /// Whether metrics are served at the address of the API.
    #[must_use]
    pub fn metrics(&self) -> bool {
        !self.production && self.metrics_listen.is_none()
    }

    /// The host allowlist, CORS and HSTS of a server that listens at this address.
    ///
    /// # Errors
    /// A value that is not an origin or not a host.
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
        let allowed_origins = self
            .allow_origins
            .iter()
            .map(|origin| parse_origin("--allow-origin", origin))
            .collect::<Result<_, _>>()?;
        Ok(Exposure {
            allowed_origins,
            hosts: HostAllowlist::of(&self.allow_hosts, listen),
            hsts_seconds: self.hsts_seconds,
        })
    }

    /// The public origin of the pages.
    ///
    /// # Errors
    /// A value that is not an origin.
    pub fn public_origin(&self) -> Result<Option<String>, SettingError> {
        if let Some(origin) = &self.public_origin {
            parse_origin("--public-origin", origin)?;
        }
        Ok(self.public_origin.clone())
    }

    /// Refuses settings that do not fit together, and settings that are dangerous in production.
    ///
    /// # Errors
    /// The first setting that has to be changed.
    pub fn refuse_dangers(
        &self,
        serve: &ServeSettings,
        store: &StoreSettings,
        accounts: &AccountSettings,
    ) -> Result<(), SettingError> {
        if self.browse == Some(true) && serve.model.is_none() {
            return Err(SettingError::new("--browse shows the items of a served model: it needs --model"));
        }
        if self.browse == Some(true) && !self.operations() {
            return Err(SettingError::new("--browse reads by the operations API: it needs --operations=on"));
        }
        if !self.production {
            return Ok(());
        }
        let is_embedded = store.store == StoreKind::Embedded;
        let plain_origin = self.allow_origins.iter().any(|origin| !origin.starts_with("https://"));
        let plain_endpoint =
            store.cosmos.cosmos_endpoint.as_deref().is_some_and(|url| !url.starts_with("https://"));
        let dangers = [
            (serve.demo, "--demo makes users with a published password"),
            (
                is_embedded && store.data.durability == DurabilitySetting::Relaxed,
                "--durability relaxed loses acknowledged writes when the power fails",
            ),
            (
                !is_embedded && plain_endpoint,
                "--cosmos-endpoint is not https: keys and data are sent unencrypted",
            ),
            (plain_origin, "--allow-origin is not https: an attacker on the network can pose as that origin"),
            (
                accounts.jwt_issuer.is_some() && accounts.jwt_audience.is_none(),
                "--jwt-issuer without --jwt-audience accepts tokens that were issued for other applications",
            ),
        ];
        match dangers.into_iter().find(|(is_there, _)| *is_there) {
            Some((_, danger)) => Err(SettingError::new(format!("--production refuses this: {danger}"))),
            None => Ok(()),
        }
    }
}

fn parse_origin(setting: &str, origin: &str) -> Result<HeaderValue, SettingError> {
    let is_origin = origin.split_once("://").is_some_and(|(scheme, host)| {
        matches!(scheme, "http" | "https") && !host.is_empty() && !host.contains('/')
    });
    let value = HeaderValue::from_str(origin).ok().filter(|_| is_origin);
    value.ok_or_else(|| {
        SettingError::new(format!("{setting} {origin:?} is not an origin such as https://blog.example"))
    })
}
