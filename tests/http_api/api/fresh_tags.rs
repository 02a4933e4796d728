//! Entity tags as a property over both domains: after any writes and any failed reads, a 304 stands for the
//! very body that a fresh `GET` gives.

use std::collections::HashMap;

use onehop_study::rng::{Stream, StreamRng};
use reqwest::StatusCode;
use reqwest::header::{ETAG, IF_NONE_MATCH};
use serde_json::{Value, json};

use crate::api::caller::{Caller, id_of};
use crate::api::server::Server;
use crate::support::failing_reads::ReadFaults;
use crate::webstore::shop::{
    category, mutate, open_failing, product, run, sign_up_customer, staff_member, tag,
};

const CASES: u64 = 4;
const STEPS: u32 = 150;
/// Reads before the failing one, at most.
const READS_MAX: u32 = 6;

/// The callers, and the initial data.
struct World<'a> {
    server: &'a Server,
    faults: &'a ReadFaults,
    rng: StreamRng,
    callers: Vec<Caller<'a>>,
    queries: Vec<String>,
    post: String,
    category: String,
    product: String,
    /// The bodies that callers have, by caller, query and tag.
    kept: HashMap<(usize, usize), HashMap<String, String>>,
    told_same: u32,
}

/// An answer to a `GET`: status, tag, body.
type Answered = (StatusCode, Option<String>, String);

const ADA: usize = 1;
const EVE: usize = 2;
const EVA: usize = 3;

impl<'a> World<'a> {
    async fn open(server: &'a Server, faults: &'a ReadFaults, seed: u64) -> Self {
        let ada = staff_member(server).await;
        let eve = server.sign_up("eve").await;
        let (bikes, red) = (category(&ada, "Bikes").await, tag(&ada, "red").await);
        let comet = id_of(&product(&ada, "Comet", "1", &bikes, &[&red]).await);
        let eva = sign_up_customer(server, "eva@example.com").await;
        let max = sign_up_customer(server, "max@example.com").await;
        let order = json!({ "lines": [{ "productId": comet, "quantity": 1 }] });
        let placed = mutate(&eva, "createSalesOrder", order, "salesOrder { id }").await;
        let order = id_of(&placed["salesOrder"]);
        let post = eve.post("first").await;
        server.settle().await;
        let queries = queries([&eve.id, &post, &eva.id, &order, &comet, &red]);
        let callers = vec![server.anonymous(), ada, eve, eva, max];
        Self {
            server,
            faults,
            rng: StreamRng::new(seed, Stream(79), 0),
            callers,
            queries,
            post,
            category: bikes,
            product: comet,
            kept: HashMap::new(),
            told_same: 0,
        }
    }

    async fn get(&self, caller: usize, query: usize, tags: &str) -> Answered {
        let query = [("query", self.queries[query].as_str())];
        let url = reqwest::Url::parse_with_params(&self.server.url("/graphql"), query).unwrap();
        let mut request = self.server.http.get(url);
        if caller > 0 {
            request = request.bearer_auth(self.callers[caller].token());
        }
        if !tags.is_empty() {
            request = request.header(IF_NONE_MATCH, tags);
        }
        let response = request.send().await.unwrap();
        let tag = response.headers().get(ETAG).map(|tag| tag.to_str().unwrap().to_owned());
        (response.status(), tag, response.text().await.unwrap())
    }

    /// Asks with all tags that the caller has, and judges the answer by a fresh one.
    async fn ask(&mut self) {
        let (caller, query) = (self.below(self.callers.len()), self.below(self.queries.len()));
        let kept = self.kept.entry((caller, query)).or_default();
        let tags = kept.keys().cloned().collect::<Vec<_>>().join(", ");
        if self.rng.below(3) == 0 {
            self.faults.fail_after(self.rng.below(READS_MAX));
        }
        let (status, tag, body) = self.get(caller, query, &tags).await;
        self.faults.stop();
        let (_, _, fresh) = self.get(caller, query, "").await;
        let case = || format!("caller {caller}: {}", self.queries[query]);
        if status == StatusCode::NOT_MODIFIED {
            let kept = &self.kept[&(caller, query)][&tag.expect("a tag")];
            assert_eq!(*kept, fresh, "{}", case());
            self.told_same += 1;
            return;
        }
        let is_whole = status == StatusCode::OK && !body.contains("\"errors\"");
        assert!(!is_whole || data_of(&body) == data_of(&fresh), "{}: {body} {fresh}", case());
        assert!(is_whole || tag.is_none(), "an answer with errors has a tag: {}", case());
        if let Some(tag) = tag {
            self.kept.entry((caller, query)).or_default().insert(tag, body);
        }
    }

    /// Writes something; a refusal is as good.
    async fn act(&mut self) {
        let number = self.rng.below(1_000);
        let name = |names: &[&str]| names[number as usize % names.len()].to_owned();
        let (caller, mutation, input) = match self.rng.below(10) {
            0 => (EVE, "updateUser", json!({ "username": name(&["eve", "boss", "evelyn"]) })),
            1 => (ADA, "updateUser", json!({ "username": name(&["ada", "lovelace"]) })),
            2 => (EVE, "createPost", json!({ "title": format!("Post {number}"), "content": "C" })),
            3 => (ADA, "likePost", json!({ "postId": self.post })),
            4 => (ADA, "unlikePost", json!({ "postId": self.post })),
            5 => (EVE, "createComment", json!({ "postId": self.post, "content": "C" })),
            6 => (EVA, "updateCustomer", json!({ "lastName": format!("Name {}", number % 3) })),
            7 => {
                let line = json!({ "productId": self.product, "quantity": 1 });
                (EVA, "createSalesOrder", json!({ "lines": [line] }))
            }
            8 => {
                let renamed =
                    json!({ "productCategoryId": self.category, "name": name(&["Bikes", "Cycles"]) });
                (ADA, "updateProductCategory", renamed)
            }
            _ => return self.server.settle().await,
        };
        run(&self.callers[caller], mutation, input, "__typename").await;
    }

    fn below(&mut self, bound: usize) -> usize {
        self.rng.below(u32::try_from(bound).unwrap()) as usize
    }
}

/// Reads of both domains, of which some depend on who asks.
fn queries([user, post, customer, order, product, tag]: [&str; 6]) -> Vec<String> {
    vec![
        "{ feed(first: 5) { nodes { title author { username } } } }".to_owned(),
        "{ viewer { username } viewerCustomer { lastName salesOrderCount } }".to_owned(),
        "{ userByUsername(username: \"boss\") { username } }".to_owned(),
        format!("{{ user(id: {user:?}) {{ username posts {{ nodes {{ title }} }} }} }}"),
        format!("{{ post(id: {post:?}) {{ likeCount viewerHasLiked comments {{ nodes {{ content }} }} }} }}"),
        format!("{{ customer(id: {customer:?}) {{ emailAddress lastName }} }}"),
        format!("{{ node(id: {customer:?}) {{ ... on Customer {{ salesOrders {{ nodes {{ id }} }} }} }} }}"),
        format!("{{ node(id: {order:?}) {{ ... on SalesOrder {{ total {{ amount }} }} }} }}"),
        format!("{{ product(id: {product:?}) {{ name category {{ name }} }} }}"),
        format!("{{ node(id: {tag:?}) {{ ... on ProductTag {{ products {{ nodes {{ name }} }} }} }} }}"),
        "{ productCategories { name } }".to_owned(),
        "{ topCustomers(first: 3) { nodes { emailAddress salesOrderCount } } }".to_owned(),
    ]
}

fn data_of(body: &str) -> Value {
    serde_json::from_str::<Value>(body).unwrap()["data"].take()
}

#[tokio::test]
async fn a_304_always_stands_for_the_answer_of_now() {
    let mut told_same = 0;
    for seed in 0..CASES {
        let faults = ReadFaults::default();
        let server = open_failing(&faults).await;
        let mut world = World::open(&server, &faults, seed).await;
        for _ in 0..STEPS {
            match world.rng.below(3) {
                0 => world.act().await,
                _ => world.ask().await,
            }
        }
        told_same += world.told_same;
    }
    assert!(told_same > 20, "{told_same}");
}
