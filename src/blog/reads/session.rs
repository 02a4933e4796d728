//! The context of the reads of one request: the ledger, and the lookups that V1 shares within a request.

use std::sync::{Arc, OnceLock};

use super::lookups::Lookups;
use onehop_store::{Ledger, Store};

/// The reads of one request.
pub struct Session {
    ledger: Arc<Ledger>,
    batched: bool,
    lookups: OnceLock<Lookups>,
}

impl Session {
    /// A session that writes into this ledger. V1 batches its lookups.
    #[must_use]
    pub fn new(ledger: Arc<Ledger>) -> Self {
        Self { ledger, batched: true, lookups: OnceLock::new() }
    }

    /// A session in which V1 looks up a username and the counts for each item, as the article has it:
    /// duplicates included. V2 and V3 have no lookups and read as ever.
    #[must_use]
    pub fn unbatched(ledger: Arc<Ledger>) -> Self {
        Self { batched: false, ..Self::new(ledger) }
    }

    /// Where the operations of this request are recorded.
    #[must_use]
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// The lookups of this request, made when they are first needed.
    pub(super) fn lookups(&self, store: &Arc<dyn Store>) -> &Lookups {
        self.lookups.get_or_init(|| Lookups::new(Arc::clone(store), Arc::clone(&self.ledger), self.batched))
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Session").field("batched", &self.batched).finish_non_exhaustive()
    }
}
