//! Rate limit: the request-unit quota of each caller, a token bucket that is charged with the real charges of
//! requests.
//!
//! The charge is known afterwards only, so a quota may be overdrawn; the next request is refused until the
//! debt is paid. Knows the owner of a quota, not the charged work.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::http::{Extensions, HeaderMap, HeaderName, HeaderValue};

use crate::caller::{Caller, RequestRejection};
use crate::client_address::{ClientAddress, Network, Proxies};
use crate::limit_exceeded::LimitExceeded;
use crate::quota::QuotaAccount;
use onehop_runtime::clock::Clock;
use onehop_runtime::token_buckets::{BucketRate, TokenBuckets};

/// Request units a second of one caller.
pub const CALLER_RU_PER_SECOND: u32 = 5_000;

/// For how many seconds a caller may save them up.
pub const CALLER_BURST_SECONDS: u32 = 10;

/// Limit of remembered callers with recent charges. Each takes about 200 bytes.
pub const CALLERS_MAX: usize = 65_536;

/// The name of the policy in `RateLimit` headers.
const POLICY: &str = "request-charge";
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The `RateLimit` headers: the rest of a caller's quota.
pub(crate) const RATE_LIMIT_HEADERS: [HeaderName; 2] = [RATE_LIMIT, RATE_LIMIT_POLICY];

/// The keys of callers, and the rates of their quotas.
#[derive(Debug, Clone, Copy)]
pub struct RateLimits {
    pub proxies: Proxies,
    /// 0 for no budgets.
    pub ru_per_second: u32,
    pub burst_seconds: u32,
}

impl Default for RateLimits {
    fn default() -> Self {
        Self {
            proxies: Proxies::default(),
            ru_per_second: CALLER_RU_PER_SECOND,
            burst_seconds: CALLER_BURST_SECONDS,
        }
    }
}

impl RateLimits {
    /// The quota in the words of `RateLimit-Policy`.
    fn policy(&self) -> String {
        let Self { ru_per_second, burst_seconds, .. } = self;
        let quota = u64::from(*ru_per_second) * u64::from(*burst_seconds);
        format!("\"{POLICY}\";q={quota};qu=\"request-units\";w={burst_seconds}")
    }

    fn exceeded(&self) -> LimitExceeded {
        let (max, what) = (self.ru_per_second as usize, "A caller may not spend more than");
        LimitExceeded::new("caller-ru-per-second", max, what, "RU a second")
    }
}

/// The budgets of all callers.
pub(crate) struct RateLimiter {
    limits: RateLimits,
    /// `None` where there are no quotas.
    buckets: Option<TokenBuckets<RateLimitKey>>,
    /// `RateLimit-Policy`, the same for all.
    policy: Option<HeaderValue>,
    clock: Arc<dyn Clock>,
    /// Whether the log has said that addresses are not known.
    has_warned: AtomicBool,
}

/// Whose quota is charged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RateLimitKey {
    /// A user, wherever the requests come from.
    User(Arc<str>),
    /// All anonymous callers of a network.
    Network(Network),
}

impl RateLimitKey {
    /// The key of a user, or of an anonymous caller by the network.
    pub(crate) fn of(user: Option<&str>, network: Network) -> Self {
        user.map_or(Self::Network(network), |id| Self::User(id.into()))
    }

    pub(crate) fn is_anonymous(&self) -> bool {
        matches!(self, Self::Network(_))
    }
}

/// The bill of one HTTP request, or of one operation on a connection that stays open.
pub struct RequestQuota {
    limiter: Arc<RateLimiter>,
    client: ClientAddress,
    /// Whether there is no access token. A request with a token does not show the quota of its network.
    is_anonymous: bool,
    opened: OnceLock<OpenedQuota>,
}

/// The buckets that pay for a request, and whether there was anything in them when it began.
struct OpenedQuota {
    keys: QuotaKeys,
    is_open: Result<(), RequestRejection>,
}

/// A caller's own bucket, and for a new account the bucket of its network as well.
struct QuotaKeys {
    own: RateLimitKey,
    network: Option<RateLimitKey>,
}

impl QuotaKeys {
    fn of(caller: Option<&Caller>, network: Network) -> Self {
        let own = RateLimitKey::of(caller.map(|caller| caller.id.as_str()), network);
        let is_new = caller.is_some_and(|caller| caller.is_new);
        Self { own, network: is_new.then_some(RateLimitKey::Network(network)) }
    }

    fn iter(&self) -> impl Iterator<Item = &RateLimitKey> {
        std::iter::once(&self.own).chain(&self.network)
    }
}

impl RateLimiter {
    pub(crate) fn new(limits: RateLimits, clock: Arc<dyn Clock>) -> Self {
        let per_second = f64::from(limits.ru_per_second);
        let capacity = per_second * f64::from(limits.burst_seconds.max(1));
        let buckets = (limits.ru_per_second > 0)
            .then(|| TokenBuckets::new(BucketRate { per_second, capacity }, CALLERS_MAX));
        let policy = buckets.as_ref().and_then(|_| HeaderValue::try_from(limits.policy()).ok());
        Self { limits, buckets, policy, clock, has_warned: AtomicBool::new(false) }
    }

    /// From where a request comes. Says once in the log if that is not known.
    pub(crate) fn client(&self, headers: &HeaderMap, extensions: &Extensions) -> ClientAddress {
        let client = ClientAddress::of(self.limits.proxies, headers, extensions);
        if client.network == Network::Unknown && !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "the addresses of clients are not known, so all anonymous clients share one quota: serve the router with \
                 onehop_graphql_server::server::Server, or with into_make_service_with_connect_info::<SocketAddr>()"
            );
        }
        client
    }

    fn check(&self, key: &RateLimitKey) -> Result<(), RequestRejection> {
        let empty_for = self.buckets.as_ref().and_then(|buckets| buckets.empty_for(key, self.clock.now_ms()));
        match empty_for {
            None => Ok(()),
            Some(retry_after) => Err(RequestRejection::OverBudget {
                exceeded: self.limits.exceeded(),
                retry_after: whole_ms(retry_after),
            }),
        }
    }

    fn check_all(&self, keys: &QuotaKeys) -> Result<(), RequestRejection> {
        keys.iter().try_for_each(|key| self.check(key))
    }

    fn charge(&self, key: &RateLimitKey, request_charge: f64) {
        if let Some(buckets) = self.buckets.as_ref().filter(|_| request_charge > 0.0) {
            buckets.spend(key, request_charge, self.clock.now_ms());
        }
    }

    /// `RateLimit` for the key with the least left: a client that spreads the rest over the stated time
    /// spends no faster than the budget fills.
    fn limit<'a>(&self, keys: impl Iterator<Item = &'a RateLimitKey>) -> Option<String> {
        let (buckets, now_ms) = (self.buckets.as_ref()?, self.clock.now_ms());
        let left = keys.map(|key| (buckets.left(key, now_ms), key));
        let (left, key) = left.min_by(|(one, _), (other, _)| one.total_cmp(other))?;
        let left = left.max(0.0).floor();
        let window = match buckets.empty_for(key, now_ms) {
            Some(wait) => whole_seconds(whole_ms(wait)),
            None => u64::from(self.limits.burst_seconds),
        };
        Some(format!("\"{POLICY}\";r={left:.0};t={window}"))
    }
}

impl RequestQuota {
    /// A bill for requests of this origin.
    pub(crate) fn new(limiter: &Arc<RateLimiter>, client: ClientAddress, is_anonymous: bool) -> Self {
        Self { limiter: Arc::clone(limiter), client, is_anonymous, opened: OnceLock::new() }
    }

    /// Where the request came from.
    pub(crate) fn client(&self) -> ClientAddress {
        self.client
    }

    /// Writes the rest of the quota into the `RateLimit` headers.
    pub fn write_headers(&self, headers: &mut HeaderMap) {
        let limit = match self.opened.get() {
            Some(opened) => self.limiter.limit(opened.keys.iter()),
            None if self.is_anonymous => {
                self.limiter.limit(std::iter::once(&RateLimitKey::Network(self.client.network)))
            }
            None => None,
        };
        let limit = limit.and_then(|limit| HeaderValue::try_from(limit).ok());
        for (name, value) in [(RATE_LIMIT, limit), (RATE_LIMIT_POLICY, self.limiter.policy.clone())] {
            if let Some(value) = value {
                headers.insert(name, value);
            }
        }
    }
}

impl QuotaAccount for RequestQuota {
    /// Opened once: a request that may begin may finish.
    fn open(&self, caller: Option<&Caller>) -> Result<(), RequestRejection> {
        let opened = self.opened.get_or_init(|| {
            let keys = QuotaKeys::of(caller, self.client.network);
            let is_open = self.limiter.check_all(&keys);
            OpenedQuota { keys, is_open }
        });
        opened.is_open.clone()
    }

    fn check(&self) -> Result<(), RequestRejection> {
        self.opened.get().map_or(Ok(()), |opened| self.limiter.check_all(&opened.keys))
    }

    fn charge(&self, request_charge: f64) {
        for key in self.opened.get().iter().flat_map(|opened| opened.keys.iter()) {
            self.limiter.charge(key, request_charge);
        }
    }
}

/// Rounded up, so that a client never comes too early.
fn whole_ms(delay: Duration) -> Duration {
    Duration::from_millis(u64::try_from(delay.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX))
}

/// Rounded up.
pub(crate) fn whole_seconds(delay: Duration) -> u64 {
    delay.as_secs() + u64::from(delay.subsec_nanos() > 0)
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Budgets").field("limits", &self.limits).finish_non_exhaustive()
    }
}
