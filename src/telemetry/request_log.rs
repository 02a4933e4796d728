//! Request log: the access log, slow requests, and how many requests were refused. Names no client, no
//! variable and no document: the name of an operation is the only text of a client's.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use tracing::Span;

use super::names::traced;
use super::repeated_lines::EVERY_LINE;
use onehop_graphql_server::observer::{Answered, Executed};

/// Routes that machines ask every few seconds: the access log leaves them out.
const UNLOGGED_ROUTES: [&str; 3] = ["/healthz", "/readyz", "/metrics"];

/// The requests with a line of their own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestLogSettings {
    /// Whether each request has one.
    pub access_log: bool,
    /// Requests that take this long or longer have one.
    pub slow_min: Option<Duration>,
}

/// Logs requests, and counts refusals.
#[derive(Debug, Default)]
pub struct RequestLog {
    settings: RequestLogSettings,
    /// Refused requests since the last summary, by status and reason.
    refused: Mutex<BTreeMap<(u16, &'static str), u64>>,
}

impl RequestLog {
    /// A log of these requests.
    #[must_use]
    pub fn new(settings: RequestLogSettings) -> Self {
        Self { settings, refused: Mutex::default() }
    }

    /// Writes the line of an answered request, within the log span of the request.
    pub(super) fn answered(&self, answered: &Answered) {
        let Answered { method, route, status, duration, refusal, .. } = *answered;
        if let Some(reason) = refusal {
            *self.refused.lock().entry((status, reason)).or_default() += 1;
        }
        let ms = duration.as_secs_f64() * 1000.0;
        if self.settings.slow_min.is_some_and(|slow_min| duration >= slow_min) {
            tracing::warn!(method, route, status, ms, "slow request");
        }
        if self.settings.access_log && !UNLOGGED_ROUTES.contains(&route) {
            tracing::info!(target: EVERY_LINE, method, route, status, ms, "answered");
        }
    }

    /// Names the operation in the log span of its request.
    pub(super) fn executed(&self, executed: &Executed<'_>) {
        if self.settings == RequestLogSettings::default() {
            return;
        }
        let span = Span::current();
        span.record("operation", traced(executed.operation_name));
        span.record("request_charge", executed.request_charge);
    }

    /// Ends a window: writes how many requests were refused in it, and why.
    pub fn summarise(&self) {
        let refused = std::mem::take(&mut *self.refused.lock());
        if refused.is_empty() {
            return;
        }
        let count: u64 = refused.values().sum();
        let reasons: Vec<String> =
            refused.iter().map(|((status, reason), count)| format!("{count} {status} {reason}")).collect();
        tracing::warn!(count, reasons = reasons.join(", "), "requests were refused");
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::fmt as lines;

    use super::*;
    use crate::telemetry::kept_lines::KeptLines;

    fn answered(ms: u64, status: u16, refusal: Option<&'static str>) -> Answered {
        let duration = Duration::from_millis(ms);
        Answered { method: "POST", route: "/graphql", status, duration, span: None, refusal }
    }

    fn logged(log: impl FnOnce()) -> String {
        let kept = KeptLines::default();
        let subscriber = lines().with_writer(kept.clone()).with_ansi(false).with_target(false).finish();
        tracing::subscriber::with_default(subscriber, log);
        kept.text()
    }

    #[test]
    fn refusals_are_one_line_with_their_reasons() {
        let log = RequestLog::default();
        let text = logged(|| {
            (0..165_071).for_each(|_| log.answered(&answered(1, 503, Some("overloaded"))));
            (0..7).for_each(|_| log.answered(&answered(1, 429, Some("caller-ru-per-second"))));
            log.summarise();
            log.summarise();
        });
        assert_eq!(text.lines().count(), 1, "{text}");
        let reasons = "count=165078 reasons=\"7 429 caller-ru-per-second, 165071 503 overloaded\"";
        assert!(text.contains(reasons), "{text}");
    }

    #[test]
    fn slow_requests_and_all_requests_have_lines_where_they_are_asked_for() {
        let settings = RequestLogSettings { access_log: true, slow_min: Some(Duration::from_millis(100)) };
        let log = RequestLog::new(settings);
        let text = logged(|| [99, 100].into_iter().for_each(|ms| log.answered(&answered(ms, 200, None))));
        let count = |message: &str| text.lines().filter(|line| line.contains(message)).count();
        assert_eq!((count("slow request"), count("answered")), (1, 2), "{text}");
        let silent = RequestLog::default();
        assert_eq!(logged(|| silent.answered(&answered(100_000, 200, None))), "");
    }

    #[test]
    fn health_checks_are_not_in_the_access_log() {
        let log = RequestLog::new(RequestLogSettings { access_log: true, slow_min: None });
        let readyz = Answered { route: "/readyz", ..answered(1, 200, None) };
        assert_eq!(logged(|| log.answered(&readyz)), "");
    }
}
