//! The read side: one trait with one method per question, answered by three data models.
//!
//! The reads of each follow from its model ([`model_reads`]): V1 gathers usernames and counts at read time,
//! V2 finds them in the items and reads lists of posts across partitions, V3 reads these from one logical
//! partition. Nothing here writes, and nothing here knows GraphQL.

mod accounts;
pub mod cursor;
mod lookups;
mod model_reads;
mod points;
mod queries;
mod search;
mod session;
mod tagged;
mod views;

use std::sync::Arc;

use async_trait::async_trait;

pub use self::accounts::AccountReads;
pub use crate::domain::page::{FIRST_MAX, FIRST_MIN, Page, PageRequest};
pub use model_reads::ModelReads;
pub use search::{PostSearch, PostSearchPage};
pub use session::Session;
pub use tagged::TaggedPosts;
pub use views::{CommentView, LikeView, ModerationEntryView, PostText, PostView, UserView};

use super::ids::{CommentId, LikeId, PostId, UserId};
use super::model::{MODEL, V1, V2};
use onehop_store::{Fault, Store};

/// The data model behind a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataModel {
    /// Normalised: references only.
    V1,
    /// Usernames and counts are stored in posts, comments and likes.
    V2,
    /// V2, with copies of posts where lists are read.
    V3,
}

impl DataModel {
    /// All data models, in the order of the article.
    pub const ALL: [Self; 3] = [Self::V1, Self::V2, Self::V3];
}

/// The questions that clients ask. Deleted items are absent from every answer.
///
/// Every method returns a [`Fault`] when the store does not answer, or when an item is damaged.
#[async_trait]
pub trait Reads: Send + Sync + 'static {
    /// Q1: a user.
    async fn user(&self, id: UserId, session: &Session) -> Result<Option<UserView>, Fault>;

    /// The user who goes by a name, given in its normalised form. A name that a rename is about to take, or
    /// has just left, finds no user.
    async fn user_by_username(&self, normalised: &str, session: &Session) -> Result<Option<UserView>, Fault>;

    /// Q2: a post, with its whole text.
    async fn post(&self, id: PostId, session: &Session) -> Result<Option<PostView>, Fault>;

    /// Q3: a user's posts, newest first.
    async fn posts_of_user(
        &self,
        user: UserId,
        page: &PageRequest,
        session: &Session,
    ) -> Result<Page<PostView>, Fault>;

    /// Q4: a post's comments, oldest first.
    async fn comments(
        &self,
        post: PostId,
        page: &PageRequest,
        session: &Session,
    ) -> Result<Page<CommentView>, Fault>;

    /// Q5: a post's likes, newest first.
    async fn likes(
        &self,
        post: PostId,
        page: &PageRequest,
        session: &Session,
    ) -> Result<Page<LikeView>, Fault>;

    /// Q6: the most recent posts of all users, newest first.
    async fn feed(&self, page: &PageRequest, session: &Session) -> Result<Page<PostView>, Fault>;

    /// The whole texts of posts, in the order of the ids, in one batch of point reads.
    async fn contents(&self, posts: &[PostId], session: &Session) -> Result<Vec<Option<String>>, Fault>;

    /// Whether a user likes each of these posts, in one batch of point reads.
    async fn liked(&self, posts: &[PostId], user: UserId, session: &Session) -> Result<Vec<bool>, Fault>;

    /// A comment and its post, both from the post's logical partition; absent when either is.
    async fn comment(
        &self,
        post: PostId,
        id: CommentId,
        session: &Session,
    ) -> Result<Option<(CommentView, PostView)>, Fault>;

    /// A like and its post, both from the post's logical partition; absent when either is.
    async fn like(
        &self,
        post: PostId,
        id: LikeId,
        session: &Session,
    ) -> Result<Option<(LikeView, PostView)>, Fault>;
}

/// The three data models over one store.
#[derive(Clone)]
pub struct ReadModels {
    v1: Arc<dyn Reads>,
    v2: Arc<dyn Reads>,
    v3: Arc<dyn Reads>,
    accounts: AccountReads,
    tagged: TaggedPosts,
    search: PostSearch,
}

impl ReadModels {
    /// The data models of this store's containers.
    #[must_use]
    pub fn new(store: &Arc<dyn Store>) -> Self {
        Self {
            v1: Arc::new(ModelReads::new(Arc::clone(store), &V1)),
            v2: Arc::new(ModelReads::new(Arc::clone(store), &V2)),
            v3: Arc::new(ModelReads::new(Arc::clone(store), &MODEL)),
            accounts: AccountReads::new(Arc::clone(store)),
            tagged: TaggedPosts::new(Arc::clone(store)),
            search: PostSearch::new(Arc::clone(store)),
        }
    }

    /// The reads about accounts, which are the same in every data model.
    #[must_use]
    pub fn accounts(&self) -> &AccountReads {
        &self.accounts
    }

    /// The posts of tags.
    #[must_use]
    pub fn tagged(&self) -> &TaggedPosts {
        &self.tagged
    }

    /// The search over titles.
    #[must_use]
    pub fn search(&self) -> &PostSearch {
        &self.search
    }

    /// The reads of one data model.
    #[must_use]
    pub fn of(&self, model: DataModel) -> &dyn Reads {
        match model {
            DataModel::V1 => self.v1.as_ref(),
            DataModel::V2 => self.v2.as_ref(),
            DataModel::V3 => self.v3.as_ref(),
        }
    }
}

impl std::fmt::Debug for ReadModels {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ReadModels").finish_non_exhaustive()
    }
}
