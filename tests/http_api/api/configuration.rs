//! The configuration reference: generates `docs/configuration.md` from the definitions of the command line. A
//! file that differs fails the test; `ONEHOP_UPDATE_DOCS=1` writes it anew.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use clap::{Arg, ArgAction, Command, CommandFactory};
use onehop::cli::Cli;

use crate::api::documents::anchor;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/configuration.md");
const UPDATE_VARIABLE: &str = "ONEHOP_UPDATE_DOCS";
const LINE_CHARS: usize = 120;

const INTRODUCTION: &str = "\
# Configuration

<!-- Generated from the command line's definitions. To write it anew:
ONEHOP_UPDATE_DOCS=1 cargo test --test http_api configuration:: -->

Every setting is a flag and an environment variable; the flag wins. A flag without a value is on when its variable is `1`,
`true`, `yes` or `on`. A setting that is wrong, or that contradicts another one, is refused by its name before anything is
opened, with exit status 2. `onehop COMMAND --help` prints the same texts.

A request above a limit gets an error with the code `LIMIT_EXCEEDED`, and with the limit's name and value in
`extensions.limit` and `extensions.max`, unless the setting names another answer. A value is a setting only where it depends
on the machine, the network, the clients or the operator's rules; [api.md](api.md#limits) and [SECURITY.md](../SECURITY.md)
name the fixed limits.

**Secrets have no flags**, since every process of a machine can read the others' command lines. They come from files or
from these environment variables, and never from both. A secret file that other users can read is refused: `chmod 600 FILE`.

| environment variable | secret |
|---|---|
| `ONEHOP_TOKEN_SECRET` | signing secret of access tokens, in place of `--token-secret-file` |
| `ONEHOP_COSMOS_KEY` | key of the Azure Cosmos DB account, in place of `--cosmos-key-file` |
| `OTEL_EXPORTER_OTLP_HEADERS` | headers for the OpenTelemetry collector; `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` hold, too |
";

#[test]
fn the_configuration_reference_is_up_to_date() {
    let generated = reference();
    if std::env::var_os(UPDATE_VARIABLE).is_some() {
        std::fs::write(FILE, &generated).unwrap();
    }
    let committed = std::fs::read_to_string(FILE).unwrap_or_default();
    let differs =
        committed.lines().zip(generated.lines()).position(|(committed, generated)| committed != generated);
    assert!(
        committed == generated,
        "docs/configuration.md is stale from line {}: set {UPDATE_VARIABLE}=1 and run this test to write it anew",
        differs.unwrap_or(committed.lines().count().min(generated.lines().count())) + 1
    );
}

/// One setting as it is printed (flag, environment variable, default, meaning), with the commands that take
/// it.
struct Setting {
    cells: [String; 4],
    commands: BTreeSet<String>,
}

/// The settings below one heading, in the order of their definitions.
#[derive(Default)]
struct Group {
    settings: Vec<Setting>,
    commands: BTreeSet<String>,
}

fn reference() -> String {
    let mut program = Cli::command();
    program.build();
    let mut text = INTRODUCTION.to_owned();
    let mut groups: Vec<(String, Group)> = Vec::new();
    text.push_str("\n## Commands\n");
    let mut commands = Vec::new();
    collect_leaves(&program, &mut Vec::new(), &mut commands);
    for (name, command) in &commands {
        write_command(&mut text, name, command);
        for argument in settings_of(command) {
            if let Some(heading) = argument.get_help_heading() {
                add(&mut groups, heading, name, argument);
            }
        }
    }
    text.push_str("\n## Settings\n");
    for (heading, group) in &groups {
        write_group(&mut text, heading, group, commands.len());
    }
    text
}

/// The commands that do something, by their full names.
fn collect_leaves<'a>(command: &'a Command, path: &mut Vec<String>, leaves: &mut Vec<(String, &'a Command)>) {
    for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
        path.push(command.get_name().to_owned());
        if command.has_subcommands() {
            collect_leaves(command, path, leaves);
        } else {
            leaves.push((path.join(" "), command));
        }
        path.pop();
    }
}

fn settings_of(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|argument| !matches!(argument.get_id().as_str(), "help" | "version"))
}

fn write_command(text: &mut String, name: &str, command: &Command) {
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let (summary, details) = about.split_once("\n\n").unwrap_or((&about, ""));
    let positionals: String = command.get_positionals().fold(String::new(), |mut usage, argument| {
        let value = argument.get_id().as_str().to_uppercase();
        let _ =
            if argument.is_required_set() { write!(usage, " {value}") } else { write!(usage, " [{value}]") };
        usage
    });
    let _ = writeln!(text, "\n### `onehop {name}{positionals}`\n\n{}", wrapped(&format!("{summary}.")));
    let after = command.get_after_long_help().map(ToString::to_string);
    for paragraph in [Some(details.to_owned()), after].into_iter().flatten().filter(|text| !text.is_empty()) {
        let paragraph = if paragraph.ends_with('.') { paragraph } else { format!("{paragraph}.") };
        let _ = writeln!(text, "\n{}", wrapped(&paragraph));
    }
    let own: Vec<&Arg> =
        settings_of(command).filter(|argument| argument.get_help_heading().is_none()).collect();
    if !own.is_empty() {
        let _ = writeln!(text, "\n{HEADER}");
    }
    for argument in own {
        let _ = writeln!(text, "{}", row(cells(argument), None));
    }
    let mut headings: Vec<&str> = settings_of(command).filter_map(Arg::get_help_heading).collect();
    headings.dedup();
    let links: Vec<String> =
        headings.iter().map(|heading| format!("[{heading}](#{})", anchor(heading))).collect();
    let _ = writeln!(text, "\n{}", wrapped(&format!("Settings: {}.", links.join(" · "))));
}

const HEADER: &str = "| flag | environment variable | default | meaning |\n|---|---|---|---|";

fn add(groups: &mut Vec<(String, Group)>, heading: &str, command: &str, argument: &Arg) {
    let place = groups.iter().position(|(known, _)| known == heading).unwrap_or_else(|| {
        groups.push((heading.to_owned(), Group::default()));
        groups.len() - 1
    });
    let group = &mut groups[place].1;
    group.commands.insert(command.to_owned());
    let cells = cells(argument);
    match group.settings.iter_mut().find(|setting| setting.cells == cells) {
        Some(setting) => _ = setting.commands.insert(command.to_owned()),
        None => group.settings.push(Setting { cells, commands: BTreeSet::from([command.to_owned()]) }),
    }
}

fn write_group(text: &mut String, heading: &str, group: &Group, all_commands: usize) {
    let _ = writeln!(text, "\n### {heading}\n");
    if group.commands.len() < all_commands {
        let _ = writeln!(text, "{}\n", wrapped(&format!("Of {}.", named(&group.commands))));
    } else {
        text.push_str("Of every command.\n\n");
    }
    let _ = writeln!(text, "{HEADER}");
    for Setting { cells, commands } in &group.settings {
        let only = (*commands != group.commands).then(|| named(commands));
        let _ = writeln!(text, "{}", row(cells.clone(), only.as_deref()));
    }
}

fn named(commands: &BTreeSet<String>) -> String {
    commands.iter().map(|command| format!("`{command}`")).collect::<Vec<_>>().join(", ")
}

/// A row of a table, with the commands in front of the meaning where not all of the group take it.
fn row(cells: [String; 4], only: Option<&str>) -> String {
    let [flag, variable, default, meaning] = cells;
    let meaning = only.map_or_else(|| meaning.clone(), |commands| format!("{commands}: {meaning}"));
    format!("| {} |", [flag, variable, default, meaning].map(|cell| cell.replace('|', "\\|")).join(" | "))
}

/// Flag, environment variable, default and meaning.
fn cells(argument: &Arg) -> [String; 4] {
    let help = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    let (meaning, default_in_words) = match help.rsplit_once(" [default: ") {
        Some((meaning, default)) => (meaning.to_owned(), Some(default.trim_end_matches(']').to_owned())),
        None => (help, None),
    };
    let takes_value = !matches!(argument.get_action(), ArgAction::SetTrue | ArgAction::SetFalse);
    let defaults: Vec<_> =
        argument.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    let default = match default_in_words {
        Some(words) => words,
        None if !takes_value => "off".to_owned(),
        None if !defaults.is_empty() => format!("`{}`", defaults.join(",")),
        None if argument.is_required_set() => "needed".to_owned(),
        None => "none".to_owned(),
    };
    let values: Vec<String> = argument
        .get_possible_values()
        .iter()
        .filter_map(|value| Some(format!("`{}`: {}", value.get_name(), value.get_help()?)))
        .collect();
    let values = if values.is_empty() { String::new() } else { format!(" {}.", values.join("; ")) };
    let flag = match (argument.get_long(), argument.get_value_names()) {
        (Some(long), Some(names)) if takes_value && values.is_empty() => format!("`--{long} {}`", names[0]),
        (Some(long), _) => format!("`--{long}`"),
        (None, _) => format!("`{}`", argument.get_id().as_str().to_uppercase()),
    };
    let variable = argument.get_env().map(|name| format!("`{}`", name.to_string_lossy())).unwrap_or_default();
    [flag, variable, default, format!("{meaning}.{values}")]
}

fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().unwrap();
        if !line.is_empty() && line.chars().count() + word.chars().count() >= LINE_CHARS {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.join("\n")
}
