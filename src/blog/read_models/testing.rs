//! Changes and answers made by hand.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use crate::blog::ids::{CommentId, PostId, UserId};
use crate::blog::items::{CommentItem, PostItem, UserItem, types};
use onehop_change_feed::{Projection, ReadRequest, ReadResult, Step, StepInput};
use onehop_runtime::clock::format_timestamp;
use onehop_store::{Change, ETag, Item, NewItem, PartitionKey, QueryPage};

pub(in crate::blog) fn item<T: Serialize>(etag: u64, value: &T) -> Item {
    Item { body: NewItem::encode("", value).body, etag: ETag::from_number(etag), timestamp_ms: 0 }
}

pub(in crate::blog) fn change<T: Serialize>(partition_key: PartitionKey, id: String, value: &T) -> Change {
    Change { partition_key, id, item: item(1, value) }
}

pub(in crate::blog) fn found<T: Serialize>(etag: u64, value: &T) -> ReadResult {
    ReadResult::Item(Some(Arc::new(item(etag, value))))
}

pub(in crate::blog) const ABSENT: ReadResult = ReadResult::Item(None);

pub(in crate::blog) fn page(items: Vec<Item>, has_more: bool) -> ReadResult {
    ReadResult::Page(Arc::new(QueryPage { items: items.into(), has_more }))
}

/// The next step after a step with these results of its reads.
pub(in crate::blog) fn answer(
    projection: &dyn Projection,
    change: &Change,
    step: &Step,
    answers: &[ReadResult],
) -> Step {
    assert_eq!(step.reads().len(), answers.len(), "one answer for each read: {:?}", step.reads());
    projection
        .step(change, StepInput { state: step.state(), results: answers, may_be_projected: true })
        .expect("a step")
}

/// The first step of a change that may have been projected before.
pub(in crate::blog) fn first(projection: &dyn Projection, change: &Change) -> Step {
    let input = StepInput { may_be_projected: true, ..StepInput::first() };
    projection.step(change, input).expect("a step")
}

/// The first step of a change that comes for the first time.
pub(in crate::blog) fn first_time(projection: &dyn Projection, change: &Change) -> Step {
    projection.step(change, StepInput::first()).expect("a step")
}

/// The step after a crash, from a saved note.
pub(in crate::blog) fn resume(projection: &dyn Projection, change: &Change, note: &Value) -> Step {
    projection.step(change, StepInput { state: note, results: &[], may_be_projected: true }).expect("a step")
}

/// The requested reads, in short: the container, and the id or the type.
pub(in crate::blog) fn asked(step: &Step) -> Vec<String> {
    step.reads().iter().map(name).collect()
}

fn name(read: &ReadRequest) -> String {
    match read {
        ReadRequest::Item { container, id, .. } => format!("{container}/{id}"),
        ReadRequest::Partition { container, item_type, .. }
        | ReadRequest::Equality { container, item_type, .. }
        | ReadRequest::Newest { container, item_type, .. }
        | ReadRequest::Count { container, item_type, .. } => format!("{container}: {item_type}"),
        ReadRequest::Cached { name: memo, .. } => format!("memo {memo}"),
    }
}

pub(in crate::blog) fn user(number: u128, username: &str, version: u64) -> UserItem {
    let id = UserId(Uuid::from_u128(number));
    UserItem {
        id,
        item_type: types::USER.to_owned(),
        user_id: id,
        username: username.to_owned(),
        version,
        pending_username: None,
        former_username: None,
        former_keys: Vec::new(),
        suspended: false,
    }
}

pub(in crate::blog) fn post(number: u128, author: &UserItem) -> PostItem {
    let id = PostId(Uuid::from_u128(number));
    PostItem {
        id,
        item_type: types::POST.to_owned(),
        post_id: id,
        user_id: author.id,
        user_username: author.username.clone(),
        title: "A title".to_owned(),
        content: "Some words".to_owned(),
        tags: Vec::new(),
        comment_count: 0,
        like_count: 0,
        creation_date: format_timestamp(i64::try_from(number).expect("a small number") * 1000),
        version: 1,
        text_version: 1,
        update_date: None,
        deleted: false,
        ttl: None,
    }
}

pub(in crate::blog) fn comment(number: u128, post: &PostItem, author: &UserItem) -> CommentItem {
    CommentItem {
        id: CommentId(Uuid::from_u128(number)),
        item_type: types::COMMENT.to_owned(),
        post_id: post.id,
        user_id: author.id,
        user_username: author.username.clone(),
        content: "A comment".to_owned(),
        creation_date: format_timestamp(0),
        version: 1,
        text_version: 1,
        update_date: None,
        deleted: false,
        ttl: None,
    }
}

pub(in crate::blog) fn change_of(post: &PostItem) -> Change {
    change(post.id.partition_key(), post.id.to_string(), post)
}
