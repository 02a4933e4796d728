//! Quorum reads: a decorator that charges the estimated reads of a store as reads of the latest committed
//! version, which two replicas answer. On an account the adapter itself reads so
//! ([`Consistency::LatestCommitted`](crate::cosmos::Consistency)).

use std::sync::Arc;

use crate::charges::{Calibration, Constant};
use crate::{ChargeSource, Ledger, Store, StoreCall, StoreDecorator};

/// A store whose estimated reads are charged for two replicas.
pub struct QuorumReads {
    store: Arc<dyn Store>,
    factor: f64,
}

impl QuorumReads {
    /// The same store; the calibration has the factor.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, calibration: &Calibration) -> Self {
        Self { store, factor: calibration.value(Constant::QuorumFactor) }
    }
}

impl StoreDecorator for QuorumReads {
    fn inner(&self) -> &dyn Store {
        &*self.store
    }

    async fn around<'a, C: StoreCall<'a>>(&self, call: C, ledger: &Ledger) -> Result<C::Output, C::Error> {
        let own = ledger.part();
        let outcome = call.run(&*self.store, &own).await;
        let mut records = own.take_operations();
        for record in &mut records {
            if record.source == ChargeSource::Estimated && !record.kind.writes() {
                record.charge.0 *= self.factor;
            }
        }
        ledger.absorb_part(&own, records);
        outcome
    }
}
