//! Subscriptions: clients that listen to the comments of a post or to its changes, by server-sent events.
//!
//! An event shows a written value, never goes back to an older version, and announces a comment once. A
//! subscription that is still open after all faults has announced every comment that was written meanwhile,
//! and the last title of its post. Where the feed may have skipped the first version of a comment, the clock
//! of its writer alone says whether it is new.

use std::collections::{BTreeMap, HashSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use onehop::graphql::GlobalId;
use onehop_runtime::clock::Clock as _;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::client::Client;
use crate::event_stream::EventStream;
use crate::executor::Group;
use crate::history::{Moment, Read, Recent};
use crate::trace;
use crate::world::World;

/// A subscription begins to listen within this time of its first bytes.
const BEGIN_MAX: Duration = Duration::from_secs(5);
/// The longest time for which a slow client takes no event, in milliseconds.
const SLOW_MS_MAX: u64 = 30_000;
/// The events that a slow client takes slowly. It has all of them before a moment of quiet.
const SLOW_EVENTS_MAX: u32 = 12;
/// Comments in a row.
const BURST_MAX: u64 = 6;
/// Subscriptions in a run.
const SUBSCRIPTIONS_MAX: usize = 24;

/// The events that a subscription has shown.
#[derive(Debug, Default)]
struct Shown {
    /// The number of announcements of each comment.
    comments: BTreeMap<String, u32>,
    /// The last version of the post.
    version: i64,
    /// The last title of the post.
    title: Option<String>,
}

/// A subscription of a client to one post.
#[derive(Debug)]
struct Subscription {
    post: String,
    process: u32,
    is_of_comments: bool,
    /// The time by the clock of the process when it was opened (Unix ms).
    opened_ms: i64,
    /// Since when it listens surely; `None` until then.
    since: Option<Moment>,
    shown: Shown,
    has_ended: bool,
}

impl Subscription {
    /// Since when it listens, while it is open and its process runs.
    fn listens_since(&self, world: &World) -> Option<Moment> {
        let is_open = !self.has_ended && world.router_of(self.process).is_some();
        self.since.filter(|_| is_open)
    }
}

/// The subscriptions of a run.
#[derive(Debug, Default)]
pub struct Subscriptions(Mutex<Vec<Subscription>>);

impl Client {
    /// Subscribes to a post. Some clients write comments in a row once the subscription listens.
    pub async fn subscribe_and_write(&mut self) {
        let Some(post) = self.any_post() else { return };
        let before = self.world.subscriptions.0.lock().len();
        self.subscribe(post.id.clone());
        if before == self.world.subscriptions.0.lock().len() || self.world.dice.percent(50) {
            return;
        }
        tokio::time::sleep(2 * BEGIN_MAX).await;
        if self.world.dice.percent(50) {
            return self.comment_at_once(&post).await;
        }
        for _ in 0..self.world.dice.between(2, BURST_MAX) {
            self.comment_on(post.clone()).await;
        }
    }

    fn subscribe(&mut self, post: String) {
        let world = self.world.clone();
        let Some((group, router)) = world.any_process().and_then(|number| world.router_of(number)) else {
            return;
        };
        let Some(clock) = world.clock_of(group.0) else { return };
        let is_of_comments = world.dice.percent(60);
        let number = {
            let mut subscriptions = world.subscriptions.0.lock();
            if subscriptions.len() >= SUBSCRIPTIONS_MAX {
                return;
            }
            let shown = Shown::default();
            subscriptions.push(Subscription {
                post: post.clone(),
                process: group.0,
                is_of_comments,
                opened_ms: clock.now_ms(),
                since: None,
                shown,
                has_ended: false,
            });
            subscriptions.len() - 1
        };
        let query = match is_of_comments {
            true => "subscription($id: ID!) { commentAdded(postId: $id) { id content } }",
            false => "subscription($id: ID!) { postChanged(id: $id) { id title version } }",
        };
        let body = json!({ "query": query, "variables": { "id": post } });
        let last = self.host();
        let address = IpAddr::V4(Ipv4Addr::new(10, last, 0, 3));
        let listening = Arc::clone(&world);
        world.executor.spawn(group, async move {
            listen(&listening, (number, group), router, address, body).await;
            listening.subscriptions.0.lock()[number].has_ended = true;
        });
    }
}

/// Reads the events of a subscription until it ends.
async fn listen(
    world: &Arc<World>,
    (number, group): (usize, Group),
    router: Router,
    address: IpAddr,
    body: Value,
) {
    let Some(mut stream) = EventStream::open(router, address, &body).await else { return };
    trace::line(format!("subscription {number}"), format!("is open in process {}", group.0));
    let begun = Arc::clone(world);
    world.executor.spawn(group, async move {
        tokio::time::sleep(BEGIN_MAX).await;
        let now = begun.history.now();
        let clock_ms = begun.clock_of(group.0).map(|clock| clock.now_ms());
        let subscription = &mut begun.subscriptions.0.lock()[number];
        subscription.since = Some(now);
        // The clock may have been set meanwhile.
        subscription.opened_ms = clock_ms.unwrap_or(i64::MAX).max(subscription.opened_ms);
    });
    let mut slow_left = if world.dice.percent(40) { SLOW_EVENTS_MAX } else { 0 };
    while stream.receive().await {
        if slow_left > 0 {
            slow_left -= 1;
            // Events gather meanwhile.
            let most_ms = if world.dice.percent(50) { SLOW_MS_MAX } else { 8 * world.phase().pace_ms };
            tokio::time::sleep(Duration::from_millis(world.dice.below(most_ms))).await;
        }
        while let Some(payload) = stream.next_payload() {
            trace::line(format!("subscription {number}"), &payload);
            world.subscriptions.show(world, number, &payload);
        }
    }
}

impl Subscriptions {
    fn show(&self, world: &World, number: usize, payload: &Value) {
        let mut subscriptions = self.0.lock();
        let Subscription { shown, post, .. } = &mut subscriptions[number];
        let now = world.history.now();
        let saw = |register: &str, value: &str| {
            let read = Read {
                // A slow client hears later than others.
                view: format!("events of subscription {number}"),
                value: value.to_owned(),
                recent: Recent::Any,
                start: now,
                end: now,
            };
            world.history.read(register, read);
        };
        let comment = &payload["data"]["commentAdded"];
        if let (Some(id), Some(content)) = (comment["id"].as_str(), comment["content"].as_str()) {
            let times = shown.comments.entry(id.to_owned()).or_default();
            *times += 1;
            if *times > 1 {
                world.history.broken("a comment is announced once", format!("{id} by subscription {number}"));
            }
            // A creation without an answer is unknown.
            if world.comments.lock().iter().any(|(known, ..)| known == id) {
                saw(&format!("comment {id}"), content);
            }
            world.count("comment announced");
        }
        let changed = &payload["data"]["postChanged"];
        if let (Some(title), Some(version)) = (changed["title"].as_str(), changed["version"].as_i64()) {
            if version < shown.version {
                let what = format!("{version} of {post} after {} by subscription {number}", shown.version);
                world.history.broken("events never go back", what);
            }
            shown.version = version;
            shown.title = Some(title.to_owned());
            saw(&format!("post {post}"), title);
            world.count("change of a post announced");
        }
    }

    /// Checks that open subscriptions have announced the comments that were written while they were open, and
    /// the last title of their post. Read models have caught up.
    pub fn check(&self, world: &World) {
        self.check_changes(world);
        self.check_comments(world);
    }

    fn check_changes(&self, world: &World) {
        let subscriptions = self.0.lock();
        for (number, subscription) in subscriptions.iter().enumerate().filter(|(_, one)| !one.is_of_comments)
        {
            let Some(since) = subscription.listens_since(world) else { continue };
            let Subscription { post, shown, .. } = subscription;
            let (register, view) = (format!("post {post}"), format!("last event of subscription {number}"));
            let now = world.history.now();
            match &shown.title {
                // The subscription listened when it had this event, so it has had every later one.
                Some(title) => {
                    let read = Read { view, value: title.clone(), recent: Recent::All, start: now, end: now };
                    world.history.read(&register, read);
                }
                None if world.history.is_written_after(&register, since) => {
                    let what = format!("{post} by subscription {number}");
                    world.history.broken("a change of a post is announced", what);
                }
                None => {}
            }
        }
    }

    fn check_comments(&self, world: &World) {
        let unchanged = unchanged_comments(world);
        let subscriptions = self.0.lock();
        for (number, subscription) in subscriptions.iter().enumerate().filter(|(_, one)| one.is_of_comments) {
            let Some(since) = subscription.listens_since(world) else { continue };
            let Subscription { post, opened_ms, shown, .. } = subscription;
            let comments = world.comments.lock();
            for (comment, ..) in comments.iter().filter(|(_, of, _)| of == post) {
                // A tail that lags shows no comment that was deleted meanwhile.
                let began = world.history.only_write_of(&format!("comment {comment}"));
                let (id, created_ms) = id_and_creation(comment);
                if created_ms < *opened_ms && !unchanged.contains(&id) {
                    continue;
                }
                if began.is_some_and(|began| began > since) && !shown.comments.contains_key(comment) {
                    let what = format!("{comment} of {post} by subscription {number}");
                    world.history.broken("a comment is announced", what);
                }
            }
        }
    }
}

/// The ids of comments that were written once, as far as the store tells.
fn unchanged_comments(world: &World) -> HashSet<String> {
    let mut writes: BTreeMap<String, u32> = BTreeMap::new();
    for commit in world.store.commits().into_iter().filter(|commit| commit.container.as_str() == "posts") {
        *writes.entry(commit.id).or_default() += 1;
    }
    writes.into_iter().filter(|(_, times)| *times == 1).map(|(id, _)| id).collect()
}

/// The id of a comment's item, and the time in it (Unix ms) by the clock of its writer.
fn id_and_creation(comment: &str) -> (String, i64) {
    let Ok(GlobalId::Comment(_, id)) = GlobalId::decode(comment) else {
        panic!("{comment} is the id of a comment");
    };
    let (seconds, nanos) = id.0.get_timestamp().expect("a UUIDv7").to_unix();
    let created_ms =
        i64::try_from(seconds).expect("a time of our days") * 1_000 + i64::from(nanos) / 1_000_000;
    (id.0.to_string(), created_ms)
}
