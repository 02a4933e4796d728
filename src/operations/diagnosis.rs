//! Diagnosis of this process for `onehop diagnose`: version, settings, metrics and the last log lines. The
//! socket alone serves it.

use std::sync::Arc;

use async_graphql::SimpleObject;
use onehop_graphql_server::observer::MetricsSource;

use crate::telemetry::RecentLines;

/// The parts of the process that a diagnosis reads.
#[derive(Clone, Default)]
pub struct DiagnosisSources {
    /// The settings that differ from the defaults, without secrets.
    pub settings: String,
    pub log: RecentLines,
    pub metrics: Option<Arc<dyn MetricsSource>>,
}

/// The state of the process.
#[derive(SimpleObject)]
pub struct Diagnosis {
    /// The version of the program.
    version: &'static str,
    /// The id of the process.
    process: u32,
    /// The settings that differ from the defaults, without secrets.
    settings: String,
    /// The metrics, as `/metrics` has them.
    metrics: String,
    /// The last lines of the log, oldest first: 2,000 at most.
    log_lines: Vec<String>,
}

impl Diagnosis {
    pub(super) async fn of(sources: &DiagnosisSources) -> Self {
        let metrics = match &sources.metrics {
            Some(source) => source.metrics().await,
            None => String::new(),
        };
        Self {
            version: env!("CARGO_PKG_VERSION"),
            process: std::process::id(),
            settings: sources.settings.clone(),
            metrics,
            log_lines: sources.log.lines(),
        }
    }
}
