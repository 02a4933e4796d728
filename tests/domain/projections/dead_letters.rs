//! Changes that cannot be projected: parked with their error, later ones behind them, the rest flows on.

use futures::FutureExt;
use onehop::blog::containers::{POSTS, USERS};
use onehop::blog::items::{PostCopyItem, PostItem, types};
use onehop::blog::read_models::{DELETIONS, FEED_POSTS, USER_POSTS};
use onehop_change_feed::{DeadLetterCause, DeadLetterSummary, Processor};
use onehop_store::{FaultKind, Ledger, NewItem, Store, WriteOp};
use serde_json::json;

use crate::projections::world::{World, comment, deleted, like, post};
use onehop_testing::failing_store::WriteFault;

async fn dead_letters(processor: &Processor, projection: &str) -> u64 {
    let status = processor.status().await.expect("a status");
    status.iter().find(|status| status.projection == projection).expect("the projection").dead_letters
}

/// Something under a post's id that is no post.
async fn put_poison(world: &World, post: &PostItem) {
    let poison = json!({"id": post.id, "postId": post.id, "type": "post", "creationDate": 1});
    world.put(POSTS, post.id.partition_key(), post.id.to_string(), &poison).await;
}

#[tokio::test]
async fn a_poisoned_change_is_parked_and_the_rest_flows_on() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let (poisoned, healthy) = (post(1, &ada), post(2, &ada));
    put_poison(&world, &poisoned).await;
    world.put_post(&healthy).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    assert_eq!(dead_letters(&processor, USER_POSTS).await, 1);
    assert!(world.user_copy(&healthy).await.is_some());
}

#[tokio::test]
async fn changes_behind_a_parked_one_wait_until_the_replay() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let mut written = post(1, &ada);
    put_poison(&world, &written).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    world.put_post(&written).await;
    processor.drain().await.expect("drained");
    assert_eq!(world.user_copy(&written).await, None, "the mended post waits behind the poison");
    drop(processor);

    let processor = world.processor().await;
    written.version = 2;
    world.put_post(&written).await;
    processor.drain().await.expect("drained");
    assert_eq!(world.user_copy(&written).await, None, "also after a restart");

    let report = processor.replay(Some(USER_POSTS)).await.expect("a replay");
    assert_eq!((report.items_replayed, report.partitions_parked), (1, 0));
    assert_eq!(world.user_copy(&written).await, Some(PostCopyItem::of(&written)));
    assert_eq!(dead_letters(&processor, USER_POSTS).await, 0);

    written.version = 3;
    world.put_post(&written).await;
    processor.drain().await.expect("drained");
    assert_eq!(world.user_copy(&written).await, Some(PostCopyItem::of(&written)), "it flows again");
    processor.replay(None).await.expect("a replay of all");
    world.assert_clean(&processor).await;
}

#[tokio::test]
async fn a_replay_of_what_is_still_poisoned_keeps_it_parked() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    put_poison(&world, &post(1, &ada)).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    let report = processor.replay(Some(USER_POSTS)).await.expect("a replay");
    assert_eq!((report.items_replayed, report.partitions_parked), (0, 1));
}

#[tokio::test]
async fn a_rebuild_brings_back_what_was_parked() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let written = post(1, &ada);
    put_poison(&world, &written).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    world.put_post(&written).await;
    processor.rebuild(USER_POSTS, &|_| {}).await.expect("a rebuild");
    assert_eq!(world.user_copy(&written).await, Some(PostCopyItem::of(&written)));
    assert_eq!(dead_letters(&processor, USER_POSTS).await, 0);
}

#[tokio::test]
async fn changes_of_a_parked_partition_are_kept_in_order() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let written = post(1, &ada);
    put_poison(&world, &written).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    let mut renamed = ada.clone();
    for number in 0..5 {
        world.put_comment(&comment(number, &written, &renamed)).await;
    }
    world.rename(&mut renamed, "grace").await;
    processor.drain().await.expect("drained");
    world.put_post(&written).await;
    processor.drain().await.expect("drained");
    processor.replay(None).await.expect("a replay");
    processor.drain().await.expect("drained");
    assert_eq!(world.post(written.id).await.user_username, "grace");
}

#[tokio::test]
async fn transient_faults_are_tried_again_and_park_nothing() {
    for verdict in
        [WriteFault::Fail(FaultKind::Throttled), WriteFault::Fail(FaultKind::Unavailable), WriteFault::Lose]
    {
        let world = World::new().await;
        let ada = world.sign_up(1, "ada").await;
        for number in 0..120 {
            world.put_post(&post(number, &ada)).await;
        }
        let mut writes = 0;
        world.store.judge(move |_, _, _| {
            writes += 1;
            if writes % 3 == 0 { verdict } else { WriteFault::Pass }
        });
        let processor = world.processor().await;
        // A failure that cannot be tried again within a page (acquiring a lease) fails the page, and the next
        // try goes on.
        while processor.drain().await.is_err() {}
        world.store.mend();
        assert_eq!(dead_letters(&processor, USER_POSTS).await, 0);
        world.assert_clean(&processor).await;
    }
}

#[tokio::test]
async fn a_change_for_a_full_partition_is_parked_alone() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let (unlucky, lucky) = (post(1, &ada), post(2, &ada));
    world.put_post(&unlucky).await;
    world.put_post(&lucky).await;
    let id = unlucky.id.to_string();
    world.store.judge(move |container, _, operations| {
        let touches = operations.iter().any(|operation| operation.id() == id);
        if container == USERS && touches {
            WriteFault::Fail(FaultKind::PartitionFull)
        } else {
            WriteFault::Pass
        }
    });
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    assert_eq!(dead_letters(&processor, USER_POSTS).await, 1);
    let letter = processor.dead_letters().await.expect("a list").dead_letters.remove(0);
    assert_eq!(letter.cause, Some(DeadLetterCause::PartitionFull));
    assert!(world.user_copy(&lucky).await.is_some());
    world.store.mend();
    processor.replay(None).await.expect("a replay");
    world.assert_clean(&processor).await;
}

#[tokio::test]
async fn dead_letters_state_the_error_and_no_content() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let written = post(1, &ada);
    let poison = json!({
        "id": written.id, "postId": written.id, "type": "post", "creationDate": "2027", "title": ["hidden"],
        "version": "hidden",
    });
    world.put(POSTS, written.id.partition_key(), written.id.to_string(), &poison).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    world.put_comment(&comment(1, &written, &ada)).await;
    processor.drain().await.expect("drained");

    let list = processor.dead_letters().await.expect("a list");
    assert_eq!(list.unlisted, 0);
    let letter = list.dead_letters.iter().find(|letter| letter.projection == USER_POSTS).expect("a letter");
    assert_eq!((letter.container.as_str(), &letter.partition_key), ("posts", &written.id.partition_key()));
    assert_eq!((letter.items, letter.attempts > 0), (1, true));
    assert!(letter.error.as_ref().is_some_and(|error| error.contains("`userId`")), "{letter:?}");
    assert!(letter.since.starts_with("20"), "{letter:?}");
    assert!(!format!("{list:?}").contains("hidden"), "{list:?}");

    let shown = processor.dead_letter(&letter.id).await.expect("the letter");
    let waits: Vec<&str> = shown.items.iter().map(|item| item.id.as_str()).collect();
    assert_eq!(waits, [written.id.to_string()]);
    let error = processor.dead_letter("nothing").await.expect_err("no such letter").to_string();
    assert_eq!(error, "there is no dead letter \"nothing\"");
}

#[tokio::test]
async fn a_replay_of_one_dead_letter_leaves_the_others_parked() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let (first, second) = (post(1, &ada), post(2, &ada));
    for poisoned in [&first, &second] {
        put_poison(&world, poisoned).await;
    }
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    for mended in [&first, &second] {
        world.put_post(mended).await;
    }
    processor.drain().await.expect("drained");
    let list = processor.dead_letters().await.expect("a list").dead_letters;
    let letter_of = |post: &PostItem| {
        let key = post.id.partition_key();
        let is_its =
            |letter: &&DeadLetterSummary| letter.projection == USER_POSTS && letter.partition_key == key;
        list.iter().find(is_its).expect("a letter").id.clone()
    };
    let report = processor.replay_dead_letter(&letter_of(&first)).await.expect("a replay");
    assert_eq!((report.items_replayed, report.partitions_parked), (1, 0));
    assert!(world.user_copy(&first).await.is_some());
    assert_eq!(world.user_copy(&second).await, None);
    assert_eq!(dead_letters(&processor, USER_POSTS).await, 1);
    processor.replay(None).await.expect("a replay of all");
    world.assert_clean(&processor).await;
}

/// Has every write that a projection makes of these items fail, as in a logical partition that is full.
fn fail_writes_of(world: &World, ids: &[String]) {
    let ids = ids.to_vec();
    world.store.judge(move |container, _, operations| {
        let touches = operations.iter().any(|operation| ids.iter().any(|id| operation.id() == id));
        let of_the_blog = !matches!(container.as_str(), "leases" | "dead-letters");
        if touches && of_the_blog { WriteFault::Fail(FaultKind::PartitionFull) } else { WriteFault::Pass }
    });
}

#[tokio::test]
async fn a_parked_deletion_is_replayed_after_its_tombstone_expired() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let written = post(1, &ada);
    let (comment, like) = (comment(1, &written, &ada), like(&written, &ada));
    world.put_post(&written).await;
    world.put_comment(&comment).await;
    world.put_like(&like).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    world.put_post(&deleted(&written)).await;
    fail_writes_of(&world, &[written.id.to_string(), comment.id.to_string(), like.id.to_string()]);
    processor.drain().await.expect("drained");
    for projection in [USER_POSTS, FEED_POSTS, DELETIONS] {
        assert_eq!(dead_letters(&processor, projection).await, 1, "{projection}");
    }
    assert_eq!(world.user_copy(&written).await, Some(PostCopyItem::of(&written)));

    world.store.mend();
    let purge = WriteOp::Delete { id: written.id.to_string(), if_match: None };
    let purged = world.store.write(POSTS, &written.id.partition_key(), purge, &Ledger::new()).await;
    purged.expect("the tombstone is there");
    let report = processor.replay(None).await.expect("a replay");
    assert_eq!((report.items_replayed, report.partitions_parked), (3, 0));
    assert!(world.user_copy(&written).await.is_none_or(|copy| copy.deleted));
    assert_eq!(world.feed().await, []);
    assert_eq!(world.count(written.id, types::COMMENT).await, 0);
    assert_eq!(world.count(written.id, types::LIKE).await, 0);
    world.assert_clean(&processor).await;
}

#[tokio::test]
async fn a_replay_of_an_expired_deletion_is_retried_on_conflict() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let written = post(1, &ada);
    world.put_post(&written).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    world.put_post(&deleted(&written)).await;
    fail_writes_of(&world, &[written.id.to_string()]);
    processor.drain().await.expect("drained");
    world.store.mend();
    let purge = WriteOp::Delete { id: written.id.to_string(), if_match: None };
    world.store.write(POSTS, &written.id.partition_key(), purge, &Ledger::new()).await.expect("a delete");

    // Another writer writes the copy before the replay's own write of it.
    let (store, copy) = (world.store.unfailing(), PostCopyItem::of(&written));
    let mut once = Some(async move {
        let write = WriteOp::Upsert(NewItem::encode(copy.id.to_string(), &copy));
        store.write(USERS, &copy.user_id.partition_key(), write, &Ledger::new()).await.expect("a write");
    });
    world.store.contend(move |container, _, _| match container {
        USERS => once.take().map(FutureExt::boxed),
        _ => None,
    });
    processor.replay(Some(USER_POSTS)).await.expect("a replay");
    assert!(world.user_copy(&written).await.is_none_or(|copy| copy.deleted));
}

/// Has the copy of a post written anew, as it is, before each of the next writes of it; and the post, too, if
/// it is hot.
fn contend_for_copies(world: &World, post: &PostItem, times: usize, is_hot: bool) {
    let (store, post) = (world.store.unfailing(), post.clone());
    let mut left = times;
    world.store.contend(move |container, _, operations| {
        let touches = operations.iter().any(|operation| operation.id() == post.id.to_string());
        if container != USERS || !touches || left == 0 {
            return None;
        }
        left -= 1;
        let (store, post) = (std::sync::Arc::clone(&store), post.clone());
        Some(Box::pin(async move {
            let (id, ledger) = (post.id.to_string(), Ledger::new());
            let copy = WriteOp::Upsert(NewItem::encode(id.clone(), &PostCopyItem::of(&post)));
            store.write(USERS, &post.user_id.partition_key(), copy, &ledger).await.expect("a write");
            if is_hot {
                let key = post.id.partition_key();
                let item = store.read(POSTS, &key, &id, &ledger).await.expect("a read").expect("a post");
                let mut newer: PostItem = item.decode().expect("a post");
                newer.version += 1;
                let write = WriteOp::Upsert(NewItem::encode(id, &newer));
                store.write(POSTS, &key, write, &ledger).await.expect("a write");
            }
        }))
    });
}

#[tokio::test]
async fn a_change_that_lost_all_its_races_is_left_to_a_newer_one() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let mut written = post(1, &ada);
    world.put_post(&written).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    contend_for_copies(&world, &written, 100, true);
    written.version = 2;
    world.put_post(&written).await;
    processor.drain().await.expect("drained");
    assert_eq!(dead_letters(&processor, USER_POSTS).await, 0);
    assert_eq!(world.post(written.id).await.version, 102);
    world.assert_clean(&processor).await;
}

#[tokio::test]
async fn a_change_that_loses_all_its_races_is_tried_until_it_wins() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let mut written = post(1, &ada);
    world.put_post(&written).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    contend_for_copies(&world, &written, 100, false);
    written.version = 2;
    world.put_post(&written).await;
    let error = processor.drain().await.expect_err("it has lost its races").to_string();
    assert!(error.starts_with("what was read kept changing: "), "{error}");
    assert_eq!(dead_letters(&processor, USER_POSTS).await, 0);
    processor.drain().await.expect("drained");
    assert_eq!(world.user_copy(&written).await, Some(PostCopyItem::of(&written)));
    world.assert_clean(&processor).await;
}
