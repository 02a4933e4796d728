//! Looks of a reader: its numbered reads of the change feed, the writes of this process that they have seen,
//! and the callers who bear their charge.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use onehop_store::OperationRecord;
use parking_lot::Mutex;

#[derive(Debug, Default)]
pub(super) struct Looks {
    begun: AtomicU64,
    /// The number of the last look that found the range drained, with every change before completed.
    drained: AtomicU64,
    /// The signal of own writes when that look began.
    seen: Mutex<Option<u64>>,
    /// The next look is on a caller's account.
    is_billed: AtomicBool,
    bill: Mutex<Vec<OperationRecord>>,
}

/// A look that has begun.
pub(super) struct Look {
    number: u64,
    signal: Option<u64>,
    pub(super) is_for_caller: bool,
}

impl Looks {
    pub(super) fn begin(&self, signal: Option<u64>) -> Look {
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        Look { number, signal, is_for_caller: self.is_billed.swap(false, Ordering::SeqCst) }
    }

    pub(super) fn found_drained(&self, look: &Look) {
        *self.seen.lock() = look.signal;
        self.drained.store(look.number, Ordering::SeqCst);
    }

    /// The number of looks begun, and the number of the last look that found the range drained.
    pub(super) fn counts(&self) -> (u64, u64) {
        (self.begun.load(Ordering::SeqCst), self.drained.load(Ordering::SeqCst))
    }

    /// Whether a look that began with this signal found the range drained.
    pub(super) fn has_seen(&self, signal: u64) -> bool {
        *self.seen.lock() == Some(signal)
    }

    /// Puts the next look on a caller's account.
    pub(super) fn bill_next(&self) {
        self.is_billed.store(true, Ordering::SeqCst);
    }

    pub(super) fn bill(&self, operations: Vec<OperationRecord>) {
        self.bill.lock().extend(operations);
    }

    pub(super) fn take_bill(&self) -> Vec<OperationRecord> {
        std::mem::take(&mut *self.bill.lock())
    }
}
