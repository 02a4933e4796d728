//! Live queries: clients that keep the answer to a query, by server-sent events. In quiet each answer equals
//! the answer to the same query now.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use axum::Router;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::client::Client;
use crate::desk::{TICKET, WHOLE};
use crate::event_stream::EventStream;
use crate::executor::Group;
use crate::finale::send_alone;
use crate::plan::MODEL;
use crate::trace;
use crate::world::World;

/// Live queries in a run.
const LIVE_QUERIES_MAX: usize = 20;

/// A live query of a client.
#[derive(Debug)]
struct LiveQuery {
    process: u32,
    /// Without `query @live`.
    selection: String,
    /// The data of the last answer; `None` before the first one, and where it has errors.
    answer: Option<Value>,
    answers: u64,
    has_ended: bool,
}

/// The live queries of a run.
#[derive(Debug, Default)]
pub struct LiveQueries(Mutex<Vec<LiveQuery>>);

impl Client {
    /// Opens a live query, which goes on beside later acts.
    pub fn live_query(&self) {
        let world = self.world.clone();
        let Some((group, router)) = world.any_process().and_then(|number| world.router_of(number)) else {
            return;
        };
        let Some(selection) = self.live_selection() else { return };
        let number = {
            let mut queries = world.live_queries.0.lock();
            if queries.len() >= LIVE_QUERIES_MAX {
                return;
            }
            let process = group.0;
            queries.push(LiveQuery {
                process,
                selection: selection.clone(),
                answer: None,
                answers: 0,
                has_ended: false,
            });
            queries.len() - 1
        };
        let address = IpAddr::V4(Ipv4Addr::new(10, self.host(), 0, 5));
        let following = Arc::clone(&world);
        world.executor.spawn(group, async move {
            follow(&following, (number, group), router, address, &selection).await;
            following.live_queries.0.lock()[number].has_ended = true;
        });
    }

    /// Any selection of public fields.
    fn live_selection(&self) -> Option<String> {
        let world = &self.world;
        if world.plan.domain == MODEL {
            return Some(self.live_selection_of_desk());
        }
        let post = self.any_post();
        let product = self.any_product();
        let category = world.catalogue.lock().categories.first().cloned();
        let all = [
            Some("{ feed(first: 10) { nodes { id title version likeCount commentCount author { username } } } }".to_owned()),
            post.as_ref().map(|post| {
                format!(
                    "{{ post(id: {:?}) {{ title version likeCount commentCount author {{ username }} \
                     comments(first: 10) {{ nodes {{ content author {{ username }} }} }} }} }}",
                    post.id
                )
            }),
            post.map(|post| {
                format!("{{ user(id: {:?}) {{ username posts(first: 10) {{ nodes {{ title tags }} }} }} }}", post.author)
            }),
            product.map(|id| {
                format!("{{ product(id: {id:?}) {{ name price {{ amount }} isSoldOut category {{ name }} tags {{ name }} }} }}")
            }),
            category.map(|id| {
                format!(
                    "{{ node(id: {id:?}) {{ ... on ProductCategory {{ name products(first: 10) {{ \
                     nodes {{ name isSoldOut price {{ amount }} }} }} }} }} }}"
                )
            }),
        ];
        let all: Vec<String> = all.into_iter().flatten().collect();
        Some(world.dice.pick(&all).clone())
    }
}

impl Client {
    /// The same of the served model.
    fn live_selection_of_desk(&self) -> String {
        let list = format!("tickets(first: 10) {{ nodes {{ {TICKET} noteCount }} }}");
        let ticket = self.any_ticket().map(|ticket| {
            let notes = "notes(first: 10) { nodes { text author { name } } }";
            format!("{{ ticket(id: {:?}) {{ {WHOLE} noteCount watchCount {notes} }} }}", ticket.id)
        });
        let desk = self.any_desk().map(|desk| format!("{{ desk(id: {:?}) {{ title {list} }} }}", desk.id));
        // Processes of the older version refuse these two.
        let label =
            self.any_label().map(|label| format!("{{ label(id: {:?}) {{ name {list} }} }}", label.id));
        let closed = format!("{{ closed(first: 10) {{ nodes {{ {TICKET} }} }} }}");
        let open = format!("{{ open(first: 10) {{ nodes {{ {TICKET} }} }} }}");
        let busiest = "{ busiest(first: 3) { nodes { title noteCount } } }".to_owned();
        let all = [ticket, desk, label, Some(open), Some(closed), Some(busiest)];
        let all: Vec<String> = all.into_iter().flatten().collect();
        self.world.dice.pick(&all).clone()
    }
}

/// Keeps the last answer of a live query until it ends.
async fn follow(
    world: &World,
    (number, group): (usize, Group),
    router: Router,
    address: IpAddr,
    selection: &str,
) {
    let body = json!({ "query": format!("query @live {selection}") });
    let Some(mut stream) = EventStream::open(router, address, &body).await else { return };
    trace::line(format!("live query {number}"), format!("is open in process {}: {selection}", group.0));
    while stream.receive().await {
        while let Some(payload) = stream.next_payload() {
            trace::line(format!("live query {number}"), &payload);
            let query = &mut world.live_queries.0.lock()[number];
            query.answer = payload["errors"].is_null().then(|| payload["data"].clone());
            query.answers += 1;
        }
    }
}

impl LiveQueries {
    /// Compares the answers of open live queries with fresh answers to the same queries. Nothing changes
    /// meanwhile, and read models have caught up.
    pub async fn check(&self, world: &Arc<World>) {
        let open: Vec<(usize, u32, String)> = {
            let queries = self.0.lock();
            let is_open = |query: &LiveQuery| !query.has_ended && world.router_of(query.process).is_some();
            let open = queries.iter().enumerate().filter(|(_, query)| is_open(query));
            open.map(|(number, query)| (number, query.process, query.selection.clone())).collect()
        };
        for (number, process, selection) in open {
            let mut fresh = send_alone(world, process, None, &selection, &Value::Null).await;
            let queries = self.0.lock();
            let LiveQuery { answer, answers, has_ended, .. } = &queries[number];
            if *has_ended || fresh["errors"].is_array() || fresh.is_null() {
                continue;
            }
            let fresh = fresh["data"].take();
            if answer.as_ref() != Some(&fresh) {
                let detail =
                    format!("{selection}: {answer:?} and {fresh} after {answers} answers of query {number}");
                world.history.broken("a live answer is the present one", detail);
            }
            world.count(if *answers > 1 { "live query answered again" } else { "live query answered once" });
        }
    }
}
