//! Items that are stored as a base and an edit: every kind of read answers the last write, also after a
//! backup, a recovery or another opening of the directory.

use std::path::Path;

use onehop_store::embedded::{EmbeddedConfig, EmbeddedStore, recover, restore};
use onehop_store::{ContainerSpec, Direction, FeedRequest, Keyset, Ledger, NewItem, Query, Store, WriteOp};
use serde_json::{Value, json};

use crate::embedded::damage::trim_journals;
use crate::embedded::harness::{SPEC, THINGS, config, open_with};

const TEXT: &str =
    "a text that stays as it is, however often the number beside it changes, and is long enough ";

/// A number in every store of these tests is a small change.
fn store_in(path: &Path) -> EmbeddedStore {
    open_with(&EmbeddedConfig { edits_from_bytes: 1, ..config(path) }).expect("the store opens")
}

fn thing(id: &str, date: &str, number: u64) -> NewItem {
    let body = json!({
        "id": id, "home": "h1", "type": "thing", "date": date, "owner": "ada", "number": number,
        "text": TEXT.repeat(3), "again": number,
    });
    NewItem::encode(id, &body)
}

async fn put(store: &EmbeddedStore, id: &str, date: &str, number: u64) {
    put_item(store, thing(id, date, number)).await;
}

async fn put_item(store: &EmbeddedStore, item: NewItem) {
    let operation = WriteOp::Upsert(item);
    store.write(THINGS, &"h1".into(), operation, &Ledger::new()).await.expect("written");
}

fn number_of(body: &Value) -> (String, u64) {
    assert_eq!(body["number"], body["again"], "{body}");
    assert_eq!(body["text"], TEXT.repeat(3));
    (body["id"].as_str().expect("an id").to_owned(), body["number"].as_u64().expect("a number"))
}

async fn page(
    store: &EmbeddedStore,
    direction: Direction,
    after: Option<&Keyset>,
    limit: usize,
) -> Vec<(String, u64)> {
    let query = Query::Partition {
        container: THINGS,
        partition_key: &"h1".into(),
        item_type: "thing",
        order_by: None,
        direction,
        after,
        limit,
    };
    let page = store.query(&query, &Ledger::new()).await.expect("a page");
    page.items.iter().map(|item| number_of(&item.decode().expect("JSON"))).collect()
}

fn sound(store: &EmbeddedStore) -> u64 {
    let found = store.check(&mut |_| true).expect("the engine is open").expect("it was not stopped");
    assert_eq!(found.problems, [] as [String; 0]);
    found.items
}

/// Compares every way of reading with the expected numbers, which are in the order of the list.
async fn assert_reads(store: &EmbeddedStore, expected: &[(&str, &str, u64)]) {
    let numbers: Vec<(String, u64)> =
        expected.iter().map(|(id, _, number)| ((*id).to_owned(), *number)).collect();
    for (id, _, number) in expected {
        let item =
            store.read(THINGS, &"h1".into(), id, &Ledger::new()).await.expect("a read").expect("there");
        assert_eq!(number_of(&item.decode().expect("JSON")), ((*id).to_owned(), *number));
    }
    for limit in 1..=expected.len() + 1 {
        for direction in [Direction::OldestFirst, Direction::NewestFirst] {
            let (mut found, mut after) = (Vec::new(), None);
            loop {
                let next = page(store, direction, after.as_ref(), limit).await;
                let Some((last, _)) = next.last() else { break };
                let (_, date, _) = expected.iter().find(|(id, ..)| id == last).expect("an item of the list");
                after = Some(Keyset { order_value: (*date).to_owned(), id: last.clone() });
                found.extend(next);
            }
            if direction == Direction::NewestFirst {
                found.reverse();
            }
            assert_eq!(found, numbers, "{limit} a page, {direction:?}");
        }
    }
    let query = Query::Newest {
        container: THINGS,
        item_type: "thing",
        after: None,
        limit: 100,
        order_by: None,
        direction: Direction::OldestFirst,
    };
    let newest = store.query(&query, &Ledger::new()).await.expect("a page");
    let newest: Vec<_> = newest.items.iter().map(|item| number_of(&item.decode().expect("JSON"))).collect();
    assert_eq!(newest, numbers);
    let count = store.count(THINGS, &"h1".into(), "thing", &Ledger::new()).await.expect("a count");
    assert_eq!(count, expected.len() as u64);
    let mut of_feed = Vec::new();
    for range in store.feed_ranges(THINGS).await.expect("ranges") {
        let request =
            FeedRequest { container: THINGS, range: &range, continuation: None, types: None, limit: 100 };
        let feed = store.read_change_feed(&request, &Ledger::new()).await.expect("a page");
        of_feed.extend(feed.changes.iter().map(|change| number_of(&change.item.decode().expect("JSON"))));
    }
    of_feed.sort();
    let mut sorted = numbers;
    sorted.sort();
    assert_eq!(of_feed, sorted);
    assert_eq!(sound(store), expected.len() as u64);
}

/// Ids of which one begins another, also with a byte that keys escape.
const WRITTEN: [(&str, &str, u64); 5] =
    [("a", "1", 12), ("a\u{1}", "1", 3), ("a\u{1}\u{1}", "1", 4), ("a!", "1", 5), ("b", "2", 100)];

async fn write_all(store: &EmbeddedStore) {
    for (id, date, last) in WRITTEN {
        for number in 1..=last {
            put(store, id, date, number).await;
        }
    }
}

#[tokio::test]
async fn an_item_with_an_edit_is_read_as_a_whole() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = store_in(directory.path());
    write_all(&store).await;
    assert_reads(&store, &WRITTEN).await;
    drop(store);
    // Also by a store that would write none.
    let store = open_with(&EmbeddedConfig { edits_from_bytes: usize::MAX, ..config(directory.path()) });
    let store = store.expect("the store opens");
    assert_reads(&store, &WRITTEN).await;
    // A whole write takes the edit away.
    put(&store, "b", "2", 101).await;
    let mut expected = WRITTEN;
    expected[4].2 = 101;
    assert_reads(&store, &expected).await;
}

#[tokio::test]
async fn an_item_with_an_edit_moves_and_goes_as_a_whole() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = store_in(directory.path());
    write_all(&store).await;
    put(&store, "b", "0", 7).await;
    assert_reads(&store, &[("b", "0", 7), WRITTEN[0], WRITTEN[1], WRITTEN[2], WRITTEN[3]]).await;
    for id in ["a", "b"] {
        let delete = WriteOp::Delete { id: id.to_owned(), if_match: None };
        store.write(THINGS, &"h1".into(), delete, &Ledger::new()).await.expect("deleted");
    }
    assert_reads(&store, &WRITTEN[1..4]).await;
}

#[tokio::test]
async fn a_backup_has_items_with_their_edits() {
    let (data, copies) =
        (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let (backup, restored) = (copies.path().join("backup"), copies.path().join("restored"));
    let store = store_in(data.path());
    write_all(&store).await;
    let note = store.backup(&backup, None, &mut |_| true).expect("a backup");
    assert_eq!(note.items, WRITTEN.len() as u64);
    restore(&backup, &restored, None, &mut |_| true).expect("restored");
    assert_reads(&store_in(&restored), &WRITTEN).await;
}

#[tokio::test]
async fn a_recovery_keeps_items_with_their_edits() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = store_in(directory.path());
    write_all(&store).await;
    drop(store);
    // The journal holds every write; its end is lost.
    trim_journals(directory.path());
    let journal = crate::embedded::damage::files(&directory.path().join("engine"), "jnl").pop();
    let (journal, bytes) = journal.expect("a journal");
    let file = std::fs::File::options().write(true).open(journal).expect("a journal");
    file.set_len(bytes - 600).expect("cut");
    let config = EmbeddedConfig { edits_from_bytes: 1, ..config(directory.path()) };
    assert!(open_with(&config).is_err(), "writes are missing");
    let specs: &[ContainerSpec] = &[SPEC];
    let recovery = recover(&config, specs, &mut |_| {}).expect("recovered");
    assert_eq!((recovery.items, recovery.items_dropped), (WRITTEN.len() as u64, 0));
    let store = open_with(&config).expect("the store opens");
    let item = store.read(THINGS, &"h1".into(), "b", &Ledger::new()).await.expect("a read").expect("there");
    let (_, last) = number_of(&item.decode().expect("JSON"));
    assert!((90..100).contains(&last), "{last}");
    let mut expected = WRITTEN;
    expected[4].2 = last;
    assert_reads(&store, &expected).await;
}

#[tokio::test]
async fn a_number_beside_a_long_text_costs_few_bytes() {
    let written = |edits_from_bytes: usize| async move {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let settings = EmbeddedConfig { edits_from_bytes, ..config(directory.path()) };
        let store = open_with(&settings).expect("the store opens");
        for number in 1..=200_u64 {
            let text = TEXT.repeat(30);
            let body = json!({"id": "b", "home": "h1", "type": "thing", "number": number, "text": text});
            put_item(&store, NewItem::encode("b", &body)).await;
        }
        store.memory_bytes()
    };
    let (whole, edited) = (written(usize::MAX).await, written(1).await);
    assert!(edited * 4 < whole, "{edited} of {whole} bytes");
}
