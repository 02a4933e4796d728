//! Former dead letters: changes that earlier releases parked for faults of the store and for lost races. They
//! are no poison messages, so they are replayed without an operator.
//!
//! Those releases recorded the text of the error and no cause. The beginnings of these texts say which
//! letters are meant. A change that fails again in the replay is a poison message, and records its cause:
//! nothing is replayed twice.

use futures::FutureExt;

use super::dead_letters::DeadLetterItem;
use super::instance::Instance;
use super::page_error::PageError;
use super::runner::Runner;
use onehop_store::Ledger;

/// The errors that earlier releases recorded for faults of the store and for lost races. A dead letter of
/// theirs names no cause.
const FORMER_FAULTS: [&str; 12] = [
    "the account has no request units left for now",
    "the physical partition is moving",
    "another write to the same item is under way (449)",
    "the account does not let this credential in",
    "the container does not exist",
    "the service did not answer",
    "it is not known whether the ",
    "a write was answered without an ETag",
    "a batch was answered without a status for each of its operations",
    "the storage engine ",
    "the store's writer ",
    "what was read kept changing: ",
];

/// Whether an error that an earlier release recorded is no poison message.
fn is_former_fault(error: &str) -> bool {
    FORMER_FAULTS.iter().any(|beginning| error.starts_with(beginning))
}

impl DeadLetterItem {
    /// Whether an earlier release parked its changes for a fault of the store or lost races.
    pub(super) fn is_of_former_fault(&self) -> bool {
        let failed = self.items.iter().find(|entry| entry.error.is_some() || entry.cause.is_some());
        failed
            .is_some_and(|entry| entry.cause.is_none() && entry.error.as_deref().is_some_and(is_former_fault))
    }
}

impl Instance {
    /// Replays the former dead letters until the stop, including letters that instances of an earlier release
    /// still write. A failure is tried again, without end.
    pub(super) async fn keep_replaying(&self) {
        let context = &self.context;
        let mut failures = 0;
        while !context.stop.is_cancelled() {
            match self.replay_former_letters().await {
                Ok(()) => {
                    failures = 0;
                    context.stop.run_until_cancelled(self.letters_loaded.notified()).await;
                }
                Err(error) if error.stall_cause().is_some() => {
                    context.pause_after_page(failures, &error).await;
                    failures = failures.saturating_add(1);
                }
                Err(_) => return,
            }
        }
    }

    /// Replays the former dead letters of all projections.
    pub(super) async fn replay_former_letters(&self) -> Result<(), PageError> {
        for runner in &self.runners {
            // Boxed: few processes have any, and the future of a replay is large.
            runner.replay_former_letters().boxed().await?;
        }
        Ok(())
    }
}

impl Runner {
    async fn replay_former_letters(&self) -> Result<(), PageError> {
        for (partition_key, letters) in self.dead_letters.of_former_faults() {
            let ledger = Ledger::new();
            let replayed = self.replay_partition(&partition_key, letters, &ledger).await;
            self.counters.add_charge(&ledger);
            let (projection, items) = (self.projection.name(), replayed?);
            tracing::info!(projection, items, "changes that an earlier release parked were projected");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_earlier_releases_say_which_letters_are_replayed() {
        for error in [
            "the account has no request units left for now: 429/3200: too many requests",
            "the physical partition is moving (status 410)",
            "it is not known whether the batch happened (status 503)",
            "what was read kept changing: the item has changed since it was read",
        ] {
            assert!(is_former_fault(error), "{error}");
        }
        for error in [
            "no end after 10000 steps",
            "what was read cannot be used: an item's body has an unexpected shape: missing field `userId`",
            "an intended write was refused: 3000000 bytes are more than the 2097152 allowed",
        ] {
            assert!(!is_former_fault(error), "{error}");
        }
    }
}
