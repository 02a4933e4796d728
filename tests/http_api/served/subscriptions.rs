//! Subscriptions of a served model: to items, lists in a logical partition, read models and bounded lists.

use onehop_testing::websocket::WebSocketClient;
use serde_json::{Value, json};

use super::server::{PASSWORD, ServedServer};

const HELPDESK: &str = include_str!("models/live_helpdesk.graphql");

struct Desk {
    server: ServedServer,
    token: String,
}

impl Desk {
    async fn start() -> Self {
        let server = ServedServer::start(HELPDESK).await;
        let token = sign_up(&server, "Ada").await;
        Self { server, token }
    }

    async fn write(&self, mutation: &str, input: Value) -> Value {
        let camel =
            ["Ticket", "Message", "Secret"].into_iter().find(|name| mutation.ends_with(name)).unwrap();
        let kind = format!("{}{}Input", mutation[..1].to_uppercase(), &mutation[1..]);
        let selection = match mutation.starts_with("delete") {
            true => format!("deleted{camel}Id"),
            false => format!("{} {{ id }}", camel.to_lowercase()),
        };
        let query = format!("mutation($input: {kind}!) {{ {mutation}(input: $input) {{ {selection} }} }}");
        let mut data = self.server.data(Some(&self.token), &query, json!({ "input": input })).await;
        data[mutation][camel.to_lowercase()]["id"].take()
    }

    async fn ticket(&self, title: &str) -> String {
        self.write("createTicket", json!({ "title": title })).await.as_str().unwrap().to_owned()
    }

    async fn socket(&self) -> WebSocketClient {
        let payload = json!({ "authorization": format!("Bearer {}", self.token) });
        WebSocketClient::open_with(self.server.address(), payload).await
    }
}

async fn sign_up(server: &ServedServer, name: &str) -> String {
    let query = "mutation($input: CreateAgentInput!) { createAgent(input: $input) { accessToken } }";
    let email = format!("{name}@example.com");
    let input = json!({ "name": name, "email": email, "password": PASSWORD });
    let data = server.data(None, query, json!({ "input": input })).await;
    data["createAgent"]["accessToken"].as_str().unwrap().to_owned()
}

/// Subscribes, and returns when the subscription has begun.
async fn subscribe(socket: &mut WebSocketClient, id: &str, query: &str, item: &str) {
    socket.request(id, json!({ "query": query, "variables": { "id": item } })).await;
    socket.settle().await;
}

async fn event(socket: &mut WebSocketClient, id: &str) -> Value {
    let mut payload = socket.hear_of("next", id).await;
    assert_eq!(payload.get("errors"), None, "{payload}");
    assert!(payload["extensions"]["requestCharge"].is_number(), "{payload}");
    payload["data"].take()
}

#[tokio::test]
async fn an_item_changes_until_it_is_removed() {
    let desk = Desk::start().await;
    let (id, other) = (desk.ticket("Printer").await, desk.ticket("Scanner").await);
    let (mut changes, mut removals) = (desk.socket().await, desk.socket().await);
    let query = "subscription($id: ID!) { ticketChanged(id: $id) { title messageCount agent { name } } }";
    subscribe(&mut changes, "1", query, &id).await;
    let query = "subscription($id: ID!) { ticketRemoved(id: $id) { id title } }";
    subscribe(&mut removals, "1", query, &id).await;
    desk.write("updateTicket", json!({ "ticketId": other, "title": "Fax" })).await;
    desk.write("updateTicket", json!({ "ticketId": id, "title": "Plotter" })).await;
    let ticket = |title: &str, count: u32| json!({ "title": title, "messageCount": count, "agent": { "name": "Ada" } });
    let heard = event(&mut changes, "1").await;
    assert_eq!(heard, json!({ "ticketChanged": ticket("Plotter", 0) }));
    desk.write("createMessage", json!({ "ticketId": id, "text": "It smokes." })).await;
    let heard = event(&mut changes, "1").await;
    assert_eq!(heard, json!({ "ticketChanged": ticket("Plotter", 1) }));
    desk.write("deleteTicket", json!({ "ticketId": id })).await;
    let heard = event(&mut removals, "1").await;
    assert_eq!(heard, json!({ "ticketRemoved": { "id": id, "title": "Plotter" } }));
    for socket in [&mut removals, &mut changes] {
        assert_eq!(socket.hear().await, json!({ "type": "complete", "id": "1" }));
    }
}

#[tokio::test]
async fn items_of_a_logical_partition_are_added_change_and_leave() {
    let desk = Desk::start().await;
    let (id, other) = (desk.ticket("Printer").await, desk.ticket("Scanner").await);
    let before = desk.write("createMessage", json!({ "ticketId": id, "text": "Before" })).await;
    let mut socket = desk.socket().await;
    for name in ["messageAdded", "messageChanged", "messageRemoved"] {
        let query =
            format!("subscription($id: ID!) {{ {name}(ticketId: $id) {{ text author {{ name }} }} }}");
        subscribe(&mut socket, name, &query, &id).await;
    }
    desk.write("createMessage", json!({ "ticketId": other, "text": "Elsewhere" })).await;
    let message = desk.write("createMessage", json!({ "ticketId": id, "text": "Hello" })).await;
    let text = |text: &str| json!({ "text": text, "author": { "name": "Ada" } });
    assert_eq!(event(&mut socket, "messageAdded").await["messageAdded"], text("Hello"));
    desk.write("updateMessage", json!({ "messageId": before, "text": "Changed" })).await;
    assert_eq!(event(&mut socket, "messageChanged").await["messageChanged"], text("Changed"));
    desk.write("deleteMessage", json!({ "messageId": message })).await;
    assert_eq!(event(&mut socket, "messageRemoved").await["messageRemoved"], text("Hello"));
}

#[tokio::test]
async fn a_list_with_conditions_is_entered_and_left() {
    let desk = Desk::start().await;
    let id = desk.ticket("Printer").await;
    desk.server.settle().await;
    let mut socket = desk.socket().await;
    for name in ["openAdded", "openRemoved"] {
        let query = format!("subscription {{ {name} {{ title status }} }}");
        subscribe(&mut socket, name, &query, "").await;
    }
    desk.write("updateTicket", json!({ "ticketId": id, "status": "CLOSED" })).await;
    let closed = json!({ "title": "Printer", "status": "CLOSED" });
    assert_eq!(event(&mut socket, "openRemoved").await["openRemoved"], closed);
    desk.write("updateTicket", json!({ "ticketId": id, "status": "OPEN" })).await;
    let open = json!({ "title": "Printer", "status": "OPEN" });
    assert_eq!(event(&mut socket, "openAdded").await["openAdded"], open);
}

#[tokio::test]
async fn a_bounded_list_is_entered_and_left_by_rank() {
    let desk = Desk::start().await;
    for title in ["A", "B"] {
        desk.ticket(title).await;
    }
    desk.server.settle().await;
    let mut socket = desk.socket().await;
    subscribe(&mut socket, "added", "subscription { newestAdded { title } }", "").await;
    subscribe(&mut socket, "removed", "subscription { newestRemoved { title } }", "").await;
    desk.ticket("C").await;
    desk.server.settle().await;
    let mut heard = [socket.hear().await, socket.hear().await];
    heard.sort_by_key(|message| message["id"].to_string());
    let data = heard.map(|mut message| message["payload"]["data"].take());
    let expected = [json!({ "newestAdded": { "title": "C" } }), json!({ "newestRemoved": { "title": "A" } })];
    assert_eq!(data, expected);
}

#[tokio::test]
async fn a_deleted_item_leaves_a_bounded_list_as_it_was() {
    let desk = Desk::start().await;
    let id = desk.ticket("Only").await;
    desk.server.settle().await;
    let mut socket = desk.socket().await;
    let query = "subscription { newestRemoved { title status agent { name } } }";
    subscribe(&mut socket, "1", query, "").await;
    desk.write("deleteTicket", json!({ "ticketId": id })).await;
    desk.server.settle().await;
    let expected = json!({ "title": "Only", "status": "OPEN", "agent": { "name": "Ada" } });
    assert_eq!(event(&mut socket, "1").await["newestRemoved"], expected);
}

#[tokio::test]
async fn items_of_others_are_no_events() {
    let desk = Desk::start().await;
    let bob = sign_up(&desk.server, "Bob").await;
    let query = "subscription { secretAdded { text } }";
    let mut own = desk.socket().await;
    subscribe(&mut own, "1", query, "").await;
    let payload = json!({ "authorization": format!("Bearer {bob}") });
    let mut other = WebSocketClient::open_with(desk.server.address(), payload).await;
    subscribe(&mut other, "1", query, "").await;
    desk.write("createSecret", json!({ "text": "Ada's" })).await;
    assert_eq!(event(&mut own, "1").await["secretAdded"]["text"], "Ada's");
    let create = "mutation { createSecret(input: { text: \"Bob's\" }) { secret { id } } }";
    desk.server.data(Some(&bob), create, json!({})).await;
    assert_eq!(event(&mut other, "1").await["secretAdded"]["text"], "Bob's");
    let mut nobody = WebSocketClient::open(desk.server.address()).await;
    nobody.subscribe("1", query).await;
    assert_eq!(nobody.hear_of("error", "1").await[0]["extensions"]["code"], "UNAUTHENTICATED");
}

#[tokio::test]
async fn a_subscription_to_nothing_is_refused() {
    let desk = Desk::start().await;
    let id = desk.ticket("Printer").await;
    desk.write("deleteTicket", json!({ "ticketId": id })).await;
    let mut socket = desk.socket().await;
    let message = "subscription($id: ID!) { messageAdded(ticketId: $id) { text } }";
    let ticket = "subscription($id: ID!) { ticketChanged(id: $id) { title } }";
    let both = "subscription($id: ID!) { ticketChanged(id: $id) { title } openAdded { title } }";
    for (query, id, code) in [
        (message, id.as_str(), "NOT_FOUND"),
        (ticket, id.as_str(), "NOT_FOUND"),
        (ticket, "nonsense", "BAD_USER_INPUT"),
        (both, id.as_str(), "GRAPHQL_VALIDATION_FAILED"),
    ] {
        socket.request("1", json!({ "query": query, "variables": { "id": id } })).await;
        let errors = socket.hear_of("error", "1").await;
        assert_eq!(errors[0]["extensions"]["code"], code, "{query}: {errors}");
    }
}
