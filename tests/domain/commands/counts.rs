//! Counts are exact under concurrent likes, unlikes, comments, deletions and edits of the same post.

use onehop::blog::commands::{
    CommandError, CommandLimits, Commands, CreateComment, DeleteComment, LikePost, UnlikePost, UpdatePost,
};
use onehop::blog::ids::{CommentId, PostId};
use onehop::blog::items::UserItem;
use onehop_store::Ledger;

use super::harness::Blog;

const TASKS: usize = 8;
const COMMANDS_PER_TASK: usize = 60;

/// A stream of numbers that differs from task to task and is the same in every run.
fn number(task: usize, step: usize) -> usize {
    let mixed = (task as u64 * 1_000_003 + step as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    usize::try_from(mixed >> 40).unwrap()
}

/// Refusals are part of the game, faults are not.
fn done<T>(result: Result<T, CommandError>) -> Option<T> {
    match result {
        Ok(done) => Some(done),
        Err(CommandError::Rejected(_)) => None,
        Err(CommandError::Fault(fault)) => panic!("a fault: {fault}"),
    }
}

/// A mix of commands; returns the charge of all of them.
async fn play(commands: Commands, author: UserItem, user: UserItem, post_id: PostId, task: usize) -> f64 {
    let mut comments: Vec<CommentId> = Vec::new();
    let ledger = Ledger::new();
    let user_id = user.id;
    for step in 0..COMMANDS_PER_TASK {
        match number(task, step) % 6 {
            0 | 1 => {
                let content = format!("comment {step}");
                let input = CreateComment { user_id, post_id, content, idempotency_key: None };
                let created = done(commands.create_comment(input, &ledger).await).unwrap();
                assert!(created.post.comment_count > 0);
                comments.push(created.comment.id);
            }
            2 => {
                if let Some(comment_id) = comments.pop() {
                    let input = DeleteComment { user_id, post_id, comment_id };
                    done(commands.delete_comment(input, &ledger).await).unwrap();
                }
            }
            3 => drop(done(commands.like_post(LikePost { user_id, post_id }, &ledger).await)),
            4 => drop(done(commands.unlike_post(UnlikePost { user_id, post_id }, &ledger).await)),
            _ => {
                let title = Some(format!("title {task} {step}"));
                let input = UpdatePost {
                    user_id: author.id,
                    post_id,
                    title,
                    content: None,
                    tags: None,
                    if_version: None,
                };
                done(commands.update_post(input, &ledger).await).unwrap();
            }
        }
    }
    ledger.total().0
}

async fn run(limits: CommandLimits, processes: usize) {
    let blog = Blog::with(limits).await;
    let author = blog.user("author").await;
    let post_id = blog.post(&author).await.id;
    let mut users = Vec::new();
    for index in 0..TASKS / 2 {
        users.push(blog.user(&format!("user{index}")).await);
    }
    let others: Vec<Commands> = (1..processes).map(|_| blog.another(limits)).collect();
    let before = blog.store.spent().0;
    let tasks = (0..TASKS).map(|task| {
        // Two tasks act for each user, so that they get into each other's way.
        let user = users[task / 2].clone();
        let commands = match task % processes {
            0 => blog.commands.clone(),
            other => others[other - 1].clone(),
        };
        (commands, user, task)
    });
    let mut set = tokio::task::JoinSet::new();
    for (commands, user, task) in tasks {
        set.spawn(play(commands, author.clone(), user, post_id, task));
    }
    let charged: f64 = set.join_all().await.into_iter().sum();
    let spent = blog.store.spent().0 - before;
    blog.assert_counts_are_exact(post_id).await;
    assert!((charged - spent).abs() < 1e-6 * spent, "charged {charged}, spent {spent}");
    assert_eq!(blog.commands.waiting(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_are_exact_when_commands_are_combined() {
    run(CommandLimits::default(), 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_are_exact_when_every_command_sends_its_own_batch() {
    run(CommandLimits { combine: false, batch_attempts_max: 1000, ..CommandLimits::default() }, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_are_exact_when_processes_share_a_post() {
    run(CommandLimits { batch_attempts_max: 200, ..CommandLimits::default() }, 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_concurrent_likes_and_unlikes_one_each_succeeds() {
    let blog = Blog::new().await;
    let ada = blog.user("ada").await;
    let post_id = blog.post(&ada).await.id;
    let ledger = Ledger::new();
    for _ in 0..20 {
        let like = || blog.commands.like_post(LikePost { user_id: ada.id, post_id }, &ledger);
        let liked = futures::future::join_all((0..8).map(|_| like())).await;
        assert_eq!(liked.iter().filter(|result| result.is_ok()).count(), 1);
        let unlike = || blog.commands.unlike_post(UnlikePost { user_id: ada.id, post_id }, &ledger);
        let unliked = futures::future::join_all((0..8).map(|_| unlike())).await;
        assert_eq!(unliked.iter().filter(|result| result.is_ok()).count(), 1);
        blog.assert_counts_are_exact(post_id).await;
    }
}
