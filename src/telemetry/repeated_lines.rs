//! Repeated log lines: the same fault is one line and a count. Within a window each place in the program
//! writes few warnings and errors that differ; the rest is counted, and the count is a line at the end of the
//! window. Knows lines, not faults.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tracing::callsite::Identifier;
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::layer::{Context, Filter};

/// Lines with different fields that one place of the program writes in a window.
pub const LINES_PER_PLACE_MAX: usize = 8;
/// The target of lines that are never left out: each is wanted for itself.
pub const EVERY_LINE: &str = "onehop::access";
/// Fields that differ in each line of the same fault.
const OWN_FIELDS: [&str; 2] = ["error_id", "free_bytes"];

/// The lines of the present window. Clones are handles to the same one.
#[derive(Debug, Clone, Default)]
pub struct RepeatedLines(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Whether the end of each window is reported: otherwise no line is left out.
    is_reported: AtomicBool,
    places: Mutex<HashMap<Identifier, LogSite>>,
}

/// A place in the program that writes lines.
#[derive(Debug)]
struct LogSite {
    level: Level,
    message: String,
    /// Hashes of the fields of written lines.
    written: BTreeSet<u64>,
    left_out: u64,
}

/// The lines that one place did not write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    pub level: Level,
    pub message: String,
    pub count: u64,
}

impl RepeatedLines {
    /// Leaves lines out from now on: the caller reports [`ended_window`](Self::ended_window) from time to
    /// time.
    pub fn begin(&self) {
        self.0.is_reported.store(true, Ordering::Relaxed);
    }

    /// Ends a window and begins the next: the lines that were left out, by their places, the most frequent
    /// first.
    #[must_use]
    pub fn ended_window(&self) -> Vec<LeftOut> {
        let ended = std::mem::take(&mut *self.0.places.lock());
        let left_out = ended.into_values().filter(|place| place.left_out > 0);
        let mut left_out: Vec<LeftOut> = left_out
            .map(|LogSite { level, message, left_out, .. }| LeftOut { level, message, count: left_out })
            .collect();
        left_out.sort_by(|one, other| (other.count, &one.message).cmp(&(one.count, &other.message)));
        left_out
    }

    /// Whether a line is written.
    fn is_written(&self, event: &Event<'_>) -> bool {
        let metadata = event.metadata();
        // Lines of other levels are events, of which each is wanted.
        if *metadata.level() > Level::WARN
            || metadata.target() == EVERY_LINE
            || !self.0.is_reported.load(Ordering::Relaxed)
        {
            return true;
        }
        let mut line = LineFields::default();
        event.record(&mut line);
        let mut places = self.0.places.lock();
        let place = places.entry(metadata.callsite()).or_insert_with(|| LogSite {
            level: *metadata.level(),
            message: line.message,
            written: BTreeSet::new(),
            left_out: 0,
        });
        let is_new = !place.written.contains(&line.hash.finish());
        let is_written = is_new && place.written.len() < LINES_PER_PLACE_MAX;
        if is_written {
            place.written.insert(line.hash.finish());
        } else {
            place.left_out += 1;
        }
        is_written
    }
}

impl<S: Subscriber> Filter<S> for RepeatedLines {
    fn enabled(&self, _metadata: &Metadata<'_>, _context: &Context<'_, S>) -> bool {
        true
    }

    fn event_enabled(&self, event: &Event<'_>, _context: &Context<'_, S>) -> bool {
        self.is_written(event)
    }
}

/// The fields of a line: its message, and a hash of all fields but those that differ in each line.
#[derive(Default)]
struct LineFields {
    message: String,
    hash: DefaultHasher,
}

impl Visit for LineFields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if OWN_FIELDS.contains(&field.name()) {
            return;
        }
        let value = format!("{value:?}");
        (field.name(), &value).hash(&mut self.hash);
        if field.name() == "message" {
            self.message = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt as _;
    use tracing_subscriber::{Layer as _, Registry, fmt as lines};

    use super::*;
    use crate::telemetry::kept_lines::KeptLines;

    fn logged(repeated: &RepeatedLines, log: impl FnOnce()) -> usize {
        let kept = KeptLines::default();
        let layer = lines::layer().with_writer(kept.clone()).with_filter(repeated.clone());
        tracing::subscriber::with_default(Registry::default().with(layer), log);
        kept.count()
    }

    fn fail(fault: &str, error_id: u32) {
        tracing::warn!(error_id, fault, "a request was not answered");
    }

    #[test]
    fn the_same_fault_is_one_line_and_a_count() {
        let repeated = RepeatedLines::default();
        repeated.begin();
        let written = logged(&repeated, || (0..184).for_each(|id| fail("the engine is closed", id)));
        assert_eq!(written, 1);
        let message = "a request was not answered".to_owned();
        assert_eq!(repeated.ended_window(), [LeftOut { level: Level::WARN, message, count: 183 }]);
        assert_eq!(repeated.ended_window(), []);
        assert_eq!(logged(&repeated, || fail("the engine is closed", 1)), 1);
    }

    #[test]
    fn different_faults_of_one_place_are_bounded() {
        let repeated = RepeatedLines::default();
        repeated.begin();
        let written = logged(&repeated, || (0..100).for_each(|item| fail(&format!("item {item}"), 0)));
        assert_eq!(written, LINES_PER_PLACE_MAX);
        assert_eq!(repeated.ended_window()[0].count, 100 - LINES_PER_PLACE_MAX as u64);
    }

    #[test]
    fn nothing_is_left_out_where_nobody_reports_it() {
        assert_eq!(logged(&RepeatedLines::default(), || (0..20).for_each(|id| fail("gone", id))), 20);
    }

    #[test]
    fn events_and_lines_that_are_wanted_each_are_all_written() {
        let repeated = RepeatedLines::default();
        repeated.begin();
        let summaries = || (0..20).for_each(|_| tracing::warn!(target: EVERY_LINE, "lines were left out"));
        assert_eq!(logged(&repeated, summaries), 20);
        let events = || (0..20).for_each(|_| tracing::info!("the signing keys have changed"));
        assert_eq!(logged(&repeated, events), 20);
    }
}
