//! Commands on one post share batches; a caller that goes away takes only its answer with it.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use onehop::blog::commands::{
    CommandError, CommandLimits, Commands, CreateComment, DeletePost, LikePost, PostLiked, RefusalCode,
    UnlikePost, UpdatePost,
};
use onehop::blog::ids::{PostId, UserId};
use onehop::blog::items::{PostItem, UserItem};
use onehop_store::Ledger;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;

use super::harness::{Blog, Meddling, refusal};

type Answer<T> = JoinHandle<Result<T, CommandError>>;

/// A blog with a post by the first of some users, and clients that come and go.
struct Scene {
    blog: Blog,
    users: Vec<UserId>,
    post_id: PostId,
    clients: TaskTracker,
}

impl Scene {
    async fn new(users: usize) -> Self {
        Self::with(users, CommandLimits::default()).await
    }

    async fn with(count: usize, limits: CommandLimits) -> Self {
        let blog = Blog::with(limits).await;
        let mut users: Vec<UserItem> = Vec::new();
        for index in 0..count {
            users.push(blog.user(&format!("user{index}")).await);
        }
        let post_id = blog.post(&users[0]).await.id;
        let users = users.into_iter().map(|user| user.id).collect();
        Self { blog, users, post_id, clients: TaskTracker::new() }
    }

    /// Sends a command, and waits until it is in the queue behind `before` others.
    async fn send<T: Send + 'static>(
        &self,
        before: usize,
        command: impl Future<Output = Result<T, CommandError>> + Send + 'static,
    ) -> Answer<T> {
        let answer = self.clients.spawn(command);
        while self.blog.commands.waiting() < before + 1 {
            tokio::task::yield_now().await;
        }
        answer
    }

    fn like(&self, user: usize) -> impl Future<Output = Result<PostLiked, CommandError>> + Send + 'static {
        let commands = self.blog.commands.clone();
        let input = LikePost { user_id: self.users[user], post_id: self.post_id };
        async move { commands.like_post(input, &Ledger::new()).await }
    }

    fn unlike(
        &self,
        user: usize,
    ) -> impl Future<Output = Result<Arc<PostItem>, CommandError>> + Send + 'static {
        let commands = self.blog.commands.clone();
        let input = UnlikePost { user_id: self.users[user], post_id: self.post_id };
        async move { commands.unlike_post(input, &Ledger::new()).await }
    }

    /// Has the first user's like held up in a batch of its own, so that later commands have to wait.
    async fn held_like(&self) -> Answer<PostLiked> {
        self.blog.store.next(Meddling::Nothing);
        let answer = self.clients.spawn(self.like(0));
        self.blog.store.until_held(1).await;
        answer
    }
}

#[tokio::test]
async fn what_waits_for_a_batch_goes_into_the_next_one() {
    let scene = Scene::new(51).await;
    let gate = scene.blog.store.hold().await;
    let first = scene.held_like().await;
    let mut answers = Vec::new();
    for user in 1..=50 {
        answers.push(scene.send(user - 1, scene.like(user)).await);
    }
    drop(gate);
    assert_eq!(first.await.unwrap().unwrap().post.like_count, 1);
    for answer in join_all(answers).await {
        assert_eq!(answer.unwrap().unwrap().post.like_count, 51);
    }
    assert_eq!(scene.blog.store.writes(), 2);
    assert_eq!(scene.blog.stored_post(scene.post_id).await.version, 3);
}

// Paused time moves only while nothing else runs: not before all likes wait.
#[tokio::test(start_paused = true)]
async fn commands_that_arrive_while_the_first_gathers_share_its_batch() {
    let limits = CommandLimits { gather: Duration::from_secs(3600), ..CommandLimits::default() };
    let scene = Scene::with(10, limits).await;
    let mut answers = Vec::new();
    for user in 0..10 {
        answers.push(scene.send(user, scene.like(user)).await);
    }
    let before = scene.blog.store.writes();
    for answer in join_all(answers).await {
        assert_eq!(answer.unwrap().unwrap().post.like_count, 10);
    }
    assert_eq!(scene.blog.store.writes() - before, 1);
}

#[tokio::test]
async fn a_batch_holds_at_most_99_commands() {
    let scene = Scene::new(1).await;
    let gate = scene.blog.store.hold().await;
    let first = scene.held_like().await;
    let mut answers = Vec::new();
    for number in 0..200 {
        answers.push(scene.send(number, comment(&scene, "Hello".to_owned())).await);
    }
    drop(gate);
    first.await.unwrap().unwrap();
    let counts: Vec<u32> =
        join_all(answers).await.into_iter().map(|answer| answer.unwrap().unwrap()).collect();
    assert_eq!((counts[0], counts[98], counts[99], counts[197], counts[198]), (99, 99, 198, 198, 200));
    assert_eq!(scene.blog.store.writes(), 4);
    scene.blog.assert_counts_are_exact(scene.post_id).await;
}

#[tokio::test]
async fn a_batch_of_long_comments_keeps_the_limit_of_bytes() {
    let scene = Scene::new(1).await;
    let gate = scene.blog.store.hold().await;
    let first = scene.held_like().await;
    let mut answers = Vec::new();
    for number in 0..99 {
        answers.push(scene.send(number, comment(&scene, "\u{1}".repeat(10_000))).await);
    }
    drop(gate);
    first.await.unwrap().unwrap();
    for answer in join_all(answers).await {
        answer.unwrap().unwrap();
    }
    assert!(scene.blog.store.writes() > 5);
    scene.blog.assert_counts_are_exact(scene.post_id).await;
}

fn comment(
    scene: &Scene,
    content: String,
) -> impl Future<Output = Result<u32, CommandError>> + Send + 'static {
    let commands: Commands = scene.blog.commands.clone();
    let (user_id, post_id) = (scene.users[0], scene.post_id);
    let input = CreateComment { user_id, post_id, content, idempotency_key: None };
    async move { Ok(commands.create_comment(input, &Ledger::new()).await?.post.comment_count) }
}

#[tokio::test]
async fn a_caller_that_hangs_up_takes_only_its_answer_with_it() {
    let scene = Scene::new(3).await;
    let gate = scene.blog.store.hold().await;
    let first = scene.held_like().await;
    let second = scene.send(0, scene.like(1)).await;
    let third = scene.send(1, scene.like(2)).await;
    first.abort();
    second.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    drop(gate);
    assert_eq!(third.await.unwrap().unwrap().post.like_count, 3);
    assert_eq!(scene.unlike(0).await.unwrap().like_count, 2);
    scene.blog.assert_counts_are_exact(scene.post_id).await;
}

#[tokio::test]
async fn commands_on_the_same_item_keep_their_order() {
    let scene = Scene::new(2).await;
    let gate = scene.blog.store.hold().await;
    let first = scene.held_like().await;
    let liked = scene.send(0, scene.like(1)).await;
    let again = scene.send(1, scene.like(1)).await;
    let unliked = scene.send(2, scene.unlike(1)).await;
    let liked_anew = scene.send(3, scene.like(1)).await;
    drop(gate);
    first.await.unwrap().unwrap();
    assert_eq!(liked.await.unwrap().unwrap().post.like_count, 2);
    assert_eq!(refusal(again.await.unwrap()).code, RefusalCode::Conflict);
    assert_eq!(unliked.await.unwrap().unwrap().like_count, 1);
    assert_eq!(liked_anew.await.unwrap().unwrap().post.like_count, 2);
    scene.blog.assert_counts_are_exact(scene.post_id).await;
}

#[tokio::test]
async fn nothing_follows_the_deletion_of_the_post() {
    let scene = Scene::new(3).await;
    let gate = scene.blog.store.hold().await;
    let first = scene.held_like().await;
    let before = scene.send(0, scene.like(1)).await;
    let commands = scene.blog.commands.clone();
    let delete = DeletePost { user_id: scene.users[0], post_id: scene.post_id };
    let deleted = scene.send(1, async move { commands.delete_post(delete, &Ledger::new()).await }).await;
    let after = scene.send(2, scene.like(2)).await;
    drop(gate);
    first.await.unwrap().unwrap();
    assert_eq!(before.await.unwrap().unwrap().post.like_count, 2);
    assert!(deleted.await.unwrap().unwrap().deleted);
    assert_eq!(refusal(after.await.unwrap()).code, RefusalCode::NotFound);
}

#[tokio::test]
async fn many_refused_commands_cost_the_others_one_more_batch() {
    let scene = Scene::new(21).await;
    for user in 1..=10 {
        scene.like(user).await.unwrap();
    }
    let gate = scene.blog.store.hold().await;
    let first = scene.held_like().await;
    let mut answers = Vec::new();
    for user in 1..=20 {
        answers.push(scene.send(user - 1, scene.like(user)).await);
    }
    let commands = scene.blog.commands.clone();
    let (user_id, post_id) = (scene.users[1], scene.post_id);
    let edit = UpdatePost {
        user_id,
        post_id,
        title: Some("Mine".to_owned()),
        content: None,
        tags: None,
        if_version: None,
    };
    let edited = scene.send(20, async move { commands.update_post(edit, &Ledger::new()).await }).await;
    drop(gate);
    first.await.unwrap().unwrap();
    assert_eq!(refusal(edited.await.unwrap()).code, RefusalCode::Forbidden);
    for (index, answer) in join_all(answers).await.into_iter().enumerate() {
        let answer = answer.unwrap();
        assert_eq!(answer.is_ok(), index >= 10);
    }
    assert_eq!(scene.blog.store.writes(), 3);
    scene.blog.assert_counts_are_exact(scene.post_id).await;
}

#[tokio::test]
async fn a_post_changed_by_another_process_is_read_again() {
    let scene = Scene::new(3).await;
    let other = scene.blog.another(CommandLimits::default());
    let gate = scene.blog.store.hold().await;
    let first = scene.held_like().await;
    let input = LikePost { user_id: scene.users[1], post_id: scene.post_id };
    let second = scene.clients.spawn(async move { other.like_post(input, &Ledger::new()).await });
    scene.blog.store.until_held(2).await;
    drop(gate);
    let counts = [first.await.unwrap().unwrap(), second.await.unwrap().unwrap()];
    assert_eq!(counts.iter().map(|liked| liked.post.like_count).max(), Some(2));
    assert_eq!(scene.blog.store.writes(), 3);
    scene.blog.assert_counts_are_exact(scene.post_id).await;
}

#[tokio::test]
async fn an_unavailable_store_fails_waiting_commands_only() {
    let scene = Scene::new(3).await;
    let gate = scene.blog.store.hold().await;
    let first = scene.held_like().await;
    let second = scene.send(0, scene.like(1)).await;
    scene.blog.store.next(Meddling::CrashBefore(0));
    drop(gate);
    for answer in [first, second] {
        assert!(matches!(answer.await.unwrap(), Err(CommandError::Fault(_))));
    }
    scene.blog.store.next(Meddling::Nothing);
    assert_eq!(scene.like(2).await.unwrap().post.like_count, 1);
}

#[tokio::test]
async fn a_full_queue_refuses_and_has_room_again_later() {
    let scene = Scene::with(4, CommandLimits { waiting_max: 2, ..CommandLimits::default() }).await;
    let gate = scene.blog.store.hold().await;
    let first = scene.held_like().await;
    let second = scene.send(0, scene.like(1)).await;
    let third = scene.send(1, scene.like(2)).await;
    let refused = refusal(scene.like(3).await);
    assert_eq!(refused.code, RefusalCode::LimitExceeded);
    assert_eq!(refused.message, "2 commands are waiting already, the most there may be");
    drop(gate);
    for answer in [first, second, third] {
        answer.await.unwrap().unwrap();
    }
    assert_eq!(scene.like(3).await.unwrap().post.like_count, 4);
}
