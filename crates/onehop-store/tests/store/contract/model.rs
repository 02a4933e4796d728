//! Random sequences of operations, compared with a model of the port that is nothing but a map.

use std::collections::BTreeMap;

use onehop_store::{Direction, ETag, NewItem, Query, Rejection, WriteError, WriteOp};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use crate::contract::harness::{
    BOTH_DIRECTIONS, Capabilities, Subject, THINGS, id_of, item, keyset_of, refusal_of,
};

const HOMES: [&str; 4] = ["h1", "h2", "h3\u{1}", "日本"];
const IDS: [&str; 5] = ["a", "b", "a!", "é", "zz"];
const DATES: [&str; 4] = ["", "2026-01-01", "2026-01-02", "2026-01-02\u{1}"];
const OWNERS: [&str; 3] = ["ada", "bob", "ada\u{1}"];
const TYPES: [&str; 2] = ["thing", "other"];
/// Beside it a number is a small part of an item.
const TEXT: &str = "a text, long enough, that a store may keep where it is, while numbers beside it change";

/// Random sequences that each test runs, and their length.
const SEQUENCES: usize = 40;
const STEPS_MAX: usize = 60;

#[derive(Debug, Clone)]
struct Shape {
    date: usize,
    owner: usize,
    item_type: usize,
    deleted: bool,
    ttl_s: Option<u32>,
}

#[derive(Debug, Clone)]
enum Write {
    Create(usize, Shape),
    Upsert(usize, Shape),
    Replace(usize, Shape, Match),
    Delete(usize, Match),
    /// Replaces an item by itself with another number.
    Count(usize),
}

#[derive(Debug, Clone, Copy)]
enum Match {
    None,
    Current,
    Stale,
}

#[derive(Debug, Clone)]
enum Step {
    Batch(usize, Vec<Write>),
    Advance(i64),
    Purge,
    Reopen,
}

fn shape() -> impl Strategy<Value = Shape> {
    let ttl_s = prop_oneof![3 => Just(None), 1 => (1_u32..30).prop_map(Some)];
    (0..DATES.len(), 0..OWNERS.len(), 0..TYPES.len(), prop::bool::weighted(0.2), ttl_s)
        .prop_map(|(date, owner, item_type, deleted, ttl_s)| Shape { date, owner, item_type, deleted, ttl_s })
}

fn write() -> impl Strategy<Value = Write> {
    let id = || 0..IDS.len();
    let if_match = || prop_oneof![Just(Match::None), Just(Match::Current), Just(Match::Stale)];
    prop_oneof![
        3 => (id(), shape()).prop_map(|(id, shape)| Write::Create(id, shape)),
        3 => (id(), shape()).prop_map(|(id, shape)| Write::Upsert(id, shape)),
        2 => (id(), shape(), if_match()).prop_map(|(id, shape, etag)| Write::Replace(id, shape, etag)),
        1 => (id(), if_match()).prop_map(|(id, etag)| Write::Delete(id, etag)),
        4 => id().prop_map(Write::Count),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => (0..HOMES.len(), prop::collection::vec(write(), 1..4)).prop_map(|(home, writes)| Step::Batch(home, writes)),
        2 => (1_i64..20_000).prop_map(Step::Advance),
        1 => Just(Step::Purge),
        1 => Just(Step::Reopen),
    ]
}

#[derive(Debug, Clone)]
struct Entry {
    body: Value,
    etag: ETag,
    /// The place of its last write among all writes.
    written: u64,
    expires_at_ms: Option<i64>,
}

/// The promises of the port, in a map.
#[derive(Debug, Clone, Default)]
struct Model {
    items: BTreeMap<(usize, usize), Entry>,
    now_ms: i64,
    /// To which a write's time is rounded down.
    resolution_ms: i64,
    writes: u64,
}

impl Model {
    fn live(&self, home: usize, id: usize) -> Option<&Entry> {
        let entry = self.items.get(&(home, id))?;
        entry.expires_at_ms.is_none_or(|expires_at_ms| expires_at_ms > self.now_ms).then_some(entry)
    }

    fn all(&self) -> impl Iterator<Item = (usize, usize, &Entry)> {
        self.items.keys().filter_map(|(home, id)| Some((*home, *id, self.live(*home, *id)?)))
    }

    /// Items of a query's answer, oldest first.
    fn visible(&self, wanted: impl Fn(usize, &Value) -> bool) -> Vec<&Value> {
        let seen = self.all().filter(|(_, _, entry)| entry.body["deleted"] != json!(true));
        let mut bodies: Vec<_> = seen
            .filter(|(home, _, entry)| wanted(*home, &entry.body))
            .map(|(_, _, entry)| &entry.body)
            .collect();
        let text = |body: &Value, name: &str| body[name].as_str().unwrap_or_default().to_owned();
        bodies.sort_by_key(|body| (text(body, "date"), text(body, "id"), text(body, "home")));
        bodies
    }

    fn put(&mut self, home: usize, id: usize, body: &Value) {
        self.writes += 1;
        let ttl_ms = body["ttl"].as_i64().map(|seconds| seconds * 1000);
        let written_ms = self.now_ms - self.now_ms % self.resolution_ms;
        let expires_at_ms = ttl_ms.map(|ttl_ms| written_ms + ttl_ms);
        // The store's ETag is filled in when it has answered.
        let etag = ETag::from_text("unknown");
        self.items
            .insert((home, id), Entry { body: body.clone(), etag, written: self.writes, expires_at_ms });
    }

    /// Does one write, or says why not.
    fn write(
        &mut self,
        home: usize,
        write: &Write,
        body: &Value,
        etag: Option<&ETag>,
    ) -> Result<(), Rejection> {
        let matches = |current: Option<&Entry>| match (current, etag) {
            (None, _) => Err(Rejection::NotFound),
            (Some(entry), Some(etag)) if entry.etag != *etag => Err(Rejection::PreconditionFailed),
            _ => Ok(()),
        };
        match write {
            Write::Create(id, _) if self.live(home, *id).is_some() => return Err(Rejection::Conflict),
            Write::Create(id, _) | Write::Upsert(id, _) => self.put(home, *id, body),
            Write::Replace(id, _, _) | Write::Count(id) => {
                matches(self.live(home, *id))?;
                self.put(home, *id, body);
            }
            Write::Delete(id, _) => {
                matches(self.live(home, *id))?;
                self.items.remove(&(home, *id));
            }
        }
        Ok(())
    }
}

struct Run {
    subject: Subject,
    model: Model,
    number: u64,
}

impl Run {
    fn body(&mut self, home: usize, id: usize, shape: &Shape) -> Value {
        self.number += 1;
        let mut body = json!({
            "id": IDS[id], "home": HOMES[home], "type": TYPES[shape.item_type], "owner": OWNERS[shape.owner],
            "number": self.number, "text": TEXT,
        });
        if !DATES[shape.date].is_empty() {
            body["date"] = DATES[shape.date].into();
        }
        if shape.deleted {
            body["deleted"] = true.into();
        }
        if let Some(ttl_s) = shape.ttl_s {
            body["ttl"] = ttl_s.into();
        }
        body
    }

    /// An item with another number, or a new one.
    fn counted(&mut self, entry: Option<&Entry>, home: usize, id: usize) -> Value {
        let Some(entry) = entry else {
            let shape = Shape { date: 0, owner: 0, item_type: 0, deleted: false, ttl_s: None };
            return self.body(home, id, &shape);
        };
        self.number += 1;
        let mut body = entry.body.clone();
        body["number"] = self.number.into();
        body
    }

    fn etag(&self, home: usize, id: usize, if_match: Match) -> Option<ETag> {
        match if_match {
            Match::None => None,
            Match::Current => self.model.live(home, id).map(|entry| entry.etag.clone()),
            Match::Stale => Some(ETag::from_number(u64::MAX)),
        }
    }

    async fn batch(&mut self, home: usize, writes: &[Write]) {
        let mut operations = Vec::new();
        let mut after = self.model.clone();
        let mut refused = None;
        for (position, write) in writes.iter().enumerate() {
            let (id, shape, if_match) = match write {
                Write::Create(id, shape) | Write::Upsert(id, shape) => (*id, Some(shape), Match::None),
                Write::Replace(id, shape, if_match) => (*id, Some(shape), *if_match),
                Write::Delete(id, if_match) => (*id, None, *if_match),
                Write::Count(id) => (*id, None, Match::None),
            };
            let body = match write {
                Write::Count(id) => self.counted(after.live(home, *id), home, *id),
                _ => shape.map_or(Value::Null, |shape| self.body(home, id, shape)),
            };
            let etag = self.etag(home, id, if_match);
            if refused.is_none()
                && let Err(reason) = after.write(home, write, &body, etag.as_ref())
            {
                refused = Some((position, reason));
            }
            let new = |body: &Value| -> NewItem { item(body) };
            operations.push(match write {
                Write::Create(..) => WriteOp::Create(new(&body)),
                Write::Upsert(..) => WriteOp::Upsert(new(&body)),
                Write::Replace(..) | Write::Count(_) => WriteOp::Replace { item: new(&body), if_match: etag },
                Write::Delete(..) => WriteOp::Delete { id: IDS[id].to_owned(), if_match: etag },
            });
        }
        let outcome = self.run(home, operations).await;
        match refused {
            Some(refused) => assert_eq!(refusal_of(outcome), refused),
            None => {
                let etags = outcome.expect("done");
                for (write, etag) in writes.iter().zip(etags) {
                    let id = match write {
                        Write::Delete(..) => {
                            assert_eq!(etag, None);
                            continue;
                        }
                        Write::Create(id, _)
                        | Write::Upsert(id, _)
                        | Write::Replace(id, _, _)
                        | Write::Count(id) => id,
                    };
                    if let Some(entry) = after.items.get_mut(&(home, *id)) {
                        entry.etag = etag.expect("an ETag");
                    }
                }
                self.model = after;
            }
        }
    }

    async fn run(&self, home: usize, mut operations: Vec<WriteOp>) -> Result<Vec<Option<ETag>>, WriteError> {
        if operations.len() == 1 {
            let operation = operations.remove(0);
            return self.subject.write(HOMES[home], operation).await.map(|etag| vec![etag]);
        }
        self.subject.batch(HOMES[home], operations).await
    }

    /// Compares everything that can be asked of the store with the model.
    async fn compare(&self) {
        for (home, home_name) in HOMES.into_iter().enumerate() {
            for (id, id_name) in IDS.into_iter().enumerate() {
                let found = self.subject.read(home_name, id_name).await;
                let expected = self.model.live(home, id);
                assert_eq!(found.as_ref().map(|item| &item.etag), expected.map(|entry| &entry.etag));
                let body = found.map(|item| item.decode::<Value>().expect("JSON"));
                assert_eq!(body.as_ref(), expected.map(|entry| &entry.body));
            }
            for item_type in TYPES {
                let wanted = |at: usize, body: &Value| at == home && body["type"] == item_type;
                let expected = self.model.visible(wanted).len() as u64;
                assert_eq!(self.subject.count(home_name, item_type).await, expected);
            }
        }
        self.compare_queries().await;
        self.compare_feed().await;
    }

    async fn compare_queries(&self) {
        let container = THINGS;
        for item_type in TYPES {
            for direction in BOTH_DIRECTIONS {
                for (home, name) in HOMES.into_iter().enumerate() {
                    let partition_key = &name.into();
                    let (after, limit) = (None, 100);
                    let query = Query::Partition {
                        container,
                        partition_key,
                        item_type,
                        direction,
                        after,
                        limit,
                        order_by: None,
                    };
                    self.compare_query(&query, direction, |at, body| at == home && body["type"] == item_type)
                        .await;
                }
                for value in OWNERS {
                    let (path, after, limit) = ("owner", None, 100);
                    let query = Query::Equality {
                        container,
                        path,
                        value,
                        item_type,
                        direction,
                        after,
                        limit,
                        order_by: None,
                    };
                    let wanted = |_: usize, body: &Value| body["owner"] == value && body["type"] == item_type;
                    self.compare_query(&query, direction, wanted).await;
                }
            }
        }
        let query = Query::Newest {
            container,
            item_type: "thing",
            after: None,
            limit: 100,
            order_by: None,
            direction: Direction::NewestFirst,
        };
        self.compare_query(&query, Direction::NewestFirst, |_, body| body["type"] == "thing").await;
    }

    async fn compare_query(
        &self,
        query: &Query<'_>,
        direction: Direction,
        wanted: impl Fn(usize, &Value) -> bool,
    ) {
        let mut expected = self.model.visible(wanted);
        if direction == Direction::NewestFirst {
            expected.reverse();
        }
        let page = self.subject.query(query).await;
        let found: Vec<Value> = page.items.iter().map(|item| item.decode().expect("JSON")).collect();
        assert_eq!(in_order(&found), in_order(expected.iter().copied()), "{query:?}");
        if let Query::Partition { container, partition_key, item_type, direction, .. } = *query
            && found.len() > 1
        {
            let (first, limit) = (keyset_of(&page.items[0]), 1);
            let after = Some(&first);
            let query = Query::Partition {
                container,
                partition_key,
                item_type,
                direction,
                after,
                limit,
                order_by: None,
            };
            let second = self.subject.query(&query).await;
            assert_eq!(id_of(&second.items[0]), id_of(&page.items[1]));
            assert_eq!(second.has_more, found.len() > 2);
        }
    }

    async fn compare_feed(&self) {
        let changes = self.subject.feed_from_beginning().await;
        assert_eq!(changes.len(), self.model.all().count());
        for (home, name) in HOMES.into_iter().enumerate() {
            let of_home = changes.iter().filter(|change| change.partition_key.as_str() == name);
            let mut found: Vec<_> =
                of_home.map(|change| (change.id.as_str(), change.item.etag.clone())).collect();
            let mut expected: Vec<_> = self.model.all().filter(|(at, _, _)| *at == home).collect();
            expected.sort_by_key(|(_, _, entry)| entry.written);
            let mut expected: Vec<_> =
                expected.iter().map(|(_, id, entry)| (IDS[*id], entry.etag.clone())).collect();
            if !self.subject.can().orders_batches {
                found.sort_by_key(|(id, _)| *id);
                expected.sort_by_key(|(id, _)| *id);
            }
            assert_eq!(found, expected, "in the order of the last writes");
        }
    }
}

/// Items with their places. Items at the same place, in several logical partitions, come in any order.
fn in_order<'a>(items: impl IntoIterator<Item = &'a Value>) -> Vec<(String, String, Vec<&'a Value>)> {
    let mut places: Vec<(String, String, Vec<&Value>)> = Vec::new();
    for item in items {
        let text = |name: &str| item[name].as_str().unwrap_or_default().to_owned();
        let (date, id) = (text("date"), text("id"));
        match places.last_mut().filter(|(at, tied, _)| *at == date && *tied == id) {
            Some((_, _, tied)) => tied.push(item),
            None => places.push((date, id, vec![item])),
        }
    }
    for (_, _, tied) in &mut places {
        tied.sort_by_key(|item| item["home"].to_string());
    }
    places
}

fn possible(step: &Step, can: Capabilities) -> bool {
    match step {
        Step::Batch(..) => true,
        Step::Advance(_) => can.move_time,
        Step::Purge => can.purge,
        Step::Reopen => can.reopen,
    }
}

/// Runs the sequences one after the other on one store: each begins with the content of the one before.
pub async fn random_operations_do_what_a_map_would_do(subject: Subject) {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let sequence = prop::collection::vec(step(), 1..STEPS_MAX);
    let resolution_ms = if subject.can().exact_times { 1 } else { 1000 };
    let model = Model { resolution_ms, ..Model::default() };
    let mut run = Run { subject, model, number: 0 };
    for number in 0..SEQUENCES {
        let steps = sequence.new_tree(&mut runner).expect("a sequence").current();
        let can = run.subject.can();
        for step in steps.iter().filter(|step| possible(step, can)) {
            match step {
                Step::Batch(home, writes) => run.batch(*home, writes).await,
                Step::Advance(by_ms) => {
                    run.subject.advance_ms(*by_ms).await;
                    run.model.now_ms += by_ms;
                }
                Step::Purge => {
                    run.subject.purge_expired().await;
                }
                Step::Reopen => run.subject = run.subject.reopen().await,
            }
        }
        eprintln!("sequence {number}: {} steps, {} items", steps.len(), run.model.all().count());
        run.compare().await;
    }
}
