//! Stored items: their JSON, as the model declares it. Each has the number of its version, which every writer
//! increases by one.

use serde::{Deserialize, Serialize};

/// An agent, in a logical partition of its own with the entries of its tickets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    pub id: String,
    pub agent_id: String,
    #[serde(rename = "type")]
    pub item_type: String,
    pub version: u64,
    pub name: String,
}

/// A ticket, in a logical partition of its own with its messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ticket {
    pub id: String,
    pub ticket_id: String,
    #[serde(rename = "type")]
    pub item_type: String,
    pub version: u64,
    pub title: String,
    /// `OPEN` or `CLOSED`.
    pub status: String,
    pub agent_id: String,
    /// A copy, which follows the agent's name.
    pub agent_name: String,
    /// Kept in the batch that adds a message.
    pub message_count: u64,
    pub created_at: String,
}

/// A message of a ticket, in the ticket's logical partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    pub id: String,
    pub ticket_id: String,
    #[serde(rename = "type")]
    pub item_type: String,
    pub version: u64,
    pub author_id: String,
    /// A copy, which follows the agent's name.
    pub author_name: String,
    pub text: String,
    pub created_at: String,
}

/// A ticket in a list: an entry that a projection keeps.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// The id of the ticket.
    pub id: String,
    pub title: String,
    /// In the lists of agents.
    pub status: Option<String>,
    /// On the board.
    pub agent_name: Option<String>,
}
