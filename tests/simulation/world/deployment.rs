//! Rolling deployments: processes of two releases beside each other. The older one does not know some
//! projections, so these are backfilled beside commands, and lose their leases to processes that do not serve
//! them. Of a served model it has an older version.

use std::sync::Arc;
use std::time::Duration;

use onehop::served::ServedModel;
use onehop_model::Model;
use onehop_store::ContainerSpec;

use super::World;
use crate::process::Release;
use crate::trace;

/// The percentage of older processes among the processes after the first one.
const OLDER_PERCENT: u64 = 40;
/// Processes that a deployment starts before a run goes on without one.
const STARTS_MAX: usize = 50;

/// The acts after a change of the model during which clients change moved values more often.
const ACTS_OF_MOVES: usize = 60;

/// The newer version of the served model.
const DESK: &str = include_str!("../models/desk.graphql");

/// The changes from the older version: two lists, a count, a copy, a computed value, and a renamed property.
const CHANGES: usize = 6;

/// The versions of a served model.
pub(super) struct ModelVersions {
    older: Arc<ServedModel>,
    pub(super) newer: Arc<ServedModel>,
}

impl ModelVersions {
    pub(super) fn read() -> Self {
        let read = |name: &str, text: &str| {
            let model = Model::read(name, text).unwrap_or_else(|errors| panic!("{errors}"));
            Arc::new(ServedModel::new(model).unwrap_or_else(|refused| panic!("{refused:#?}")))
        };
        let (older, newer) = (read("older-desk.graphql", &older_desk()), read("desk.graphql", DESK));
        let changes = older.model().diff(newer.model());
        assert_eq!(changes.effects().len(), CHANGES, "{:?}", changes.effects());
        Self { older, newer }
    }
}

/// The text of the older version, without lists, a count, a copy, a computed value and the new name of a
/// property.
fn older_desk() -> String {
    let lines = DESK.lines().filter(|line| {
        let is_of_label = line.contains("into: \"labels\"");
        let is_of_closed = line.contains("closed:") || line.contains("is: CLOSED) @order");
        !is_of_label && !is_of_closed && !line.contains("ticketCount") && !line.contains("sortKey:")
    });
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    text.replace("version: 2", "version: 1")
        .replace(" @stored(as: \"body\", former: \"text\")", "")
        .replace("by: Person! @reference @copy(fields: [\"name\"])", "by: Person! @reference")
}

impl World {
    /// Whether the next process is of the older release: the first one of a run with two releases is. A
    /// changed model is not served with an older version again.
    pub(super) fn next_is_older(&self) -> bool {
        let has_two = !self.plan.added_projections.is_empty() && !*self.is_quiet.lock();
        let is_first = match self.models {
            // Items of the older version come first.
            Some(_) => *self.acts_left.lock() > self.plan.acts / (self.plan.lulls + 1) / 2,
            None => *self.started.lock() == 0,
        };
        let may_be_older = self.models.is_none() || !*self.has_newer.lock();
        has_two && may_be_older && (is_first || self.dice.percent(OLDER_PERCENT))
    }

    /// Whether all processes so far had the older model, whose items the newer one finds.
    pub fn has_older_model_alone(&self) -> bool {
        self.models.is_some() && !self.plan.added_projections.is_empty() && !*self.has_newer.lock()
    }

    /// Whether a process with the newer model has begun lately, so that values are on their way.
    pub fn moves_values(&self) -> bool {
        self.models.is_some() && self.is_newly_released()
    }

    /// Whether a process with added projections has begun lately, so that they read the changes of before.
    pub fn is_newly_released(&self) -> bool {
        let since = *self.acts_left_at_newer.lock();
        !self.plan.added_projections.is_empty()
            && since.is_some_and(|then| then.saturating_sub(*self.acts_left.lock()) < ACTS_OF_MOVES)
    }

    /// A release, and its containers.
    pub(super) fn release(&self, is_older: bool) -> (Release, &'static [ContainerSpec]) {
        let Some(models) = &self.models else {
            let unknown = if is_older { self.plan.added_projections.clone() } else { Vec::new() };
            return (Release::BuiltIn { unknown }, self.specs);
        };
        if is_older {
            let specs: &'static [_] = Box::leak(models.older.containers().to_vec().into_boxed_slice());
            return (Release::Served(Arc::clone(&models.older)), specs);
        }
        (Release::Served(Arc::clone(&models.newer)), self.specs)
    }

    /// Whether a process does not know the added projections, or is gone.
    pub fn is_older(&self, number: u32) -> bool {
        self.members.lock().get(&number).is_none_or(|member| member.is_older)
    }

    /// Stops a process, and starts one in its place.
    pub(super) async fn replace(self: Arc<Self>, number: u32) {
        if !self.plan.is_embedded {
            self.start_process();
        }
        self.stop(number).await;
        if self.plan.is_embedded && self.is_free() {
            self.start_process();
        }
    }

    /// Replaces the processes of the older release, and waits until a process serves.
    pub async fn deploy_everywhere(self: &Arc<Self>) {
        *self.is_quiet.lock() = true;
        let numbers = self.process_numbers();
        let older: Vec<u32> = numbers.iter().copied().filter(|number| self.is_older(*number)).collect();
        if !older.is_empty() {
            trace::line("world", "the deployment is completed");
            self.count("deployment completed");
        }
        for number in older {
            self.stop(number).await;
        }
        for _ in 0..STARTS_MAX {
            if self.any_process().is_some() {
                break;
            }
            if self.is_free() {
                self.start_release(false);
            }
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
    }
}
