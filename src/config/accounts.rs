//! How people sign in.

use std::path::PathBuf;

use clap::Args;

use super::SettingError;
use super::environment::Environment;
use crate::accounts::secret::Secrets;
use crate::accounts::secret_file::{SecretFault, SecretFile, without_line_break};

/// The environment variable that holds the secret that signs access tokens.
pub const TOKEN_SECRET_VARIABLE: &str = "ONEHOP_TOKEN_SECRET";

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

    /// File with the secret that signs access tokens; or the secret itself in the environment variable
    /// ONEHOP_TOKEN_SECRET. Without either, the data directory keeps one
    #[arg(long, value_name = "FILE", env = "ONEHOP_TOKEN_SECRET_FILE")]
    pub token_secret_file: Option<PathBuf>,

    /// OpenID Connect provider whose tokens are accepted, too: its issuer URL
    #[arg(long, value_name = "URL", env = "ONEHOP_JWT_ISSUER")]
    pub jwt_issuer: Option<String>,

    /// Audience that the provider's tokens must name
    #[arg(long, value_name = "AUDIENCE", env = "ONEHOP_JWT_AUDIENCE", requires = "jwt_issuer")]
    pub jwt_audience: Option<String>,
}

/// What signs access tokens, as it was given.
#[derive(Debug)]
pub struct GivenSecrets {
    pub secrets: Secrets,
    /// Where they come from, if that can change.
    pub file: Option<SecretFile>,
}

impl AccountSettings {
    /// The secrets that were given, if any were. A line break at the end is not part of them, so that a file and a variable
    /// with the same text are the same.
    ///
    /// # Errors
    /// Both, a file that cannot be read, or what is no secret and no list of them; the text names the setting.
    pub fn token_secrets(&self, environment: &Environment) -> Result<Option<GivenSecrets>, SettingError> {
        match (&self.token_secret_file, environment.get(TOKEN_SECRET_VARIABLE)) {
            (Some(_), Some(_)) => Err(SettingError::new(format!(
                "--token-secret-file and {TOKEN_SECRET_VARIABLE} both give a secret: leave one out"
            ))),
            (Some(path), None) => {
                let file = SecretFile::given(path);
                let secrets = file.read().map_err(|fault| match fault {
                    SecretFault::Content { .. } => unusable("--token-secret-file", &fault),
                    fault => SettingError::new(format!("--token-secret-file: {fault}")),
                })?;
                Ok(Some(GivenSecrets { secrets, file: Some(file) }))
            }
            (None, Some(text)) => {
                let secrets = Secrets::from_bytes(without_line_break(text.into_bytes()));
                let secrets = secrets.map_err(|error| unusable(TOKEN_SECRET_VARIABLE, &error))?;
                Ok(Some(GivenSecrets { secrets, file: None }))
            }
            (None, None) => Ok(None),
        }
    }
}

fn unusable(source: &str, error: &dyn std::fmt::Display) -> SettingError {
    SettingError::new(format!("{source}: {error}; `openssl rand -base64 48` makes a good one"))
}
