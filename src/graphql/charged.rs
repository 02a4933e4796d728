//! What is read is paid for, however the reading ends.

use crate::http::graphql_service::Account;
use crate::store::Ledger;

/// What is charged, in request units, for an operation under way when a request is given up: a charge is known only
/// when the operation has ended, and otherwise whoever hangs up early would read for nothing.
const GIVEN_UP_CHARGE: f64 = 10.0;

/// Charges an account with what its ledger has when this goes away: the client may have gone, or the time be over.
pub struct Charged<'a> {
    account: &'a dyn Account,
    ledger: &'a Ledger,
    is_finished: bool,
}

impl<'a> Charged<'a> {
    #[must_use = "it is charged when this is dropped"]
    pub fn new(account: &'a dyn Account, ledger: &'a Ledger) -> Self {
        Self { account, ledger, is_finished: false }
    }

    /// Nothing is under way any more.
    pub fn finish(mut self) {
        self.is_finished = true;
    }
}

impl Drop for Charged<'_> {
    fn drop(&mut self) {
        let under_way = if self.is_finished { 0.0 } else { GIVEN_UP_CHARGE };
        self.account.charge(self.ledger.total().0 + under_way);
    }
}
