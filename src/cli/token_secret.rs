//! `onehop token-secret`: rotates the keys that sign access tokens, without signing users out. A running
//! server reads the key directory again by itself. Keys are named by their ids and never shown.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::Exit;
use crate::accounts::key_directory::{KeyDirectory, KeyRotation};
use crate::accounts::signing_secrets::{SigningKey, SigningKeys};
use crate::config::{Environment, TOKEN_SECRET_VARIABLE};
use onehop_runtime::clock::{Clock as _, SystemClock, format_timestamp};

/// Arguments of `onehop token-secret`.
#[derive(Debug, Args)]
pub struct TokenSecret {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the keys by their ids and times, the signing one first
    List(KeyLocation),
    /// Create a key that signs from now on, and remove keys that no valid token needs
    ///
    /// Older keys verify the tokens that they have signed. Once a newer key has signed for 25 hours, all of
    /// these have expired, and the next rotation removes the older key. Delete the file of a key that has
    /// leaked: its tokens are refused from then on.
    Rotate {
        #[command(flatten)]
        location: KeyLocation,

        /// Minutes until the new key signs. Until then it only verifies, so that there is time to copy it to
        /// other machines
        #[arg(
            long,
            value_name = "MINUTES",
            env = "ONEHOP_SIGNS_IN_MINUTES",
            default_value_t = 0,
            value_parser = clap::value_parser!(u32).range(0..=1440)
        )]
        signs_in_minutes: u32,
    },
}

/// Where the keys are.
#[derive(Debug, Args)]
struct KeyLocation {
    /// Data directory whose keys are meant
    #[arg(long, value_name = "DIRECTORY", env = "ONEHOP_DATA", default_value = "./data")]
    data: PathBuf,

    /// Directory with the key files, in place of that in the data directory. A rotation makes a directory of
    /// a file with one secret [default: none]
    #[arg(long, value_name = "PATH", env = "ONEHOP_TOKEN_SECRET_FILE")]
    token_secret_file: Option<PathBuf>,
}

impl TokenSecret {
    pub fn run(self) -> anyhow::Result<Exit> {
        let now_ms = SystemClock.now_ms();
        match self.action {
            Action::List(location) => print!("{}", listed(&location.directory()?.read()?, now_ms)),
            Action::Rotate { location, signs_in_minutes } => {
                let signs_in = Duration::from_secs(u64::from(signs_in_minutes) * 60);
                print!("{}", described(&location.directory()?.rotate(signs_in, now_ms)?, now_ms));
            }
        }
        Ok(Exit::Success)
    }
}

impl KeyLocation {
    fn directory(&self) -> anyhow::Result<KeyDirectory> {
        if Environment::of_process().get(TOKEN_SECRET_VARIABLE).is_some() {
            anyhow::bail!(
                "the secret is in {TOKEN_SECRET_VARIABLE}, which --token-secret-file has to replace before it can change"
            );
        }
        Ok(match &self.token_secret_file {
            Some(path) => KeyDirectory::given(path),
            None => KeyDirectory::in_data_directory(&self.data),
        })
    }
}

fn listed(keys: &SigningKeys, now_ms: i64) -> String {
    let signing = keys.signing(now_ms);
    let others = keys.iter().filter(|key| *key != signing);
    let line = |key: &SigningKey, role: &str| {
        format!("{}  {role} {}\n", key.secret.id(), format_timestamp(key.signs_from_ms))
    };
    let role = |key: &SigningKey| {
        if key.signs_from_ms > now_ms { "verifies, and will sign from" } else { "verifies, from" }
    };
    let mut lines = line(signing, "signs and verifies, from");
    lines.extend(others.map(|key| line(key, role(key))));
    lines
}

fn described(rotation: &KeyRotation, now_ms: i64) -> String {
    let KeyRotation { new, signs_from_ms, former, removed } = rotation;
    let mut lines = if *signs_from_ms > now_ms {
        format!("{new} verifies from now on, and signs from {} on\n", format_timestamp(*signs_from_ms))
    } else {
        format!("{new} signs from now on\n")
    };
    if let Some((id, path)) = former {
        lines +=
            &format!("tokens of {id} are good until they expire, or until {} is deleted\n", path.display());
    }
    for id in removed {
        lines += &format!("{id} was removed: its tokens have expired\n");
    }
    lines
}
