//! The blog's read models, as the article draws its data model V3. Projections, verification, repair and the
//! diagram in ARCHITECTURE.md follow from these rules.
//!
//! Source: "Model and partition data on Azure Cosmos DB using a real-world example", its V2 and V3 items.

#[cfg(test)]
pub(in crate::blog) mod testing;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use onehop_change_feed::Projection;
use onehop_read_models::{
    ComputedField, CopyTarget, FormerField, ItemType, ListPartition::*, ReadModels, Rule, copy, count, list,
    owns,
};

use super::containers::{FEED, FEED_POSTS_MAX, POSTS, SPECS, USERS};
use super::items::types;
use super::renames::Renames;
use super::summary::{is_former_copy_of, summarise};

pub const USER: ItemType = ItemType::new(USERS, types::USER, &["userId", "username", "pendingUsername"]);
pub const POST: ItemType = ItemType::new(
    POSTS,
    types::POST,
    &[
        "postId",
        "userId",
        "userUsername",
        "title",
        "content",
        "commentCount",
        "likeCount",
        "creationDate",
        "textVersion",
        "updateDate",
    ],
);
pub const COMMENT: ItemType =
    ItemType::new(POSTS, types::COMMENT, &["postId", "userId", "userUsername", "content", "creationDate"])
        .partitioned_by("postId");
pub const LIKE: ItemType =
    ItemType::new(POSTS, types::LIKE, &["postId", "userId", "userUsername", "creationDate"])
        .partitioned_by("postId");

/// The name of the author, in everything that a user writes.
const AUTHOR: &[CopyTarget] = &[
    CopyTarget::new(&POST, "userUsername"),
    CopyTarget::new(&COMMENT, "userUsername"),
    CopyTarget::new(&LIKE, "userUsername"),
];
/// The fields of a short copy of a post, with an excerpt in place of the content.
const SHORT: &[&str] = &["userId", "userUsername", "title", "commentCount", "likeCount", "creationDate"];
/// The fields of short copies of earlier versions: `postId` is their `id`, the summary was Markdown.
const FORMER: &[&str] = &["postId", "summary"];
const COUNTS: &[&str] = &["commentCount", "likeCount"];
const EDITED: &[&str] = &["textVersion", "updateDate"];
const EXCERPT: &[ComputedField] = &[ComputedField {
    field: "excerpt",
    from: "content",
    compute: summarise,
    former: Some(FormerField { field: "summary", accepts: is_former_copy_of }),
}];

pub const USERNAMES: &str = "usernames";
pub const USERNAMES_CATCH_UP: &str = "usernames-catch-up";
pub const USER_POSTS: &str = "user-posts";
pub const FEED_POSTS: &str = "feed";
pub const DELETIONS: &str = "deletions";

#[rustfmt::skip]
const RULES: &[Rule] = &[
    copy(USERNAMES).of(&USER, "username").to(AUTHOR, "userId").follows(USERNAMES_CATCH_UP),
    list(USER_POSTS).of(&POST).into(USERS, Field("userId")).immutable_partition().fields(SHORT).unless_zero(COUNTS).computed(EXCERPT).optional(EDITED).former(FORMER).all(),
    list(FEED_POSTS).of(&POST).into(FEED, Constant("post")).fields(SHORT).unless_zero(COUNTS).computed(EXCERPT).optional(EDITED).former(FORMER).newest(FEED_POSTS_MAX),
    count(&COMMENT).into(&POST, "commentCount", "postId"),
    count(&LIKE).into(&POST, "likeCount", "postId"),
    owns(DELETIONS, &POST, &[&COMMENT, &LIKE]),
];

/// The declaration.
///
/// # Panics
/// A mistake in the declaration, which a test finds.
#[must_use]
pub fn read_models() -> ReadModels {
    ReadModels::new(SPECS, RULES).unwrap_or_else(|errors| panic!("the blog's read models: {errors:?}"))
}

/// The projections of the rules, and the projection that finishes renames.
#[must_use]
pub fn projections() -> Vec<Arc<dyn Projection>> {
    let mut projections = read_models().projections();
    projections.push(Arc::new(Renames));
    projections
}
