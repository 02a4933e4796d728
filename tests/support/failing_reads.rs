//! A store decorator whose next reads can be told to fail: one of them, as a throttled account or a slow disk
//! has it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use onehop_store::{Fault, FaultKind, Ledger, OperationKind, Store, StoreCall, StoreDecorator};

/// No read fails.
const NEVER: i64 = i64::MIN;

/// Says which read fails. Clones share it.
#[derive(Clone)]
pub struct ReadFaults(Arc<AtomicI64>);

struct FailingReads {
    inner: Arc<dyn Store>,
    faults: ReadFaults,
}

impl Default for ReadFaults {
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(NEVER)))
    }
}

impl ReadFaults {
    /// A store over `inner` whose reads fail as this says.
    pub fn over(&self, inner: Arc<dyn Store>) -> Arc<dyn Store> {
        Arc::new(FailingReads { inner, faults: self.clone() })
    }

    /// The read after so many reads fails, once.
    pub fn fail_after(&self, reads: u32) {
        self.0.store(i64::from(reads), Ordering::SeqCst);
    }

    /// No read fails any more; says whether one has.
    pub fn stop(&self) -> bool {
        let left = self.0.swap(NEVER, Ordering::SeqCst);
        left != NEVER && left < 0
    }

    fn fails_now(&self) -> bool {
        let step = |left: i64| (left != NEVER && left >= 0).then(|| left - 1);
        self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, step) == Ok(0)
    }
}

impl StoreDecorator for FailingReads {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        let is_read = call.writes().is_empty() && call.kind() != OperationKind::ChangeFeed;
        if is_read && self.faults.fails_now() {
            return Err(Fault::new(FaultKind::Throttled, "the test says so").into());
        }
        call.run(&*self.inner, ledger).await
    }
}
