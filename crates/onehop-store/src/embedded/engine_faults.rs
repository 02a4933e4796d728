//! Faults of the storage engine: which kind an error of the engine is, and when to try again.

use std::time::Duration;

use crate::{Fault, FaultKind};

/// When to try again after an engine that cannot write refused a request.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(5);

/// A reopening has failed; the next write tries again.
pub(super) fn closed() -> Fault {
    Fault::new(FaultKind::Unavailable, "the storage engine is closed").with_retry_after(RETRY_AFTER)
}

pub(super) fn no_writes(why: impl std::fmt::Display) -> Fault {
    Fault::new(FaultKind::Full, format!("the storage engine takes no writes: {why}"))
        .with_retry_after(RETRY_AFTER)
}

/// The engine refused a commit before anything of it was written.
pub(super) fn cannot_write(error: &fjall::Error) -> Fault {
    no_writes(format!("it cannot write any more: {error}"))
}

pub(super) fn engine_fault(error: fjall::Error) -> Fault {
    let message = format!("the storage engine failed: {error}");
    match error {
        error if is_damage(&error) => Fault::new(FaultKind::Corrupt, message),
        // The disk or the process lacks something; no request is at fault.
        fjall::Error::Storage(_) | fjall::Error::Io(_) | fjall::Error::Poisoned => {
            Fault::new(FaultKind::Unavailable, message).with_retry_after(RETRY_AFTER)
        }
        _ => Fault::new(FaultKind::Internal, message),
    }
}

/// Whether a read returned other bytes than were written.
fn is_damage(error: &fjall::Error) -> bool {
    match error {
        fjall::Error::Storage(error) => !matches!(error, fjall::LsmError::Io(_)),
        fjall::Error::Decompress(_)
        | fjall::Error::InvalidTag(_)
        | fjall::Error::InvalidTrailer
        | fjall::Error::Unrecoverable => true,
        _ => false,
    }
}
