//! After a rename and a quiet moment nothing carries the old name.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use onehop::blog::containers::{ACCOUNTS, POSTS, USERS};
use onehop::blog::items::{AccountItem, PostItem, UserItem};
use onehop_store::{Batch, FaultKind, Ledger, NewItem, PartitionKey, Store, WriteOp};

use crate::projections::world::{World, account, comment, like, post, user};
use onehop_testing::failing_store::WriteFault;

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
async fn late_writes_with_the_old_name_are_caught_up() {
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
            if writes > crash_at { WriteFault::Fail(FaultKind::Internal) } else { WriteFault::Pass }
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
async fn a_rename_to_a_name_of_several_keys_reserves_and_releases_all() {
    let world = World::new().await;
    let mut ada = world.sign_up(1, "arne").await;
    let processor = world.processor().await;
    ada.pending_username = Some("Verne".to_owned());
    world.put_user(&ada).await;
    processor.drain().await.expect("drained");
    let renamed = stored_user(&world, &ada).await;
    assert_eq!((renamed.username.as_str(), &renamed.former_keys[..]), ("Verne", &["ame".to_owned()][..]));
    let guard = stored_account(&world, "veme").await.expect("reserved against names that look like it");
    assert_eq!((guard.user_id, guard.password_hash), (ada.id, None));
    for left in ["arne", "ame"] {
        assert_eq!(stored_account(&world, left).await, None, "{left}");
    }
    world.assert_clean(&processor).await;
}

#[tokio::test]
async fn an_announced_name_that_looks_like_another_is_withdrawn() {
    let world = World::new().await;
    let mut ada = world.sign_up(1, "ada").await;
    let lena = world.sign_up(2, "lena").await;
    ada.pending_username = Some("Iena".to_owned());
    world.put_user(&ada).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    let kept = stored_user(&world, &ada).await;
    assert_eq!((kept.username.as_str(), kept.pending_username), ("ada", None));
    assert_eq!(stored_account(&world, "lena").await.map(|account| account.user_id), Some(lena.id));
    world.assert_clean(&processor).await;
}

#[tokio::test]
async fn a_rename_crashed_after_reservation_keeps_the_password() {
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

/// Likes a post as the command does, in one batch with its count.
async fn commit_like(store: Arc<dyn Store>, id: onehop::blog::ids::PostId, number: u128) {
    let (key, ledger) = (id.partition_key(), Ledger::new());
    let item = store.read(POSTS, &key, &id.to_string(), &ledger).await.expect("a read").expect("a post");
    let mut liked: PostItem = item.decode().expect("a post");
    let like = like(&liked, &user(100, "grace"));
    let like = onehop::blog::items::LikeItem {
        id: onehop::blog::ids::LikeId(uuid::Uuid::from_u128(number)),
        ..like
    };
    liked.like_count += 1;
    liked.version += 1;
    let if_match = Some(item.etag);
    let operations = vec![
        WriteOp::Create(NewItem::encode(like.id.to_string(), &like)),
        WriteOp::Replace { item: NewItem::encode(id.to_string(), &liked), if_match },
    ];
    store.batch(Batch { container: POSTS, partition_key: key, operations }, &ledger).await.expect("a like");
}

/// Has a like committed before each of the next replaces of a post; returns the number of likes.
fn like_before_replaces(world: &World, post: &PostItem, times: usize) -> Arc<AtomicUsize> {
    let (store, id) = (world.store.unfailing(), post.id);
    let (likes, counted) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let counter = Arc::clone(&counted);
    world.store.contend(move |container, _, operations| {
        let replaces = |operation: &WriteOp| {
            matches!(operation, WriteOp::Replace { .. }) && operation.id() == id.to_string()
        };
        if container != POSTS || !operations.iter().any(replaces) {
            return None;
        }
        counter.fetch_add(1, Ordering::SeqCst);
        let number = likes.fetch_add(1, Ordering::SeqCst);
        (number < times).then(|| commit_like(Arc::clone(&store), id, number as u128).boxed())
    });
    counted
}

#[tokio::test]
async fn a_rename_of_the_author_of_a_hot_post_is_contention() {
    let world = World::new().await;
    let mut ada = world.sign_up(1, "ada").await;
    world.sign_up(100, "grace").await;
    let (hot, quiet) = (post(1, &ada), post(2, &ada));
    world.put_post(&hot).await;
    world.put_post(&quiet).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    let replaces = like_before_replaces(&world, &hot, 65);
    world.rename(&mut ada, "Hedy").await;
    processor.drain().await.expect("drained");
    assert!(replaces.load(Ordering::SeqCst) > 65, "{replaces:?}");
    for status in processor.status().await.expect("a status") {
        assert_eq!((status.dead_letters, status.pending_changes), (0, 0), "{status:?}");
    }
    assert_eq!(world.post(hot.id).await.like_count, 65);
    assert_eq!(world.post(hot.id).await.user_username, "Hedy");
    world.assert_clean(&processor).await;
}

#[tokio::test]
async fn a_hot_post_holds_up_no_rename_of_others() {
    let world = World::new().await;
    let mut ada = world.sign_up(1, "ada").await;
    let mut bob = world.sign_up(2, "bob").await;
    world.sign_up(100, "grace").await;
    let (hot, quiet) = (post(1, &ada), post(2, &bob));
    world.put_post(&hot).await;
    world.put_post(&quiet).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    let replaces = like_before_replaces(&world, &hot, usize::MAX);
    world.rename(&mut ada, "Hedy").await;
    world.rename(&mut bob, "Radia").await;
    for _ in 0..4 {
        processor.run_once().await.expect("a turn");
    }
    assert!(replaces.load(Ordering::SeqCst) > 0);
    assert_eq!(world.post(hot.id).await.user_username, "ada");
    assert_eq!(world.post(quiet.id).await.user_username, "Radia");
    for status in processor.status().await.expect("a status") {
        assert_eq!(status.dead_letters, 0, "{status:?}");
    }
}
