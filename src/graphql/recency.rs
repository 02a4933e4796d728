//! Recency of reads: positions for clients that read their own writes, and marks for clients that ask whether
//! an answer is still the same.

use async_trait::async_trait;

use std::time::Duration;

use onehop_change_feed::WriteScope;
use onehop_graphql_server::position::{InvalidPosition, Positions, Reach};
use onehop_graphql_server::write_watch::SharedWatch;
use onehop_store::{Fault, Ledger};

/// The port to the progress of the read models and to the marks of writes.
#[async_trait]
pub trait Recency: Positions {
    /// A position that the read models have reached when they hold all writes to these containers until
    /// now; `None` where no read model depends on them, or it is unknown.
    async fn position_after(&self, written: &WriteScope) -> Option<String>;

    /// Waits, up to a limit, until the read models have reached a position. The reads for it are in the
    /// ledger.
    async fn wait_for(
        &self,
        position: &str,
        wait_max: Duration,
        ledger: &Ledger,
    ) -> Result<Reach, InvalidPosition>;

    /// A watch of the writes of all processes. The ledger has the reads to begin it.
    ///
    /// # Errors
    /// A fault of the store.
    async fn watch_writes(&self, ledger: &Ledger) -> Result<SharedWatch, Fault>;
}
