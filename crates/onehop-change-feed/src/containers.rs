//! The lease container and the dead letter container: names, specification and ids of their items.

use sha2::{Digest, Sha256};

use onehop_store::{ContainerName, ContainerSpec, FeedRange};

/// The lease container: one lease for each feed range of a source container, with owner, epoch and
/// checkpoint; and one heartbeat for each instance.
pub const LEASES: ContainerName = ContainerName("leases");
/// The dead letter container: changes that could not be projected, and later changes of the same logical
/// partitions.
pub const DEAD_LETTERS: ContainerName = ContainerName("dead-letters");

/// The values of `type`.
pub(super) mod types {
    pub(crate) const LEASE: &str = "rangeLease";
    pub(crate) const HEARTBEAT: &str = "heartbeat";
    /// The progress of a rebuild in a feed range.
    pub(crate) const REBUILD: &str = "rebuild";
    pub(crate) const DEAD_LETTER: &str = "deadLetter";
    /// The body of an item with a time to live, for a dead letter.
    pub(crate) const EXPIRING_BODY: &str = "expiringBody";
}

/// The specification of both containers, for the adapter that opens or creates them.
pub const SPECS: &[ContainerSpec] = &[
    ContainerSpec {
        name: LEASES,
        partition_key: "id",
        order_by: None,
        orders: &[],
        ttl_s: None,
        // No lease has a `projection`, but data directories have the path, and a store keeps its paths in the
        // order in which they were declared.
        equality: &["projection", "processor"],
        newest_types: &[],
        soft_deletes: false,
    },
    ContainerSpec {
        name: DEAD_LETTERS,
        partition_key: "id",
        order_by: Some("firstParkedAt"),
        orders: &[],
        ttl_s: None,
        equality: &["projection"],
        newest_types: &[],
        soft_deletes: false,
    },
];

/// The id of the lease of a feed range; it does not depend on the owner.
pub(super) fn lease_id(processor: &str, container: ContainerName, range: &FeedRange) -> String {
    format!("lease~{container}~{}", digest(&[processor, &range.0]))
}

/// The id of the heartbeat of the instance with this name.
pub(super) fn heartbeat_id(processor: &str, owner: &str) -> String {
    format!("heartbeat~{}", digest(&[processor, owner]))
}

/// The id of the position of a rebuild of this projection in a feed range.
pub(super) fn rebuild_id(processor: &str, projection: &str, range: &FeedRange) -> String {
    format!("rebuild~{}", digest(&[processor, projection, &range.0]))
}

/// A hash in hexadecimal digits, for ids made of texts with characters that an id cannot have.
pub(super) fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
