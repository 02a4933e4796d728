//! Background work: the throughput of following the change feed while nothing is written, and of its checkpoints. Pure.

use std::time::Duration;

use serde::Serialize;

use onehop_change_feed::{Settings, Sharing, idle_charge};
use onehop_store::embedded::charges;

/// Processes that share the leases, for which it is worked out.
const PROCESSES: [u64; 3] = [1, 3, 10];
/// The checkpoint interval of shared leases.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(5);
/// The size of a lease item: an assumption.
const LEASE_BYTES: usize = 600;

/// The throughput of background work, which a traffic's requests are not charged for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundThroughput {
    /// Of all source containers together.
    pub feed_ranges: u64,
    pub processes: u64,
    /// Polls, heartbeats and observations of other processes, RU/s.
    pub idle: f64,
    /// RU/s of a checkpoint of each feed range in each interval.
    pub checkpoints: f64,
}

impl BackgroundThroughput {
    /// Of this many followed containers, for one process and for more.
    #[must_use]
    pub fn of(sources: u64, physical_partitions: u32) -> Vec<Self> {
        let settings = Settings { sharing: Sharing::with_others(), ..Settings::new("idle") };
        let feed_ranges = sources * u64::from(physical_partitions);
        let interval = settings.checkpoint_interval.unwrap_or(CHECKPOINT_INTERVAL).as_secs_f64();
        let checkpoints = feed_ranges as f64 * charges::write(LEASE_BYTES, 0).0 / interval;
        let line = |processes| Self {
            feed_ranges,
            processes,
            idle: idle_charge(&settings, feed_ranges, processes).0,
            checkpoints,
        };
        PROCESSES.map(line).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn background_work_grows_with_feed_ranges_and_processes() {
        let [few, many] = [1, 70].map(|partitions| BackgroundThroughput::of(2, partitions));
        assert_eq!((few[0].feed_ranges, many[0].feed_ranges), (2, 140));
        assert!(few[0].idle < few[2].idle && few[0].idle < many[0].idle);
        assert!((many[0].checkpoints / few[0].checkpoints - 70.0).abs() < 1e-9);
    }
}
