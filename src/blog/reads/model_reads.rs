//! Reads that follow from a model of the blog: the model says which values items hold, and where lists lie.
//! A username without a copy is a point read in `users`, a count that no item keeps is a COUNT in the post's
//! logical partition, and a list without a logical partition asks every physical one.
//!
//! Source of the models: "Model and partition data on Azure Cosmos DB using a real-world example".

use std::sync::Arc;

use async_trait::async_trait;
use onehop_model::{FieldKind, Kept, Model};

use super::lookups::ReactionCounts;
use super::queries::ListQuery;
use super::{CommentView, LikeView, Page, PageRequest, PostView, Reads, Session, UserView, points};
use crate::blog::ids::{CommentId, LikeId, PostId, UserId};
use onehop_store::{Fault, Store};

/// Reads of the blog's items under one model.
pub struct ModelReads {
    store: Arc<dyn Store>,
    lists: BlogLists,
    copies: BlogCopies,
}

struct BlogLists {
    posts_of_user: ListQuery,
    comments: ListQuery,
    likes: ListQuery,
    feed: ListQuery,
}

/// The copied values of items. Missing values are looked up.
struct BlogCopies {
    of_posts: bool,
    of_comments: bool,
    of_likes: bool,
    comment_count: bool,
    like_count: bool,
}

impl BlogCopies {
    fn of(model: &Model) -> Self {
        Self {
            of_posts: has_username(model, "Post", "author"),
            of_comments: has_username(model, "Comment", "author"),
            of_likes: has_username(model, "Like", "user"),
            comment_count: keeps_count(model, "commentCount"),
            like_count: keeps_count(model, "likeCount"),
        }
    }

    fn has_all(&self) -> bool {
        self.of_posts && self.of_comments && self.of_likes
    }
}

/// Whether the items of a type hold the name of the user to whom they refer.
fn has_username(model: &Model, ty: &str, reference: &str) -> bool {
    let field = model.item(ty).and_then(|item| item.field(reference));
    field.is_some_and(|field| match &field.kind {
        FieldKind::Reference(reference) => reference.copies.iter().any(|copy| &*copy.field == "username"),
        _ => false,
    })
}

/// Whether posts hold a count.
fn keeps_count(model: &Model, count: &str) -> bool {
    let field = model.item("Post").and_then(|item| item.field(count));
    field.is_some_and(|field| matches!(&field.kind, FieldKind::Count(count) if count.kept != Kept::Query))
}

impl ModelReads {
    /// Reads from this store, as the model has it.
    ///
    /// # Panics
    /// The model lacks one of the lists.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, model: &'static Model) -> Self {
        let lists = BlogLists {
            posts_of_user: ListQuery::of(model, "User", "posts"),
            comments: ListQuery::of(model, "Post", "comments"),
            likes: ListQuery::of(model, "Post", "likes"),
            feed: ListQuery::of(model, "Query", "feed"),
        };
        Self { store, lists, copies: BlogCopies::of(model) }
    }

    /// Looks up the names of the users of all items.
    async fn complete_users<T>(
        &self,
        items: &mut [T],
        user_of: impl Fn(&mut T) -> &mut UserView,
        session: &Session,
    ) -> Result<(), Fault> {
        let ids: Vec<UserId> = items.iter_mut().map(|item| user_of(item).id).collect();
        let usernames = session.lookups(&self.store).usernames(&ids).await?;
        for (item, username) in items.iter_mut().zip(usernames) {
            user_of(item).username = username;
        }
        Ok(())
    }

    /// Looks up the authors' names and the counts that posts do not hold.
    async fn complete_posts(&self, posts: &mut [PostView], session: &Session) -> Result<(), Fault> {
        let BlogCopies { of_posts, comment_count, like_count, .. } = self.copies;
        if !of_posts {
            self.complete_users(posts, |post| &mut post.author, session).await?;
        }
        if comment_count && like_count {
            return Ok(());
        }
        let ids: Vec<PostId> = posts.iter().map(|post| post.id).collect();
        let counts = session.lookups(&self.store).counts(&ids).await?;
        for (post, ReactionCounts { comments, likes }) in posts.iter_mut().zip(counts) {
            if !comment_count {
                post.comment_count = comments;
            }
            if !like_count {
                post.like_count = likes;
            }
        }
        Ok(())
    }

    async fn complete_comments(&self, comments: &mut [CommentView], session: &Session) -> Result<(), Fault> {
        if self.copies.of_comments {
            return Ok(());
        }
        self.complete_users(comments, |comment| &mut comment.author, session).await
    }

    async fn complete_likes(&self, likes: &mut [LikeView], session: &Session) -> Result<(), Fault> {
        if self.copies.of_likes {
            return Ok(());
        }
        self.complete_users(likes, |like| &mut like.user, session).await
    }
}

#[async_trait]
impl Reads for ModelReads {
    async fn user(&self, id: UserId, session: &Session) -> Result<Option<UserView>, Fault> {
        let user = points::user(self.store.as_ref(), id, session).await?;
        if let Some(user) = user.as_ref().filter(|_| !self.copies.has_all()) {
            session.lookups(&self.store).remember(user).await;
        }
        Ok(user)
    }

    async fn user_by_username(&self, normalised: &str, session: &Session) -> Result<Option<UserView>, Fault> {
        match points::holder(self.store.as_ref(), normalised, session).await? {
            Some(id) => {
                let user = self.user(id, session).await?;
                Ok(user.filter(|user| points::goes_by(user, normalised)))
            }
            None => Ok(None),
        }
    }

    async fn post(&self, id: PostId, session: &Session) -> Result<Option<PostView>, Fault> {
        let mut post = points::post(self.store.as_ref(), id, session).await?;
        self.complete_posts(post.as_mut_slice(), session).await?;
        Ok(post)
    }

    async fn posts_of_user(
        &self,
        user: UserId,
        page: &PageRequest,
        session: &Session,
    ) -> Result<Page<PostView>, Fault> {
        let (list, owner) = (self.lists.posts_of_user, user.to_string());
        let mut posts = list.page(self.store.as_ref(), &owner, page, PostView::decode, session).await?;
        self.complete_posts(&mut posts.items, session).await?;
        Ok(posts)
    }

    async fn comments(
        &self,
        post: PostId,
        page: &PageRequest,
        session: &Session,
    ) -> Result<Page<CommentView>, Fault> {
        let (list, owner) = (self.lists.comments, post.to_string());
        let mut comments = list.page(self.store.as_ref(), &owner, page, CommentView::decode, session).await?;
        self.complete_comments(&mut comments.items, session).await?;
        Ok(comments)
    }

    async fn likes(
        &self,
        post: PostId,
        page: &PageRequest,
        session: &Session,
    ) -> Result<Page<LikeView>, Fault> {
        let (list, owner) = (self.lists.likes, post.to_string());
        let mut likes = list.page(self.store.as_ref(), &owner, page, LikeView::decode, session).await?;
        self.complete_likes(&mut likes.items, session).await?;
        Ok(likes)
    }

    async fn feed(&self, page: &PageRequest, session: &Session) -> Result<Page<PostView>, Fault> {
        let list = self.lists.feed;
        let mut posts = list.page(self.store.as_ref(), "", page, PostView::decode, session).await?;
        self.complete_posts(&mut posts.items, session).await?;
        Ok(posts)
    }

    async fn contents(&self, posts: &[PostId], session: &Session) -> Result<Vec<Option<String>>, Fault> {
        points::contents(self.store.as_ref(), posts, session).await
    }

    async fn liked(&self, posts: &[PostId], user: UserId, session: &Session) -> Result<Vec<bool>, Fault> {
        points::liked(self.store.as_ref(), posts, user, session).await
    }

    async fn comment(
        &self,
        post: PostId,
        id: CommentId,
        session: &Session,
    ) -> Result<Option<(CommentView, PostView)>, Fault> {
        let mut found = points::comment(self.store.as_ref(), post, id, session).await?;
        if let Some((comment, post)) = &mut found {
            self.complete_comments(std::slice::from_mut(comment), session).await?;
            self.complete_posts(std::slice::from_mut(post), session).await?;
        }
        Ok(found)
    }

    async fn like(
        &self,
        post: PostId,
        id: LikeId,
        session: &Session,
    ) -> Result<Option<(LikeView, PostView)>, Fault> {
        let mut found = points::like(self.store.as_ref(), post, id, session).await?;
        if let Some((like, post)) = &mut found {
            self.complete_likes(std::slice::from_mut(like), session).await?;
            self.complete_posts(std::slice::from_mut(post), session).await?;
        }
        Ok(found)
    }
}
