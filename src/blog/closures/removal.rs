//! Removal of a user's texts and likes (pure): from the items as they were read to the writes that remove
//! them, each with the count of its post in one batch.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use uuid::Uuid;

use crate::blog::containers::POSTS;
use crate::blog::ids::{PostId, UserId};
use crate::blog::items::{CommentItem, LikeItem, PostItem, TOMBSTONE_TTL_S, types};
use onehop_change_feed::{IntendedWrite, ProjectionError};
use onehop_store::{Item, NewItem, WriteOp};

/// The place of a comment or a like: its post and its id.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ItemPlace {
    id: Uuid,
    #[serde(rename = "type")]
    item_type: String,
    post_id: Uuid,
}

/// The removals within one post.
#[derive(Default)]
struct PostRemovals {
    operations: Vec<WriteOp>,
    comments: u32,
    likes: u32,
}

/// The post and the id of a comment or a like.
pub(super) fn place_of(item: &Item) -> Result<(Uuid, Uuid), ProjectionError> {
    let ItemPlace { id, post_id, .. } = item.decode()?;
    Ok((post_id, id))
}

/// The write that leaves the tombstone of a post, without its words and its author's name.
pub(super) fn of_post(item: &Item) -> Result<IntendedWrite, ProjectionError> {
    let post: PostItem = item.decode()?;
    let tombstone = PostItem {
        user_username: String::new(),
        title: String::new(),
        tags: Vec::new(),
        content: String::new(),
        version: post.version + 1,
        deleted: true,
        ttl: Some(TOMBSTONE_TTL_S),
        ..post
    };
    let key = tombstone.id.partition_key();
    let item_after = NewItem::encode(tombstone.id.to_string(), &tombstone);
    let replace = WriteOp::Replace { item: item_after, if_match: Some(item.etag.clone()) };
    Ok(IntendedWrite::one(POSTS, key, replace))
}

/// The batches that remove comments and likes of a user, one for each post, with the post's counts. Below a
/// deleted post nothing is counted.
pub(super) fn with_posts(
    user: UserId,
    found: &[&Arc<Item>],
    posts: &[&Arc<Item>],
) -> Result<Vec<IntendedWrite>, ProjectionError> {
    let mut by_post: BTreeMap<Uuid, PostRemovals> = BTreeMap::new();
    for item in found {
        let ItemPlace { post_id, item_type, .. } = item.decode()?;
        let removals = by_post.entry(post_id).or_default();
        match item_type.as_str() {
            types::COMMENT => removals.add_comment(user, item)?,
            types::LIKE => removals.add_like(user, item)?,
            _ => {}
        }
    }
    for item in posts {
        let post: PostItem = item.decode()?;
        if let Some(removals) = by_post.get_mut(&post.id.0).filter(|_| !post.deleted) {
            removals.count(post, item);
        }
    }
    let writes = by_post.into_iter().filter(|(_, removals)| !removals.operations.is_empty());
    let writes = writes.map(|(post, PostRemovals { operations, .. })| IntendedWrite {
        container: POSTS,
        partition_key: PostId(post).partition_key(),
        operations,
    });
    Ok(writes.collect())
}

impl PostRemovals {
    fn add_comment(&mut self, user: UserId, item: &Item) -> Result<(), ProjectionError> {
        let comment: CommentItem = item.decode()?;
        if comment.deleted || comment.user_id != user {
            return Ok(());
        }
        let tombstone = CommentItem {
            user_username: String::new(),
            content: String::new(),
            version: comment.version + 1,
            deleted: true,
            ttl: Some(TOMBSTONE_TTL_S),
            ..comment
        };
        let item_after = NewItem::encode(tombstone.id.to_string(), &tombstone);
        self.operations.push(WriteOp::Replace { item: item_after, if_match: Some(item.etag.clone()) });
        self.comments += 1;
        Ok(())
    }

    fn add_like(&mut self, user: UserId, item: &Item) -> Result<(), ProjectionError> {
        let like: LikeItem = item.decode()?;
        if like.user_id == user {
            let delete = WriteOp::Delete { id: like.id.to_string(), if_match: Some(item.etag.clone()) };
            self.operations.push(delete);
            self.likes += 1;
        }
        Ok(())
    }

    fn count(&mut self, post: PostItem, item: &Item) {
        if self.operations.is_empty() {
            return;
        }
        let counted = PostItem {
            comment_count: post.comment_count.saturating_sub(self.comments),
            like_count: post.like_count.saturating_sub(self.likes),
            version: post.version + 1,
            ..post
        };
        let item_after = NewItem::encode(counted.id.to_string(), &counted);
        self.operations.push(WriteOp::Replace { item: item_after, if_match: Some(item.etag.clone()) });
    }
}
