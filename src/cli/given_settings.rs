//! Given settings: the settings of `onehop serve` that differ from the defaults, for its first log line.
//! Secrets are in files and in variables without a flag, so no setting holds one; credentials within a URL
//! are left out.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

/// The replacement of credentials within a URL.
const HIDDEN: &str = "***";

/// The settings that differ from the defaults, each as `--flag value`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GivenSettings(Vec<String>);

impl GivenSettings {
    /// The settings that a subcommand was given by flags and variables.
    #[must_use]
    pub fn of(command: &Command, matches: &ArgMatches) -> Self {
        let given = command.get_arguments().filter_map(|argument| given(argument, matches));
        Self(given.collect())
    }

    /// All of them on one line.
    #[must_use]
    pub fn line(&self) -> String {
        if self.0.is_empty() { "all have their defaults".to_owned() } else { self.0.join(" ") }
    }
}

fn given(argument: &Arg, matches: &ArgMatches) -> Option<String> {
    let (id, flag) = (argument.get_id().as_str(), argument.get_long()?);
    match matches.try_contains_id(id).ok()?.then(|| matches.value_source(id))?? {
        ValueSource::CommandLine | ValueSource::EnvVariable => {}
        _ => return None,
    }
    let values: Vec<String> =
        matches.try_get_raw(id).ok()??.map(|value| shown(&value.to_string_lossy())).collect();
    let defaults = argument.get_default_values().iter().map(|default| default.to_string_lossy().into_owned());
    if values.is_empty() || values.iter().cloned().eq(defaults) {
        return None;
    }
    Some(format!("--{flag}={}", values.join(",")))
}

/// A value without the credentials of a URL.
fn shown(value: &str) -> String {
    let Some((scheme, rest)) = value.split_once("://") else { return value.to_owned() };
    let authority = rest.split('/').next().unwrap_or_default();
    match authority.rfind('@') {
        Some(at) => format!("{scheme}://{HIDDEN}{}", &rest[at..]),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    fn given(arguments: &[&str]) -> String {
        let mut command = Cli::command();
        let matches = command.try_get_matches_from_mut([&["onehop", "serve"], arguments].concat()).unwrap();
        let (name, matches) = matches.subcommand().unwrap();
        GivenSettings::of(command.find_subcommand(name).unwrap(), matches).line()
    }

    #[test]
    fn settings_with_their_default_are_left_out() {
        assert_eq!(given(&[]), "all have their defaults");
        assert_eq!(given(&["--durability", "sync", "--stop-seconds", "20"]), "all have their defaults");
        let several = ["--production", "--allow-host", "one.example,two.example", "--drain-seconds", "7"];
        let line = given(&several);
        assert!(line.contains("--production") && line.contains("--drain-seconds=7"), "{line}");
        assert!(line.contains("--allow-host=one.example,two.example"), "{line}");
    }

    #[test]
    fn credentials_of_a_url_are_hidden() {
        let line = given(&["--otlp-endpoint", "https://user:pa@ss@collector.example:4318/a@b"]);
        assert_eq!(line, "--otlp-endpoint=https://***@collector.example:4318/a@b");
    }
}
