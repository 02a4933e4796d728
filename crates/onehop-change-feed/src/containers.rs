//! The processor's own containers.

use sha2::{Digest, Sha256};

use onehop_store::{ContainerName, ContainerSpec, FeedRange};

/// One item for each feed range and projection: owner and checkpoint.
pub const LEASES: ContainerName = ContainerName("leases");
/// The changes that could not be projected, and those that wait behind them.
pub const DEAD_LETTERS: ContainerName = ContainerName("dead-letters");

/// The values of `type`.
pub(super) mod types {
    pub(crate) const LEASE: &str = "lease";
    pub(crate) const DEAD_LETTER: &str = "deadLetter";
}

/// What a store has to provide for the processor.
pub const SPECS: &[ContainerSpec] = &[
    ContainerSpec {
        name: LEASES,
        partition_key: "id",
        order_by: None,
        equality: &["projection", "processor"],
        newest_types: &[],
    },
    ContainerSpec {
        name: DEAD_LETTERS,
        partition_key: "id",
        order_by: Some("firstParkedAt"),
        equality: &["projection"],
        newest_types: &[],
    },
];

/// The id of the lease on a feed range, whoever holds it.
pub(super) fn lease_id(projection: &str, container: ContainerName, range: &FeedRange) -> String {
    format!("{projection}~{container}~{}", digest(&[&range.0]))
}

/// A short text for parts that may hold characters an id must not have.
pub(super) fn digest(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
