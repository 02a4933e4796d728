//! Page processing: the changes of one logical partition run in order, those of different ones concurrently.
//!
//! Changes that need no I/O (the projection is done at once, or after cached reads) never leave the first, synchronous pass.
//! That pass also collects the reads that the page shares.

use std::collections::HashMap;

use futures::{StreamExt, TryStreamExt, stream};

use super::change_checkpoints::ChangeCheckpoints;
use super::dead_letters::FailedChange;
use super::page_cache::PageCache;
use super::projection::{NextAction, ProjectionError, Step, StepInput, WakingFields};
use super::runner::{ChangeError, PageError, Runner, STEPS_MAX};
use super::settings::Sharing;
use onehop_store::{Change, Ledger, PartitionKey};

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
    Failed(ProjectionError),
    /// A saved state or a dead letter decides: the first step is taken when the change runs.
    Later,
}

impl Runner {
    /// Projects a page. Afterwards every change of it is projected or a dead letter.
    pub(super) async fn run_page(
        &self,
        mut changes: Vec<Change>,
        checkpoints: ChangeCheckpoints<'_>,
        ledger: &Ledger,
    ) -> Result<(), PageError> {
        let count = changes.len();
        if self.context.settings.sharing != Sharing::Alone {
            // Other processes write too, without invalidating this cache.
            self.read_cache.invalidate();
        }
        self.projection.arrange(&mut changes);
        let (prepared, shared) = self.prepare(changes, checkpoints, ledger).await?;
        let groups = group(prepared);
        let bound =
            self.context.settings.concurrent_partitions_max.min(self.projection.concurrent_partitions_max());
        stream::iter(groups)
            .map(Ok)
            .try_for_each_concurrent(bound.max(1), |group| {
                self.run_group(group, &shared, checkpoints, ledger)
            })
            .await?;
        self.counters.add_changes(count);
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
            // A rebuild looks at every item, whatever was projected before.
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
                    Err(error) => FirstStep::Failed(error),
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
            if !step.writes.is_empty() || step.is_in_turn {
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
                Err(error) => return FirstStep::Failed(error),
            };
        }
        FirstStep::Failed(ProjectionError::text(format!("no end after {STEPS_MAX} steps")))
    }

    /// The changes of one logical partition, in order. After a failure the rest goes to the dead letters behind it.
    async fn run_group(
        &self,
        group: Vec<PreparedChange>,
        shared: &PageCache,
        checkpoints: ChangeCheckpoints<'_>,
        ledger: &Ledger,
    ) -> Result<(), PageError> {
        // A fair semaphore, shared by all readers of the projection. It is never closed, so a permit always comes.
        let _turn = self.partition_permits.acquire().await.ok();
        let Some(partition_key) = group.first().map(|prepared| prepared.change.partition_key.clone()) else {
            return Ok(());
        };
        if self.dead_letters.contains(&partition_key) {
            let waiting: Vec<_> =
                group.iter().map(|prepared| FailedChange::behind(&prepared.change)).collect();
            if self.dead_letters.append_behind(&partition_key, &waiting, ledger).await? {
                return Ok(());
            }
        }
        let mut group = group.into_iter();
        while let Some(PreparedChange { change, waking, first }) = group.next() {
            if checkpoints.are_lost() {
                return Err(PageError::LeaseLost);
            }
            let outcome = match first {
                FirstStep::Nothing => Ok(false),
                FirstStep::Failed(error) => {
                    Err(ChangeError::Change { attempts: 1, error: error.to_string() })
                }
                FirstStep::Step(step) => {
                    self.run_change(&change, Some(*step), shared, checkpoints, ledger).await
                }
                FirstStep::Later => self.run_change(&change, None, shared, checkpoints, ledger).await,
            };
            match outcome {
                Ok(true) => self.remember(&change, waking),
                Ok(false) => {}
                Err(ChangeError::Page(error)) => return Err(error),
                Err(ChangeError::Change { attempts, error }) => {
                    self.log_dead_letter(&change, &error);
                    let mut parked = vec![FailedChange::failed(&change, attempts, &error)];
                    parked.extend(group.map(|prepared| FailedChange::behind(&prepared.change)));
                    return Ok(self.dead_letters.add_failed(&partition_key, &parked, ledger).await?);
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

    fn log_dead_letter(&self, change: &Change, error: &str) {
        let (projection, partition_key, id) = (self.projection.name(), &change.partition_key, &change.id);
        tracing::warn!(projection, %partition_key, id, error, "a change cannot be projected and is parked");
        self.counters.record_error(error);
    }
}

/// The changes by logical partition, each in order, in the order in which the partitions appear. Partitions without
/// anything to do are left out.
fn group(prepared: Vec<PreparedChange>) -> Vec<Vec<PreparedChange>> {
    let mut places: HashMap<PartitionKey, usize> = HashMap::new();
    let mut groups: Vec<Vec<PreparedChange>> = Vec::new();
    for prepared in prepared {
        if let Some(place) = places.get(&prepared.change.partition_key) {
            groups[*place].push(prepared);
        } else {
            places.insert(prepared.change.partition_key.clone(), groups.len());
            groups.push(vec![prepared]);
        }
    }
    groups.retain(|group| group.iter().any(|prepared| !matches!(prepared.first, FirstStep::Nothing)));
    groups
}
