//! Statuses of the service: which of them are faults of the account, of one logical partition, or of a
//! continuation.

use std::sync::Arc;

use azure_core::http::StatusCode;
use azure_data_cosmos::fault_injection::{
    CustomResponseBuilder, FaultInjectionConditionBuilder, FaultInjectionResultBuilder, FaultInjectionRule,
    FaultInjectionRuleBuilder, FaultOperationType,
};
use onehop_store::{
    Batch, ContainerName, ContainerSpec, Continuation, Fault, FaultKind, FeedRequest, Ledger, NewItem,
    PartitionKey, Store, WriteError, WriteOp,
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
const HOME_ID: &str = "0197b0a4-6f2e-7c3a-9b1d-5e8f0a2c4d6e";

/// Answers every operation of a kind with this status, sub-status and message.
fn answer(
    operation: FaultOperationType,
    status: StatusCode,
    sub_status: u16,
    message: &str,
) -> Arc<FaultInjectionRule> {
    let body = json!({ "code": status.canonical_reason(), "message": message }).to_string();
    let response = CustomResponseBuilder::new(status).with_sub_status(sub_status).with_body(body).build();
    rule(operation, FaultInjectionResultBuilder::new().with_custom_response(response))
}

fn rule(operation: FaultOperationType, result: FaultInjectionResultBuilder) -> Arc<FaultInjectionRule> {
    let condition = FaultInjectionConditionBuilder::new().with_operation_type(operation).build();
    let rule = FaultInjectionRuleBuilder::new(format!("{operation:?}"), result.build());
    Arc::new(rule.with_condition(condition).build())
}

fn item(home: &str) -> NewItem {
    NewItem::encode("a", &json!({ "id": "a", "home": home, "type": "thing" }))
}

fn fault(error: WriteError) -> Fault {
    match error {
        WriteError::Fault(fault) => fault,
        rejected @ WriteError::Rejected { .. } => panic!("{rejected}"),
    }
}

/// The fault of a create.
async fn create(store: &dyn Store, home: &str) -> Fault {
    let key = PartitionKey::from(home);
    fault(store.write(THINGS, &key, WriteOp::Create(item(home)), &Ledger::new()).await.expect_err("a fault"))
}

#[tokio::test]
async fn a_full_logical_partition_is_named_with_its_limit() {
    let message = "Partition key reached maximum size of 20 GB";
    let emulator = Emulator::new(SPECS, 1);
    for operation in [FaultOperationType::CreateItem, FaultOperationType::BatchItem] {
        let store = emulator.open_behind(vec![answer(operation, StatusCode::Forbidden, 1014, message)]).await;
        for (home, named) in [(HOME_ID, HOME_ID), ("ada@example.com", "84b84dbd")] {
            let fault = match operation {
                FaultOperationType::CreateItem => create(&store, home).await,
                _ => {
                    let operations = vec![WriteOp::Create(item(home))];
                    let batch = Batch { container: THINGS, partition_key: home.into(), operations };
                    fault(store.batch(batch, &Ledger::new()).await.expect_err("a fault"))
                }
            };
            assert_eq!(fault.kind, FaultKind::PartitionFull, "{fault}");
            let text = fault.to_string();
            assert!(text.starts_with("the logical partition ") && text.contains(named), "{text}");
            assert!(text.contains(" of things holds 20 GB"), "{text}");
            assert!(!text.contains("ada@"), "a key that is no id may be personal: {text}");
        }
    }
}

#[tokio::test]
async fn a_batch_with_an_operation_for_a_full_partition_names_it() {
    let emulator = Emulator::new(SPECS, 1);
    let results = json!([
        { "statusCode": 424, "requestCharge": 0.0 },
        { "statusCode": 403, "subStatusCode": 1014, "substatusCode": 1014, "requestCharge": 1.2 },
    ]);
    let response = CustomResponseBuilder::new(StatusCode::MultiStatus).with_body(results.to_string()).build();
    let result = FaultInjectionResultBuilder::new().with_custom_response(response);
    let store = emulator.open_behind(vec![rule(FaultOperationType::BatchItem, result)]).await;
    let operations = vec![WriteOp::Delete { id: "b".to_owned(), if_match: None }, WriteOp::Create(item("h"))];
    let batch = Batch { container: THINGS, partition_key: "h".into(), operations };
    let fault = fault(store.batch(batch, &Ledger::new()).await.expect_err("a fault"));
    assert_eq!(fault.kind, FaultKind::PartitionFull, "{fault}");
}

#[tokio::test]
async fn what_an_account_forbids_is_told_apart() {
    let emulator = Emulator::new(SPECS, 1);
    let firewall = "Request originated from IP 203.0.113.7 through public internet. This is blocked by your \
                    Cosmos DB account firewall settings.";
    let cases = [
        (StatusCode::Unauthorized, 0, "The input authorization token can't serve the request", "credential"),
        (StatusCode::Forbidden, 5302, "Request blocked by Auth: the principal lacks the action", "role"),
        (StatusCode::Forbidden, 0, firewall, "firewall"),
        (
            StatusCode::Forbidden,
            1028,
            "Your account is configured with a total throughput limit",
            "limit of the account",
        ),
        (StatusCode::NotFound, 1003, "Owner resource does not exist", "container does not exist"),
    ];
    for (status, sub_status, message, expected) in cases {
        let rule = answer(FaultOperationType::CreateItem, status, sub_status, message);
        let store = emulator.open_behind(vec![rule]).await;
        let fault = create(&store, "h").await;
        assert_eq!(fault.kind, FaultKind::Misconfigured, "{status}/{sub_status}: {fault}");
        assert!(fault.to_string().contains(expected), "{status}/{sub_status}: {fault}");
    }
}

/// The fault of a page of the change feed.
async fn page(store: &dyn Store, continuation: Option<&Continuation>) -> Fault {
    let range = store.feed_ranges(THINGS).await.expect("ranges").remove(0);
    let request = FeedRequest { container: THINGS, range: &range, continuation, types: None, limit: 10 };
    store.read_change_feed(&request, &Ledger::new()).await.expect_err("a fault")
}

#[tokio::test]
async fn only_a_continuation_that_was_refused_is_invalid() {
    let emulator = Emulator::new(SPECS, 1);
    let healthy = emulator.open().await;
    let range = healthy.feed_ranges(THINGS).await.expect("ranges").remove(0);
    let request =
        FeedRequest { container: THINGS, range: &range, continuation: None, types: None, limit: 10 };
    let page_read = healthy.read_change_feed(&request, &Ledger::new()).await.expect("a page");
    let continuation = page_read.continuation;
    let bad_request = StatusCode::BadRequest;
    for (sub_status, message, kind) in [
        (0, "Change feed token format is invalid.", FaultKind::InvalidContinuation),
        (0, "The continuation token specified in the request is malformed.", FaultKind::InvalidContinuation),
        (0, "One of the input values is invalid: x-ms-consistency-level", FaultKind::Internal),
        (1001, "The partition key does not match", FaultKind::Internal),
        (0, "", FaultKind::Internal),
    ] {
        let rule = answer(FaultOperationType::ChangeFeedItem, bad_request, sub_status, message);
        let store = emulator.open_behind(vec![rule]).await;
        let fault = page(&store, Some(&continuation)).await;
        assert_eq!(fault.kind, kind, "{message}: {fault}");
    }
    for (status, sub_status, kind) in [
        (StatusCode::Unauthorized, 0, FaultKind::Misconfigured),
        (StatusCode::Forbidden, 5302, FaultKind::Misconfigured),
        (StatusCode::NotFound, 1003, FaultKind::Misconfigured),
    ] {
        let rule = answer(FaultOperationType::ChangeFeedItem, status, sub_status, "no");
        let store = emulator.open_behind(vec![rule]).await;
        let fault = page(&store, Some(&continuation)).await;
        assert_eq!(fault.kind, kind, "{status}: {fault}");
    }
}
