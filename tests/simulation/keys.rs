//! Idempotency keys of clients: a key is good for one input.

use serde_json::{Value, json};

use crate::client::{Answer, Client};

/// The percentage of commands with a key that are sent once more, with other input.
const OTHER_INPUT_PERCENT: u64 = 10;

impl Client {
    /// Sends a command that was carried out once more, now and then: with its key, and another value of a
    /// field.
    pub async fn use_key_again(&mut self, query: &str, mut input: Value, (field, value): (&str, Value)) {
        if !self.world.dice.percent(OTHER_INPUT_PERCENT) {
            return;
        }
        input[field] = value;
        match self.ask(query, json!({ "i": input })).await {
            Answer::Data { data, .. } => {
                let what = format!("client {}: {input}, {data}", self.number);
                self.world.history.broken("a key is good for one input", what);
            }
            Answer::Refused { code } => self.drop_refused_session(&code),
            Answer::Unknown => {}
        }
    }
}
