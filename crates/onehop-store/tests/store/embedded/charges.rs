//! What the store reports of its operations to the request charge model.

use std::sync::Arc;

use onehop_runtime::clock::ManualClock;
use onehop_store::ReplaceCost;
use onehop_store::embedded::{EmbeddedConfig, EmbeddedStore, charges};
use onehop_store::{
    ChargeSource, Direction, Ledger, NewItem, OperationRecord, Query, RequestCharge, Store, WriteOp,
};
use serde_json::json;

use crate::embedded::harness::{SPEC, THINGS, config, create, open, thing};

async fn write(store: &EmbeddedStore, operation: WriteOp) -> f64 {
    let ledger = Ledger::new();
    store.write(THINGS, &"h".into(), operation, &ledger).await.expect("written");
    assert!(ledger.operations().iter().all(|record| record.source == ChargeSource::Estimated));
    ledger.total().0
}

/// A thing of which all is indexed but its number: id, home, type, date and owner.
fn with_number(number: u64) -> NewItem {
    let body = json!({
        "id": "a", "home": "h", "type": "thing", "date": "1", "owner": "ada", "number": number,
    });
    NewItem::encode("a", &body)
}

#[tokio::test]
async fn a_write_is_charged_for_changed_indexed_properties() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = open(directory.path());
    let bytes = with_number(1).body.len();
    assert_eq!(write(&store, WriteOp::Create(with_number(1))).await, charges::write(bytes, 5).0);
    let replace = WriteOp::Replace { item: with_number(2), if_match: None };
    assert_eq!(write(&store, replace).await, charges::write(bytes, 0).0);
    let other_owner =
        json!({ "id": "a", "home": "h", "type": "thing", "date": "1", "owner": "bob", "number": 2 });
    let upsert = WriteOp::Upsert(NewItem::encode("a", &other_owner));
    assert_eq!(write(&store, upsert).await, charges::write(bytes, 1).0);
    let delete = WriteOp::Delete { id: "a".to_owned(), if_match: None };
    assert_eq!(write(&store, delete).await, charges::write(bytes, 5).0);
}

async fn newest(store: &EmbeddedStore, limit: usize) -> OperationRecord {
    let ledger = Ledger::new();
    let query = Query::Newest { container: THINGS, item_type: "thing", after: None, limit };
    store.query(&query, &ledger).await.expect("a page");
    ledger.operations()[0]
}

#[tokio::test]
async fn a_fan_out_is_charged_for_the_items_of_each_partition() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = EmbeddedConfig { physical_partitions: Some(8), ..config(directory.path()) };
    let clock = Arc::new(ManualClock::new(1_750_000_000_000));
    let store = EmbeddedStore::open(&config, &[SPEC], clock).expect("the store opens");
    for number in 10..40 {
        create(&store, &format!("h{number}"), &format!("a{number}"), number).await;
    }
    let bytes = thing("h10", "a10", 10).body.len();
    let all = newest(&store, 30).await;
    assert_eq!((all.items, all.charge), (30, charges::query(8, 30, 30 * bytes)));
    // Each is asked for five of eight, and has less: what one returns is between the page and everything.
    let page = newest(&store, 8).await;
    let between = |least: RequestCharge, most: RequestCharge| page.charge > least && page.charge <= most;
    assert_eq!(page.items, 8);
    assert!(between(charges::query(8, 8, 8 * bytes), charges::query(8, 30, 30 * bytes)), "{page:?}");
    // One logical partition returns what the page holds and no more.
    let ledger = Ledger::new();
    let query = Query::Partition {
        container: THINGS,
        partition_key: &"h10".into(),
        item_type: "thing",
        direction: Direction::NewestFirst,
        after: None,
        limit: 8,
    };
    store.query(&query, &ledger).await.expect("a page");
    assert_eq!(ledger.total(), charges::query(1, 1, bytes));
}

#[tokio::test]
async fn a_replace_is_charged_by_the_configured_source() {
    for replace_cost in ReplaceCost::ALL {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let config = EmbeddedConfig { replace_cost, ..config(directory.path()) };
        let clock = Arc::new(ManualClock::new(1_750_000_000_000));
        let store = EmbeddedStore::open(&config, &[SPEC], clock).expect("the store opens");
        let bytes = with_number(1).body.len();
        let insertion = charges::write(bytes, 5).0;
        assert_eq!(write(&store, WriteOp::Create(with_number(1))).await, insertion);
        let ledger = Ledger::new();
        let replace = WriteOp::Replace { item: with_number(2), if_match: None };
        store.write(THINGS, &"h".into(), replace, &ledger).await.expect("written");
        let basis = ledger.operations()[0].basis;
        assert_eq!((basis.changes, basis.insertions), (charges::write(bytes, 0).0, insertion));
        let expected = match replace_cost {
            ReplaceCost::Article => basis.changes,
            ReplaceCost::Emulator => 1.5 * insertion,
            ReplaceCost::Documentation => 2.0 * insertion,
        };
        assert_eq!(ledger.total().0, expected, "{replace_cost:?}");
    }
}
