//! Retries by the adapter itself: while a physical partition moves (410), while the account has no request
//! units left (429), and while another write to the same item is under way (449), within [`RetryPolicy`].
//! Requests without a response were retried by the client already, and so was 449 for a while.

use std::time::Duration;

use azure_data_cosmos::CosmosError;
use azure_data_cosmos::error::SubStatusCode;

use super::error_mapping::{CONCURRENT_WRITE, may_have_happened, retry_after};
use super::service_response::charge_of_error;
use super::settings::RetryPolicy;
use crate::RequestCharge;

/// The client gave up following a physical partition that splits (500/20206); its stream ends there.
const SPLIT_RETRIES_EXHAUSTED: SubStatusCode = SubStatusCode::new(20206);

/// Why an operation is to be sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    Moved,
    /// A concurrent write: the service carried out nothing, and says to try again.
    Contended,
    Throttled {
        retry_after: Option<Duration>,
    },
}

/// The retries of one operation.
pub(super) struct Retries {
    retry_policy: RetryPolicy,
    moved: u32,
    contended: u32,
    throttled: u32,
    throttled_waited: Duration,
    /// The charges of the abandoned attempts.
    pub(super) charge: RequestCharge,
    /// Whether one of them may have been carried out without a response.
    pub(super) may_have_happened: bool,
}

impl Cause {
    fn of(error: &CosmosError) -> Option<Self> {
        let status = error.status();
        let gave_up = status.sub_status() == Some(SPLIT_RETRIES_EXHAUSTED);
        if status.is_gone() || gave_up {
            Some(Self::Moved)
        } else if u16::from(status.status_code()) == CONCURRENT_WRITE {
            Some(Self::Contended)
        } else if status.is_throttled() {
            Some(Self::Throttled { retry_after: retry_after(error) })
        } else {
            None
        }
    }
}

impl Retries {
    pub(super) fn new(retry_policy: RetryPolicy) -> Self {
        Self {
            retry_policy,
            moved: 0,
            contended: 0,
            throttled: 0,
            throttled_waited: Duration::ZERO,
            charge: RequestCharge::default(),
            may_have_happened: false,
        }
    }

    /// Whether to try again after this error; if so, the wait is over and the error is accounted for.
    pub(super) async fn go_on_after(&mut self, error: &CosmosError) -> bool {
        self.may_have_happened |= may_have_happened(error);
        let goes_on = match Cause::of(error) {
            Some(cause) => self.wait(cause).await,
            None => false,
        };
        if goes_on {
            self.charge.0 += charge_of_error(error).0;
        }
        goes_on
    }

    /// Waits for the next try; `false` at once when there have been enough.
    pub(super) async fn wait(&mut self, cause: Cause) -> bool {
        let Some(delay) = self.next_delay(cause) else { return false };
        tokio::time::sleep(delay).await;
        true
    }

    fn next_delay(&mut self, cause: Cause) -> Option<Duration> {
        let RetryPolicy { throttled_wait_max, throttled_retries_max, moved_retries_max, .. } =
            self.retry_policy;
        let RetryPolicy { contended_retries_max, wait_first, .. } = self.retry_policy;
        let doubled = |retry: u32| wait_first.saturating_mul(1 << retry.min(16));
        match cause {
            Cause::Moved => {
                let delay = doubled(self.moved);
                self.moved += 1;
                (self.moved <= moved_retries_max).then_some(delay)
            }
            Cause::Contended => {
                let delay = doubled(self.contended);
                self.contended += 1;
                (self.contended <= contended_retries_max).then_some(delay)
            }
            Cause::Throttled { retry_after } => {
                let delay = retry_after.unwrap_or_else(|| doubled(self.throttled));
                self.throttled += 1;
                self.throttled_waited = self.throttled_waited.saturating_add(delay);
                let has_patience =
                    self.throttled <= throttled_retries_max && self.throttled_waited <= throttled_wait_max;
                has_patience.then_some(delay)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retry_policy(throttled_wait_ms: u64) -> RetryPolicy {
        RetryPolicy {
            throttled_wait_max: Duration::from_millis(throttled_wait_ms),
            throttled_retries_max: 3,
            moved_retries_max: 2,
            contended_retries_max: 1,
            wait_first: Duration::from_millis(10),
            ..RetryPolicy::default()
        }
    }

    fn delays(retry_policy: RetryPolicy, cause: Cause) -> Vec<u128> {
        let mut retries = Retries::new(retry_policy);
        std::iter::from_fn(|| retries.next_delay(cause)).map(|delay| delay.as_millis()).take(20).collect()
    }

    #[test]
    fn a_moving_partition_is_asked_again_with_doubled_delays() {
        assert_eq!(delays(retry_policy(0), Cause::Moved), [10, 20]);
    }

    #[test]
    fn a_concurrent_write_is_tried_again_on_its_own_count() {
        assert_eq!(delays(retry_policy(0), Cause::Contended), [10]);
    }

    #[test]
    fn the_delay_that_the_service_names_is_kept() {
        let cause = Cause::Throttled { retry_after: Some(Duration::from_millis(7)) };
        assert_eq!(delays(retry_policy(1000), cause), [7, 7, 7], "no more often than allowed");
        assert_eq!(delays(retry_policy(15), cause), [7, 7], "no longer than allowed");
        assert_eq!(delays(retry_policy(6), cause), [0; 0], "a delay beyond the budget is not waited for");
    }

    #[test]
    fn without_a_named_delay_it_doubles() {
        let cause = Cause::Throttled { retry_after: None };
        assert_eq!(delays(retry_policy(1000), cause), [10, 20, 40]);
    }
}
