//! Certain absence: a decorator that repeats a point read without a result in the latest committed version.
//!
//! A replica that lags lacks an item that another process has created. A command that decides by such a read
//! would wrongly refuse valid input, such as a comment on a new post, as `NOT_FOUND`. A found item needs no
//! second look: writes are conditional.

use std::sync::Arc;

use crate::{ContainerName, Ledger, Store, StoreCall, StoreDecorator};

/// A store whose point reads never miss an existing item.
pub struct CertainAbsence {
    store: Arc<dyn Store>,
    latest: Arc<dyn Store>,
    except: &'static [ContainerName],
}

impl CertainAbsence {
    /// The first store, over a second store which reads the latest committed version. A point read that lacks
    /// an item is charged twice, except in these containers: the charge and the time of their reads must not
    /// reveal which items exist.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, latest: Arc<dyn Store>, except: &'static [ContainerName]) -> Self {
        Self { store, latest, except }
    }
}

impl StoreDecorator for CertainAbsence {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        if !call.writes().is_empty() || self.except.contains(&call.container()) {
            return call.run(&*self.store, ledger).await;
        }
        let answer = call.clone().run(&*self.store, ledger).await?;
        if C::lacks_items(&answer) { call.run(&*self.latest, ledger).await } else { Ok(answer) }
    }
}
