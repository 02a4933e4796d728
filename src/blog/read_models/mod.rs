//! The blog's read models, as the article draws its data model V3. Projections, verification, repair and the
//! diagram in ARCHITECTURE.md follow from these rules.
//!
//! Source: "Model and partition data on Azure Cosmos DB using a real-world example", its V2 and V3 items.

#[cfg(test)]
pub(in crate::blog) mod testing;
#[cfg(test)]
mod tests;

use std::sync::{Arc, LazyLock};

use onehop_change_feed::Projection;
use onehop_read_models::{
    Computation, ComputedField, CopyTarget, ItemType, ListPartition::*, ReadModels, Rule, copy, count, list,
    owns,
};

use super::containers::{FEED, FEED_POSTS_MAX, POSTS, SPECS, USERS};
use super::items::types;
use super::renames::Renames;
use super::summary::SUMMARY_CHARACTERS_MAX;

pub static USER: LazyLock<ItemType> =
    LazyLock::new(|| ItemType::new(USERS, types::USER, &["userId", "username", "pendingUsername"]));
pub static POST: LazyLock<ItemType> = LazyLock::new(|| {
    ItemType::new(
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
    )
});
pub static COMMENT: LazyLock<ItemType> = LazyLock::new(|| {
    ItemType::new(POSTS, types::COMMENT, &["postId", "userId", "userUsername", "content", "creationDate"])
        .partitioned_by("postId")
});
pub static LIKE: LazyLock<ItemType> = LazyLock::new(|| {
    ItemType::new(POSTS, types::LIKE, &["postId", "userId", "userUsername", "creationDate"])
        .partitioned_by("postId")
});

/// The fields of a short copy of a post, with an excerpt in place of the content.
const SHORT: &[&str] = &["userId", "userUsername", "title", "commentCount", "likeCount", "creationDate"];
const COUNTS: &[&str] = &["commentCount", "likeCount"];
const EDITED: &[&str] = &["textVersion", "updateDate"];
const EXCERPT: &[ComputedField] = &[ComputedField {
    field: "excerpt",
    from: "content",
    computation: Computation::Excerpt { characters_max: SUMMARY_CHARACTERS_MAX },
}];

pub const USERNAMES: &str = "usernames";
pub const USERNAMES_CATCH_UP: &str = "usernames-catch-up";
pub const USER_POSTS: &str = "user-posts";
pub const FEED_POSTS: &str = "feed";
pub const DELETIONS: &str = "deletions";

#[rustfmt::skip]
fn rules() -> Vec<Rule> {
    let author = [&POST, &COMMENT, &LIKE].map(|target| CopyTarget::new(target, "userUsername", "userId"));
    vec![
    copy(USERNAMES).of(&USER, "username").to(author).follows(USERNAMES_CATCH_UP),
    list(USER_POSTS).of(&POST).into(USERS, Field("userId")).immutable_partition().fields(SHORT).unless_zero(COUNTS).computed(EXCERPT).optional(EDITED).all(),
    list(FEED_POSTS).of(&POST).into(FEED, Constant("post")).fields(SHORT).unless_zero(COUNTS).computed(EXCERPT).optional(EDITED).newest(FEED_POSTS_MAX),
    count(&COMMENT).into(&POST, "commentCount", "postId"),
    count(&LIKE).into(&POST, "likeCount", "postId"),
    owns(DELETIONS, &POST, [&*COMMENT, &*LIKE]),
    ]
}

/// The declaration.
///
/// # Panics
/// A mistake in the declaration, which a test finds.
#[must_use]
pub fn read_models() -> ReadModels {
    ReadModels::new(SPECS, rules()).unwrap_or_else(|errors| panic!("the blog's read models: {errors:?}"))
}

/// The projections of the rules, and the projection that finishes renames.
#[must_use]
pub fn projections() -> Vec<Arc<dyn Projection>> {
    let mut projections = read_models().projections();
    projections.push(Arc::new(Renames));
    projections
}

#[cfg(test)]
mod model_tests {
    use super::*;

    /// Rules without the lists of fields that their item types may have.
    fn comparable(rules: &[Rule]) -> Vec<Rule> {
        let bare = |item_type: &ItemType| ItemType { fields: [].into(), ..item_type.clone() };
        let rule = |rule: &Rule| match rule {
            Rule::Copy(copy) => {
                let target = |target: &onehop_read_models::CopyTarget| onehop_read_models::CopyTarget {
                    item_type: bare(&target.item_type),
                    ..target.clone()
                };
                let targets = copy.targets.iter().map(target).collect();
                Rule::Copy(
                    onehop_read_models::CopyRule { source: bare(&copy.source), targets, ..(**copy).clone() }
                        .into(),
                )
            }
            Rule::List(list) => Rule::List(
                onehop_read_models::ListRule { source: bare(&list.source), ..(**list).clone() }.into(),
            ),
            Rule::Count(count) => Rule::Count(
                onehop_read_models::CountRule {
                    counted: bare(&count.counted),
                    parent: bare(&count.parent),
                    ..(**count).clone()
                }
                .into(),
            ),
            Rule::Owns(owns) => Rule::Owns(
                onehop_read_models::OwnsRule {
                    owner: bare(&owns.owner),
                    owned: owns.owned.iter().map(bare).collect(),
                    ..(**owns).clone()
                }
                .into(),
            ),
        };
        rules.iter().map(rule).collect()
    }

    fn rendered(specs: &[onehop_store::ContainerSpec]) -> Vec<String> {
        specs.iter().filter(|spec| spec.name.as_str() != "accounts").map(|spec| format!("{spec:?}")).collect()
    }

    #[test]
    fn the_model_gives_the_rules_and_containers() {
        let model = onehop_model::Model::read("model.graphql", include_str!("../model.graphql")).unwrap();
        let specs = onehop_read_models::container_specs(&model).unwrap();
        assert_eq!(rendered(&specs), rendered(SPECS));
        let names = onehop_read_models::ProjectionNames::default()
            .copy("User.username", USERNAMES)
            .catch_up("posts", USERNAMES_CATCH_UP)
            .owned("Post", DELETIONS);
        let derived = ReadModels::from_model_with(&model, &names).unwrap();
        let (derived, constant) = (comparable(derived.rules()), comparable(&rules()));
        for (derived, constant) in derived.iter().zip(&constant) {
            assert_eq!(derived, constant);
        }
        assert_eq!(derived.len(), constant.len());
    }
}
