//! Idle charge: what following the change feed costs while nothing is written.

use onehop_store::RequestCharge;
use onehop_store::embedded::charges;

use super::settings::{Settings, Sharing};

/// The size of a heartbeat item with a name of 32 characters.
const HEARTBEAT_BYTES: usize = 220;

/// The estimated request charge for each second in which nothing is written: this many processes follow this number of feed ranges,
/// over all source containers.
///
/// Each feed range is polled by one process, at the longest poll interval. Each process writes its heartbeat at the renew interval, and
/// reads those of the others at the acquire interval. A process that is alone with its store waits for a signal and costs nothing.
#[must_use]
pub fn idle_charge(settings: &Settings, feed_ranges: u64, processes: u64) -> RequestCharge {
    let Sharing::WithOthers { acquire, renew, .. } = settings.sharing else { return RequestCharge(0.0) };
    let polls = feed_ranges as f64 * charges::change_feed(0, 0).0 / settings.poll.longest.as_secs_f64();
    let heartbeat = charges::write(HEARTBEAT_BYTES, 0).0 / renew.as_secs_f64();
    let observations = processes.saturating_sub(1) as f64 * charges::point_read(0).0 / acquire.as_secs_f64();
    RequestCharge(polls + processes as f64 * (heartbeat + observations))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn charge(feed_ranges: u64, processes: u64) -> f64 {
        let settings = Settings { sharing: Sharing::with_others(), ..Settings::new("ada") };
        idle_charge(&settings, feed_ranges, processes).0
    }

    #[test]
    fn polls_heartbeats_and_observations_add_up() {
        let rounded = |charge: f64| (charge * 100.0).round() / 100.0;
        assert_eq!(rounded(charge(8, 1)), 1.95, "8 polls every 5 s, and 4.6 RU every 13 s");
        assert_eq!(rounded(charge(8, 2)), 2.42, "a second heartbeat, and each reads the other's every 17 s");
        assert_eq!(rounded(charge(140, 3)), 29.41);
    }

    #[test]
    fn a_process_that_is_alone_costs_nothing() {
        assert_eq!(idle_charge(&Settings::new("ada"), 8, 1), RequestCharge(0.0));
    }
}
