//! Short copies under their author, under replays, duplicates and late changes.

use onehop::blog::containers::{POSTS, USERS};
use onehop::blog::items::PostCopyItem;
use onehop::blog::read_models::{USER_POSTS, projections, read_models};
use onehop_change_feed::LEASES;
use onehop_store::{Change, ETag, Item, NewItem};

use crate::projections::world::{World, comment, deleted, like, post};
use onehop_testing::failing_store::WriteFault;

#[tokio::test]
async fn a_post_is_copied_to_its_author_with_the_summary() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let written = post(1, &ada);
    world.put_post(&written).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    assert_eq!(world.user_copy(&written).await, Some(PostCopyItem::of(&written)));
    world.assert_clean(&processor).await;
}

#[tokio::test]
async fn reading_everything_again_from_the_beginning_writes_nothing() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    for number in 0..130 {
        let written = post(number, &ada);
        world.put_post(&written).await;
        world.put_like(&like(&written, &ada)).await;
    }
    world.put_post(&deleted(&post(7, &ada))).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    let before = world.everything().await;
    for projection in projections() {
        let progress = processor.rebuild(projection.name(), &|_| {}).await.expect("a rebuild");
        assert!(Some(progress.done) >= progress.total);
    }
    assert_eq!(world.everything().await, before);
}

#[tokio::test]
async fn a_rebuild_repairs_lost_and_damaged_copies() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let (lost, damaged) = (post(1, &ada), post(2, &ada));
    world.put_post(&lost).await;
    world.put_post(&damaged).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    let remove = onehop_store::WriteOp::Delete { id: lost.id.to_string(), if_match: None };
    let ledger = onehop_store::Ledger::new();
    use onehop_store::Store as _;
    world.store.write(USERS, &ada.id.partition_key(), remove, &ledger).await.expect("a delete");
    let wrong = PostCopyItem { title: "Wrong".to_owned(), ..PostCopyItem::of(&damaged) };
    world.put(USERS, ada.id.partition_key(), damaged.id.to_string(), &wrong).await;
    processor.rebuild(USER_POSTS, &|_| {}).await.expect("a rebuild");
    world.assert_clean(&processor).await;
}

#[tokio::test]
async fn changes_after_a_lost_checkpoint_are_projected_again() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    for number in 0..20 {
        world.put_post(&post(number, &ada)).await;
    }
    let mut lease_writes = 0;
    world.store.judge(move |container, _, _| {
        lease_writes += usize::from(container == LEASES);
        // The start checkpoints pass, no checkpoint after that does.
        let start_checkpoints = 2 * 4;
        if container == LEASES && lease_writes > start_checkpoints {
            WriteFault::Fail(onehop_store::FaultKind::Internal)
        } else {
            WriteFault::Pass
        }
    });
    let crashed = world.processor().await;
    crashed.drain().await.expect_err("no checkpoint can be written");
    drop(crashed);
    world.store.mend();
    let copies_before = world.everything().await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    world.assert_clean(&processor).await;
    let after = world.everything().await;
    let rewritten = copies_before.iter().filter(|(key, etag)| after.get(*key) != Some(etag)).count();
    assert_eq!(rewritten, 0, "what was written before the crash is not written again");
}

#[tokio::test]
async fn a_late_change_does_not_overwrite_a_newer_copy() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let old = post(1, &ada);
    let mut new = old.clone();
    new.version = 2;
    new.title = "Edited".to_owned();
    world.put_post(&new).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");

    let existing = world.read(USERS, &ada.id.partition_key(), &old.id.to_string()).await;
    let body = NewItem::encode(old.id.to_string(), &old).body;
    let item = Item { body, etag: ETag::from_number(1), timestamp_ms: 0 };
    let late = Change { partition_key: old.id.partition_key(), id: old.id.to_string(), item };
    let answers = [onehop_change_feed::ReadResult::Item(existing.map(std::sync::Arc::new))];
    let input = onehop_change_feed::StepInput { results: &answers, ..onehop_change_feed::StepInput::first() };
    let step = read_models().projection(USER_POSTS).unwrap().step(&late, input).expect("a step");
    assert!(step.is_done() && step.writes().is_empty());
}

#[tokio::test]
async fn a_deleted_post_leaves_a_tombstone_that_no_list_shows() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let written = post(1, &ada);
    world.put_post(&written).await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    world.put_post(&deleted(&written)).await;
    processor.drain().await.expect("drained");
    assert!(world.user_copy(&written).await.is_some_and(|copy| copy.deleted));
    world.assert_clean(&processor).await;
}

#[tokio::test]
async fn copies_written_into_users_do_not_wake_the_projections() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    let usernames = |statuses: Vec<onehop_change_feed::ProjectionStatus>| {
        statuses.into_iter().find(|status| status.source == "users").expect("the projection of users")
    };
    let before = usernames(processor.status().await.expect("a status"));
    for number in 0..10 {
        let copy = PostCopyItem::of(&post(number, &ada));
        world.put(USERS, ada.id.partition_key(), copy.id.to_string(), &copy).await;
    }
    assert_eq!(usernames(processor.status().await.expect("a status")).pending_changes, 0);
    processor.drain().await.expect("drained");
    assert_eq!(usernames(processor.status().await.expect("a status")).changes, before.changes);
}

#[tokio::test]
async fn the_status_counts_what_waits_and_how_long() {
    let world = World::new().await;
    let ada = world.sign_up(1, "ada").await;
    let processor = world.processor().await;
    processor.drain().await.expect("drained");
    let written = post(1, &ada);
    world.put_post(&written).await;
    world.put_comment(&comment(1, &written, &ada)).await;
    world.clock.advance_ms(1500);
    let status = processor.status().await.expect("a status");
    let copies = status.iter().find(|status| status.projection == USER_POSTS).expect("the projection");
    assert_eq!((copies.pending_changes, copies.running), (1, false));
    // The service dates items by its own time.
    assert!(copies.lag_ms == 1500 || crate::support::store::is_cosmos());
    processor.drain().await.expect("drained");
    let status = processor.status().await.expect("a status");
    assert!(status.iter().all(|status| status.pending_changes == 0 && status.lag_ms == 0));
    assert!(status.iter().all(|status| status.source != POSTS.as_str() || status.request_charge.0 > 0.0));
}
