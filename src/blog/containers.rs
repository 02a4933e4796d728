//! The blog's containers, by the names that commands and reads use. Their partition keys and indexes follow
//! from the model.

use std::sync::LazyLock;

use super::items::types;
use super::model::MODEL;
use crate::domain::containers::{ACCOUNTS_SPEC, WrittenItems};
use onehop_read_models::container_specs;
use onehop_store::{ContainerName, ContainerSpec};

/// The user, and short copies of the user's posts, by user.
pub const USERS: ContainerName = ContainerName("users");
/// The post, its comments and its likes, by post.
pub const POSTS: ContainerName = ContainerName("posts");
/// Short copies of the most recent posts, all in one logical partition.
pub const FEED: ContainerName = ContainerName("feed");
/// Short copies of posts, by tag.
pub const POSTS_BY_TAG: ContainerName = ContainerName("postsByTag");
pub use crate::domain::containers::ACCOUNTS;
/// The moderation log, all in one logical partition.
pub const MODERATION: ContainerName = ContainerName("moderation");

/// The number of posts that the feed container keeps.
pub const FEED_POSTS_MAX: usize = 100;
/// The feed's only partition key.
pub const FEED_PARTITION: &str = "post";
/// The moderation log's only partition key.
pub const MODERATION_PARTITION: &str = types::MODERATION_ENTRY;

/// The container of the moderation log. No projection follows it, and no data model of the article has it.
const MODERATION_SPEC: ContainerSpec = ContainerSpec {
    name: MODERATION,
    partition_key: "type",
    order_by: Some("creationDate"),
    orders: &[],
    ttl_s: None,
    equality: &[],
    newest_types: &[],
    soft_deletes: false,
};

/// The items that commands write, by container and the types of its items (`None` for all): everything else
/// can be made from them.
pub const WRITE_SIDE: &[WrittenItems] = &[
    (ACCOUNTS, None),
    (USERS, Some(&[types::USER, types::DELETED_USER])),
    (MODERATION, None),
    (POSTS, Some(&[types::POST, types::COMMENT, types::LIKE])),
];

/// All containers of the blog: the containers of the model, the accounts and the moderation log.
///
/// # Panics
/// A mistake in the model, which a test finds.
pub static SPECS: LazyLock<Vec<ContainerSpec>> = LazyLock::new(|| {
    let mut specs = container_specs(&MODEL).unwrap_or_else(|errors| panic!("the blog's model: {errors:?}"));
    specs.extend([ACCOUNTS_SPEC, MODERATION_SPEC]);
    specs
});
