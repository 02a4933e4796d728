//! How people sign in.

use clap::Args;

/// Settings of access tokens.
#[derive(Debug, Clone, Args)]
pub struct AccountSettings {
    /// Hours for which an access token is valid
    #[arg(
        long,
        value_name = "HOURS",
        env = "ONEHOP_TOKEN_HOURS",
        default_value_t = 24,
        value_parser = clap::value_parser!(u32).range(1..=8760)
    )]
    pub token_hours: u32,

    /// OpenID Connect provider whose tokens are accepted, too: its issuer URL
    #[arg(long, value_name = "URL", env = "ONEHOP_JWT_ISSUER")]
    pub jwt_issuer: Option<String>,

    /// Audience that the provider's tokens must name
    #[arg(long, value_name = "AUDIENCE", env = "ONEHOP_JWT_AUDIENCE", requires = "jwt_issuer")]
    pub jwt_audience: Option<String>,
}
