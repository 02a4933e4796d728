//! What a request spends before it is executed: finding out who asks, and waiting for a position. It is on the caller's
//! bill, however the request ends, and in what the response says that it was charged.

use std::sync::{Arc, Mutex, PoisonError};

use super::callers::{Bill, Payer};
use super::graphql_service::{Account as _, ChargeRecord, GraphqlService, SpentBefore};

/// The charge record of what comes before an execution.
pub(super) struct Spent<'a> {
    service: &'a dyn GraphqlService,
    bill: &'a Bill,
    record: Mutex<Arc<dyn ChargeRecord>>,
}

impl<'a> Spent<'a> {
    /// Nothing is spent yet.
    pub(super) fn on(bill: &'a Bill, service: &'a dyn GraphqlService) -> Self {
        Self { service, bill, record: Mutex::new(new_record(service, bill)) }
    }

    /// Who pays, once it is known who asks.
    pub(super) fn payer(&self) -> Option<&Payer> {
        self.bill.payer()
    }

    /// Where it is recorded.
    pub(super) fn record(&self) -> Arc<dyn ChargeRecord> {
        Arc::clone(&self.record.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Charges what was spent until now, and returns it for the execution that comes next.
    pub(super) fn charge(&self) -> SpentBefore {
        let new = new_record(self.service, self.bill);
        let spent = std::mem::replace(&mut *self.record.lock().unwrap_or_else(PoisonError::into_inner), new);
        self.bill.charge(spent.request_charge());
        SpentBefore(spent)
    }
}

impl Drop for Spent<'_> {
    fn drop(&mut self) {
        self.charge();
    }
}

fn new_record(service: &dyn GraphqlService, bill: &Bill) -> Arc<dyn ChargeRecord> {
    service.new_charge_record(bill.origin().span)
}
