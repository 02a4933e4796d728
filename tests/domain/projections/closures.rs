//! Closed accounts: a removal leaves no item and no name of a deleted account, also after a crash at any
//! write, and verification finds a late item.

use std::sync::Arc;

use onehop::blog::containers::{ACCOUNTS, FEED, POSTS, POSTS_BY_TAG, USERS};
use onehop::blog::items::{DeletedUserItem, PostItem, UserItem, types};
use onehop::blog::verify::verifier;
use onehop_change_feed::Processor;
use onehop_read_models::verify::{Drift, for_each_change};
use onehop_store::FaultKind;
use onehop_testing::failing_store::WriteFault;

use crate::projections::world::{World, comment, keys, like, post};

/// A name that is part of no other text.
const NAME: &str = "kestrel";

/// A blog in which kestrel and bob have written, commented and liked.
async fn busy_blog(world: &World) -> UserItem {
    let kestrel = world.sign_up(1, NAME).await;
    let bob = world.sign_up(2, "bob").await;
    for number in 0..8 {
        let author = if number % 2 == 0 { &kestrel } else { &bob };
        let tags = vec!["rust".to_owned()];
        let written = PostItem { tags, comment_count: 3, like_count: 2, ..post(number, author) };
        world.put_post(&written).await;
        for place in 0..3 {
            let author = if place == 0 { &bob } else { &kestrel };
            world.put_comment(&comment(number * 10 + place, &written, author)).await;
        }
        world.put_like(&like(&written, &kestrel)).await;
        world.put_like(&like(&written, &bob)).await;
    }
    kestrel
}

/// Writes the rest of the user, as the command does.
async fn delete(world: &World, user: &UserItem) {
    let rest = DeletedUserItem {
        id: user.id,
        item_type: types::DELETED_USER.to_owned(),
        user_id: user.id,
        version: user.version + 1,
        keys: keys(&user.username),
        removed: false,
        ttl: None,
    };
    world.put(USERS, user.id.partition_key(), user.id.to_string(), &rest).await;
}

/// The items of all containers that have the name in them.
async fn traces_of_the_name(world: &World) -> Vec<String> {
    let mut found = Vec::new();
    for container in [USERS, POSTS, FEED, POSTS_BY_TAG, ACCOUNTS] {
        let scan = for_each_change(&*world.store, container, |change| {
            let body = String::from_utf8_lossy(&change.item.body);
            if body.contains(NAME) {
                found.push(format!("{container}: {body}"));
            }
            Ok(())
        });
        scan.await.expect("a scan");
    }
    found
}

async fn assert_removed(world: &World, processor: &Processor, user: &UserItem) {
    world.assert_clean(processor).await;
    let traces = traces_of_the_name(world).await;
    assert!(traces.is_empty(), "{traces:#?}");
    let rest = world.read(USERS, &user.id.partition_key(), &user.id.to_string()).await;
    let rest: DeletedUserItem = rest.expect("the rest is there").decode().expect("a rest");
    assert!(rest.removed && rest.keys.is_empty() && rest.ttl.is_some(), "{rest:?}");
    for number in [1, 3, 5, 7] {
        let kept = world.post(post(number, user).id).await;
        assert_eq!((kept.comment_count, kept.like_count), (1, 1), "post {number}");
        assert_eq!(kept.tags, ["rust"], "post {number}");
        let counted = (world.count(kept.id, types::COMMENT).await, world.count(kept.id, types::LIKE).await);
        assert_eq!(counted, (1, 1), "post {number}");
    }
}

#[tokio::test]
async fn nothing_of_a_deleted_account_is_left() {
    let world = World::new().await;
    let kestrel = busy_blog(&world).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    delete(&world, &kestrel).await;
    processor.drain().await.expect("drained");
    assert_removed(&world, &processor, &kestrel).await;
    assert_eq!(world.feed().await.len(), 4);
}

#[tokio::test]
async fn a_removal_that_dies_at_any_write_is_finished() {
    for failing in 0..16 {
        let world = World::new().await;
        let kestrel = busy_blog(&world).await;
        world.processor().await.drain().await.expect("drained");
        delete(&world, &kestrel).await;
        let mut written = 0;
        // Like a death: nothing is written after it, no lease and no dead letter either.
        world.store.judge(move |container, _, _| {
            written += usize::from([POSTS, ACCOUNTS, USERS].contains(&container));
            if written > failing { WriteFault::Fail(FaultKind::Internal) } else { WriteFault::Pass }
        });
        let dying = world.processor().await;
        let _ = dying.drain().await;
        drop(dying);
        world.store.mend();
        let processor = world.processor().await;
        processor.drain().await.expect("drained");
        assert_removed(&world, &processor, &kestrel).await;
    }
}

#[tokio::test]
async fn a_late_comment_of_a_deleted_account_is_found_and_removed() {
    let world = World::new().await;
    let kestrel = busy_blog(&world).await;
    let processor = world.processor().await;
    delete(&world, &kestrel).await;
    processor.drain().await.expect("drained");
    // Another process took the command just before it learned of the deletion.
    let mut commented = world.post(post(1, &kestrel).id).await;
    commented.comment_count += 1;
    commented.version += 1;
    world.put_post(&commented).await;
    world.put_comment(&comment(999, &commented, &kestrel)).await;
    let verifier = verifier(world.store.clone(), Arc::new(processor.clone()));
    let report = verifier.verify(|_| {}).await.expect("a verification");
    let found = |drift: &Drift| format!("{drift:?}").contains("a comment of the deleted account is left");
    assert!(report.drifts.iter().any(found), "{:#?}", report.drifts);
    verifier.repair(|_| {}).await.expect("a repair");
    processor.drain().await.expect("drained");
    assert_removed(&world, &processor, &kestrel).await;
}
