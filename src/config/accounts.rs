//! Sign-in settings.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::SettingError;
use super::environment::Environment;
use crate::accounts::audience::Audience;
use crate::accounts::key_directory::KeyDirectory;
use crate::accounts::secret_file::{KeyFileFault, keys_of, without_line_break};
use crate::accounts::signing_secrets::SigningKeys;
use crate::accounts::token::ACCESS_TOKEN_MINUTES_MAX;
use crate::domain::accounts::sessions::SessionSettings;

/// The environment variable that holds the secret that signs access tokens.
pub const TOKEN_SECRET_VARIABLE: &str = "ONEHOP_TOKEN_SECRET";

/// The advice for making a secret.
const ADVICE: &str = "; `openssl rand -base64 48` makes a good one";

/// Settings of access tokens.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Access tokens and sessions")]
pub struct AccountSettings {
    /// Lifetime of an access token, in minutes. Then a client has to renew it by its session
    #[arg(
        long,
        value_name = "MINUTES",
        env = "ONEHOP_TOKEN_MINUTES",
        default_value_t = 60,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(ACCESS_TOKEN_MINUTES_MAX))
    )]
    pub token_minutes: u32,

    /// Lifetime of a session and of its refresh token, in days. Then the user has to sign in again
    #[arg(
        long,
        value_name = "DAYS",
        env = "ONEHOP_SESSION_DAYS",
        default_value_t = 30,
        value_parser = clap::value_parser!(u32).range(1..=365)
    )]
    pub session_days: u32,

    /// Cache time of session checks, in seconds: for so long another process may accept access tokens of a
    /// session that has ended. With 0 each request reads its session
    #[arg(
        long,
        value_name = "SECONDS",
        env = "ONEHOP_SESSION_CHECK_SECONDS",
        default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(0..=300)
    )]
    pub session_check_seconds: u32,

    /// Audience (`aud`) of access tokens. Environments with different audiences refuse each other's tokens
    /// [default: one for each data directory, and for each database of an account]
    #[arg(long, value_name = "NAME", env = "ONEHOP_TOKEN_AUDIENCE")]
    pub token_audience: Option<String>,

    /// Signing secrets of access tokens: file with one secret, or directory with the key files that
    /// `onehop token-secret` keeps. Or the environment variable ONEHOP_TOKEN_SECRET holds the secret. With
    /// --store cosmos one of both is needed; otherwise the data directory keeps its own [default: none]
    #[arg(long, value_name = "PATH", env = "ONEHOP_TOKEN_SECRET_FILE")]
    pub token_secret_file: Option<PathBuf>,

    /// OpenID Connect provider, as its issuer URL. Its access tokens are accepted beside this server's own,
    /// and its subjects become users. With --model: for models without accounts [default: none]
    #[arg(long, value_name = "URL", env = "ONEHOP_JWT_ISSUER")]
    pub jwt_issuer: Option<String>,

    /// Audience that tokens of the OpenID Connect provider must name. --production needs it with --jwt-issuer
    #[arg(long, value_name = "AUDIENCE", env = "ONEHOP_JWT_AUDIENCE", requires = "jwt_issuer")]
    pub jwt_audience: Option<String>,
}

/// The signing keys of access tokens, as they were given.
#[derive(Debug)]
pub struct GivenKeys {
    pub keys: SigningKeys,
    /// Where they come from, if that can change.
    pub directory: Option<KeyDirectory>,
}

impl AccountSettings {
    /// The lifetime of an access token.
    #[must_use]
    pub fn token_lifetime(&self) -> Duration {
        Duration::from_secs(u64::from(self.token_minutes) * 60)
    }

    /// The settings of sessions.
    #[must_use]
    pub fn sessions(&self) -> SessionSettings {
        SessionSettings {
            lifetime: Duration::from_secs(u64::from(self.session_days) * 24 * 60 * 60),
            check_interval: Duration::from_secs(u64::from(self.session_check_seconds)),
            ..SessionSettings::default()
        }
    }

    /// The audience of access tokens, if one was given.
    ///
    /// # Errors
    /// An empty name.
    pub fn audience(&self) -> Result<Option<Audience>, SettingError> {
        match self.token_audience.as_deref().map(str::trim) {
            Some("") => Err(SettingError::new("--token-audience must not be empty")),
            name => Ok(name.map(Audience::named)),
        }
    }

    /// The signing keys that were given, if any were. A line break at the end is not part of a secret, so
    /// that a file and a variable with the same text are the same.
    ///
    /// # Errors
    /// Both, a path that cannot be read, or an invalid secret; the text names the setting.
    pub fn signing_keys(&self, environment: &Environment) -> Result<Option<GivenKeys>, SettingError> {
        match (&self.token_secret_file, environment.get(TOKEN_SECRET_VARIABLE)) {
            (Some(_), Some(_)) => Err(SettingError::new(format!(
                "--token-secret-file and {TOKEN_SECRET_VARIABLE} both give a secret: leave one out"
            ))),
            (Some(path), None) => {
                let directory = KeyDirectory::given(path);
                let keys = directory.read().map_err(|error| {
                    let advice = if matches!(error.fault, KeyFileFault::Text(_)) { ADVICE } else { "" };
                    SettingError::new(format!("--token-secret-file: {error}{advice}"))
                })?;
                Ok(Some(GivenKeys { keys, directory: Some(directory) }))
            }
            (None, Some(text)) => {
                let keys = keys_of(without_line_break(text.into_bytes()), 0);
                let unusable = |error| SettingError::new(format!("{TOKEN_SECRET_VARIABLE}: {error}{ADVICE}"));
                Ok(Some(GivenKeys { keys: keys.map_err(unusable)?, directory: None }))
            }
            (None, None) => Ok(None),
        }
    }
}
