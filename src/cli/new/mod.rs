//! `onehop new`: writes a small commented model with example requests.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;

use super::Exit;

/// The model, with `NAME` for its name.
pub const MODEL: &str = include_str!("model.graphql");
/// The example requests, with `NAME` for the name of the model.
pub const REQUESTS: &str = include_str!("requests.graphql");

/// The characters of the longest name.
const NAME_CHARS_MAX: usize = 60;

/// Arguments of `onehop new`.
#[derive(Debug, Args)]
pub struct New {
    /// Name of the model: letters, digits, - and _. It writes NAME.graphql and NAME.requests.graphql, and
    /// never over an existing file
    #[arg(value_parser = parse_name)]
    name: String,

    /// Directory for the files
    #[arg(long, value_name = "DIRECTORY", env = "ONEHOP_DIRECTORY", default_value = ".")]
    directory: PathBuf,
}

impl New {
    /// # Errors
    /// A file exists already, or cannot be written.
    pub fn run(self) -> anyhow::Result<Exit> {
        let Self { name, directory } = self;
        let (model, requests) = (format!("{name}.graphql"), format!("{name}.requests.graphql"));
        write(&directory.join(&model), &MODEL.replace("NAME", &name))?;
        write(&directory.join(&requests), &REQUESTS.replace("NAME", &name))?;
        println!("wrote {model} and {requests}\nnext: onehop serve --model {model}");
        Ok(Exit::Success)
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let opened = OpenOptions::new().write(true).create_new(true).open(path);
    let written = opened.and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("cannot write {}", path.display()))
}

fn parse_name(text: &str) -> Result<String, String> {
    let is_known = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    let is_name = text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(is_known)
        && text.len() <= NAME_CHARS_MAX;
    match is_name {
        true => Ok(text.to_owned()),
        false => {
            Err(format!("a name begins with a letter and has 1 to {NAME_CHARS_MAX} letters, digits, - and _"))
        }
    }
}
