//! `onehop dead-letters`: lists, shows and replays dead letters, the changes that could not be projected.

use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{Args, Subcommand};

use super::Exit;
use super::progress::perform;
use super::rebuild::Replayed;
use crate::config::StoreSettings;
use crate::operations::{DEAD_LETTER, DEAD_LETTERS, OperationRequest, REPLAY, REPLAY_DEAD_LETTER};
use onehop_change_feed::{DeadLetterItem, DeadLetterList, DeadLetterSummary};

/// Arguments of `onehop dead-letters`.
#[derive(Debug, Args)]
pub struct DeadLetters {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List the dead letters with their age and error
    List(List),
    /// Show the parked changes of a dead letter
    Show(Show),
    /// Replay parked changes in their order; exit status 1 when some are still parked
    Replay(ReplayLetters),
}

#[derive(Debug, Args)]
struct List {
    /// Print the list as JSON
    #[arg(long, env = "ONEHOP_JSON", value_parser = BoolishValueParser::new())]
    json: bool,

    /// Model file: the domain of the data, in place of the built-in domains. A server on the data directory
    /// needs no file
    #[arg(long, value_name = "FILE", env = "ONEHOP_MODEL")]
    model: Option<PathBuf>,

    #[command(flatten)]
    store: StoreSettings,
}

#[derive(Debug, Args)]
struct Show {
    /// Id of the dead letter, as `list` prints it
    id: String,

    /// Print the dead letter as JSON
    #[arg(long, env = "ONEHOP_JSON", value_parser = BoolishValueParser::new())]
    json: bool,

    /// Model file: the domain of the data, in place of the built-in domains. A server on the data directory
    /// needs no file
    #[arg(long, value_name = "FILE", env = "ONEHOP_MODEL")]
    model: Option<PathBuf>,

    #[command(flatten)]
    store: StoreSettings,
}

#[derive(Debug, Args)]
struct ReplayLetters {
    /// Id of the dead letter to replay [default: all]
    #[arg(conflicts_with = "read_model")]
    id: Option<String>,

    /// Read model whose dead letters are replayed [default: all]
    #[arg(long, value_name = "NAME", env = "ONEHOP_READ_MODEL")]
    read_model: Option<String>,

    /// Model file: the domain of the data, in place of the built-in domains. A server on the data directory
    /// needs no file
    #[arg(long, value_name = "FILE", env = "ONEHOP_MODEL")]
    model: Option<PathBuf>,

    #[command(flatten)]
    store: StoreSettings,
}

impl DeadLetters {
    pub async fn run(self) -> anyhow::Result<Exit> {
        match self.action {
            Action::List(List { store, model, json }) => {
                let operation = OperationRequest::new(DEAD_LETTERS);
                let list: DeadLetterList = perform(&store, model.as_deref(), operation).await?;
                if json { print_json(&list)? } else { print_list(&list) }
            }
            Action::Show(Show { store, model, id, json }) => {
                let operation = OperationRequest::new(DEAD_LETTER).with("id", id);
                let letter: DeadLetterItem = perform(&store, model.as_deref(), operation).await?;
                if json { print_json(&letter)? } else { print_letter(letter) }
            }
            Action::Replay(ReplayLetters { store, model, id, read_model }) => {
                let operation = match id {
                    Some(id) => OperationRequest::new(REPLAY_DEAD_LETTER).with("id", id),
                    None => OperationRequest::new(REPLAY).with("readModel", read_model),
                };
                return Ok(perform::<Replayed>(&store, model.as_deref(), operation).await?.print());
            }
        }
        Ok(Exit::Success)
    }
}

fn print_json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    println!("{}", serde_json::to_string_pretty(value)?);
    Ok(())
}

fn print_list(list: &DeadLetterList) {
    for letter in &list.dead_letters {
        print_summary(letter);
    }
    match list.dead_letters.len() as u64 + list.unlisted {
        0 => println!("no dead letters"),
        1 => println!("1 dead letter"),
        number => println!("{number} dead letters"),
    }
    if list.unlisted > 0 {
        println!("{} of them are not listed", list.unlisted);
    }
}

fn print_summary(letter: &DeadLetterSummary) {
    let DeadLetterSummary { id, projection, container, partition_key, items, attempts, error, since, .. } =
        letter;
    println!("{id}");
    println!("  {projection}: {container}, logical partition {:?}", partition_key.as_str());
    println!("  items: {items}; attempts: {attempts}; since {since}");
    if let Some(error) = error {
        println!("  {}", one_line(error));
    }
}

fn print_letter(letter: DeadLetterItem) {
    let items = letter.items.clone();
    print_summary(&letter.into());
    for item in items {
        match item.error {
            Some(error) => println!("  {}: attempts: {}; {}", item.id, item.attempts, one_line(&error)),
            None => println!("  {}: waits", item.id),
        }
    }
}

/// A text without control characters, which a terminal would interpret.
fn one_line(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}
