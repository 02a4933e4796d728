//! Where the notes of long changes are kept: in the lease while its reader works, nowhere in a rebuild or a replay,
//! which begin again.

use serde_json::Value;

use super::hold::Hold;
use super::host::Host;
use super::lease::LeaseError;
use onehop_store::{Change, Ledger};

#[derive(Clone, Copy)]
pub(super) enum Notes<'a> {
    InLease(&'a Hold),
    Nowhere,
}

impl Notes<'_> {
    /// The note saved for this version of the item, null if none is.
    pub(super) async fn get(self, change: &Change) -> Value {
        match self {
            Self::InLease(hold) => hold.note(change).await.unwrap_or(Value::Null),
            Self::Nowhere => Value::Null,
        }
    }

    pub(super) async fn save(
        self,
        host: &Host,
        change: &Change,
        note: &Value,
        ledger: &Ledger,
    ) -> Result<(), LeaseError> {
        match self {
            Self::InLease(hold) => hold.save_note(host, change, note, ledger).await,
            Self::Nowhere => Ok(()),
        }
    }

    /// Whether the lease under which the page is worked on is lost: then another instance is at it already.
    pub(super) fn are_lost(self) -> bool {
        matches!(self, Self::InLease(hold) if hold.is_lost())
    }
}
