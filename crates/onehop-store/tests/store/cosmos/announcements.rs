//! Change signals of writes whose outcome is not known: the readers of their range have to look.

use std::sync::Arc;

use azure_data_cosmos::fault_injection::{
    FaultInjectionConditionBuilder, FaultInjectionErrorType, FaultInjectionResultBuilder, FaultInjectionRule,
    FaultInjectionRuleBuilder, FaultOperationType,
};
use futures::FutureExt;
use onehop_store::{
    Batch, ContainerName, ContainerSpec, FaultKind, Ledger, NewItem, SignalScope, Store, WriteError, WriteOp,
};
use onehop_testing::emulator::Emulator;
use serde_json::json;

const THINGS: ContainerName = ContainerName("things");
const SPECS: &[ContainerSpec] = &[ContainerSpec {
    name: THINGS,
    partition_key: "home",
    order_by: None,
    orders: &[],
    ttl_s: None,
    equality: &[],
    newest_types: &[],
    soft_deletes: true,
}];

/// Has every operation of this kind meet a fault.
fn rule(operation: FaultOperationType, fault: FaultInjectionErrorType) -> Arc<FaultInjectionRule> {
    let result = FaultInjectionResultBuilder::new().with_error(fault).build();
    let condition = FaultInjectionConditionBuilder::new().with_operation_type(operation).build();
    let rule = FaultInjectionRuleBuilder::new(format!("{operation:?}"), result).with_condition(condition);
    Arc::new(rule.build())
}

fn create(id: &str) -> WriteOp {
    WriteOp::Create(NewItem::encode(id, &json!({ "id": id, "home": "h", "type": "thing" })))
}

async fn write(store: &dyn Store, operation: FaultOperationType) -> Result<(), WriteError> {
    let ledger = Ledger::new();
    if operation == FaultOperationType::BatchItem {
        let operations = vec![create("a"), create("b")];
        let batch = Batch { container: THINGS, partition_key: "h".into(), operations };
        return store.batch(batch, &ledger).await.map(drop);
    }
    store.write(THINGS, &"h".into(), create("a"), &ledger).await.map(drop)
}

#[tokio::test]
async fn a_write_whose_answer_was_lost_wakes_its_readers() {
    for operation in [FaultOperationType::CreateItem, FaultOperationType::BatchItem] {
        let emulator = Emulator::new(SPECS, 1);
        let lost = rule(operation, FaultInjectionErrorType::ResponseTimeoutAfterService);
        let store = emulator.open_behind(vec![lost]).await;
        let mut signal = store.change_signal(&SignalScope::of(THINGS)).expect("a signal");
        signal.mark_unchanged();
        let outcome = write(&store, operation).await;
        let is_unknown = match &outcome {
            Err(WriteError::Fault(fault)) => fault.kind == FaultKind::Ambiguous,
            // The client has tried again by itself, and found its own write.
            Err(WriteError::Rejected { .. }) => true,
            Ok(()) => false,
        };
        assert!(is_unknown, "{operation:?}: {outcome:?}");
        assert!(signal.has_changed().expect("it is open"), "{operation:?}: it was written all the same");
    }
}

#[tokio::test]
async fn a_write_that_was_refused_wakes_nobody() {
    let emulator = Emulator::new(SPECS, 1);
    let store = emulator.open().await;
    write(&store, FaultOperationType::CreateItem).await.expect("written");
    let mut signal = store.change_signal(&SignalScope::of(THINGS)).expect("a signal");
    signal.mark_unchanged();
    for operation in [FaultOperationType::CreateItem, FaultOperationType::BatchItem] {
        let refused = write(&store, operation).await.expect_err("it is there already");
        assert!(refused.rejection().is_some(), "{refused}");
        assert!(!signal.has_changed().expect("it is open"), "{operation:?}: nothing was written");
    }
    let throttled = rule(FaultOperationType::CreateItem, FaultInjectionErrorType::TooManyRequests);
    let store = emulator.open_behind(vec![throttled]).await;
    let signal = store.change_signal(&SignalScope::of(THINGS)).expect("a signal");
    write(&store, FaultOperationType::CreateItem).await.expect_err("throttled");
    assert!(!signal.has_changed().expect("it is open"), "nothing was written");
}

#[tokio::test]
async fn a_write_that_nobody_waits_for_any_more_wakes_its_readers() {
    for operation in [FaultOperationType::CreateItem, FaultOperationType::BatchItem] {
        let emulator = Emulator::new(SPECS, 1);
        // The emulator answers at once: a write that is throttled waits.
        let store =
            emulator.open_behind(vec![rule(operation, FaultInjectionErrorType::TooManyRequests)]).await;
        let mut signal = store.change_signal(&SignalScope::of(THINGS)).expect("a signal");
        signal.mark_unchanged();
        let dropped = write(&store, operation).now_or_never();
        assert!(dropped.is_none(), "{operation:?}: it was under way");
        assert!(signal.has_changed().expect("it is open"), "{operation:?}: it may have been written");
    }
}
