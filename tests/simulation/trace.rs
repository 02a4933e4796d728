//! Trace of a run: one line for each act, request, fault and answer, with its virtual time.

use std::cell::RefCell;

use tokio::time::Instant;

thread_local! {
    static TRACE: RefCell<Option<(Instant, Vec<String>)>> = const { RefCell::new(None) };
}

/// Begins the trace of this thread.
pub fn begin(start: Instant) {
    TRACE.set(Some((start, Vec::new())));
}

/// Adds a line with its source and its text.
pub fn line(who: impl std::fmt::Display, what: impl std::fmt::Display) {
    TRACE.with_borrow_mut(|trace| {
        if let Some((start, lines)) = trace {
            let (at, who) = (start.elapsed().as_millis(), who.to_string());
            lines.push(format!("{at:>9} ms  {who:<14}  {what}"));
        }
    });
}

/// Ends the trace, and returns its lines.
pub fn take() -> Vec<String> {
    TRACE.take().map(|(_, lines)| lines).unwrap_or_default()
}
