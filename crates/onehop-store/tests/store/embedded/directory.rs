//! The data directory: one process at a time, a format, and stored settings.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onehop_runtime::clock::ManualClock;
use onehop_store::embedded::{
    EmbeddedStore, OpenError, PHYSICAL_PARTITIONS_DEFAULT, PHYSICAL_PARTITIONS_MAX, check_directory, recover,
};
use onehop_store::{
    ContainerName, ContainerSpec, Direction, Ledger, NewItem, Query, Store, TypeOrder, WriteOp,
};
use serde_json::json;

use crate::embedded::harness::{SPEC, THINGS, config, create, open, open_with, thing};

fn refused(outcome: Result<EmbeddedStore, OpenError>) -> OpenError {
    outcome.err().expect("the directory is refused")
}

#[tokio::test]
async fn a_second_handle_is_refused_with_the_process_id() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = open(directory.path());
    let error = refused(open_with(&config(directory.path())));
    let message = error.to_string();
    let OpenError::InUse { path, holder } = error else { panic!("{error:?}") };
    assert_eq!(path, directory.path());
    assert_eq!(holder, Some(std::process::id().to_string()));
    assert!(message.contains(&format!("(process {})", std::process::id())), "{message}");
    assert!(message.contains(&directory.path().display().to_string()), "{message}");
    assert!(message.contains("--data"), "{message}");
    create(&store, "h1", "a", 1).await;
    drop(store);
    let store = open(directory.path());
    assert!(store.read(THINGS, &"h1".into(), "a", &Ledger::new()).await.expect("a read").is_some());
}

#[tokio::test]
async fn a_waiting_process_gets_the_directory_after_close() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for round in 0..20 {
        let store = open(directory.path());
        create(&store, "h1", &format!("a{round}"), round).await;
        let waiting = Arc::new(AtomicBool::new(false));
        let waiter = std::thread::spawn({
            let (config, waiting) = (config(directory.path()), Arc::clone(&waiting));
            move || loop {
                match open_with(&config) {
                    Err(OpenError::InUse { .. }) => waiting.store(true, Ordering::SeqCst),
                    other => return other.map(drop),
                }
                std::thread::yield_now();
            }
        });
        while !waiting.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        drop(store);
        waiter.join().expect("no panic").expect("the directory is whole and free, or not free at all");
    }
}

#[test]
fn a_newer_format_is_refused() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    drop(open(directory.path()));
    fs::write(directory.path().join("format"), "3\n").expect("written");
    let error = refused(open_with(&config(directory.path())));
    assert!(matches!(error, OpenError::NewerFormat { found: 3, known: 2, .. }), "{error:?}");
    assert!(error.to_string().contains("use a newer onehop"), "{error}");
}

#[test]
fn a_format_file_that_holds_no_number_is_refused() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for text in ["", "one", "1 2", "-1"] {
        fs::write(directory.path().join("format"), text).expect("written");
        let error = refused(open_with(&config(directory.path())));
        assert!(matches!(error, OpenError::NotADataDirectory { .. }), "{text:?}: {error:?}");
    }
}

#[test]
fn a_format_file_that_is_missing_beside_data_is_an_error() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    drop(open(directory.path()));
    fs::remove_file(directory.path().join("format")).expect("removed");
    let error = refused(open_with(&config(directory.path())));
    assert!(matches!(error, OpenError::FormatMissing { .. }), "{error:?}");
    assert!(error.to_string().contains("put it back"), "{error}");
    let error = recover(&config(directory.path()), &[SPEC], &mut |_| {}).expect_err("refused");
    assert!(matches!(error, OpenError::FormatMissing { .. }), "{error:?}");
    let found = check_directory(&config(directory.path()), &[SPEC], &mut |_| true).expect("found out");
    assert!(found.expect("not stopped").problems[0].contains("put it back"));
    assert!(!directory.path().join("format").exists(), "no command writes it");
}

#[test]
fn an_interrupted_first_opening_is_completed() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    fs::write(directory.path().join("lock"), "").expect("written");
    fs::write(directory.path().join("format.unfinished"), "").expect("written");
    drop(open(directory.path()));
    assert_eq!(fs::read_to_string(directory.path().join("format")).expect("a format").trim(), "2");
    drop(open(directory.path()));
}

#[test]
fn the_number_of_physical_partitions_never_changes() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut config = config(directory.path());
    config.physical_partitions = Some(7);
    assert_eq!(open_with(&config).expect("the store opens").physical_partitions(THINGS), 7);
    config.physical_partitions = None;
    assert_eq!(open_with(&config).expect("the store opens").physical_partitions(THINGS), 7);
    config.physical_partitions = Some(8);
    let error = refused(open_with(&config));
    assert!(matches!(error, OpenError::PhysicalPartitions { stored: 7, wanted: 8, .. }), "{error:?}");
    config.physical_partitions = Some(7);
    open_with(&config).expect("the store opens");
}

#[test]
fn physical_partitions_are_1_to_1000() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for wanted in [0, PHYSICAL_PARTITIONS_MAX + 1] {
        let mut config = config(&directory.path().join("none"));
        config.physical_partitions = Some(wanted);
        let error = refused(open_with(&config));
        assert!(matches!(error, OpenError::PhysicalPartitionsLimit { .. }), "{error:?}");
        assert!(!config.path.exists(), "nothing is made for a setting that is refused");
    }
    let store = open(directory.path());
    assert_eq!(store.physical_partitions(THINGS), u32::from(PHYSICAL_PARTITIONS_DEFAULT));
}

#[tokio::test]
async fn a_container_with_another_partition_key_is_refused() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    create(&open(directory.path()), "h1", "a", 1).await;
    let spec = ContainerSpec { partition_key: "owner", ..SPEC };
    let clock = Arc::new(ManualClock::new(0));
    let error = refused(EmbeddedStore::open_with(&config(directory.path()), &[spec], clock));
    assert!(matches!(&error, OpenError::ContainerChanged { container, .. } if container == "things"));
    assert_eq!(count_of(&open(directory.path())).await, 1, "nothing was changed");
}

const TWO_ORDERS: &[TypeOrder] = &[
    TypeOrder { item_type: "thing", property: "-colour,rank" },
    TypeOrder { item_type: "thing", property: "rank" },
];

/// The number of things in a logical partition.
async fn count_of(store: &EmbeddedStore) -> u64 {
    store.count(THINGS, &"h1".into(), "thing", &Ledger::new()).await.expect("a count")
}

/// Things by an order, in a logical partition and of all partitions, and by an equality.
async fn found(
    store: &EmbeddedStore,
    order_by: Option<&'static str>,
    path: &'static str,
) -> Vec<Vec<String>> {
    let (container, item_type, direction) = (THINGS, "thing", Direction::NewestFirst);
    let (after, limit, home) = (None, 10, "h1".into());
    let mut found = Vec::new();
    for query in [
        Query::Partition { container, partition_key: &home, item_type, order_by, direction, after, limit },
        Query::Newest { container, item_type, order_by, direction, after, limit },
        Query::Equality { container, path, value: "red", item_type, order_by, direction, after, limit },
    ] {
        let page = store.query(&query, &Ledger::new()).await.expect("a page");
        let ids =
            page.items.iter().map(|item| item.decode::<serde_json::Value>().expect("JSON")["id"].to_string());
        found.push(ids.collect());
    }
    found
}

#[tokio::test]
async fn other_orders_and_indexes_are_made_anew_when_opening() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = config(directory.path());
    let open_as = |spec: ContainerSpec| {
        EmbeddedStore::open_with(&config, &[spec], Arc::new(ManualClock::new(0))).expect("it opens")
    };
    let first = ContainerSpec { order_by: Some("date"), equality: &["owner"], newest_types: &[], ..SPEC };
    let store = open_as(first);
    for (id, rank, colour) in [("a", 3, "red"), ("b", 1, "red"), ("c", 2, "blue")] {
        let body = json!({
            "id": id, "home": "h1", "type": "thing", "owner": "ada", "colour": colour, "date": id, "rank": rank
        });
        let write = WriteOp::Create(NewItem::encode(id, &body));
        store.write(THINGS, &"h1".into(), write, &Ledger::new()).await.expect("written");
    }
    let etag =
        store.read(THINGS, &"h1".into(), "a", &Ledger::new()).await.expect("a read").expect("an item").etag;
    drop(store);
    let second = ContainerSpec {
        order_by: None,
        orders: TWO_ORDERS,
        equality: &["colour"],
        newest_types: &["thing"],
        ..SPEC
    };
    for _ in 0..2 {
        let store = open_as(second);
        let quoted = |ids: &[&str]| ids.iter().map(|id| format!("{id:?}")).collect::<Vec<_>>();
        let (all, red) = (quoted(&["c", "a", "b"]), quoted(&["a", "b"]));
        assert_eq!(found(&store, None, "colour").await, [all.clone(), all, red], "by colour, falling rank");
        let (all, red) = (quoted(&["a", "c", "b"]), quoted(&["a", "b"]));
        assert_eq!(found(&store, Some("rank"), "colour").await, [all.clone(), all, red], "by rank");
        assert_eq!(count_of(&store).await, 3);
        let item =
            store.read(THINGS, &"h1".into(), "a", &Ledger::new()).await.expect("a read").expect("an item");
        assert_eq!(item.etag, etag);
        let checked = store.check(&mut |_| true).expect("open").expect("not stopped");
        assert_eq!((checked.items, checked.problems), (3, Vec::new()));
    }
}

#[tokio::test]
async fn a_new_index_is_allowed_on_an_unused_property() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    create(&open(directory.path()), "h1", "a", 1).await;
    let spec = ContainerSpec { equality: &["owner", "colour"], ..SPEC };
    for _ in 0..2 {
        let clock = Arc::new(ManualClock::new(0));
        let store = EmbeddedStore::open_with(&config(directory.path()), &[spec], clock).expect("it opens");
        let body = json!({"id": "b", "home": "h1", "type": "thing", "owner": "ada", "colour": "red"});
        let write = WriteOp::Upsert(NewItem::encode("b", &body));
        store.write(THINGS, &"h1".into(), write, &Ledger::new()).await.expect("written");
        for (path, value, count) in [("owner", "ada", 2), ("colour", "red", 1)] {
            let query = Query::Equality {
                container: THINGS,
                path,
                value,
                item_type: "thing",
                direction: Direction::OldestFirst,
                after: None,
                limit: 10,
                order_by: None,
            };
            let page = store.query(&query, &Ledger::new()).await.expect("a page");
            assert_eq!(page.items.len(), count, "{path}");
        }
        let write = WriteOp::Upsert(thing("h1", "a", 2));
        store.write(THINGS, &"h1".into(), write, &Ledger::new()).await.expect("written");
    }
}

#[tokio::test]
async fn containers_keep_their_items_when_reordered() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    create(&open(directory.path()), "h1", "a", 1).await;
    let other = ContainerSpec { name: ContainerName("other"), ..SPEC };
    let clock = || Arc::new(ManualClock::new(0));
    let home = "h1".into();
    {
        let store =
            EmbeddedStore::open_with(&config(directory.path()), &[other, SPEC], clock()).expect("it opens");
        assert!(store.read(THINGS, &home, "a", &Ledger::new()).await.expect("a read").is_some());
        assert!(store.read(other.name, &home, "a", &Ledger::new()).await.expect("a read").is_none());
        let create = WriteOp::Create(thing("h1", "b", 2));
        store.write(other.name, &home, create, &Ledger::new()).await.expect("created");
    }
    let store =
        EmbeddedStore::open_with(&config(directory.path()), &[SPEC, other], clock()).expect("it opens");
    assert!(store.read(other.name, &home, "b", &Ledger::new()).await.expect("a read").is_some());
    assert!(store.read(THINGS, &home, "b", &Ledger::new()).await.expect("a read").is_none());
}

#[tokio::test]
async fn numbers_of_writes_are_never_given_out_twice() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut last = 0;
    for round in 0..8 {
        let store = open(directory.path());
        for number in 0..3 {
            let etag = create(&store, "h1", "a", number).await.number().expect("a number");
            assert!(etag > last, "round {round}: {etag} after {last}");
            last = etag;
            let delete = WriteOp::Delete { id: "a".to_owned(), if_match: None };
            store.write(THINGS, &"h1".into(), delete, &Ledger::new()).await.expect("deleted");
        }
    }
}

#[tokio::test]
async fn the_store_says_where_it_is_and_how_much_it_takes() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = open(directory.path());
    assert_eq!(store.path(), directory.path());
    assert!(store.disk_bytes().expect("a number") > 0);
    store.ready().await.expect("ready");
}
