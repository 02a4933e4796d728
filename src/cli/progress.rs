//! Work on the data, done by the server that holds the directory or else by this process, with a progress bar.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use super::work::{AppWorker, while_listened_to};
use crate::app::App;
use crate::app::operations::KeepGoing;
use crate::config::{CosmosChoice, Environment, StoreChoice, StoreSettings};
use crate::control::{self, PROGRESS_WAITING_MAX, Progress, Work, Worker};

/// A bar on standard error that is only drawn on a terminal.
pub struct Bar {
    bar: ProgressBar,
    step: String,
}

impl Bar {
    pub fn new() -> Self {
        Self { bar: ProgressBar::new_spinner(), step: String::new() }
    }

    /// Shows how far the work has got.
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

/// Has the work done and returns its outcome.
pub async fn perform<T: DeserializeOwned>(settings: &StoreSettings, work: Work) -> anyhow::Result<T> {
    let choice = match settings.choice(&Environment::of_process())? {
        StoreChoice::Cosmos(choice) => {
            let CosmosChoice { account, member } = *choice;
            StoreChoice::Cosmos(Box::new(CosmosChoice { account, member: member.beside() }))
        }
        embedded @ StoreChoice::Embedded(_) => embedded,
    };
    let answered = match &choice {
        StoreChoice::Embedded(_) => ask_holder(&settings.data.data, &work).await?,
        StoreChoice::Cosmos(_) => None,
    };
    let outcome = match answered {
        Some(outcome) => outcome,
        None => {
            // Only seeding makes a directory: an empty one would be found clean where the wrong one was named.
            if matches!(choice, StoreChoice::Embedded(_)) && !matches!(work, Work::Seed { .. }) {
                settings.data.require_directory()?;
            }
            perform_here(&choice, work).await?
        }
    };
    serde_json::from_value(outcome).context("the outcome has an unexpected shape")
}

/// Has the process that holds a data directory do the work, with a bar. `None` when no server holds it.
pub async fn ask_holder(data: &Path, work: &Work) -> anyhow::Result<Option<serde_json::Value>> {
    let mut bar = Bar::new();
    let answered = control::ask(data, work, |step| bar.show(&step)).await;
    bar.clear();
    Ok(answered?)
}

/// Does work that says how far it has got, with a bar.
pub async fn with_bar<T>(
    step: &'static str,
    work: impl AsyncFnOnce(KeepGoing) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let (sender, mut steps) = mpsc::channel(PROGRESS_WAITING_MAX);
    let working = work(while_listened_to(step, sender));
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

async fn perform_here(choice: &StoreChoice, work: Work) -> anyhow::Result<serde_json::Value> {
    let app = Arc::new(App::open(choice).await?);
    let outcome = perform_on(&app, work).await;
    app.close().await;
    outcome
}

/// Has an open app do the work, with a bar.
pub async fn perform_on(app: &Arc<App>, work: Work) -> anyhow::Result<serde_json::Value> {
    let worker = AppWorker { app: Arc::clone(app), allows_demo: true };
    let (sender, mut steps) = mpsc::channel(PROGRESS_WAITING_MAX);
    let mut bar = Bar::new();
    let performing = worker.perform(work, sender);
    tokio::pin!(performing);
    let outcome = loop {
        tokio::select! {
            biased;
            outcome = &mut performing => break outcome,
            Some(step) = steps.recv() => bar.show(&step),
        }
    };
    bar.clear();
    outcome.map_err(anyhow::Error::msg)
}
