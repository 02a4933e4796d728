//! The readers at work while commands, deletions and rebuilds run.

use std::convert::Infallible;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use onehop::accounts::password::{HashingCost, HashingLimits, PasswordHasher};
use onehop::blog::commands::{
    CommandLimits, CommandParts, Commands, CreateComment, DeletePost, LikePost, UpdateUser,
};
use onehop::blog::containers::USERS;
use onehop::blog::ids::{PostId, RandomIds};
use onehop::blog::items::UserItem;
use onehop::blog::read_models::{FEED_POSTS, USER_POSTS};
use onehop_change_feed::{Processor, Settings};
use onehop_runtime::tasks::Tasks;
use onehop_store::{Ledger, SignalScope, Store as _};

use crate::projections::world::{World, post};

/// Follows every feed range in a task.
fn run(processor: &Processor) -> Tasks {
    let tasks = Tasks::new();
    let (processor, readers) = (processor.clone(), tasks.clone());
    tasks.spawn("change feed", async move {
        let spawn = |name, reader: BoxFuture<'static, ()>| {
            readers.spawn(name, reader.map(Ok::<(), Infallible>));
        };
        processor.run(spawn).await;
        Ok::<(), Infallible>(())
    });
    tasks
}

fn commands(world: &World, tasks: &Tasks) -> Commands {
    Commands::new(CommandParts {
        store: world.store.clone(),
        latest: world.store.clone(),
        clock: world.clock.clone(),
        ids: Arc::new(RandomIds),
        passwords: PasswordHasher::new(HashingCost::CHEAP, HashingLimits::default()).expect("a hasher"),
        tasks: tasks.clone(),
        limits: CommandLimits::default(),
    })
}

async fn write_posts(world: &World, author: &UserItem, count: u128) -> Vec<PostId> {
    let mut ids = Vec::new();
    for number in 0..count {
        let written = post(number, author);
        world.put_post(&written).await;
        ids.push(written.id);
    }
    ids
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_wakes_the_readers_without_a_poll() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let processor = world.processor_with(Settings::new("test")).await;
    let _tasks = run(&processor);
    processor.drain().await.expect("drained");
    let mut signal =
        world.store.change_signal(&SignalScope::of(USERS)).expect("the embedded store has a signal");
    let written = post(1, &ada);
    world.put_post(&written).await;
    while world.user_copy(&written).await.is_none() {
        signal.changed().await.expect("the store is open");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn items_written_during_a_rename_get_the_new_name() {
    let world = World::new().await;
    let users =
        [world.sign_up(1, "ada").await, world.sign_up(2, "bob").await, world.sign_up(3, "cleo").await];
    let posts = write_posts(&world, &users[0], 12).await;
    let processor = world.processor_with(Settings::new("test")).await;
    let tasks = run(&processor);
    let commands = commands(&world, &tasks);
    let rename = |user: &UserItem, round: usize| {
        let (commands, user_id) = (commands.clone(), user.id);
        async move {
            let username = format!("name-{round}-{}", user_id.0.as_u128() % 10);
            let renamed = commands.update_user(UpdateUser { user_id, username }, &Ledger::new()).await;
            renamed.expect("a rename");
        }
    };
    let react = |user: &UserItem, round: usize| {
        let (commands, user_id, posts) = (commands.clone(), user.id, posts.clone());
        async move {
            for (place, post_id) in posts.into_iter().enumerate() {
                let content = format!("Comment {round}");
                let comment = CreateComment { user_id, post_id, content, idempotency_key: None };
                commands.create_comment(comment, &Ledger::new()).await.expect("a comment");
                if place % 8 == round {
                    commands.like_post(LikePost { user_id, post_id }, &Ledger::new()).await.expect("a like");
                }
            }
        }
    };
    for round in 0..6 {
        let renames = join_all(users.iter().map(|user| rename(user, round)));
        let reactions = join_all(users.iter().map(|user| react(user, round)));
        tokio::join!(renames, reactions);
    }
    processor.drain().await.expect("drained");
    world.assert_clean(&processor).await;
    let status = processor.status().await.expect("a status");
    assert!(status.iter().all(|status| status.dead_letters == 0), "{status:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writes_and_rebuilds_leave_the_newest_hundred() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let posts = write_posts(&world, &ada, 160).await;
    let processor = world.processor_with(Settings::new("test")).await;
    let tasks = run(&processor);
    let commands = commands(&world, &tasks);
    let deletions = async {
        for chunk in posts[20..150].chunks(5) {
            let delete = |post_id: &PostId| {
                let (commands, user_id, post_id) = (commands.clone(), ada.id, *post_id);
                async move {
                    let deleted = commands.delete_post(DeletePost { user_id, post_id }, &Ledger::new()).await;
                    deleted.expect("a deletion");
                }
            };
            join_all(chunk.iter().map(delete)).await;
        }
    };
    let creations = async {
        for number in 200..260 {
            world.put_post(&post(number, &ada)).await;
        }
    };
    let rebuilds = async {
        for _ in 0..5 {
            processor.rebuild(FEED_POSTS, &|_| {}).await.expect("a rebuild");
            processor.rebuild(USER_POSTS, &|_| {}).await.expect("a rebuild");
        }
    };
    tokio::join!(deletions, creations, rebuilds);
    processor.drain().await.expect("drained");
    world.assert_clean(&processor).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_finishes_the_page_and_releases_the_leases() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let stop = tokio_util::sync::CancellationToken::new();
    let processor = world.processor_until(Settings::new("test"), stop.clone()).await;
    write_posts(&world, &ada, 50).await;
    let tasks = run(&processor);
    processor.drain().await.expect("drained");
    stop.cancel();
    tasks.stop();
    let (_no_signals, signals) = tokio::sync::mpsc::channel(1);
    tasks.run_until(signals, std::time::Duration::from_secs(60)).await.expect("an orderly stop");
    assert!(crate::projections::leases::leases(&world).await.iter().all(|lease| lease.owner.is_none()));
    let next = world.processor().await;
    assert_eq!(next.run_once().await.expect("a turn"), 0, "nothing is read twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_that_fill_the_feed_concurrently_do_not_conflict() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    write_posts(&world, &ada, 160).await;
    // A change is parked at its first stale read.
    let settings =
        Settings { stale_attempts_max: 0, page_items_max: 3, ..Settings::new("test").without_delays() };
    let processor = world.processor_with(settings).await;
    processor.drain().await.expect("drained");
    let statuses = processor.status().await.expect("a status");
    assert!(statuses.iter().all(|status| status.dead_letters == 0), "{statuses:#?}");
    world.assert_clean(&processor).await;
    assert_eq!(world.feed().await.len(), 100);
}
