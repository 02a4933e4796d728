//! Lists of more entries than a batch has operations: each batch that adds entries writes the last listed
//! one, too.

use std::sync::Arc;

use onehop_change_feed::{Projection, ReadResult, StepInput};
use onehop_read_models::{ItemType, ListPartition, ReadModels, Rule, list};
use onehop_store::{
    Change, ContainerName, ContainerSpec, ETag, Item, PartitionKey, QueryPage, WriteOp, limits,
};
use serde_json::json;

const BOOKS: ContainerName = ContainerName("books");
const NEWEST: ContainerName = ContainerName("newestBooks");
const HIGHEST: ContainerName = ContainerName("highestBooks");
/// More than a batch holds.
const LISTED_MAX: usize = 150;

const fn spec(name: ContainerName, newest_types: &'static [&'static str]) -> ContainerSpec {
    ContainerSpec {
        name,
        partition_key: "type",
        order_by: Some("date"),
        orders: &[],
        ttl_s: None,
        equality: &[],
        newest_types,
        soft_deletes: true,
    }
}

const SPECS: &[ContainerSpec] = &[spec(BOOKS, &["book"]), spec(NEWEST, &[]), spec(HIGHEST, &[])];
fn rules() -> Vec<Rule> {
    let book = ItemType::new(BOOKS, "book", &["date"]);
    vec![
        list("newest")
            .of(&book)
            .into(NEWEST, ListPartition::Constant("book"))
            .fields(&["date"])
            .newest(LISTED_MAX),
        list("highest")
            .of(&book)
            .into(HIGHEST, ListPartition::Constant("book"))
            .fields(&["date"])
            .highest(LISTED_MAX),
    ]
}

fn projection(name: &str) -> Arc<dyn Projection> {
    ReadModels::new(SPECS, rules()).expect("no mistakes").projection(name).expect("a rule of this name")
}

fn item(number: usize) -> Item {
    let date = format!("{number:04}");
    let body = json!({ "id": date, "type": "book", "date": date, "version": 1 });
    Item { body: body.to_string().into_bytes().into(), etag: ETag::from_text(date.as_str()), timestamp_ms: 0 }
}

/// The books of these numbers, the last of them first.
fn page(numbers: std::ops::Range<usize>) -> ReadResult {
    ReadResult::Page(Arc::new(QueryPage { items: numbers.rev().map(item).collect(), has_more: false }))
}

fn change(number: usize) -> Change {
    Change { partition_key: PartitionKey::from("book"), id: format!("{number:04}"), item: item(number) }
}

/// The writes of a projection: each batch by its operations, as `create`, `replace` or `delete` with the id.
fn batches(step: &onehop_change_feed::Step) -> Vec<Vec<String>> {
    let name = |operation: &WriteOp| {
        let kind = match operation {
            WriteOp::Create(_) => "create",
            WriteOp::Replace { .. } => "replace",
            WriteOp::Upsert(_) => "upsert",
            WriteOp::Delete { .. } => "delete",
        };
        format!("{kind} {}", operation.id())
    };
    step.writes().iter().map(|batch| batch.operations.iter().map(name).collect()).collect()
}

fn assert_guarded(batches: &[Vec<String>], last: &str, first_added: &str) {
    let [batch] = batches else { panic!("{} batches: {batches:?}", batches.len()) };
    assert_eq!(batch.len(), limits::BATCH_OPERATIONS_MAX);
    assert_eq!(batch[..2], [format!("replace {last}"), format!("create {first_added}")]);
}

/// One entry is left. The first batch adds entries as far as it can, and the next one follows from the list
/// as it is then.
#[test]
fn a_large_list_is_filled_by_guarded_batches() {
    let newest = projection("newest");
    let listing = [page(200..201)];
    let looked = newest.step(&change(1), StepInput { results: &listing, ..StepInput::first() });
    let asked = looked.expect("a step");
    let results = [page(200..201), page(51..200)];
    let refilled =
        newest.step(&change(1), StepInput { state: asked.state(), results: &results, ..StepInput::first() });
    let step = refilled.expect("a step");
    assert_guarded(&batches(&step), "0200", "0199");
    // The added entries are compared with their sources, no more and no less.
    assert_eq!(step.reads().len(), limits::BATCH_OPERATIONS_MAX);
}

#[test]
fn a_large_ranking_is_filled_by_guarded_batches() {
    let highest = projection("highest");
    let listing = [page(200..201)];
    let looked = highest.step(&change(1), StepInput { results: &listing, ..StepInput::first() });
    let state = looked.expect("a step").state().clone();
    let results = [page(200..201), ReadResult::Item(None)];
    let placed =
        highest.step(&change(1), StepInput { state: &state, results: &results, ..StepInput::first() });
    let state = placed.expect("a step").state().clone();
    let results = [page(200..201), page(51..201)];
    let ranked =
        highest.step(&change(1), StepInput { state: &state, results: &results, ..StepInput::first() });
    let step = ranked.expect("a step");
    assert_guarded(&batches(&step), "0200", "0199");
    // The rest is asked for although the list may be full of other entries by then.
    let settled: Vec<_> = step.reads().iter().skip(1).map(|_| ReadResult::Item(None)).collect();
    let mut results = vec![page(0..LISTED_MAX)];
    results.extend(settled);
    let state = step.state().clone();
    let next = highest.step(&change(1), StepInput { state: &state, results: &results, ..StepInput::first() });
    assert_eq!(next.expect("a step").reads().len(), 2, "the listing and the highest");
}
