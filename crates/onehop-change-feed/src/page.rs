//! Works on a page of changes: one logical partition after its own order, different ones at the same time.
//!
//! Changes that need no I/O (the projection is done with them at once, or after answers from memory) never leave the
//! first, synchronous pass; that pass also collects the reads that the page shares.

use std::collections::HashMap;

use futures::{StreamExt, TryStreamExt, stream};

use super::dead_letters::ToPark;
use super::notes::Notes;
use super::projection::{ProjectionError, Step, Then, Turn};
use super::runner::{Failure, PageError, Runner, STEPS_MAX};
use super::settings::Sharing;
use super::shared::SharedItems;
use onehop_store::{Change, Ledger, PartitionKey};

/// A change after the first pass.
struct Prepared {
    change: Change,
    first: First,
}

enum First {
    /// Nothing is to be done.
    Nothing,
    Step(Step),
    Failed(ProjectionError),
    /// A saved note or a parked partition decides: the first step is taken when the change's turn comes.
    Later,
}

impl Runner {
    /// Projects a page. Afterwards every change of it is projected or parked.
    pub(super) async fn run_page(
        &self,
        mut changes: Vec<Change>,
        notes: Notes<'_>,
        ledger: &Ledger,
    ) -> Result<(), PageError> {
        let count = changes.len();
        if self.host.settings.sharing != Sharing::Alone {
            // Other processes write too, and forget no memo here.
            self.memos.forget();
        }
        self.projection.arrange(&mut changes);
        let (prepared, shared) = self.prepare(changes, notes, ledger).await?;
        let groups = group(prepared);
        let bound =
            self.host.settings.concurrent_partitions_max.min(self.projection.concurrent_partitions_max());
        stream::iter(groups)
            .map(Ok)
            .try_for_each_concurrent(bound.max(1), |group| self.run_group(group, &shared, notes, ledger))
            .await?;
        self.counters.add_changes(count);
        Ok(())
    }

    /// The first step of each change, the shared reads, and then as many steps as cost nothing.
    async fn prepare(
        &self,
        changes: Vec<Change>,
        notes: Notes<'_>,
        ledger: &Ledger,
    ) -> Result<(Vec<Prepared>, SharedItems), PageError> {
        let mut shared = SharedItems::default();
        let mut prepared = Vec::with_capacity(changes.len());
        for change in changes {
            let first =
                if self.dead_letters.holds(&change.partition_key) || !notes.get(&change).await.is_null() {
                    First::Later
                } else {
                    match self.projection.step(&change, Turn::first()) {
                        Ok(step) => {
                            step.reads().iter().for_each(|read| shared.want(read));
                            First::Step(step)
                        }
                        Err(error) => First::Failed(error),
                    }
                };
            prepared.push(Prepared { change, first });
        }
        shared.fill(&*self.host.store, ledger).await?;
        for Prepared { change, first } in &mut prepared {
            if let First::Step(step) = first {
                let step = std::mem::take(step);
                *first = self.advance(change, step, &shared);
            }
        }
        Ok((prepared, shared))
    }

    /// Takes steps while they write nothing and are answered from memory.
    fn advance(&self, change: &Change, mut step: Step, shared: &SharedItems) -> First {
        for _ in 0..STEPS_MAX {
            if !step.writes.is_empty() {
                return First::Step(step);
            }
            let Then::Ask { reads, note, saved: false } = &step.then else {
                return if step.is_done() { First::Nothing } else { First::Step(step) };
            };
            let answers: Option<Vec<_>> =
                reads.iter().map(|read| self.remembered(read, Some(shared))).collect();
            let Some(answers) = answers else { return First::Step(step) };
            step = match self.projection.step(change, Turn { note, answers: &answers }) {
                Ok(step) => step,
                Err(error) => return First::Failed(error),
            };
        }
        First::Failed(ProjectionError::text(format!("no end after {STEPS_MAX} steps")))
    }

    /// The changes of one logical partition, in order. After a failure the rest is parked behind it.
    async fn run_group(
        &self,
        group: Vec<Prepared>,
        shared: &SharedItems,
        notes: Notes<'_>,
        ledger: &Ledger,
    ) -> Result<(), PageError> {
        // Shared by all readers of the projection, and fair. The semaphore is never closed, so a permit always comes.
        let _turn = self.turns.acquire().await.ok();
        let Some(partition_key) = group.first().map(|prepared| prepared.change.partition_key.clone()) else {
            return Ok(());
        };
        if self.dead_letters.holds(&partition_key) {
            let waiting: Vec<_> = group.iter().map(|prepared| ToPark::behind(&prepared.change)).collect();
            if self.dead_letters.park_behind(&partition_key, &waiting, ledger).await? {
                return Ok(());
            }
        }
        let mut group = group.into_iter();
        while let Some(Prepared { change, first }) = group.next() {
            if notes.are_lost() {
                return Err(PageError::LeaseLost);
            }
            let outcome = match first {
                First::Nothing => Ok(()),
                First::Failed(error) => Err(Failure::Change { attempts: 1, error: error.to_string() }),
                First::Step(step) => self.run_change(&change, Some(step), shared, notes, ledger).await,
                First::Later => self.run_change(&change, None, shared, notes, ledger).await,
            };
            match outcome {
                Ok(()) => {}
                Err(Failure::Page(error)) => return Err(error),
                Err(Failure::Change { attempts, error }) => {
                    self.note_parked(&change, &error);
                    let mut parked = vec![ToPark::failed(&change, attempts, &error)];
                    parked.extend(group.map(|prepared| ToPark::behind(&prepared.change)));
                    return Ok(self.dead_letters.park(&partition_key, &parked, ledger).await?);
                }
            }
        }
        Ok(())
    }

    fn note_parked(&self, change: &Change, error: &str) {
        let (projection, partition_key, id) = (self.projection.name(), &change.partition_key, &change.id);
        tracing::warn!(projection, %partition_key, id, error, "a change cannot be projected and is parked");
        self.counters.note_error(error);
    }
}

/// The changes by logical partition, each in order, in the order in which the partitions appear. Partitions without
/// anything to do are left out.
fn group(prepared: Vec<Prepared>) -> Vec<Vec<Prepared>> {
    let mut places: HashMap<PartitionKey, usize> = HashMap::new();
    let mut groups: Vec<Vec<Prepared>> = Vec::new();
    for prepared in prepared {
        if let Some(place) = places.get(&prepared.change.partition_key) {
            groups[*place].push(prepared);
        } else {
            places.insert(prepared.change.partition_key.clone(), groups.len());
            groups.push(vec![prepared]);
        }
    }
    groups.retain(|group| group.iter().any(|prepared| !matches!(prepared.first, First::Nothing)));
    groups
}
