//! Page processing: the changes of one logical partition run in order, the changes of different ones
//! concurrently.
//!
//! Changes that need no I/O (the projection is done at once, or after cached reads) never leave the first,
//! synchronous pass. That pass also collects the reads that the page shares.

use std::collections::{HashMap, HashSet};

use futures::{StreamExt, stream};

use parking_lot::Mutex;

use super::change_checkpoints::ChangeCheckpoints;
use super::dead_letters::FailedChange;
use super::page_cache::PageCache;
use super::page_error::PageError;
use super::poison::Poison;
use super::projection::{NextAction, Step, StepInput, WakingFields};
use super::runner::{ChangeError, RunContext, Runner, STEPS_MAX};
use super::settings::Sharing;
use super::turn::PartitionTurn;
use onehop_runtime::planted;
use onehop_store::{Change, Ledger, PartitionKey};

/// The progress of a projection in a page: the logical partitions whose changes it has completed. A page that
/// failed is tried again without them.
#[derive(Default)]
pub(super) struct PageProgress {
    pub(super) is_complete: bool,
    completed: Mutex<HashSet<PartitionKey>>,
}

impl PageProgress {
    pub(super) fn of(is_complete: bool) -> Self {
        Self { is_complete, ..Self::default() }
    }
}

/// A change after the first pass.
struct PreparedChange {
    change: Change,
    waking: Option<WakingFields>,
    first: FirstStep,
}

enum FirstStep {
    /// Nothing is to be done.
    Nothing,
    Step(Box<Step>),
    Failed(Poison),
    /// A saved state or a dead letter decides: the first step is taken when the change runs.
    Later,
}

impl Runner {
    /// Projects a page, or the rest of it after an earlier try. Afterwards every change of it is projected or
    /// a dead letter.
    pub(super) async fn run_page(
        &self,
        mut changes: Vec<Change>,
        progress: &mut PageProgress,
        checkpoints: ChangeCheckpoints<'_>,
        ledger: &Ledger,
    ) -> Result<(), PageError> {
        let count = changes.len();
        let completed = progress.completed.get_mut();
        changes.retain(|change| !completed.contains(&change.partition_key));
        if self.context.settings.sharing != Sharing::Alone {
            // Other processes write too, without invalidating this cache.
            self.read_cache.begin_page();
        }
        self.projection.arrange(&mut changes);
        let (prepared, shared) = self.prepare(changes, checkpoints, ledger).await?;
        let groups = group(prepared);
        let (context, completed) = (RunContext { shared: &shared, checkpoints, ledger }, &progress.completed);
        let bound =
            self.context.settings.concurrent_partitions_max.min(self.projection.concurrent_partitions_max());
        let failed = Mutex::new(None);
        stream::iter(groups)
            .for_each_concurrent(bound.max(1), |(partition_key, group)| {
                let failed = &failed;
                async move {
                    if planted!("complete-before-it-ran") {
                        completed.lock().insert(partition_key.clone());
                    }
                    // Work under way is completed, so that a page that fails makes progress. Nothing more is
                    // begun.
                    if failed.lock().is_some() {
                        return;
                    }
                    match self.run_group(&partition_key, group, context).await {
                        Ok(()) => drop(completed.lock().insert(partition_key)),
                        Err(error) => drop(failed.lock().get_or_insert(error)),
                    }
                }
            })
            .await;
        if let Some(error) = failed.into_inner() {
            return Err(error);
        }
        self.counters.add_changes(count);
        progress.is_complete = true;
        Ok(())
    }

    /// The first step of each change, the shared reads, and then as many steps as cost nothing.
    async fn prepare(
        &self,
        changes: Vec<Change>,
        checkpoints: ChangeCheckpoints<'_>,
        ledger: &Ledger,
    ) -> Result<(Vec<PreparedChange>, PageCache), PageError> {
        let mut shared = PageCache::default();
        let mut prepared = Vec::with_capacity(changes.len());
        for change in changes {
            // A rebuild looks at every item, even if it was projected before.
            let waking = if checkpoints.is_rebuild() { None } else { self.projection.waking_fields(&change) };
            let first = if self.dead_letters.contains(&change.partition_key)
                || !checkpoints.get(&change).await.is_null()
            {
                FirstStep::Later
            } else if waking.as_ref().is_some_and(|fields| self.recent_changes.is_projected(&change, fields))
            {
                FirstStep::Nothing
            } else {
                let input = StepInput { may_be_projected: checkpoints.is_rebuild(), ..StepInput::first() };
                match self.projection.step(&change, input) {
                    Ok(step) => {
                        step.reads().iter().for_each(|read| shared.request(read));
                        FirstStep::Step(Box::new(step))
                    }
                    Err(error) => FirstStep::Failed(error.into()),
                }
            };
            prepared.push(PreparedChange { change, waking, first });
        }
        shared.fill(&*self.context.store, ledger).await?;
        for PreparedChange { change, waking, first } in &mut prepared {
            if let FirstStep::Step(step) = first {
                let step = std::mem::take(&mut **step);
                *first = self.advance(change, step, &shared, checkpoints);
            }
            if matches!(first, FirstStep::Nothing) {
                self.remember(change, waking.take());
            }
        }
        Ok((prepared, shared))
    }

    /// Takes steps while they write nothing and their reads are cached.
    fn advance(
        &self,
        change: &Change,
        mut step: Step,
        shared: &PageCache,
        checkpoints: ChangeCheckpoints<'_>,
    ) -> FirstStep {
        for _ in 0..STEPS_MAX {
            if !step.writes.is_empty() || step.is_in_turn || step.effect.is_some() {
                return FirstStep::Step(Box::new(step));
            }
            let NextAction::Ask { reads, state, checkpointed: false } = &step.then else {
                return if step.is_done() { FirstStep::Nothing } else { FirstStep::Step(Box::new(step)) };
            };
            let results: Option<Vec<_>> = reads.iter().map(|read| self.cached(read, Some(shared))).collect();
            let Some(results) = results else { return FirstStep::Step(Box::new(step)) };
            let may_be_projected = checkpoints.is_rebuild();
            step = match self
                .projection
                .step(change, StepInput { state, results: &results, may_be_projected })
            {
                Ok(step) => step,
                Err(error) => return FirstStep::Failed(error.into()),
            };
        }
        FirstStep::Failed(Poison::too_many_steps(STEPS_MAX))
    }

    /// The changes of one logical partition, in order. After a poison message the rest goes to the dead
    /// letters behind it.
    async fn run_group(
        &self,
        partition_key: &PartitionKey,
        group: Vec<PreparedChange>,
        context: RunContext<'_>,
    ) -> Result<(), PageError> {
        let mut turn = PartitionTurn::take(&self.partition_permits).await;
        if self.dead_letters.contains(partition_key) {
            let waiting: Vec<_> =
                group.iter().map(|prepared| FailedChange::behind(&prepared.change)).collect();
            if self.dead_letters.append_behind(partition_key, &waiting, context.ledger).await? {
                return Ok(());
            }
        }
        let mut group = group.into_iter();
        while let Some(PreparedChange { change, waking, first }) = group.next() {
            if context.checkpoints.are_lost() {
                return Err(PageError::LeaseLost);
            }
            let outcome = match first {
                FirstStep::Nothing => Ok(false),
                FirstStep::Failed(poison) => Err(ChangeError::Poison { attempts: 1, poison }),
                FirstStep::Step(step) => self.run_change(&change, Some(*step), context, &mut turn).await,
                FirstStep::Later => self.run_change(&change, None, context, &mut turn).await,
            };
            match outcome {
                Ok(true) => self.remember(&change, waking),
                Ok(false) => {}
                Err(ChangeError::Page(error)) => return Err(error),
                Err(ChangeError::Poison { attempts, poison }) => {
                    self.log_dead_letter(&change, &poison);
                    let mut parked = vec![FailedChange::failed(&change, attempts, &poison)];
                    parked.extend(group.map(|prepared| FailedChange::behind(&prepared.change)));
                    return Ok(self.dead_letters.add_failed(partition_key, &parked, context.ledger).await?);
                }
            }
        }
        Ok(())
    }

    fn remember(&self, change: &Change, waking: Option<WakingFields>) {
        if let Some(fields) = waking {
            self.recent_changes.remember(change, fields);
        }
    }

    fn log_dead_letter(&self, change: &Change, Poison { cause, error }: &Poison) {
        let (projection, partition_key, id) = (self.projection.name(), &change.partition_key, &change.id);
        tracing::warn!(projection, %partition_key, id, ?cause, error, "a change cannot be projected and is parked");
        self.counters.record_error(error);
    }
}

/// The changes by logical partition, each in order, in the order in which the partitions appear. Partitions
/// without anything to do are left out.
fn group(prepared: Vec<PreparedChange>) -> Vec<(PartitionKey, Vec<PreparedChange>)> {
    let mut places: HashMap<PartitionKey, usize> = HashMap::new();
    let mut groups: Vec<(PartitionKey, Vec<PreparedChange>)> = Vec::new();
    for prepared in prepared {
        let partition_key = &prepared.change.partition_key;
        if let Some(place) = places.get(partition_key) {
            groups[*place].1.push(prepared);
        } else {
            places.insert(partition_key.clone(), groups.len());
            groups.push((partition_key.clone(), vec![prepared]));
        }
    }
    groups.retain(|(_, group)| group.iter().any(|prepared| !matches!(prepared.first, FirstStep::Nothing)));
    groups
}
