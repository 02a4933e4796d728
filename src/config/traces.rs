//! Trace settings: exporter and sampling.

use axum::http::Uri;
use clap::Args;

use super::{SettingError, StoreChoice};
use crate::telemetry;

/// The path of traces at a collector.
const TRACES_PATH: &str = "/v1/traces";

/// Settings of the trace exporter.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Traces")]
pub struct TraceExportSettings {
    /// OpenTelemetry collector that takes traces by OTLP over HTTP, such as http://127.0.0.1:4318 [default:
    /// no traces]
    #[arg(long, value_name = "URL", env = "ONEHOP_OTLP_ENDPOINT")]
    pub otlp_endpoint: Option<String>,

    /// Sampling ratio of traces, from 0 to 1
    #[arg(long, value_name = "RATIO", env = "ONEHOP_OTLP_SAMPLE_RATIO", default_value_t = 1.0)]
    pub otlp_sample_ratio: f64,
}

impl TraceExportSettings {
    /// The settings of traces; `None` without a collector.
    ///
    /// # Errors
    /// An endpoint that is no URL of HTTP, or a ratio that is not between 0 and 1.
    pub fn settings(&self, store: &StoreChoice) -> Result<Option<telemetry::TraceSettings>, SettingError> {
        let sample_ratio = self.otlp_sample_ratio;
        if !(0.0..=1.0).contains(&sample_ratio) {
            let text = format!("--otlp-sample-ratio {sample_ratio} is not between 0 and 1");
            return Err(SettingError::new(text));
        }
        let Some(endpoint) = &self.otlp_endpoint else { return Ok(None) };
        let store_system = match store {
            StoreChoice::Embedded(_) => "onehop.embedded",
            StoreChoice::Cosmos(_) => "azure.cosmosdb",
        };
        Ok(Some(telemetry::TraceSettings { endpoint: traces_url(endpoint)?, sample_ratio, store_system }))
    }
}

fn traces_url(endpoint: &str) -> Result<String, SettingError> {
    let url = endpoint.parse::<Uri>().ok();
    let is_http = url.is_some_and(|url| {
        matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some() && url.query().is_none()
    });
    if is_http {
        Ok(format!("{}{TRACES_PATH}", endpoint.trim_end_matches('/')))
    } else {
        // It may hold a password.
        let text = "--otlp-endpoint is not a URL such as http://127.0.0.1:4318, without a query";
        Err(SettingError::new(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_go_where_a_collector_takes_them() {
        for endpoint in ["http://collector:4318", "http://collector:4318/"] {
            assert_eq!(traces_url(endpoint).unwrap(), "http://collector:4318/v1/traces");
        }
        assert_eq!(
            traces_url("https://telemetry.example/otlp").unwrap(),
            "https://telemetry.example/otlp/v1/traces"
        );
    }

    #[test]
    fn an_endpoint_that_is_no_url_of_http_is_refused_without_repeating_it() {
        for endpoint in
            ["", "collector:4318", "/v1", "grpc://name:word@collector", "http://collector?key=word"]
        {
            let refused = traces_url(endpoint).unwrap_err().to_string();
            assert!(refused.starts_with("--otlp-endpoint") && !refused.contains("word"), "{refused}");
        }
    }
}
