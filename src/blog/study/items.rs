//! Items of the data set, as the write side stores them.

use super::dataset::{Dataset, SeedPost};
use crate::blog::ids::{CommentId, LikeId, PostId, UserId};
use crate::blog::items::{CommentItem, LikeItem, PostItem, UserItem, types};
use onehop_runtime::clock::format_timestamp;

/// The user of an index.
#[must_use]
pub fn user(dataset: &Dataset, index: u32) -> UserItem {
    let user = dataset.user(index);
    let user_id = UserId(user.id);
    UserItem {
        id: user_id,
        item_type: types::USER.to_owned(),
        user_id,
        username: user.username,
        version: 1,
        pending_username: None,
        former_username: None,
        former_keys: Vec::new(),
        suspended: false,
    }
}

/// A post of a user, still without comments and likes.
#[must_use]
pub fn post(dataset: &Dataset, user: u32, post: &SeedPost) -> PostItem {
    let post_id = PostId(post.id);
    let mut username = String::new();
    dataset.write_username(user, &mut username);
    PostItem {
        id: post_id,
        item_type: types::POST.to_owned(),
        post_id,
        user_id: UserId(dataset.user_id(user)),
        user_username: username,
        tags: post.tags.iter().map(|tag| (*tag).to_owned()).collect(),
        comment_count: 0,
        like_count: 0,
        creation_date: format_timestamp(post.creation_ms),
        version: 1,
        title: post.title.clone(),
        content: post.content.clone(),
        text_version: 1,
        update_date: None,
        deleted: false,
        ttl: None,
    }
}

/// The comments of a post.
pub fn comments<'d>(dataset: &'d Dataset, post: &'d SeedPost) -> impl Iterator<Item = CommentItem> + 'd {
    dataset.comments_of(post).map(|comment| CommentItem {
        id: CommentId(comment.id),
        item_type: types::COMMENT.to_owned(),
        post_id: PostId(post.id),
        user_id: UserId(dataset.user_id(comment.author)),
        user_username: dataset.username(comment.author),
        content: comment.content,
        creation_date: format_timestamp(comment.creation_ms),
        version: 1,
        text_version: 1,
        update_date: None,
        deleted: false,
        ttl: None,
    })
}

/// The likes of a post.
pub fn likes<'d>(dataset: &'d Dataset, post: &'d SeedPost) -> impl Iterator<Item = LikeItem> + 'd {
    dataset.likes_of(post).map(|like| {
        let (post_id, user_id) = (PostId(post.id), UserId(dataset.user_id(like.user)));
        LikeItem {
            id: LikeId::derive(post_id, user_id),
            item_type: types::LIKE.to_owned(),
            post_id,
            user_id,
            user_username: dataset.username(like.user),
            creation_date: format_timestamp(like.creation_ms),
            version: 1,
        }
    })
}
