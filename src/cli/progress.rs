//! Work on the data, done by the server that holds the directory or else by this process, with a progress bar.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use super::work::AppWorker;
use crate::app::App;
use crate::config::DataSettings;
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
pub async fn perform<T: DeserializeOwned>(data: &DataSettings, work: Work) -> anyhow::Result<T> {
    let mut bar = Bar::new();
    let answered = control::ask(&data.data, &work, |step| bar.show(&step)).await;
    bar.clear();
    let outcome = match answered? {
        Some(outcome) => outcome,
        None => perform_here(data, work).await?,
    };
    serde_json::from_value(outcome).context("the outcome has an unexpected shape")
}

async fn perform_here(data: &DataSettings, work: Work) -> anyhow::Result<serde_json::Value> {
    // Only seeding makes a directory: an empty one would be found clean where the wrong one was named.
    let makes_directory = matches!(work, Work::Seed { .. });
    anyhow::ensure!(
        makes_directory || data.data.is_dir(),
        "--data {}: there is no such directory",
        data.data.display()
    );
    let app = Arc::new(App::open(data).await?);
    let worker = AppWorker(Arc::clone(&app));
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
    app.close().await;
    outcome.map_err(anyhow::Error::msg)
}
