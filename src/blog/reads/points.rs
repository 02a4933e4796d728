//! Point reads that are the same in every data model: one item, or one batch of items, by partition key and
//! id.

use super::session::Session;
use super::views::{self, CommentView, LikeView, PostView, UserView, decode_content, decode_found};
use crate::accounts::Username;
use crate::blog::containers::{ACCOUNTS, POSTS, USERS};
use crate::blog::ids::{CommentId, LikeId, PostId, UserId};
use crate::blog::items::{AccountItem, types};
use onehop_store::{Fault, FaultKind, Item, PartitionKey, Store};

/// The user's item, by point read.
pub(super) async fn user(
    store: &dyn Store,
    id: UserId,
    session: &Session,
) -> Result<Option<UserView>, Fault> {
    decode_found(user_item(store, id, session).await?.as_ref(), UserView::decode)
}

/// The user's item as it is stored, by point read.
pub(super) async fn user_item(
    store: &dyn Store,
    id: UserId,
    session: &Session,
) -> Result<Option<Item>, Fault> {
    let key = id.partition_key();
    store.read(USERS, &key, key.as_str(), session.ledger()).await
}

/// The holder of a normalised username, by point read of its reservation.
pub(super) async fn holder(
    store: &dyn Store,
    normalised: &str,
    session: &Session,
) -> Result<Option<UserId>, Fault> {
    let item = store.read(ACCOUNTS, &PartitionKey::from(normalised), normalised, session.ledger()).await?;
    Ok(item.map(|item| item.decode::<AccountItem>()).transpose()?.map(|account| account.user_id))
}

/// Says whether a user goes by a normalised username. During a rename, a user holds two names for a moment.
pub(super) fn goes_by(user: &UserView, normalised: &str) -> bool {
    Username::parse(&user.username).is_ok_and(|username| username.normalized().as_str() == normalised)
}

/// The post's item, by point read; a deleted post is absent.
pub(super) async fn post(
    store: &dyn Store,
    id: PostId,
    session: &Session,
) -> Result<Option<PostView>, Fault> {
    decode_found(post_item(store, id, session).await?.as_ref(), PostView::decode)
}

/// The post's item as it is stored, by point read; it may be deleted.
pub(super) async fn post_item(
    store: &dyn Store,
    id: PostId,
    session: &Session,
) -> Result<Option<Item>, Fault> {
    let key = id.partition_key();
    store.read(POSTS, &key, key.as_str(), session.ledger()).await
}

/// A comment and its post, by two point reads in one logical partition.
pub(super) async fn comment(
    store: &dyn Store,
    post: PostId,
    id: CommentId,
    session: &Session,
) -> Result<Option<(CommentView, PostView)>, Fault> {
    with_post(store, post, id.to_string(), types::COMMENT, CommentView::decode, session).await
}

/// A like and its post, by two point reads in one logical partition.
pub(super) async fn like(
    store: &dyn Store,
    post: PostId,
    id: LikeId,
    session: &Session,
) -> Result<Option<(LikeView, PostView)>, Fault> {
    with_post(store, post, id.to_string(), types::LIKE, LikeView::decode, session).await
}

/// The whole texts of posts, in the order of the ids, by one batch of point reads.
pub(super) async fn contents(
    store: &dyn Store,
    posts: &[PostId],
    session: &Session,
) -> Result<Vec<Option<String>>, Fault> {
    let items = post_items(store, posts, session).await?;
    items.iter().map(|item| decode_found(item.as_ref(), decode_content)).collect()
}

/// The stored items of posts, in the order of the ids, by one batch of point reads.
pub(super) async fn post_items(
    store: &dyn Store,
    posts: &[PostId],
    session: &Session,
) -> Result<Vec<Option<Item>>, Fault> {
    let keys: Vec<_> = posts.iter().map(|post| (post.partition_key(), post.to_string())).collect();
    store.read_many(POSTS, &keys, session.ledger()).await
}

/// Whether a user likes each of these posts, by one batch of point reads of the ids that such likes have.
pub(super) async fn liked(
    store: &dyn Store,
    posts: &[PostId],
    user: UserId,
    session: &Session,
) -> Result<Vec<bool>, Fault> {
    let key = |post: &PostId| (post.partition_key(), LikeId::derive(*post, user).to_string());
    let keys: Vec<_> = posts.iter().map(key).collect();
    let items = store.read_many(POSTS, &keys, session.ledger()).await?;
    items.iter().map(|item| item.as_ref().map_or(Ok(false), views::is_live)).collect()
}

async fn with_post<T>(
    store: &dyn Store,
    post: PostId,
    id: String,
    item_type: &str,
    decode: impl Fn(&Item) -> Result<Option<T>, Fault>,
    session: &Session,
) -> Result<Option<(T, PostView)>, Fault> {
    let (item, post) = items_with_post(store, post, id, session).await?;
    let Some(item) = item else { return Ok(None) };
    if !views::is_a(&item, item_type)? {
        return Ok(None);
    }
    let item = decode(&item)?;
    let post = decode_found(post.as_ref(), PostView::decode)?;
    Ok(item.zip(post))
}

/// An item in the logical partition of a post, and the post, by one batch of point reads.
pub(super) async fn items_with_post(
    store: &dyn Store,
    post: PostId,
    id: String,
    session: &Session,
) -> Result<(Option<Item>, Option<Item>), Fault> {
    let key = post.partition_key();
    let keys = [(key.clone(), id), (key, post.to_string())];
    let items = store.read_many(POSTS, &keys, session.ledger()).await?;
    <[Option<Item>; 2]>::try_from(items).map(Into::into).map_err(|_| {
        Fault::new(FaultKind::Internal, "a batch of point reads answered with another number of items")
    })
}
