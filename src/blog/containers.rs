//! The blog's containers: names, partition keys, and the queries that their indexes serve.

use super::items::types;
use crate::domain::containers::ACCOUNTS_SPEC;
use onehop_store::{ContainerName, ContainerSpec};

/// The user, and short copies of the user's posts, by user.
pub const USERS: ContainerName = ContainerName("users");
/// The post, its comments and its likes, by post.
pub const POSTS: ContainerName = ContainerName("posts");
/// Short copies of the most recent posts, all in one logical partition.
pub const FEED: ContainerName = ContainerName("feed");
pub use crate::domain::containers::ACCOUNTS;

/// The number of posts that the feed container keeps.
pub const FEED_POSTS_MAX: usize = 100;
/// The feed's only partition key.
pub const FEED_PARTITION: &str = "post";

/// The items that commands write, by container and the types of its items (`None` for all): everything else
/// can be made from them.
pub const WRITE_SIDE: &[(ContainerName, Option<&[&str]>)] = &[
    (ACCOUNTS, None),
    (USERS, Some(&[types::USER])),
    (POSTS, Some(&[types::POST, types::COMMENT, types::LIKE])),
];

/// All containers of the blog.
pub const SPECS: &[ContainerSpec] = &[
    ContainerSpec {
        name: USERS,
        partition_key: "userId",
        order_by: Some("creationDate"),
        equality: &[],
        newest_types: &[],
        soft_deletes: true,
    },
    ContainerSpec {
        name: POSTS,
        partition_key: "postId",
        order_by: Some("creationDate"),
        equality: &["userId"],
        newest_types: &["post"],
        soft_deletes: true,
    },
    ContainerSpec {
        name: FEED,
        partition_key: "type",
        order_by: Some("creationDate"),
        equality: &[],
        newest_types: &[],
        soft_deletes: true,
    },
    ACCOUNTS_SPEC,
];
