//! Generated commands of any type, and their writes of registers.

use serde_json::{Map, Value, json};

use super::{Change, fields_of, is_unique, register};
use crate::catalogue::capitalised;
use crate::client::{Answer, Client};
use crate::history::{NOTHING, Recent, Transition, Write};

impl Client {
    /// Creates an item with these values. Returns its id.
    pub(super) async fn create_of(
        &mut self,
        kind: &str,
        changes: Vec<Change>,
        extra: Value,
    ) -> Option<String> {
        let (world, me) = (self.world.clone(), self.me()?);
        let (start, key, capital) = (world.history.now(), self.new_key(kind, &me), capitalised(kind));
        let query = format!(
            "mutation($i: Create{capital}Input!) {{ create{capital}(input: $i) {{ {kind} {{ id }} }} }}"
        );
        let mut input = input_of(&changes, extra);
        input["idempotencyKey"] = json!(key);
        let (answer, _) = self.command(&query, json!({ "i": input.clone() })).await;
        let Answer::Data { data, .. } = answer else {
            // Other users have used the key, for other items.
            if matches!(&answer, Answer::Refused { code } if code == "CONFLICT") && kind != "desk" {
                let detail = format!("client {}: {input}", self.number);
                world.history.broken("a key belongs to its user", detail);
            }
            self.note(answer);
            return None;
        };
        let id = data[format!("create{capital}")][kind]["id"].as_str()?.to_owned();
        if let Some(parent) = input["ticketId"].as_str()
            && world.history.is_gone_before(&register("title", parent), start)
        {
            let detail = format!("client {}: {kind} {id} of {parent}", self.number);
            world.history.broken("nothing is created below a deleted item", detail);
        }
        // Of items that are never deleted: with its key a deleted one would be created again.
        if let Some(Change { field, .. }) = changes.first().filter(|_| kind == "label") {
            self.use_key_again(&query, input, (field, json!(world.next("other")))).await;
        }
        let end = Some(world.history.now());
        world.history.created_by_key(&format!("{key} of {me}"), &id);
        for Change { field, value, .. } in changes {
            if !is_unique(field) {
                world.history.set_first(&register(field, &id), NOTHING);
            }
            world.history.written(&register(field, &id), Write { value, client: self.number, start, end });
        }
        Some(id)
    }

    /// Changes fields of an item.
    pub(super) async fn update_of(&mut self, (kind, id): (&str, &str), command: &str, changes: Vec<Change>) {
        if changes.is_empty() {
            return;
        }
        let world = self.world.clone();
        let begin =
            |change: &Change| world.history.begin(&register(change.field, id), &change.value, self.number);
        let writes: Vec<_> = changes.iter().map(begin).collect();
        let start = world.history.now();
        let capital = capitalised(command);
        let query = format!("mutation($i: {capital}Input!) {{ {command}(input: $i) {{ {kind} {{ id }} }} }}");
        let input = input_of(&changes, json!({ format!("{kind}Id"): id }));
        let answer = self.command(&query, json!({ "i": input })).await;
        let is_done = matches!(answer.0, Answer::Data { .. });
        let refused = self.end_all(&writes, answer);
        // A note goes with its ticket, and a ticket is moved to no deleted desk.
        let refers = |change: &Change| change.field == "desk";
        let is_missed = kind != "note" && !changes.iter().any(refers);
        if refused.as_deref() == Some("NOT_FOUND") && is_missed {
            self.saw("command", &register(fields_of(kind)[0], id), NOTHING, Recent::All, start);
        }
        if command == "closeTicket" && is_done {
            let (register, value) = (register("status", id), changes[0].value.clone());
            world.history.went_over(Transition { register, value, start, end: world.history.now() });
        }
        if refused.as_deref() == Some("CONFLICT") && command == "closeTicket" {
            self.saw("command", &register("status", id), "CLOSED", Recent::All, start);
        }
    }

    pub(super) async fn delete_of(&mut self, kind: &str, id: &str) {
        let capital = capitalised(kind);
        self.delete_by(&format!("delete{capital}"), (kind, id)).await;
    }

    /// Deletes an item by a mutation. `dropTicket` is for closed tickets.
    pub(super) async fn delete_by(&mut self, command: &str, (kind, id): (&str, &str)) {
        let world = self.world.clone();
        let begin = |field: &&str| world.history.begin(&register(field, id), NOTHING, self.number);
        let writes: Vec<_> = fields_of(kind).iter().map(begin).collect();
        // The notes of a ticket go with it.
        let removal = (kind == "ticket").then(|| world.history.removal_began(id));
        let (start, capital, input) = (world.history.now(), capitalised(kind), capitalised(command));
        let query =
            format!("mutation($i: {input}Input!) {{ {command}(input: $i) {{ deleted{capital}Id }} }}");
        let answer = self.command(&query, json!({ "i": { format!("{kind}Id"): id } })).await;
        let refused = self.end_all(&writes, answer);
        if refused.as_deref() == Some("CONFLICT") && command == "dropTicket" {
            self.saw("command", &register("status", id), "OPEN", Recent::All, start);
        }
        if world.history.is_refused(&writes[0])
            && let Some(removal) = removal
        {
            world.history.removal_refused(removal);
        }
    }
}

/// The input of changes, with further fields.
fn input_of(changes: &[Change], extra: Value) -> Value {
    let mut input: Map<String, Value> = extra.as_object().cloned().unwrap_or_default();
    for Change { input: (name, value), .. } in changes {
        input.insert((*name).to_owned(), value.clone());
    }
    Value::Object(input)
}
