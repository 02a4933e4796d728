//! Check of the lease container's throughput at the start of a server on an account: a warning where the
//! container shares the throughput of its database.

use onehop_change_feed::LEASES;
use onehop_store::Fault;
use onehop_store::cosmos::CosmosStore;
use onehop_store::cosmos::provision::ThroughputSharing;

/// Logs a warning where leases share their throughput with the data.
pub async fn warn_of_shared_leases(store: &CosmosStore) {
    match warning_of(store.throughput_sharing(LEASES).await) {
        Ok(Some(warning)) => tracing::warn!(container = %LEASES, "{warning}"),
        Ok(None) => {}
        // Roles of the data plane do not permit reading throughput, and nothing depends on it.
        Err(error) => {
            tracing::debug!(%error, "unknown whether the container of leases has throughput of its own");
        }
    }
}

fn warning_of(sharing: Result<ThroughputSharing, Fault>) -> Result<Option<String>, Fault> {
    Ok(match sharing? {
        ThroughputSharing::Shared(throughput) => Some(format!(
            "the container of leases shares the throughput of the database ({throughput}): a burst of requests delays checkpoints and \
             heartbeats; `onehop provision --dry-run` says what to do"
        )),
        ThroughputSharing::Dedicated(_) | ThroughputSharing::Unprovisioned => None,
    })
}
