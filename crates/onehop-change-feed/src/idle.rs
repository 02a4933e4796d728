//! Idle charges: the cost of following the change feed while nothing is written.

use onehop_store::RequestCharge;
use onehop_store::charges::{Calibration, ReadConsistency, Replacement};

use super::settings::{Settings, Sharing};

/// The size of a heartbeat item with a name of 32 characters.
const HEARTBEAT_BYTES: usize = 220;

/// The estimated request charges of each second in which nothing is written, in RU/s.
///
/// Each feed range is polled by one process, at the longest poll interval. Each process replaces its
/// heartbeat at the renew interval, and reads the other heartbeats at the acquire interval. All reads are of
/// the latest committed version, so two replicas answer. A process that is alone with its store waits for a
/// signal and costs nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct IdleCharges {
    /// Of each feed range.
    pub poll: f64,
    /// Of each process.
    pub heartbeat: f64,
    /// Of each process for each other process.
    pub observation: f64,
}

impl IdleCharges {
    /// Of processes with these settings.
    #[must_use]
    pub fn of(settings: &Settings, calibration: &Calibration) -> Self {
        let Sharing::WithOthers { acquire, renew, .. } = settings.sharing else { return Self::default() };
        let poll = calibration.change_feed(0, 0, ReadConsistency::Quorum).total().0;
        let observation = calibration.point_read(HEARTBEAT_BYTES, ReadConsistency::Quorum).total().0;
        // Containers of the processor index `id` alone, which does not change.
        let replacement = Replacement {
            bytes_before: HEARTBEAT_BYTES,
            bytes_after: HEARTBEAT_BYTES,
            ..Replacement::default()
        };
        Self {
            poll: poll / settings.poll.longest.as_secs_f64(),
            heartbeat: calibration.replace(replacement).total().0 / renew.as_secs_f64(),
            observation: observation / acquire.as_secs_f64(),
        }
    }

    /// Of this many processes that follow this number of feed ranges, over all source containers.
    #[must_use]
    pub fn total(self, feed_ranges: u64, processes: u64) -> RequestCharge {
        let observations = processes.saturating_sub(1) as f64 * self.observation;
        let of_processes = processes as f64 * (self.heartbeat + observations);
        RequestCharge(feed_ranges as f64 * self.poll + of_processes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charge(feed_ranges: u64, processes: u64) -> f64 {
        let settings = Settings { sharing: Sharing::with_others(), ..Settings::new("ada") };
        IdleCharges::of(&settings, &Calibration::current()).total(feed_ranges, processes).0
    }

    #[test]
    fn polls_heartbeats_and_observations_add_up() {
        let rounded = |charge: f64| (charge * 100.0).round() / 100.0;
        assert_eq!(rounded(charge(8, 1)), 3.99, "8 polls of 2 RU every 5 s, and 10.29 RU every 13 s");
        assert_eq!(rounded(charge(8, 2)), 5.02, "a second heartbeat, and each reads the other's every 17 s");
        assert_eq!(rounded(charge(140, 3)), 59.08);
    }

    #[test]
    fn a_process_that_is_alone_costs_nothing() {
        let charges = IdleCharges::of(&Settings::new("ada"), &Calibration::current());
        assert_eq!(charges.total(8, 1), RequestCharge(0.0));
    }
}
