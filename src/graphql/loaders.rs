//! Reads that several objects of a request share. Data that one post of a page needs is read for the whole
//! page in one batch, and only once a post needs it. The page's posts are known beforehand, so nothing has to
//! wait for others to ask, and a batch never falls apart.

use std::sync::Arc;

use async_graphql::Result;
use tokio::sync::OnceCell;

use super::scope::RequestScope;
use crate::blog::ids::{PostId, UserId};
use crate::blog::reads::DataModel;

/// The posts of one page of a list.
pub(super) struct PostPage {
    scope: Arc<RequestScope>,
    model: DataModel,
    posts: Vec<PostId>,
    contents: OnceCell<Result<Vec<Option<String>>>>,
    /// Within a request it is always the same user who likes.
    liked: OnceCell<Result<Vec<bool>>>,
}

impl PostPage {
    /// A page with these posts.
    pub(super) fn new(scope: &Arc<RequestScope>, model: DataModel, posts: Vec<PostId>) -> Self {
        let scope = Arc::clone(scope);
        Self { scope, model, posts, contents: OnceCell::new(), liked: OnceCell::new() }
    }

    /// The whole text of a post of this page; `None` when it was deleted.
    pub(super) async fn content(&self, post: PostId) -> Result<Option<String>> {
        let read = || async {
            let reads = self.scope.reads(self.model);
            let contents = reads.contents(&self.posts, self.scope.session()).await;
            contents.map_err(|fault| self.scope.fault(&fault))
        };
        let contents = self.contents.get_or_init(read).await.as_ref().map_err(Clone::clone)?;
        Ok(self.position(post).and_then(|position| contents.get(position)).cloned().flatten())
    }

    /// Whether a user likes a post of this page.
    pub(super) async fn liked(&self, post: PostId, user: UserId) -> Result<bool> {
        let read = || async {
            let reads = self.scope.reads(self.model);
            let liked = reads.liked(&self.posts, user, self.scope.session()).await;
            liked.map_err(|fault| self.scope.fault(&fault))
        };
        let liked = self.liked.get_or_init(read).await.as_ref().map_err(Clone::clone)?;
        Ok(self.position(post).and_then(|position| liked.get(position)).copied().unwrap_or_default())
    }

    fn position(&self, post: PostId) -> Option<usize> {
        self.posts.iter().position(|candidate| *candidate == post)
    }
}
