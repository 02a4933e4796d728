//! Items that all changes of a page share: each is read once, after the page was read.

use std::collections::HashMap;
use std::sync::Arc;

use super::request::{Answer, ReadRequest};
use onehop_store::{ContainerName, Fault, Item, Ledger, PartitionKey, Store};

#[derive(Debug, Default)]
pub(super) struct SharedItems(HashMap<ContainerName, HashMap<PartitionKey, Vec<Entry>>>);

#[derive(Debug)]
struct Entry {
    id: String,
    item: Option<Arc<Item>>,
}

impl SharedItems {
    /// Makes a place for what a read asks for, if it may be shared.
    pub(super) fn want(&mut self, read: &ReadRequest) {
        let ReadRequest::Item { container, partition_key, id, shared: true } = read else { return };
        let partitions = self.0.entry(*container).or_default();
        let Some(entries) = partitions.get_mut(partition_key) else {
            partitions.insert(partition_key.clone(), vec![Entry { id: id.clone(), item: None }]);
            return;
        };
        if !entries.iter().any(|entry| entry.id == *id) {
            entries.push(Entry { id: id.clone(), item: None });
        }
    }

    /// Reads everything that is wanted.
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

    /// The answer to a read, if it was wanted.
    pub(super) fn get(&self, read: &ReadRequest) -> Option<Answer> {
        let ReadRequest::Item { container, partition_key, id, shared: true } = read else { return None };
        let entries = self.0.get(container)?.get(partition_key)?;
        let entry = entries.iter().find(|entry| entry.id == *id)?;
        Some(Answer::Item(entry.item.clone()))
    }
}
