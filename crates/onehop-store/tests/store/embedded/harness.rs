//! A store in a directory that a test may close, damage and open again.

use std::path::Path;
use std::sync::Arc;

use onehop_runtime::clock::ManualClock;
use onehop_store::embedded::{Durability, EmbeddedConfig, EmbeddedStore, OpenError};
use onehop_store::{Batch, ContainerName, ContainerSpec, ETag, Ledger, NewItem, Store, WriteError, WriteOp};
use serde_json::json;

pub const THINGS: ContainerName = ContainerName("things");

pub const SPEC: ContainerSpec = ContainerSpec {
    name: THINGS,
    partition_key: "home",
    order_by: Some("date"),
    orders: &[],
    ttl_s: None,
    equality: &["owner"],
    newest_types: &["thing"],
    soft_deletes: true,
};

pub fn config(path: &Path) -> EmbeddedConfig {
    EmbeddedConfig {
        cache_bytes: 8 * 1024 * 1024,
        durability: Durability::Relaxed,
        ..EmbeddedConfig::new(path)
    }
}

pub fn open_with(config: &EmbeddedConfig) -> Result<EmbeddedStore, OpenError> {
    EmbeddedStore::open_with(config, &[SPEC], Arc::new(ManualClock::new(1_750_000_000_000)))
}

pub fn open(path: &Path) -> EmbeddedStore {
    open_with(&config(path)).expect("the store opens")
}

pub fn thing(home: &str, id: &str, number: u64) -> NewItem {
    let body = json!({
        "id": id, "home": home, "type": "thing", "date": format!("{number:06}"), "owner": "ada", "number": number,
    });
    NewItem::encode(id, &body)
}

pub async fn create(store: &EmbeddedStore, home: &str, id: &str, number: u64) -> ETag {
    let operation = WriteOp::Create(thing(home, id, number));
    let etag = store.write(THINGS, &home.into(), operation, &Ledger::new()).await.expect("created");
    etag.expect("an ETag")
}

/// Creates this many items in one batch, each naming the batch.
pub async fn create_batch(
    store: &EmbeddedStore,
    home: &str,
    number: u64,
    items: u64,
) -> Result<(), WriteError> {
    let create = |place| WriteOp::Create(thing(home, &format!("b{number:06}-{place}"), number));
    let operations = (0..items).map(create).collect();
    store.batch(Batch { operations, ..Batch::new(THINGS, home.into()) }, &Ledger::new()).await.map(|_| ())
}
