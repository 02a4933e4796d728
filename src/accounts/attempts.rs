//! How often somebody may try to be somebody: by address, so that one place cannot try many names, and by username, so
//! that many places cannot try one name for long. Knows names and where an attempt comes from as text; what is tried, and
//! how it ends, it is told.
//!
//! Nobody can lock a user out by failing in their place: when the attempts at a name are used up, each address still
//! has one a minute of its own.

use std::sync::Arc;
use std::time::Duration;

use super::username::NormalizedUsername;
use crate::buckets::{Buckets, Rate};

/// Attempts to sign in from one address, in a minute.
pub const SIGN_INS_PER_ADDRESS: u32 = 60;
/// Failed attempts at one username, in a minute.
pub const SIGN_INS_PER_USERNAME: u32 = 20;
/// Attempts to sign up from one address, in a minute.
pub const SIGN_UPS_PER_ADDRESS: u32 = 60;
/// Attempts that an address has at a name when those at the name are used up, in a minute.
pub const RESERVED_PER_ADDRESS: u32 = 1;
/// How many addresses, names, and addresses at names are remembered. Each takes about 300 bytes.
pub const REMEMBERED_MAX: usize = 65_536;

const SECONDS_PER_MINUTE: f64 = 60.0;

/// How many attempts there may be in a minute; 0 for as many as anybody likes.
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
    /// The flag of the setting without its dashes.
    pub limit: &'static str,
    pub max: u32,
    /// When the same attempt may be made.
    pub retry_after: Duration,
}

/// What somebody tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempted {
    SignIn,
    SignUp,
}

/// Counts attempts.
#[derive(Debug)]
pub struct Attempts {
    limits: AttemptLimits,
    sign_ins: Option<Buckets<Key>>,
    sign_ups: Option<Buckets<Key>>,
    names: Option<Buckets<Key>>,
    /// Addresses at names whose attempts are used up.
    reserved: Buckets<(Key, Key)>,
}

type Key = Arc<str>;

/// An attempt that counts, unless it is forgiven.
#[derive(Debug)]
#[must_use = "an attempt that did not fail is forgiven"]
pub struct Attempt<'a> {
    attempts: &'a Attempts,
    counted: Counted,
}

#[derive(Debug)]
enum Counted {
    Nowhere,
    AtName(Key),
    Reserved((Key, Key)),
}

impl Attempts {
    #[must_use]
    pub fn new(limits: AttemptLimits) -> Self {
        let buckets =
            |per_minute: u32| (per_minute > 0).then(|| Buckets::new(rate(per_minute), REMEMBERED_MAX));
        Self {
            limits,
            sign_ins: buckets(limits.sign_ins_per_address),
            sign_ups: buckets(limits.sign_ups_per_address),
            names: buckets(limits.sign_ins_per_username),
            reserved: Buckets::new(rate(RESERVED_PER_ADDRESS), REMEMBERED_MAX),
        }
    }

    /// Counts an attempt. A name that nobody can have is `None`.
    ///
    /// # Errors
    /// There were too many from this address, or at this name and from this address.
    pub fn begin(
        &self,
        attempted: Attempted,
        name: Option<&NormalizedUsername>,
        address: &str,
        now_ms: i64,
    ) -> Result<Attempt<'_>, TooManyAttempts> {
        let address = Key::from(address);
        self.count_address(attempted, &address, now_ms)?;
        let name = name.map(|name| Key::from(name.as_str()));
        let counted = match name.zip(self.names.as_ref()) {
            Some((name, names)) => self.count_name(names, name, address, now_ms)?,
            None => Counted::Nowhere,
        };
        Ok(Attempt { attempts: self, counted })
    }

    fn count_address(&self, attempted: Attempted, address: &Key, now_ms: i64) -> Result<(), TooManyAttempts> {
        let (buckets, limit, max) = match attempted {
            Attempted::SignIn => (&self.sign_ins, "sign-ins-per-address", self.limits.sign_ins_per_address),
            Attempted::SignUp => (&self.sign_ups, "sign-ups-per-address", self.limits.sign_ups_per_address),
        };
        let Some(buckets) = buckets else { return Ok(()) };
        let taken = buckets.take(address, 1.0, now_ms);
        taken.map_err(|retry_after| TooManyAttempts { limit, max, retry_after })
    }

    fn count_name(
        &self,
        names: &Buckets<Key>,
        name: Key,
        address: Key,
        now_ms: i64,
    ) -> Result<Counted, TooManyAttempts> {
        let Err(until_any) = names.take(&name, 1.0, now_ms) else { return Ok(Counted::AtName(name)) };
        let own = (name, address);
        match self.reserved.take(&own, 1.0, now_ms) {
            Ok(()) => Ok(Counted::Reserved(own)),
            Err(until_own) => Err(TooManyAttempts {
                limit: "sign-ins-per-username",
                max: self.limits.sign_ins_per_username,
                retry_after: until_any.min(until_own),
            }),
        }
    }
}

impl Attempt<'_> {
    /// Does not count at its name: whoever knows the password guesses nothing.
    pub fn forgive(self, now_ms: i64) {
        match (self.counted, &self.attempts.names) {
            (Counted::AtName(name), Some(names)) => names.give_back(&name, 1.0, now_ms),
            (Counted::Reserved(own), _) => self.attempts.reserved.give_back(&own, 1.0, now_ms),
            (Counted::Nowhere | Counted::AtName(_), _) => {}
        }
    }
}

fn rate(per_minute: u32) -> Rate {
    Rate { per_second: f64::from(per_minute) / SECONDS_PER_MINUTE, capacity: f64::from(per_minute) }
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

    fn fail(attempts: &Attempts, typed: &str, address: &str, now_ms: i64) -> Result<(), &'static str> {
        let begun = attempts.begin(Attempted::SignIn, Some(&name(typed)), address, now_ms);
        begun.map(drop).map_err(|over| over.limit)
    }

    #[test]
    fn an_address_has_so_many_attempts_whatever_the_names() {
        let attempts = attempts();
        for typed in ["ada", "grace", "alan", "edsger"] {
            assert_eq!(fail(&attempts, typed, "here", NOW_MS), Ok(()));
        }
        assert_eq!(fail(&attempts, "barbara", "here", NOW_MS), Err("sign-ins-per-address"));
        assert_eq!(fail(&attempts, "barbara", "there", NOW_MS), Ok(()));
        assert_eq!(fail(&attempts, "barbara", "here", NOW_MS + MINUTE_MS / 4), Ok(()));
    }

    #[test]
    fn a_name_has_so_many_failures_from_all_addresses_and_each_address_one_more() {
        let attempts = attempts();
        for address in ["a", "b", "c", "d", "e"] {
            assert_eq!(fail(&attempts, "ada", address, NOW_MS), Ok(()), "{address}");
        }
        for address in ["c", "d", "e"] {
            assert_eq!(fail(&attempts, "Ada", address, NOW_MS), Err("sign-ins-per-username"), "{address}");
        }
        assert_eq!(fail(&attempts, "grace", "c", NOW_MS), Ok(()), "another name");
    }

    #[test]
    fn strangers_who_never_cease_do_not_lock_a_user_out() {
        let attempts = attempts();
        for round in 0..1_000 {
            let now_ms = NOW_MS + round * 100;
            for stranger in ["x", "y", "z"] {
                let _refused = fail(&attempts, "ada", stranger, now_ms);
            }
        }
        let owner = attempts.begin(Attempted::SignIn, Some(&name("ada")), "home", NOW_MS + 100_000);
        assert!(owner.is_ok());
    }

    #[test]
    fn a_success_leaves_all_attempts_at_the_name() {
        let attempts = attempts();
        for _ in 0..4 {
            let begun = attempts.begin(Attempted::SignIn, Some(&name("ada")), "here", NOW_MS);
            begun.unwrap().forgive(NOW_MS);
        }
        for address in ["a", "b"] {
            assert_eq!(fail(&attempts, "ada", address, NOW_MS), Ok(()));
        }
    }

    #[test]
    fn attempts_under_way_count_before_they_have_failed() {
        let attempts = attempts();
        let begin = |address| attempts.begin(Attempted::SignIn, Some(&name("ada")), address, NOW_MS);
        let _under_way = [begin("a").unwrap(), begin("a").unwrap(), begin("a").unwrap()];
        assert!(begin("a").is_err());
    }

    #[test]
    fn a_refusal_says_when_the_same_attempt_may_be_made() {
        let attempts = attempts();
        let sign_up = |now_ms| attempts.begin(Attempted::SignUp, None, "here", now_ms).map(drop);
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
            assert_eq!(fail(&attempts, "ada", "here", NOW_MS), Ok(()));
        }
    }
}
