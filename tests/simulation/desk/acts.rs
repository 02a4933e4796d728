//! Acts of clients of the served model.

use serde_json::{Value, json};

use super::{Change, Known, KnownDesk, PAGE, fields_of, joined, register, steps_text, watch_of};
use crate::blog::{BEHIND_ACTS_PERCENT, HELD_PERCENT, OTHER_DEVICE_PERCENT, PASSWORD};
use crate::client::{Answer, Client, Session};
use crate::history::{NOTHING, Recent, Write};

/// Few codes and addresses, so that clients compete for them.
const CODES: [&str; 4] = ["A-1", "a-1", "B-2", "C-3"];
const EMAILS: [&str; 5] =
    ["ada@example.com", "Ada@example.com", "bo@example.com", "cy@example.com", "di@example.com"];
const DESKS_MAX: usize = 3;
const LABELS_MAX: usize = 3;
/// Known notes of one ticket, below a page with those whose creation had no answer.
const NOTES_MAX: usize = 50;

impl Client {
    /// One act, as the dice say.
    pub async fn act_at_desk(&mut self) {
        if self.session.is_none() {
            return self.come_to_desk().await;
        }
        if self.world.has_older_model_alone() && self.world.dice.percent(30) {
            return if self.any_ticket().is_some() {
                self.create_note().await
            } else {
                self.create_ticket().await
            };
        }
        if self.world.moves_values() && self.world.dice.percent(50) && self.own_note().is_some() {
            return self.update_note().await;
        }
        if self.world.store.full().is_some() && self.world.dice.percent(BEHIND_ACTS_PERCENT) {
            self.create_ticket().await;
            return self.read_tickets().await;
        }
        match self.world.dice.weighted(&self.world.phase().act_weights.desk) {
            "create desk" => self.create_desk().await,
            "update desk" => self.update_desk().await,
            "delete desk" => self.delete_desk().await,
            "create ticket" => self.create_ticket().await,
            "update ticket" => self.update_ticket().await,
            "edit a title" => self.edit_a_title().await,
            "close ticket" => self.close_ticket().await,
            "delete ticket" => self.delete_ticket().await,
            "create note" => self.create_note().await,
            "update note" => self.update_note().await,
            "delete note" => self.delete_note().await,
            "create label" => self.create_label().await,
            "rename label" => self.rename_label().await,
            "rename" => self.rename_person().await,
            "delete account" => self.delete_person().await,
            "watch" => self.watch().await,
            "unwatch" => self.unwatch().await,
            "trespass" => self.trespass_at_desk().await,
            "live query" => self.live_query(),
            "read ticket" => self.read_ticket().await,
            "write twice and read" => self.write_tickets_and_read().await,
            "sign out" => self.leave_desk().await,
            _ => self.read_tickets().await,
        }
    }

    async fn come_to_desk(&mut self) {
        let world = self.world.clone();
        let (email, name) = (*world.dice.pick(&EMAILS), world.next("person"));
        let (start, session) = (world.history.now(), "person { id name } accessToken refreshToken");
        if world.dice.percent(50) {
            let query = format!("mutation($i: SignInInput!) {{ signIn(input: $i) {{ {session} }} }}");
            let input = json!({ "i": { "email": email, "password": PASSWORD } });
            let Answer::Data { data, .. } = self.ask(&query, input).await else { return };
            let Some(id) = self.enter(&data["signIn"]) else { return };
            if let Some(name) = data["signIn"]["person"]["name"].as_str() {
                world.history.set_first_unless_written(&register("name", &id), name);
            }
            return;
        }
        let query = format!("mutation($i: CreatePersonInput!) {{ createPerson(input: $i) {{ {session} }} }}");
        let input = json!({ "i": { "name": name, "email": email, "password": PASSWORD } });
        let Answer::Data { data, .. } = self.ask(&query, input).await else { return };
        let Some(id) = self.enter(&data["createPerson"]) else { return };
        let end = Some(world.history.now());
        for change in [Change::of("name", &name), Change::of("email", email)] {
            let write = Write { value: change.value, client: self.number, start, end };
            world.history.written(&register(change.field, &id), write);
        }
        let mut desk = world.desk.lock();
        if world.dice.percent(60) {
            desk.lasting.push(id.clone());
        }
        desk.people.push(id);
    }

    fn enter(&mut self, payload: &Value) -> Option<String> {
        let (id, token) = (payload["person"]["id"].as_str()?.to_owned(), payload["accessToken"].as_str()?);
        let refresh_token = payload["refreshToken"].as_str().unwrap_or_default().to_owned();
        let number = self.world.begin_shop_session(&id);
        let tokens = (token.to_owned(), refresh_token);
        self.session = Some(Session::new(tokens, number, self.world.elapsed_ms()));
        Some(id)
    }

    async fn leave_desk(&mut self) {
        if let Answer::Data { .. } = self.ask("mutation { signOut { personId } }", json!({})).await {
            self.session = None;
        }
    }

    /// A known item, mostly one of the latest.
    fn any_of(&self, known: impl Fn(&KnownDesk) -> &Vec<Known>) -> Option<Known> {
        let desk = self.world.desk.lock();
        let items = known(&desk);
        let few = if self.world.phase().has_hot_post { 1 } else { 3 };
        let recent = items.len().saturating_sub(if self.world.dice.percent(70) { few } else { PAGE });
        (!items.is_empty()).then(|| self.world.dice.pick(&items[recent..]).clone())
    }

    pub fn any_ticket(&self) -> Option<Known> {
        self.any_of(|desk| &desk.tickets)
    }

    pub fn any_desk(&self) -> Option<Known> {
        self.any_of(|desk| &desk.desks)
    }

    pub fn any_label(&self) -> Option<Known> {
        self.any_of(|desk| &desk.labels)
    }

    fn own_note(&self) -> Option<Known> {
        let me = self.me()?;
        let desk = self.world.desk.lock();
        let own: Vec<&Known> = desk.notes.iter().filter(|note| note.author == me).collect();
        (!own.is_empty()).then(|| (*self.world.dice.pick(&own)).clone())
    }

    fn known(&self, id: &str, ticket: &str) -> Known {
        Known { id: id.to_owned(), author: self.me().unwrap_or_default(), ticket: ticket.to_owned() }
    }

    /// A common code, or a new one.
    fn some_code(&self) -> String {
        match self.world.dice.percent(60) {
            true => (*self.world.dice.pick(&CODES)).to_owned(),
            false => self.world.next("code"),
        }
    }

    async fn create_desk(&mut self) {
        let is_enough = {
            let desk = self.world.desk.lock();
            desk.desks.len() >= DESKS_MAX + desk.deleted_desks
        };
        if is_enough {
            return self.update_desk().await;
        }
        let changes =
            vec![Change::of("title", &self.world.next("desk")), Change::of("code", &self.some_code())];
        if let Some(id) = self.create_of("desk", changes, json!({})).await {
            let known = self.known(&id, "");
            self.world.desk.lock().desks.push(known);
        }
    }

    async fn update_desk(&mut self) {
        let Some(desk) = self.any_desk() else { return };
        let mut changes = Vec::new();
        if self.world.dice.percent(60) {
            changes.push(Change::of("title", &self.world.next("desk")));
        }
        if self.world.dice.percent(50) {
            changes.push(Change::of("code", &self.some_code()));
        }
        self.update_of(("desk", &desk.id), "updateDesk", changes).await;
    }

    /// Deletes a desk, and lets clients create another one.
    async fn delete_desk(&mut self) {
        let Some(desk) = self.any_desk() else { return };
        self.delete_of("desk", &desk.id).await;
        self.world.desk.lock().deleted_desks += 1;
    }

    async fn create_label(&mut self) {
        if self.world.desk.lock().labels.len() >= LABELS_MAX {
            return self.rename_label().await;
        }
        let changes = vec![Change::of("name", &self.world.next("label"))];
        if let Some(id) = self.create_of("label", changes, json!({})).await {
            let known = self.known(&id, "");
            self.world.desk.lock().labels.push(known);
        }
    }

    async fn rename_label(&mut self) {
        let Some(label) = self.any_label() else { return };
        self.name_and_rename("label", &label.id, "updateLabel").await;
    }

    async fn rename_person(&mut self) {
        let Some(me) = self.me() else { return };
        if self.world.dice.percent(20) {
            let email = *self.world.dice.pick(&EMAILS);
            let changes = vec![Change::of("name", &self.world.next("person")), Change::of("email", email)];
            return self.update_of(("person", &me), "updatePerson", changes).await;
        }
        self.name_and_rename("person", &me, "updatePerson").await;
    }

    /// Gives an item another name, and sometimes a third and the second one again, also from other devices.
    async fn name_and_rename(&mut self, kind: &str, id: &str, command: &str) {
        let world = self.world.clone();
        let names = self.changes_and_back(&register("name", id), || world.next(kind));
        for (place, name) in names.into_iter().enumerate() {
            self.wait_before(place).await;
            let mut other = self.other_device_elsewhere();
            let device = if world.dice.percent(OTHER_DEVICE_PERCENT) { &mut other } else { &mut *self };
            device.update_of((kind, id), command, vec![Change::of("name", &name)]).await;
        }
    }

    /// Any labels.
    fn some_labels(&self) -> Change {
        let percent = *self.world.dice.pick(&[0, 50, 100]);
        let known: Vec<String> = self.world.desk.lock().labels.iter().map(|label| label.id.clone()).collect();
        let some: Vec<&str> =
            known.iter().map(String::as_str).filter(|_| self.world.dice.percent(percent)).collect();
        let input = ("labelIds", json!(some));
        Change { field: "labels", value: joined(some), input }
    }

    /// Steps of a ticket, by people who stay.
    fn some_steps(&self) -> Change {
        let people = self.world.desk.lock().lasting.clone();
        let steps = if people.is_empty() { 0 } else { self.world.dice.below(4) };
        let steps: Vec<(String, String)> =
            (0..steps).map(|_| (self.world.next("step"), self.world.dice.pick(&people).clone())).collect();
        let value = steps_text(steps.iter().map(|(text, by)| (text.as_str(), by.as_str())));
        let input: Vec<Value> = steps.iter().map(|(text, by)| json!({ "text": text, "byId": by })).collect();
        Change { field: "steps", value, input: ("steps", json!(input)) }
    }

    fn in_desk(desk: &Known) -> Change {
        Change { field: "desk", value: desk.id.clone(), input: ("deskId", json!(desk.id)) }
    }

    async fn create_ticket(&mut self) {
        let Some(desk) = self.any_desk() else { return self.create_desk().await };
        let changes = vec![
            Change::of("title", &self.world.next("ticket")),
            Change::of("status", "OPEN"),
            Self::in_desk(&desk),
            self.some_labels(),
            self.some_steps(),
        ];
        if let Some(id) = self.create_of("ticket", changes, json!({})).await {
            let known = self.known(&id, "");
            self.world.desk.lock().tickets.push(known);
        }
    }

    /// Two writes to different logical partitions or containers, and a read that has to show the first.
    async fn write_tickets_and_read(&mut self) {
        if self.world.dice.percent(HELD_PERCENT) {
            self.world.hold_some_tasks();
        }
        self.update_ticket().await;
        match self.world.dice.below(4) {
            0 => self.create_ticket().await,
            1 => self.update_desk().await,
            2 => self.rename_person().await,
            _ => self.update_ticket().await,
        }
        self.read_own_tickets().await;
    }

    async fn update_ticket(&mut self) {
        let Some(ticket) = self.any_ticket() else { return };
        let mut changes = Vec::new();
        if self.world.dice.percent(40) {
            changes.push(Change::of("title", &self.world.next("ticket")));
        }
        if self.world.dice.percent(30) {
            let status = *self.world.dice.pick(&["OPEN", "CLOSED"]);
            changes.push(Change::of("status", status));
        }
        if self.world.dice.percent(40) {
            changes.push(self.some_labels());
        }
        if self.world.dice.percent(30) {
            changes.push(self.some_steps());
        }
        if let Some(desk) = self.any_desk().filter(|_| self.world.dice.percent(40)) {
            changes.push(Self::in_desk(&desk));
        }
        self.update_of(("ticket", &ticket.id), "updateTicket", changes).await;
    }

    /// Closes a ticket, sometimes on two devices at once: one of them is refused.
    async fn close_ticket(&mut self) {
        let Some(ticket) = self.any_ticket() else { return };
        let (item, mut other) = (("ticket", ticket.id.as_str()), self.other_device());
        let closed = || vec![Change::of("status", "CLOSED")];
        if self.world.dice.percent(50) {
            tokio::join!(
                self.update_of(item, "closeTicket", closed()),
                other.update_of(item, "closeTicket", closed()),
            );
        } else {
            self.update_of(item, "closeTicket", closed()).await;
        }
    }

    async fn delete_ticket(&mut self) {
        let Some(ticket) = self.any_ticket() else { return };
        let command = if self.world.dice.percent(50) { "dropTicket" } else { "deleteTicket" };
        self.delete_by(command, ("ticket", &ticket.id)).await;
    }

    async fn create_note(&mut self) {
        let Some(ticket) = self.any_ticket() else { return };
        let written = self.world.desk.lock().notes.iter().filter(|note| note.ticket == ticket.id).count();
        if written >= NOTES_MAX {
            return self.update_note().await;
        }
        let changes = vec![Change::of("text", &self.world.next("note"))];
        let extra = json!({ "ticketId": ticket.id });
        if let Some(id) = self.create_of("note", changes, extra).await {
            self.world.history.owned(&register("text", &id), &ticket.id);
            let known = self.known(&id, &ticket.id);
            self.world.desk.lock().notes.push(known);
        }
    }

    async fn update_note(&mut self) {
        let Some(note) = self.own_note() else { return };
        let changes = vec![Change::of("text", &self.world.next("note"))];
        self.update_of(("note", &note.id), "updateNote", changes).await;
    }

    async fn delete_note(&mut self) {
        let Some(note) = self.own_note() else { return };
        self.delete_of("note", &note.id).await;
    }

    async fn watch(&mut self) {
        let (Some(me), Some(ticket)) = (self.me(), self.any_ticket()) else { return };
        let history = &self.world.clone().history;
        let register = watch_of(&ticket.id, &me);
        history.set_first(&register, "0");
        history.owned(&register, &ticket.id);
        let write = history.begin(&register, "1", self.number);
        let start = history.now();
        let query = "mutation($i: CreateWatchInput!) { createWatch(input: $i) { watch { id } } }";
        let answer = self.command(query, json!({ "i": { "ticketId": ticket.id } })).await;
        match self.end(&write, answer) {
            Ok(data) => {
                let Some(id) = data["createWatch"]["watch"]["id"].as_str() else { return };
                let known = self.known(id, &ticket.id);
                let watches = &mut self.world.desk.lock().watches;
                if !watches.contains(&known) {
                    watches.push(known);
                }
            }
            Err(Some(code)) if code == "CONFLICT" => {
                self.saw("command", &register, "1", Recent::All, start);
            }
            Err(_) => {}
        }
    }

    async fn unwatch(&mut self) {
        let Some(me) = self.me() else { return };
        let own: Vec<Known> =
            self.world.desk.lock().watches.iter().filter(|watch| watch.author == me).cloned().collect();
        if own.is_empty() {
            return self.watch().await;
        }
        let watch = self.world.dice.pick(&own).clone();
        let register = watch_of(&watch.ticket, &me);
        let history = &self.world.clone().history;
        let write = history.begin(&register, "0", self.number);
        let start = history.now();
        let query = "mutation($i: DeleteWatchInput!) { deleteWatch(input: $i) { deletedWatchId } }";
        let answer = self.command(query, json!({ "i": { "watchId": watch.id } })).await;
        if self.end(&write, answer) == Err(Some("NOT_FOUND".to_owned())) {
            self.saw("command", &register, "0", Recent::All, start);
        }
    }

    /// Deletes the account of a person whom no step names.
    async fn delete_person(&mut self) {
        let Some(me) = self.me() else { return };
        if self.world.desk.lock().lasting.contains(&me) {
            return self.rename_person().await;
        }
        let history = &self.world.clone().history;
        let writes: Vec<_> = fields_of("person")
            .iter()
            .map(|field| history.begin(&register(field, &me), NOTHING, self.number))
            .collect();
        let query = "mutation($i: DeletePersonInput!) { deletePerson(input: $i) { deletedPersonId } }";
        let input = json!({ "i": { "personId": me, "currentPassword": PASSWORD } });
        let answer = self.command(query, input).await;
        if matches!(answer.0, Answer::Data { .. }) {
            self.world.count("account of a person deleted");
            self.session = None;
        }
        self.end_all(&writes, answer);
    }

    /// Tries to change an item of another person.
    async fn trespass_at_desk(&mut self) {
        let Some(me) = self.me() else { return };
        let world = self.world.clone();
        let (note, person) = {
            let desk = world.desk.lock();
            let note = desk.notes.iter().find(|note| note.author != me).cloned();
            (note, desk.people.iter().find(|person| **person != me).cloned())
        };
        let (query, input) = match (note, person) {
            (Some(note), _) if world.dice.percent(30) => (
                "mutation($i: DeleteNoteInput!) { deleteNote(input: $i) { deletedNoteId } }",
                json!({ "noteId": note.id }),
            ),
            (Some(note), _) if world.dice.percent(60) => (
                "mutation($i: UpdateNoteInput!) { updateNote(input: $i) { note { id } } }",
                json!({ "noteId": note.id, "text": "not mine" }),
            ),
            (_, Some(person)) => (
                "mutation($i: UpdatePersonInput!) { updatePerson(input: $i) { person { id } } }",
                json!({ "personId": person, "name": "not mine" }),
            ),
            _ => return,
        };
        match self.ask(query, json!({ "i": input })).await {
            Answer::Data { data, .. } => {
                let what = format!("{me} changed an item of another person: {input}, {data}");
                world.history.broken("users change their own items alone", what);
            }
            answer => self.note(answer),
        }
    }
}
