//! The name of a user inside items of `posts`: reading it cheaply, and writing another one.

use std::borrow::Cow;

use serde::Deserialize;

use crate::blog::items::{CommentItem, LikeItem, PostItem, types};
use onehop_change_feed::ProjectionError;
use onehop_store::{Item, NewItem, WriteOp};

/// The fields of an item of `posts` that say whose it is. Borrowed: this is read for each of millions of changes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AuthorFields<'a> {
    pub(super) id: &'a str,
    #[serde(rename = "type")]
    pub(super) item_type: &'a str,
    pub(super) post_id: &'a str,
    pub(super) user_id: &'a str,
    #[serde(borrow)]
    pub(super) user_username: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) creation_date: Cow<'a, str>,
    #[serde(default)]
    pub(super) deleted: bool,
}

/// The name in a user item. Other items in `users` under a user's id have none.
#[derive(Debug, Deserialize)]
struct Named<'a> {
    #[serde(borrow, default)]
    username: Option<Cow<'a, str>>,
}

/// The present name of a user; `None` when there is no such user.
pub(super) fn username_of(
    user: Option<&std::sync::Arc<Item>>,
) -> Result<Option<Cow<'_, str>>, ProjectionError> {
    let Some(user) = user else { return Ok(None) };
    let named: Named<'_> = serde_json::from_slice(&user.body)?;
    Ok(named.username)
}

/// The write that gives an item another name. Its version grows, its counts stay.
pub(super) fn rename(item: &Item, item_type: &str, name: &str) -> Result<WriteOp, ProjectionError> {
    let renamed = match item_type {
        types::POST => {
            let mut post: PostItem = item.decode()?;
            name.clone_into(&mut post.user_username);
            post.version += 1;
            NewItem::encode(post.id.to_string(), &post)
        }
        types::COMMENT => {
            let mut comment: CommentItem = item.decode()?;
            name.clone_into(&mut comment.user_username);
            comment.version += 1;
            NewItem::encode(comment.id.to_string(), &comment)
        }
        types::LIKE => {
            let mut like: LikeItem = item.decode()?;
            name.clone_into(&mut like.user_username);
            like.version += 1;
            NewItem::encode(like.id.to_string(), &like)
        }
        other => return Err(ProjectionError::text(format!("an item of type {other} carries no name"))),
    };
    Ok(WriteOp::Replace { item: renamed, if_match: Some(item.etag.clone()) })
}
