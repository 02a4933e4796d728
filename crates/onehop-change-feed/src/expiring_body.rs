//! Bodies of items with a time to live, kept for dead letters: such an item, for example a tombstone, may be
//! gone by the time of a replay.
//!
//! A short body is in its dead letter. A longer one is an item of its own in the dead letter container,
//! because a letter is written anew with each entry. A body that leaves no room for an id in its item is not
//! kept, and the letter says so: its change is never counted as projected once the item is gone.

use serde::Deserialize;
use serde_json::Value;

use super::containers::DEAD_LETTERS;
use super::context::ProcessorContext;
use onehop_runtime::planted;
use onehop_store::{Change, Item, Ledger, PartitionKey, WriteError, WriteOp, limits};

/// Bytes of a body in a dead letter. A letter full of them is still an item.
const INLINE_BYTES_MAX: usize = 640;
/// Bytes of a body in an item of its own. The rest of the item has its id and type.
pub(super) const SEPARATE_BYTES_MAX: usize = limits::ITEM_BYTES_MAX - 4096;

/// The body of a changed item, as far as it has to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ExpiringBody {
    /// The item has no time to live.
    Unneeded,
    Inline(Value),
    Separate {
        etag: String,
        body: Value,
    },
    TooLong {
        bytes: usize,
    },
}

#[derive(Deserialize)]
struct TimeToLive {
    #[serde(default)]
    ttl: Value,
}

/// The last version of an item that is gone.
pub(super) enum ExpiredItem {
    /// It had no time to live, so nothing is left to be projected.
    Unneeded,
    Change(Box<Change>),
    /// Its body is not there: the reason.
    Lost(String),
}

impl ExpiringBody {
    pub(super) fn of(item: &Item) -> Self {
        let expires = serde_json::from_slice::<TimeToLive>(&item.body)
            .is_ok_and(|TimeToLive { ttl }| ttl.as_i64().is_some_and(|ttl| ttl > 0));
        let bytes = item.body.len();
        match serde_json::from_slice(&item.body) {
            Ok(_) if expires && bytes > SEPARATE_BYTES_MAX => Self::TooLong { bytes },
            Ok(body) if expires && bytes > planted::size(INLINE_BYTES_MAX, 64) => {
                Self::Separate { etag: item.etag.to_string(), body }
            }
            Ok(body) if expires => Self::Inline(body),
            _ => Self::Unneeded,
        }
    }
}

/// Deletes bodies to which no letter refers any more. A body that stays after a fault does no harm.
pub(super) async fn delete_bodies(ids: Vec<String>, context: &ProcessorContext, ledger: &Ledger) {
    for id in ids {
        let delete = WriteOp::Delete { id: id.clone(), if_match: None };
        let key = PartitionKey::from(id.as_str());
        if let Err(WriteError::Fault(fault)) = context.store.write(DEAD_LETTERS, &key, delete, ledger).await {
            tracing::debug!(id, %fault, "the body of an expired item stays behind");
        }
    }
}
