//! Marked reads: a decorator that notes the read marks of a store to which other processes write as well.
//! The readers of the change feeds record these writes in the same marks.

use std::sync::Arc;

use crate::{ContainerName, Ledger, OperationScope, Store, StoreCall, StoreDecorator, WriteMarks};

/// A store whose reads touch marks.
pub struct MarkedReads {
    store: Arc<dyn Store>,
    marks: Arc<WriteMarks>,
    containers: Arc<[ContainerName]>,
}

impl MarkedReads {
    /// The same store. The place of a container in the list is its number among the marks.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, marks: Arc<WriteMarks>, containers: Arc<[ContainerName]>) -> Self {
        Self { store, marks, containers }
    }

    fn touch<'a, C: StoreCall<'a>>(&self, call: &C, ledger: &Ledger) {
        let container = call.container();
        let number = self.containers.iter().position(|known| *known == container);
        let Some(number) = number.and_then(|number| u8::try_from(number).ok()) else {
            // Its writes are not followed.
            return ledger.touch_more();
        };
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
        call.run(&*self.store, ledger).await
    }
}
