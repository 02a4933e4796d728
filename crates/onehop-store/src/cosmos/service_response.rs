//! Responses of the service with what they were charged.

use azure_data_cosmos::CosmosError;
use azure_data_cosmos::diagnostics::DiagnosticsContext;

use crate::{Fault, RequestCharge};

/// What an operation came to, and what it was charged, however it ended.
pub(super) struct ServiceResponse<T> {
    pub(super) charge: RequestCharge,
    pub(super) outcome: Result<T, Fault>,
}

/// What the service charged for all attempts of an operation.
pub(super) fn charge_of(diagnostics: &DiagnosticsContext) -> RequestCharge {
    RequestCharge(diagnostics.total_request_charge().value())
}

/// What the service charged for an operation that failed.
pub(super) fn charge_of_error(error: &CosmosError) -> RequestCharge {
    error.diagnostics().map_or(RequestCharge::default(), |diagnostics| charge_of(&diagnostics))
}
