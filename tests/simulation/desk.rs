//! The domain of the served model: people write tickets for desks, with labels and notes. All commands are
//! generated. Here are the known items, and the registers of their values.

mod acts;
mod commands;
pub mod in_quiet;
mod reads;

use serde_json::{Value, json};

use crate::history::NOTHING;

/// The checked fields of a ticket.
pub const TICKET: &str = "id title status desk { id title } author { id name } labels { id name }";
/// The fields of a ticket and of its steps.
pub const WHOLE: &str =
    "id title status desk { id title } author { id name } labels { id name } steps { text by { id name } }";
/// The most items of a page.
pub const PAGE: usize = 100;

/// A known item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    pub id: String,
    pub author: String,
    /// The ticket of a note; empty for other items.
    pub ticket: String,
}

/// The known items of the served model.
#[derive(Debug, Default)]
pub struct KnownDesk {
    pub people: Vec<String>,
    /// The people who never delete their accounts, so that steps of tickets may name them.
    pub lasting: Vec<String>,
    /// The watches of tickets that are there, or were.
    pub watches: Vec<Known>,
    pub desks: Vec<Known>,
    /// Desks that clients have deleted, or may have.
    pub deleted_desks: usize,
    pub labels: Vec<Known>,
    pub tickets: Vec<Known>,
    pub notes: Vec<Known>,
}

/// A new value of a field.
struct Change {
    /// The field, as registers name it.
    field: &'static str,
    /// The value, as registers have it.
    value: String,
    /// The field of the input, and its value.
    input: (&'static str, Value),
}

impl Change {
    fn of(field: &'static str, value: &str) -> Self {
        let input = (field, json!(value));
        let value = if is_unique(field) { value.to_lowercase() } else { value.to_owned() };
        Self { field, value, input }
    }
}

fn is_unique(field: &str) -> bool {
    matches!(field, "code" | "email")
}

/// The register of a field of an item. Unique values are names, of which each has one holder.
pub fn register(field: &str, id: &str) -> String {
    match field {
        _ if is_unique(field) => format!("name of {id}"),
        "name" => format!("called {id}"),
        field => format!("{field} of {id}"),
    }
}

/// The registers of an item of a type.
pub fn fields_of(kind: &str) -> &'static [&'static str] {
    match kind {
        "desk" => &["title", "code"],
        "ticket" => &["title", "status", "desk", "labels", "steps"],
        "note" => &["text"],
        "person" => &["name", "email"],
        _ => &["name"],
    }
}

/// The labels of a ticket as one value.
fn joined(mut labels: Vec<&str>) -> String {
    labels.sort_unstable();
    labels.join(" ")
}

/// The steps of a ticket as one value: texts, and the ids of people.
fn steps_text<'a>(steps: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    steps.map(|(text, by)| format!("{text} by {by}")).collect::<Vec<_>>().join("; ")
}

/// The register that says whether a person watches a ticket.
pub fn watch_of(ticket: &str, person: &str) -> String {
    format!("like of {ticket} by {person}")
}

/// The values of the registers of a ticket in an answer.
pub fn values_of_ticket(ticket: &Value) -> [(&'static str, String); 5] {
    let value = |value: Option<&str>| value.unwrap_or(NOTHING).to_owned();
    let labels = ticket["labels"].as_array().map(|labels| {
        let ids = labels.iter().filter_map(|label| label["id"].as_str()).collect();
        joined(ids)
    });
    let steps = ticket["steps"].as_array().map(|steps| {
        let pairs = steps.iter().map(|step| (step["text"].as_str(), step["by"]["id"].as_str()));
        steps_text(pairs.map(|(text, by)| (text.unwrap_or_default(), by.unwrap_or_default())))
    });
    [
        ("steps", steps.unwrap_or_else(|| NOTHING.to_owned())),
        ("title", value(ticket["title"].as_str())),
        ("status", value(ticket["status"].as_str())),
        ("desk", value(ticket["desk"]["id"].as_str())),
        ("labels", labels.unwrap_or_else(|| NOTHING.to_owned())),
    ]
}
