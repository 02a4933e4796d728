//! Confirmed reads: a decorator whose reads show nothing that a power loss may take back.
//!
//! After a failed write or fsync the journal may hold a commit that is in the memory of the system alone. The
//! reopened engine shows it. Where the journal cannot be copied to the disk either, a command that finds its
//! own earlier write there must not acknowledge it: the commit is lost if the power fails before a later
//! copy.

use std::sync::Arc;

use super::engine_faults::no_writes;
use super::store::EmbeddedStore;
use crate::store_call::StoreCall;
use crate::{Ledger, Store, StoreDecorator};

/// A store for commands: its reads fail while the embedded store below shows commits that may not be on the
/// disk. Such a store takes no writes either.
pub struct ConfirmedReads {
    store: Arc<dyn Store>,
    embedded: Arc<EmbeddedStore>,
}

impl ConfirmedReads {
    /// The first store, which reads from the second one.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, embedded: Arc<EmbeddedStore>) -> Self {
        Self { store, embedded }
    }
}

impl StoreDecorator for ConfirmedReads {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        let is_write = !call.writes().is_empty();
        let answer = call.run(&*self.store, ledger).await?;
        if is_write || !self.embedded.engine.is_journal_suspect() {
            return Ok(answer);
        }
        // A write has the engine opened again, and the journal is copied with the commits that were read.
        // Without a write, commands that read first would be refused for ever.
        let copied = self.embedded.submit(0, String::new(), 0, Vec::new()).await;
        match copied {
            Ok(_) if !self.embedded.engine.is_journal_suspect() => Ok(answer),
            _ => Err(no_writes("its journal may hold commits that are not on the disk").into()),
        }
    }
}
