//! A process that holds the directory, and its end by SIGKILL. The tests start their own binary once more,
//! which then runs only [`the_other_process`].

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use onehop_store::embedded::{Durability, EmbeddedStore, OpenError};
use onehop_store::{Direction, FeedRequest, Item, Ledger, Query, Store};
use serde_json::Value;

use crate::embedded::harness::{THINGS, config, create_batch, open, open_with};

const DIRECTORY: &str = "ONEHOP_TEST_DIRECTORY";
const DURABILITY: &str = "ONEHOP_TEST_DURABILITY";
const FIRST_BATCH: &str = "ONEHOP_TEST_FIRST_BATCH";

const ITEMS_PER_BATCH: u64 = 5;
const HOMES: u64 = 3;

fn home(batch: u64) -> String {
    format!("h{}", batch % HOMES)
}

/// Not a test: opens the directory, says so, and writes batches until it is killed or its input is closed.
#[tokio::test]
#[ignore = "run by the tests of this file in a process of its own"]
async fn the_other_process() {
    let Ok(path) = std::env::var(DIRECTORY) else { return };
    let mut config = config(Path::new(&path));
    config.durability = if std::env::var(DURABILITY).as_deref() == Ok("sync") {
        Durability::Sync
    } else {
        Durability::Relaxed
    };
    let store = open_with(&config).expect("the store opens");
    println!("\nopen");
    let Ok(first) = std::env::var(FIRST_BATCH) else {
        let _ = std::io::stdin().read_line(&mut String::new());
        return;
    };
    for batch in first.parse::<u64>().expect("a number").. {
        create_batch(&store, &home(batch), batch, ITEMS_PER_BATCH).await.expect("written");
        println!("acknowledged {batch}");
        std::io::stdout().flush().expect("the parent reads");
    }
}

fn start(path: &Path, durability: &str, first_batch: Option<u64>) -> (Child, BufReader<ChildStdout>) {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", "embedded::crash::the_other_process", "--ignored", "--nocapture"]);
    command.env(DIRECTORY, path).env(DURABILITY, durability);
    if let Some(first) = first_batch {
        command.env(FIRST_BATCH, first.to_string());
    }
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a process");
    let mut output = BufReader::new(child.stdout.take().expect("its output"));
    let mut line = String::new();
    while line.trim() != "open" {
        line.clear();
        assert_ne!(output.read_line(&mut line).expect("a line"), 0, "the other process ended early");
    }
    (child, output)
}

#[test]
fn a_locked_directory_is_refused_until_its_process_ends() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (mut child, _output) = start(directory.path(), "relaxed", None);
    let error = open_with(&config(directory.path())).err().expect("refused");
    assert!(error.to_string().contains(&format!("(process {})", child.id())), "{error}");
    assert!(matches!(&error, OpenError::InUse { holder, .. } if *holder == Some(child.id().to_string())));
    child.kill().expect("killed");
    child.wait().expect("ended");
    drop(open(directory.path()));
}

/// Lets another process write until it has acknowledged this many batches, kills it, and returns how many
/// batches it had acknowledged by then.
fn write_and_kill(path: &Path, durability: &str, first_batch: u64, batches: u64) -> u64 {
    let (mut child, mut output) = start(path, durability, Some(first_batch));
    let mut next = first_batch;
    let mut line = String::new();
    let mut read = |output: &mut BufReader<ChildStdout>, next: &mut u64| {
        line.clear();
        let bytes = output.read_line(&mut line).unwrap_or(0);
        if let Some(batch) =
            line.trim().strip_prefix("acknowledged ").and_then(|batch| batch.parse::<u64>().ok())
            && line.ends_with('\n')
        {
            *next = batch + 1;
        }
        bytes
    };
    while next < first_batch + batches {
        assert_ne!(read(&mut output, &mut next), 0, "the other process ended early");
    }
    child.kill().expect("killed");
    while read(&mut output, &mut next) > 0 {}
    child.wait().expect("ended");
    next
}

fn number(item: &Item) -> u64 {
    item.decode::<Value>().expect("JSON")["number"].as_u64().expect("a number")
}

/// Checks that all batches up to `acknowledged` are there, and each one whole in items, indexes and feed.
async fn check(store: &EmbeddedStore, acknowledged: u64) -> u64 {
    let ledger = Ledger::new();
    let (container, item_type) = (THINGS, "thing");
    let mut items = 0;
    for place in 0..HOMES {
        let partition_key = &home(place).as_str().into();
        let (mut after, mut found) = (None, Vec::new());
        loop {
            let query = Query::Partition {
                container,
                partition_key,
                item_type,
                direction: Direction::OldestFirst,
                after: after.as_ref(),
                limit: 1000,
                order_by: None,
            };
            let page = store.query(&query, &ledger).await.expect("a page");
            found.extend(page.items.iter().map(number));
            let Some(last) = page.items.last().filter(|_| page.has_more) else { break };
            let body: Value = last.decode().expect("JSON");
            let text = |name: &str| body[name].as_str().expect("a text").to_owned();
            after = Some(onehop_store::Keyset { order_value: text("date"), id: text("id") });
        }
        let batches = found.len() as u64 / ITEMS_PER_BATCH;
        let whole = (0..batches).flat_map(|batch| [batch * HOMES + place; ITEMS_PER_BATCH as usize]);
        assert_eq!(found, whole.collect::<Vec<_>>(), "every batch is whole and none is missing in between");
        assert!(batches * HOMES + place >= acknowledged, "an acknowledged batch was lost");
        items += found.len() as u64;
    }
    assert_eq!(by_owner(store).await, items, "the index is whole");
    assert_eq!(changes(store).await, items, "the change feed is whole");
    items
}

async fn by_owner(store: &EmbeddedStore) -> u64 {
    let (mut items, mut after) = (0, None);
    loop {
        let query = Query::Equality {
            container: THINGS,
            path: "owner",
            value: "ada",
            item_type: "thing",
            direction: Direction::NewestFirst,
            after: after.as_ref(),
            limit: 1000,
            order_by: None,
        };
        let page = store.query(&query, &Ledger::new()).await.expect("a page");
        items += page.items.len() as u64;
        let Some(last) = page.items.last().filter(|_| page.has_more) else { return items };
        let body: Value = last.decode().expect("JSON");
        let text = |name: &str| body[name].as_str().expect("a text").to_owned();
        after = Some(onehop_store::Keyset { order_value: text("date"), id: text("id") });
    }
}

async fn changes(store: &EmbeddedStore) -> u64 {
    let mut changes = 0;
    for range in store.feed_ranges(THINGS).await.expect("ranges") {
        let mut continuation = None;
        loop {
            let continuation_now = continuation.as_ref();
            let request = FeedRequest {
                container: THINGS,
                range: &range,
                continuation: continuation_now,
                types: None,
                limit: 1000,
            };
            let page = store.read_change_feed(&request, &Ledger::new()).await.expect("a page");
            changes += page.changes.len() as u64;
            if page.drained {
                break;
            }
            continuation = Some(page.continuation);
        }
    }
    changes
}

#[tokio::test]
async fn every_acknowledged_batch_outlives_a_kill() {
    for durability in ["sync", "relaxed"] {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut next = 0;
        for round in 1..=6 {
            next = write_and_kill(directory.path(), durability, next, 20 * round);
            let store = open(directory.path());
            let items = check(&store, next).await;
            // The batch that was under way when the process ended may have happened, too.
            next = items / ITEMS_PER_BATCH;
        }
    }
}
