//! Keep-alive of a WebSocket: the moments of its pings, and whether the client has given a sign of life since
//! the last one.

use std::time::Duration;

use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

/// The keep-alive timer of one socket.
pub(super) struct KeepAlive {
    ticks: Interval,
    client: ClientLife,
}

impl KeepAlive {
    /// A timer whose first tick comes after one interval.
    pub(super) fn new(interval: Duration) -> Self {
        let mut ticks = interval_at(Instant::now() + interval, interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Self { ticks, client: ClientLife::default() }
    }

    /// Completes when the interval is over. A call that is dropped loses nothing.
    pub(super) async fn tick(&mut self) {
        self.ticks.tick().await;
    }

    /// Records a frame of the client.
    pub(super) fn heard(&mut self) {
        self.client.heard();
    }

    /// Returns whether the client has to be pinged now; otherwise it did not answer the ping before, and is
    /// gone.
    pub(super) fn has_to_ping(&mut self) -> bool {
        self.client.was_alive()
    }
}

/// Whether a client was heard since it was last asked for a sign of life.
struct ClientLife {
    was_heard: bool,
}

impl Default for ClientLife {
    /// The handshake was a sign of life.
    fn default() -> Self {
        Self { was_heard: true }
    }
}

impl ClientLife {
    fn heard(&mut self) {
        self.was_heard = true;
    }

    fn was_alive(&mut self) -> bool {
        std::mem::take(&mut self.was_heard)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_that_answers_each_ping_stays() {
        let mut client = ClientLife::default();
        for _ in 0..3 {
            assert!(client.was_alive(), "it is pinged");
            client.heard();
        }
        assert!(client.was_alive());
    }

    #[test]
    fn a_client_that_answers_no_ping_is_gone_at_the_next() {
        let mut client = ClientLife::default();
        assert!(client.was_alive(), "it is pinged");
        assert!(!client.was_alive());
    }
}
