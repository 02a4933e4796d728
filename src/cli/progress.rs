//! Operations on the data with a progress bar: on the server that holds the data directory, or in this
//! process.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use super::model::open_served;
use crate::app::work::{KeepGoing, Progress, ProgressSink};
use crate::app::{App, OperatedDomain};
use crate::config::{Environment, StoreChoice, StoreSettings};
use crate::operations::{self, OperationRequest, PROGRESS_WAITING_MAX};

/// A bar on standard error that is only drawn on a terminal.
pub struct Bar {
    bar: ProgressBar,
    step: String,
}

impl Bar {
    pub fn new() -> Self {
        Self { bar: ProgressBar::new_spinner(), step: String::new() }
    }

    /// Shows the progress of the work.
    pub fn show(&mut self, progress: &Progress) {
        if progress.step != self.step {
            self.step.clone_from(&progress.step);
            self.bar.reset();
            self.bar.set_style(style(progress.total.is_some()));
            self.bar.set_message(progress.step.clone());
            self.bar.enable_steady_tick(Duration::from_millis(200));
        }
        if let Some(total) = progress.total {
            self.bar.set_length(total);
        }
        self.bar.set_position(progress.done);
    }

    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

fn style(known_total: bool) -> ProgressStyle {
    let template = if known_total {
        "{msg} [{bar:32}] {human_pos}/{human_len} {per_sec}, {eta} left"
    } else {
        "{spinner} {msg} {human_pos} {per_sec}, {elapsed}"
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Runs an operation on the data of the built-in domains, or of a model file, and returns its outcome. A
/// server that holds the data directory runs it on the domain that it serves.
pub async fn perform<T: DeserializeOwned>(
    settings: &StoreSettings,
    model: Option<&Path>,
    operation: OperationRequest,
) -> anyhow::Result<T> {
    let choice = settings.choice(&Environment::of_process())?;
    let answered = match &choice {
        StoreChoice::Embedded(_) => ask_holder(&settings.data.data, &operation).await?,
        StoreChoice::Cosmos(_) => None,
    };
    let outcome = match answered {
        Some(outcome) => outcome,
        None => {
            // Only seeding creates a directory: a wrong name would otherwise be an empty directory, which is
            // clean.
            if matches!(choice, StoreChoice::Embedded(_)) && !operation.makes_data() {
                settings.data.require_directory()?;
            }
            match model {
                Some(file) => perform_on_model(file, settings, &operation).await?,
                None => perform_here(&choice, &operation).await?,
            }
        }
    };
    serde_json::from_value(outcome).context("the outcome has an unexpected shape")
}

/// Runs an operation on the server that holds a data directory, with a bar. `None` when no server holds it.
pub async fn ask_holder(
    data: &Path,
    operation: &OperationRequest,
) -> anyhow::Result<Option<serde_json::Value>> {
    let mut bar = Bar::new();
    let answered = operations::ask(data, operation, |step| bar.show(&step)).await;
    bar.clear();
    Ok(answered?)
}

/// Runs work that reports its progress, with a bar.
pub async fn with_bar<T>(
    step: &'static str,
    work: impl AsyncFnOnce(KeepGoing) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let (sender, mut steps) = mpsc::channel(PROGRESS_WAITING_MAX);
    let (sink, _cancel) = ProgressSink::new(sender);
    let working = work(sink.while_wanted(step));
    tokio::pin!(working);
    let mut bar = Bar::new();
    let outcome = loop {
        tokio::select! {
            biased;
            outcome = &mut working => break outcome,
            Some(step) = steps.recv() => bar.show(&step),
        }
    };
    bar.clear();
    outcome
}

async fn perform_here(
    choice: &StoreChoice,
    operation: &OperationRequest,
) -> anyhow::Result<serde_json::Value> {
    let app = Arc::new(App::open(choice).await?);
    let outcome = perform_on(&app, operation).await;
    app.close().await;
    outcome
}

async fn perform_on_model(
    file: &Path,
    settings: &StoreSettings,
    operation: &OperationRequest,
) -> anyhow::Result<serde_json::Value> {
    let app = open_served(file, settings).await?;
    let outcome = perform_on(&app, operation).await;
    app.engine.close().await;
    outcome
}

/// Runs an operation on an open app, with a bar.
pub async fn perform_on(
    domain: impl Into<OperatedDomain>,
    operation: &OperationRequest,
) -> anyhow::Result<serde_json::Value> {
    let schema = operations::schema(domain, true);
    let mut bar = Bar::new();
    let outcome = operations::execute(&schema, operation, |step| bar.show(&step)).await;
    bar.clear();
    Ok(outcome?)
}
