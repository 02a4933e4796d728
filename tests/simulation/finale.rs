//! The end of a run: all faults are over, read models have caught up, and everything is read once more.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use onehop::app::work::ProgressSink;
use onehop_read_models::verify::{Drift, VerificationReport};
use serde_json::{Value, json};

use crate::desk::in_quiet::read_desk;
use crate::executor::Group;
use crate::history::{NOTHING, Read, Recent};
use crate::monitors;
use crate::orders::NEWEST;
use crate::plan::MODEL;
use crate::process::{ClientRequest, send};
use crate::shop_in_quiet::read_shop;
use crate::signing_in;
use crate::world::World;

const MODELS: [&str; 3] = ["V1", "V2", "V3"];
const POST: &str = "id title version likeCount commentCount author { id username } \
    comments(first: 100) { nodes { id content author { username } } } likes(first: 100) { nodes { user { id } } }";
/// Problems that `verify` reports of a reservation without its holder. A command that dies between two writes
/// leaves such a reservation.
const LEFT_OVER: [&str; 6] = [
    "no item has the reserved value",
    "a username is reserved for a deleted account",
    "there is no customer with the reserved e-mail address",
    "the customer has another e-mail address",
    "there is no product with the reserved SKU",
    "the product does not have the reserved SKU",
];
const LISTED: &str = "id title version likeCount commentCount author { id username }";

/// Waits for quiet, verifies, and reads everything. Errors go to the history.
pub async fn conclude(world: &Arc<World>) {
    let Some(number) = world.settle().await else {
        return world.history.error("no process starts after all faults ended".to_owned());
    };
    verify(world, number).await;
    if world.plan.domain == MODEL {
        read_desk(world, number).await;
    } else {
        read_built_in(world, number).await;
    }
    if world.plan.is_copied && !world.store.was_damaged() {
        world.copy_elsewhere(number).await;
    }
    world.end(number).await;
    monitors::check(world, &world.store.commits());
    world.restore_backups().await;
}

/// Reads the blog and the web store.
async fn read_built_in(world: &Arc<World>, number: u32) {
    let users = world.blog_users();
    for user in &users {
        note_removal(world, number, user).await;
    }
    for user in &users {
        read_user(world, number, user).await;
    }
    let posts = world.posts.lock().clone();
    for post in &posts {
        read_post(world, number, &post.id).await;
    }
    signing_in::names_are_free_or_held(world, number, &users).await;
    let length = world.feed_length();
    let answers = across_models(world, number, &|model| {
        format!("{{ feed(first: {length}, model: {model}) {{ nodes {{ {LISTED} }} }} }}")
    })
    .await;
    agree(world, "the feed", &answers);
    read_shop(world, number).await;
}

/// Notes that an account is deleted: from now on nothing of it may be left.
async fn note_removal(world: &Arc<World>, number: u32, user: &str) {
    let found = ask(world, number, format!("{{ user(id: {user:?}) {{ id }} }}"), json!({})).await;
    if found["user"].is_null() {
        world.history.removal_ended(user);
        world.count("account removed");
    }
}

/// Verifies, repairs the remains of dead commands and late creates, and verifies once more.
async fn verify(world: &Arc<World>, number: u32) {
    repair_drifts(world, number).await;
    let Some(report) = verification(world, number, false).await else { return };
    let (brought_back, drifts): (Vec<&Drift>, Vec<&Drift>) =
        report.drifts.iter().partition(|drift| was_brought_back(world, drift));
    let (left_over, drifts): (Vec<&Drift>, Vec<&Drift>) =
        drifts.into_iter().partition(|drift| left_over_of(drift).is_some());
    let has_late_items = report.drifts.iter().any(|drift| is_late_item(world, drift));
    let (late, drifts): (Vec<&Drift>, Vec<&Drift>) = drifts
        .into_iter()
        .partition(|drift| is_late_item(world, drift) || has_late_items && is_without_source(drift));
    complain_of(world, "verify finds", &drifts);
    for reservations in ["skuReservation", "emailReservation", "reservationOfDeletedAccount", "reservation"] {
        let left: Vec<_> =
            left_over.iter().filter(|drift| left_over_of(drift) == Some(reservations)).collect();
        let possible = world.half_done(reservations);
        if left.len() as u64 > possible {
            let detail = format!(
                "{possible} commands may be half done, and {} reservations are left: {left:?}",
                left.len()
            );
            world.history.broken("verify finds no drift", detail);
        }
    }
    if !brought_back.is_empty() {
        world.count("entries brought back by late creates");
    }
    if !left_over.is_empty() {
        world.count("reservations left over");
    }
    if !late.is_empty() {
        world.count("items of a deleted account left over");
    }
    if !(left_over.is_empty() && brought_back.is_empty() && late.is_empty()) {
        verification(world, number, true).await;
        drain(world, number).await;
        let Some(report) = verification(world, number, false).await else { return };
        complain_of(world, "verify finds after a repair", &report.drifts.iter().collect::<Vec<_>>());
    }
}

/// Repairs counts that became wrong on purpose.
async fn repair_drifts(world: &Arc<World>, number: u32) {
    if world.plan.has_drifts {
        verification(world, number, true).await;
        drain(world, number).await;
    }
}

/// Verifies beside idle clients. Reservations that dead commands have left are counted at the end.
pub async fn verify_in_a_lull(world: &Arc<World>, number: u32) {
    repair_drifts(world, number).await;
    let Some(report) = verification(world, number, false).await else { return };
    let has_late_items = report.drifts.iter().any(|drift| is_late_item(world, drift));
    let is_drift = |drift: &&Drift| {
        let is_late = is_late_item(world, drift) || has_late_items && is_without_source(drift);
        left_over_of(drift).is_none() && !was_brought_back(world, drift) && !is_late
    };
    let drifts: Vec<&Drift> = report.drifts.iter().filter(is_drift).collect();
    complain_of(world, "verify finds in a lull", &drifts);
}

/// Whether a drift is an entry that a late create has put back after its deletion. Nothing announces such an
/// entry, so only a verification finds it.
fn was_brought_back(world: &World, drift: &Drift) -> bool {
    matches!(drift, Drift::Entry { container, id, .. } if world.store.was_brought_back(container, id))
}

/// Whether a drift is an item of a deleted account that came late, where the process that deleted the account
/// could not look for it once more.
fn is_late_item(world: &World, drift: &Drift) -> bool {
    let Drift::Invariant { invariant, problem, id, .. } = drift else { return false };
    *invariant == "deletedAccount" && problem.ends_with("left") && world.may_have_late_items(id)
}

/// Whether a drift is a copy from a source that is gone, as in a late item.
fn is_without_source(drift: &Drift) -> bool {
    matches!(drift, Drift::Copy { current: None, .. })
}

/// The type of a reservation without its holder.
fn left_over_of(drift: &Drift) -> Option<&str> {
    match drift {
        Drift::Invariant { invariant, problem, .. } if LEFT_OVER.contains(&&**problem) => Some(invariant),
        _ => None,
    }
}

/// Waits until the read models have caught up with a repair.
pub async fn drain(world: &Arc<World>, number: u32) {
    let Some(domain) = world.domain_of(number) else { return };
    let (sender, receiver) = tokio::sync::oneshot::channel();
    world.executor.spawn(Group(number), async move {
        let _ = sender.send(domain.engine().processor.drain().await.map_err(|error| error.to_string()));
    });
    if let Ok(Err(error)) = receiver.await {
        world.history.error(format!("the change feed was not drained after a repair: {error}"));
    }
}

fn complain_of(world: &World, what: &str, drifts: &[&Drift]) {
    if !drifts.is_empty() {
        let some: Vec<String> = drifts.iter().take(3).map(|drift| format!("{drift:?}")).collect();
        let detail = format!("{what} {} drifts: {}", drifts.len(), some.join("; "));
        world.history.broken("verify finds no drift", detail);
    }
}

async fn verification(world: &Arc<World>, number: u32, repairs: bool) -> Option<VerificationReport> {
    let domain = world.domain_of(number)?;
    let (sender, receiver) = tokio::sync::oneshot::channel();
    world.executor.spawn(Group(number), async move {
        let report = domain.verify(repairs, &ProgressSink::none()).await;
        let processor = &domain.engine().processor;
        let status = processor.status().await;
        let letters = processor.dead_letters().await.map(|list| list.dead_letters);
        let _ = sender.send((report, status, letters));
    });
    let Ok((report, status, letters)) = receiver.await else {
        world.history.error("the verification ended early".to_owned());
        return None;
    };
    match status {
        Ok(status) => {
            let parked: u64 = status.iter().map(|status| status.dead_letters).sum();
            if parked > 0 {
                let detail = format!("{parked} changes: {letters:?}");
                world.history.broken("no change is parked", detail);
            }
        }
        Err(fault) => world.history.error(format!("the status of projections fails: {fault}")),
    }
    match report {
        Ok(report) if report.unreadable.is_empty() => Some(report),
        Ok(report) => {
            world.history.error(format!("verify cannot read {:?}", report.unreadable));
            None
        }
        Err(error) => {
            world.history.error(format!("verify fails: {error:#}"));
            None
        }
    }
}

pub async fn ask(world: &Arc<World>, number: u32, query: String, variables: Value) -> Value {
    ask_as(world, number, None, query, variables).await
}

pub async fn ask_as(
    world: &Arc<World>,
    number: u32,
    token: Option<&str>,
    query: String,
    variables: Value,
) -> Value {
    let answer = send_alone(world, number, token, &query, &variables).await;
    if answer["errors"].is_array() {
        world.history.error(format!("{query} {variables}: {}", answer["errors"]));
    }
    answer["data"].clone()
}

/// Sends a request and waits until the quotas of its network and of its user are full again.
pub async fn send_alone(
    world: &Arc<World>,
    number: u32,
    token: Option<&str>,
    query: &str,
    variables: &Value,
) -> Value {
    let Some((group, router)) = world.router_of(number) else { return Value::Null };
    let address = [10, 255, 0, 1].into();
    let body = json!({ "query": query, "variables": variables });
    let request = send(router, ClientRequest { address, token: token.map(str::to_owned), body });
    let (sender, receiver) = tokio::sync::oneshot::channel();
    world.executor.spawn(group, async move {
        let _ = sender.send(request.await);
    });
    tokio::time::sleep(Duration::from_secs(10)).await;
    receiver.await.ok().flatten().unwrap_or_default()
}

async fn across_models(
    world: &Arc<World>,
    number: u32,
    query: &(dyn Fn(&str) -> String + Sync),
) -> Vec<Value> {
    let mut answers = Vec::new();
    for model in MODELS {
        answers.push(ask(world, number, query(model), json!({})).await);
    }
    answers
}

/// A list of an item, read page by page under one of the data models.
pub struct Pages<'a> {
    world: &'a Arc<World>,
    number: u32,
    /// The field of the item, with all arguments.
    root: String,
    token: Option<&'a str>,
    first: u64,
}

impl<'a> Pages<'a> {
    /// Of an item; `root` lacks the model and the closing parenthesis.
    fn of(world: &'a Arc<World>, number: u32, root: String) -> Self {
        let root = format!("{root}, model: {})", world.dice.pick(&MODELS));
        Self { world, number, root, token: None, first: world.dice.between(2, 40) }
    }

    /// The orders of a customer, for staff.
    pub fn of_orders(world: &'a Arc<World>, number: u32, token: &'a str, root: String) -> Self {
        Self { world, number, root, token: Some(token), first: world.dice.between(2, NEWEST) }
    }

    /// The same by the id of a public item.
    pub fn of_node(world: &'a Arc<World>, number: u32, (id, of_type): (&str, &str)) -> Self {
        let root = format!("node(id: {id:?}) {{ ... on {of_type}");
        Self { world, number, root, token: None, first: world.dice.between(2, 40) }
    }

    /// All nodes of a connection. An id on two pages is a violation.
    pub async fn nodes(&self, field: &str, fields: &str) -> Vec<Value> {
        let Self { world, number, root, token, first } = self;
        let closed = "}".repeat(root.matches('{').count());
        let query = format!(
            "query($after: String) {{ item: {root} {{ page: {field}(first: {first}, after: $after) {{ \
             nodes {{ {fields} }} pageInfo {{ hasNextPage endCursor }} }} }} {closed} }}"
        );
        let (mut nodes, mut after) = (Vec::new(), Value::Null);
        loop {
            let variables = json!({ "after": after });
            let mut answer = ask_as(world, *number, *token, query.clone(), variables).await;
            let mut page = answer["item"]["page"].take();
            let Some(found) = page["nodes"].as_array_mut() else { return nodes };
            if let Some(twice) = found.iter().find(|node| nodes.contains(*node)) {
                world.history.broken("pages have each item once", format!("{root} {field}: {twice}"));
            }
            nodes.append(found);
            if page["pageInfo"]["hasNextPage"] != true {
                return nodes;
            }
            after = page["pageInfo"]["endCursor"].take();
        }
    }
}

fn agree(world: &World, what: &str, answers: &[Value]) {
    for (model, answer) in MODELS.iter().zip(answers).skip(1) {
        if *answer != answers[0] {
            let detail = format!("{what} under {model}: {answer} and {}", answers[0]);
            world.history.broken("the data models agree", detail);
        }
    }
}

async fn read_user(world: &Arc<World>, number: u32, user: &str) {
    let query = |model: &str| {
        format!(
            "{{ user(id: {user:?}, model: {model}) {{ username posts(first: 100) {{ nodes {{ id title }} }} }} }}"
        )
    };
    let start = world.history.now();
    let answers = across_models(world, number, &query).await;
    agree(world, "a user", &answers);
    let found = &answers[2]["user"];
    let posts = Pages::of(world, number, format!("user(id: {user:?}")).nodes("posts", "id title").await;
    saw(world, &format!("username {user}"), found["username"].as_str().unwrap_or(NOTHING), start);
    let mut times: BTreeMap<&str, u64> = BTreeMap::new();
    let known = world.posts.lock().clone();
    for node in &posts {
        let (Some(id), Some(title)) = (node["id"].as_str(), node["title"].as_str()) else { continue };
        *times.entry(title).or_default() += 1;
        let is_known = known.iter().any(|post| post.id == id);
        let titles = world.titles.lock();
        let is_pending = titles.get(title).is_some_and(|title| title.author == user && !title.is_answered);
        if !is_known && !is_pending {
            let detail = format!("{user} has a post {title:?} too many");
            world.history.broken("a repeated command is carried out once", detail);
        }
    }
    for (title, times) in times.into_iter().filter(|(_, times)| *times > 1) {
        let detail = format!("{times} posts {title:?}");
        world.history.broken("a repeated command is carried out once", detail);
    }
    for post in known.iter().filter(|post| post.author == user) {
        let listed = posts.iter().find(|node| node["id"] == post.id.as_str());
        let title = listed.and_then(|node| node["title"].as_str()).unwrap_or(NOTHING);
        saw(world, &format!("post {}", post.id), title, start);
    }
}

async fn read_post(world: &Arc<World>, number: u32, post: &str) {
    let start = world.history.now();
    let query = |model: &str| format!("{{ post(id: {post:?}, model: {model}) {{ {POST} }} }}");
    let answers = across_models(world, number, &query).await;
    agree(world, "a post", &answers);
    let found = &answers[2]["post"];
    saw(world, &format!("post {post}"), found["title"].as_str().unwrap_or(NOTHING), start);
    if found.is_null() {
        return;
    }
    let pages = Pages::of(world, number, format!("post(id: {post:?}"));
    let likes = pages.nodes("likes", "user { id }").await;
    let comments = pages.nodes("comments", "id content").await;
    if found["likeCount"] != likes.len() || found["commentCount"] != comments.len() {
        world.history.broken("counts are exact", found.to_string());
    }
    let prefix = format!("like of {post} by ");
    for register in world.history.registers_with(&prefix) {
        let user = &register[prefix.len()..];
        let likes = likes.iter().any(|like| like["user"]["id"] == user);
        saw(world, &register, if likes { "1" } else { "0" }, start);
    }
    let of_post: Vec<String> =
        world.comments.lock().iter().filter(|(_, of, _)| of == post).map(|(id, ..)| id.clone()).collect();
    for id in of_post {
        let listed = comments.iter().find(|comment| comment["id"] == id.as_str());
        let content = listed.and_then(|comment| comment["content"].as_str()).unwrap_or(NOTHING);
        saw(world, &format!("comment {id}"), content, start);
    }
}

pub fn saw(world: &World, register: &str, value: &str, start: u64) {
    let end = world.history.now();
    world.history.read(
        register,
        Read { view: "end".to_owned(), value: value.to_owned(), recent: Recent::All, start, end },
    );
}
