//! `onehop token-secret`: the secrets that sign access tokens, changed without signing users out. A running server reads
//! them again by itself. Secrets are named by their ids and never shown.

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand};

use super::Exit;
use crate::accounts::secret_file::SecretFile;
use crate::accounts::signing_secrets::{Secrets, SigningSecret};
use crate::config::{Environment, TOKEN_SECRET_VARIABLE};

/// Arguments of `onehop token-secret`.
#[derive(Debug, Args)]
pub struct TokenSecret {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the ids of the secrets, and the one that signs
    List(Place),
    /// Create a secret that signs from now on
    Rotate(Place),
    /// Create a secret that only verifies, to distribute it to other machines before it signs
    Add(Place),
    /// Sign with this secret from now on
    Use(Named),
    /// Drop a secret: its tokens are refused from now on
    Drop(Named),
}

/// Where the secrets are.
#[derive(Debug, Args)]
struct Place {
    /// Data directory whose secrets are meant
    #[arg(long, value_name = "DIRECTORY", env = "ONEHOP_DATA", default_value = "./data")]
    data: PathBuf,

    /// File with the secrets, in place of those of the data directory [default: none]
    #[arg(long, value_name = "FILE", env = "ONEHOP_TOKEN_SECRET_FILE")]
    token_secret_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct Named {
    #[command(flatten)]
    place: Place,

    /// Id of the secret, as `list` prints it
    id: String,
}

impl TokenSecret {
    pub fn run(self) -> anyhow::Result<Exit> {
        match self.action {
            Action::List(place) => print!("{}", listed(&place.file()?.read()?)),
            Action::Rotate(place) => place.rotate()?,
            Action::Add(place) => place.add()?,
            Action::Use(Named { place, id }) => {
                place.file()?.change(|secrets| secrets.signing_with(&id))?;
                println!("{id} signs from now on");
            }
            Action::Drop(Named { place, id }) => {
                place.file()?.change(|secrets| secrets.without(&id))?;
                println!("{id} is dropped: its tokens are refused from now on");
            }
        }
        Ok(Exit::Success)
    }
}

impl Place {
    fn file(&self) -> anyhow::Result<SecretFile> {
        if Environment::of_process().get(TOKEN_SECRET_VARIABLE).is_some() {
            anyhow::bail!(
                "the secret is in {TOKEN_SECRET_VARIABLE}, which a file has to replace before it can change"
            );
        }
        Ok(match &self.token_secret_file {
            Some(file) => SecretFile::given(file),
            None => SecretFile::in_directory(&self.data),
        })
    }

    fn rotate(&self) -> anyhow::Result<()> {
        let (mut old, new) = (None, random()?);
        let id = new.id();
        self.file()?.change(|secrets| {
            old = Some(secrets.signing().id());
            secrets.with(new)?.signing_with(id.as_str())
        })?;
        println!("{id} signs from now on");
        if let Some(old) = old {
            println!("tokens of {old} are good until they expire, or until `onehop token-secret drop {old}`");
        }
        Ok(())
    }

    fn add(&self) -> anyhow::Result<()> {
        let new = random()?;
        let id = new.id();
        self.file()?.change(|secrets| secrets.with(new))?;
        println!("{id} verifies from now on; `onehop token-secret use {id}` has it sign");
        Ok(())
    }
}

fn random() -> anyhow::Result<SigningSecret> {
    SigningSecret::random().context("the system gave no random bytes")
}

fn listed(secrets: &Secrets) -> String {
    let mut lines = String::new();
    for (index, secret) in secrets.iter().enumerate() {
        lines += secret.id().as_str();
        lines += if index == 0 { "  signs and verifies\n" } else { "  verifies\n" };
    }
    lines
}
