//! Request counts: the requests of a client of Azure Cosmos DB, by operation and container.
//!
//! The source is the client's own diagnostics, so repeated requests are counted, too.

use std::collections::BTreeMap;

use azure_core::http::Context;
use azure_data_cosmos::diagnostics::{CosmosOperationContext, DiagnosticsContext, DiagnosticsHandler};
use parking_lot::Mutex;

/// The counter of one client's requests.
#[derive(Debug, Default)]
pub struct RequestCounts(Mutex<BTreeMap<(String, String), usize>>);

impl RequestCounts {
    /// All requests so far, by operation and container.
    pub fn all(&self) -> BTreeMap<(String, String), usize> {
        self.0.lock().clone()
    }

    /// Forgets the counts, and returns them.
    pub fn take(&self) -> BTreeMap<(String, String), usize> {
        std::mem::take(&mut *self.0.lock())
    }

    /// The number of requests so far.
    pub fn total(&self) -> usize {
        self.0.lock().values().sum()
    }
}

impl DiagnosticsHandler for RequestCounts {
    fn handle(&self, diagnostics: &DiagnosticsContext, context: &Context<'_>) {
        let operation = context.value::<CosmosOperationContext>();
        let name = operation.and_then(CosmosOperationContext::operation_name).unwrap_or_default();
        let container = operation.and_then(CosmosOperationContext::container_name).unwrap_or_default();
        let requests = diagnostics.requests().len();
        *self.0.lock().entry((name.to_owned(), container.to_owned())).or_default() += requests;
    }
}
