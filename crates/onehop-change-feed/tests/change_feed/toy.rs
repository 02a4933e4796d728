//! Things with a number, and copies of them that never go back: the smallest domain that the processor can be
//! seen through. A greater number was written later, in any logical partition.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onehop_change_feed::{
    self, DEAD_LETTERS, IntendedWrite, LEASES, LeaseItem, Processor, Projection, ProjectionError,
    ReadRequest, Settings, Sharing, Step, StepInput,
};
use onehop_runtime::clock::{Clock, ManualClock};
use onehop_runtime::tasks::Tasks;
use onehop_store::embedded::{Durability, EmbeddedConfig, EmbeddedStore};
use onehop_store::{
    Change, ContainerName, ContainerSpec, FeedRequest, Ledger, NewItem, PartitionKey, Store, WriteOp,
};
use onehop_testing::virtual_clock::VirtualClock;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::splitting_store::{PHYSICAL_PARTITIONS, SplittingStore};

pub const THINGS: ContainerName = ContainerName("things");
pub const COPIES: ContainerName = ContainerName("copies");

const fn spec(name: ContainerName) -> ContainerSpec {
    ContainerSpec {
        name,
        partition_key: "home",
        order_by: None,
        orders: &[],
        ttl_s: None,
        equality: &[],
        newest_types: &[],
        soft_deletes: true,
    }
}

/// Fewer than a lease lives.
pub const SHORT_MS: i64 = 20_000;
/// More than a lease lives.
pub const EXPIRY_MS: i64 = 60_001;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thing {
    pub id: String,
    pub home: String,
    #[serde(rename = "type")]
    pub item_type: String,
    pub number: u64,
    /// Cannot be projected.
    pub poisoned: bool,
}

/// The projected changes: owner, logical partition, number.
pub type Diary = Arc<Mutex<Vec<(String, String, u64)>>>;

struct Copier {
    owner: String,
    diary: Diary,
}

impl Projection for Copier {
    fn name(&self) -> &'static str {
        "copier"
    }

    fn source(&self) -> ContainerName {
        THINGS
    }

    fn step(&self, change: &Change, input: StepInput<'_>) -> Result<Step, ProjectionError> {
        let thing: Thing = change.item.decode()?;
        if thing.poisoned {
            return Err(ProjectionError::text("it is poisoned"));
        }
        if input.is_first() {
            return Ok(Step::ask(vec![ReadRequest::item(COPIES, change.partition_key.clone(), &*change.id)]));
        }
        let entry = (self.owner.clone(), thing.home.clone(), thing.number);
        self.diary.lock().expect("no panic while locked").push(entry);
        let item = NewItem::encode(thing.id.clone(), &thing);
        let operation = match input.item(0)? {
            None => WriteOp::Create(item),
            Some(copy) if copy.decode::<Thing>()?.number < thing.number => {
                WriteOp::Replace { item, if_match: Some(copy.etag.clone()) }
            }
            Some(_) => return Ok(Step::done()),
        };
        let write = IntendedWrite::one(COPIES, change.partition_key.clone(), operation);
        Ok(Step::done().after_writing(vec![write]))
    }
}

pub struct World {
    pub store: Arc<SplittingStore>,
    pub clock: Arc<ManualClock>,
    pub diary: Diary,
    written: AtomicU64,
    _directory: TempDir,
}

impl World {
    /// A store that presents its eight physical partitions as this many feed ranges.
    pub fn new(ranges: u16) -> Self {
        Self::of(PHYSICAL_PARTITIONS, ranges)
    }

    /// A store with this many physical partitions, each of which is a feed range.
    pub fn of_physical_partitions(partitions: u16) -> Self {
        Self::of(partitions, partitions)
    }

    fn of(physical_partitions: u16, ranges: u16) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let clock = Arc::new(ManualClock::new(1_750_000_000_000));
        let mut config = EmbeddedConfig::new(directory.path());
        config.durability = Durability::Relaxed;
        config.physical_partitions = Some(physical_partitions);
        config.cache_bytes = 1024 * 1024;
        let specs = [&[spec(THINGS), spec(COPIES)], onehop_change_feed::SPECS].concat();
        let store = EmbeddedStore::open_with(&config, &specs, clock.clone()).expect("the store opens");
        let each = physical_partitions / ranges;
        let spans: Vec<_> = (0..ranges).map(|range| (range * each, (range + 1) * each - 1)).collect();
        Self {
            store: Arc::new(SplittingStore::new(store, &spans)),
            clock,
            diary: Diary::default(),
            written: AtomicU64::new(0),
            _directory: directory,
        }
    }

    /// An instance that shares the leases with others.
    pub async fn instance(&self, owner: &str) -> Processor {
        self.instance_with(shared(owner)).await
    }

    /// The same with a clock of its own, as a process on another machine has.
    pub async fn instance_with_clock(&self, settings: Settings, clock: Arc<dyn Clock>) -> Processor {
        self.instance_at(vec![self.copier(&settings)], settings, clock).await
    }

    /// The projection that copies things.
    pub fn copier(&self, settings: &Settings) -> Arc<dyn Projection> {
        Arc::new(Copier { owner: settings.owner.clone(), diary: Arc::clone(&self.diary) })
    }

    /// An instance of these projections with a clock of its own.
    pub async fn instance_at(
        &self,
        projections: Vec<Arc<dyn Projection>>,
        settings: Settings,
        clock: Arc<dyn Clock>,
    ) -> Processor {
        let (store, stop) = (self.store.clone(), CancellationToken::new());
        let opened = Processor::open(store, clock, projections, settings, stop);
        opened.await.expect("the processor opens")
    }

    pub async fn instance_with(&self, settings: Settings) -> Processor {
        self.instance_of(self.copier(&settings), settings).await
    }

    pub async fn instance_of(&self, projection: Arc<dyn Projection>, settings: Settings) -> Processor {
        self.instance_of_all(vec![projection], settings).await
    }

    pub async fn instance_of_all(
        &self,
        projections: Vec<Arc<dyn Projection>>,
        settings: Settings,
    ) -> Processor {
        let opened = Processor::open(
            self.store.clone(),
            self.clock.clone(),
            projections,
            settings,
            CancellationToken::new(),
        );
        opened.await.expect("the processor opens")
    }

    /// Writes the next number under an id.
    pub async fn put(&self, home: u64, id: u64) {
        self.put_thing(home, id, false).await;
    }

    pub async fn put_thing(&self, home: u64, id: u64, poisoned: bool) {
        let number = self.written.fetch_add(1, Ordering::SeqCst) + 1;
        let home = format!("home-{home}");
        let id = format!("thing-{id}");
        let thing = Thing { id: id.clone(), home: home.clone(), item_type: "thing".into(), number, poisoned };
        self.write_thing(&thing).await;
    }

    /// Writes a thing of another type.
    pub async fn put_of_type(&self, home: u64, id: u64, item_type: &str) {
        let number = self.written.fetch_add(1, Ordering::SeqCst) + 1;
        let (home, id) = (format!("home-{home}"), format!("thing-{id}"));
        self.write_thing(&Thing { id, home, item_type: item_type.into(), number, poisoned: false }).await;
    }

    async fn write_thing(&self, thing: &Thing) {
        let (id, home) = (thing.id.clone(), thing.home.clone());
        let write = WriteOp::Upsert(NewItem::encode(id, thing));
        self.store.write(THINGS, &home.as_str().into(), write, &Ledger::new()).await.expect("a write");
    }

    /// Writes this many things into each of twelve homes.
    pub async fn put_many(&self, things: u64) {
        for id in 0..things {
            for home in 0..12 {
                self.put(home, id).await;
            }
        }
    }

    async fn all(&self, container: ContainerName) -> Vec<onehop_store::Item> {
        let mut items = Vec::new();
        for range in self.store.feed_ranges(container).await.expect("ranges") {
            let request =
                FeedRequest { container, range: &range, continuation: None, types: None, limit: 1000 };
            let page = self.store.read_change_feed(&request, &Ledger::new()).await.expect("a page");
            assert!(page.drained, "the tests' containers are small");
            items.extend(page.changes.into_iter().map(|change| change.item));
        }
        items
    }

    /// The items of the dead letter container: their types and how many there are of each.
    pub async fn dead_letter_items(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for item in self.all(DEAD_LETTERS).await {
            let item: Value = item.decode().expect("JSON");
            *counts.entry(item["type"].as_str().expect("a type").to_owned()).or_default() += 1;
        }
        counts
    }

    pub async fn things(&self, container: ContainerName) -> BTreeMap<(String, String), u64> {
        let things = self.all(container).await.into_iter().map(|item| item.decode().expect("a thing"));
        things.map(|Thing { home, id, number, .. }| ((home, id), number)).collect()
    }

    /// The leases, by range.
    pub async fn leases(&self) -> Vec<LeaseItem> {
        let mut leases: Vec<LeaseItem> =
            self.lease_items("rangeLease").await.into_iter().map(json_to).collect();
        leases.sort_by(|left, right| left.range.cmp(&right.range));
        leases
    }

    pub async fn ranges_leased(&self) -> Vec<String> {
        self.leases().await.into_iter().map(|lease| lease.range.0).collect()
    }

    /// The number of leases that each of the owners holds.
    pub async fn holdings(&self, owners: &[&str]) -> Vec<usize> {
        let leases = self.leases().await;
        let held =
            |owner: &&str| leases.iter().filter(|lease| lease.owner.as_deref() == Some(*owner)).count();
        owners.iter().map(held).collect()
    }

    /// The dead letters, by partition key.
    pub async fn letters(&self) -> Vec<Value> {
        let items = self.all(DEAD_LETTERS).await.into_iter();
        let mut letters: Vec<Value> = items.map(|item| item.decode().expect("JSON")).collect();
        letters.sort_by_key(|letter| letter["partitionKey"].to_string());
        letters
    }

    /// The items of a type in the lease container.
    pub async fn lease_items(&self, item_type: &str) -> Vec<Value> {
        let items = self.all(LEASES).await.into_iter().map(|item| item.decode::<Value>().expect("JSON"));
        items.filter(|item| item["type"] == item_type).collect()
    }

    /// Writes an item of the lease container.
    pub async fn write_lease_item(&self, write: WriteOp) {
        let partition_key = PartitionKey::from(write.id());
        self.store.write(LEASES, &partition_key, write, &Ledger::new()).await.expect("a write");
    }

    /// The time of the clock, as items have it.
    pub fn clock_text(&self) -> String {
        onehop_runtime::clock::format_timestamp(onehop_runtime::clock::Clock::now_ms(&*self.clock))
    }

    /// Numbers projected so far, by any instance.
    pub fn projected(&self) -> usize {
        self.diary.lock().expect("no panic while locked").len()
    }

    /// Every thing has its last version as its copy.
    pub async fn assert_current(&self) {
        assert_eq!(self.things(COPIES).await, self.things(THINGS).await);
    }

    /// In each logical partition nothing was projected for the first time after something later.
    pub fn assert_in_order(&self) {
        let mut latest: BTreeMap<&str, u64> = BTreeMap::new();
        let mut seen: Vec<u64> = Vec::new();
        let diary = self.diary.lock().expect("no panic while locked");
        for (owner, home, number) in diary.iter() {
            let latest = latest.entry(home).or_default();
            assert!(seen.contains(number) || number > latest, "{owner}: {number} after {latest} in {home}");
            *latest = (*latest).max(*number);
            seen.push(*number);
        }
    }
}

/// A processor whose tasks run, while a virtual clock passes the time.
pub struct Running {
    clock: Arc<VirtualClock>,
    pub processor: Processor,
    pub stop: CancellationToken,
}

impl Running {
    pub async fn start(world: &World, projections: Vec<Arc<dyn Projection>>, settings: Settings) -> Self {
        let clock = Arc::new(VirtualClock::new(world.clock.now_ms()));
        let (store, stop) = (world.store.clone(), CancellationToken::new());
        let opened = Processor::open(store, clock.clone(), projections, settings, stop.clone());
        let processor = opened.await.expect("the processor opens");
        let (running, tasks) = (processor.clone(), Tasks::new());
        tasks.clone().spawn_contained("change feed", async move {
            running.run(|name, reader| tasks.spawn_contained(name, reader)).await;
        });
        Self { clock, processor, stop }
    }

    pub async fn pass(&self, world: &World, duration: Duration) {
        self.clock.pass(duration, || world.store.progress()).await;
    }
}

pub fn json_to<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("another shape")
}

pub fn shared(owner: &str) -> Settings {
    Settings {
        sharing: Sharing::with_others(),
        page_items_max: 5,
        drain_waits_max: 3,
        ..Settings::new(owner).without_delays()
    }
}
