//! Edits of a version: a client changes the text that it has read, and no other one.

use std::time::Duration;

use serde_json::json;

use crate::client::{Answer, Client};
use crate::desk::register;
use crate::history::{Edit, NOTHING, Recent};

/// The requests for a text with a version.
struct Text {
    register: String,
    id: String,
    read: &'static str,
    edit: &'static str,
    /// The names of the id and of the text in the input.
    input: [&'static str; 2],
    /// The path to the item in the payload.
    payload: [&'static str; 2],
}

impl Client {
    /// Reads a post or a comment of the user, and edits that version, sometimes behind another edit.
    pub async fn edit_a_version(&mut self) {
        let world = self.world.clone();
        let post = self.own_post();
        let text = match self.own_comment() {
            Some(id) if post.is_none() || world.dice.percent(40) => Text {
                register: format!("comment {id}"),
                id,
                read: "query($id: ID!) { item: node(id: $id) { ... on Comment { text: content version } } }",
                edit: "mutation($i: UpdateCommentInput!) { updateComment(input: $i) { comment { text: content version } } }",
                input: ["commentId", "content"],
                payload: ["updateComment", "comment"],
            },
            _ => {
                let Some(post) = &post else { return };
                Text {
                    register: format!("post {}", post.id),
                    id: post.id.clone(),
                    read: "query($id: ID!) { item: post(id: $id) { text: title version } }",
                    edit: "mutation($i: UpdatePostInput!) { updatePost(input: $i) { post { text: title version } } }",
                    input: ["postId", "title"],
                    payload: ["updatePost", "post"],
                }
            }
        };
        // A comment goes with its post, so only a post is missed.
        let is_missed = post.is_some_and(|post| post.id == text.id);
        self.edit_text(&text, is_missed).await;
    }

    /// The same for the title of a ticket.
    pub async fn edit_a_title(&mut self) {
        let Some(ticket) = self.any_ticket() else { return };
        let text = Text {
            register: register("title", &ticket.id),
            id: ticket.id,
            read: "query($id: ID!) { item: ticket(id: $id) { text: title version: revision } }",
            edit: "mutation($i: UpdateTicketInput!) { updateTicket(input: $i) { ticket { text: title version: revision } } }",
            input: ["ticketId", "title"],
            payload: ["updateTicket", "ticket"],
        };
        self.edit_text(&text, true).await;
    }

    async fn edit_text(&mut self, text: &Text, is_missed: bool) {
        let world = self.world.clone();
        let start = world.history.now();
        let Answer::Data { data, reached } = self.ask(text.read, json!({ "id": text.id })).await else {
            return;
        };
        let recent = self.recent(reached);
        if data["item"].is_null() && !is_missed {
            return;
        }
        let read = data["item"]["text"].as_str().unwrap_or(NOTHING).to_owned();
        self.saw("version", &text.register, &read, recent, start);
        let Some(version) = data["item"]["version"].as_u64() else { return };
        world.history.saw_version(&text.register, version, &read);
        if world.dice.percent(50) {
            tokio::time::sleep(Duration::from_millis(world.dice.below(2 * world.phase().pace_ms))).await;
        }
        if world.dice.percent(40) {
            let mut other = self.other_device();
            let of = world.dice.percent(50).then_some(version);
            other.edit_this(text, of, &read).await;
        }
        self.edit_this(text, Some(version), &read).await;
    }

    /// Edits a text that was read, of a version or of any.
    async fn edit_this(&mut self, text: &Text, of: Option<u64>, read: &str) {
        let world = self.world.clone();
        let history = &world.history;
        let value = world.next("version");
        let write = history.begin(&text.register, &value, self.number);
        let start = history.now();
        let [id, content] = text.input;
        let input = json!({ id: text.id, content: value, "ifVersion": of });
        let answer = self.command(text.edit, json!({ "i": input })).await;
        let is_repeated = answer.1;
        match self.end(&write, answer) {
            Ok(data) => {
                let [command, item] = text.payload;
                let written = &data[command][item];
                let Some(version) = written["version"].as_u64() else { return };
                history.edited(&text.register, Edit { of, version, start, end: history.now() });
                if let Some(shown) = written["text"].as_str() {
                    history.saw_version(&text.register, version, shown);
                }
                world.count("edit of a version");
            }
            Err(Some(code)) if code == "CONFLICT" => {
                world.count("edit of a version that was replaced");
                if !is_repeated && !history.may_differ_from(&text.register, read, &write) {
                    let detail = format!("version {of:?} of {}: {read:?}", text.register);
                    history.broken("an edit is refused for another edit alone", detail);
                }
            }
            Err(Some(code)) if code == "NOT_FOUND" && text.input[0] == "postId" => {
                self.saw("command", &text.register, NOTHING, Recent::All, start);
            }
            Err(_) => {}
        }
    }
}
