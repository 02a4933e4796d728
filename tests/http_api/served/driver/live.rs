//! Live queries of any model: each list of `Query`, the caller, and the first items. Their last answers equal
//! fresh ones whenever the read models have caught up.

use onehop_model::{QueryKind, RelatedField};
use onehop_testing::websocket::WebSocketClient;
use serde_json::{Value, json};

use super::Driver;
use super::selections::Selections;

/// The items with a live query of their own.
const ITEMS: usize = 4;

/// The live queries of one connection.
pub(super) struct LiveQueries {
    socket: WebSocketClient,
    queries: Vec<LiveQuery>,
}

struct LiveQuery {
    query: String,
    variables: Value,
    answer: Option<Value>,
}

impl Driver {
    /// Follows the lists of `Query` and the caller from now on, as the first account.
    pub(super) async fn follow(&self) -> LiveQueries {
        let payload = match self.token(0) {
            Some(token) => json!({ "authorization": format!("Bearer {token}") }),
            None => json!({}),
        };
        let socket = WebSocketClient::open_with(self.server.address(), payload).await;
        let mut live = LiveQueries { socket, queries: Vec::new() };
        for query in self.model.model().queries() {
            let ty = self.model.index_of(&query.item_type).expect("a type");
            let selection = Selections(&self.model).whole(ty);
            let text = match &query.kind {
                QueryKind::Related(list) if !list.arguments().is_empty() => continue,
                QueryKind::Related(list) => format!("{{ {} }}", listed(&query.name, list, &selection)),
                QueryKind::Caller => format!("{{ {} {{ {selection} }} }}", query.name),
                QueryKind::ById | QueryKind::ByUnique(_) => continue,
            };
            live.ask(text, json!({})).await;
        }
        live
    }

    /// Each live answer is the fresh one, after the answers that are under way. New items are followed, too.
    pub(super) async fn check_live(&self, live: &mut LiveQueries) {
        self.server.settle().await;
        for item in self.items.iter().filter(|item| item.account == 0).take(ITEMS) {
            let name = self.model.ty(item.ty).name;
            let selection = Selections(&self.model).whole(item.ty);
            let text = format!("query($id: ID!) {{ node(id: $id) {{ ... on {name} {{ {selection} }} }} }}");
            let variables = json!({ "id": item.id });
            if live.queries.iter().all(|query| query.variables != variables) {
                live.ask(text, variables).await;
            }
        }
        for place in 0..live.queries.len() {
            let LiveQuery { query, variables, .. } = &live.queries[place];
            let mut fresh = self.server.send(self.token(0), query, variables.clone()).await;
            normalize(&mut fresh);
            while live.queries[place].answer.as_ref() != Some(&fresh) {
                live.hear().await;
            }
        }
    }
}

impl LiveQueries {
    async fn ask(&mut self, query: String, variables: Value) {
        let id = self.queries.len().to_string();
        let live = match query.strip_prefix("query") {
            Some(rest) => {
                let (parameters, rest) = rest.split_once('{').expect("a selection");
                format!("query{parameters} @live {{{rest}")
            }
            None => format!("query @live {query}"),
        };
        self.socket.request(&id, json!({ "query": live, "variables": variables })).await;
        self.queries.push(LiveQuery { query, variables, answer: None });
        while self.queries.last().is_some_and(|query| query.answer.is_none()) {
            self.hear().await;
        }
    }

    async fn hear(&mut self) {
        let mut message = self.socket.hear().await;
        assert_eq!(message["type"], "next", "{message:#}");
        let place: usize = message["id"].as_str().expect("an id").parse().expect("a number");
        let mut answer = message["payload"].take();
        normalize(&mut answer);
        let query = &mut self.queries[place];
        assert_ne!(query.answer.as_ref(), Some(&answer), "the same answer comes once");
        query.answer = Some(answer);
    }
}

/// Leaves the extensions out, whose charges differ. Elements of a list fail in any order.
fn normalize(answer: &mut Value) {
    let answer = answer.as_object_mut().expect("a response");
    answer.remove("extensions");
    if let Some(errors) = answer.get_mut("errors").and_then(Value::as_array_mut) {
        errors.sort_by_key(|error| error["path"].to_string());
    }
}

/// The selection of a list.
fn listed(name: &str, list: &RelatedField, selection: &str) -> String {
    match list.page.connection {
        true => format!("{name}(first: {}) {{ nodes {{ {selection} }} }}", list.page.first.min(10)),
        false => format!("{name} {{ {selection} }}"),
    }
}
