//! Brute-force protection: rate limits on attempts to sign in and up, by network (one network cannot try many
//! names) and by username (many networks cannot try one name). It knows names and networks; callers report
//! the attempts and their outcomes.
//!
//! Failed attempts by others do not lock users out of networks where they signed in before: when the attempts
//! at a name are used up, each [known network](super::known_networks) still has one a minute, and all of them
//! together a few. Sign-ups at a name that is taken have a count of their own, so that they take nobody's
//! sign-ins away.
//!
//! A sign-up says whether its name is taken. Where names are private, as e-mail addresses are, a network
//! finds out few in an hour.

use std::sync::Arc;
use std::time::Duration;

use super::hashing_queue::{HashingCaller, Lane};
use super::known_networks::KnownNetworks;
use super::network_prefixes::{AttemptOrigin, NETWORKS, Prefix};
use onehop_runtime::token_buckets::{BucketRate, TokenBuckets};

/// Attempts to sign in from one address, in a minute.
pub const SIGN_INS_PER_ADDRESS: u32 = 60;
/// Failed attempts at one username, in a minute.
pub const SIGN_INS_PER_USERNAME: u32 = 20;
/// Attempts to sign up from one address, in a minute, for accounts of all kinds.
pub const SIGN_UPS_PER_ADDRESS: u32 = 5;
/// Sign-ups at one name that is taken, in a minute.
pub const SIGN_UPS_PER_USERNAME: u32 = 20;
/// Sign-ups at private names that are taken, from one address, in an hour.
pub const TAKEN_NAMES_PER_ADDRESS: u32 = 20;
/// The attempts of wider networks as multiples of one address's: a /64, its /56 and its /48.
pub const ATTEMPTS_OF_WIDER_NETWORKS: [u32; NETWORKS] = [1, 4, 16];
/// Attempts that a known network has at a name, in a minute, when the name's own attempts are used up.
pub const RESERVED_PER_NETWORK: u32 = 1;
/// Attempts that all known networks have then together, in a minute.
pub const RESERVED_PER_USERNAME: u32 = 5;
/// The reads of a name's known networks from the store, in a minute.
const RECALLS_PER_USERNAME: u32 = 1;
/// The name of the limit on failed sign-ins at a name.
const SIGN_INS_LIMIT: &str = "sign-ins-per-username";
/// Limit of remembered networks, names, and networks at names. Each takes about 300 bytes.
pub const REMEMBERED_MAX: usize = 65_536;

const MINUTE: Window = Window { text: "a minute", seconds: 60.0 };
const HOUR: Window = Window { text: "an hour", seconds: 3600.0 };

/// The time in which a limit allows so many attempts.
#[derive(Debug, Clone, Copy)]
struct Window {
    text: &'static str,
    seconds: f64,
}

impl Window {
    fn rate(self, max: u32) -> BucketRate {
        let capacity = f64::from(max.max(1));
        BucketRate { per_second: capacity / self.seconds, capacity }
    }
}

/// Limits of attempts in a minute, and of taken names in an hour; 0 for any number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptLimits {
    pub sign_ins_per_address: u32,
    /// Failed ones.
    pub sign_ins_per_username: u32,
    pub sign_ups_per_address: u32,
    /// At a name that is taken.
    pub sign_ups_per_username: u32,
    /// At private names that are taken.
    pub taken_names_per_address: u32,
}

impl Default for AttemptLimits {
    fn default() -> Self {
        Self {
            sign_ins_per_address: SIGN_INS_PER_ADDRESS,
            sign_ins_per_username: SIGN_INS_PER_USERNAME,
            sign_ups_per_address: SIGN_UPS_PER_ADDRESS,
            sign_ups_per_username: SIGN_UPS_PER_USERNAME,
            taken_names_per_address: TAKEN_NAMES_PER_ADDRESS,
        }
    }
}

/// Too many attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("You can make at most {max} attempts {window} (limit {limit}). Try again later.")]
pub struct TooManyAttempts {
    /// The name of the limit, such as `sign-ins-per-address`.
    pub limit: &'static str,
    pub max: u32,
    /// When the same attempt may be made.
    pub retry_after: Duration,
    window: &'static str,
}

impl TooManyAttempts {
    /// Whether the attempts at the name are used up for networks that are not known there.
    #[must_use]
    pub fn is_about_name(&self) -> bool {
        self.limit == SIGN_INS_LIMIT
    }
}

/// The kind of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptKind {
    SignIn,
    SignUp,
}

/// The name at which an attempt is made, such as a username or an e-mail address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoginName<'a> {
    /// Different for each kind of account.
    pub key: &'a str,
    /// Whether strangers should not find out that the name is taken.
    pub is_private: bool,
}

/// The end of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AttemptOutcome {
    Succeeded,
    /// The password was wrong, or the name is taken.
    Failed,
    /// The input was invalid, or a fault came between: it says nothing about name and password.
    NotJudged,
}

/// Counts attempts.
#[derive(Debug)]
pub struct Attempts {
    sign_ins: NetworkLimit,
    sign_ups: NetworkLimit,
    taken_names: NetworkLimit,
    sign_in_names: NameLimit,
    sign_up_names: NameLimit,
    known: KnownNetworks,
    /// When the known networks of a name were last recalled.
    recalls: TokenBuckets<Key>,
}

type Key = Arc<str>;

/// An attempt that counts as a failure, unless it [ends](Attempt::end) otherwise.
#[derive(Debug)]
#[must_use = "an attempt that did not fail ends otherwise"]
pub struct Attempt<'a> {
    attempts: &'a Attempts,
    kind: AttemptKind,
    name: Option<Key>,
    origin: AttemptOrigin,
    counted: Counted,
    is_private: bool,
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
            sign_ins: NetworkLimit::new("sign-ins-per-address", limits.sign_ins_per_address, MINUTE),
            sign_ups: NetworkLimit::new("sign-ups-per-address", limits.sign_ups_per_address, MINUTE),
            taken_names: NetworkLimit::new("taken-names-per-address", limits.taken_names_per_address, HOUR),
            sign_in_names: NameLimit::new(SIGN_INS_LIMIT, limits.sign_ins_per_username),
            sign_up_names: NameLimit::new("sign-ups-per-username", limits.sign_ups_per_username),
            known: KnownNetworks::default(),
            recalls: TokenBuckets::new(MINUTE.rate(RECALLS_PER_USERNAME), REMEMBERED_MAX),
        }
    }

    /// Counts an attempt. An invalid name is `None`.
    ///
    /// # Errors
    /// There were too many from this network, or at this name.
    pub fn begin(
        &self,
        kind: AttemptKind,
        login: Option<LoginName<'_>>,
        origin: AttemptOrigin,
        now_ms: i64,
    ) -> Result<Attempt<'_>, TooManyAttempts> {
        let networks = match kind {
            AttemptKind::SignIn => &self.sign_ins,
            AttemptKind::SignUp => &self.sign_ups,
        };
        networks.take(origin, now_ms)?;
        let is_private = kind == AttemptKind::SignUp && login.is_some_and(|login| login.is_private);
        if is_private {
            self.taken_names.take(origin, now_ms)?;
        }
        let name = login.map(|login| Key::from(login.key));
        let counted = match &name {
            Some(name) => self.take_at_name(kind, name, origin, now_ms).inspect_err(|_| {
                if is_private {
                    self.taken_names.give_back(origin, now_ms);
                }
            })?,
            None => Counted::Nowhere,
        };
        Ok(Attempt { attempts: self, kind, name, origin, counted, is_private })
    }

    fn take_at_name(
        &self,
        kind: AttemptKind,
        name: &Key,
        origin: AttemptOrigin,
        now_ms: i64,
    ) -> Result<Counted, TooManyAttempts> {
        let is_known = kind == AttemptKind::SignIn && self.known.contains(name, origin.address());
        self.at_names(kind).take(name, origin.address(), is_known, now_ms)
    }

    fn at_names(&self, kind: AttemptKind) -> &NameLimit {
        match kind {
            AttemptKind::SignIn => &self.sign_in_names,
            AttemptKind::SignUp => &self.sign_up_names,
        }
    }

    /// Whether the known networks of a name may be read from the store now: rarely, since strangers can cause
    /// it.
    #[must_use]
    pub fn may_recall(&self, key: &str, now_ms: i64) -> bool {
        self.recalls.take(&Key::from(key), 1.0, now_ms).is_ok()
    }

    /// Knows networks again that signed in at a name before this process began. Networks that are known
    /// already stay.
    pub fn recall(&self, key: &str, networks: impl IntoIterator<Item = Prefix>) {
        let name = Key::from(key);
        for network in networks {
            self.known.remember(&name, network);
        }
    }
}

impl Attempt<'_> {
    /// In which lane and whose turn the password of this attempt is hashed.
    #[must_use]
    pub fn hashing_caller(&self) -> HashingCaller {
        let is_known = |name: &Key| self.attempts.known.contains(name, self.origin.address());
        let lane = match self.kind {
            AttemptKind::SignUp => Lane::SignUp,
            AttemptKind::SignIn if self.name.as_ref().is_some_and(is_known) => Lane::Known,
            AttemptKind::SignIn => Lane::SignIn,
        };
        HashingCaller { lane, origin: self.origin }
    }

    /// Whether it is a sign-in or a sign-up.
    #[must_use]
    pub fn kind(&self) -> AttemptKind {
        self.kind
    }

    /// Ends the attempt. After a success its network is known at the name; attempts that did not fail do not
    /// count there.
    pub fn end(self, outcome: AttemptOutcome, now_ms: i64) {
        let Some(name) = &self.name else { return };
        if outcome == AttemptOutcome::Failed {
            return;
        }
        if outcome == AttemptOutcome::Succeeded {
            self.attempts.known.remember(name, self.origin.address());
        }
        self.attempts.at_names(self.kind).give_back(self.counted, name, self.origin.address(), now_ms);
        if self.is_private {
            self.attempts.taken_names.give_back(self.origin, now_ms);
        }
    }
}

/// The limit on attempts from one network: as for an address, and more for wider networks.
#[derive(Debug)]
struct NetworkLimit {
    limit: &'static str,
    max: u32,
    window: Window,
    /// By the kind of network.
    buckets: [TokenBuckets<Prefix>; NETWORKS],
}

impl NetworkLimit {
    fn new(limit: &'static str, max: u32, window: Window) -> Self {
        let buckets = ATTEMPTS_OF_WIDER_NETWORKS
            .map(|times| TokenBuckets::new(window.rate(max.max(1).saturating_mul(times)), REMEMBERED_MAX));
        Self { limit, max, window, buckets }
    }

    /// Takes one attempt from all networks of the origin, or refuses and takes no attempt.
    fn take(&self, origin: AttemptOrigin, now_ms: i64) -> Result<(), TooManyAttempts> {
        if self.max == 0 {
            return Ok(());
        }
        let networks = origin.networks();
        for (kind, (buckets, network)) in self.buckets.iter().zip(networks).enumerate() {
            let Some(network) = network else { continue };
            if let Err(retry_after) = buckets.take(&network, 1.0, now_ms) {
                for (buckets, network) in self.buckets.iter().zip(networks).take(kind) {
                    network.iter().for_each(|network| buckets.give_back(network, 1.0, now_ms));
                }
                let max = self.max.saturating_mul(ATTEMPTS_OF_WIDER_NETWORKS[kind]);
                let window = self.window.text;
                return Err(TooManyAttempts { limit: self.limit, max, retry_after, window });
            }
        }
        Ok(())
    }

    /// Gives one attempt back to all networks of the origin.
    fn give_back(&self, origin: AttemptOrigin, now_ms: i64) {
        if self.max == 0 {
            return;
        }
        for (buckets, network) in self.buckets.iter().zip(origin.networks()) {
            network.iter().for_each(|network| buckets.give_back(network, 1.0, now_ms));
        }
    }
}

/// The limit on failures at one name, and the attempts that known networks have beyond it.
#[derive(Debug)]
struct NameLimit {
    limit: &'static str,
    per_minute: u32,
    failures: TokenBuckets<Key>,
    reserved: TokenBuckets<(Key, Prefix)>,
    reserved_of_name: TokenBuckets<Key>,
}

impl NameLimit {
    fn new(limit: &'static str, per_minute: u32) -> Self {
        Self {
            limit,
            per_minute,
            failures: TokenBuckets::new(MINUTE.rate(per_minute), REMEMBERED_MAX),
            reserved: TokenBuckets::new(MINUTE.rate(RESERVED_PER_NETWORK), REMEMBERED_MAX),
            reserved_of_name: TokenBuckets::new(MINUTE.rate(RESERVED_PER_USERNAME), REMEMBERED_MAX),
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
            limit: self.limit,
            max: self.per_minute,
            retry_after,
            window: MINUTE.text,
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

#[cfg(test)]
mod tests;
