//! The containers of a measurement: one for each indexing policy, each named after it.

use onehop_store::{ContainerName, ContainerSpec, Indexing};

/// Every path is indexed, as is the service's default.
pub(super) const EVERY_PATH: ContainerName = ContainerName("chargesEveryPath");
/// Only `/type`, `/home` and the path of equality queries.
pub(super) const FEW_PATHS: ContainerName = ContainerName("chargesFewPaths");
/// Few paths and a composite index, for ordered queries and for the change feed.
pub(super) const ORDERED: ContainerName = ContainerName("chargesOrdered");

/// The type of all items.
pub(super) const TYPE: &str = "measured";
/// The property by which [`ORDERED`] sorts.
pub(super) const ORDER: &str = "rank";
/// The property of equality queries.
pub(super) const GROUP: &str = "group";

const PLAIN: ContainerSpec = ContainerSpec {
    name: EVERY_PATH,
    partition_key: "home",
    order_by: None,
    orders: &[],
    ttl_s: None,
    equality: &[],
    newest_types: &[],
    soft_deletes: false,
};

/// The containers, each with its policy.
pub(super) const CONTAINERS: [(ContainerSpec, Indexing); 3] = [
    (PLAIN, Indexing::All),
    (ContainerSpec { name: FEW_PATHS, ..PLAIN }, Indexing::Needed),
    (
        ContainerSpec {
            name: ORDERED,
            order_by: Some(ORDER),
            orders: &[],
            ttl_s: None,
            equality: &[GROUP],
            newest_types: &[TYPE],
            ..PLAIN
        },
        Indexing::Needed,
    ),
];

/// The specification of one of these containers, with its policy.
pub(super) fn spec_of(container: ContainerName) -> Option<(ContainerSpec, Indexing)> {
    CONTAINERS.into_iter().find(|(spec, _)| spec.name == container)
}
