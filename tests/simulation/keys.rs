//! Idempotency keys of clients: a key is good for one input.

use serde_json::{Value, json};

use crate::client::{Answer, Client};

/// The percentage of commands with a key that are sent once more, with other input.
const OTHER_INPUT_PERCENT: u64 = 10;

/// The percentage of new keys that another user has not used either.
const OWN_KEY_PERCENT: u64 = 80;

impl Client {
    /// An idempotency key that this user has not used for items of a kind. Another user may have.
    pub fn new_key(&self, kind: &str, me: &str) -> String {
        let (mut keys, begin) = (self.world.keys.lock(), format!("{kind}-key "));
        let is_used = |key: &str| keys.iter().any(|(user, used)| user == me && used == key);
        let of_others: Vec<_> = keys
            .iter()
            .filter(|(user, key)| user != me && key.starts_with(&begin) && !is_used(key))
            .map(|(_, key)| key.clone())
            .collect();
        let key = match of_others.is_empty() || self.world.dice.percent(OWN_KEY_PERCENT) {
            true => self.world.next(begin.trim_end()),
            false => self.world.dice.pick(&of_others).clone(),
        };
        keys.push((me.to_owned(), key.clone()));
        key
    }

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
