//! Times in the claims of tokens, in seconds since the Unix epoch, and the leeway for clocks that differ.

/// By how much the clocks of issuers and verifiers may differ.
pub const CLOCK_LEEWAY_MS: i64 = 30_000;

/// Whether a moment in seconds lies before now, by more than clocks may differ.
pub(super) fn is_past(seconds: i64, now_ms: i64) -> bool {
    now_ms >= end_of(seconds)
}

/// When a moment in seconds lies in the past for sure, however clocks differ (Unix ms).
pub(super) fn end_of(seconds: i64) -> i64 {
    seconds.saturating_mul(1000).saturating_add(CLOCK_LEEWAY_MS)
}

/// Whether a moment in seconds lies after now, by more than clocks may differ.
pub(super) fn is_after(seconds: i64, now_ms: i64) -> bool {
    now_ms.saturating_add(CLOCK_LEEWAY_MS) < seconds.saturating_mul(1000)
}
