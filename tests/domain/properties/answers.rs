//! All answers of a data model: every question about every user and post, page by page.

use onehop::blog::ids::{PostId, UserId};
use onehop::blog::reads::{
    CommentView, DataModel, LikeView, PageRequest, PostView, Reads, Session, TaggedPosts, UserView,
};
use onehop_store::Ledger;

use crate::pages::pages;
use crate::process::TestProcess;

/// A post as a list shows it, whether it came from the post or from a copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub id: PostId,
    pub author: UserView,
    pub title: String,
    pub summary: String,
    pub comment_count: u32,
    pub like_count: u32,
    /// Of the post, and of the last change of its text.
    pub dates: (String, Option<String>),
    pub text_version: u32,
    pub tags: Vec<String>,
}

/// The answers about a post. `None` of a post that is not there.
#[derive(Debug, PartialEq, Eq)]
pub struct PostAnswers {
    pub post: Option<PostView>,
    pub comments: Vec<CommentView>,
    pub likes: Vec<LikeView>,
}

/// The answers about a user.
#[derive(Debug, PartialEq, Eq)]
pub struct UserAnswers {
    pub user: Option<UserView>,
    pub posts: Vec<Listed>,
}

/// Asks one data model, with pages of one size.
pub struct Asker<'a> {
    reads: &'a dyn Reads,
    tagged: &'a TaggedPosts,
    first: i64,
}

impl From<PostView> for Listed {
    fn from(post: PostView) -> Self {
        let summary = post.summary();
        let PostView {
            id,
            author,
            title,
            text: _,
            tags,
            comment_count,
            like_count,
            creation_date,
            update_date,
            text_version,
        } = post;
        let dates = (creation_date, update_date);
        Self { id, author, title, summary, comment_count, like_count, dates, text_version, tags }
    }
}

impl<'a> Asker<'a> {
    pub fn new(blog: &'a TestProcess, model: DataModel, first: i64) -> Self {
        Self { reads: blog.app.reads.of(model), tagged: blog.app.reads.tagged(), first }
    }

    /// Q1 and Q3.
    pub async fn user(&self, id: UserId) -> UserAnswers {
        let user = self.reads.user(id, &session()).await.expect("Q1");
        let page = |page: PageRequest| async move { self.reads.posts_of_user(id, &page, &session()).await };
        let posts = pages(self.first, page, PostView::keyset, None).await;
        UserAnswers { user, posts: posts.into_iter().map(Listed::from).collect() }
    }

    /// Q2, Q4 and Q5.
    pub async fn post(&self, id: PostId) -> PostAnswers {
        let post = self.reads.post(id, &session()).await.expect("Q2");
        let comments = |page: PageRequest| async move { self.reads.comments(id, &page, &session()).await };
        let likes = |page: PageRequest| async move { self.reads.likes(id, &page, &session()).await };
        PostAnswers {
            post,
            comments: pages(self.first, comments, CommentView::keyset, None).await,
            likes: pages(self.first, likes, LikeView::keyset, None).await,
        }
    }

    /// Q6, no further than `at_most` posts.
    pub async fn feed(&self, at_most: usize) -> Vec<Listed> {
        let page = |page: PageRequest| async move { self.reads.feed(&page, &session()).await };
        let mut posts = pages(self.first, page, PostView::keyset, Some(at_most)).await;
        posts.truncate(at_most);
        posts.into_iter().map(Listed::from).collect()
    }

    /// The posts with a tag.
    pub async fn tagged(&self, tag: &str) -> Vec<Listed> {
        let page = |page: PageRequest| async move { self.tagged.page(tag, &page, &session()).await };
        let posts = pages(self.first, page, PostView::keyset, None).await;
        posts.into_iter().map(Listed::from).collect()
    }

    /// The user who has a name.
    pub async fn holder(&self, normalised: &str) -> Option<UserView> {
        self.reads.user_by_username(normalised, &session()).await.expect("a user by name")
    }
}

/// Each question is a request of its own.
fn session() -> Session {
    Session::new(Ledger::new().into())
}
