//! The required data, computed from the acknowledged commands alone.
//!
//! Tasks race, so the order of acknowledgements says nothing. Their sum does: an acknowledged like turns no
//! like into one and an acknowledged unlike turns it back, so their difference is the remaining like. The
//! last of several edits is the one with the highest version.

use std::collections::{BTreeMap, BTreeSet};

use onehop::accounts::username::Username;
use onehop::blog::ids::{CommentId, PostId, UserId};
use onehop::blog::items::{CommentItem, PostItem, UserItem};

#[derive(Debug, Default)]
pub struct Model {
    pub users: BTreeMap<UserId, ModelUser>,
    pub posts: BTreeMap<PostId, ModelPost>,
    pub comments: BTreeMap<CommentId, ModelComment>,
    /// Acknowledged likes less acknowledged unlikes.
    pub likes: BTreeMap<(PostId, UserId), i32>,
}

#[derive(Debug, Default)]
pub struct ModelUser {
    version: u64,
    username: String,
    /// Names of renames that ended with a fault: they may have happened, or happen later.
    uncertain: BTreeSet<String>,
}

#[derive(Debug)]
pub struct ModelPost {
    pub author: UserId,
    pub creation_date: String,
    pub deleted: bool,
    titles: Latest<String>,
    contents: Latest<String>,
}

#[derive(Debug)]
pub struct ModelComment {
    pub post: PostId,
    pub author: UserId,
    pub content: String,
    pub deleted: bool,
}

/// The values of the highest version: one, or the values of several edits that went into one batch.
#[derive(Debug)]
pub struct Latest<T> {
    version: u64,
    values: BTreeSet<T>,
}

impl<T: Ord + Clone> Latest<T> {
    pub fn first(value: &T) -> Self {
        Self { version: 1, values: BTreeSet::from([value.clone()]) }
    }

    pub fn note(&mut self, version: u64, value: &T) {
        if version > self.version {
            *self = Self { version, values: BTreeSet::new() };
        }
        if version == self.version {
            self.values.insert(value.clone());
        }
    }

    pub fn may_be(&self, value: &T) -> bool {
        self.values.contains(value)
    }

    /// The value, where no two edits share a version.
    pub fn only(&self) -> &T {
        assert_eq!(self.values.len(), 1, "two edits have the version {}", self.version);
        self.values.first().expect("one value")
    }
}

impl ModelUser {
    /// Whether the user may have this name now.
    pub fn may_be_called(&self, username: &str) -> bool {
        self.username == username || self.uncertain.contains(username)
    }
}

impl ModelPost {
    /// Whether the post may have this title now.
    pub fn may_be_titled(&self, title: &str) -> bool {
        self.titles.may_be(&title.to_owned())
    }

    /// Whether the post may have this content now.
    pub fn may_contain(&self, content: &str) -> bool {
        self.contents.may_be(&content.to_owned())
    }
}

impl Model {
    /// A sign-up or a rename was acknowledged.
    pub fn user(&mut self, user: &UserItem) {
        let known = self.users.entry(user.id).or_default();
        if user.version > known.version {
            (known.version, known.username) = (user.version, user.username.clone());
        }
    }

    /// A rename ended with a fault.
    pub fn user_uncertain(&mut self, user: UserId, username: &str) {
        let display = Username::parse(username).expect("a name that keeps the rules").as_str().to_owned();
        self.users.entry(user).or_default().uncertain.insert(display);
    }

    /// A post with these texts was created, perhaps before.
    pub fn post(&mut self, post: &PostItem, title: &str, content: &str) {
        self.posts.entry(post.id).or_insert_with(|| ModelPost {
            author: post.user_id,
            creation_date: post.creation_date.clone(),
            deleted: false,
            titles: Latest::first(&title.to_owned()),
            contents: Latest::first(&content.to_owned()),
        });
    }

    /// An edit to these texts was acknowledged.
    pub fn edit(&mut self, post: &PostItem, title: Option<&str>, content: Option<&str>) {
        let known = self.posts.get_mut(&post.id).expect("a known post");
        if let Some(title) = title {
            known.titles.note(post.version, &title.to_owned());
        }
        if let Some(content) = content {
            known.contents.note(post.version, &content.to_owned());
        }
    }

    /// A post was deleted.
    pub fn post_deleted(&mut self, post: PostId) {
        let known = self.posts.get_mut(&post).expect("a known post");
        assert!(!known.deleted, "the post {post} was deleted twice");
        known.deleted = true;
    }

    /// A comment was created, perhaps before.
    pub fn comment(&mut self, comment: &CommentItem, content: &str) {
        self.comments.entry(comment.id).or_insert_with(|| ModelComment {
            post: comment.post_id,
            author: comment.user_id,
            content: content.to_owned(),
            deleted: false,
        });
    }

    /// A comment was deleted.
    pub fn comment_deleted(&mut self, comment: CommentId) {
        let known = self.comments.get_mut(&comment).expect("a known comment");
        assert!(!known.deleted, "the comment {comment} was deleted twice");
        known.deleted = true;
    }

    /// A like was given (1) or taken back (-1).
    pub fn like(&mut self, post: PostId, user: UserId, change: i32) {
        *self.likes.entry((post, user)).or_default() += change;
    }

    /// The posts that are left, of one author or of all, newest first.
    pub fn posts_left(&self, author: Option<UserId>) -> Vec<PostId> {
        let wanted = |post: &ModelPost| !post.deleted && author.is_none_or(|author| post.author == author);
        let mut left: Vec<_> = self.posts.iter().filter(|(_, post)| wanted(post)).collect();
        left.sort_by_key(|(id, post)| std::cmp::Reverse((&post.creation_date, **id)));
        left.into_iter().map(|(id, _)| *id).collect()
    }

    /// The comments that are left of a post.
    pub fn comments_left(&self, post: PostId) -> BTreeSet<CommentId> {
        let left = self.comments.iter().filter(|(_, comment)| comment.post == post && !comment.deleted);
        left.map(|(id, _)| *id).collect()
    }

    /// The users who like a post.
    pub fn likers(&self, post: PostId) -> BTreeSet<UserId> {
        let of_post = self.likes.iter().filter(|((liked, _), _)| *liked == post);
        of_post
            .filter(|(key, number)| {
                assert!(matches!(number, 0 | 1), "{number} likes left of {key:?}");
                **number == 1
            })
            .map(|((_, user), _)| *user)
            .collect()
    }
}
