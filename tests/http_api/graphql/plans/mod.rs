//! Compiled plans: the same bytes, charges and response budget as the general executor.

mod items;
mod named;
mod shop;

use std::collections::BTreeMap;

use onehop::blog::ids::LikeId;
use onehop::graphql::{GlobalId, sdl};
use serde_json::Value;

use self::shop::{category_node, customer_id, customer_node, order_node, product_node, tag_node};
use crate::planned_requests::Asked;
use crate::random_documents::{Documents, RandomDocument};
use crate::support::blog::{Blog, comment_id, post_id, post_node, small, user_id, user_node};

/// The number of random documents that are compared.
const DOCUMENTS: u64 = 600;

/// The data of the general executor, and whether a plan gave it, too.
async fn compare(asked: &Asked, blog: &Blog) -> (String, bool) {
    asked.compare(&blog.executor).await
}

/// The data that both ways give; a plan has to.
async fn planned(blog: &Blog, text: &str, variables: Value) -> Value {
    let (data, is_planned) = compare(&Asked::new(text, variables), blog).await;
    assert!(is_planned, "no plan: {text}");
    serde_json::from_str(&data).unwrap()
}

/// The data that the general executor gives where there is no plan.
async fn unplanned(blog: &Blog, text: &str, variables: Value) -> Value {
    let (data, is_planned) = compare(&Asked::new(text, variables), blog).await;
    assert!(!is_planned, "a plan: {text}");
    serde_json::from_str(&data).unwrap()
}

/// The id of the second comment on a post as clients see it.
fn comment_node(post: u128) -> String {
    let post = post_id(post);
    GlobalId::Comment(post, comment_id(post, 1)).encode()
}

/// The id of the like that the second user may have given a post, as clients see it.
fn like_node(post: u128) -> String {
    let post = post_id(post);
    GlobalId::Like(post, LikeId::derive(post, user_id(1))).encode()
}

/// The caller of a document: an anonymous one for half of them, otherwise a user or a customer.
fn caller_of(seed: u64) -> Option<String> {
    match seed % 6 {
        0 | 3 => Some(user_id(usize::from(seed.is_multiple_of(2))).to_string()),
        1 => Some(format!("customer:{}", customer_id(u128::from(seed % 4 == 3)))),
        _ => None,
    }
}

/// The fields of the schema that no plan answers, each with the reason.
const WITHOUT_PLAN: &[(&str, &str)] = &[
    ("Query.comparison", "runs each request under each data model"),
    ("Query.moderationLog", "is for staff, and in no model"),
    ("Query.nodes", "reads each object by itself"),
    ("Query.postsByTag", "its argument names the logical partition"),
    ("Query.searchPosts", "reads as many pages as it needs"),
    ("Query.searchProducts", "reads as many pages as it needs"),
    ("Query.topCustomers", "is for staff"),
    ("Query.topCustomersAcrossPartitions", "is for staff"),
    ("Query.userByUsername", "takes the reservation of the name and then the user"),
    ("Query.viewerIsStaff", "is no read"),
    ("User.comments", "is a query across partitions, for the user alone"),
    ("User.isSuspended", "is for staff"),
    ("User.likes", "is a query across partitions, for the user alone"),
    ("User.viewerCanSuspend", "depends on whether the user is staff"),
    ("SalesOrder.customer", "takes another read"),
    ("SalesOrderLine.product", "takes two other reads"),
];
/// The types that only such fields show.
const TYPES_WITHOUT_PLAN: &[&str] = &[
    "CustomerConnection",
    "CustomerEdge",
    "ModerationEntry",
    "ModerationEntryConnection",
    "ModerationEntryEdge",
    "ReadPlan",
    "StoreOperation",
];

async fn shop_and_blog() -> (Blog, Documents) {
    let blog = small().await;
    blog.add_random_posts(17).await;
    blog.add_shop().await;
    let strings = |ids: &[String]| ids.to_vec();
    let ids = BTreeMap::from([
        ("User".to_owned(), (0..3).map(user_node).collect()),
        ("Post".to_owned(), (0..9).map(post_node).collect()),
        ("Comment".to_owned(), (0..9).map(comment_node).collect()),
        ("Like".to_owned(), (0..9).map(like_node).collect()),
        ("Product".to_owned(), (0..6).map(product_node).collect()),
        ("ProductCategory".to_owned(), (0..2).map(category_node).collect()),
        ("ProductTag".to_owned(), (0..3).map(tag_node).collect()),
        ("Customer".to_owned(), strings(&[customer_node(0), customer_node(1)])),
        ("SalesOrder".to_owned(), (0..5).map(|number| order_node(number % 2, number)).collect()),
    ]);
    (blog, Documents::of(&sdl(), ids))
}

#[tokio::test]
async fn random_documents_have_the_same_answer_from_a_plan() {
    let (blog, documents) = shop_and_blog().await;
    let (mut valid, mut by_plan) = (0_u64, 0_u64);
    for seed in 0..DOCUMENTS {
        let RandomDocument { text, variables } = documents.random(seed);
        let Some(asked) = Asked::within_limits(&text, variables) else { continue };
        let asked = Asked { caller: caller_of(seed), ..asked };
        let (_, is_planned) = compare(&asked, &blog).await;
        valid += u64::from(asked.document.is_valid());
        by_plan += u64::from(is_planned);
    }
    assert!(valid * 2 > DOCUMENTS && by_plan * 4 > valid, "{by_plan} of {valid} valid documents by plans");
}

#[tokio::test]
async fn every_field_has_a_plan_or_a_reason() {
    let (blog, documents) = shop_and_blog().await;
    let mut wrong = Vec::new();
    for (type_name, field) in documents.fields() {
        if TYPES_WITHOUT_PLAN.contains(&type_name) {
            continue;
        }
        let name = format!("{type_name}.{field}");
        let has_reason = WITHOUT_PLAN.iter().any(|(known, _)| *known == name);
        if is_planned(&blog, &documents.queries_of(type_name, field)).await == has_reason {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "a plan and a reason, or neither: {wrong:#?}");
}

/// Whether a plan answers one of these queries with an object.
async fn is_planned(blog: &Blog, queries: &[RandomDocument]) -> bool {
    for RandomDocument { text, variables } in queries {
        for caller in [None, Some(user_id(0).to_string()), Some(format!("customer:{}", customer_id(0)))] {
            let asked = Asked { caller, ..Asked::new(text, variables.clone()) };
            let (data, by_plan) = compare(&asked, blog).await;
            let data: Value = serde_json::from_str(&data).unwrap();
            let mut roots = data.as_object().into_iter().flat_map(|data| data.values());
            if by_plan && roots.any(|root| !root.is_null()) {
                return true;
            }
        }
    }
    false
}
