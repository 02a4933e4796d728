//! Tail of created items: a tail that reports each item once, when it was created, and none of its later
//! changes.
//!
//! A change of an item is no creation, whether a command writes it or a projection that carries a new name
//! into the item. An item that was created and changed before it was read is reported with the version that
//! was read. An item that was deleted before it was read is not reported.

use std::fmt;
use std::sync::Arc;

use onehop_runtime::clock::{Clock, parse_timestamp};
use onehop_store::{Change, Fault, Ledger, PartitionKey, Store};
use serde::Deserialize;
use serde_json::Value;

use super::creations::{Creations, SeenVersion};
use super::tail::{Tail, TailSettings, TailSource};

/// Created items that a tail remembers, unless its settings say otherwise.
const REMEMBERED_MAX: usize = 10_000;

/// Returns when an item was created (Unix ms), by the clock of its writer; `None` where the item does not
/// say.
pub type CreationTime = dyn Fn(&Change) -> Option<i64> + Send + Sync;

/// Settings of a tail of created items.
#[derive(Clone)]
pub struct CreatedTailSettings {
    /// The tail behind it.
    pub tail: TailSettings,
    /// Created items that are remembered. A change of a forgotten item is no creation, but a repetition of
    /// its first version is one.
    pub remembered_max: usize,
    /// When an item was created.
    pub creation_time: Arc<CreationTime>,
}

impl CreatedTailSettings {
    /// Items have their creation date in this field, RFC 3339.
    #[must_use]
    pub fn dated_by(field: &'static str) -> Self {
        Self::timed_by(move |change| {
            let body: Value = change.item.decode().ok()?;
            parse_timestamp(body.get(field)?.as_str()?)
        })
    }

    /// The same with a function that returns when an item was created (Unix ms), for example from an id that
    /// has a time.
    #[must_use]
    pub fn timed_by(creation_time: impl Fn(&Change) -> Option<i64> + Send + Sync + 'static) -> Self {
        let creation_time = Arc::new(creation_time);
        Self { tail: TailSettings::default(), remembered_max: REMEMBERED_MAX, creation_time }
    }
}

impl fmt::Debug for CreatedTailSettings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CreatedTailSettings")
            .field("tail", &self.tail)
            .field("remembered_max", &self.remembered_max)
            .finish_non_exhaustive()
    }
}

/// Reads the items created in a container from now on. Items have a `version`, which is 1 when they are
/// created and grows with each write.
pub struct CreatedTail {
    tail: Tail,
    creation_time: Arc<CreationTime>,
    creations: Creations<(PartitionKey, String)>,
}

#[derive(Deserialize)]
struct ItemState {
    #[serde(default)]
    version: u64,
    #[serde(default)]
    deleted: bool,
}

impl CreatedTail {
    /// A tail of everything that is created from now on. The ledger has the first read.
    ///
    /// # Errors
    /// A fault of the store: it is not known where now is.
    pub async fn open(
        store: Arc<dyn Store>,
        source: TailSource,
        settings: CreatedTailSettings,
        clock: &dyn Clock,
        ledger: &Ledger,
    ) -> Result<Self, Fault> {
        let CreatedTailSettings { tail, remembered_max, creation_time } = settings;
        // Before the feed is read: an item that is created meanwhile is not taken for an older one.
        let creations = Creations::since(clock.now_ms(), remembered_max);
        let tail = Tail::open(store, source, tail, ledger).await?;
        Ok(Self { tail, creation_time, creations })
    }

    /// The next created items, at least one; waits for them. Faults of the store are tried again without end.
    /// A call that is dropped loses nothing.
    pub async fn next(&mut self) -> Vec<Change> {
        loop {
            let mut changes = self.tail.next().await;
            changes.retain(|change| self.is_created(change));
            if !changes.is_empty() {
                return changes;
            }
        }
    }

    fn is_created(&mut self, change: &Change) -> bool {
        let Ok(ItemState { version, deleted: false }) = change.item.decode() else { return false };
        let key = (change.partition_key.clone(), change.id.clone());
        let created_ms = (self.creation_time)(change);
        self.creations.announces(&key, SeenVersion { version, created_ms, etag: &change.item.etag })
    }
}
