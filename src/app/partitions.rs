//! Which partition keys may be shown to every client. Ids of users and posts are public; a username at sign-in is not.

use crate::blog::containers::{ACCOUNTS, FEED, FEED_PARTITION, POSTS, USERS};
use crate::telemetry::PartitionKeyExposure;
use onehop_change_feed::{DEAD_LETTERS, LEASES};
use onehop_store::ContainerName;

/// Every container there is.
pub(super) const KEYS_TOLD: [(ContainerName, PartitionKeyExposure); 6] = [
    (USERS, PartitionKeyExposure::Ids),
    (POSTS, PartitionKeyExposure::Ids),
    (FEED, PartitionKeyExposure::One(FEED_PARTITION)),
    (ACCOUNTS, PartitionKeyExposure::None),
    (LEASES, PartitionKeyExposure::None),
    (DEAD_LETTERS, PartitionKeyExposure::None),
];

#[cfg(test)]
mod tests {
    use super::super::container_specs;
    use super::*;

    #[test]
    fn every_container_says_which_of_its_keys_may_be_told() {
        let mut expected: Vec<ContainerName> = container_specs().iter().map(|spec| spec.name).collect();
        let mut told = KEYS_TOLD.map(|(container, _)| container).to_vec();
        expected.sort_unstable();
        told.sort_unstable();
        assert_eq!(told, expected);
    }
}
