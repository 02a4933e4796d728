//! Background work: a store decorator that keeps maintenance (rebuilds, verification, copies) out of the way
//! of requests.
//!
//! An operation is background work where its ledger says so, or where the decorator was made for such work
//! alone. The adapter sends it at low priority, if its service knows priorities. A budget in request units
//! for each second paces it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::{Ledger, RequestCharge, Store, StoreCall, StoreDecorator};
use onehop_runtime::clock::Clock;

/// The budget of background work: request units for each second. It may be overdrawn by the operations that
/// are under way, and is then waited for.
pub struct BackgroundBudget {
    clock: Arc<dyn Clock>,
    ru_per_second: f64,
    /// When the spent units are earned (monotonic ms).
    free_at_ms: Mutex<f64>,
}

impl BackgroundBudget {
    /// A budget in request units per second, greater than 0.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, ru_per_second: f64) -> Self {
        Self { clock, ru_per_second, free_at_ms: Mutex::new(f64::MIN) }
    }

    /// Waits until the spent units are earned.
    async fn wait(&self) {
        loop {
            let left_ms = *self.free_at_ms.lock() - self.clock.monotonic_ms() as f64;
            if left_ms <= 0.0 {
                return;
            }
            self.clock.sleep(Duration::from_secs_f64(left_ms.ceil() / 1000.0)).await;
        }
    }

    fn spend(&self, charge: RequestCharge) {
        let mut free_at_ms = self.free_at_ms.lock();
        *free_at_ms =
            free_at_ms.max(self.clock.monotonic_ms() as f64) + charge.0 / self.ru_per_second * 1000.0;
    }
}

/// A store that paces background work, and leaves other operations alone.
pub struct BackgroundStore {
    store: Arc<dyn Store>,
    budget: Option<Arc<BackgroundBudget>>,
    is_all_background: bool,
}

impl BackgroundStore {
    /// The same store. Operations whose ledger is one of background work are paced by the budget, if there is
    /// one.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, budget: Option<Arc<BackgroundBudget>>) -> Self {
        Self { store, budget, is_all_background: false }
    }

    /// The same store for background work alone: all operations are.
    #[must_use]
    pub fn for_background(store: Arc<dyn Store>, budget: Option<Arc<BackgroundBudget>>) -> Self {
        Self { store, budget, is_all_background: true }
    }
}

impl StoreDecorator for BackgroundStore {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        if !self.is_all_background && !ledger.is_background() {
            return call.run(&*self.store, ledger).await;
        }
        if let Some(budget) = &self.budget {
            budget.wait().await;
        }
        let own = ledger.part().for_background();
        let outcome = call.run(&*self.store, &own).await;
        if let Some(budget) = &self.budget {
            budget.spend(own.total());
        }
        ledger.absorb(&own);
        outcome
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use onehop_runtime::clock::ManualClock;

    use super::*;

    #[test]
    fn a_clock_that_is_set_back_or_forward_changes_no_wait() {
        for step_ms in [-3_600_000, 3_600_000] {
            let clock = Arc::new(ManualClock::new(1_800_000_000_000));
            let budget = BackgroundBudget::new(clock.clone(), 10.0);
            budget.spend(RequestCharge(20.0));
            clock.step_wall_ms(step_ms);
            clock.advance_ms(1_999);
            assert!(budget.free_at_ms.lock().ceil() as i64 > clock.monotonic_ms(), "20 RU take two seconds");
            clock.advance_ms(1);
            assert!(budget.wait().now_or_never().is_some(), "after a step of {step_ms} ms");
        }
    }
}
