//! Source container: the projections that follow one change feed, and the item types that they need together.
//!
//! A page of the feed is read once. It is given to the projections in their declared order: one completes it
//! before the next begins.

use std::sync::Arc;

use serde::Deserialize;

use super::change_checkpoints::ChangeCheckpoints;
use super::context::ProcessorContext;
use super::lease_handle::LeaseHandle;
use super::lease_scope::LeaseScope;
use super::page::PageProgress;
use super::page_error::{PageError, StallCause};
use super::pass::Pass;
use super::runner::Runner;
use onehop_store::{Change, ContainerName, Ledger, json_text};

pub(super) struct FeedSource {
    pub(super) context: Arc<ProcessorContext>,
    pub(super) container: ContainerName,
    pub(super) scope: LeaseScope,
    /// The projections, in their declared order.
    pub(super) runners: Vec<Arc<Runner>>,
    /// The union of the types that they need; `None` for all.
    pub(super) types: Option<Arc<[&'static str]>>,
}

/// The changes of a page, and how far each projection has come in it. A failed page is given to the
/// projections that have not completed it.
pub(super) struct SourcePage {
    pub(super) changes: Vec<Change>,
    /// In the order of the projections.
    progress: Vec<PageProgress>,
}

impl Pass {
    fn stall_key(self, lease: &LeaseHandle) -> (&str, Self) {
        let pass = if self == Self::Live { Self::Live } else { Self::Backfill };
        (&lease.id, pass)
    }
}

impl SourcePage {
    /// Gives the page to further projections.
    pub(super) fn admit(&mut self, runners: &[Arc<Runner>], names: &[String]) {
        for (runner, progress) in runners.iter().zip(&mut self.progress) {
            if names.iter().any(|name| name == runner.projection.name()) {
                *progress = PageProgress::default();
            }
        }
    }

    /// A page for some projections: the others have completed it.
    pub(super) fn for_projections(changes: Vec<Change>, runners: &[Arc<Runner>], names: &[String]) -> Self {
        let is_named = |runner: &Runner| names.iter().any(|name| name == runner.projection.name());
        let progress = |runner: &Arc<Runner>| PageProgress::of(!is_named(runner));
        Self { changes, progress: runners.iter().map(progress).collect() }
    }
}

/// The type of an item.
#[derive(Deserialize)]
struct TypedItem {
    #[serde(rename = "type")]
    item_type: Option<String>,
}

impl FeedSource {
    /// The source containers of these projections, in the order of their first projections.
    pub(super) fn all_of(context: &Arc<ProcessorContext>, runners: &[Arc<Runner>]) -> Vec<Arc<Self>> {
        let mut groups: Vec<(ContainerName, Vec<Arc<Runner>>)> = Vec::new();
        for runner in runners {
            let container = runner.projection.source();
            match groups.iter_mut().find(|(of, _)| *of == container) {
                Some((_, group)) => group.push(Arc::clone(runner)),
                None => groups.push((container, vec![Arc::clone(runner)])),
            }
        }
        let source = |(container, runners): (ContainerName, Vec<Arc<Runner>>)| {
            let types = union_of_types(&runners);
            let projections = runners.iter().map(|runner| runner.projection.name().to_owned()).collect();
            let without_history = runners
                .iter()
                .filter(|runner| !runner.projection.needs_history())
                .map(|runner| runner.projection.name().to_owned())
                .collect();
            let scope = LeaseScope { context: Arc::clone(context), container, projections, without_history };
            Arc::new(Self { context: Arc::clone(context), container, scope, runners, types })
        };
        groups.into_iter().map(source).collect()
    }

    /// Adds a charge to the projections in equal shares.
    pub(super) fn add_charge(&self, ledger: &Ledger) {
        for runner in &self.runners {
            runner.counters.add_charge_part(ledger, self.runners.len());
        }
    }

    /// Records an error that concerns all projections.
    pub(super) fn record_error(&self, error: &str) {
        for runner in &self.runners {
            runner.counters.record_error(error);
        }
    }

    /// Gives a page to each projection that has not completed it. A failure of one projection does not keep
    /// the page from the projections after it; the first failure is returned.
    pub(super) async fn run_page(
        &self,
        page: &mut SourcePage,
        lease: &LeaseHandle,
        pass: Pass,
    ) -> Result<(), PageError> {
        let item_types = self.item_types(&page.changes);
        let mut failed = None;
        for (runner, progress) in self.runners.iter().zip(&mut page.progress) {
            if progress.is_complete {
                continue;
            }
            let wanted = wanted(runner, &page.changes, item_types.as_deref());
            match run_projection(runner, wanted, progress, lease, pass).await {
                Ok(()) => runner.stalls.clear(pass.stall_key(lease)),
                Err(error) => {
                    let Some(cause) = error.stall_cause() else { return Err(error) };
                    runner.counters.record_error(&error.to_string());
                    let now_ms = self.context.clock.monotonic_ms();
                    runner.stalls.record(pass.stall_key(lease), cause, now_ms);
                    failed.get_or_insert(error);
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// Records that the pages of a feed range cannot be read.
    pub(super) fn record_stall(&self, lease: &str, cause: StallCause) {
        let now_ms = self.context.clock.monotonic_ms();
        self.runners.iter().for_each(|runner| runner.stalls.record((lease, Pass::Live), cause, now_ms));
    }

    /// Records that a page of a feed range was completed.
    pub(super) fn clear_stalls(&self, lease: &str) {
        self.runners.iter().for_each(|runner| runner.stalls.clear((lease, Pass::Live)));
    }

    /// Records that this instance reads a feed range no more.
    pub(super) fn forget_stalls(&self, lease: &str) {
        self.clear_stalls(lease);
        self.runners.iter().for_each(|runner| runner.stalls.clear((lease, Pass::Backfill)));
    }

    /// The type of each change; `None` where all projections need the same types, by which the page was read.
    fn item_types(&self, changes: &[Change]) -> Option<Vec<Option<String>>> {
        let [first, others @ ..] = &self.runners[..] else { return None };
        let types = first.projection.types();
        if others.iter().all(|other| other.projection.types() == types) {
            return None;
        }
        let item_type = |change: &Change| {
            let typed = json_text(&change.item.body).and_then(serde_json::from_str::<TypedItem>);
            typed.ok().and_then(|typed| typed.item_type)
        };
        Some(changes.iter().map(item_type).collect())
    }
}

fn union_of_types(runners: &[Arc<Runner>]) -> Option<Arc<[&'static str]>> {
    let mut union: Vec<&'static str> = Vec::new();
    for runner in runners {
        for item_type in runner.projection.types()? {
            if !union.contains(item_type) {
                union.push(item_type);
            }
        }
    }
    Some(union.into())
}

/// The changes that a projection needs.
fn wanted(runner: &Runner, changes: &[Change], item_types: Option<&[Option<String>]>) -> Vec<Change> {
    let (Some(types), Some(item_types)) = (runner.projection.types(), item_types) else {
        return changes.to_vec();
    };
    let is_wanted =
        |item_type: &Option<String>| item_type.as_deref().is_some_and(|item_type| types.contains(&item_type));
    let wanted = changes.iter().zip(item_types).filter(|(_, item_type)| is_wanted(item_type));
    wanted.map(|(change, _)| change.clone()).collect()
}

async fn run_projection(
    runner: &Runner,
    wanted: Vec<Change>,
    progress: &mut PageProgress,
    lease: &LeaseHandle,
    pass: Pass,
) -> Result<(), PageError> {
    if wanted.is_empty() {
        progress.is_complete = true;
        return Ok(());
    }
    let (ledger, checkpoints) = match pass {
        Pass::Live => {
            let projection = runner.projection.name();
            (Ledger::new(), ChangeCheckpoints::InLease { lease, projection })
        }
        Pass::Backfill => (Ledger::new().for_background(), ChangeCheckpoints::WhileOwned { lease }),
        Pass::Join => (Ledger::new(), ChangeCheckpoints::WhileOwned { lease }),
    };
    let outcome = runner.run_page(wanted, progress, checkpoints, &ledger).await;
    runner.counters.add_charge(&ledger);
    outcome
}
