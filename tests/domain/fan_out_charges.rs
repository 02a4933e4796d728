//! The charge of a query across physical partitions, derived from its charge on one, beside the charge of the
//! store.

use std::sync::Arc;

use onehop_runtime::clock::ManualClock;
use onehop_store::charges::Calibration;
use onehop_store::embedded::{EmbeddedConfig, EmbeddedStore};
use onehop_store::{
    ContainerName, ContainerSpec, Direction, FoldedOperation, Ledger, NewItem, OperationKind, PartitionKey,
    Query, Store, WriteOp,
};
use onehop_study::fan_out_charge::FanOutQueries;
use serde_json::json;

const THINGS: ContainerName = ContainerName("things");

/// The query for the newest five of forty items, on a store with this number of physical partitions.
async fn newest_five(physical_partitions: u16) -> FoldedOperation {
    let directory = tempfile::tempdir().unwrap();
    let spec = ContainerSpec {
        newest_types: &["thing"],
        order_by: Some("at"),
        ..ContainerSpec::new("things", "home")
    };
    let config = EmbeddedConfig {
        physical_partitions: Some(physical_partitions),
        ..EmbeddedConfig::new(directory.path())
    };
    let store = EmbeddedStore::open_with(&config, &[spec], Arc::new(ManualClock::new(0))).unwrap();
    for number in 0..40 {
        let id = number.to_string();
        let at = format!("2026-01-{:02}T00:00:00.000Z", number % 28 + 1);
        let item = json!({"id": id, "type": "thing", "home": id, "at": at});
        let create = WriteOp::Create(NewItem::encode(id.clone(), &item));
        store.write(THINGS, &PartitionKey::new(id), create, &Ledger::new()).await.unwrap();
    }
    let query = Query::Newest {
        container: THINGS,
        item_type: "thing",
        after: None,
        limit: 5,
        order_by: None,
        direction: Direction::NewestFirst,
    };
    let ledger = Ledger::new();
    assert_eq!(store.query(&query, &ledger).await.unwrap().items.len(), 5);
    let mut operations = ledger.folded().into_iter();
    operations.find(|operation| operation.kind == OperationKind::Query).unwrap()
}

#[tokio::test]
async fn a_derived_charge_across_partitions_is_near_the_charge_of_the_store() {
    let one = FanOutQueries::of(&newest_five(1).await).unwrap();
    for partitions in [2, 4] {
        let charged = newest_five(partitions).await.request_charge.0;
        let derived = one.charge_at(&Calibration::current(), u32::from(partitions));
        assert!((derived / charged - 1.0).abs() < 0.05, "{partitions}: {derived} and {charged}");
    }
}
