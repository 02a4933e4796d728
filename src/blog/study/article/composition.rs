//! The article's requests as lists of store operations, with the assumed sizes of its items.
//!
//! The article's statements are followed to the letter; missing values are constants here, with their
//! reasons. A size is an input of the charge model, never a part of it.

use super::ArticleRequest;
use crate::blog::reads::DataModel;
use onehop_store::RequestCharge;
use onehop_store::charges::{
    Calibration, OrderedPageClient, QueryWork, ReadConsistency, Replacement, TermCount,
};

/// Q3 and Q6 of V2 speak of about this many: 201.54 RU is 70 times 2.7, and the charge of 28 posts.
pub const PHYSICAL_PARTITIONS: u32 = 70;
/// Q4 costs 20 RU more in V1 than in V2: 20 point reads of usernames.
pub const COMMENTS: u64 = 20;
/// Q5 costs 50 RU more in V1 than in V2.
pub const LIKES: u64 = 50;
/// "5 to 50 posts per user": 27.5 in the mean. Q3 asks for all posts of a user.
pub const POSTS_OF_USER: u64 = 28;
/// "The 100 most recent posts".
pub const FEED_POSTS: u64 = 100;

/// Where comments of many posts are counted, half of the posts have this many and half one more: "up to 25
/// comments".
const COMMENTS_BELOW_MEAN: u64 = 12;
/// Likes in the mean, where the likes of many posts are counted: "up to 100 likes".
const LIKES_MEAN: u64 = 50;

/// Bytes of a comment's text. The article does not say; 500 to 700 serve as well.
const COMMENT_CONTENT: usize = 500;
/// Bytes of a post's text. Not said either; Q6 of V2 speaks of posts well above 1 KB: 1,600 to 1,800 serve.
const POST_CONTENT: usize = 1_600;
/// Bytes of a post's truncated text. Not said either: a line; up to 100 serve.
const SHORT_CONTENT: usize = 50;

/// An item as the article prints it: its bytes as JSON with ids of 36 characters, names of 12 and titles of
/// 40, and its properties, all of them indexed as is the default.
#[derive(Debug, Clone, Copy)]
struct ItemShape {
    bytes: usize,
    properties: u32,
}

const fn shape(bytes: usize, properties: u32) -> ItemShape {
    ItemShape { bytes, properties }
}

const fn user(model: DataModel) -> ItemShape {
    if matches!(model, DataModel::V3) { shape(133, 4) } else { shape(71, 2) }
}

const fn post(model: DataModel) -> ItemShape {
    if matches!(model, DataModel::V1) { shape(261 + POST_CONTENT, 7) } else { shape(324 + POST_CONTENT, 10) }
}

const fn comment(model: DataModel) -> ItemShape {
    if matches!(model, DataModel::V1) {
        shape(213 + COMMENT_CONTENT, 6)
    } else {
        shape(243 + COMMENT_CONTENT, 7)
    }
}

const fn like(model: DataModel) -> ItemShape {
    if matches!(model, DataModel::V1) { shape(197, 5) } else { shape(227, 6) }
}

const SHORT_POST: ItemShape = shape(324 + SHORT_CONTENT, 10);

/// One operation on the store, with all inputs of its charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArticleOperation {
    PointRead { bytes: usize },
    Create { bytes: usize, indexed_properties: u32 },
    Replace { bytes: usize, changed_properties: u32 },
    Query { physical_partitions: u32, items: usize, bytes: usize },
    Count { items: u64 },
}

impl ArticleOperation {
    /// The charge under the calibration of the article's engine.
    #[must_use]
    pub fn request_charge(self) -> RequestCharge {
        let (calibration, consistency) = (Calibration::article_2019(), ReadConsistency::OneReplica);
        let parts = match self {
            Self::PointRead { bytes } => calibration.point_read(bytes, consistency),
            Self::Create { bytes, indexed_properties } => {
                calibration.create(bytes, TermCount::of(indexed_properties))
            }
            Self::Replace { bytes, changed_properties } => calibration.replace(Replacement {
                bytes_before: bytes,
                bytes_after: bytes,
                changed: TermCount::of(changed_properties),
                is_rewritten: false,
            }),
            Self::Query { physical_partitions, items, bytes } => {
                let work = QueryWork { physical_partitions, items, bytes, ..QueryWork::default() };
                calibration.query(&work, consistency)
            }
            Self::Count { items } => calibration.count(1, items, consistency),
        };
        parts.total()
    }
}

/// An operation, and how many times a request does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepeatedOperation {
    pub times: u64,
    pub operation: ArticleOperation,
}

/// The store operations of the article's request under a data model.
#[must_use]
pub fn operations(request: ArticleRequest, model: DataModel) -> Vec<RepeatedOperation> {
    match request {
        ArticleRequest::C1 => vec![once(write(user(model)))],
        ArticleRequest::Q1 => vec![once(point_read(user(model)))],
        ArticleRequest::C2 => vec![once(write(post(model)))],
        ArticleRequest::Q2 => retrieve_post(model),
        ArticleRequest::Q3 => posts_of_user(model),
        ArticleRequest::C3 => react(model, comment(model)),
        ArticleRequest::Q4 => reactions(model, COMMENTS, comment(model)),
        ArticleRequest::C4 => react(model, like(model)),
        ArticleRequest::Q5 => reactions(model, LIKES, like(model)),
        ArticleRequest::Q6 => feed(model),
    }
}

/// The charge of the article's request under a data model, as the charge model estimates it.
#[must_use]
pub fn estimate(request: ArticleRequest, model: DataModel) -> RequestCharge {
    let charge = |step: RepeatedOperation| step.times as f64 * step.operation.request_charge().0;
    RequestCharge(operations(request, model).into_iter().map(charge).sum())
}

/// "We can fetch a single item"; in V1 it "requires 3 additional SQL queries", the one for the username
/// included.
fn retrieve_post(model: DataModel) -> Vec<RepeatedOperation> {
    let mut steps = vec![once(point_read(post(model)))];
    if model == DataModel::V1 {
        steps.extend([once(username_query()), once(count(COMMENTS)), once(count(LIKES))]);
    }
    steps
}

/// V1 asks for the author's username once, and counts for each post. Only the matching posts are returned.
fn posts_of_user(model: DataModel) -> Vec<RepeatedOperation> {
    match model {
        DataModel::V1 => {
            let posts = query(PHYSICAL_PARTITIONS, POSTS_OF_USER, post(model));
            let mut steps = vec![once(posts), once(username_query())];
            steps.extend(counts_of(POSTS_OF_USER));
            steps
        }
        DataModel::V2 => vec![once(query(PHYSICAL_PARTITIONS, POSTS_OF_USER, post(model)))],
        DataModel::V3 => vec![once(query(1, POSTS_OF_USER, SHORT_POST))],
    }
}

/// V1 writes the item; V2 and V3 read the post, replace it with one number changed, and write the item.
fn react(model: DataModel, item: ItemShape) -> Vec<RepeatedOperation> {
    if model == DataModel::V1 {
        return vec![once(write(item))];
    }
    let post = post(model);
    let replace = ArticleOperation::Replace { bytes: post.bytes, changed_properties: 1 };
    vec![once(point_read(post)), once(replace), once(write(item))]
}

/// V1 reads a username for each item: its figures are this many single RU above V2's.
fn reactions(model: DataModel, items: u64, item: ItemShape) -> Vec<RepeatedOperation> {
    let mut steps = vec![once(query(1, items, item))];
    if model == DataModel::V1 {
        steps.push(RepeatedOperation { times: items, operation: point_read(user(model)) });
    }
    steps
}

/// Across partitions the newest posts are merged from the results of all partitions. V1 then reads a username
/// and counts twice for each post.
fn feed(model: DataModel) -> Vec<RepeatedOperation> {
    if model == DataModel::V3 {
        return vec![once(query(1, FEED_POSTS, SHORT_POST))];
    }
    let from_each = OrderedPageClient::Sdk2019.items_per_partition(PHYSICAL_PARTITIONS, FEED_POSTS as usize);
    let returned = u64::from(PHYSICAL_PARTITIONS) * from_each as u64;
    let mut steps = vec![once(query(PHYSICAL_PARTITIONS, returned, post(model)))];
    if model == DataModel::V1 {
        steps.push(RepeatedOperation { times: FEED_POSTS, operation: point_read(user(model)) });
        steps.extend(counts_of(FEED_POSTS));
    }
    steps
}

/// The comments and the likes of each of this many posts, counted. The number of posts is even.
fn counts_of(posts: u64) -> [RepeatedOperation; 3] {
    [
        RepeatedOperation { times: posts / 2, operation: count(COMMENTS_BELOW_MEAN) },
        RepeatedOperation { times: posts / 2, operation: count(COMMENTS_BELOW_MEAN + 1) },
        RepeatedOperation { times: posts, operation: count(LIKES_MEAN) },
    ]
}

fn once(operation: ArticleOperation) -> RepeatedOperation {
    RepeatedOperation { times: 1, operation }
}

fn point_read(item: ItemShape) -> ArticleOperation {
    ArticleOperation::PointRead { bytes: item.bytes }
}

fn write(item: ItemShape) -> ArticleOperation {
    ArticleOperation::Create { bytes: item.bytes, indexed_properties: item.properties }
}

fn query(physical_partitions: u32, items: u64, item: ItemShape) -> ArticleOperation {
    let items = items as usize;
    ArticleOperation::Query { physical_partitions, items, bytes: items * item.bytes }
}

fn username_query() -> ArticleOperation {
    query(1, 1, user(DataModel::V1))
}

fn count(items: u64) -> ArticleOperation {
    ArticleOperation::Count { items }
}
