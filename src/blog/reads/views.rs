//! Views: the answers of reads. Views are decoded from stored items once, by moving their strings; fields of
//! an item that no answer shows are skipped. They know nothing of how they were found.

use serde::Deserialize;

use crate::blog::ids::{CommentId, LikeId, PostId, UserId};
use crate::blog::items::{
    CommentItem, LikeItem, ModerationEntryItem, PostItem, TEXT_VERSION_FIRST, UserItem,
};
use crate::blog::summary::summarise;
use crate::domain::cursor;
use onehop_store::{Fault, Item, Keyset};

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserView {
    pub id: UserId,
    pub username: String,
}

/// As much of a post's text as was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostText {
    Whole(String),
    /// The content of a short copy.
    Summary(String),
}

/// A post.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostView {
    pub id: PostId,
    pub author: UserView,
    pub title: String,
    pub text: PostText,
    /// In lower case.
    pub tags: Vec<String>,
    pub comment_count: u32,
    pub like_count: u32,
    /// RFC 3339 in UTC with milliseconds, in its stored form.
    pub creation_date: String,
    /// When title, content or tags were last changed, in its stored form.
    pub update_date: Option<String>,
    /// The version of title, content and tags.
    pub text_version: u32,
}

/// A comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentView {
    pub id: CommentId,
    pub post: PostId,
    pub author: UserView,
    pub content: String,
    /// RFC 3339 in UTC with milliseconds, in its stored form.
    pub creation_date: String,
    /// When the content was last changed, in its stored form.
    pub update_date: Option<String>,
    /// The version of the content.
    pub text_version: u32,
}

/// A like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LikeView {
    pub id: LikeId,
    pub post: PostId,
    pub user: UserView,
    /// RFC 3339 in UTC with milliseconds, in its stored form.
    pub creation_date: String,
}

impl PostView {
    /// The start of the text without the marks of Markdown, cut at a word boundary.
    #[must_use]
    pub fn summary(&self) -> String {
        match &self.text {
            PostText::Whole(content) => summarise(content),
            PostText::Summary(summary) => summary.clone(),
        }
    }

    /// The whole text, where it was read.
    #[must_use]
    pub fn content(&self) -> Option<&str> {
        match &self.text {
            PostText::Whole(content) => Some(content),
            PostText::Summary(_) => None,
        }
    }

    /// Where this post stands in a list of posts.
    #[must_use]
    pub fn keyset(&self) -> Keyset {
        cursor::keyset(&self.creation_date, self.id.0)
    }

    /// Reads a post or a short copy of one; a deleted one is `None`.
    pub(in crate::blog) fn decode(item: &Item) -> Result<Option<Self>, Fault> {
        let stored: StoredPost = item.decode()?;
        if stored.deleted {
            return Ok(None);
        }
        let text = match stored.content {
            Some(content) => PostText::Whole(content),
            None => PostText::Summary(stored.excerpt.unwrap_or_default()),
        };
        Ok(Some(Self {
            id: stored.id,
            author: UserView { id: stored.user_id, username: stored.user_username },
            title: stored.title,
            text,
            tags: stored.tags,
            comment_count: stored.comment_count.unwrap_or(0),
            like_count: stored.like_count.unwrap_or(0),
            creation_date: stored.creation_date,
            update_date: stored.update_date,
            text_version: stored.text_version.unwrap_or(TEXT_VERSION_FIRST),
        }))
    }
}

impl CommentView {
    /// Where this comment stands among the comments of its post.
    #[must_use]
    pub fn keyset(&self) -> Keyset {
        cursor::keyset(&self.creation_date, self.id.0)
    }

    /// Reads a comment; a deleted one is `None`.
    pub(in crate::blog) fn decode(item: &Item) -> Result<Option<Self>, Fault> {
        let stored: StoredComment = item.decode()?;
        Ok((!stored.deleted).then_some(Self {
            id: stored.id,
            post: stored.post_id,
            author: UserView { id: stored.user_id, username: stored.user_username },
            content: stored.content,
            creation_date: stored.creation_date,
            update_date: stored.update_date,
            text_version: stored.text_version.unwrap_or(TEXT_VERSION_FIRST),
        }))
    }
}

impl LikeView {
    /// Where this like stands among the likes of its post.
    #[must_use]
    pub fn keyset(&self) -> Keyset {
        cursor::keyset(&self.creation_date, self.id.0)
    }

    /// Reads a like; a deleted one is `None`.
    pub(in crate::blog) fn decode(item: &Item) -> Result<Option<Self>, Fault> {
        let stored: StoredLike = item.decode()?;
        Ok((!stored.deleted).then_some(Self {
            id: stored.id,
            post: stored.post_id,
            user: UserView { id: stored.user_id, username: stored.user_username },
            creation_date: stored.creation_date,
        }))
    }
}

impl UserView {
    /// Reads a user; the item left by an abandoned sign-up under the user's id gives `None`.
    pub(in crate::blog) fn decode(item: &Item) -> Result<Option<Self>, Fault> {
        let stored: StoredUser = item.decode()?;
        Ok(stored.username.map(|username| Self { id: stored.id, username }))
    }
}

/// An entry of the moderation log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModerationEntryView(ModerationEntryItem);

impl ModerationEntryView {
    /// Reads an entry.
    pub(super) fn decode(item: &Item) -> Result<Self, Fault> {
        item.decode().map(Self)
    }

    /// The stored entry.
    #[must_use]
    pub fn entry(&self) -> &ModerationEntryItem {
        &self.0
    }
}

impl From<UserItem> for UserView {
    fn from(item: UserItem) -> Self {
        Self { id: item.id, username: item.username }
    }
}

impl From<PostItem> for PostView {
    fn from(item: PostItem) -> Self {
        Self {
            id: item.id,
            author: UserView { id: item.user_id, username: item.user_username },
            title: item.title,
            text: PostText::Whole(item.content),
            tags: item.tags,
            comment_count: item.comment_count,
            like_count: item.like_count,
            creation_date: item.creation_date,
            update_date: item.update_date,
            text_version: item.text_version,
        }
    }
}

impl From<CommentItem> for CommentView {
    fn from(item: CommentItem) -> Self {
        Self {
            id: item.id,
            post: item.post_id,
            author: UserView { id: item.user_id, username: item.user_username },
            content: item.content,
            creation_date: item.creation_date,
            update_date: item.update_date,
            text_version: item.text_version,
        }
    }
}

impl From<LikeItem> for LikeView {
    fn from(item: LikeItem) -> Self {
        Self {
            id: item.id,
            post: item.post_id,
            user: UserView { id: item.user_id, username: item.user_username },
            creation_date: item.creation_date,
        }
    }
}

/// Reads the content of one optional item.
pub(super) fn decode_found<T>(
    item: Option<&Item>,
    decode: impl Fn(&Item) -> Result<Option<T>, Fault>,
) -> Result<Option<T>, Fault> {
    item.map_or(Ok(None), decode)
}

/// Reads an item of a query's answer, in which nothing is deleted.
pub(super) fn live<T>(
    decode: impl Fn(&Item) -> Result<Option<T>, Fault>,
) -> impl Fn(&Item) -> Result<T, Fault> {
    move |item| {
        decode(item)?.ok_or_else(|| {
            Fault::new(onehop_store::FaultKind::Internal, "a query answered with a deleted item")
        })
    }
}

/// Reads the whole text of a post and nothing else; a deleted one is `None`.
pub(super) fn decode_content(item: &Item) -> Result<Option<String>, Fault> {
    let stored: StoredContent = item.decode()?;
    Ok((!stored.deleted).then_some(stored.content))
}

/// Says whether an item is of a type.
pub(super) fn is_a(item: &Item, item_type: &str) -> Result<bool, Fault> {
    let stored: StoredType = item.decode()?;
    Ok(stored.item_type == item_type)
}

/// Says whether an item is live.
pub(super) fn is_live(item: &Item) -> Result<bool, Fault> {
    let stored: StoredState = item.decode()?;
    Ok(!stored.deleted)
}

/// The parts of a [`PostItem`] or of a short copy that answers show.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredPost {
    id: PostId,
    user_id: UserId,
    user_username: String,
    title: String,
    content: Option<String>,
    excerpt: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    /// Short copies have no counts of 0.
    comment_count: Option<u32>,
    like_count: Option<u32>,
    creation_date: String,
    update_date: Option<String>,
    text_version: Option<u32>,
    #[serde(default)]
    deleted: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredComment {
    id: CommentId,
    post_id: PostId,
    user_id: UserId,
    user_username: String,
    content: String,
    creation_date: String,
    update_date: Option<String>,
    text_version: Option<u32>,
    #[serde(default)]
    deleted: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredLike {
    id: LikeId,
    post_id: PostId,
    user_id: UserId,
    user_username: String,
    creation_date: String,
    #[serde(default)]
    deleted: bool,
}

#[derive(Deserialize)]
struct StoredUser {
    id: UserId,
    username: Option<String>,
}

#[derive(Deserialize)]
struct StoredType {
    #[serde(rename = "type")]
    item_type: String,
}

#[derive(Deserialize)]
struct StoredContent {
    content: String,
    #[serde(default)]
    deleted: bool,
}

#[derive(Deserialize)]
struct StoredState {
    #[serde(default)]
    deleted: bool,
}
