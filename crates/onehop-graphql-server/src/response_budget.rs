//! Response size limit and load shedding by response memory: the bytes of one response while it is built, and
//! of all responses that are built or sent.
//!
//! [`ResponseMemory`] is the sum of the process, and a [`ResponseBudget`] is the part of one response in it.
//! Resolvers take the size of their values from the budget, as JSON with its escapes. A [`ResponseBuffer`] is
//! the only place where a response is written: code that writes responses in another way writes them there,
//! too. Knows bytes, not their meaning.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use bytes::Bytes;

use super::response_limits::{RESPONSE_BYTES_RESERVED, ResponseLimits, ResponseRefused};

/// The step in which a larger response reserves more.
const RESERVATION_STEP_BYTES: usize = 64 * 1024;

/// The memory of all responses. Clones are handles to the same memory.
#[derive(Clone, Default)]
pub struct ResponseMemory {
    limits: ResponseLimits,
    reserved: Arc<AtomicUsize>,
}

impl ResponseMemory {
    #[must_use]
    pub fn new(limits: ResponseLimits) -> Self {
        Self { limits, reserved: Arc::default() }
    }

    #[must_use]
    pub fn limits(&self) -> ResponseLimits {
        self.limits
    }

    /// Bytes that are reserved now.
    #[must_use]
    pub fn reserved(&self) -> usize {
        self.reserved.load(Ordering::Relaxed)
    }

    /// The budget of one response.
    ///
    /// # Errors
    /// There is no memory for even a small one.
    pub fn begin(&self) -> Result<ResponseBudget, ResponseRefused> {
        self.begin_within(self.limits.bytes_max)
    }

    /// The budget of a response of which only this many bytes are left to it.
    ///
    /// # Errors
    /// There is no memory for even a small one.
    pub fn begin_within(&self, bytes_max: usize) -> Result<ResponseBudget, ResponseRefused> {
        let mut budget = self.idle();
        budget.bytes_max = bytes_max;
        let first = RESPONSE_BYTES_RESERVED.min(bytes_max);
        if !self.grow(0, first) {
            return Err(ResponseRefused::Overloaded);
        }
        budget.reserved.store(first, Ordering::Relaxed);
        Ok(budget)
    }

    /// As [`begin`](Self::begin); without memory it is a budget that refuses everything.
    #[must_use]
    pub fn begin_or_refuse(&self) -> ResponseBudget {
        self.begin().unwrap_or_else(|_| {
            let budget = self.idle();
            budget.refused.store(OVERLOADED, Ordering::Relaxed);
            budget
        })
    }

    /// A budget that reserves nothing before something is taken from it.
    #[must_use]
    pub fn idle(&self) -> ResponseBudget {
        ResponseBudget {
            memory: self.clone(),
            bytes_max: self.limits.bytes_max,
            used: AtomicUsize::new(0),
            reserved: AtomicUsize::new(0),
            refused: AtomicU8::new(NOT_REFUSED),
        }
    }

    /// Memory for a copy of a response, if there is any. A small copy always has some.
    #[must_use]
    pub fn reserve(&self, bytes: usize) -> Option<Reservation> {
        if bytes > RESPONSE_BYTES_RESERVED && !self.grow(0, bytes) {
            return None;
        }
        if bytes <= RESPONSE_BYTES_RESERVED {
            self.reserved.fetch_add(bytes, Ordering::Relaxed);
        }
        Some(Reservation { memory: self.clone(), bytes })
    }

    /// Counts bytes that exist already for as long as they exist.
    #[must_use]
    pub fn hold(&self, bytes: Vec<u8>) -> Bytes {
        self.reserved.fetch_add(bytes.len(), Ordering::Relaxed);
        let reservation = Reservation { memory: self.clone(), bytes: bytes.len() };
        Bytes::from_owner(Held { bytes, _reservation: reservation })
    }

    /// Reserves more for a response that has `held` already. The larger a response is, the more it leaves to
    /// others.
    fn grow(&self, held: usize, more: usize) -> bool {
        let ResponseLimits { bytes_max, in_flight_bytes_max, .. } = self.limits;
        let size = (held + more).min(bytes_max);
        // Both fit into 64 bits after the multiplication, since each is a few GiB at most.
        let left_to_others = in_flight_bytes_max as u64 / 2 * size as u64 / bytes_max.max(1) as u64;
        let max = in_flight_bytes_max.saturating_sub(usize::try_from(left_to_others).unwrap_or(usize::MAX));
        let grown = self.reserved.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |reserved| {
            reserved.checked_add(more).filter(|reserved| *reserved <= max)
        });
        grown.is_ok()
    }

    fn release(&self, bytes: usize) {
        self.reserved.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Part of the response memory, given back when this is dropped.
#[must_use = "it is given back when it is dropped"]
pub struct Reservation {
    memory: ResponseMemory,
    bytes: usize,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.memory.release(self.bytes);
    }
}

/// Bytes with their reservation: it lasts until the last clone was sent or dropped.
struct Held {
    bytes: Vec<u8>,
    _reservation: Reservation,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

const NOT_REFUSED: u8 = 0;
const OVER_LIMIT: u8 = 1;
const OVERLOADED: u8 = 2;

/// The bytes that one response may have. Once it has refused, it refuses everything.
pub struct ResponseBudget {
    memory: ResponseMemory,
    bytes_max: usize,
    used: AtomicUsize,
    reserved: AtomicUsize,
    refused: AtomicU8,
}

impl Default for ResponseBudget {
    fn default() -> Self {
        ResponseMemory::default().idle()
    }
}

impl ResponseBudget {
    /// The memory that it is a part of.
    #[must_use]
    pub fn memory(&self) -> &ResponseMemory {
        &self.memory
    }

    /// Takes bytes of JSON that are added to the response.
    ///
    /// # Errors
    /// The response is too large, or the process has no memory for it.
    pub fn take(&self, bytes: usize) -> Result<(), ResponseRefused> {
        self.check()?;
        let used = self.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        self.reserve(used)
    }

    /// As [`take`](Self::take), where a refusal is not remembered: the caller abandons its text, and
    /// something else takes from this budget.
    pub fn try_take(&self, bytes: usize) -> bool {
        if self.check().is_err() {
            return false;
        }
        let is_taken = self.take(bytes).is_ok();
        if !is_taken {
            self.refused.store(NOT_REFUSED, Ordering::Relaxed);
        }
        is_taken
    }

    /// # Errors
    /// Something was refused already.
    pub fn check(&self) -> Result<(), ResponseRefused> {
        match self.refused.load(Ordering::Relaxed) {
            NOT_REFUSED => Ok(()),
            OVER_LIMIT => Err(ResponseRefused::OverLimit(self.memory.limits.exceeded())),
            _ => Err(ResponseRefused::Overloaded),
        }
    }

    /// Bytes that were taken.
    #[must_use]
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Gives back the bytes of a part that was dropped again: all beyond the earlier `used`.
    pub fn rewind(&self, used: usize) {
        self.used.store(used, Ordering::Relaxed);
    }

    /// Has memory for this many bytes reserved.
    fn reserve(&self, bytes: usize) -> Result<(), ResponseRefused> {
        let reserved = self.reserved.load(Ordering::Relaxed);
        if bytes <= reserved {
            return Ok(());
        }
        if bytes > self.bytes_max {
            return self.refuse(OVER_LIMIT);
        }
        let more = (bytes - reserved).next_multiple_of(RESERVATION_STEP_BYTES).min(self.bytes_max - reserved);
        if !self.memory.grow(reserved, more) {
            return self.refuse(OVERLOADED);
        }
        self.reserved.fetch_add(more, Ordering::Relaxed);
        Ok(())
    }

    fn refuse(&self, why: u8) -> Result<(), ResponseRefused> {
        self.refused.store(why, Ordering::Relaxed);
        self.check()
    }

    /// Moves this many of the reserved bytes out, and gives back the rest.
    fn hand_over(&self, bytes: usize) -> Reservation {
        let reserved = self.reserved.swap(0, Ordering::Relaxed);
        match reserved.checked_sub(bytes) {
            Some(rest) => self.memory.release(rest),
            None => {
                self.memory.reserved.fetch_add(bytes - reserved, Ordering::Relaxed);
            }
        }
        Reservation { memory: self.memory.clone(), bytes }
    }
}

impl Drop for ResponseBudget {
    fn drop(&mut self) {
        self.memory.release(*self.reserved.get_mut());
    }
}

/// Writes one response within its budget.
pub struct ResponseBuffer<'a> {
    bytes: Vec<u8>,
    budget: &'a ResponseBudget,
    refused: Option<ResponseRefused>,
}

impl<'a> ResponseBuffer<'a> {
    /// A buffer for bytes taken from the budget, which grows when more is written.
    #[must_use]
    pub fn new(budget: &'a ResponseBudget, bytes_expected: usize) -> Self {
        Self { bytes: Vec::with_capacity(budget.used().max(bytes_expected)), budget, refused: None }
    }

    /// A buffer with bytes that were written elsewhere, at once.
    pub(crate) fn written(budget: &'a ResponseBudget, bytes: Vec<u8>) -> Self {
        let refused = budget.reserve(bytes.len()).err();
        Self { bytes, budget, refused }
    }

    /// Why a write has failed, if one has.
    #[must_use]
    pub fn refused(&self) -> Option<ResponseRefused> {
        self.refused
    }

    /// The written bytes. Its memory stays reserved until the last clone is dropped.
    #[must_use]
    pub fn into_bytes(mut self) -> Bytes {
        if self.bytes.capacity() - self.bytes.len() > RESERVATION_STEP_BYTES {
            self.bytes.shrink_to_fit();
        }
        let reservation = self.budget.hand_over(self.bytes.len());
        Bytes::from_owner(Held { bytes: self.bytes, _reservation: reservation })
    }
}

impl io::Write for ResponseBuffer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(refused) = self.budget.reserve(self.bytes.len() + bytes.len()) {
            self.refused = Some(refused);
            return Err(io::Error::other(refused));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for ResponseMemory {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("ResponseMemory");
        shown.field("limits", &self.limits).field("reserved", &self.reserved()).finish()
    }
}

impl fmt::Debug for ResponseBudget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ResponseBudget").field("used", &self.used()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    const LIMITS: ResponseLimits =
        ResponseLimits { bytes_max: 1024 * 1024, in_flight_bytes_max: 4 * 1024 * 1024, ru_per_kib: 2 };

    #[test]
    fn a_response_at_its_limit_passes_and_one_byte_more_does_not() {
        let memory = ResponseMemory::new(LIMITS);
        let budget = memory.begin().unwrap();
        budget.take(LIMITS.bytes_max).unwrap();
        let ResponseRefused::OverLimit(exceeded) = budget.take(1).unwrap_err() else { panic!("overloaded") };
        assert_eq!((exceeded.limit, exceeded.max), ("response-bytes-max", 1024 * 1024));
        assert!(budget.take(0).is_err(), "it refuses from then on");
    }

    #[test]
    fn what_was_dropped_again_is_given_back() {
        let memory = ResponseMemory::new(LIMITS);
        let budget = memory.begin().unwrap();
        for _ in 0..10 {
            let used = budget.used();
            budget.take(LIMITS.bytes_max).unwrap();
            budget.rewind(used);
        }
        drop(budget);
        assert_eq!(memory.reserved(), 0);
    }

    #[test]
    fn written_bytes_are_reserved_until_the_last_clone_is_dropped() {
        let memory = ResponseMemory::new(LIMITS);
        let budget = memory.begin().unwrap();
        budget.take(300_000).unwrap();
        let mut buffer = ResponseBuffer::new(&budget, 0);
        buffer.write_all(&[b'x'; 200_000]).unwrap();
        let bytes = buffer.into_bytes();
        drop(budget);
        assert_eq!(memory.reserved(), 200_000);
        let part = bytes.slice(10..20);
        drop(bytes);
        assert_eq!(memory.reserved(), 200_000);
        drop(part);
        assert_eq!(memory.reserved(), 0);
    }

    #[test]
    fn a_buffer_refuses_a_response_over_its_limit() {
        let memory = ResponseMemory::new(LIMITS);
        let budget = memory.begin().unwrap();
        let mut buffer = ResponseBuffer::new(&budget, 0);
        assert!(buffer.write_all(&vec![b'x'; LIMITS.bytes_max + 1]).is_err());
        assert!(matches!(buffer.refused(), Some(ResponseRefused::OverLimit(_))));
    }

    #[test]
    fn large_responses_leave_half_of_the_memory_to_small_ones() {
        let memory = ResponseMemory::new(LIMITS);
        let large: Vec<_> = (0..4)
            .map(|_| {
                let budget = memory.begin().unwrap();
                let taken = budget.take(LIMITS.bytes_max);
                (budget, taken)
            })
            .collect();
        let taken: Vec<bool> = large.iter().map(|(_, taken)| taken.is_ok()).collect();
        assert_eq!(taken, [true, true, false, false]);
        assert_eq!(large[3].1, Err(ResponseRefused::Overloaded));
        let mut small = Vec::new();
        while let Ok(budget) = memory.begin() {
            small.push(budget);
        }
        assert!(small.len() > 100, "{}", small.len());
        assert!(memory.reserve(RESPONSE_BYTES_RESERVED).is_some(), "a small copy is always made");
        assert!(memory.reserve(RESPONSE_BYTES_RESERVED + 1).is_none());
        drop((large, small));
        assert_eq!(memory.reserved(), 0);
    }
}
