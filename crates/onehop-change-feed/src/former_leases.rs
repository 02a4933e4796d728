//! Former leases: the leases of earlier releases, one for each projection and feed range, and their
//! replacement by leases of source containers.
//!
//! A lease of a source begins where the former leases of its range stand. Where they differ it begins at the
//! earliest of them, or at the beginning where the store cannot compare them. A former lease is deleted once
//! its replacement exists and no process of the earlier release works under it. Until then both releases
//! project the same changes, which does no harm.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::containers::{LEASES, former_lease_id, types};
use super::context::ProcessorContext;
use super::lease::{LeaseItem, StoredLease};
use super::settings::milliseconds;
use super::source::Source;
use onehop_store::{
    Continuation, Direction, ETag, Fault, FeedRange, Item, Keyset, Ledger, PartitionKey, Query, WriteError,
    WriteOp, limits,
};

/// The part of a former lease that is still needed.
#[derive(Debug, Clone, Deserialize)]
struct FormerLeaseItem {
    id: String,
    #[serde(rename = "type")]
    item_type: String,
    container: String,
    range: FeedRange,
    continuation: Option<Continuation>,
    owner: Option<String>,
}

/// A former lease, and since when this instance has seen this version of it (monotonic ms).
#[derive(Debug)]
struct FormerLease {
    item: FormerLeaseItem,
    etag: ETag,
    since_ms: i64,
}

/// The former leases that are not deleted yet.
#[derive(Debug, Default)]
pub(super) struct FormerLeases(BTreeMap<String, FormerLease>);

impl FormerLeases {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Lists the former leases. The oldest do not name their processor: they are read by their ids, where a
    /// feed range has no lease yet.
    pub(super) async fn find(
        context: &ProcessorContext,
        sources: &[Arc<Source>],
        listed: &[StoredLease],
        ledger: &Ledger,
    ) -> Result<Self, Fault> {
        let mut found = Self::default();
        found.list(context, ledger).await?;
        let mut keys = Vec::new();
        for source in sources {
            for range in context.store.feed_ranges(source.container).await? {
                let lease = LeaseItem::unowned(&source.scope, &range).id;
                if listed.iter().any(|stored| stored.item.id == lease) {
                    continue;
                }
                let ids = source.runners.iter().map(|runner| runner.projection.name());
                let ids = ids.map(|projection| former_lease_id(projection, source.container, &range));
                keys.extend(
                    ids.filter(|id| !found.0.contains_key(id))
                        .map(|id| (PartitionKey::from(id.as_str()), id)),
                );
            }
        }
        for item in context.store.read_many(LEASES, &keys, ledger).await?.into_iter().flatten() {
            found.insert(context, item)?;
        }
        Ok(found)
    }

    async fn list(&mut self, context: &ProcessorContext, ledger: &Ledger) -> Result<(), Fault> {
        let mut after: Option<Keyset> = None;
        loop {
            let query = Query::Equality {
                container: LEASES,
                path: "processor",
                value: &context.settings.processor,
                item_type: types::FORMER_LEASE,
                direction: Direction::OldestFirst,
                after: after.as_ref(),
                limit: limits::PAGE_ITEMS_MAX,
                order_by: None,
            };
            let page = context.store.query(&query, ledger).await?;
            for item in page.items.iter().cloned() {
                let id = self.insert(context, item)?;
                after = Some(Keyset { order_value: String::new(), id });
            }
            if !page.has_more {
                return Ok(());
            }
        }
    }

    fn insert(&mut self, context: &ProcessorContext, stored: Item) -> Result<String, Fault> {
        let item: FormerLeaseItem = stored.decode()?;
        let id = item.id.clone();
        let since_ms = context.clock.monotonic_ms();
        if item.item_type == types::FORMER_LEASE {
            self.0.insert(id.clone(), FormerLease { item, etag: stored.etag, since_ms });
        }
        Ok(id)
    }

    /// Creates the leases of sources whose feed ranges have a former lease of each projection. Other ranges
    /// begin at the beginning.
    pub(super) async fn convert(
        &self,
        sources: &[Arc<Source>],
        listed: &[StoredLease],
        ledger: &Ledger,
    ) -> Result<Vec<StoredLease>, Fault> {
        let mut created = Vec::new();
        for source in sources {
            for range in self.ranges(source) {
                let Some(positions) = self.positions(source, &range) else { continue };
                let item = LeaseItem {
                    continuation: earliest(&source.context, &positions),
                    ..LeaseItem::unowned(&source.scope, &range)
                };
                if !listed.iter().any(|stored| stored.item.id == item.id) {
                    created.extend(StoredLease::create(&source.context, item, ledger).await?);
                }
            }
        }
        Ok(created)
    }

    fn ranges(&self, source: &Source) -> Vec<FeedRange> {
        let of_source = self.0.values().filter(|former| former.item.container == source.container.as_str());
        let mut ranges: Vec<_> = of_source.map(|former| former.item.range.clone()).collect();
        ranges.sort();
        ranges.dedup();
        ranges
    }

    /// Where the projections of a source stand in a feed range; `None` when one of them has no former lease
    /// there.
    fn positions(&self, source: &Source, range: &FeedRange) -> Option<Vec<Option<Continuation>>> {
        let position = |projection: &str| {
            let former = self.0.get(&former_lease_id(projection, source.container, range))?;
            Some(former.item.continuation.clone())
        };
        source.runners.iter().map(|runner| position(runner.projection.name())).collect()
    }

    /// Deletes the former leases that no process works under: released leases, leases that were not written
    /// for the expiry, and all of them in a process that is alone.
    pub(super) async fn delete_abandoned(
        &mut self,
        context: &ProcessorContext,
        ledger: &Ledger,
    ) -> Result<(), Fault> {
        if self.is_empty() {
            return Ok(());
        }
        self.observe(context, ledger).await?;
        let now_ms = context.clock.monotonic_ms();
        let expire = context.settings.sharing.expire();
        let is_abandoned = |former: &FormerLease| {
            former.item.owner.is_none()
                || expire.is_none_or(|expire| now_ms >= former.since_ms.saturating_add(milliseconds(expire)))
        };
        let abandoned: Vec<_> = self.0.values().filter(|former| is_abandoned(former)).collect();
        let mut deleted = Vec::new();
        for FormerLease { item, etag, .. } in abandoned {
            let operation = WriteOp::Delete { id: item.id.clone(), if_match: Some(etag.clone()) };
            let partition_key = PartitionKey::from(item.id.as_str());
            match context.store.write(LEASES, &partition_key, operation, ledger).await {
                Ok(_) => deleted.push(item.id.clone()),
                // It was written or deleted meanwhile: the next round sees it.
                Err(WriteError::Rejected { .. }) => {}
                Err(WriteError::Fault(fault)) => return Err(fault),
            }
        }
        self.0.retain(|id, _| !deleted.contains(id));
        Ok(())
    }

    /// Reads the former leases again.
    async fn observe(&mut self, context: &ProcessorContext, ledger: &Ledger) -> Result<(), Fault> {
        let ids = self.0.keys();
        let keys: Vec<_> = ids.map(|id| (PartitionKey::from(id.as_str()), id.clone())).collect();
        let found = context.store.read_many(LEASES, &keys, ledger).await?;
        for ((_, id), stored) in keys.into_iter().zip(found) {
            let known = self.0.get(&id).map(|former| &former.etag);
            match stored {
                None => {
                    self.0.remove(&id);
                }
                Some(stored) if known != Some(&stored.etag) => {
                    self.insert(context, stored)?;
                }
                Some(_) => {}
            }
        }
        Ok(())
    }
}

/// A position that all of these are past; the beginning where the store cannot say which.
fn earliest(context: &ProcessorContext, positions: &[Option<Continuation>]) -> Option<Continuation> {
    let all: Vec<&Continuation> = positions.iter().map(Option::as_ref).collect::<Option<_>>()?;
    let is_earliest =
        |at: &&&Continuation| all.iter().all(|other| *other == **at || context.store.is_past(other, at));
    all.iter().find(is_earliest).map(|at| (**at).clone())
}
