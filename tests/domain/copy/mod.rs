//! Copies of a blog from one store to another: between directories, and to Microsoft's in-memory emulator and
//! back.

mod commands;
use onehop_testing::failing_store;
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onehop::app::write_side;
use onehop::blog::containers::{ACCOUNTS, POSTS, USERS};
use onehop::copy::{Copier, CopyError, POSITION_TYPE};
use onehop_change_feed::LEASES;
use onehop_store::{FaultKind, NewItem, OperationKind, OperationRecord, WriteOp};

use failing_store::{FailingStore, WriteFault};
use world::{Blog, items_of};

const SOURCE: &str = "embedded:/where/it/was";

fn copier(source: &Blog, target: Arc<dyn onehop_store::Store>) -> Copier {
    Copier {
        source: Arc::clone(&source.store),
        target,
        source_name: SOURCE.to_owned(),
        write_side: write_side().collect(),
    }
}

fn is_write(operation: &OperationRecord) -> bool {
    matches!(operation.kind, OperationKind::Upsert | OperationKind::Batch)
}

/// Writes of items of the write side, not of positions.
fn writes(store: &FailingStore) -> usize {
    let copied = |container| write_side().any(|(of_write_side, _)| of_write_side == container);
    store.operations().iter().filter(|operation| copied(operation.container) && is_write(operation)).count()
}

#[tokio::test]
async fn an_interrupted_copy_is_gone_on_with_and_is_whole() {
    let source = Blog::seeded(3).await;
    let target = Blog::empty(5).await;
    let failing = Arc::new(FailingStore::new(Arc::clone(&target.store)));
    let batches = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&batches);
    failing.judge(move |container, _, _| {
        let breaks = container == POSTS && counter.fetch_add(1, Ordering::SeqCst) >= 20;
        if breaks { WriteFault::Fail(FaultKind::Internal) } else { WriteFault::Pass }
    });
    let stopped = copier(&source, failing.clone()).run(|_| {}).await.unwrap_err();
    assert!(matches!(stopped, CopyError::Target(_)), "{stopped}");
    let whole = items_of(&*source.store).await;
    let part = items_of(&*target.store).await;
    assert!(!part.is_empty() && part.len() < whole.len(), "{} of {}", part.len(), whole.len());

    failing.mend();
    let before = failing.operations().len();
    let copied = copier(&source, failing.clone()).run(|_| {}).await.unwrap();
    assert!(copied.items_before > 0, "users and accounts were there");
    assert_eq!(usize::try_from(copied.items + copied.items_before).unwrap(), whole.len());
    let again = failing.operations().split_off(before);
    let repeated = |operation: &&OperationRecord| {
        [USERS, ACCOUNTS].contains(&operation.container) && is_write(operation)
    };
    assert_eq!(again.iter().filter(repeated).count(), 0, "what was copied before is not written again");
    assert!(items_of(&*target.store).await == whole);
    target.assert_verified().await;
}

#[tokio::test]
async fn a_second_run_takes_what_has_changed_and_nothing_else() {
    let source = Blog::seeded(2).await;
    let target = Blog::empty(2).await;
    copier(&source, Arc::clone(&target.store)).run(|_| {}).await.unwrap();
    let counting = Arc::new(FailingStore::new(Arc::clone(&target.store)));
    let nothing = copier(&source, counting.clone()).run(|_| {}).await.unwrap();
    assert_eq!((nothing.items, writes(&counting)), (0, 0));

    source.delete_a_post().await;
    let changed = copier(&source, counting.clone()).run(|_| {}).await.unwrap();
    assert!(changed.items >= 1 && writes(&counting) == 1, "{changed:?}");
    target.assert_verified().await;
    assert!(items_of(&*target.store).await == items_of(&*source.store).await);
}

#[tokio::test]
async fn a_transient_fault_is_waited_for() {
    let source = Blog::seeded(1).await;
    let target = Blog::empty(1).await;
    let failing = Arc::new(FailingStore::new(Arc::clone(&target.store)));
    let mut left = 3;
    failing.judge(move |container, _, _| {
        if container != USERS || left == 0 {
            return WriteFault::Pass;
        }
        left -= 1;
        [WriteFault::Fail(FaultKind::Throttled), WriteFault::Lose, WriteFault::Fail(FaultKind::Unavailable)]
            [left]
    });
    copier(&source, failing).run(|_| {}).await.unwrap();
    assert!(items_of(&*target.store).await == items_of(&*source.store).await);
}

#[tokio::test]
async fn a_target_with_data_of_its_own_is_refused_and_left_alone() {
    let source = Blog::seeded(1).await;
    let target = Blog::seeded(2).await;
    let before = items_of(&*target.store).await;
    let refused = copier(&source, Arc::clone(&target.store)).run(|_| {}).await.unwrap_err();
    assert!(matches!(refused, CopyError::NotEmpty { .. }), "{refused}");
    assert!(refused.to_string().contains(SOURCE), "{refused}");
    assert!(items_of(&*target.store).await == before);

    let of_another = Blog::empty(1).await;
    copier(&source, Arc::clone(&of_another.store)).run(|_| {}).await.unwrap();
    let other = Blog::seeded(2).await;
    let copier =
        Copier { source_name: "embedded:/elsewhere".to_owned(), ..copier(&other, of_another.store.clone()) };
    let refused = copier.run(|_| {}).await.unwrap_err();
    assert!(
        matches!(refused, CopyError::NotEmpty { .. }),
        "the positions there are of another copy: {refused}"
    );
}

#[tokio::test]
async fn read_models_are_not_copied_and_positions_are_no_leases() {
    let source = Blog::seeded(2).await;
    let target = Blog::empty(2).await;
    copier(&source, Arc::clone(&target.store)).run(|_| {}).await.unwrap();
    let all = world::everything_in(&*target.store).await;
    let types = |container| {
        let of_container = all.iter().filter(move |((of, ..), _)| *of == container);
        of_container.map(|(_, body)| body["type"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(types(USERS).iter().all(|item_type| item_type == "user"));
    let mut leases = types(LEASES);
    leases.retain(|item_type| item_type != "builtInDomains");
    assert!(leases.iter().all(|item_type| item_type == POSITION_TYPE));
    assert_eq!(leases.len(), write_side().count() * 3, "a position for each container and feed range");
    target.assert_verified().await;
}

#[tokio::test]
async fn a_rejected_item_ends_the_copy_with_its_container() {
    let source = Blog::seeded(1).await;
    let target = Blog::empty(1).await;
    let refusing = Arc::new(FailingStore::new(Arc::clone(&target.store)));
    refusing.judge(|container, _, operations| {
        let users = container == USERS && matches!(operations[0], WriteOp::Upsert(NewItem { .. }));
        if users { WriteFault::Fail(FaultKind::Corrupt) } else { WriteFault::Pass }
    });
    let ended = copier(&source, refusing).run(|_| {}).await.unwrap_err();
    assert!(matches!(ended, CopyError::Target(fault) if fault.kind == FaultKind::Corrupt));
}

#[tokio::test]
async fn a_blog_goes_to_an_account_and_comes_back_as_it_was() {
    let source = Blog::seeded(2).await;
    source.delete_a_post().await;
    let whole = items_of(&*source.store).await;
    let account = Blog::on_emulator(3).await;
    copier(&source, Arc::clone(&account.store)).run(|_| {}).await.unwrap();
    assert!(items_of(&*account.store).await == whole);
    account.assert_verified().await;

    let back = Blog::empty(2).await;
    copier(&account, Arc::clone(&back.store)).run(|_| {}).await.unwrap();
    assert!(items_of(&*back.store).await == whole);
    back.assert_verified().await;
}
