//! An account whose faults the test chooses, and the words in which tests speak.

use std::collections::VecDeque;
use std::sync::Arc;

use onehop_runtime::clock::ManualClock;
use onehop_store::{
    ContainerName, ContainerSpec, Continuation, ETag, Fault, FeedPage, FeedRange, FeedRequest, Ledger,
    NewItem, PartitionKey, Store, WriteError, WriteOp,
};
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::account_model::{AccountFaults, AccountModel, FaultPoint, Outcome};

pub(super) const THINGS: ContainerName = ContainerName("things");
const SPECS: &[ContainerSpec] = &[ContainerSpec {
    name: THINGS,
    partition_key: "home",
    order_by: None,
    orders: &[],
    ttl_s: None,
    equality: &["owner"],
    newest_types: &["thing"],
    soft_deletes: true,
}];

/// The outcomes of the next requests; requests beyond them are answered at once.
#[derive(Default)]
pub(super) struct Script(Mutex<VecDeque<Outcome>>);

impl AccountFaults for Script {
    fn next(&self, _point: &FaultPoint<'_>) -> Outcome {
        self.0.lock().pop_front().unwrap_or_default()
    }
}

pub(super) struct World {
    pub(super) account: Arc<AccountModel>,
    pub(super) clock: Arc<ManualClock>,
    script: Arc<Script>,
}

impl World {
    pub(super) fn new(physical_partitions: u32) -> Self {
        let (clock, script) = (Arc::new(ManualClock::new(1_750_000_000_000)), Arc::new(Script::default()));
        let account = AccountModel::new(SPECS, physical_partitions, clock.clone(), script.clone());
        Self { account, clock, script }
    }

    /// Chooses the outcome of the next request without one.
    pub(super) fn next(&self, outcome: Outcome) {
        self.script.0.lock().push_back(outcome);
    }

    pub(super) fn count(&self, name: &str) -> u64 {
        self.account.counts().get(name).copied().unwrap_or(0)
    }
}

pub(super) fn thing(home: &str, id: &str, number: u64) -> NewItem {
    NewItem::encode(id, &json!({"id": id, "home": home, "type": "thing", "owner": "ada", "number": number}))
}

pub(super) async fn write(
    store: &dyn Store,
    home: &str,
    operation: WriteOp,
) -> Result<Option<ETag>, WriteError> {
    store.write(THINGS, &home.into(), operation, &Ledger::new()).await
}

pub(super) async fn upsert(store: &dyn Store, home: &str, id: &str, number: u64) -> Ledger {
    let ledger = Ledger::new();
    let operation = WriteOp::Upsert(thing(home, id, number));
    store.write(THINGS, &home.into(), operation, &ledger).await.expect("written");
    ledger
}

/// The number of an item; `None` where the read sees no item.
pub(super) async fn number(store: &dyn Store, home: &str, id: &str) -> Option<u64> {
    try_number(store, home, id).await.expect("a read")
}

pub(super) async fn try_number(store: &dyn Store, home: &str, id: &str) -> Result<Option<u64>, Fault> {
    let item = store.read(THINGS, &home.into(), id, &Ledger::new()).await?;
    Ok(item.map(|item| item.decode::<Value>().expect("JSON")["number"].as_u64().expect("a number")))
}

pub(super) async fn page(
    store: &dyn Store,
    range: &FeedRange,
    continuation: Option<&Continuation>,
    limit: usize,
) -> FeedPage {
    let request = FeedRequest { container: THINGS, range, continuation, types: None, limit };
    store.read_change_feed(&request, &Ledger::new()).await.expect("a page")
}

/// The ids of a range from a continuation to its end, and where it ended.
pub(super) async fn drain(
    store: &dyn Store,
    range: &FeedRange,
    mut continuation: Option<Continuation>,
    limit: usize,
) -> (Vec<String>, FeedPage) {
    let mut ids = Vec::new();
    loop {
        let page = page(store, range, continuation.as_ref(), limit).await;
        ids.extend(page.changes.iter().map(|change| change.id.clone()));
        if page.drained {
            return (ids, page);
        }
        continuation = Some(page.continuation);
    }
}

pub(super) async fn ranges(store: &dyn Store) -> Vec<FeedRange> {
    store.feed_ranges(THINGS).await.expect("ranges")
}

/// Where a write to a logical partition ended.
pub(super) fn end_of(ledger: &Ledger, home: &str) -> Option<Continuation> {
    ledger.write_end(THINGS, &PartitionKey::from(home))
}
