//! What a request spends before it is executed: finding out who asks, and waiting for a position. It is on the caller's
//! bill, however the request ends, and in what the response says that it was charged.

use std::sync::{Arc, Mutex, PoisonError};

use super::callers::{Bill, Payer};
use super::graphql_service::{Account as _, SpentBefore};
use crate::store::Ledger;

/// The ledger of what comes before an execution.
pub(super) struct Spent<'a> {
    bill: &'a Bill,
    ledger: Mutex<Arc<Ledger>>,
}

impl<'a> Spent<'a> {
    /// Nothing is spent yet.
    pub(super) fn on(bill: &'a Bill) -> Self {
        Self { bill, ledger: Mutex::new(new_ledger(bill)) }
    }

    /// Who pays, once it is known who asks.
    pub(super) fn payer(&self) -> Option<&Payer> {
        self.bill.payer()
    }

    /// Where it is recorded.
    pub(super) fn ledger(&self) -> Arc<Ledger> {
        Arc::clone(&self.ledger.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Charges what was spent until now, and returns it for the execution that comes next.
    pub(super) fn charge(&self) -> SpentBefore {
        let new = new_ledger(self.bill);
        let spent = std::mem::replace(&mut *self.ledger.lock().unwrap_or_else(PoisonError::into_inner), new);
        self.bill.charge(spent.total().0);
        SpentBefore(spent)
    }
}

impl Drop for Spent<'_> {
    fn drop(&mut self) {
        self.charge();
    }
}

fn new_ledger(bill: &Bill) -> Arc<Ledger> {
    Arc::new(Ledger::new().under(bill.origin().span))
}
