//! Brute-force protection: rate limits on attempts to sign in and up, by network (one network cannot try many names) and by
//! username (many networks cannot try one name). It knows names and networks; callers report the attempts and their outcomes.
//!
//! Failed attempts by others do not lock users out of networks where they signed in before: when the attempts at a name are
//! used up, each [known network](super::known_networks) still has one a minute, and all of them together a few.

use std::sync::Arc;
use std::time::Duration;

use super::hashing_queue::{HashingCaller, Lane};
use super::known_networks::KnownNetworks;
use super::network_prefixes::{AttemptOrigin, NETWORKS, Prefix};
use super::username::NormalizedUsername;
use onehop_runtime::token_buckets::{BucketRate, TokenBuckets};

/// Attempts to sign in from one address, in a minute.
pub const SIGN_INS_PER_ADDRESS: u32 = 60;
/// Failed attempts at one username, in a minute.
pub const SIGN_INS_PER_USERNAME: u32 = 20;
/// Attempts to sign up from one address, in a minute.
pub const SIGN_UPS_PER_ADDRESS: u32 = 60;
/// How many times the attempts of one address a wider network has: a /64, its /56 and its /48.
pub const ATTEMPTS_OF_WIDER_NETWORKS: [u32; NETWORKS] = [1, 4, 16];
/// Attempts that a known network has at a name when those at the name are used up, in a minute.
pub const RESERVED_PER_NETWORK: u32 = 1;
/// Attempts that all known networks have then together, in a minute.
pub const RESERVED_PER_USERNAME: u32 = 5;
/// How many networks, names, and networks at names are remembered. Each takes about 300 bytes.
pub const REMEMBERED_MAX: usize = 65_536;

const SECONDS_PER_MINUTE: f64 = 60.0;

/// How many attempts there may be in a minute; 0 for any number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptLimits {
    pub sign_ins_per_address: u32,
    /// Failed ones, and sign-ups at a name that is taken.
    pub sign_ins_per_username: u32,
    pub sign_ups_per_address: u32,
}

impl Default for AttemptLimits {
    fn default() -> Self {
        Self {
            sign_ins_per_address: SIGN_INS_PER_ADDRESS,
            sign_ins_per_username: SIGN_INS_PER_USERNAME,
            sign_ups_per_address: SIGN_UPS_PER_ADDRESS,
        }
    }
}

/// Too many attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("There may not be more than {max} attempts a minute (limit {limit}): try again later.")]
pub struct TooManyAttempts {
    /// The name of the limit, such as `sign-ins-per-address`.
    pub limit: &'static str,
    pub max: u32,
    /// When the same attempt may be made.
    pub retry_after: Duration,
}

/// The kind of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptOutcome {
    SignIn,
    SignUp,
}

/// Counts attempts.
#[derive(Debug)]
pub struct Attempts {
    sign_ins: NetworkLimit,
    sign_ups: NetworkLimit,
    names: NameLimit,
    known: KnownNetworks,
}

type Key = Arc<str>;

/// An attempt that counts, unless it is forgiven.
#[derive(Debug)]
#[must_use = "an attempt that did not fail is forgiven"]
pub struct Attempt<'a> {
    attempts: &'a Attempts,
    attempted: AttemptOutcome,
    name: Option<Key>,
    origin: AttemptOrigin,
    counted: Counted,
}

/// Where an attempt counts, beside its networks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counted {
    Nowhere,
    AtName,
    Reserved,
}

impl Attempts {
    #[must_use]
    pub fn new(limits: AttemptLimits) -> Self {
        Self {
            sign_ins: NetworkLimit::new("sign-ins-per-address", limits.sign_ins_per_address),
            sign_ups: NetworkLimit::new("sign-ups-per-address", limits.sign_ups_per_address),
            names: NameLimit::new(limits.sign_ins_per_username),
            known: KnownNetworks::default(),
        }
    }

    /// Counts an attempt. An invalid name is `None`.
    ///
    /// # Errors
    /// There were too many from this network, or at this name.
    pub fn begin(
        &self,
        attempted: AttemptOutcome,
        name: Option<&NormalizedUsername>,
        origin: AttemptOrigin,
        now_ms: i64,
    ) -> Result<Attempt<'_>, TooManyAttempts> {
        self.begin_at(attempted, name.map(NormalizedUsername::as_str), origin, now_ms)
    }

    /// As [`begin`](Self::begin), at the key of another kind of account, which no username is.
    ///
    /// # Errors
    /// As [`begin`](Self::begin).
    pub fn begin_at(
        &self,
        attempted: AttemptOutcome,
        key: Option<&str>,
        origin: AttemptOrigin,
        now_ms: i64,
    ) -> Result<Attempt<'_>, TooManyAttempts> {
        match attempted {
            AttemptOutcome::SignIn => self.sign_ins.take(origin, now_ms)?,
            AttemptOutcome::SignUp => self.sign_ups.take(origin, now_ms)?,
        }
        let name = key.map(Key::from);
        let counted = match &name {
            Some(name) => {
                let is_known =
                    attempted == AttemptOutcome::SignIn && self.known.contains(name, origin.address());
                self.names.take(name, origin.address(), is_known, now_ms)?
            }
            None => Counted::Nowhere,
        };
        Ok(Attempt { attempts: self, attempted, name, origin, counted })
    }
}

impl Attempt<'_> {
    /// In which lane and whose turn the password of this attempt is hashed.
    #[must_use]
    pub fn hashing_caller(&self) -> HashingCaller {
        let is_known = |name: &Key| self.attempts.known.contains(name, self.origin.address());
        let lane = match self.attempted {
            AttemptOutcome::SignUp => Lane::SignUp,
            AttemptOutcome::SignIn if self.name.as_ref().is_some_and(is_known) => Lane::Known,
            AttemptOutcome::SignIn => Lane::SignIn,
        };
        HashingCaller { lane, origin: self.origin }
    }

    /// The attempt succeeded: it does not count at its name, and its network is known there from now on.
    pub fn succeed(self, now_ms: i64) {
        if let Some(name) = &self.name {
            self.attempts.known.remember(name, self.origin.address());
        }
        self.forgive(now_ms);
    }

    /// Nobody could judge the attempt: it does not count at its name.
    pub fn forgive(self, now_ms: i64) {
        if let Some(name) = &self.name {
            self.attempts.names.give_back(self.counted, name, self.origin.address(), now_ms);
        }
    }
}

/// The limit on attempts from one network: that of an address, and more for wider networks.
#[derive(Debug)]
struct NetworkLimit {
    setting: &'static str,
    per_minute: u32,
    /// By the kind of network.
    buckets: [TokenBuckets<Prefix>; NETWORKS],
}

impl NetworkLimit {
    fn new(setting: &'static str, per_minute: u32) -> Self {
        let buckets = ATTEMPTS_OF_WIDER_NETWORKS
            .map(|times| TokenBuckets::new(rate(per_minute.max(1).saturating_mul(times)), REMEMBERED_MAX));
        Self { setting, per_minute, buckets }
    }

    /// Takes one attempt from all networks of the origin, or from none.
    fn take(&self, origin: AttemptOrigin, now_ms: i64) -> Result<(), TooManyAttempts> {
        if self.per_minute == 0 {
            return Ok(());
        }
        let networks = origin.networks();
        for (kind, (buckets, network)) in self.buckets.iter().zip(networks).enumerate() {
            let Some(network) = network else { continue };
            if let Err(retry_after) = buckets.take(&network, 1.0, now_ms) {
                for (buckets, network) in self.buckets.iter().zip(networks).take(kind) {
                    network.iter().for_each(|network| buckets.give_back(network, 1.0, now_ms));
                }
                let max = self.per_minute.saturating_mul(ATTEMPTS_OF_WIDER_NETWORKS[kind]);
                return Err(TooManyAttempts { limit: self.setting, max, retry_after });
            }
        }
        Ok(())
    }
}

/// The limit on failures at one name, and the attempts that known networks have beyond it.
#[derive(Debug)]
struct NameLimit {
    per_minute: u32,
    failures: TokenBuckets<Key>,
    reserved: TokenBuckets<(Key, Prefix)>,
    reserved_of_name: TokenBuckets<Key>,
}

impl NameLimit {
    fn new(per_minute: u32) -> Self {
        Self {
            per_minute,
            failures: TokenBuckets::new(rate(per_minute.max(1)), REMEMBERED_MAX),
            reserved: TokenBuckets::new(rate(RESERVED_PER_NETWORK), REMEMBERED_MAX),
            reserved_of_name: TokenBuckets::new(rate(RESERVED_PER_USERNAME), REMEMBERED_MAX),
        }
    }

    fn take(
        &self,
        name: &Key,
        network: Prefix,
        is_known: bool,
        now_ms: i64,
    ) -> Result<Counted, TooManyAttempts> {
        if self.per_minute == 0 {
            return Ok(Counted::Nowhere);
        }
        let Err(until_any) = self.failures.take(name, 1.0, now_ms) else { return Ok(Counted::AtName) };
        let refused = |retry_after: Duration| TooManyAttempts {
            limit: "sign-ins-per-username",
            max: self.per_minute,
            retry_after,
        };
        if !is_known {
            return Err(refused(until_any));
        }
        let own = (Key::clone(name), network);
        self.reserved.take(&own, 1.0, now_ms).map_err(|until_own| refused(until_any.min(until_own)))?;
        self.reserved_of_name.take(name, 1.0, now_ms).map_err(|until_shared| {
            self.reserved.give_back(&own, 1.0, now_ms);
            refused(until_any.min(until_shared))
        })?;
        Ok(Counted::Reserved)
    }

    fn give_back(&self, counted: Counted, name: &Key, network: Prefix, now_ms: i64) {
        match counted {
            Counted::Nowhere => {}
            Counted::AtName => self.failures.give_back(name, 1.0, now_ms),
            Counted::Reserved => {
                self.reserved.give_back(&(Key::clone(name), network), 1.0, now_ms);
                self.reserved_of_name.give_back(name, 1.0, now_ms);
            }
        }
    }
}

fn rate(per_minute: u32) -> BucketRate {
    BucketRate { per_second: f64::from(per_minute) / SECONDS_PER_MINUTE, capacity: f64::from(per_minute) }
}

#[cfg(test)]
mod tests {
    use super::super::username::Username;
    use super::*;

    const NOW_MS: i64 = 1_800_000_000_000;
    const MINUTE_MS: i64 = 60_000;

    fn attempts() -> Attempts {
        Attempts::new(AttemptLimits {
            sign_ins_per_address: 4,
            sign_ins_per_username: 2,
            sign_ups_per_address: 3,
        })
    }

    fn name(typed: &str) -> NormalizedUsername {
        Username::parse(typed).unwrap().normalized().clone()
    }

    fn v4(address: u32) -> AttemptOrigin {
        AttemptOrigin::v4(address)
    }

    fn sign_in<'a>(
        attempts: &'a Attempts,
        typed: &str,
        origin: AttemptOrigin,
        now_ms: i64,
    ) -> Result<Attempt<'a>, TooManyAttempts> {
        attempts.begin(AttemptOutcome::SignIn, Some(&name(typed)), origin, now_ms)
    }

    fn fail(attempts: &Attempts, typed: &str, address: u32, now_ms: i64) -> Result<(), &'static str> {
        sign_in(attempts, typed, v4(address), now_ms).map(drop).map_err(|over| over.limit)
    }

    fn succeed(attempts: &Attempts, typed: &str, address: u32, now_ms: i64) {
        sign_in(attempts, typed, v4(address), now_ms).unwrap().succeed(now_ms);
    }

    #[test]
    fn an_address_has_so_many_attempts_whatever_the_names() {
        let attempts = attempts();
        for typed in ["ada", "grace", "alan", "edsger"] {
            assert_eq!(fail(&attempts, typed, 1, NOW_MS), Ok(()));
        }
        assert_eq!(fail(&attempts, "barbara", 1, NOW_MS), Err("sign-ins-per-address"));
        assert_eq!(fail(&attempts, "barbara", 2, NOW_MS), Ok(()));
        assert_eq!(fail(&attempts, "barbara", 1, NOW_MS + MINUTE_MS / 4), Ok(()));
    }

    #[test]
    fn networks_of_one_site_share_a_limit() {
        let attempts = attempts();
        let try_all = |first: u64, step: u64| {
            let begun = (0..100).map(|subnet| {
                let origin = AttemptOrigin::v6(first + subnet * step);
                attempts.begin(AttemptOutcome::SignUp, None, origin, NOW_MS).map(drop)
            });
            begun.filter(Result::is_ok).count()
        };
        assert_eq!(try_all(0x2001_0db8_0001_0000, 1), 12, "a /56 has four times an address's");
        assert_eq!(try_all(0x2001_0db8_0002_0000, 0x100), 48, "a /48 has sixteen times an address's");
        let refused =
            attempts.begin(AttemptOutcome::SignUp, None, AttemptOrigin::v6(0x2001_0db8_0002_ffff), NOW_MS);
        assert_eq!(refused.unwrap_err().max, 48);
    }

    #[test]
    fn a_name_has_so_many_failures_from_all_networks() {
        let attempts = attempts();
        for address in [1, 2] {
            assert_eq!(fail(&attempts, "ada", address, NOW_MS), Ok(()), "{address}");
        }
        for address in 1..1_000 {
            assert_eq!(fail(&attempts, "Ada", address, NOW_MS), Err("sign-ins-per-username"), "{address}");
        }
        assert_eq!(fail(&attempts, "grace", 3, NOW_MS), Ok(()), "another name");
    }

    #[test]
    fn known_networks_have_a_few_attempts_more() {
        let attempts = attempts();
        for home in 1..=8 {
            succeed(&attempts, "ada", home, NOW_MS);
        }
        for stranger in [101, 102] {
            assert_eq!(fail(&attempts, "ada", stranger, NOW_MS), Ok(()));
        }
        let more: Vec<_> = (1..=8).filter(|home| fail(&attempts, "ada", *home, NOW_MS).is_ok()).collect();
        assert_eq!(more.len(), RESERVED_PER_USERNAME as usize, "{more:?}");
        assert_eq!(fail(&attempts, "ada", 1, NOW_MS), Err("sign-ins-per-username"), "one for each");
        assert_eq!(fail(&attempts, "ada", 103, NOW_MS), Err("sign-ins-per-username"));
        assert_eq!(fail(&attempts, "ada", 8, NOW_MS + 12_000), Ok(()), "one comes back in 12 s");
    }

    #[test]
    fn strangers_who_never_cease_do_not_lock_a_user_out_at_home() {
        let attempts = attempts();
        succeed(&attempts, "ada", 7, NOW_MS);
        for round in 0..1_000 {
            let now_ms = NOW_MS + round * 100;
            for stranger in [101, 102, 103] {
                let _refused = fail(&attempts, "ada", stranger, now_ms);
            }
        }
        for _ in 0..3 {
            succeed(&attempts, "ada", 7, NOW_MS + 100_000);
        }
    }

    #[test]
    fn a_success_leaves_all_attempts_at_the_name() {
        let attempts = attempts();
        for _ in 0..4 {
            succeed(&attempts, "ada", 1, NOW_MS);
        }
        for address in [2, 3] {
            assert_eq!(fail(&attempts, "ada", address, NOW_MS), Ok(()));
        }
    }

    #[test]
    fn attempts_under_way_count_before_they_have_failed() {
        let attempts = attempts();
        let begin = || sign_in(&attempts, "ada", v4(1), NOW_MS);
        let _under_way = [begin().unwrap(), begin().unwrap()];
        assert!(begin().is_err());
    }

    #[test]
    fn a_known_network_has_a_lane_of_its_own() {
        let attempts = attempts();
        let lane = |typed| sign_in(&attempts, typed, v4(1), NOW_MS).unwrap().hashing_caller().lane;
        assert_eq!(lane("ada"), Lane::SignIn);
        succeed(&attempts, "ada", 1, NOW_MS);
        assert_eq!(lane("ada"), Lane::Known);
        assert_eq!(lane("grace"), Lane::SignIn, "at the name, not at any");
        let sign_up = attempts.begin(AttemptOutcome::SignUp, Some(&name("alan")), v4(1), NOW_MS);
        assert_eq!(sign_up.unwrap().hashing_caller().lane, Lane::SignUp);
    }

    #[test]
    fn a_refusal_says_when_the_same_attempt_may_be_made() {
        let attempts = attempts();
        let sign_up = |now_ms| attempts.begin(AttemptOutcome::SignUp, None, v4(1), now_ms).map(drop);
        for _ in 0..3 {
            sign_up(NOW_MS).unwrap();
        }
        let refused = sign_up(NOW_MS).unwrap_err();
        assert_eq!((refused.limit, refused.max), ("sign-ups-per-address", 3));
        assert_eq!(refused.retry_after, Duration::from_secs(20));
        assert!(sign_up(NOW_MS + 19_999).is_err());
        assert!(sign_up(NOW_MS + 20_000).is_ok());
    }

    #[test]
    fn without_limits_everybody_may_try_for_ever() {
        let limits =
            AttemptLimits { sign_ins_per_address: 0, sign_ins_per_username: 0, sign_ups_per_address: 0 };
        let attempts = Attempts::new(limits);
        for _ in 0..1_000 {
            assert_eq!(fail(&attempts, "ada", 1, NOW_MS), Ok(()));
        }
    }
}
