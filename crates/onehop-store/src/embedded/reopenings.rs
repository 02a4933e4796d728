//! Reopenings: how often an engine that has failed to write is opened again. An engine that fails again each
//! time, as a damaged table makes it, is left alone for a while: writes are refused with the reason instead
//! of opening it for each of them.

use std::collections::VecDeque;
use std::time::Duration;

use super::engine_faults::RETRY_AFTER;
use crate::{Fault, FaultKind};

/// Reopenings within [`REOPENING_WINDOW`].
const REOPENINGS_MAX: usize = 3;
const REOPENING_WINDOW: Duration = Duration::from_secs(60);

/// The last reopenings of an engine.
#[derive(Debug, Default)]
pub(super) struct Reopenings {
    /// Monotonic ms, the oldest first.
    at_ms: VecDeque<i64>,
    /// Whether the last reopening was refused.
    was_refused: bool,
}

impl Reopenings {
    /// Counts a reopening at this moment (monotonic ms).
    ///
    /// # Errors
    /// There were too many within the window: a fault of kind [`FaultKind::Full`].
    pub(super) fn admit(&mut self, now_ms: i64) -> Result<(), Fault> {
        let window_ms = i64::try_from(REOPENING_WINDOW.as_millis()).unwrap_or(i64::MAX);
        while self.at_ms.front().is_some_and(|at_ms| now_ms.saturating_sub(*at_ms) >= window_ms) {
            self.at_ms.pop_front();
        }
        let is_refused = self.at_ms.len() >= REOPENINGS_MAX;
        if is_refused && !self.was_refused {
            tracing::error!(
                "the storage engine fails to write each time that it is opened: writes are refused for a while. A file \
                 may be damaged (`onehop check` names it), or the disk"
            );
        }
        self.was_refused = is_refused;
        if is_refused {
            return Err(too_many());
        }
        self.at_ms.push_back(now_ms);
        Ok(())
    }
}

fn too_many() -> Fault {
    let window_s = REOPENING_WINDOW.as_secs();
    let message = format!(
        "the storage engine takes no writes: it was opened again {REOPENINGS_MAX} times within {window_s} s, and failed to \
         write each time. A file may be damaged (`onehop check` names it), or the disk"
    );
    Fault::new(FaultKind::Full, message).with_retry_after(RETRY_AFTER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_is_opened_again_three_times_a_minute() {
        let mut reopenings = Reopenings::default();
        for now_ms in [0, 10, 20_000] {
            reopenings.admit(now_ms).expect("admitted");
        }
        for now_ms in [20_001, 59_999] {
            assert_eq!(reopenings.admit(now_ms).expect_err("refused").kind, FaultKind::Full);
        }
        reopenings.admit(60_000).expect("the first is a minute old");
        assert!(reopenings.admit(60_001).is_err());
    }
}
