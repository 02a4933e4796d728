//! Lookups of feed ranges whose callers are dropped.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use azure_data_cosmos::fault_injection::{
    FaultInjectionConditionBuilder, FaultInjectionResultBuilder, FaultInjectionRule,
    FaultInjectionRuleBuilder, FaultOperationType,
};
use futures::future::BoxFuture;
use onehop_store::{ContainerName, ContainerSpec, Store};
use onehop_testing::emulator::Emulator;

const THINGS: ContainerName = ContainerName("things");
const SPECS: &[ContainerSpec] = &[ContainerSpec {
    name: THINGS,
    partition_key: "home",
    order_by: None,
    orders: &[],
    ttl_s: None,
    equality: &[],
    newest_types: &[],
    soft_deletes: false,
}];
/// More polls than a lookup needs.
const POLLS_MAX: usize = 10_000;

/// Polls a future until it is ready, or this often at most.
async fn polled<T>(mut future: BoxFuture<'_, T>, polls_max: usize) -> Option<T> {
    let mut polls = 0;
    poll_fn(|context| {
        if polls == polls_max {
            return Poll::Ready(None);
        }
        polls += 1;
        Pin::new(&mut future).poll(context).map(Some)
    })
    .await
}

/// Has a lookup wait for the service.
fn wait() -> Arc<FaultInjectionRule> {
    let result = FaultInjectionResultBuilder::new().with_delay(Duration::from_millis(1)).build();
    let lookup = FaultOperationType::MetadataPartitionKeyRanges;
    let condition = FaultInjectionConditionBuilder::new().with_operation_type(lookup).build();
    Arc::new(FaultInjectionRuleBuilder::new("wait", result).with_condition(condition).build())
}

#[tokio::test]
async fn a_dropped_lookup_of_ranges_ends_no_later_one() {
    let emulator = Emulator::new(SPECS, 2);
    let store = emulator.open_behind(vec![wait()]).await;
    let mut dropped = 0;
    while polled(store.feed_ranges(THINGS), dropped).await.is_none() {
        dropped += 1;
        let next = polled(store.feed_ranges(THINGS), POLLS_MAX).await.expect("an answer");
        assert_eq!(next.expect("ranges").len(), 2, "after {dropped} polls");
    }
    assert!(dropped > 0, "no lookup was dropped in the middle");
}
