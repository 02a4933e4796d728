//! Exposure of partition keys: the keys that every client may see. Ids of users, posts and products are
//! public; a username at sign-in and a customer are not.

use crate::blog::containers::{
    ACCOUNTS, FEED, FEED_PARTITION, MODERATION, MODERATION_PARTITION, POSTS, POSTS_BY_TAG, USERS,
};
use crate::telemetry::PartitionKeyExposure;
use crate::webstore::containers::{
    CUSTOMER, PRODUCT, PRODUCT_BY_TAG, PRODUCT_META, RANKING, RANKING_PARTITION,
};
use onehop_change_feed::{DEAD_LETTERS, LEASES};
use onehop_store::{ContainerName, ContainerSpec};

/// The exposure of each container's partition keys.
pub(super) const KEY_EXPOSURES: [(ContainerName, PartitionKeyExposure); 13] = [
    (USERS, PartitionKeyExposure::Ids),
    (POSTS, PartitionKeyExposure::Ids),
    (FEED, PartitionKeyExposure::One(FEED_PARTITION)),
    (POSTS_BY_TAG, PartitionKeyExposure::None),
    (ACCOUNTS, PartitionKeyExposure::None),
    (MODERATION, PartitionKeyExposure::One(MODERATION_PARTITION)),
    (CUSTOMER, PartitionKeyExposure::None),
    (PRODUCT, PartitionKeyExposure::Ids),
    (PRODUCT_META, PartitionKeyExposure::None),
    (PRODUCT_BY_TAG, PartitionKeyExposure::Ids),
    (RANKING, PartitionKeyExposure::One(RANKING_PARTITION)),
    (LEASES, PartitionKeyExposure::None),
    (DEAD_LETTERS, PartitionKeyExposure::None),
];

/// The exposures of a served model, whose keys may be made of typed text.
pub(super) fn unexposed(containers: &[ContainerSpec]) -> Vec<(ContainerName, PartitionKeyExposure)> {
    containers.iter().map(|spec| (spec.name, PartitionKeyExposure::None)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::container_specs;
    use super::*;

    #[test]
    fn every_container_has_an_exposure_of_its_keys() {
        let mut expected: Vec<ContainerName> = container_specs().iter().map(|spec| spec.name).collect();
        let mut exposed = KEY_EXPOSURES.map(|(container, _)| container).to_vec();
        expected.sort_unstable();
        exposed.sort_unstable();
        assert_eq!(exposed, expected);
    }
}
