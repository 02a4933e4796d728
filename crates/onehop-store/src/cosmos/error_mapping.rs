//! Error mapping: converts an error of the service into a fault or a rejection.

use std::time::Duration;

use azure_data_cosmos::CosmosError;
use azure_data_cosmos::error::{CosmosStatus, SubStatusCode};

use crate::{Fault, FaultKind, Rejection, WriteError, limits};

/// The container or the database itself was not found (404).
const OWNER_NOT_FOUND: SubStatusCode = SubStatusCode::new(1003);
/// Another write to the same item was under way, and nothing was carried out (449, "retry with").
pub(super) const CONCURRENT_WRITE: u16 = 449;
/// The service or the client could not be reached, and nothing was sent: the name is not known, the connection refused.
const NOTHING_SENT: [SubStatusCode; 3] =
    [SubStatusCode::new(20010), SubStatusCode::new(20012), SubStatusCode::new(20015)];

/// What was being done when the error came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperationContext {
    Reading,
    Writing,
    /// With a continuation that may be at fault.
    ReadingFeed,
}

/// The fault that an error is.
pub(super) fn fault_of(error: CosmosError, doing: OperationContext) -> Fault {
    if doing == OperationContext::Writing && may_have_happened(&error) {
        return ambiguous(error);
    }
    let status = error.status();
    let retry_after = retry_after(&error);
    let (kind, message) = match u16::from(status.status_code()) {
        429 => (FaultKind::Throttled, "the account has no request units left for now"),
        410 => (FaultKind::Unavailable, "the physical partition is moving"),
        CONCURRENT_WRITE => (FaultKind::Unavailable, "another write to the same item is under way (449)"),
        401 | 403 if !status.is_write_forbidden() && !status.is_database_account_not_found() => {
            (FaultKind::Internal, "the account does not let this credential in")
        }
        404 if status.sub_status() == Some(OWNER_NOT_FOUND) => {
            (FaultKind::Internal, "the container does not exist: `onehop provision` makes it")
        }
        400 if doing == OperationContext::ReadingFeed => {
            (FaultKind::InvalidContinuation, "the service does not know this continuation")
        }
        400 | 405 | 411 | 414 => (FaultKind::Internal, "the service does not understand the request"),
        _ => (FaultKind::Unavailable, "the service did not answer"),
    };
    let fault = Fault::new(kind, message).with_source(error);
    match retry_after {
        Some(delay) => fault.with_retry_after(delay),
        None => fault,
    }
}

/// The refusal or the fault that an error of a single write is.
pub(super) fn write_error_of(error: CosmosError, may_have_happened: bool) -> WriteError {
    let status = error.status();
    let is_item_absent = status.is_not_found() && status.sub_status() != Some(OWNER_NOT_FOUND);
    let code = if is_item_absent { 404 } else { u16::from(status.status_code()) };
    let refusable = code != 404 || is_item_absent;
    match rejection_of(code) {
        Some(reason) if refusable => WriteError::Rejected { operation: 0, reason },
        _ if may_have_happened => WriteError::Fault(ambiguous(error)),
        _ => WriteError::Fault(fault_of(error, OperationContext::Writing)),
    }
}

/// The fault of a write whose outcome is unknown.
pub(super) fn ambiguous(error: CosmosError) -> Fault {
    Fault::new(FaultKind::Ambiguous, "it is not known whether the write happened").with_source(error)
}

/// The refusal that a status code stands for, also within a batch.
pub(super) fn rejection_of(code: u16) -> Option<Rejection> {
    match code {
        404 => Some(Rejection::NotFound),
        409 => Some(Rejection::Conflict),
        412 => Some(Rejection::PreconditionFailed),
        413 => Some(Rejection::TooLarge {
            limit_bytes: limits::ITEM_BYTES_MAX,
            actual_bytes: limits::ITEM_BYTES_MAX + 1,
        }),
        _ => None,
    }
}

/// The fault that one operation of a batch met.
pub(super) fn fault_in_batch(code: u16, retry_after: Option<Duration>) -> Fault {
    let (kind, message) = match code {
        429 => (FaultKind::Throttled, "the account has no request units left for now"),
        410 => (FaultKind::Unavailable, "the physical partition is moving"),
        CONCURRENT_WRITE => (FaultKind::Unavailable, "another write to the same item is under way (449)"),
        408 | 500..=599 => (FaultKind::Ambiguous, "it is not known whether the batch happened"),
        _ => (FaultKind::Internal, "the service does not understand an operation of the batch"),
    };
    let fault = Fault::new(kind, format!("{message} (status {code})"));
    match retry_after {
        Some(delay) => fault.with_retry_after(delay),
        None => fault,
    }
}

/// Whether one of the attempts behind an error may have been carried out without a response.
pub(super) fn may_have_happened(error: &CosmosError) -> bool {
    is_silent(error.status())
        || error.diagnostics().is_some_and(|diagnostics| {
            diagnostics.requests().iter().any(|request| is_silent(*request.status()))
        })
}

/// Whether a status leaves open what the service did.
fn is_silent(status: CosmosStatus) -> bool {
    let sent = status.sub_status().is_none_or(|sub_status| !NOTHING_SENT.contains(&sub_status));
    sent && matches!(u16::from(status.status_code()), 408 | 500..=599)
}

/// The delay that the service asks for.
pub(super) fn retry_after(error: &CosmosError) -> Option<Duration> {
    let headers = error.response()?.headers();
    headers.retry_after_ms.map(Duration::from_millis)
}
