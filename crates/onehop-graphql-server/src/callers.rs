//! What callers may cost: each has a budget of request units, which fills as time goes by and is charged with what its
//! requests really took. Since that is known afterwards only, a budget may be overdrawn; the next request is refused
//! until the debt is paid. Knows who pays, not for what.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_graphql::{Response as Execution, Value};
use axum::http::{HeaderMap, HeaderName, HeaderValue};

use super::client_address::{Network, Origin, Proxies};
use super::graphql_service::{Account, RequestRejection};
use super::limit_exceeded::LimitExceeded;
use onehop_runtime::clock::Clock;
use onehop_runtime::token_buckets::{Buckets, Rate};

/// Request units a second of one caller.
pub const CALLER_RU_PER_SECOND: u32 = 5_000;

/// For how many seconds a caller may save them up.
pub const CALLER_BURST_SECONDS: u32 = 10;

/// How many callers are remembered that have spent something lately. Each takes about 200 bytes.
pub const CALLERS_MAX: usize = 65_536;

/// The name of the policy in `RateLimit` headers.
const POLICY: &str = "request-charge";
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// The headers that tell callers what is left to them.
pub(super) const TOLD: [HeaderName; 2] = [RATE_LIMIT, RATE_LIMIT_POLICY];

/// Who callers are, and what they may cost.
#[derive(Debug, Clone, Copy)]
pub struct CallerLimits {
    pub proxies: Proxies,
    /// 0 for no budgets.
    pub ru_per_second: u32,
    pub burst_seconds: u32,
}

impl Default for CallerLimits {
    fn default() -> Self {
        Self {
            proxies: Proxies::default(),
            ru_per_second: CALLER_RU_PER_SECOND,
            burst_seconds: CALLER_BURST_SECONDS,
        }
    }
}

impl CallerLimits {
    fn exceeded(&self) -> LimitExceeded {
        let (max, what) = (self.ru_per_second as usize, "A caller may not spend more than");
        LimitExceeded::new("caller-ru-per-second", max, what, "RU a second")
    }
}

/// The budgets of all callers.
pub(super) struct Budgets {
    limits: CallerLimits,
    /// `None` where nobody has one.
    buckets: Option<Buckets<Payer>>,
    clock: Arc<dyn Clock>,
}

/// Who pays.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Payer {
    /// A user, wherever the requests come from.
    User(Arc<str>),
    /// Whoever is anonymous.
    Network(Network),
}

impl Payer {
    pub(super) fn is_anonymous(&self) -> bool {
        matches!(self, Self::Network(_))
    }
}

/// The bill of one HTTP request, or of one operation on a connection that stays open.
pub struct Bill {
    budgets: Arc<Budgets>,
    origin: Origin,
    /// Whoever says to be somebody is not told of the budget of their network.
    is_anonymous: bool,
    opened: OnceLock<(Payer, Result<(), RequestRejection>)>,
}

impl Budgets {
    pub(super) fn new(limits: CallerLimits, clock: Arc<dyn Clock>) -> Self {
        let per_second = f64::from(limits.ru_per_second);
        let capacity = per_second * f64::from(limits.burst_seconds.max(1));
        let buckets =
            (limits.ru_per_second > 0).then(|| Buckets::new(Rate { per_second, capacity }, CALLERS_MAX));
        Self { limits, buckets, clock }
    }

    /// From where a request comes.
    pub(super) fn proxies(&self) -> Proxies {
        self.limits.proxies
    }

    fn check(&self, payer: &Payer) -> Result<(), RequestRejection> {
        let empty_for =
            self.buckets.as_ref().and_then(|buckets| buckets.empty_for(payer, self.clock.now_ms()));
        match empty_for {
            None => Ok(()),
            Some(retry_after) => Err(RequestRejection::OverBudget {
                exceeded: self.limits.exceeded(),
                retry_after: whole_ms(retry_after),
            }),
        }
    }

    fn charge(&self, payer: &Payer, request_charge: f64) {
        if let Some(buckets) = self.buckets.as_ref().filter(|_| request_charge > 0.0) {
            buckets.spend(payer, request_charge, self.clock.now_ms());
        }
    }

    /// `RateLimit` for a payer: a client that spreads what is left over the time told spends no faster than the budget
    /// fills.
    fn limit(&self, payer: &Payer) -> Option<String> {
        let (buckets, now_ms) = (self.buckets.as_ref()?, self.clock.now_ms());
        let left = buckets.left(payer, now_ms).max(0.0).floor();
        let window = match buckets.empty_for(payer, now_ms) {
            Some(wait) => whole_seconds(whole_ms(wait)),
            None => u64::from(self.limits.burst_seconds),
        };
        Some(format!("\"{POLICY}\";r={left:.0};t={window}"))
    }

    /// `RateLimit-Policy`, the same for all.
    fn policy(&self) -> Option<String> {
        self.buckets.as_ref()?;
        let CallerLimits { ru_per_second, burst_seconds, .. } = self.limits;
        let quota = u64::from(ru_per_second) * u64::from(burst_seconds);
        Some(format!("\"{POLICY}\";q={quota};qu=\"request-units\";w={burst_seconds}"))
    }
}

impl Bill {
    /// A bill for whatever has this origin.
    pub(super) fn new(budgets: &Arc<Budgets>, origin: Origin, is_anonymous: bool) -> Self {
        Self { budgets: Arc::clone(budgets), origin, is_anonymous, opened: OnceLock::new() }
    }

    /// Whether the quota of its payer is spent by now, whatever it was at the beginning.
    pub(super) fn quota(&self) -> Result<(), RequestRejection> {
        self.opened.get().map_or(Ok(()), |(payer, _)| self.budgets.check(payer))
    }

    /// Where it came from.
    pub(super) fn origin(&self) -> Origin {
        self.origin
    }

    /// Who pays, once it is known who asks.
    pub(super) fn payer(&self) -> Option<&Payer> {
        self.opened.get().map(|(payer, _)| payer)
    }

    /// Tells what is left.
    pub fn tell(&self, headers: &mut HeaderMap) {
        let payer = match self.opened.get() {
            Some((payer, _)) => Some(payer.clone()),
            None => self.is_anonymous.then_some(Payer::Network(self.origin.network)),
        };
        let limit = payer.and_then(|payer| self.budgets.limit(&payer));
        for (name, value) in [(RATE_LIMIT, limit), (RATE_LIMIT_POLICY, self.budgets.policy())] {
            if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
                headers.insert(name, value);
            }
        }
    }
}

impl Account for Bill {
    /// Whoever may begin may finish: the requests of a batch are one.
    fn open(&self, caller: Option<&str>) -> Result<(), RequestRejection> {
        let (_, is_open) = self.opened.get_or_init(|| {
            let payer = caller.map_or(Payer::Network(self.origin.network), |id| Payer::User(id.into()));
            let is_open = self.budgets.check(&payer);
            (payer, is_open)
        });
        is_open.clone()
    }

    fn charge(&self, request_charge: f64) {
        if let Some((payer, _)) = self.opened.get() {
            self.budgets.charge(payer, request_charge);
        }
    }
}

/// What an execution says that it was charged, in request units.
pub(super) fn charge_of(execution: &Execution) -> f64 {
    match execution.extensions.get("requestCharge") {
        Some(Value::Number(charge)) => charge.as_f64().unwrap_or(0.0),
        _ => 0.0,
    }
}

/// Rounded up, so that a client never comes too early.
fn whole_ms(delay: Duration) -> Duration {
    Duration::from_millis(u64::try_from(delay.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX))
}

/// Rounded up.
pub(super) fn whole_seconds(delay: Duration) -> u64 {
    delay.as_secs() + u64::from(delay.subsec_nanos() > 0)
}

impl fmt::Debug for Budgets {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Budgets").field("limits", &self.limits).finish_non_exhaustive()
    }
}
