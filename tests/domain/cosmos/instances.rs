//! Two, then three, then one process over one account, some of which end without a goodbye.

use std::collections::BTreeMap;
use std::sync::Arc;

use onehop_runtime::clock::ManualClock;

use crate::cosmos::acts::{ALL, Scene};
use crate::cosmos::splits::split_all;
use crate::cosmos::world::{Process, account};

/// More than a lease lives, ms.
const EXPIRY_MS: i64 = 61_000;
/// Rounds after which the leases have to be balanced.
const ROUNDS: usize = 40;

/// Has each process look at the leases and work on a page, round after round.
async fn work(processes: &[&Process]) {
    for _ in 0..ROUNDS {
        for process in processes {
            process.processor.renew().await;
            process.processor.balance_leases().await.expect("a tick");
            process.processor.run_once().await.expect("pages");
        }
    }
}

/// Leases by owner, as a process sees them.
async fn owners(process: &Process) -> BTreeMap<String, usize> {
    process.processor.balance_leases().await.expect("a tick");
    let mut owners = BTreeMap::new();
    for lease in process.processor.leases().await.expect("leases") {
        *owners.entry(lease.owner.unwrap_or_default()).or_insert(0) += 1;
    }
    owners
}

async fn assert_balanced(process: &Process, names: &[&str]) {
    let owners = owners(process).await;
    assert_eq!(owners.keys().map(String::as_str).collect::<Vec<_>>(), names, "{owners:?}");
    let (most, fewest) = (owners.values().max(), owners.values().min());
    assert!(most.zip(fewest).is_some_and(|(most, fewest)| most - fewest <= 1), "{owners:?}");
}

/// Every command, each by another process.
async fn act(processes: &[&Process], number: usize) {
    for (index, act) in ALL.into_iter().enumerate() {
        let process = processes[index % processes.len()];
        let scene = Scene::set(process, number * 100 + index).await;
        scene.send(process, act).await.unwrap_or_else(|error| panic!("{act:?}: {error:?}"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_then_three_then_one_process_project_everything() {
    let account = account();
    let clock = Arc::new(ManualClock::new(1_750_000_000_000));
    let start = async |name: &str| Process::sharing(account.open().await, name, Arc::clone(&clock)).await;

    let (one, two) = (start("one").await, start("two").await);
    act(&[&one, &two], 1).await;
    work(&[&one, &two]).await;
    assert_balanced(&one, &["one", "two"]).await;

    split_all(&account).await;
    let three = start("three").await;
    act(&[&one, &two, &three], 2).await;
    work(&[&one, &two, &three]).await;
    assert_balanced(&two, &["one", "three", "two"]).await;

    // Two of them are gone from one moment to the next, in the middle of their work.
    act(&[&one, &two, &three], 3).await;
    one.processor.run_once().await.expect("pages");
    drop((one, two));
    split_all(&account).await;
    clock.advance_ms(EXPIRY_MS);
    act(&[&three], 4).await;
    work(&[&three]).await;
    assert_balanced(&three, &["three"]).await;
    three.assert_clean().await;

    let ranges = three.store.feed_ranges(onehop::blog::containers::POSTS).await.expect("ranges").len();
    let leases = three.processor.leases().await.expect("leases");
    let of_copies = leases.iter().filter(|lease| lease.container == "posts").count();
    assert_eq!((ranges, of_copies), (5, 5), "the leases followed the splits");
}
