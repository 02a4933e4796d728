//! Inspection of dead letters: the list of them, one of them by id, and the replay of one logical partition.

use serde::{Deserialize, Serialize};

use super::containers::DEAD_LETTERS;
use super::dead_letters::DeadLetterItem;
use super::poison::DeadLetterCause;
use super::processor::{Processor, ProcessorError};
use super::rebuild::ReplayReport;
use super::runner::Runner;
use super::settings::Sharing;
use onehop_store::{Fault, Ledger, PartitionKey};

/// Dead letters that a list names; further ones are counted.
pub const DEAD_LETTERS_LISTED_MAX: usize = 1_000;

/// A list of dead letters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetterList {
    /// Projection by projection, the oldest first, [`DEAD_LETTERS_LISTED_MAX`] at most.
    pub dead_letters: Vec<DeadLetterSummary>,
    /// The number of further letters.
    pub unlisted: u64,
}

/// A dead letter, summarised for a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeadLetterSummary {
    /// The id.
    pub id: String,
    /// The name of the projection.
    pub projection: String,
    /// The container whose changes wait.
    pub container: String,
    /// The partition key.
    pub partition_key: PartitionKey,
    /// Waiting items: the failed item, and the items behind it.
    pub items: u64,
    /// The attempts at the failed item.
    pub attempts: u32,
    /// Why it failed the last time. `None` in a letter that only continues another.
    pub error: Option<String>,
    /// Why it cannot be projected. `None` in a letter that only continues another, and in letters of earlier
    /// releases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<DeadLetterCause>,
    /// When the first entry was added, RFC 3339.
    pub since: String,
}

impl From<DeadLetterItem> for DeadLetterSummary {
    fn from(letter: DeadLetterItem) -> Self {
        let failed = letter.items.iter().find(|item| item.error.is_some());
        Self {
            attempts: failed.map_or(0, |item| item.attempts),
            error: failed.and_then(|item| item.error.clone()),
            cause: failed.and_then(|item| item.cause),
            items: letter.items.len() as u64,
            id: letter.id,
            projection: letter.projection,
            container: letter.container,
            partition_key: letter.partition_key,
            since: letter.first_parked_at,
        }
    }
}

impl DeadLetterList {
    /// Adds the dead letters of a projection.
    async fn extend(&mut self, runner: &Runner, ledger: &Ledger) -> Result<(), Fault> {
        let add = |letter: DeadLetterItem| {
            if self.dead_letters.len() < DEAD_LETTERS_LISTED_MAX {
                self.dead_letters.push(letter.into());
            } else {
                self.unlisted += 1;
            }
        };
        runner.dead_letters.for_each(ledger, add).await
    }
}

impl Processor {
    /// The stored dead letters of all projections, which are charged for the reads.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn dead_letters(&self) -> Result<DeadLetterList, ProcessorError> {
        let mut list = DeadLetterList::default();
        for runner in &self.instance.runners {
            let ledger = Ledger::new();
            list.extend(runner, &ledger).await?;
            runner.counters.add_charge(&ledger);
        }
        Ok(list)
    }

    /// The same for a caller, whose ledger records the reads.
    ///
    /// # Errors
    /// A fault of the store.
    pub async fn dead_letters_for(&self, ledger: &Ledger) -> Result<DeadLetterList, ProcessorError> {
        let mut list = DeadLetterList::default();
        for runner in &self.instance.runners {
            list.extend(runner, ledger).await?;
        }
        Ok(list)
    }

    /// One dead letter, with every item in it.
    ///
    /// # Errors
    /// No letter has this id, or a fault of the store.
    pub async fn dead_letter(&self, id: &str) -> Result<DeadLetterItem, ProcessorError> {
        self.dead_letter_for(id, &Ledger::new()).await
    }

    /// The same for a caller, whose ledger records the reads.
    ///
    /// # Errors
    /// No letter has this id, or a fault of the store.
    pub async fn dead_letter_for(&self, id: &str, ledger: &Ledger) -> Result<DeadLetterItem, ProcessorError> {
        let store = &self.instance.context.store;
        let found = store.read(DEAD_LETTERS, &PartitionKey::from(id), id, ledger).await?;
        let found = found.ok_or_else(|| ProcessorError::UnknownDeadLetter(id.to_owned()))?;
        Ok(found.decode()?)
    }

    /// Tries the changes of a dead letter's logical partition again, from the first entry on: their order is
    /// kept.
    ///
    /// # Errors
    /// There is no dead letter with this id, a fault of the store, the stop.
    pub async fn replay_dead_letter(&self, id: &str) -> Result<ReplayReport, ProcessorError> {
        let letter = self.dead_letter(id).await?;
        let runner = self.runner(&letter.projection)?;
        let ledger = Ledger::new();
        if runner.context.settings.sharing != Sharing::Alone {
            runner.dead_letters.reload(&ledger).await?;
        }
        let mut report = ReplayReport::default();
        if let Some(letters) = runner.dead_letters.letters(&letter.partition_key) {
            report.items_replayed = runner.replay_partition(&letter.partition_key, letters, &ledger).await?;
        }
        runner.counters.add_charge(&ledger);
        report.partitions_parked = u64::from(runner.dead_letters.contains(&letter.partition_key));
        Ok(report)
    }
}
