//! Which partition keys may be told to everybody. Ids of users and posts are public; a username at sign-in is not.

use crate::blog::containers::{ACCOUNTS, FEED, FEED_PARTITION, POSTS, USERS};
use crate::telemetry::KeysTold;
use onehop_change_feed::{DEAD_LETTERS, LEASES};
use onehop_store::ContainerName;

/// Every container there is.
pub(super) const KEYS_TOLD: [(ContainerName, KeysTold); 6] = [
    (USERS, KeysTold::Ids),
    (POSTS, KeysTold::Ids),
    (FEED, KeysTold::One(FEED_PARTITION)),
    (ACCOUNTS, KeysTold::None),
    (LEASES, KeysTold::None),
    (DEAD_LETTERS, KeysTold::None),
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
