//! The queries behind the lists, each one operation on the store. The data models differ in the query that
//! answers a question.

use super::views::{CommentView, LikeView, PostView, live};
use super::{Page, PageRequest, Session};
use crate::blog::containers::POSTS;
use crate::blog::ids::{PostId, UserId};
use crate::blog::items::types;
use onehop_store::{ContainerName, Direction, Fault, Keyset, PartitionKey, Query, QueryPage, Store};

/// A post's comments, oldest first, from its logical partition.
pub(super) async fn comments(
    store: &dyn Store,
    post: PostId,
    page: &PageRequest,
    session: &Session,
) -> Result<Page<CommentView>, Fault> {
    let items = partition_page(store, COMMENTS_OF_POST, &post.partition_key(), page, session).await?;
    Page::decode(&items, live(CommentView::decode))
}

/// A post's likes, newest first, from its logical partition.
pub(super) async fn likes(
    store: &dyn Store,
    post: PostId,
    page: &PageRequest,
    session: &Session,
) -> Result<Page<LikeView>, Fault> {
    let items = partition_page(store, LIKES_OF_POST, &post.partition_key(), page, session).await?;
    Page::decode(&items, live(LikeView::decode))
}

/// Short copies of posts, newest first, from one logical partition of `users`, `feed` or `postsByTag`.
pub(super) async fn post_copies(
    store: &dyn Store,
    container: ContainerName,
    partition_key: &PartitionKey,
    page: &PageRequest,
    session: &Session,
) -> Result<Page<PostView>, Fault> {
    let items = partition_page(store, post_copies_in(container), partition_key, page, session).await?;
    Page::decode(&items, live(PostView::decode))
}

/// A list that lies in one logical partition: its container, the type of its items, and their order.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartitionList {
    container: ContainerName,
    item_type: &'static str,
    direction: Direction,
}

/// The comments of a post.
pub(super) const COMMENTS_OF_POST: PartitionList =
    PartitionList { container: POSTS, item_type: types::COMMENT, direction: Direction::OldestFirst };
/// The likes of a post.
pub(super) const LIKES_OF_POST: PartitionList =
    PartitionList { container: POSTS, item_type: types::LIKE, direction: Direction::NewestFirst };

/// The short copies of posts in `users`, `feed` or `postsByTag`.
pub(super) const fn post_copies_in(container: ContainerName) -> PartitionList {
    PartitionList { container, item_type: types::POST, direction: Direction::NewestFirst }
}

/// A page of a list as it is stored.
pub(super) async fn partition_page(
    store: &dyn Store,
    list: PartitionList,
    partition_key: &PartitionKey,
    page: &PageRequest,
    session: &Session,
) -> Result<QueryPage, Fault> {
    let PartitionList { container, item_type, direction } = list;
    let (after, limit) = (page.after(), page.first());
    let query =
        Query::Partition { container, partition_key, item_type, direction, after, limit, order_by: None };
    store.query(&query, session.ledger()).await
}

/// A user's posts, newest first, by a fan-out over `posts`.
pub(super) async fn posts_by_fan_out(
    store: &dyn Store,
    user: UserId,
    page: &PageRequest,
    session: &Session,
) -> Result<Page<PostView>, Fault> {
    let query = Query::Equality {
        container: POSTS,
        path: "userId",
        value: &user.to_string(),
        item_type: types::POST,
        direction: Direction::NewestFirst,
        after: page.after(),
        limit: page.first(),
        order_by: None,
    };
    Page::decode(&store.query(&query, session.ledger()).await?, live(PostView::decode))
}

/// The most recent posts of all users, by a fan-out over `posts`.
pub(super) async fn newest_by_fan_out(
    store: &dyn Store,
    page: &PageRequest,
    session: &Session,
) -> Result<Page<PostView>, Fault> {
    newest_from(store, page.after(), page.first(), session).await
}

/// At most `limit` posts of all users after a position, newest first, by a fan-out over `posts`.
pub(super) async fn newest_from(
    store: &dyn Store,
    after: Option<&Keyset>,
    limit: usize,
    session: &Session,
) -> Result<Page<PostView>, Fault> {
    let query = Query::Newest {
        container: POSTS,
        item_type: types::POST,
        after,
        limit,
        order_by: None,
        direction: Direction::NewestFirst,
    };
    Page::decode(&store.query(&query, session.ledger()).await?, live(PostView::decode))
}
