//! Commit phases: the histogram of the writer's phases, read from the metrics of a server.

use std::collections::BTreeMap;

use serde::Serialize;

const METRIC: &str = "onehop_store_commit_phase_duration_seconds";
/// A phase of a commit that takes longer is a part of the tail, in seconds.
const SLOW_SECONDS: f64 = 0.01;

/// The cumulative histograms of all phases by their names.
#[derive(Debug, Clone, Default)]
pub struct CommitPhases(BTreeMap<String, Histogram>);

#[derive(Debug, Clone, Default)]
struct Histogram {
    sum_seconds: f64,
    /// Observations at or below each bound in seconds, in their order.
    buckets: Vec<(f64, u64)>,
}

/// The figures of one phase.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PhaseFigures {
    pub phase: String,
    pub mean_ms: f64,
    /// The least bound of the histogram that 99 % of all commits do not exceed.
    pub p99_at_most_ms: f64,
    /// The share of commits in which the phase takes longer than 10 ms, in percent.
    pub slow_percent: f64,
    /// The least bound of the histogram that no commit exceeds; `None` beyond its last bound.
    pub longest_at_most_ms: Option<f64>,
}

impl CommitPhases {
    /// Since the start of a server. A server without this metric has no phases.
    pub fn of_metrics(metrics: &str) -> Self {
        let mut phases = Self::default();
        for line in metrics.lines() {
            let Some((series, value)) = line.strip_prefix(METRIC).and_then(|rest| rest.split_once("} "))
            else {
                continue;
            };
            let label = |name: &str| {
                let (_, rest) = series.split_once(&format!("{name}=\""))?;
                rest.split_once('"').map(|(value, _)| value)
            };
            let (Some(phase), Ok(value)) = (label("phase"), value.trim().parse::<f64>()) else { continue };
            let histogram = phases.0.entry(phase.to_owned()).or_default();
            if series.starts_with("_sum") {
                histogram.sum_seconds = value;
            } else if let Some(bound) = label("le") {
                histogram.buckets.push((bound.parse().unwrap_or(f64::INFINITY), value as u64));
            }
        }
        phases
    }

    /// Adds the commits between two readings.
    pub fn add_between(&mut self, before: &Self, after: &Self) {
        for (phase, after) in &after.0 {
            let before = before.0.get(phase);
            let sum = self.0.entry(phase.clone()).or_default();
            sum.sum_seconds += after.sum_seconds - before.map_or(0.0, |before| before.sum_seconds);
            sum.buckets.resize(after.buckets.len(), (0.0, 0));
            for (place, (bound, count)) in after.buckets.iter().enumerate() {
                let earlier =
                    before.and_then(|before| before.buckets.get(place)).map_or(0, |bucket| bucket.1);
                sum.buckets[place] = (*bound, sum.buckets[place].1 + count - earlier);
            }
        }
    }

    /// The figures of each phase that had any commits, the longest first.
    pub fn figures(&self) -> Vec<PhaseFigures> {
        let mut figures: Vec<_> = self.0.iter().filter_map(|(phase, of)| of.figures(phase)).collect();
        figures.sort_by(|one, other| other.mean_ms.total_cmp(&one.mean_ms));
        figures
    }
}

impl Histogram {
    fn figures(&self, phase: &str) -> Option<PhaseFigures> {
        let commits = self.buckets.last()?.1;
        if commits == 0 {
            return None;
        }
        let wanted = (commits as f64 * 0.99).ceil() as u64;
        let p99 = self.buckets.iter().find(|(_, count)| *count >= wanted)?.0;
        let quick =
            self.buckets.iter().rfind(|(bound, _)| *bound <= SLOW_SECONDS).map_or(0, |bucket| bucket.1);
        let longest = self.buckets.iter().find(|(_, count)| *count == commits)?.0;
        Some(PhaseFigures {
            phase: phase.to_owned(),
            mean_ms: self.sum_seconds * 1_000.0 / commits as f64,
            p99_at_most_ms: p99 * 1_000.0,
            slow_percent: (commits - quick) as f64 * 100.0 / commits as f64,
            longest_at_most_ms: longest.is_finite().then_some(longest * 1_000.0),
        })
    }
}
