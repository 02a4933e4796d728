//! V1: items hold references only. The author's username is a point read in `users`, the counts are two COUNT
//! queries in the post's logical partition, and lists of posts ask every physical partition. The usernames
//! and counts that the same items hold for V2 are not looked at.
//!
//! Source: "Model and partition data on Azure Cosmos DB using a real-world example", its V1.

use std::sync::Arc;

use async_trait::async_trait;

use super::lookups::ReactionCounts;
use super::{CommentView, LikeView, Page, PageRequest, PostView, Reads, Session, UserView, points, queries};
use crate::blog::ids::{CommentId, LikeId, PostId, UserId};
use onehop_store::{Fault, Store};

/// Reads of normalised items, completed by lookups.
pub struct V1 {
    store: Arc<dyn Store>,
}

impl V1 {
    /// Reads from this store.
    #[must_use]
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
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

    /// Looks up the authors' names and the counts of all posts.
    async fn complete_posts(&self, posts: &mut [PostView], session: &Session) -> Result<(), Fault> {
        self.complete_users(posts, |post| &mut post.author, session).await?;
        let ids: Vec<PostId> = posts.iter().map(|post| post.id).collect();
        let counts = session.lookups(&self.store).counts(&ids).await?;
        for (post, ReactionCounts { comments, likes }) in posts.iter_mut().zip(counts) {
            post.comment_count = comments;
            post.like_count = likes;
        }
        Ok(())
    }
}

#[async_trait]
impl Reads for V1 {
    async fn user(&self, id: UserId, session: &Session) -> Result<Option<UserView>, Fault> {
        let user = points::user(self.store.as_ref(), id, session).await?;
        if let Some(user) = &user {
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
        let mut posts = queries::posts_by_fan_out(self.store.as_ref(), user, page, session).await?;
        self.complete_posts(&mut posts.items, session).await?;
        Ok(posts)
    }

    async fn comments(
        &self,
        post: PostId,
        page: &PageRequest,
        session: &Session,
    ) -> Result<Page<CommentView>, Fault> {
        let mut comments = queries::comments(self.store.as_ref(), post, page, session).await?;
        self.complete_users(&mut comments.items, |comment| &mut comment.author, session).await?;
        Ok(comments)
    }

    async fn likes(
        &self,
        post: PostId,
        page: &PageRequest,
        session: &Session,
    ) -> Result<Page<LikeView>, Fault> {
        let mut likes = queries::likes(self.store.as_ref(), post, page, session).await?;
        self.complete_users(&mut likes.items, |like| &mut like.user, session).await?;
        Ok(likes)
    }

    async fn feed(&self, page: &PageRequest, session: &Session) -> Result<Page<PostView>, Fault> {
        let mut posts = queries::newest_by_fan_out(self.store.as_ref(), page, session).await?;
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
            self.complete_users(std::slice::from_mut(comment), |comment| &mut comment.author, session)
                .await?;
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
            self.complete_users(std::slice::from_mut(like), |like| &mut like.user, session).await?;
            self.complete_posts(std::slice::from_mut(post), session).await?;
        }
        Ok(found)
    }
}
