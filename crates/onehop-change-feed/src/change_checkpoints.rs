//! Change checkpoints: where the state of a long change is saved. It is the lease while its reader works; a
//! rebuild, a backfill and a replay save no state and begin again.

use serde_json::Value;

use super::context::ProcessorContext;
use super::lease::LeaseError;
use super::lease_handle::LeaseHandle;
use onehop_store::{Change, Ledger};

#[derive(Clone, Copy)]
pub(super) enum ChangeCheckpoints<'a> {
    InLease {
        lease: &'a LeaseHandle,
        projection: &'static str,
    },
    /// Nowhere, and the work ends when the lease is lost.
    WhileOwned {
        lease: &'a LeaseHandle,
    },
    Nowhere,
}

impl ChangeCheckpoints<'_> {
    /// Whether the change is read by a rebuild, a backfill or a replay, which keep no checkpoints.
    pub(super) fn is_rebuild(self) -> bool {
        matches!(self, Self::WhileOwned { .. } | Self::Nowhere)
    }

    /// The state that the projection saved for this version of the item, or null.
    pub(super) async fn get(self, change: &Change) -> Value {
        match self {
            Self::InLease { lease, projection } => {
                lease.state(projection, change).await.unwrap_or(Value::Null)
            }
            Self::WhileOwned { .. } | Self::Nowhere => Value::Null,
        }
    }

    pub(super) async fn save(
        self,
        context: &ProcessorContext,
        change: &Change,
        state: &Value,
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        match self {
            Self::InLease { lease, projection } => {
                lease.save_state(context, projection, change, state, ledger).await
            }
            Self::WhileOwned { .. } | Self::Nowhere => Ok(()),
        }
    }

    /// Whether the lease under which the page is worked on is lost: then another instance is at it already.
    pub(super) fn are_lost(self) -> bool {
        match self {
            Self::InLease { lease, .. } | Self::WhileOwned { lease } => lease.is_lost(),
            Self::Nowhere => false,
        }
    }
}
