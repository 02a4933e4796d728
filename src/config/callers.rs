//! Caller settings: client addresses, quota, brute-force protection and write limits.

use clap::{Args, ValueEnum};

use crate::accounts::brute_force_protection::{
    AttemptLimits, SIGN_INS_PER_ADDRESS, SIGN_INS_PER_USERNAME, SIGN_UPS_PER_ADDRESS,
};
use crate::accounts::write_limits::WriteLimits;
use onehop_graphql_server::client_address::{ForwardingHeader, Proxies};
use onehop_graphql_server::pipeline::rate_limit::{CALLER_RU_PER_SECOND, RateLimits};

/// The header in which reverse proxies write client addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ForwardingHeaderSetting {
    /// X-Forwarded-For: addresses alone
    XForwardedFor,
    /// Forwarded, by RFC 7239
    Forwarded,
}

/// Settings of callers.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Rate limits, quotas and brute-force protection")]
pub struct CallerSettings {
    /// Trusted reverse proxies that each request passes before this server. The client's address is the
    /// address that the farthest of them saw; 0 takes the address of the connection
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_TRUSTED_PROXIES",
        default_value_t = 0,
        value_parser = clap::value_parser!(u8).range(0..=20)
    )]
    pub trusted_proxies: u8,

    /// Forwarding header in which the trusted proxies write client addresses. The other header is not read
    #[arg(
        long,
        value_enum,
        value_name = "HEADER",
        env = "ONEHOP_TRUSTED_PROXIES_HEADER",
        default_value = "x-forwarded-for"
    )]
    pub trusted_proxies_header: ForwardingHeaderSetting,

    /// Rate limit (request-unit quota): request units a second that one user or customer may spend, or one
    /// network of anonymous clients, which is an IPv4 address or a /64 of IPv6; 0 for no quota. In its first
    /// 24 hours an account spends the quota of its network as well. The token bucket holds the units of 10
    /// seconds. Beyond it requests get 429 with Retry-After
    #[arg(
        long,
        value_name = "RU",
        env = "ONEHOP_CALLER_RU_PER_SECOND",
        default_value_t = CALLER_RU_PER_SECOND,
        value_parser = clap::value_parser!(u32).range(0..=10_000_000)
    )]
    pub caller_ru_per_second: u32,

    /// Brute-force protection: sign-in attempts from one network, which is an IPv4 address or a /64 of IPv6,
    /// in a minute; 0 for no limit. A /56 has four times as many, a /48 sixteen times. A further one gets
    /// LIMIT_EXCEEDED with retryAfterMs
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_SIGN_INS_PER_ADDRESS",
        default_value_t = SIGN_INS_PER_ADDRESS,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000)
    )]
    pub sign_ins_per_address: u32,

    /// Brute-force protection: failed sign-ins at one username or e-mail address in a minute; 0 for no limit.
    /// Beyond it each network that signed in at it before has one attempt a minute, and all these networks
    /// together five, so that strangers cannot lock its owner out
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_SIGN_INS_PER_USERNAME",
        default_value_t = SIGN_INS_PER_USERNAME,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000)
    )]
    pub sign_ins_per_username: u32,

    /// Brute-force protection: sign-up attempts from one network in a minute, of users and customers
    /// together, and from wider networks as for sign-ins; 0 for no limit. A further one gets LIMIT_EXCEEDED
    /// with retryAfterMs
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_SIGN_UPS_PER_ADDRESS",
        default_value_t = SIGN_UPS_PER_ADDRESS,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000)
    )]
    pub sign_ups_per_address: u32,

    /// Write limits, in percent: of one user, 10 new posts, 30 edits of posts and comments, 30 comments, 120
    /// likes and 60 deletions a minute, and 5 renames an hour; of one customer, 10 sales orders, 10 deletions
    /// of sales orders and 30 profile updates a minute, and 5 changes of the e-mail address an hour; 0 for no
    /// limits. A further write gets LIMIT_EXCEEDED with retryAfterMs
    #[arg(
        long,
        value_name = "PERCENT",
        env = "ONEHOP_WRITE_LIMITS_PERCENT",
        default_value_t = 100,
        value_parser = clap::value_parser!(u32).range(0..=100_000)
    )]
    pub write_limits_percent: u32,
}

impl CallerSettings {
    /// The limits of brute-force protection.
    #[must_use]
    pub fn attempts(&self) -> AttemptLimits {
        AttemptLimits {
            sign_ins_per_address: self.sign_ins_per_address,
            sign_ins_per_username: self.sign_ins_per_username,
            sign_ups_per_address: self.sign_ups_per_address,
            ..AttemptLimits::default()
        }
    }

    /// The limits of an account's writes of each kind.
    #[must_use]
    pub fn writes(&self) -> WriteLimits {
        WriteLimits::in_percent(self.write_limits_percent)
    }

    /// The client addresses and the quota of each.
    #[must_use]
    pub fn limits(&self) -> RateLimits {
        let header = match self.trusted_proxies_header {
            ForwardingHeaderSetting::XForwardedFor => ForwardingHeader::XForwardedFor,
            ForwardingHeaderSetting::Forwarded => ForwardingHeader::Forwarded,
        };
        RateLimits {
            proxies: Proxies { trusted: self.trusted_proxies, header },
            ru_per_second: self.caller_ru_per_second,
            ..RateLimits::default()
        }
    }
}
