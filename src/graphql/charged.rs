//! Payment for reads: charged for every outcome of the request, together with the background work of writes.

use std::any::Any;

use onehop_graphql_server::quota::{ChargeRecord, QuotaAccount};
use onehop_store::{Ledger, RequestCharge};
use parking_lot::Mutex;

/// The charge of an operation under way when a request is given up, in request units. A charge is known only
/// when the operation has ended, and otherwise a client that hangs up early would read for nothing.
const GIVEN_UP_CHARGE: f64 = 10.0;

/// Charges an account with its ledger when this is dropped: the client may have gone, or the time be
/// over.
pub struct Charged<'a> {
    account: &'a dyn QuotaAccount,
    ledger: &'a Ledger,
    follow_up: Option<&'a FollowUp>,
    is_finished: bool,
}

/// Follow-up charges of a request: for background work because of it. They count for the caller's
/// quota, and are no part of the response's charge.
#[derive(Debug, Default)]
pub struct FollowUp(Mutex<f64>);

impl FollowUp {
    /// Adds a charge.
    pub fn add(&self, charge: RequestCharge) {
        *self.0.lock() += charge.0;
    }

    fn total(&self) -> f64 {
        *self.0.lock()
    }
}

impl<'a> Charged<'a> {
    #[must_use = "it is charged when this is dropped"]
    pub fn new(account: &'a dyn QuotaAccount, ledger: &'a Ledger) -> Self {
        Self { account, ledger, follow_up: None, is_finished: false }
    }

    /// Charges the follow-up, too.
    #[must_use = "it is charged when this is dropped"]
    pub fn with_follow_up(mut self, follow_up: &'a FollowUp) -> Self {
        self.follow_up = Some(follow_up);
        self
    }

    /// Nothing is under way any more.
    pub fn finish(mut self) {
        self.is_finished = true;
    }
}

impl Drop for Charged<'_> {
    fn drop(&mut self) {
        let under_way = if self.is_finished { 0.0 } else { GIVEN_UP_CHARGE };
        let follow_up = self.follow_up.map_or(0.0, FollowUp::total);
        self.account.charge(self.ledger.total().0 + under_way + follow_up);
    }
}

/// The charge record of the work before an execution: a ledger of the store.
#[derive(Debug)]
pub(super) struct StoreCharges(pub(super) Ledger);

impl ChargeRecord for StoreCharges {
    fn request_charge(&self) -> f64 {
        self.0.total().0
    }
}

/// The ledger in a record that the executor made.
///
/// # Panics
/// The record is of another service.
pub fn ledger_of(charges: &dyn ChargeRecord) -> &Ledger {
    let charges: &dyn Any = charges;
    &charges.downcast_ref::<StoreCharges>().expect("the server gives back what this service made").0
}
