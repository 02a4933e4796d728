//! Responses of the service with their charges.

use azure_data_cosmos::CosmosError;
use azure_data_cosmos::diagnostics::DiagnosticsContext;

use crate::{Fault, RequestCharge};

/// The outcome of an operation with its charge, also for a failed operation.
pub(super) struct ServiceResponse<T> {
    pub(super) charge: RequestCharge,
    pub(super) outcome: Result<T, Fault>,
}

/// The charge of the service for all attempts of an operation.
pub(super) fn charge_of(diagnostics: &DiagnosticsContext) -> RequestCharge {
    RequestCharge(diagnostics.total_request_charge().value())
}

/// The charge of the service for a failed operation.
pub(super) fn charge_of_error(error: &CosmosError) -> RequestCharge {
    error.diagnostics().map_or(RequestCharge::default(), |diagnostics| charge_of(&diagnostics))
}
