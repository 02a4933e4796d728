//! Lists that are kept short: an entry at one end drives out an item at the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onehop_store::{Direction, Ledger, Query, Store, WriteOp};
use serde_json::json;
use tokio::task::JoinSet;

use crate::contract::harness::{Subject, THINGS, batch, ids, item, thing};

const ITEMS: u32 = 20;
const ROUNDS: u32 = 300;
/// Where the numbers of the list begin, so that older items can enter, too.
const START: u32 = 10_000;

fn id(number: u32) -> String {
    format!("{number:05}")
}

fn enters(number: u32) -> WriteOp {
    WriteOp::Create(thing("h1", &id(number), &id(number)))
}

fn leaves(number: u32) -> WriteOp {
    WriteOp::Delete { id: id(number), if_match: None }
}

async fn newest_first(store: &dyn Store, limit: usize) -> (Vec<String>, bool) {
    let partition_key = "h1".into();
    let query = Query::Partition {
        container: THINGS,
        partition_key: &partition_key,
        item_type: "thing",
        direction: Direction::NewestFirst,
        after: None,
        limit,
        order_by: None,
    };
    let page = store.query(&query, &Ledger::new()).await.expect("a page");
    (ids(&page), page.has_more)
}

/// Moves the list by one batch: to newer items in most rounds, back to older ones in every fifth.
async fn move_list(subject: &Subject, first: &mut u32, round: u32) {
    let operations = if round % 5 == 4 {
        *first -= 1;
        vec![enters(*first), leaves(*first + ITEMS)]
    } else {
        *first += 1;
        vec![enters(*first + ITEMS - 1), leaves(*first - 1)]
    };
    subject.store.batch(batch("h1", operations), &Ledger::new()).await.expect("moved");
}

async fn list(subject: &Subject) {
    let operations = (START..START + ITEMS).map(enters).collect();
    subject.batch("h1", operations).await.expect("created");
}

pub async fn a_list_that_moves_is_whole_in_every_page(subject: Subject) {
    list(&subject).await;
    let done = Arc::new(AtomicBool::new(false));
    let mut readers = JoinSet::new();
    for _ in 0..3 {
        let (store, done) = (Arc::clone(&subject.store), Arc::clone(&done));
        readers.spawn(async move {
            while !done.load(Ordering::SeqCst) {
                let (found, has_more) = newest_first(&*store, 100).await;
                let newest: u32 = found.first().expect("items").parse().expect("a number");
                let whole: Vec<_> = (0..ITEMS).map(|place| id(newest - place)).collect();
                assert_eq!((found, has_more), (whole, false));
                tokio::task::yield_now().await;
            }
        });
    }
    let mut first = START;
    for round in 0..ROUNDS {
        move_list(&subject, &mut first, round).await;
    }
    done.store(true, Ordering::SeqCst);
    while let Some(outcome) = readers.join_next().await {
        outcome.expect("no reader panicked");
    }
}

pub async fn a_writer_finds_its_own_writes_at_both_ends(subject: Subject) {
    list(&subject).await;
    let mut first = START;
    for round in 0..ROUNDS {
        move_list(&subject, &mut first, round).await;
        let (found, has_more) = newest_first(&*subject.store, ITEMS as usize).await;
        let whole: Vec<_> = (first..first + ITEMS).rev().map(id).collect();
        assert_eq!((found, has_more), (whole, false));
    }
    let subject = if subject.can().reopen { subject.reopen().await } else { subject };
    move_list(&subject, &mut first, 0).await;
    let (found, _) = newest_first(&*subject.store, 100).await;
    assert_eq!(found, (first..first + ITEMS).rev().map(id).collect::<Vec<_>>());
}

pub async fn items_without_an_order_enter_a_moving_list_at_its_end(subject: Subject) {
    list(&subject).await;
    let mut first = START;
    move_list(&subject, &mut first, 0).await;
    newest_first(&*subject.store, 100).await;
    subject.create(item(&json!({"id": "a", "home": "h1", "type": "thing"}))).await;
    let (found, _) = newest_first(&*subject.store, 100).await;
    assert_eq!(found.len(), ITEMS as usize + 1);
}

pub async fn a_list_that_was_emptied_fills_again(subject: Subject) {
    list(&subject).await;
    subject.batch("h1", vec![leaves(START)]).await.expect("deleted");
    assert_eq!(newest_first(&*subject.store, 100).await.0.len(), ITEMS as usize - 1);
    subject.batch("h1", (START + 1..START + ITEMS).map(leaves).collect()).await.expect("deleted");
    assert_eq!(newest_first(&*subject.store, 100).await, (Vec::new(), false));
    subject.batch("h1", vec![enters(START + 5)]).await.expect("created");
    subject.batch("h1", vec![enters(START - 5)]).await.expect("created");
    assert_eq!(newest_first(&*subject.store, 100).await.0, [id(START + 5), id(START - 5)]);
}
