//! Decisive reads: a decorator for commands, which decide by their reads. Where a replica that lags would
//! mislead them, it reads the latest committed version.
//!
//! - A replica that lags lacks an item that another process has created. A command that decides by such a
//!   read would wrongly refuse valid input, such as a comment on a new post, as `NOT_FOUND`. So a point read
//!   without a result is repeated.
//! - It shows a former version of an item whose conditional write was refused. A command that reads it again
//!   would fail again, until the replica has caught up. So the next read of that logical partition is one of
//!   the latest version.
//!
//! Any other read needs no second look: the writes that follow from it are conditional.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::{ContainerName, Ledger, OperationScope, PartitionKey, Store, StoreCall, StoreDecorator};

/// The most partitions with a refused write and no read since. The refused command reads most of them at
/// once; the others are forgotten.
const REFUSED_MAX: usize = 1000;

/// A store whose point reads miss no item, and whose reads after a refused write see what refused it.
pub struct DecisiveReads {
    store: Arc<dyn Store>,
    latest: Arc<dyn Store>,
    except: &'static [ContainerName],
    refused: Mutex<HashSet<(ContainerName, PartitionKey)>>,
}

impl DecisiveReads {
    /// The first store, over a second store which reads the latest committed version. A point read that lacks
    /// an item is charged twice, except in these containers: the charge and the time of their reads must not
    /// reveal which items exist.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, latest: Arc<dyn Store>, except: &'static [ContainerName]) -> Self {
        Self { store, latest, except, refused: Mutex::default() }
    }

    fn note_refusal(&self, container: ContainerName, scope: OperationScope<'_>) {
        let OperationScope::One(key) = scope else { return };
        let mut refused = self.refused.lock();
        if refused.len() >= REFUSED_MAX {
            refused.clear();
        }
        refused.insert((container, key.clone()));
    }

    /// Whether a write to one of these partitions was refused since their last read.
    fn take_refusal(&self, container: ContainerName, scope: OperationScope<'_>) -> bool {
        let mut refused = self.refused.lock();
        if refused.is_empty() {
            return false;
        }
        let mut take = |key: &PartitionKey| refused.remove(&(container, key.clone()));
        match scope {
            OperationScope::One(key) => take(key),
            OperationScope::Each(keys) => keys.iter().filter(|(key, _)| take(key)).count() > 0,
            OperationScope::Across => false,
        }
    }
}

impl StoreDecorator for DecisiveReads {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        let (container, scope) = (call.container(), call.scope());
        if !call.writes().is_empty() {
            let written = call.run(&*self.store, ledger).await;
            if let Err(error) = &written
                && C::fault(error).is_none()
            {
                self.note_refusal(container, scope);
            }
            return written;
        }
        if self.take_refusal(container, scope) {
            return call.run(&*self.latest, ledger).await;
        }
        if self.except.contains(&container) {
            return call.run(&*self.store, ledger).await;
        }
        let answer = call.clone().run(&*self.store, ledger).await?;
        if C::lacks_items(&answer) { call.run(&*self.latest, ledger).await } else { Ok(answer) }
    }
}
