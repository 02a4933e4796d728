//! Error mapping: converts an error of the service into a fault or a rejection.

use std::time::Duration;

use azure_data_cosmos::CosmosError;
use azure_data_cosmos::error::{CosmosStatus, SubStatusCode};

use uuid::Uuid;

use crate::{ContainerName, Fault, FaultKind, PartitionHash, PartitionKey, Rejection, WriteError, limits};

/// The container or the database itself was not found (404).
const OWNER_NOT_FOUND: SubStatusCode = SubStatusCode::new(1003);
/// Another write to the same item was under way, and nothing was carried out (449, "retry with").
pub(super) const CONCURRENT_WRITE: u16 = 449;
/// The client got no token of Microsoft Entra ID (401).
const NO_TOKEN: SubStatusCode = SubStatusCode::new(20402);
/// A logical partition holds as much as it can (403).
pub(super) const PARTITION_FULL: u16 = 1014;
/// The container was deleted and made again (400).
const CONTAINER_RECREATED: u16 = 1024;
/// Sub-statuses that the client gives a continuation that it cannot read or use.
const CONTINUATION_REFUSED_BY_CLIENT: [u16; 9] =
    [20007, 20020, 20116, 20117, 20203, 20204, 20205, 20213, 20214];
/// Parts of the messages in which the service refuses a continuation, in lower case.
const CONTINUATION_REFUSED_BY_SERVICE: [&str; 2] =
    ["change feed token format is invalid", "continuation token specified in the request is malformed"];
/// The service or the client could not be reached, and nothing was sent: the name is not known, the
/// connection refused.
const NOTHING_SENT: [SubStatusCode; 3] =
    [SubStatusCode::new(20010), SubStatusCode::new(20012), SubStatusCode::new(20015)];

/// The operation during which the error came.
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
        401 if status.sub_status() == Some(NO_TOKEN) => {
            (FaultKind::Unavailable, "the identity provider gives no token")
        }
        401 => (FaultKind::Misconfigured, "the account does not accept the credential"),
        403 if !status.is_write_forbidden() && !status.is_database_account_not_found() => forbidden(&error),
        404 if status.sub_status() == Some(OWNER_NOT_FOUND) => {
            (FaultKind::Misconfigured, "the container does not exist: `onehop provision` makes it")
        }
        _ if doing == OperationContext::ReadingFeed && refuses_continuation(&error) => {
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

/// Why the account forbids a request (403), by the sub-status.
///
/// Sources: "Diagnose and troubleshoot Azure Cosmos DB forbidden exceptions" on learn.microsoft.com
/// (firewall, 1014, 5300), and `ForbiddenSubStatusCode` of Azure/azure-cosmos-dotnet-v3.
fn forbidden(error: &CosmosError) -> (FaultKind, &'static str) {
    match error.status().sub_status().map_or(0, |sub_status| sub_status.value()) {
        PARTITION_FULL => (FaultKind::PartitionFull, "a logical partition holds as much as it can"),
        1005 | 1009..=1011 | 1019 | 1020 | 1028 | 1029 => {
            (FaultKind::Misconfigured, "a limit of the account is reached")
        }
        5300..=5400 => (FaultKind::Misconfigured, "the role of the credential does not permit the operation"),
        _ if error.to_string().contains("originated from") => {
            (FaultKind::Misconfigured, "the firewall of the account does not admit this machine")
        }
        _ => (FaultKind::Misconfigured, "the account does not let this credential in"),
    }
}

/// Whether a page of the change feed failed for its continuation, and for nothing else.
///
/// The service answers 400 without a sub-status to any request that it cannot read, so its message decides.
/// For the change feed it is "Change feed token format is invalid" (Azure/azure-cosmos-dotnet-v3, issue
/// 3381), for feeds in general "The continuation token specified in the request is malformed" (the same,
/// issue 3416). The client refuses a continuation before it sends it, with sub-statuses of its own
/// (`status_codes` of `azure_data_cosmos_driver`), or with 400 and no sub-status, where it cannot read it or
/// the container was made anew.
pub(super) fn refuses_continuation(error: &CosmosError) -> bool {
    let status = error.status();
    let sub_status = status.sub_status().map_or(0, |sub_status| sub_status.value());
    if !error.is_from_wire() {
        return CONTINUATION_REFUSED_BY_CLIENT.contains(&sub_status)
            || status.is_bad_request() && [0, CONTAINER_RECREATED].contains(&sub_status);
    }
    let text = error.to_string().to_ascii_lowercase();
    status.is_bad_request()
        && (sub_status == CONTAINER_RECREATED
            || CONTINUATION_REFUSED_BY_SERVICE.iter().any(|message| text.contains(message)))
}

/// The fault of a write to a logical partition that holds as much as it can. A key that is an id names it;
/// any other may be personal, and its hash names it.
pub(super) fn partition_full(container: ContainerName, partition_key: &PartitionKey) -> Fault {
    let limit = limits::LOGICAL_PARTITION_GB_MAX;
    let name = match Uuid::parse_str(partition_key.as_str()) {
        Ok(id) => format!("{id}"),
        Err(_) => format!("with the hash {}", PartitionHash::of(container, partition_key)),
    };
    let message = format!("the logical partition {name} of {container} holds {limit} GB, and takes no more");
    Fault::new(FaultKind::PartitionFull, message)
}

/// The refusal or the fault that an error of a write is, or of a batch as a whole.
pub(super) fn write_error_of(
    error: CosmosError,
    may_have_happened: bool,
    (container, partition_key): (ContainerName, &PartitionKey),
) -> WriteError {
    let status = error.status();
    if status.is_forbidden() && status.sub_status() == Some(SubStatusCode::new(PARTITION_FULL)) {
        return partition_full(container, partition_key).with_source(error).into();
    }
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
        401 | 403 => (FaultKind::Misconfigured, "the account does not let this credential in"),
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

/// Whether a status leaves the outcome at the service open.
fn is_silent(status: CosmosStatus) -> bool {
    let sent = status.sub_status().is_none_or(|sub_status| !NOTHING_SENT.contains(&sub_status));
    sent && matches!(u16::from(status.status_code()), 408 | 500..=599)
}

/// The delay that the service asks for.
pub(super) fn retry_after(error: &CosmosError) -> Option<Duration> {
    let headers = error.response()?.headers();
    headers.retry_after_ms.map(Duration::from_millis)
}
