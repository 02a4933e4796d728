//! Caller settings: client addresses, rate limits and quotas.

use clap::{Args, ValueEnum};

use crate::accounts::brute_force_protection::{
    AttemptLimits, SIGN_INS_PER_ADDRESS, SIGN_INS_PER_USERNAME, SIGN_UPS_PER_ADDRESS,
};
use crate::blog::write_limits::{
    COMMENTS_PER_USER, DELETIONS_PER_USER, EDITS_PER_USER, LIKES_PER_USER, POSTS_PER_USER, RENAMES_PER_USER,
    WriteLimits,
};
use onehop_graphql_server::client_address::{ForwardingHeader, Proxies};
use onehop_graphql_server::pipeline::rate_limit::{CALLER_BURST_SECONDS, CALLER_RU_PER_SECOND, RateLimits};

/// The header in which proxies say by whom they were called.
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
    /// Trusted reverse proxies that each request passes before this server. The client's address is the one
    /// that the farthest of them saw; 0 takes the address of the connection
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

    /// Rate limit (request-unit quota): request units a second that one user may spend, or one network of
    /// anonymous clients, which is an IPv4 address or a /64 of IPv6; 0 for no quota. Beyond it requests get
    /// 429 with Retry-After
    #[arg(
        long,
        value_name = "RU",
        env = "ONEHOP_CALLER_RU_PER_SECOND",
        default_value_t = CALLER_RU_PER_SECOND,
        value_parser = clap::value_parser!(u32).range(0..=10_000_000)
    )]
    pub caller_ru_per_second: u32,

    /// Burst of the quota, in seconds: how many seconds of --caller-ru-per-second a client may save up (token
    /// bucket)
    #[arg(
        long,
        value_name = "SECONDS",
        env = "ONEHOP_CALLER_BURST_SECONDS",
        default_value_t = CALLER_BURST_SECONDS,
        value_parser = clap::value_parser!(u32).range(1..=3600)
    )]
    pub caller_burst_seconds: u32,

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

    /// Brute-force protection: failed sign-ins at one username in a minute, sign-ups at a taken one among
    /// them; 0 for no limit. Beyond it each network that signed in at the name before has one attempt a
    /// minute, and all these networks together five, so that strangers cannot lock a user out
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_SIGN_INS_PER_USERNAME",
        default_value_t = SIGN_INS_PER_USERNAME,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000)
    )]
    pub sign_ins_per_username: u32,

    /// Brute-force protection: sign-up attempts from one network in a minute, and from wider networks as for
    /// sign-ins; 0 for no limit. A further one gets LIMIT_EXCEEDED with retryAfterMs
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_SIGN_UPS_PER_ADDRESS",
        default_value_t = SIGN_UPS_PER_ADDRESS,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000)
    )]
    pub sign_ups_per_address: u32,

    /// Write limit: new posts of one user in a minute; 0 for no limit. A further one gets LIMIT_EXCEEDED with
    /// retryAfterMs
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_POSTS_PER_USER",
        default_value_t = POSTS_PER_USER,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000)
    )]
    pub posts_per_user: u32,

    /// Write limit: edits of posts by one user in a minute; 0 for no limit. A further one gets LIMIT_EXCEEDED
    /// with retryAfterMs
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_EDITS_PER_USER",
        default_value_t = EDITS_PER_USER,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000)
    )]
    pub edits_per_user: u32,

    /// Write limit: new comments of one user in a minute; 0 for no limit. A further one gets LIMIT_EXCEEDED
    /// with retryAfterMs
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_COMMENTS_PER_USER",
        default_value_t = COMMENTS_PER_USER,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000)
    )]
    pub comments_per_user: u32,

    /// Write limit: likes of one user, given and taken back, in a minute; 0 for no limit. A further one gets
    /// LIMIT_EXCEEDED with retryAfterMs
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_LIKES_PER_USER",
        default_value_t = LIKES_PER_USER,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000)
    )]
    pub likes_per_user: u32,

    /// Write limit: deletions of posts and comments by one user in a minute; 0 for no limit. A further one
    /// gets LIMIT_EXCEEDED with retryAfterMs
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_DELETIONS_PER_USER",
        default_value_t = DELETIONS_PER_USER,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000)
    )]
    pub deletions_per_user: u32,

    /// Write limit: renames of one user in an hour; 0 for no limit. A further one gets LIMIT_EXCEEDED with
    /// retryAfterMs. The user's quota is charged an estimate of what the projections of a rename cost
    #[arg(
        long,
        value_name = "NUMBER",
        env = "ONEHOP_RENAMES_PER_USER",
        default_value_t = RENAMES_PER_USER,
        value_parser = clap::value_parser!(u32).range(0..=1_000_000)
    )]
    pub renames_per_user: u32,
}

impl CallerSettings {
    /// How often somebody may try to sign in or up.
    #[must_use]
    pub fn attempts(&self) -> AttemptLimits {
        AttemptLimits {
            sign_ins_per_address: self.sign_ins_per_address,
            sign_ins_per_username: self.sign_ins_per_username,
            sign_ups_per_address: self.sign_ups_per_address,
        }
    }

    /// How many writes of each kind a user may make.
    #[must_use]
    pub fn writes(&self) -> WriteLimits {
        WriteLimits {
            posts_per_user: self.posts_per_user,
            edits_per_user: self.edits_per_user,
            comments_per_user: self.comments_per_user,
            likes_per_user: self.likes_per_user,
            deletions_per_user: self.deletions_per_user,
            renames_per_user: self.renames_per_user,
        }
    }

    /// Who callers are, and what their requests may cost.
    #[must_use]
    pub fn limits(&self) -> RateLimits {
        let header = match self.trusted_proxies_header {
            ForwardingHeaderSetting::XForwardedFor => ForwardingHeader::XForwardedFor,
            ForwardingHeaderSetting::Forwarded => ForwardingHeader::Forwarded,
        };
        RateLimits {
            proxies: Proxies { trusted: self.trusted_proxies, header },
            ru_per_second: self.caller_ru_per_second,
            burst_seconds: self.caller_burst_seconds,
        }
    }
}
