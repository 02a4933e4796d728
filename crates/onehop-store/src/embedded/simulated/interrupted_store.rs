//! Store decorator with interruption points: each operation lets other tasks run once before it and once
//! after it.

use std::sync::Arc;

use super::engine::yield_once;
use crate::store_call::StoreCall;
use crate::{Ledger, Store, StoreDecorator};

/// A store whose operations yield before and after.
#[derive(Clone)]
pub struct InterruptedStore(Arc<dyn Store>);

impl InterruptedStore {
    /// Wraps a store.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self(inner)
    }
}

impl StoreDecorator for InterruptedStore {
    fn inner(&self) -> &dyn Store {
        &*self.0
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        yield_once().await;
        let answer = call.run(&*self.0, ledger).await;
        yield_once().await;
        answer
    }
}
