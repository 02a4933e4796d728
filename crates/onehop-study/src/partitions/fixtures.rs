//! A small blog for the tests of this module: users, posts with authors, and a feed in one logical partition.

use std::ops::Range;

use super::{
    EntityPartitions, EntityRole, Footprint, FootprintPart, Highlight, PartitionRole, Population, Subset,
};
use crate::fixtures;
use crate::measurement::StudyRequest;
use onehop_store::{ChargeSource, ContainerName, OperationKind};

pub(crate) const USERS: ContainerName = ContainerName("users");
pub(crate) const POSTS: ContainerName = ContainerName("posts");
pub(crate) const FEED: ContainerName = ContainerName("feed");
pub(crate) const ACCOUNTS: ContainerName = ContainerName("accounts");

pub(crate) fn requests() -> Vec<StudyRequest> {
    let request = |name: &str| fixtures::request(name, name.starts_with('C'));
    ["C1", "C2", "C3", "C4", "Q4", "Q6"].map(request).into()
}

/// So many users, and posts by these authors.
pub(crate) fn population(users: usize, authors: &[usize]) -> Population {
    let role = |name: &str, kind: &str, partitions| {
        (name.to_owned(), EntityRole { kind: kind.to_owned(), partitions })
    };
    let highlight =
        |key: &str, subset| Highlight { key: key.to_owned(), text: format!("{key} gets"), subset };
    Population {
        kinds: [("user".to_owned(), users), ("post".to_owned(), authors.len())].into(),
        fixed_kinds: [].into(),
        roles: [
            role("user", "user", EntityPartitions::ByRank),
            role("post", "post", EntityPartitions::ByRank),
            role("author", "post", EntityPartitions::Listed(authors.to_vec())),
        ]
        .into(),
        ranking: "Posts are ranked by date.".to_owned(),
        highlights: vec![
            highlight("mostPopularPost", about_posts(0..1)),
            highlight("postsInFeed", about_posts(0..100)),
        ],
    }
}

pub(crate) fn about_posts(ranks: Range<usize>) -> Subset {
    Subset { kind: "post".to_owned(), ranks }
}

pub(crate) fn footprint(
    request: &str,
    about: Option<Subset>,
    container: ContainerName,
    role: PartitionRole,
    request_charge: f64,
) -> Footprint {
    let part = FootprintPart {
        container,
        role,
        kind: OperationKind::Query,
        source: ChargeSource::Estimated,
        request_charge,
        across: None,
    };
    let parts = vec![part];
    Footprint { request: request.to_owned(), about, parts }
}
