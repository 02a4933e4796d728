//! Physical partitions split, and merge again, in the middle of commands and projections.

use std::sync::Arc;

use onehop::blog::containers::{ACCOUNTS, FEED, POSTS, USERS};
use tokio::task::JoinSet;

use crate::cosmos::acts::{ALL, Scene};
use crate::cosmos::world::{Process, account};
use onehop_testing::emulator::Emulator;

/// Splits the first physical partition of every container of the blog.
pub async fn split_all(account: &Emulator) {
    for container in [USERS, POSTS, FEED, ACCOUNTS] {
        let first = account.physical_partitions(container)[0];
        account.split(container, first).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_and_projections_go_on_while_partitions_split() {
    let account = account();
    let process = Arc::new(Process::over(account.open().await).await);
    for round in 0..3 {
        let before = account.physical_partitions(POSTS).len();
        let mut under_way = JoinSet::new();
        for (number, act) in ALL.into_iter().enumerate() {
            let process = Arc::clone(&process);
            under_way.spawn(async move {
                let scene = Scene::set(&process, round * 100 + number).await;
                scene.send(&process, act).await.unwrap_or_else(|error| panic!("{act:?}: {error:?}"));
                scene.assert_done_once(&process, act).await;
            });
        }
        let projecting = Arc::clone(&process);
        under_way.spawn(async move { projecting.processor.drain().await.expect("drained") });
        split_all(&account).await;
        while let Some(ended) = under_way.join_next().await {
            ended.expect("no panic");
        }
        assert_eq!(account.physical_partitions(POSTS).len(), before + 1);
        process.processor.balance_leases().await.expect("a tick");
        process.assert_clean().await;
    }
    let ranges = process.store.feed_ranges(POSTS).await.expect("ranges");
    assert_eq!(ranges.len(), 6);
    let leases = process.processor.leases().await.expect("leases");
    let of_copies = leases.iter().filter(|lease| lease.container == "posts").count();
    assert_eq!(of_copies, ranges.len(), "the leases followed the splits: {leases:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn projections_go_on_where_partitions_were_merged() {
    let account = account();
    let process = Process::over(account.open().await).await;
    Scene::set(&process, 1).await;
    process.assert_clean().await;
    for container in [USERS, POSTS] {
        let partitions = account.physical_partitions(container);
        account.merge(container, partitions[0], partitions[1]).await;
    }
    Scene::set(&process, 2).await;
    process.processor.balance_leases().await.expect("a tick");
    process.assert_clean().await;
    assert_eq!(process.store.feed_ranges(POSTS).await.expect("ranges").len(), 2);
    let leases = process.processor.leases().await.expect("leases");
    let of_copies = leases.iter().filter(|lease| lease.container == "posts").count();
    assert_eq!(of_copies, 3, "a range that was handed out is read on");
}
