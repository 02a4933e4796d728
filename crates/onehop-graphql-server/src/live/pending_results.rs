//! Backpressure by bytes: the results of a subscription that some of its members have not taken yet, and how
//! many bytes they may have. Knows nothing of the channel through which members get them.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use parking_lot::Mutex;

/// A result for all members, until it is withdrawn.
#[derive(Debug)]
pub(super) struct WaitingResult {
    bytes: usize,
    response: Mutex<Option<Bytes>>,
}

impl WaitingResult {
    pub(super) fn new(response: Bytes) -> Self {
        Self { bytes: response.len(), response: Mutex::new(Some(response)) }
    }

    /// The response; `None` when it had to make room for later ones.
    pub(super) fn response(&self) -> Option<Bytes> {
        self.response.lock().clone()
    }

    fn withdraw(&self) {
        self.response.lock().take();
    }
}

/// The results of one subscription that wait, oldest first.
pub(super) struct WaitingResults {
    bytes_max: usize,
    results: VecDeque<Weak<WaitingResult>>,
}

impl WaitingResults {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, results: VecDeque::new() }
    }

    /// Whether a further result of this many bytes may wait beside the others. A single one always may.
    pub(super) fn has_room_for(&mut self, bytes: usize) -> bool {
        self.results.retain(|result| result.strong_count() > 0);
        let waiting: usize = self.results.iter().filter_map(Weak::upgrade).map(|result| result.bytes).sum();
        waiting == 0 || waiting.saturating_add(bytes) <= self.bytes_max
    }

    /// Notes a result that waits from now on, and withdraws the oldest until it has room.
    pub(super) fn push(&mut self, result: &Arc<WaitingResult>) {
        while !self.has_room_for(result.bytes) {
            if let Some(oldest) = self.results.pop_front().and_then(|oldest| oldest.upgrade()) {
                oldest.withdraw();
            }
        }
        self.results.push_back(Arc::downgrade(result));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(bytes: usize) -> Arc<WaitingResult> {
        Arc::new(WaitingResult::new(vec![b'x'; bytes].into()))
    }

    #[test]
    fn the_oldest_results_make_room_for_the_newest() {
        let mut waiting = WaitingResults::new(100);
        let results: Vec<_> = [40, 40, 40].into_iter().map(result).collect();
        results.iter().for_each(|result| waiting.push(result));
        let kept: Vec<bool> = results.iter().map(|result| result.response().is_some()).collect();
        assert_eq!(kept, [false, true, true]);
    }

    #[test]
    fn a_result_that_everybody_has_taken_takes_no_room() {
        let mut waiting = WaitingResults::new(100);
        let first = result(90);
        waiting.push(&first);
        assert!(!waiting.has_room_for(20));
        drop(first);
        assert!(waiting.has_room_for(20));
    }

    #[test]
    fn a_result_larger_than_the_limit_waits_alone() {
        let mut waiting = WaitingResults::new(100);
        let (small, large) = (result(10), result(500));
        waiting.push(&small);
        waiting.push(&large);
        assert!(small.response().is_none() && large.response().is_some());
        assert!(!waiting.has_room_for(1));
    }
}
