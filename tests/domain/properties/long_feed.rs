//! More posts than the feed keeps: posts that left it for newer posts come back when these are deleted.

use onehop::blog::commands::{CreatePost, DeletePost};
use onehop::blog::containers::FEED_POSTS_MAX;
use onehop::blog::ids::{PostId, UserId};
use onehop_store::Ledger;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::process::TestProcess;
use crate::properties::agreement::assert_feed;
use crate::properties::model::Model;
use crate::properties::play::sign_up;
use crate::properties::{block_on, cases};

/// Posts that are there before the steps begin: more than the feed keeps.
const FIRST_POSTS: usize = FEED_POSTS_MAX + 20;

/// Commands that run at once.
#[derive(Debug, Clone)]
enum Step {
    CreatePosts(usize),
    DeleteNewest(usize),
    /// Deletes one post, wherever it stands.
    DeleteAny(Index),
    RunOnce,
    Drain,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        2 => (1..40_usize).prop_map(Step::CreatePosts),
        3 => (1..70_usize).prop_map(Step::DeleteNewest),
        2 => any::<Index>().prop_map(Step::DeleteAny),
        2 => Just(Step::RunOnce),
        1 => Just(Step::Drain),
    ];
    vec(step, 4..12)
}

proptest! {
    #![proptest_config(cases(8))]

    #[test]
    fn the_feed_is_exactly_the_newest_posts_also_after_deletions(steps in steps(), readers in any::<bool>()) {
        block_on(check(steps, readers));
    }
}

async fn check(steps: Vec<Step>, readers: bool) {
    let mut scene = Scene::new().await;
    scene.create_posts(FIRST_POSTS).await;
    if readers {
        scene.blog.start_readers();
    } else {
        scene.blog.drain().await;
    }
    for step in steps {
        match step {
            Step::CreatePosts(count) => scene.create_posts(count).await,
            Step::DeleteNewest(count) => scene.delete_newest(count).await,
            Step::DeleteAny(index) => scene.delete_any(&index).await,
            Step::RunOnce => {
                scene.blog.app.processor.run_once().await.expect("a page");
            }
            Step::Drain => {
                scene.blog.drain().await;
            }
        }
    }
    scene.blog.drain().await;
    assert_feed(&scene.blog, &scene.model).await;
    scene.blog.assert_clean().await;
    let etags = scene.blog.etags().await;
    scene.blog.rebuild().await;
    scene.blog.assert_untouched(&etags).await;
    scene.blog.end().await;
}

struct Scene {
    blog: TestProcess,
    model: Model,
    author: UserId,
}

impl Scene {
    async fn new() -> Self {
        let blog = TestProcess::new().await;
        let author = sign_up(&blog.app.commands, "Ada").await.expect("a sign-up").id;
        Self { blog, model: Model::default(), author }
    }

    /// Creates posts, all at the same time.
    async fn create_posts(&mut self, count: usize) {
        let create = |number| {
            let input = CreatePost {
                user_id: self.author,
                title: format!("Post {number}"),
                content: "Some words about something.".to_owned(),
                tags: Vec::new(),
                idempotency_key: None,
            };
            async { self.blog.app.commands.create_post(input, &Ledger::new()).await.expect("a post") }
        };
        for post in futures::future::join_all((0..count).map(create)).await {
            self.model.post(&post, &post.title, &post.content);
        }
    }

    /// Deletes the newest posts, all at the same time.
    async fn delete_newest(&mut self, count: usize) {
        let mut newest = self.model.posts_left(None);
        newest.truncate(count);
        let commands = &self.blog.app.commands;
        let delete = |post_id: &PostId| {
            let input = DeletePost { user_id: self.author, post_id: *post_id };
            async move { commands.delete_post(input, &Ledger::new()).await.expect("a deletion") }
        };
        futures::future::join_all(newest.iter().map(delete)).await;
        for post in newest {
            self.model.post_deleted(post);
        }
    }

    async fn delete_any(&mut self, index: &Index) {
        let left = self.model.posts_left(None);
        if !left.is_empty() {
            let post_id = left[index.index(left.len())];
            let input = DeletePost { user_id: self.author, post_id };
            self.blog.app.commands.delete_post(input, &Ledger::new()).await.expect("a deletion");
            self.model.post_deleted(post_id);
        }
    }
}
