//! Rolling deployments: processes of two releases beside each other. The older one does not know some
//! projections, so these are backfilled beside commands, and lose their leases to processes that do not serve
//! them.

use std::sync::Arc;
use std::time::Duration;

use super::World;
use crate::trace;

/// The percentage of older processes among the processes after the first one.
const OLDER_PERCENT: u64 = 40;
/// Processes that a deployment starts before a run goes on without one.
const STARTS_MAX: usize = 50;

impl World {
    /// Whether the next process is of the older release: the first one of a run with two releases is.
    pub(super) fn next_is_older(&self) -> bool {
        let has_two = !self.plan.added_projections.is_empty() && !*self.is_quiet.lock();
        has_two && (*self.started.lock() == 0 || self.dice.percent(OLDER_PERCENT))
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
