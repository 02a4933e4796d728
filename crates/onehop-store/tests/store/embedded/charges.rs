//! The store's own charges: which sizes, index terms and numbers it reports to the model of request charges.

use std::sync::Arc;

use onehop_runtime::clock::ManualClock;
use onehop_store::charges::{Calibration, QueryWork, ReadConsistency, RefusedWrite, Replacement, TermCount};
use onehop_store::embedded::{EmbeddedConfig, EmbeddedStore};
use onehop_store::{
    Batch, ChargeSource, Direction, Indexing, Ledger, NewItem, OperationRecord, Query, QuorumReads,
    RequestCharge, Store, WriteOp,
};
use serde_json::{Value, json};

use crate::embedded::harness::{SPEC, THINGS, config, create, open, thing};

const ONE: ReadConsistency = ReadConsistency::OneReplica;

async fn write(store: &EmbeddedStore, operation: WriteOp) -> f64 {
    let ledger = Ledger::new();
    let _ = store.write(THINGS, &"h".into(), operation, &ledger).await;
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

fn replacement(bytes: usize, changed: TermCount) -> Replacement {
    Replacement { bytes_before: bytes, bytes_after: bytes, changed, is_rewritten: false }
}

/// Five indexed paths, and the composite index of type, date and id.
const TERMS: TermCount = TermCount { plain: 5, literals: 0, composites: 1 };

#[tokio::test]
async fn a_write_is_charged_for_changed_indexed_paths() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (store, model) = (open(directory.path()), Calibration::current());
    let bytes = with_number(1).body.len();
    let created = model.create(bytes, TERMS).total().0;
    assert_eq!(write(&store, WriteOp::Create(with_number(1))).await, created);
    let replace = WriteOp::Replace { item: with_number(2), if_match: None };
    let unchanged = model.replace(replacement(bytes, TermCount::default())).total().0;
    assert_eq!(write(&store, replace).await, unchanged);
    let other_owner =
        json!({ "id": "a", "home": "h", "type": "thing", "date": "1", "owner": "bob", "number": 2 });
    let upsert = WriteOp::Upsert(NewItem::encode("a", &other_owner));
    assert_eq!(write(&store, upsert).await, model.replace(replacement(bytes, TermCount::of(1))).total().0);
    let delete = WriteOp::Delete { id: "a".to_owned(), if_match: None };
    assert_eq!(write(&store, delete).await, created);
}

#[tokio::test]
async fn refused_writes_are_charged_as_refusals() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (store, model) = (open(directory.path()), Calibration::current());
    let refused = |refused| model.refused(refused).total().0;
    let replace = || WriteOp::Replace { item: with_number(1), if_match: None };
    assert_eq!(write(&store, replace()).await, refused(RefusedWrite::Precondition));
    write(&store, WriteOp::Create(with_number(1))).await;
    let conflict = refused(RefusedWrite::Conflict { properties: 6 });
    assert_eq!(write(&store, WriteOp::Create(with_number(2))).await, conflict);
    // Work that a failed batch rolls back is charged, and the refusal.
    let other = json!({ "id": "b", "home": "h", "type": "thing", "date": "1", "owner": "ada", "number": 1 });
    let operations =
        vec![WriteOp::Create(NewItem::encode("b", &other)), WriteOp::Create(with_number(3)), replace()];
    let ledger = Ledger::new();
    let batch = Batch { container: THINGS, partition_key: "h".into(), operations };
    assert!(store.batch(batch, &ledger).await.is_err());
    let created = model.create(with_number(1).body.len(), TERMS).total().0;
    assert_eq!(ledger.total().0, created + conflict);
}

#[tokio::test]
async fn a_batch_that_writes_an_item_twice_pays_less_for_the_second() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = EmbeddedConfig { indexing: Indexing::All, ..config(directory.path()) };
    let clock = Arc::new(ManualClock::new(1_750_000_000_000));
    let store = EmbeddedStore::open_with(&config, &[SPEC], clock).expect("the store opens");
    let model = Calibration::current();
    let operations =
        vec![WriteOp::Create(with_number(1)), WriteOp::Replace { item: with_number(2), if_match: None }];
    let ledger = Ledger::new();
    let batch = Batch { container: THINGS, partition_key: "h".into(), operations };
    store.batch(batch, &ledger).await.expect("written");
    let bytes = with_number(1).body.len();
    let second = Replacement { is_rewritten: true, ..replacement(bytes, TermCount::of(1)) };
    let terms = TermCount { plain: 6, ..TERMS };
    let sum = model.create(bytes, terms).total().0 + model.replace(second).total().0;
    assert!((ledger.total().0 - sum).abs() < 1e-9);
}

#[tokio::test]
async fn nested_paths_arrays_and_null_count_as_the_service_has_them() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = EmbeddedConfig { indexing: Indexing::All, ..config(directory.path()) };
    let clock = Arc::new(ManualClock::new(1_750_000_000_000));
    let store = EmbeddedStore::open_with(&config, &[SPEC], clock).expect("the store opens");
    let model = Calibration::current();
    let item = |tags: Value| json!({ "id": "a", "home": "h", "type": "thing", "date": "1", "deep": { "er": null }, "tags": tags });
    let body = item(json!([{ "id": 1, "on": true }, { "id": 2, "on": true }]));
    let new = NewItem::encode("a", &body);
    let bytes = new.body.len();
    // id, home, type, date, deep, tags, tags[], two ids; er and on count half.
    let terms = TermCount { plain: 9, literals: 2, composites: 1 };
    assert_eq!(write(&store, WriteOp::Create(new)).await, model.create(bytes, terms).total().0);
    // One other id: its path, the element and the array.
    let changed = item(json!([{ "id": 1, "on": true }, { "id": 3, "on": true }]));
    let replace = WriteOp::Replace { item: NewItem::encode("a", &changed), if_match: None };
    assert_eq!(write(&store, replace).await, model.replace(replacement(bytes, TermCount::of(3))).total().0);
}

async fn newest(store: &EmbeddedStore, limit: usize) -> OperationRecord {
    let ledger = Ledger::new();
    let query = Query::Newest {
        container: THINGS,
        item_type: "thing",
        after: None,
        limit,
        order_by: None,
        direction: Direction::NewestFirst,
    };
    store.query(&query, &ledger).await.expect("a page");
    ledger.operations()[0]
}

fn query_charge(physical_partitions: u32, items: usize, item_bytes: usize) -> RequestCharge {
    // The type, and soft deletion.
    let bytes = items * item_bytes;
    let work = QueryWork { physical_partitions, conditions: 2, items, bytes, ..QueryWork::default() };
    Calibration::current().query(&work, ONE).total()
}

#[tokio::test]
async fn a_fan_out_is_charged_for_the_items_of_each_partition() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = EmbeddedConfig { physical_partitions: Some(8), ..config(directory.path()) };
    let clock = Arc::new(ManualClock::new(1_750_000_000_000));
    let store = EmbeddedStore::open_with(&config, &[SPEC], clock).expect("the store opens");
    for number in 10..40 {
        create(&store, &format!("h{number}"), &format!("a{number}"), number).await;
    }
    let bytes = thing("h10", "a10", 10).body.len();
    let all = newest(&store, 30).await;
    assert_eq!((all.items, all.charge), (30, query_charge(8, 30, bytes)));
    // Each is asked for nine, and has less: all are returned.
    let page = newest(&store, 8).await;
    assert_eq!((page.items, page.charge), (8, query_charge(8, 30, bytes)));
    // One logical partition returns the page.
    let ledger = Ledger::new();
    let query = Query::Partition {
        container: THINGS,
        partition_key: &"h10".into(),
        item_type: "thing",
        direction: Direction::NewestFirst,
        after: None,
        limit: 8,
        order_by: None,
    };
    store.query(&query, &ledger).await.expect("a page");
    assert_eq!(ledger.total(), query_charge(1, 1, bytes));
}

#[tokio::test]
async fn the_clients_of_2019_ask_for_five_times_the_share() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let calibration = Calibration::article_2019();
    let config = EmbeddedConfig { physical_partitions: Some(2), calibration, ..config(directory.path()) };
    let clock = Arc::new(ManualClock::new(1_750_000_000_000));
    let store = EmbeddedStore::open_with(&config, &[SPEC], clock).expect("the store opens");
    for number in 10..60 {
        create(&store, &format!("h{number}"), &format!("a{number}"), number).await;
    }
    // At most the whole page of each.
    let basis = newest(&store, 4).await.basis;
    assert_eq!((basis.is_across, basis.returned), (true, 8));
}

#[tokio::test]
async fn quorum_reads_are_charged_twice_and_writes_once() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = Arc::new(open(directory.path()));
    create(&store, "h", "a", 1).await;
    let quorum = QuorumReads::new(Arc::clone(&store) as Arc<dyn Store>, &Calibration::current());
    let charge = async |store: &dyn Store| {
        let ledger = Ledger::new();
        store.read(THINGS, &"h".into(), "a", &ledger).await.expect("read");
        store.count(THINGS, &"h".into(), "thing", &ledger).await.expect("counted");
        ledger.total().0
    };
    assert_eq!(charge(&quorum).await, 2.0 * charge(&*store).await);
    let ledger = Ledger::new();
    let delete = WriteOp::Delete { id: "a".to_owned(), if_match: None };
    quorum.write(THINGS, &"h".into(), delete, &ledger).await.expect("deleted");
    let bytes = thing("h", "a", 1).body.len();
    assert!(ledger.total().0 < Calibration::current().create(bytes, TermCount::of(9)).total().0);
}
