//! Clients: the connection of one simulated process to the account, with the consistency of its reads.

use std::sync::Arc;

use super::account::AccountModel;
use super::process::Process;
use super::read_view::ModelConsistency;

/// A client of the account. A clone is of the same process.
#[derive(Clone)]
pub(super) struct AccountClient {
    pub(super) account: Arc<AccountModel>,
    pub(super) process: Arc<Process>,
    pub(super) consistency: ModelConsistency,
}
