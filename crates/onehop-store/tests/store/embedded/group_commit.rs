//! Concurrent writers share commits under every durability.

use futures::future::join_all;
use onehop_store::embedded::Durability;

use crate::embedded::harness::{config, create, open_with};

#[tokio::test]
async fn concurrent_writes_take_fewer_commits_than_there_are_writes() {
    for durability in [Durability::Sync, Durability::Relaxed] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut config = config(directory.path());
        config.durability = durability;
        let store = open_with(&config).expect("the store opens");
        let ids: Vec<_> = (0..500).map(|number| format!("a{number}")).collect();
        join_all(ids.iter().map(|id| create(&store, "h1", id, 1))).await;
        let statistics = store.statistics();
        assert_eq!(statistics.requests, 500);
        assert!(statistics.commits < 500, "{durability:?}: {statistics:?}");
    }
}

#[tokio::test]
async fn a_single_writer_commits_without_waiting() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut config = config(directory.path());
    config.durability = Durability::Sync;
    let store = open_with(&config).expect("the store opens");
    for number in 0..5 {
        create(&store, "h1", &format!("a{number}"), 1).await;
        assert_eq!(store.statistics().commits, number + 1);
    }
}
