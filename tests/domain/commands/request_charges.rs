//! Request charges of the commands and of the read models that follow them, alone and ten at once.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _, join_all};
use onehop::app::container_specs;
use onehop::blog::commands::{CommandLimits, CreateComment, CreatePost, LikePost};
use onehop::blog::containers::FEED_POSTS_MAX;
use onehop::blog::ids::PostId;
use onehop::blog::items::UserItem;
use onehop::blog::read_models;
use onehop_change_feed::{Processor, Settings, Sharing};
use onehop_store::{Ledger, Store};
use tokio_util::sync::CancellationToken;

use super::harness::Blog;

/// A post of the length that the article's charges imply.
const CONTENT_BYTES: usize = 1_700;
const AT_ONCE: usize = 10;

/// A blog whose read models follow.
struct Followed {
    blog: Blog,
    processor: Processor,
}

impl Followed {
    async fn new() -> Self {
        let blog = Blog::over(&container_specs(), CommandLimits::on_account()).await;
        let store: Arc<dyn Store> = blog.store.clone();
        let settings = Settings { sharing: Sharing::Alone, ..Settings::new("test").without_delays() };
        let stop = CancellationToken::new();
        let processor =
            Processor::open(store, blog.clock.clone(), read_models::projections(), settings, stop).await;
        let followed = Self { processor: processor.unwrap(), blog };
        // A feed that is not full looks for further posts.
        let reader = followed.blog.user("reader").await;
        for _ in 0..=FEED_POSTS_MAX {
            followed.post(&reader, &Ledger::new()).await;
        }
        followed.follow().await;
        followed.post(&reader, &Ledger::new()).await;
        followed.follow().await;
        followed
    }

    /// The charge of the read models, without checkpoints and polls that find nothing.
    async fn follow(&self) -> f64 {
        let before = self.blog.store.spent_on_work();
        self.processor.drain().await.unwrap();
        self.blog.store.spent_on_work() - before
    }

    async fn post(&self, author: &UserItem, ledger: &Ledger) -> PostId {
        let input = CreatePost {
            user_id: author.id,
            title: "A title".to_owned(),
            content: "a".repeat(CONTENT_BYTES),
            tags: Vec::new(),
            idempotency_key: None,
        };
        self.blog.clock.advance_ms(1_000);
        self.blog.commands.create_post(input, ledger).await.unwrap().id
    }

    fn comment<'a>(&'a self, user: &UserItem, post_id: PostId, ledger: &'a Ledger) -> BoxFuture<'a, ()> {
        let content = "a".repeat(500);
        let input = CreateComment { user_id: user.id, post_id, content, idempotency_key: None };
        async move { drop(self.blog.commands.create_comment(input, ledger).await.unwrap()) }.boxed()
    }

    fn like<'a>(&'a self, user: &UserItem, post_id: PostId, ledger: &'a Ledger) -> BoxFuture<'a, ()> {
        let input = LikePost { user_id: user.id, post_id };
        async move { drop(self.blog.commands.like_post(input, ledger).await.unwrap()) }.boxed()
    }

    async fn users(&self) -> Vec<UserItem> {
        let mut users = Vec::new();
        for number in 0..AT_ONCE {
            users.push(self.blog.user(&format!("user{number}")).await);
        }
        users
    }
}

/// RU: of the command, and of its read models.
fn assert_at_most(request: &str, (own, behind): (f64, f64), charge_max: f64) {
    println!("{request}: {own:.2} + {behind:.2} RU");
    assert!(own > 0.0 && own + behind <= charge_max, "{request}: {own} + {behind} RU");
}

#[tokio::test]
async fn no_command_costs_more_than_it_has_to() {
    let followed = Followed::new().await;
    let before = followed.blog.store.spent().0;
    let author = followed.blog.user("author").await;
    let own = followed.blog.store.spent().0 - before;
    assert_at_most("C1", (own, followed.follow().await), 15.0);
    let ledger = Ledger::new();
    let post = followed.post(&author, &ledger).await;
    assert_at_most("C2", (ledger.total().0, followed.follow().await), 43.0);
    let ledger = Ledger::new();
    followed.comment(&author, post, &ledger).await;
    assert_at_most("C3", (ledger.total().0, followed.follow().await), 60.0);
    let ledger = Ledger::new();
    followed.like(&author, post, &ledger).await;
    assert_at_most("C4", (ledger.total().0, followed.follow().await), 60.0);
}

#[tokio::test]
async fn commands_that_arrive_together_share_their_charges() {
    let followed = Followed::new().await;
    let users = followed.users().await;
    let post = followed.post(&users[0], &Ledger::new()).await;
    followed.follow().await;
    let ledger = Ledger::new();
    join_all(users.iter().map(|user| followed.comment(user, post, &ledger))).await;
    let each = |charge: f64| charge / AT_ONCE as f64;
    assert_at_most("C3", (each(ledger.total().0), each(followed.follow().await)), 20.0);
    let ledger = Ledger::new();
    join_all(users.iter().map(|user| followed.like(user, post, &ledger))).await;
    assert_at_most("C4", (each(ledger.total().0), each(followed.follow().await)), 20.0);
}
