//! Repeats with an idempotency key. Before a command creates anything it records, under a hash of user,
//! command and key, a hash of its input and the id it is going to create. A repeat finds the record and uses
//! the same id, so the store itself lets only one of them create, however they race and wherever one of them
//! crashed.

use uuid::Uuid;

use crate::blog::containers::ACCOUNTS;
use crate::blog::ids::{PostId, UserId};
use crate::blog::items::{OUTCOME_TTL_S, OutcomeItem, types};
use onehop_runtime::planted;
use onehop_store::{Ledger, NewItem, PartitionKey, WriteOp};

use super::names::WriteAttempt;
use super::{CommandError, Commands, Refusal};
use crate::domain::digest::sha256_hex;
use crate::domain::error::contended;
use crate::domain::text::IdempotencyKey;

/// Attempts to find a record that came or went between two operations.
const ATTEMPTS_MAX: u32 = 4;

/// One use of a key.
pub(super) struct IdempotencyKeyUse<'a> {
    pub(super) user: UserId,
    pub(super) command: &'static str,
    pub(super) key: &'a IdempotencyKey,
    /// A hash of the input.
    pub(super) content_hash: String,
    /// The post that this use would create, if it is the first.
    pub(super) post_id: PostId,
    pub(super) result_id: Uuid,
}

/// The outcome of a key.
pub(super) struct RecordedOutcome {
    pub(super) post_id: PostId,
    pub(super) result_id: Uuid,
    /// Whether the record was there before: then the result may exist.
    pub(super) repeated: bool,
}

impl Commands {
    /// Records the future outcome of the key, or finds its present one.
    ///
    /// # Errors
    /// `CONFLICT` on `idempotencyKey` when it was used with other input.
    pub(super) async fn record_key(
        &self,
        key: IdempotencyKeyUse<'_>,
        ledger: &Ledger,
    ) -> Result<RecordedOutcome, CommandError> {
        let user = if planted!("key-of-all-users") { String::new() } else { key.user.to_string() };
        let id = format!("outcome:{}", sha256_hex(&[&user, key.command, key.key.as_str()]));
        let partition_key = PartitionKey::from(id.as_str());
        let outcome = OutcomeItem {
            id: id.clone(),
            item_type: types::OUTCOME.to_owned(),
            content_hash: key.content_hash,
            post_id: key.post_id,
            result_id: key.result_id,
            ttl: OUTCOME_TTL_S,
        };
        if planted!("idempotency-record-after-answer")
            && self.store.read(ACCOUNTS, &partition_key, &id, ledger).await?.is_none()
        {
            let OutcomeItem { post_id, result_id, .. } = outcome;
            let create = WriteOp::Create(NewItem::encode(id.as_str(), &outcome));
            let names = self.names.clone();
            self.posts.tasks().spawn_contained("record of a key", async move {
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                let _ = names.attempt(ACCOUNTS, &partition_key, create, &Ledger::new()).await;
            });
            return Ok(RecordedOutcome { post_id, result_id, repeated: false });
        }
        for _ in 0..ATTEMPTS_MAX {
            let create = WriteOp::Create(NewItem::encode(id.as_str(), &outcome));
            if self.names.attempt(ACCOUNTS, &partition_key, create, ledger).await? == WriteAttempt::Written {
                let OutcomeItem { post_id, result_id, .. } = outcome;
                return Ok(RecordedOutcome { post_id, result_id, repeated: false });
            }
            let Some(item) = self.store.read(ACCOUNTS, &partition_key, &id, ledger).await? else { continue };
            let stored: OutcomeItem = item.decode()?;
            if stored.content_hash != outcome.content_hash && !planted!("key-of-other-input") {
                return Err(Refusal::key_reused().into());
            }
            let OutcomeItem { post_id, result_id, .. } = stored;
            return Ok(RecordedOutcome { post_id, result_id, repeated: true });
        }
        Err(contended("the record of an idempotency key").into())
    }
}
