//! The feed holds the newest posts after any change of them, and old posts cost it nothing.

use onehop::blog::containers::{FEED, FEED_POSTS_MAX};
use onehop::blog::ids::PostId;
use onehop::blog::items::{PostCopyItem, PostItem, UserItem};
use onehop::blog::read_models::FEED_POSTS;
use onehop_change_feed::{Settings, Sharing};
use onehop_store::{FaultKind, OperationKind};

use crate::projections::world::{World, deleted, post};
use onehop_testing::failing_store::WriteFault;

/// The newest of these that are not deleted, newest first.
fn expected(posts: &[PostItem]) -> Vec<PostId> {
    let mut live: Vec<_> = posts.iter().filter(|post| !post.deleted).collect();
    live.sort_by(|left, right| right.creation_date.cmp(&left.creation_date));
    live.iter().take(FEED_POSTS_MAX).map(|post| post.id).collect()
}

async fn write_posts(world: &World, author: &UserItem, numbers: impl Iterator<Item = u128>) -> Vec<PostItem> {
    let mut posts = Vec::new();
    for number in numbers {
        let written = post(number, author);
        world.put_post(&written).await;
        posts.push(written);
    }
    posts
}

#[tokio::test]
async fn the_feed_is_truncated_to_the_newest_hundred() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    // In an order that is neither the oldest nor the newest first.
    let posts = write_posts(&world, &ada, (0..353).map(|number| number * 137 % 353)).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    assert_eq!(world.feed().await, expected(&posts));
    world.assert_clean(&processor).await;
}

#[tokio::test]
async fn new_posts_push_the_oldest_out_one_by_one() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let processor = world.processor().await;
    let mut posts = Vec::new();
    for number in 0..115 {
        posts.extend(write_posts(&world, &ada, std::iter::once(number)).await);
        processor.drain().await.expect("drained");
        assert_eq!(world.feed().await, expected(&posts));
    }
}

#[tokio::test]
async fn deleted_posts_leave_the_feed_and_older_ones_come_back() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let mut posts = write_posts(&world, &ada, 0..130).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    // The oldest in the feed, the newest, and many at once.
    for numbers in [30..31, 129..130, 50..90] {
        for number in numbers {
            let post = &mut posts[number];
            *post = deleted(post);
            world.put_post(post).await;
        }
        processor.drain().await.expect("drained");
        assert_eq!(world.feed().await, expected(&posts));
    }
    world.assert_clean(&processor).await;
}

#[tokio::test]
async fn a_late_change_of_a_deleted_post_does_not_bring_it_back() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let written = post(1, &ada);
    world.put_post(&written).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    world.put_post(&deleted(&written)).await;
    processor.drain().await.expect("drained");
    // The version before comes once more, as from a reader that was left behind.
    world.put_post(&written).await;
    processor.drain().await.expect("drained");
    assert!(world.feed().await.is_empty());
    assert!(world.feed_copy(written.id).await.is_some_and(|copy| copy.deleted));
}

#[tokio::test]
async fn an_edit_reaches_the_feed() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let mut posts = write_posts(&world, &ada, 0..120).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    let edited = &mut posts[110];
    edited.version += 1;
    edited.like_count = 3;
    world.put_post(edited).await;
    processor.drain().await.expect("drained");
    assert_eq!(world.feed_copy(edited.id).await, Some(PostCopyItem::of(edited)));
}

#[tokio::test]
async fn a_change_of_an_old_post_costs_the_feed_not_one_operation() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let mut posts = write_posts(&world, &ada, 0..150).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    let on_feed = |world: &World| {
        world.store.operations().iter().filter(|operation| operation.container == FEED).count()
    };
    let before = on_feed(&world);
    for post in &mut posts[..50] {
        post.version += 1;
        post.like_count += 1;
        world.put_post(post).await;
    }
    processor.drain().await.expect("drained");
    assert_eq!(on_feed(&world) - before, 0);
    let status = processor.status().await.expect("a status");
    let feed = status.iter().find(|status| status.projection == FEED_POSTS).expect("the feed");
    assert!(feed.changes >= 200, "the changes were looked at: {}", feed.changes);
}

#[tokio::test]
async fn new_posts_of_one_page_enter_a_full_feed_by_one_batch_each_and_nothing_else() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    write_posts(&world, &ada, 0..120).await;
    // A change whose batch is refused would be parked.
    let settings =
        Settings { stale_attempts_max: 0, sharing: Sharing::Alone, ..Settings::new("test").without_delays() };
    let processor = world.processor_with(settings).await;
    processor.drain().await.expect("drained");
    // The first addition lists the feed.
    write_posts(&world, &ada, 120..121).await;
    processor.drain().await.expect("drained");
    let before = world.store.operations().len();
    let posts = write_posts(&world, &ada, 121..141).await;
    processor.drain().await.expect("drained");
    let operations = world.store.operations();
    let on_feed: Vec<_> = operations[before..]
        .iter()
        .filter(|operation| operation.container == FEED)
        .map(|operation| operation.kind)
        .collect();
    assert_eq!(on_feed, [OperationKind::Batch; 20]);
    let newest: Vec<_> = posts.iter().rev().map(|post| post.id).collect();
    assert_eq!(world.feed().await[..20], newest);
    world.assert_clean(&processor).await;
}

#[tokio::test]
async fn a_crash_between_feed_writes_is_repaired_at_the_next_start() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let mut posts = write_posts(&world, &ada, 0..160).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    for crash_at in 1..12 {
        for number in [60 + crash_at, 120 + crash_at] {
            posts[number] = deleted(&posts[number]);
            world.put_post(&posts[number]).await;
        }
        let newer = u128::try_from(crash_at).expect("a small number") + 500;
        posts.extend(write_posts(&world, &ada, std::iter::once(newer)).await);
        let mut writes = 0;
        world.store.judge(move |_, _, _| {
            writes += 1;
            if writes > crash_at { WriteFault::Fail(FaultKind::Internal) } else { WriteFault::Pass }
        });
        let crashing = world.processor().await;
        let _ = crashing.drain().await;
        drop(crashing);
        world.store.mend();
        let processor = world.processor().await;
        processor.drain().await.expect("drained");
        processor.replay(None).await.expect("a replay");
        assert_eq!(world.feed().await, expected(&posts), "after a crash at write {crash_at}");
    }
}
