//! `onehop recover`: recovers a data directory that has lost writes or has damaged files, and derives its
//! read models again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use clap::builder::BoolishValueParser;
use onehop_store::embedded::{IntegrityReport, ItemFate, LostItem, Recovery, read_lost_items};
use serde::Serialize;
use tokio::sync::mpsc;

use super::Exit;
use super::model::{containers_of, open_served_choice};
use super::progress::{Bar, with_bar};
use crate::app::operations::{self, DerivedAgain, derive_again};
use crate::app::work::ProgressSink;
use crate::app::{App, OperatedDomain};
use crate::config::{DataSettings, StoreChoice};
use crate::operations::PROGRESS_WAITING_MAX;
use onehop_read_models::verify::VerificationReport;

/// Lost items and drifts that are printed; the list in the data directory has all items.
const PRINTED_MAX: usize = 100;

/// Arguments of `onehop recover`.
#[derive(Debug, Args)]
pub struct Recover {
    /// Print the report as JSON
    #[arg(long, env = "ONEHOP_JSON", value_parser = BoolishValueParser::new())]
    json: bool,

    /// Model file: the domain of the data, in place of the built-in domains
    #[arg(long, value_name = "FILE", env = "ONEHOP_MODEL")]
    model: Option<PathBuf>,

    #[command(flatten)]
    data: DataSettings,
}

impl Recover {
    pub async fn run(self) -> anyhow::Result<Exit> {
        self.data.require_directory()?;
        let specs = containers_of(self.model.as_deref())?;
        let config = self.data.embedded_for_scan();
        let (recovery, found) =
            with_bar("recovering", |keep_going| operations::recover(config, specs, keep_going)).await?;
        let is_begun = !recovery.is_empty() || read_lost_items(&self.data.data)?.is_some();
        let derived = if found.is_sound() && is_begun { Some(self.derive().await?) } else { None };
        if self.json {
            println!("{}", serde_json::to_string_pretty(&Report::of(&recovery, &found, derived.as_ref()))?);
        } else {
            print(&recovery, &found, derived.as_ref(), &self.data.data);
        }
        let has_lost = !recovery.losses.is_empty()
            || (!recovery.is_empty() && derived.as_ref().is_some_and(|derived| !derived.lost.is_empty()));
        let is_clean = derived.is_none_or(|derived| derived.report.is_clean());
        Ok(match found.is_sound() && is_clean {
            false => Exit::Drifted,
            true if has_lost => Exit::Lost,
            true => Exit::Success,
        })
    }

    /// Derives the read models again, with a bar.
    async fn derive(&self) -> anyhow::Result<DerivedAgain> {
        let choice = StoreChoice::Embedded(self.data.embedded_for_scan());
        let domain = match &self.model {
            Some(file) => OperatedDomain::from(&open_served_choice(file, &choice).await?),
            None => OperatedDomain::from(&Arc::new(App::open(&choice).await?)),
        };
        let (sender, mut steps) = mpsc::channel(PROGRESS_WAITING_MAX);
        let (sink, _cancel) = ProgressSink::new(sender);
        let deriving = derive_again(&domain, &self.data.data, &sink);
        tokio::pin!(deriving);
        let mut bar = Bar::new();
        let derived = loop {
            tokio::select! {
                biased;
                derived = &mut deriving => break derived,
                Some(step) = steps.recv() => bar.show(&step),
            }
        };
        bar.clear();
        domain.engine().close().await;
        derived.context("the read models cannot be derived again; the recovered directory can be opened")
    }
}

/// The report as JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    #[serde(flatten)]
    recovery: Recovery,
    /// Problems that are left.
    problems: &'a [String],
    unnamed: u64,
    /// Lost items that were made again from their sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    made_again: Option<usize>,
    /// The verification of the read models after their repair.
    #[serde(skip_serializing_if = "Option::is_none")]
    verification: Option<&'a VerificationReport>,
}

impl<'a> Report<'a> {
    fn of(recovery: &Recovery, found: &'a IntegrityReport, derived: Option<&'a DerivedAgain>) -> Self {
        let mut recovery = recovery.clone();
        if let Some(derived) = derived {
            recovery.lost_items.clone_from(&derived.lost);
        }
        Self {
            recovery,
            problems: &found.problems,
            unnamed: found.unnamed,
            made_again: derived.map(|derived| derived.made_again),
            verification: derived.map(|derived| &derived.report),
        }
    }
}

fn print(recovery: &Recovery, found: &IntegrityReport, derived: Option<&DerivedAgain>, data: &Path) {
    print_recovery(recovery);
    for problem in &found.problems {
        println!("damaged: {problem}");
    }
    if found.unnamed > 0 {
        println!("damaged: {} more", found.unnamed);
    }
    if !found.is_sound() {
        println!("next: keep a copy of the directory, and restore a backup with `onehop restore`");
        return;
    }
    let Some(derived) = derived else {
        println!("nothing is missing");
        return;
    };
    print_lost(&derived.lost, derived.made_again, data);
    let VerificationReport { drifts, unreadable, repaired, .. } = &derived.report;
    println!("{repaired} differences of read models, counts and copies were repaired");
    for drift in drifts.iter().take(PRINTED_MAX) {
        println!("drift: {}", serde_json::to_string(drift).unwrap_or_else(|_| format!("{drift:?}")));
    }
    for problem in unreadable {
        println!("unreadable: {}: {}", problem.container, problem.problem);
    }
    if !drifts.is_empty() {
        println!(
            "{} drifts are left. Items whose owner is lost are kept: put the owner back from a backup, or let \
             `onehop verify --repair` delete them",
            drifts.len()
        );
    }
    if let Some(kept) = &recovery.kept {
        println!(
            "the damaged engine is kept in {}; delete it when nothing is missing any more",
            kept.display()
        );
    }
}

fn print_recovery(recovery: &Recovery) {
    let Recovery {
        losses,
        last_commit,
        expected_commit,
        items,
        items_dropped,
        entries_made,
        entries_dropped,
        damage,
        ..
    } = recovery;
    if recovery.is_empty() {
        return;
    }
    for loss in losses {
        println!("lost: {loss}");
    }
    for what in damage {
        println!("damage: {what}");
    }
    if expected_commit > last_commit {
        println!("dropped: the commits {} to {expected_commit}, with every write in them", last_commit + 1);
    }
    println!("{items} items are left, {items_dropped} were older versions or could not be read");
    println!(
        "{entries_made} entries of ids, indexes and the change log were made again, {entries_dropped} dropped"
    );
}

fn print_lost(lost: &[LostItem], made_again: usize, data: &Path) {
    for item in lost.iter().take(PRINTED_MAX) {
        let LostItem { container, partition_key, id, fate, .. } = item;
        println!("item: {container}, partition key {partition_key:?}, id {id:?}: {}", in_words(*fate));
    }
    let mut sums: BTreeMap<(&str, ItemFate), usize> = BTreeMap::new();
    for item in lost {
        *sums.entry((&item.container, item.fate)).or_default() += 1;
    }
    for ((container, fate), items) in sums {
        println!("{items} items of {container}: {}", in_words(fate));
    }
    println!("{made_again} lost items were made again from their sources");
    if !lost.is_empty() {
        println!("every item is in {}", data.join("lost-items.jsonl").display());
    }
}

fn in_words(fate: ItemFate) -> &'static str {
    match fate {
        ItemFate::Lost => "lost",
        ItemFate::EarlierVersion => "the newest version is lost, and an earlier one was kept",
        ItemFate::PerhapsLost => "lost, or deleted before",
        ItemFate::Unconfirmed => "kept, and may have been deleted or written again before",
    }
}
