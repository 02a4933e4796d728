//! Rebuild position: how far a rebuild has come in a feed range, so that an interrupted one goes on there.
//!
//! It is an item beside the leases, which expires: a rebuild that is begun again later begins at the
//! beginning.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::containers::{LEASES, rebuild_id, types};
use super::context::ProcessorContext;
use onehop_store::{Continuation, Fault, FeedRange, Ledger, NewItem, PartitionKey, WriteError, WriteOp};

/// The time within which an interrupted rebuild can be resumed.
const RESUMED_WITHIN: Duration = Duration::from_secs(24 * 3600);

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RebuildPosition {
    id: String,
    #[serde(rename = "type")]
    item_type: String,
    projection: String,
    range: FeedRange,
    /// After the last page that was projected; `None` is the beginning.
    pub(super) continuation: Option<Continuation>,
    /// Changes projected up to there.
    pub(super) done: u64,
    /// Seconds.
    ttl: u64,
}

impl RebuildPosition {
    /// Where an earlier rebuild stopped, or the beginning.
    pub(super) async fn find(
        context: &ProcessorContext,
        projection: &str,
        range: &FeedRange,
        ledger: &Ledger,
    ) -> Result<Self, Fault> {
        let id = rebuild_id(&context.settings.processor, projection, range);
        let found = context.store.read(LEASES, &PartitionKey::from(id.as_str()), &id, ledger).await?;
        // A position of another form is ignored.
        let found = found.and_then(|item| item.decode::<Self>().ok());
        Ok(found.unwrap_or_else(|| Self {
            id,
            item_type: types::REBUILD.to_owned(),
            projection: projection.to_owned(),
            range: range.clone(),
            continuation: None,
            done: 0,
            ttl: RESUMED_WITHIN.as_secs(),
        }))
    }

    pub(super) async fn save(&self, context: &ProcessorContext, ledger: &Ledger) -> Result<(), Fault> {
        let operation = WriteOp::Upsert(NewItem::encode(self.id.clone(), self));
        self.write(context, operation, ledger).await
    }

    /// Deletes it: the next rebuild begins at the beginning.
    pub(super) async fn delete(&self, context: &ProcessorContext, ledger: &Ledger) -> Result<(), Fault> {
        let operation = WriteOp::Delete { id: self.id.clone(), if_match: None };
        self.write(context, operation, ledger).await
    }

    async fn write(
        &self,
        context: &ProcessorContext,
        operation: WriteOp,
        ledger: &Ledger,
    ) -> Result<(), Fault> {
        let key = PartitionKey::from(self.id.as_str());
        match context.store.write(LEASES, &key, operation, ledger).await {
            Ok(_) | Err(WriteError::Rejected { .. }) => Ok(()),
            Err(WriteError::Fault(fault)) => Err(fault),
        }
    }
}
