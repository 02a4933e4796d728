//! How people sign in.

use std::path::{Path, PathBuf};

use clap::Args;

use super::SettingError;
use super::environment::Environment;
use crate::accounts::secret::{SECRET_BYTES_MAX, SigningSecret};

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

impl AccountSettings {
    /// The secret that was given, if one was. A line break at its end is not part of it, so that a file and a variable
    /// with the same text are the same secret. The file's mode is its owner's business: orchestrators mount
    /// secrets readable by the container's group.
    ///
    /// # Errors
    /// Two secrets, a file that cannot be read, or a secret of a wrong length; the text names the setting.
    pub fn token_secret(&self, environment: &Environment) -> Result<Option<SigningSecret>, SettingError> {
        let (mut bytes, source) = match (&self.token_secret_file, environment.get(TOKEN_SECRET_VARIABLE)) {
            (Some(_), Some(_)) => {
                return Err(SettingError::new(format!(
                    "--token-secret-file and {TOKEN_SECRET_VARIABLE} both give a secret: leave one out"
                )));
            }
            (Some(file), None) => (read_secret(file)?, format!("--token-secret-file {}", file.display())),
            (None, Some(text)) => (text.into_bytes(), TOKEN_SECRET_VARIABLE.to_owned()),
            (None, None) => return Ok(None),
        };
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        let secret = SigningSecret::from_bytes(bytes).map_err(|error| {
            SettingError::new(format!("{source}: {error}; `openssl rand -base64 48` makes a good one"))
        })?;
        Ok(Some(secret))
    }
}

fn read_secret(file: &Path) -> Result<Vec<u8>, SettingError> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    // A line break may follow, and one byte more shows that the file is too long.
    let limit = SECRET_BYTES_MAX as u64 + 3;
    std::fs::File::open(file).and_then(|file| file.take(limit).read_to_end(&mut bytes)).map_err(|error| {
        SettingError::new(format!("--token-secret-file {} cannot be read: {}", file.display(), error.kind()))
    })?;
    Ok(bytes)
}
