//! The same acts have the same answers, text for text.

use onehop_store::Ledger;

use super::clients::{THINGS, World, page, ranges, upsert};
use crate::account_model::{InjectedFault, ModelConsistency, Outcome};

/// Writes, faults, splits, merges and reads; everything that the account said.
async fn trace() -> String {
    let world = World::new(3);
    let writer = world.account.store(ModelConsistency::Session);
    let reader = world.account.store(ModelConsistency::Eventual);
    let mut trace = String::new();
    for round in 0..40_u64 {
        if round % 5 == 4 {
            world.next(Outcome::fault(InjectedFault::SentAgain));
        }
        let home = format!("h{}", round % 9);
        let ledger = upsert(&*writer, &home, "a", round).await;
        trace.push_str(&format!("{:?} {:?}\n", ledger.write_ends(THINGS), ledger.operations()));
        let partitions = world.account.physical_partitions(THINGS);
        match round % 10 {
            3 | 6 => world.account.split(THINGS, partitions / 2),
            9 => world.account.merge(THINGS, 0),
            _ => false,
        };
        for range in ranges(&*reader).await {
            trace.push_str(&format!("{:?}\n", page(&*reader, &range, None, 2).await));
        }
        let item = reader.read(THINGS, &home.as_str().into(), "a", &Ledger::new()).await;
        trace.push_str(&format!("{item:?}\n"));
    }
    trace.push_str(&format!("{:?}", world.account.counts()));
    trace
}

#[tokio::test]
async fn the_same_acts_have_the_same_trace() {
    let first = trace().await;
    assert!(first.contains("fault_sent_again") && first.contains("splits") && first.contains("merges"));
    assert_eq!(first, trace().await);
}
