//! Reads of clients of the served model, whose answers go to the history.

use serde_json::{Value, json};

use super::{Known, PAGE, TICKET, WHOLE, register, values_of_ticket, watch_of};
use crate::client::{Answer, Client};
use crate::history::{NOTHING, Recent};

impl Client {
    pub(super) async fn read_ticket(&mut self) {
        let Some(ticket) = self.any_ticket() else { return };
        let start = self.world.history.now();
        let query = format!(
            "query($id: ID!) {{ ticket(id: $id) {{ {WHOLE} viewerWatches notes(first: {PAGE}) {{ nodes {{ id text author {{ id name }} }} }} }} }}"
        );
        let Answer::Data { data, reached } = self.ask(&query, json!({ "id": ticket.id })).await else {
            return;
        };
        let (found, recent) = (&data["ticket"], self.recent(reached));
        for (field, value) in values_of_ticket(found) {
            self.saw("ticket", &register(field, &ticket.id), &value, recent, start);
        }
        self.saw_copies(&ticket.id, found, start);
        self.saw_author_at_desk("ticket", ("title", &ticket.id), &found["author"], (recent, start));
        if let (Some(watches), Some(me)) = (found["viewerWatches"].as_bool(), self.me()) {
            let register = watch_of(&ticket.id, &me);
            self.world.history.set_first(&register, "0");
            self.saw("watched", &register, if watches { "1" } else { "0" }, recent, start);
        }
        let notes: Vec<Known> =
            self.world.desk.lock().notes.iter().filter(|note| note.ticket == ticket.id).cloned().collect();
        let listed = found["notes"]["nodes"].as_array().cloned().unwrap_or_default();
        for note in notes {
            let shown = listed.iter().find(|listed| listed["id"] == note.id.as_str());
            let text = shown.and_then(|note| note["text"].as_str()).unwrap_or(NOTHING);
            self.saw("notes of a ticket", &register("text", &note.id), text, recent, start);
            if let Some(shown) = shown {
                let author = &shown["author"];
                self.saw_author_at_desk("notes", ("text", &note.id), author, (recent, start));
            }
        }
    }

    /// Records the name of an author in an item. An item keeps its author.
    fn saw_author_at_desk(
        &self,
        view: &str,
        (field, id): (&str, &str),
        author: &Value,
        (recent, start): (Recent, u64),
    ) {
        if let (Some(author), Some(name)) = (author["id"].as_str(), author["name"].as_str()) {
            let (item, source) = (register(field, id), register("name", author));
            self.saw_copy(view, (&item, &source), name, (recent, start));
        }
    }

    /// Records the copies in a ticket. The names of its author and of those who took a step are copied one
    /// after the other.
    fn saw_copies(&self, place: &str, ticket: &Value, start: u64) {
        let labels = ticket["labels"].as_array().into_iter().flatten();
        let labels = labels.map(|label| ("labels", label, "name"));
        let one = [("desk", &ticket["desk"], "title"), ("author", &ticket["author"], "name")];
        let steps = ticket["steps"].as_array().into_iter().flatten();
        let steps = steps.map(|step| ("steps", &step["by"], "name"));
        for (path, source, field) in one.into_iter().chain(labels).chain(steps) {
            if let (Some(id), Some(value)) = (source["id"].as_str(), source[field].as_str()) {
                let view = format!("copy in {path} of {place}");
                self.saw(&view, &register(field, id), value, Recent::Any, start);
            }
        }
    }

    /// Reads one of the lists of tickets. A ticket without another value of the field is in its list.
    pub(super) async fn read_tickets(&mut self) {
        let (desk, label) = (self.any_desk(), self.any_label());
        let (root, field, value) = match self.world.dice.below(6) {
            0 => ("page: open(first: 100)".to_owned(), Some("status"), "OPEN".to_owned()),
            1 => ("page: closed(first: 100)".to_owned(), Some("status"), "CLOSED".to_owned()),
            2 => ("page: busiest(first: 3)".to_owned(), None, String::new()),
            3 if label.is_some() => {
                let id = label.expect("a label").id;
                (format!("list: label(id: {id:?}) {{ page: tickets(first: 100)"), None, String::new())
            }
            4 if desk.is_some() => {
                let id = desk.expect("a desk").id;
                (format!("list: desk(id: {id:?}) {{ page: tickets(first: 100)"), Some("desk"), id)
            }
            _ => return self.read_own_tickets().await,
        };
        self.read_list(root, field, &value).await;
    }

    /// Reads the list of the tickets that the client's person has written.
    pub(super) async fn read_own_tickets(&mut self) {
        let Some(me) = self.me() else { return };
        self.read_list("list: viewer { page: tickets(first: 100)".to_owned(), Some("author"), &me).await;
    }

    /// Reads a list of tickets: all, or those with this value of a field.
    async fn read_list(&mut self, root: String, field: Option<&str>, value: &str) {
        let world = self.world.clone();
        let closing = "}".repeat(root.matches('{').count());
        let query = format!("{{ {root} {{ nodes {{ {TICKET} }} }} {closing} }}");
        let start = world.history.now();
        let answer = self.ask(&query, json!({})).await;
        let Answer::Data { data, reached } = answer else { return self.note(answer) };
        let (recent, view) = (self.recent(reached), root);
        let page = if data["list"].is_object() { &data["list"]["page"] } else { &data["page"] };
        let Some(nodes) = page["nodes"].as_array() else { return };
        let known: Vec<Known> = world.desk.lock().tickets.clone();
        for ticket in known {
            let listed = nodes.iter().find(|node| node["id"] == ticket.id.as_str());
            if let Some(title) = listed.and_then(|node| node["title"].as_str()) {
                self.saw(&view, &register("title", &ticket.id), title, recent, start);
            }
            if let Some(entry) = listed {
                let author = &entry["author"];
                self.saw_author_at_desk(&view, ("title", &ticket.id), author, (recent, start));
            }
            let is_one = field.is_some_and(|field| match field {
                "author" => ticket.author == value,
                field => world.history.values_of(&register(field, &ticket.id)) == [value],
            });
            if listed.is_none() && is_one && nodes.len() < PAGE {
                self.saw(&view, &register("title", &ticket.id), NOTHING, recent, start);
            }
        }
    }
}
