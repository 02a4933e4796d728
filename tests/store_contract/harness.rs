//! What every adapter has to provide so that the contract can be run over it.

use std::sync::Arc;

use onehop::store::embedded::{EmbeddedConfig, EmbeddedStore};
use onehop::store::{ContainerName, ContainerSpec, ManualClock, NewItem, Store};
use serde_json::{Value, json};
use tempfile::TempDir;

pub const THINGS: ContainerName = ContainerName("things");

pub const SPECS: &[ContainerSpec] = &[ContainerSpec {
    name: THINGS,
    partition_key: "home",
    order_by: Some("date"),
    equality: &["owner"],
    newest_types: &["thing"],
    unindexed: &[],
}];

/// The instant at which every test starts, Unix ms.
pub const START_MS: i64 = 1_750_000_000_000;

/// A fresh, empty store with one container.
pub struct Subject {
    pub store: Arc<dyn Store>,
    #[expect(dead_code, reason = "for tests of times to come")]
    pub clock: Arc<ManualClock>,
    _directory: TempDir,
}

pub fn subject() -> Subject {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let clock = Arc::new(ManualClock::new(START_MS));
    let config = EmbeddedConfig::new(directory.path());
    let store = EmbeddedStore::open(&config, SPECS, clock.clone()).expect("the store opens");
    Subject { store: Arc::new(store), clock, _directory: directory }
}

pub fn thing(home: &str, id: &str, date: &str) -> NewItem {
    item(&json!({"id": id, "home": home, "type": "thing", "date": date, "owner": "ada"}))
}

pub fn item(body: &Value) -> NewItem {
    NewItem::encode(body["id"].as_str().expect("an id"), body)
}
