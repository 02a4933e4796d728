//! The served model at the end of a run: each item, and each list beside the items.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Known, PAGE, TICKET, WHOLE, fields_of, register, values_of_ticket, watch_of};
use crate::finale::{ask, saw};
use crate::history::NOTHING;
use crate::world::World;

/// The invariant that a list breaks.
const LISTS: &str = "a list has each of its items as it is";
/// The invariant that a copy breaks.
const COPIES: &str = "copies follow their source";
/// The notes that one request asks for.
const NODES_MAX: usize = 50;
/// The tickets of the list with the most notes.
const BUSIEST: usize = 3;

/// Reads all known items, and compares lists, copies and counts with them.
pub async fn read_desk(world: &Arc<World>, number: u32) {
    let tickets = read_tickets(world, number).await;
    let (people, desks, labels) = {
        let desk = world.desk.lock();
        let ids = |known: &[Known]| known.iter().map(|known| known.id.clone()).collect::<Vec<_>>();
        (desk.people.clone(), ids(&desk.desks), ids(&desk.labels))
    };
    for id in &people {
        let found = read_item(world, number, ("person", id)).await;
        let is_of = |ticket: &Value| ticket["author"]["id"] == id.as_str();
        agree(world, (&found["tickets"], id), &tickets, &is_of);
        copies_agree(world, &tickets, ("author", "name"), &found);
        for step in tickets.values().flat_map(|ticket| ticket["steps"].as_array().into_iter().flatten()) {
            if step["by"]["id"] == found["id"] && step["by"]["name"] != found["name"] {
                world.history.broken(COPIES, format!("a step by {step} and not {}", found["name"]));
            }
        }
    }
    for id in &desks {
        let found = read_item(world, number, ("desk", id)).await;
        if found.is_null() {
            continue;
        }
        let is_of = |ticket: &Value| ticket["desk"]["id"] == id.as_str();
        agree(world, (&found["tickets"], id), &tickets, &is_of);
        copies_agree(world, &tickets, ("desk", "title"), &found);
        let listed = found["tickets"]["nodes"].as_array().map_or(0, Vec::len);
        if found["ticketCount"] != listed && listed < PAGE {
            let detail = format!("{} has {} tickets, and {listed}", found["id"], found["ticketCount"]);
            world.history.broken("counts are exact", detail);
        }
    }
    for id in &labels {
        let found = read_item(world, number, ("label", id)).await;
        let has = |ticket: &Value| {
            ticket["labels"]
                .as_array()
                .is_some_and(|labels| labels.iter().any(|label| label["id"] == id.as_str()))
        };
        agree(world, (&found["tickets"], id), &tickets, &has);
    }
    for (list, status) in [("open", "OPEN"), ("closed", "CLOSED")] {
        let query = format!("{{ {list}(first: {PAGE}) {{ nodes {{ {TICKET} }} }} }}");
        let found = ask(world, number, query, json!({})).await;
        agree(world, (&found[list], list), &tickets, &|ticket| ticket["status"] == status);
    }
    let query = format!("{{ busiest(first: {BUSIEST}) {{ nodes {{ id noteCount }} }} }}");
    let found = ask(world, number, query, json!({})).await;
    busiest_agree(world, &found["busiest"], &tickets);
}

/// Reads a person, a desk or a label with its tickets.
async fn read_item(world: &Arc<World>, number: u32, (kind, id): (&str, &str)) -> Value {
    let start = world.history.now();
    let own = match kind {
        "desk" => "title code ticketCount",
        _ => "name",
    };
    let query = format!(
        "query($id: ID!) {{ {kind}(id: $id) {{ id {own} tickets(first: {PAGE}) {{ nodes {{ {TICKET} }} }} }} }}"
    );
    let found = ask(world, number, query, json!({ "id": id })).await[kind].take();
    for field in fields_of(kind).iter().filter(|field| own.contains(**field)) {
        let value = found[*field].as_str().map(|value| match *field {
            "code" => value.to_lowercase(),
            _ => value.to_owned(),
        });
        saw(world, &register(field, id), value.as_deref().unwrap_or(NOTHING), start);
    }
    found
}

/// Reads each ticket with its notes.
async fn read_tickets(world: &Arc<World>, number: u32) -> BTreeMap<String, Value> {
    let (known, notes) = {
        let desk = world.desk.lock();
        (desk.tickets.clone(), desk.notes.clone())
    };
    let mut tickets = BTreeMap::new();
    for ticket in known {
        let start = world.history.now();
        let query = format!(
            "query($id: ID!) {{ ticket(id: $id) {{ {WHOLE} noteCount watchCount \
             watches(first: {PAGE}) {{ nodes {{ person {{ id }} }} }} \
             notes(first: {PAGE}) {{ nodes {{ id text author {{ id name }} }} }} }} }}"
        );
        let found = ask(world, number, query, json!({ "id": ticket.id })).await["ticket"].take();
        for (field, value) in values_of_ticket(&found) {
            saw(world, &register(field, &ticket.id), &value, start);
        }
        if found.is_null() {
            world.history.removal_ended(&ticket.id);
            let notes = notes.iter().filter(|note| note.ticket == ticket.id);
            let ids: Vec<&str> = notes.map(|note| note.id.as_str()).take(NODES_MAX).collect();
            let query = "query($ids: [ID!]!) { nodes(ids: $ids) { id } }";
            let left = match ids.is_empty() {
                true => Value::Null,
                false => ask(world, number, query.to_owned(), json!({ "ids": ids })).await["nodes"].take(),
            };
            if left.as_array().is_some_and(|nodes| nodes.iter().any(|node| !node.is_null())) {
                let detail = format!("{left} of {}", ticket.id);
                world.history.broken("owned items go with their owner", detail);
            }
        }
        let listed = found["notes"]["nodes"].as_array().cloned().unwrap_or_default();
        if !found.is_null() && listed.len() < PAGE && found["noteCount"] != listed.len() {
            world.history.broken("counts are exact", found.to_string());
        }
        let watches = found["watches"]["nodes"].as_array().cloned().unwrap_or_default();
        if !found.is_null() && watches.len() < PAGE && found["watchCount"] != watches.len() {
            world.history.broken("counts are exact", found.to_string());
        }
        let start = world.history.now();
        let prefix = watch_of(&ticket.id, "");
        for register in world.history.registers_with(&prefix) {
            let watches = watches.iter().any(|watch| watch["person"]["id"] == register[prefix.len()..]);
            saw(world, &register, if watches { "1" } else { "0" }, start);
        }
        for note in notes.iter().filter(|note| note.ticket == ticket.id) {
            let shown = listed.iter().find(|listed| listed["id"] == note.id.as_str());
            let text = shown.and_then(|note| note["text"].as_str()).unwrap_or(NOTHING);
            saw(world, &register("text", &note.id), text, start);
        }
        if !found.is_null() {
            tickets.insert(ticket.id, found);
        }
    }
    tickets
}

/// Compares a list with the known tickets that belong to it. Tickets whose creation got no answer are
/// unknown.
fn agree(
    world: &World,
    (list, name): (&Value, &str),
    tickets: &BTreeMap<String, Value>,
    is_of: &dyn Fn(&Value) -> bool,
) {
    let Some(nodes) = list["nodes"].as_array().filter(|nodes| nodes.len() < PAGE) else { return };
    let shown = |ticket: &Value| {
        json!([
            ticket["id"],
            ticket["title"],
            ticket["status"],
            ticket["desk"],
            ticket["author"],
            ticket["labels"]
        ])
    };
    let is_known = |ticket: &&Value| ticket["id"].as_str().is_some_and(|id| tickets.contains_key(id));
    let mut found: Vec<Value> = nodes.iter().filter(is_known).map(shown).collect();
    let mut expected: Vec<Value> = tickets.values().filter(|ticket| is_of(ticket)).map(shown).collect();
    found.sort_by_key(|ticket| ticket[0].to_string());
    expected.sort_by_key(|ticket| ticket[0].to_string());
    if found != expected {
        world.history.broken(LISTS, format!("{name}: {found:?} and not {expected:?}"));
    }
}

/// Compares the copies of a source with the source.
fn copies_agree(
    world: &World,
    tickets: &BTreeMap<String, Value>,
    (reference, field): (&str, &str),
    source: &Value,
) {
    for ticket in tickets.values().filter(|ticket| ticket[reference]["id"] == source["id"]) {
        if ticket[reference][field] != source[field] {
            let detail = format!("{reference} of {}: {} and not {source}", ticket["id"], ticket[reference]);
            world.history.broken(COPIES, detail);
        }
    }
}

/// Compares the tickets with the most notes with the known tickets. An unknown ticket has no notes.
fn busiest_agree(world: &World, list: &Value, tickets: &BTreeMap<String, Value>) {
    let Some(nodes) = list["nodes"].as_array() else { return };
    let count = |ticket: &Value| ticket["noteCount"].as_u64().unwrap_or(0);
    let found: Vec<u64> = nodes.iter().map(count).filter(|count| *count > 0).collect();
    let mut expected: Vec<u64> = tickets.values().map(count).filter(|count| *count > 0).collect();
    expected.sort_unstable_by(|one, other| other.cmp(one));
    expected.truncate(BUSIEST);
    if found != expected {
        world.history.broken(LISTS, format!("the busiest: {found:?} and not {expected:?}"));
    }
}
