//! Formats of metrics: OpenMetrics for clients that accept it, such as Prometheus, and otherwise the text
//! format of Prometheus, which `curl` shows and `promtool check metrics` reads.

use axum::http::header::ACCEPT;
use axum::http::{HeaderMap, HeaderValue};

/// The media type of OpenMetrics.
const OPEN_METRICS_TYPE: &str = "application/openmetrics-text";
const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
const PROMETHEUS_TEXT: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// The metrics in the format that a client accepts, with their content type.
pub(super) fn negotiated(headers: &HeaderMap, open_metrics: String) -> (HeaderValue, String) {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut accepted = accepted.flat_map(|value| value.split(','));
    if accepted.any(|media_type| media_type.trim_start().starts_with(OPEN_METRICS_TYPE)) {
        (OPEN_METRICS, open_metrics)
    } else {
        (PROMETHEUS_TEXT, prometheus_text(&open_metrics))
    }
}

/// The same metrics in the text format of Prometheus: counters have their suffix in their help and type, and
/// there are no units.
fn prometheus_text(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    // The help comes before the type.
    let mut help = "";
    for line in open_metrics.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            help = rest;
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' '))
        {
            let (suffix, kind) = match kind {
                "counter" => ("_total", kind),
                "info" => ("_info", "gauge"),
                kind => ("", kind),
            };
            let help = help.split_once(' ').map_or("", |(_, help)| help);
            text.push_str(&format!("# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}\n"));
        } else if !line.starts_with('#') {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: &str = "# HELP requests Requests.\n# TYPE requests counter\nrequests_total{a=\"# b\"} 7\n\
        # HELP wait_seconds Wait.\n# TYPE wait_seconds histogram\n# UNIT wait_seconds seconds\n\
        wait_seconds_sum 1.5\n# HELP build Build.\n# TYPE build info\nbuild_info{version=\"1\"} 1\n# EOF\n";

    fn accepting(accept: Option<&'static str>) -> (HeaderValue, String) {
        let headers = accept.map(|accept| (ACCEPT, HeaderValue::from_static(accept)));
        negotiated(&headers.into_iter().collect(), OPEN.to_owned())
    }

    #[test]
    fn prometheus_gets_open_metrics() {
        let accept = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.2";
        assert_eq!(accepting(Some(accept)), (OPEN_METRICS, OPEN.to_owned()));
    }

    #[test]
    fn other_clients_get_the_text_format() {
        let text = "# HELP requests_total Requests.\n# TYPE requests_total counter\nrequests_total{a=\"# b\"} 7\n\
            # HELP wait_seconds Wait.\n# TYPE wait_seconds histogram\nwait_seconds_sum 1.5\n\
            # HELP build_info Build.\n# TYPE build_info gauge\nbuild_info{version=\"1\"} 1\n";
        for accept in [None, Some("*/*"), Some("text/plain")] {
            assert_eq!(accepting(accept), (PROMETHEUS_TEXT, text.to_owned()));
        }
    }
}
