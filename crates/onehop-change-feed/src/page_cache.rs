//! Page cache: items that several changes of one page read. Each is read once, after the page itself was
//! read.

use std::collections::HashMap;
use std::sync::Arc;

use super::request::{ReadRequest, ReadResult};
use onehop_store::{ContainerName, Fault, Item, Ledger, PartitionKey, Store};

#[derive(Debug, Default)]
pub(super) struct PageCache(HashMap<ContainerName, HashMap<PartitionKey, Vec<CachedPage>>>);

#[derive(Debug)]
struct CachedPage {
    id: String,
    item: Option<Arc<Item>>,
}

impl PageCache {
    /// Registers a read, if it may be shared.
    pub(super) fn request(&mut self, read: &ReadRequest) {
        let ReadRequest::Item { container, partition_key, id, shared: true, .. } = read else { return };
        let partitions = self.0.entry(*container).or_default();
        let Some(entries) = partitions.get_mut(partition_key) else {
            partitions.insert(partition_key.clone(), vec![CachedPage { id: id.clone(), item: None }]);
            return;
        };
        if !entries.iter().any(|entry| entry.id == *id) {
            entries.push(CachedPage { id: id.clone(), item: None });
        }
    }

    /// Reads all registered items.
    pub(super) async fn fill(&mut self, store: &dyn Store, ledger: &Ledger) -> Result<(), Fault> {
        for (container, partitions) in &mut self.0 {
            let mut keys = Vec::with_capacity(partitions.len());
            for (partition_key, entries) in partitions.iter() {
                keys.extend(entries.iter().map(|entry| (partition_key.clone(), entry.id.clone())));
            }
            let found = store.read_many(*container, &keys, ledger).await?;
            let places = partitions.values_mut().flatten();
            for (entry, item) in places.zip(found) {
                entry.item = item.map(Arc::new);
            }
        }
        Ok(())
    }

    /// The result of a registered read.
    pub(super) fn get(&self, read: &ReadRequest) -> Option<ReadResult> {
        let ReadRequest::Item { container, partition_key, id, shared: true, .. } = read else { return None };
        let entries = self.0.get(container)?.get(partition_key)?;
        let entry = entries.iter().find(|entry| entry.id == *id)?;
        Some(ReadResult::Item(entry.item.clone()))
    }
}
