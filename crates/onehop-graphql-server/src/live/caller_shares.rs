//! Shares of callers in the resources of all subscriptions: each network has an eighth for its anonymous
//! callers and another one for its users, and anonymous callers leave an eighth to users.

use std::sync::Arc;

use crate::client_address::Network;
use crate::shared_limit::{Share, ShareRefusal, SharedLimit};

/// The part of the whole that one network may take, and the part that is kept for users.
pub(super) const PART: usize = 8;

/// Whose share it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct CallerNetwork {
    pub(super) network: Network,
    /// Whether the caller is signed in.
    pub(super) is_user: bool,
}

/// An amount that all callers share.
pub(super) struct CallerShares {
    all: Arc<SharedLimit<CallerNetwork>>,
    anonymous: Arc<SharedLimit<()>>,
}

/// The share of one caller, given back when this is dropped.
pub(super) struct CallerShare {
    _of_all: Share<CallerNetwork>,
    _of_anonymous: Option<Share<()>>,
}

impl CallerShares {
    /// Shares of this much, and of this much for the callers of one network; 0 for any.
    pub(super) fn new(max: usize, per_network_max: usize) -> Self {
        let per_network_max = if per_network_max == 0 { usize::MAX } else { per_network_max };
        Self { all: SharedLimit::new(max, per_network_max), anonymous: SharedLimit::new(max - max / PART, 0) }
    }

    /// A share of this much.
    ///
    /// # Errors
    /// The network has its part, or there is nothing left.
    pub(super) fn take(&self, caller: CallerNetwork, amount: usize) -> Result<CallerShare, ShareRefusal> {
        let is_known = caller.network.known().is_some();
        let mut of_all = self.all.share(is_known.then_some(caller));
        of_all.resize(amount)?;
        let mut of_anonymous = (!caller.is_user).then(|| self.anonymous.share(None));
        if let Some(share) = &mut of_anonymous {
            share.resize(amount)?;
        }
        Ok(CallerShare { _of_all: of_all, _of_anonymous: of_anonymous })
    }

    /// The sum of all shares.
    #[cfg(test)]
    pub(super) fn taken(&self) -> usize {
        self.all.used()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(network: u64, is_user: bool) -> CallerNetwork {
        CallerNetwork { network: Network::V6(network), is_user }
    }

    #[test]
    fn a_network_takes_no_more_than_its_part() {
        let shares = CallerShares::new(80, 10);
        let held = shares.take(caller(1, false), 10);
        assert!(held.is_ok());
        assert_eq!(shares.take(caller(1, false), 1).err(), Some(ShareRefusal::OneKey));
        assert!(shares.take(caller(1, true), 10).is_ok(), "its users have a part of their own");
        assert!(shares.take(caller(2, false), 10).is_ok());
        drop(held);
        assert!(shares.taken() == 0 && shares.take(caller(1, false), 10).is_ok());
    }

    #[test]
    fn anonymous_callers_leave_an_eighth_to_users() {
        let shares = CallerShares::new(80, 10);
        let anonymous: Vec<_> = (0..8).map(|network| shares.take(caller(network, false), 10)).collect();
        let refused: Vec<_> = anonymous.iter().filter_map(|share| share.as_ref().err()).collect();
        assert_eq!(refused, [&ShareRefusal::All]);
        assert!(shares.take(caller(1, true), 10).is_ok());
    }

    #[test]
    fn without_a_part_one_network_takes_all_but_what_is_kept_for_users() {
        let shares = CallerShares::new(80, 0);
        assert!(shares.take(caller(1, false), 70).is_ok());
        assert!(shares.take(caller(1, true), 80).is_ok());
        let unknown = CallerNetwork { network: Network::Unknown, is_user: false };
        assert!(CallerShares::new(80, 1).take(unknown, 70).is_ok());
    }
}
