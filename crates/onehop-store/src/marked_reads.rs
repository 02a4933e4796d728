//! Marked reads: a decorator that notes the read marks of a store to which other processes write as well.
//! The readers of the change feeds record these writes in the same marks.
//!
//! A change feed of latest versions shows no deletion. So deletions of this process are reported to a
//! listener, and reads of a container with deletions touch a further mark, [`WriteMarks::of_deletions`].

use std::sync::Arc;

use crate::{
    ContainerName, Ledger, OperationScope, PartitionKey, Store, StoreCall, StoreDecorator, WriteMarks,
    WriteOp,
};

/// A store whose reads touch marks.
pub struct MarkedReads {
    store: Arc<dyn Store>,
    marks: Arc<WriteMarks>,
    containers: MarkedContainers,
    on_deletion: DeletionListener,
}

/// Hears of a deletion after it was sent: the number of the container, and the logical partition.
pub type DeletionListener = Arc<dyn Fn(u8, &PartitionKey) + Send + Sync>;

/// The containers whose reads touch marks.
#[derive(Debug, Clone)]
pub struct MarkedContainers {
    /// The place of a container in this list is its number among the marks.
    pub all: Arc<[ContainerName]>,
    /// Those of them in which items are deleted, or expire.
    pub with_deletions: Arc<[ContainerName]>,
}

impl MarkedReads {
    /// The same store.
    #[must_use]
    pub fn new(
        store: Arc<dyn Store>,
        marks: Arc<WriteMarks>,
        containers: MarkedContainers,
        on_deletion: DeletionListener,
    ) -> Self {
        Self { store, marks, containers, on_deletion }
    }

    /// The number of a container among the marks; `None` where its writes are not followed.
    fn number_of(&self, container: ContainerName) -> Option<u8> {
        let number = self.containers.all.iter().position(|known| *known == container);
        number.and_then(|number| u8::try_from(number).ok())
    }

    fn touch<'a, C: StoreCall<'a>>(&self, call: &C, ledger: &Ledger) {
        let container = call.container();
        let Some(number) = self.number_of(container) else { return ledger.touch_more() };
        if self.containers.with_deletions.contains(&container) {
            ledger.touch(|| self.marks.of_deletions());
        }
        match call.scope() {
            OperationScope::One(key) => ledger.touch(|| self.marks.of_partition(number, key.as_str())),
            OperationScope::Each(keys) => {
                for (key, _) in keys {
                    ledger.touch(|| self.marks.of_partition(number, key.as_str()));
                }
            }
            OperationScope::Across => ledger.touch(|| self.marks.of_container(number)),
        }
    }
}

impl StoreDecorator for MarkedReads {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        self.touch(&call, ledger);
        let deletes = call.writes().iter().any(|write| matches!(write, WriteOp::Delete { .. }));
        let scope = call.scope();
        let number = self.number_of(call.container()).filter(|_| deletes);
        let outcome = call.run(&*self.store, ledger).await;
        // A deletion without an answer may have been done.
        if let (Some(number), OperationScope::One(key)) = (number, scope) {
            (self.on_deletion)(number, key);
        }
        outcome
    }
}
