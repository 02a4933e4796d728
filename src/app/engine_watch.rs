//! Engine watch: ends the process when the storage engine was closed by a failure and cannot be opened again.
//! Such a process answers neither reads nor writes, and a supervisor can only restart a process that exits.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

/// The interval of looking.
const LOOK_INTERVAL: Duration = Duration::from_secs(5);
/// The time for which the engine may be closed.
pub const CLOSED_MAX: Duration = Duration::from_secs(60);

/// The engine is closed, and was not opened again in time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the storage engine could not be opened again within {} s: `onehop check` on the data directory says more",
    CLOSED_MAX.as_secs()
)]
pub struct EngineClosed;

/// Looks at the engine until `stop` fires.
///
/// # Errors
/// The engine was closed for [`CLOSED_MAX`].
pub(super) async fn watch_until(
    stop: CancellationToken,
    is_open: impl Fn() -> bool,
) -> Result<(), EngineClosed> {
    let mut closed_at: Option<Instant> = None;
    while stop.run_until_cancelled(sleep(LOOK_INTERVAL)).await.is_some() {
        if is_open() {
            closed_at = None;
        } else if closed_at.get_or_insert_with(Instant::now).elapsed() >= CLOSED_MAX {
            return Err(EngineClosed);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_engine_that_stays_closed_ends_the_process() {
        let start = Instant::now();
        assert_eq!(watch_until(CancellationToken::new(), || false).await, Err(EngineClosed));
        let most = CLOSED_MAX + 2 * LOOK_INTERVAL;
        assert!(start.elapsed() >= CLOSED_MAX && start.elapsed() <= most, "{:?}", start.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn an_engine_that_opens_again_goes_on() {
        let (stop, looks) = (CancellationToken::new(), AtomicUsize::new(0));
        let is_open = || {
            let look = looks.fetch_add(1, Ordering::Relaxed);
            if look == 100 {
                stop.cancel();
            }
            look.is_multiple_of(10)
        };
        assert_eq!(watch_until(stop.clone(), is_open).await, Ok(()));
    }
}
