//! After a rename and a quiet moment nothing carries the old name.

use onehop::blog::containers::{ACCOUNTS, USERS};
use onehop::blog::items::{AccountItem, UserItem};
use onehop::store::{FaultKind, PartitionKey};

use crate::failing_store::Verdict;
use crate::world::{World, account, comment, like, post, user};

async fn stored_user(world: &World, user: &UserItem) -> UserItem {
    let item = world.read(USERS, &user.id.partition_key(), &user.id.to_string()).await;
    item.expect("the user is there").decode().expect("a user")
}

async fn stored_account(world: &World, name: &str) -> Option<AccountItem> {
    let item = world.read(ACCOUNTS, &PartitionKey::from(name), name).await;
    item.map(|item| item.decode().expect("an account"))
}

/// A blog in which ada has written, commented and liked a good deal.
async fn busy_blog(world: &World) -> UserItem {
    let ada = world.sign_up(1, "ada").await;
    let bob = world.sign_up(2, "bob").await;
    for number in 0..40 {
        let mut written = post(number, if number % 2 == 0 { &ada } else { &bob });
        written.comment_count = 3;
        written.like_count = 2;
        world.put_post(&written).await;
        for place in 0..3 {
            let author = if place == 0 { &bob } else { &ada };
            world.put_comment(&comment(number * 10 + place, &written, author)).await;
        }
        world.put_like(&like(&written, &ada)).await;
        world.put_like(&like(&written, &bob)).await;
    }
    ada
}

#[tokio::test]
async fn a_rename_reaches_posts_comments_likes_and_copies() {
    let world = World::new().await;
    let mut ada = busy_blog(&world).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    world.rename(&mut ada, "Grace").await;
    processor.drain().await.expect("drained");
    world.assert_clean(&processor).await;
    assert_eq!(world.post(post(0, &ada).id).await.user_username, "Grace");
    assert_eq!(
        world.user_copy(&post(0, &ada)).await.map(|copy| copy.user_username),
        Some("Grace".to_owned())
    );
}

#[tokio::test]
async fn what_was_written_with_the_old_name_after_the_rename_is_caught_up_with() {
    let world = World::new().await;
    let mut ada = busy_blog(&world).await;
    let as_read_by_a_command = ada.clone();
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    world.rename(&mut ada, "grace").await;
    processor.drain().await.expect("drained");
    // The command read the user before the rename and comes to write only now.
    let mut commented = world.post(post(1, &ada).id).await;
    commented.comment_count += 1;
    commented.version += 1;
    world.put_post(&commented).await;
    world.put_comment(&comment(999, &commented, &as_read_by_a_command)).await;
    processor.drain().await.expect("drained");
    world.assert_clean(&processor).await;
}

#[tokio::test]
async fn renames_in_quick_succession_end_with_the_last_name() {
    let world = World::new().await;
    let mut ada = busy_blog(&world).await;
    let processor = world.processor().await;
    for name in ["grace", "hedy", "radia", "ada"] {
        world.rename(&mut ada, name).await;
        processor.run_once().await.expect("a turn");
    }
    processor.drain().await.expect("drained");
    world.assert_clean(&processor).await;
}

#[tokio::test]
async fn a_rename_is_resumed_after_a_crash_at_any_write() {
    let world = World::new().await;
    let mut ada = busy_blog(&world).await;
    world.processor().await.drain().await.expect("drained");
    for (round, crash_at) in (0..80).step_by(7).enumerate() {
        let name = format!("name-{round}");
        world.rename(&mut ada, &name).await;
        let mut writes = 0;
        world.store.judge(move |_, _, _| {
            writes += 1;
            if writes > crash_at { Verdict::Fail(FaultKind::Internal) } else { Verdict::Pass }
        });
        let crashing = world.processor().await;
        let _ = crashing.drain().await;
        drop(crashing);
        world.store.mend();
        let processor = world.processor().await;
        processor.drain().await.expect("drained");
        processor.replay(None).await.expect("a replay");
        world.assert_clean(&processor).await;
    }
}

#[tokio::test]
async fn a_rename_that_was_only_announced_is_rolled_forward() {
    let world = World::new().await;
    let mut ada = busy_blog(&world).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    ada.pending_username = Some("Grace".to_owned());
    world.put_user(&ada).await;
    processor.drain().await.expect("drained");
    let renamed = stored_user(&world, &ada).await;
    assert_eq!((renamed.username.as_str(), renamed.pending_username, renamed.version), ("Grace", None, 2));
    let reservation = stored_account(&world, "grace").await.expect("the new name is reserved");
    assert_eq!((reservation.user_id, reservation.password_hash.as_deref()), (ada.id, Some("a hash")));
    assert_eq!(stored_account(&world, "ada").await, None, "the old name is free");
    world.assert_clean(&processor).await;
}

#[tokio::test]
async fn a_rename_that_crashed_after_its_reservation_keeps_the_password() {
    let world = World::new().await;
    let mut ada = world.sign_up(1, "ada").await;
    world.put_account(&account(ada.id, "grace")).await;
    ada.pending_username = Some("grace".to_owned());
    world.put_user(&ada).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    assert_eq!(stored_user(&world, &ada).await.username, "grace");
    let reservation = stored_account(&world, "grace").await.expect("reserved");
    assert_eq!(reservation.password_hash.as_deref(), Some("a hash"));
    world.assert_clean(&processor).await;
}

#[tokio::test]
async fn an_announced_name_that_another_user_has_is_withdrawn() {
    let world = World::new().await;
    let mut ada = world.sign_up(1, "ada").await;
    let grace = world.sign_up(2, "grace").await;
    ada.pending_username = Some("Grace".to_owned());
    world.put_user(&ada).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    let kept = stored_user(&world, &ada).await;
    assert_eq!((kept.username.as_str(), kept.pending_username), ("ada", None));
    assert_eq!(stored_account(&world, "grace").await.map(|account| account.user_id), Some(grace.id));
    world.assert_clean(&processor).await;
}

#[tokio::test]
async fn an_announced_name_whose_reservation_has_lapsed_is_taken_over() {
    let world = World::new().await;
    let mut ada = world.sign_up(1, "ada").await;
    let bob = world.sign_up(2, "bob").await;
    // Bob once claimed the name and never took it.
    world.put_account(&account(bob.id, "grace")).await;
    ada.pending_username = Some("grace".to_owned());
    world.put_user(&ada).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    assert_eq!(stored_user(&world, &ada).await.username, "grace");
    assert_eq!(stored_account(&world, "grace").await.map(|account| account.user_id), Some(ada.id));
    world.assert_clean(&processor).await;
}

#[tokio::test]
async fn a_name_held_by_a_sign_up_under_way_is_left_to_the_command() {
    let world = World::new().await;
    let mut ada = world.sign_up(1, "ada").await;
    world.put_account(&account(user(7, "grace").id, "grace")).await;
    ada.pending_username = Some("grace".to_owned());
    world.put_user(&ada).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    assert_eq!(stored_user(&world, &ada).await, ada);
}

#[tokio::test]
async fn a_former_name_that_was_taken_back_is_not_released() {
    let world = World::new().await;
    let mut ada = world.sign_up(1, "ada").await;
    world.put_account(&account(ada.id, "grace")).await;
    ada.username = "grace".to_owned();
    ada.version = 2;
    ada.former_username = Some("ada".to_owned());
    ada.pending_username = Some("ada".to_owned());
    world.put_user(&ada).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    assert_eq!(stored_user(&world, &ada).await.username, "ada");
    assert!(stored_account(&world, "ada").await.is_some());
    world.assert_clean(&processor).await;
}
